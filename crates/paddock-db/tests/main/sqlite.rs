//! SQLite: the handle, the queue of writers, what a commit survives, and what goes wrong.

mod backup;
mod child;
mod durable;
mod handle;
mod trouble;
mod turns;

use std::path::Path;
use std::time::{Duration, Instant};

use paddock_db::{DbError, Durability, Migration, Schema, Sqlite};

/// One table of numbers and one of counters.
const NUMBERS: Schema = Schema {
    owner: "numbers",
    migrations: &[
        Migration { version: 1, sql: "CREATE TABLE number(n INTEGER PRIMARY KEY) STRICT" },
        Migration { version: 2, sql: "CREATE TABLE counter(name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT" },
    ],
};

fn numbers(directory: &Path, durability: Durability) -> Sqlite {
    Sqlite::new(directory.join("numbers.db"), vec![NUMBERS], durability)
}

/// Far enough away for any machine.
fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn put(db: &Sqlite, n: i64) -> Result<(), DbError> {
    db.write(soon(), |tx| insert(db, tx, n))
}

fn put_ahead(db: &Sqlite, n: i64) -> Result<(), DbError> {
    db.write_ahead(soon(), |tx| insert(db, tx, n))
}

fn insert(db: &Sqlite, tx: &rusqlite::Connection, n: i64) -> Result<(), DbError> {
    let added = tx.prepare_cached("INSERT INTO number(n) VALUES (?1)").and_then(|mut insert| insert.execute([n]));
    added.map(drop).map_err(|error| db.error(error))
}

fn all(db: &Sqlite) -> Result<Vec<i64>, DbError> {
    db.read(|conn| {
        let mut select = conn.prepare_cached("SELECT n FROM number ORDER BY n").map_err(|error| db.error(error))?;
        let rows = select.query_map((), |row| row.get(0)).map_err(|error| db.error(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| db.error(error))
    })
}
