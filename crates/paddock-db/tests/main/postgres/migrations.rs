//! The tables come to be once, whoever starts first.

use paddock_db::postgres_testing::Database;
use paddock_db::{DbError, Migration, Postgres, Schema};

use super::{COUNTERS, URL, number, opened, soon, start_again};

/// Each step would fail if it were taken twice.
const MANY: Schema = Schema {
    owner: "many",
    migrations: &[
        Migration { version: 1, sql: "CREATE TABLE step (n bigint NOT NULL)" },
        Migration { version: 2, sql: "SELECT pg_sleep(0.2); INSERT INTO step VALUES (2)" },
        Migration { version: 3, sql: "INSERT INTO step VALUES (3); ALTER TABLE step ADD COLUMN at text" },
    ],
};

/// This test starts itself again as each of the processes.
#[test]
fn of_8_processes_that_start_at_once_one_makes_the_tables() {
    if let Ok(url) = std::env::var(URL) {
        assert_eq!(number(&Postgres::new(&url, vec![MANY]).unwrap(), "SELECT count(*) FROM step"), 2);
        return;
    }
    let database = Database::fresh();
    let name = "postgres::migrations::of_8_processes_that_start_at_once_one_makes_the_tables";
    let children: Vec<_> = (0..8).map(|_| start_again(name, &database.url())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(number(&database.open(&[MANY]), "SELECT sum(n)::bigint FROM step"), 5);
}

#[test]
fn a_step_that_fails_leaves_the_tables_as_they_were() {
    const BROKEN: Schema = Schema {
        owner: "test",
        migrations: &[
            COUNTERS.migrations[0],
            Migration { version: 2, sql: "ALTER TABLE counter ADD COLUMN more bigint; SELECT 1 / 0" },
        ],
    };
    let database = Database::fresh();
    let good = database.open(&[COUNTERS]);
    assert_eq!(number(&good, "SELECT n FROM counter"), 0);
    let broken = database.open(&[BROKEN]).read(soon(), |_| Ok::<_, DbError>(())).unwrap_err();
    assert!(broken.to_string().contains("division by zero"), "{broken}");
    let columns = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'counter'::regclass AND attnum > 0";
    assert_eq!(number(&good, columns), 2);
    assert_eq!(number(&good, "SELECT version::bigint FROM paddock_schema WHERE owner = 'test'"), 1);
}

#[test]
fn owners_count_their_own_steps() {
    let database = Database::fresh();
    assert_eq!(number(&database.open(&[COUNTERS]), "SELECT n FROM counter"), 0);
    let both = database.open(&[COUNTERS, MANY]);
    assert_eq!(number(&both, "SELECT count(*) FROM step"), 2);
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let database = Database::fresh();
    assert_eq!(number(&database.open(&[MANY]), "SELECT count(*) FROM step"), 2);
    let older = Schema { owner: "many", migrations: &MANY.migrations[..1] };
    let refused = database.open(&[older]).read(soon(), |_| Ok::<_, DbError>(())).unwrap_err();
    assert!(matches!(&refused, DbError::Newer { owner, found: 3, known: 1, .. } if owner == "many"), "{refused}");
    assert_eq!(number(&database.open(&[MANY]), "SELECT count(*) FROM step"), 2);
}

#[test]
fn two_installations_share_a_database_by_schema() {
    let database = Database::fresh();
    let (one, other) = (opened(&database.url_with("schema=one")), opened(&database.url_with("schema=other")));
    super::count_up(&one).unwrap();
    assert_eq!((super::counted(&one), super::counted(&other)), (1, 0));
}
