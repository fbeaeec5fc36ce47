//! What goes in comes out, whole or not at all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use paddock_db::postgres_testing::{Database, ask, run};
use paddock_db::{DbError, Postgres};

use super::{COUNTERS, count_up, counted, number, opened, put, soon};

fn with_counters() -> (Postgres, Database) {
    let database = Database::fresh();
    (database.open(&[COUNTERS]), database)
}

#[test]
fn what_was_written_is_read() {
    let (db, _database) = with_counters();
    let changed = db.write(soon(), |tx| tx.execute("UPDATE counter SET n = $1 WHERE id = $2", &[&7_i64, &1_i64]));
    assert_eq!(changed.unwrap(), 1);
    assert_eq!(counted(&db), 7);
}

#[test]
fn a_look_sees_one_moment() {
    let (db, _database) = with_counters();
    let seen = db.read(soon(), |tx| {
        let first: i64 = tx.query_one("SELECT n FROM counter", &[])?.get(0);
        count_up(&db)?;
        let second: i64 = tx.query_one("SELECT n FROM counter", &[])?.get(0);
        Ok::<_, DbError>((first, second))
    });
    assert_eq!(seen.unwrap(), (0, 0));
    assert_eq!(counted(&db), 1);
}

#[test]
fn a_look_changes_nothing() {
    let (db, _database) = with_counters();
    let refused = db.read(soon(), |tx| put(tx, 1)).unwrap_err();
    assert!(matches!(refused, DbError::ReadOnly { .. }), "{refused}");
    assert_eq!(number(&db, "SELECT count(*) FROM entry"), 0);
}

#[test]
fn a_change_that_fails_leaves_nothing() {
    let (db, _database) = with_counters();
    let failed = db.write(soon(), |tx| {
        put(tx, 1)?;
        Err::<(), _>(DbError::Full { name: "mine".to_owned() })
    });
    assert!(matches!(failed, Err(DbError::Full { .. })));
    assert_eq!(number(&db, "SELECT count(*) FROM entry"), 0);
}

#[test]
fn a_change_that_swallows_an_error_is_not_acknowledged() {
    let (db, _database) = with_counters();
    let swallowed = db.write(soon(), |tx| {
        put(tx, 1)?;
        let _ = tx.execute("INSERT INTO counter VALUES (1, 1)", &[]);
        Ok::<_, DbError>(())
    });
    assert!(swallowed.unwrap_err().to_string().contains("SQLSTATE 23505"));
    assert_eq!(number(&db, "SELECT count(*) FROM entry"), 0);
}

