//! Bare rusqlite doing the work of Virtual Stores: the same tables, one transaction for each change, statements that stay
//! compiled, and nothing else. What a program would write that needs no guard, no versions and no other process.
//!
//! A change looks at the namespace, at the directory and at what is there, as it must, and counts what the namespace holds.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use paddock_db::rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use paddock_stores::virtual_store::SqliteBase;

use crate::store_work::{Worker, content, name};
use crate::trees::SIZE;

const FIND: &str = "SELECT id, head, bytes, files FROM namespace WHERE key = 'bare'";
const OLD: &str = "SELECT body, len FROM living WHERE ns = ?1 AND dir = ?2 AND name = ?3";
const PUT_BODY: &str = "INSERT INTO body(id, chunked, data) VALUES (?1, 0, ?2)";
const PUT: &str = "INSERT OR REPLACE INTO living(ns, dir, name, born, kind, len, mode, modified, version, body, chunked) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?4, ?8, 0)";
const COUNT: &str = "UPDATE namespace SET head = ?2, bytes = ?3, files = ?4 WHERE id = ?1";
const REMOVE_BODY: &str = "DELETE FROM body WHERE id = ?1";
const REMOVE: &str = "DELETE FROM living WHERE ns = ?1 AND dir = ?2 AND name = ?3";
const READ: &str = "SELECT data FROM living JOIN body ON body.id = living.body \
     WHERE ns = (SELECT id FROM namespace WHERE key = 'bare') AND dir = ?1 AND name = ?2";
const LIST: &str = "SELECT name, kind FROM living \
     WHERE ns = (SELECT id FROM namespace WHERE key = 'bare') AND dir = ?1 ORDER BY name";

/// How often the log reaches the disk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Synchronous {
    /// Not at a commit: what Paddock calls `process`.
    Normal,
    /// At every commit: what Paddock calls `disk`.
    Full,
}

/// One connection.
pub(crate) struct Bare(Connection);

/// The namespace as a transaction found it.
struct Counted {
    id: i64,
    head: i64,
    bytes: i64,
    files: i64,
}

impl Bare {
    /// On a new database at this path.
    pub(crate) fn new(database: &Path, synchronous: Synchronous) -> Result<Self> {
        let conn = Connection::open(database)?;
        conn.set_prepared_statement_cache_capacity(64);
        let level = match synchronous {
            Synchronous::Normal => "NORMAL",
            Synchronous::Full => "FULL",
        };
        conn.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(()))?;
        conn.execute_batch(&format!("PRAGMA synchronous = {level}; PRAGMA mmap_size = 134217728;"))?;
        for migration in SqliteBase::STATE.migrations {
            conn.execute_batch(migration.sql)?;
        }
        conn.execute("INSERT INTO namespace(key) VALUES ('bare')", ())?;
        Ok(Self(conn))
    }

    fn change(&mut self, change: impl FnOnce(&Transaction<'_>, &mut Counted) -> Result<()>) -> Result<()> {
        let tx = Transaction::new(&mut self.0, TransactionBehavior::Immediate)?;
        let read = |row: &paddock_db::rusqlite::Row<'_>| {
            Ok(Counted { id: row.get(0)?, head: row.get(1)?, bytes: row.get(2)?, files: row.get(3)? })
        };
        let mut counted = tx.prepare_cached(FIND)?.query_row((), read)?;
        counted.head += 1;
        change(&tx, &mut counted)?;
        tx.prepare_cached(COUNT)?.execute((counted.id, counted.head, counted.bytes, counted.files))?;
        Ok(tx.commit()?)
    }

    fn put(&mut self, dir: &str, name: &str, bytes: &[u8]) -> Result<()> {
        self.change(|tx, counted| {
            look(tx, counted.id, "", dir)?.context("the directory is there")?;
            match look(tx, counted.id, dir, name)? {
                Some((body, len)) => {
                    tx.prepare_cached(REMOVE_BODY)?.execute((body,))?;
                    counted.bytes -= len;
                }
                None => counted.files += 1,
            }
            let len = i64::try_from(bytes.len())?;
            counted.bytes += len;
            tx.prepare_cached(PUT_BODY)?.execute((counted.head, bytes))?;
            let row = (counted.id, dir, name, counted.head, 0, len, 0o644, Some(counted.head));
            tx.prepare_cached(PUT)?.execute(row)?;
            Ok(())
        })
    }

    fn remove(&mut self, dir: &str, name: &str) -> Result<()> {
        self.change(|tx, counted| {
            let (body, len) = look(tx, counted.id, dir, name)?.context("the file is there")?;
            tx.prepare_cached(REMOVE_BODY)?.execute((body,))?;
            tx.prepare_cached(REMOVE)?.execute((counted.id, dir, name))?;
            counted.files -= 1;
            counted.bytes -= len;
            Ok(())
        })
    }
}

/// The body and the length of what is there.
fn look(tx: &Transaction<'_>, ns: i64, dir: &str, name: &str) -> Result<Option<(Option<i64>, i64)>> {
    let found = tx.prepare_cached(OLD)?.query_row((ns, dir, name), |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(found.optional()?)
}

impl Worker for Bare {
    fn make_dir(&mut self, dir: &str) -> Result<()> {
        self.change(|tx, counted| {
            let row = (counted.id, "", dir, counted.head, 1, 0, 0o755, None::<i64>);
            tx.prepare_cached(PUT)?.execute(row)?;
            Ok(())
        })
    }

    fn write(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        let files: Vec<_> = numbers.iter().map(|number| (name(*number), content(*number, state))).collect();
        let start = Instant::now();
        for (name, content) in &files {
            self.put(dir, name, content)?;
        }
        Ok(start.elapsed())
    }

    fn read(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        let mut took = Duration::ZERO;
        for number in numbers {
            let name = name(*number);
            let start = Instant::now();
            let read: Vec<u8> = self.0.prepare_cached(READ)?.query_row((dir, &name), |row| row.get(0))?;
            took += start.elapsed();
            ensure!(read.len() == SIZE && read == content(*number, state), "\"{name}\" was not read as it was written");
        }
        Ok(took)
    }

    fn list(&mut self, dir: &str, count: usize) -> Result<Duration> {
        let start = Instant::now();
        let mut statement = self.0.prepare_cached(LIST)?;
        let rows = statement.query_map((dir,), |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        let found = rows.collect::<Result<Vec<_>, _>>()?;
        let took = start.elapsed();
        ensure!(found.len() == count, "{} entries listed, {count} expected", found.len());
        Ok(took)
    }

    fn delete(&mut self, dir: &str, numbers: &[usize]) -> Result<Duration> {
        let names: Vec<_> = numbers.iter().map(|number| name(*number)).collect();
        let start = Instant::now();
        for name in &names {
            self.remove(dir, name)?;
        }
        Ok(start.elapsed())
    }
}
