//! PostgreSQL, with a real server.

mod basics;
mod contention;
mod lost;
mod migrations;
mod pooler;
mod proxy;
mod tls;
mod trouble;
mod watch;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paddock_db::{DbError, Migration, PgTransaction, Postgres, Schema};

const COUNTERS: Schema = Schema {
    owner: "test",
    migrations: &[Migration {
        version: 1,
        sql: "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL); INSERT INTO counter VALUES (1, 0); \
              CREATE TABLE entry (n bigint NOT NULL)",
    }],
};

/// Tells a test that was started again by itself which database to use.
const URL: &str = "PADDOCK_TEST_CHILD_URL";

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

fn opened(url: &str) -> Postgres {
    Postgres::new(url, vec![COUNTERS]).unwrap()
}

/// Reads, waits for its turn and writes, so that an update lost would show.
fn count_up(db: &Postgres) -> Result<(), DbError> {
    db.write(soon(), |tx| {
        let n: i64 = tx.query_one("SELECT n FROM counter WHERE id = 1 FOR UPDATE", &[])?.get(0);
        tx.execute("UPDATE counter SET n = $1 WHERE id = 1", &[&(n + 1)]).map(drop)
    })
}

fn counted(db: &Postgres) -> i64 {
    number(db, "SELECT n FROM counter WHERE id = 1")
}

fn number(db: &Postgres, sql: &str) -> i64 {
    db.read(soon(), |tx| Ok::<_, DbError>(tx.query_one(sql, &[])?.get(0))).unwrap()
}

fn put(tx: &mut PgTransaction<'_>, n: i64) -> Result<(), DbError> {
    tx.execute("INSERT INTO entry VALUES ($1)", &[&n]).map(drop)
}

/// Starts the test `name` again, in a process of its own.
fn start_again(name: &str, url: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name]).env(URL, url).stdout(Stdio::null()).spawn().unwrap()
}