#[test]
fn a_change_that_panics_leaves_nothing_and_its_connection_is_not_used_again() {
    let database = Database::fresh();
    let db = opened(&database.url_with("pool_size=1"));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        db.write(soon(), |tx| -> Result<(), DbError> {
            put(tx, 1)?;
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(number(&db, "SELECT count(*) FROM entry"), 0);
    count_up(&db).unwrap();
    assert_eq!(counted(&db), 1);
}

#[test]
fn a_statement_ends_at_the_deadline_and_the_database_stays_usable() {
    let (db, _database) = with_counters();
    counted(&db);
    let until = Instant::now() + Duration::from_millis(300);
    let late = db.write(until, |tx| tx.execute("SELECT pg_sleep(600)", &[]));
    assert!(matches!(late, Err(DbError::Busy { .. })), "{late:?}");
    count_up(&db).unwrap();
    // The server itself has ended it: it would hold its locks for as long as it ran.
    let running = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND state = 'active' AND query LIKE 'SELECT pg_sleep%'";
    assert_eq!(number(&db, running), 0);
}

#[test]
fn who_finds_every_connection_lent_waits_no_longer_than_said() {
    let database = Database::fresh();
    let db = opened(&database.url_with("pool_size=1"));
    let ask = || db.read(Instant::now() + Duration::from_millis(50), |_| Ok::<_, DbError>(()));
    let other = db.read(soon(), |_| std::thread::scope(|scope| scope.spawn(ask).join().unwrap()));
    assert!(matches!(other, Err(DbError::Busy { .. })), "{other:?}");
    // Whoever holds one itself must not wait for another: it gets one beside.
    db.read(soon(), |_| ask()).unwrap();
}

#[test]
fn many_rows_come_one_by_one() {
    let (db, _database) = with_counters();
    let sum = db.read(soon(), |tx| {
        let mut sum = 0;
        tx.for_each("SELECT n, repeat('x', 1000) FROM generate_series(1, $1::bigint) AS n", &[&50_000_i64], |row| {
            sum += row.get::<_, i64>(0);
            Ok::<_, DbError>(())
        })?;
        // The connection can be asked again afterwards, also when not all rows were wanted.
        let stop = tx.for_each("SELECT generate_series(1, 100000)", &[], |_| {
            Err::<(), _>(DbError::Full { name: String::new() })
        });
        assert!(matches!(stop, Err(DbError::Full { .. })));
        let one: i32 = tx.query_one("SELECT 1", &[])?.get(0);
        Ok::<_, DbError>(sum + i64::from(one))
    });
    assert_eq!(sum.unwrap(), 50_000 * 50_001 / 2 + 1);
}

#[test]
fn a_wrong_number_of_parameters_or_rows_is_an_error() {
    let (db, _database) = with_counters();
    let parameters = db.read(soon(), |tx| tx.query("SELECT $1::bigint", &[]));
    assert!(parameters.unwrap_err().to_string().contains("parameters"));
    let none = db.read(soon(), |tx| tx.query_one("SELECT n FROM counter WHERE id = 9", &[]));
    assert!(none.unwrap_err().to_string().contains("found none"));
    let two = db.read(soon(), |tx| tx.query_opt("SELECT generate_series(1, 2)", &[]));
    assert!(two.unwrap_err().to_string().contains("found 2"));
}

#[test]
fn statements_are_prepared_once_per_connection() {
    let database = Database::fresh();
    let db = opened(&database.url_with("pool_size=1"));
    (0..5).for_each(|_| count_up(&db).unwrap());
    let prepared = number(&db, "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%FOR UPDATE'");
    assert_eq!(prepared, 1);
}

#[test]
fn the_marks_of_writers_do_not_pile_up() {
    let database = Database::fresh();
    let db = opened(&database.url_with("pool_size=1"));
    (0..20).for_each(|_| count_up(&db).unwrap());
    assert_eq!(number(&db, "SELECT count(*) FROM paddock_writer"), 1);
    db.write(soon(), |tx| {
        tx.batch("INSERT INTO paddock_writer SELECT n, 1, now() - interval '2 days' FROM generate_series(1, 9) AS n")
    })
    .unwrap();
    count_up(&opened(&database.url())).unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM paddock_writer"), 2);
}

#[test]
fn callers_may_stand_on_a_runtime() {
    let (db, _database) = with_counters();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { count_up(&db).unwrap() });
    assert_eq!(counted(&db), 1);
}

#[test]
fn a_look_at_the_server_makes_nothing() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    db.check().unwrap();
    assert_eq!(db.about().unwrap().len(), 1, "there are no tables to tell of");
    let made = ask(&database.url(), "SELECT count(*) FROM pg_namespace WHERE nspname = 'paddock'");
    assert_eq!(made.as_deref(), Some("0"));
}

#[test]
fn a_look_at_the_server_finds_tables_that_are_newer() {
    let (db, database) = with_counters();
    assert_eq!(counted(&db), 0);
    run(&database.url(), "UPDATE paddock.paddock_schema SET version = 9 WHERE owner = 'test'");
    let found = database.open(&[COUNTERS]).check();
    assert!(matches!(found, Err(DbError::Newer { found: 9, .. })), "{found:?}");
}

#[test]
fn a_look_at_the_server_tells_what_it_is() {
    let (db, _database) = with_counters();
    assert_eq!(counted(&db), 0);
    let lines = db.about().unwrap().join("\n");
    assert!(lines.contains("PostgreSQL 1") && lines.contains("directly"), "{lines}");
    assert!(lines.contains("the tables of test are at step 1"), "{lines}");
    // The servers of the tests do without syncing, which is worth a warning anywhere else.
    assert!(db.check().unwrap().iter().any(|finding| finding.contains("fsync")));
}
