//! Many who want the same row.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use paddock_db::DbError;
use paddock_db::postgres_testing::Database;

use super::{COUNTERS, URL, count_up, counted, number, opened, put, soon, start_again};

#[test]
fn of_64_threads_that_count_one_row_none_loses_and_none_starves() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| (0..20).for_each(|_| count_up(&db).unwrap()));
        }
    });
    assert_eq!(counted(&db), 64 * 20);
}

/// This test starts itself again as each of the processes.
#[test]
fn of_8_processes_that_count_one_row_none_loses_and_none_starves() {
    if let Ok(url) = std::env::var(URL) {
        let db = opened(&url);
        return thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10).for_each(|_| count_up(&db).unwrap()));
            }
        });
    }
    let database = Database::fresh();
    let name = "postgres::contention::of_8_processes_that_count_one_row_none_loses_and_none_starves";
    let children: Vec<_> = (0..8).map(|_| start_again(name, &database.url())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(counted(&database.open(&[COUNTERS])), 8 * 8 * 10);
}

#[test]
fn what_the_server_undid_for_another_is_done_again_from_the_start() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    for state in ["40001", "40P01"] {
        let mut tries = 0;
        let done = db.write(soon(), |tx| {
            tries += 1;
            tx.execute("UPDATE counter SET n = n + 1 WHERE id = 1", &[])?;
            if tries < 3 {
                tx.batch(&format!("DO $$ BEGIN RAISE SQLSTATE '{state}'; END $$"))?;
            }
            Ok::<_, DbError>(tries)
        });
        assert_eq!(done.unwrap(), 3);
    }
    assert_eq!(counted(&db), 2);
}

#[test]
fn two_that_wait_for_each_other_both_get_done() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    db.write(soon(), |tx| tx.execute("INSERT INTO counter VALUES (2, 0)", &[])).unwrap();
    let (meeting, tries) = (Barrier::new(2), AtomicU32::new(0));
    thread::scope(|scope| {
        for order in [[1_i64, 2], [2, 1]] {
            let (db, meeting, tries) = (&db, &meeting, &tries);
            scope.spawn(move || {
                let mut first_try = true;
                db.write(soon(), |tx| {
                    tries.fetch_add(1, Ordering::Relaxed);
                    let sql = "UPDATE counter SET n = n + 1 WHERE id = $1";
                    tx.execute(sql, &[&order[0]])?;
                    if std::mem::take(&mut first_try) {
                        meeting.wait();
                    }
                    tx.execute(sql, &[&order[1]])
                })
                .unwrap();
            });
        }
    });
    assert_eq!(tries.load(Ordering::Relaxed), 3, "the server ended one of the two");
    assert_eq!(counted(&db), 2);
}

/// All places are held by those who wait for the row of one who needs another place to get done.
#[test]
fn a_transaction_inside_of_another_does_not_wait_for_a_place() {
    let database = Database::fresh();
    let db = paddock_db::Postgres::new(&database.url_with("pool_size=2"), vec![COUNTERS]).unwrap();
    thread::scope(|scope| {
        for writer in 0..8 {
            let db = &db;
            scope.spawn(move || {
                for _ in 0..5 {
                    let done = db.write(soon(), |tx| {
                        let n: i64 = tx.query_one("SELECT n FROM counter WHERE id = 1 FOR UPDATE", &[])?.get(0);
                        db.write(soon(), |inner| {
                            put(inner, writer)?;
                            db.read(soon(), |deepest| deepest.query_one("SELECT 1", &[]).map(drop))
                        })?;
                        tx.execute("UPDATE counter SET n = $1 WHERE id = 1", &[&(n + 1)]).map(drop)
                    });
                    done.unwrap();
                }
            });
        }
    });
    assert_eq!((counted(&db), number(&db, "SELECT count(*) FROM entry")), (40, 40));
}
