//! A counter in SQLite: several processes share it, and it outlives them.
//!
//! Each step is one short transaction. A count that nobody renews any more, because its process ended, may be taken over;
//! what the old one saw then no longer counts.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_core::{ErrorKind, Quota, Result, StoreError, Usage};
use paddock_db::rusqlite::{self, Connection, OptionalExtension};
use paddock_db::{DbError, Migration, Schema, Sqlite};

use super::{CountId, Counted, UsageCounter, UsageDelta, signed};

/// How long what no call waits for may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A count that was not renewed for so long is nobody's any more.
const ABANDONED: Duration = Duration::from_secs(60);

const TABLES: &str = "
CREATE TABLE usage(
    territory TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL DEFAULT 0,
    files INTEGER NOT NULL DEFAULT 0,
    counted_at INTEGER,
    generation INTEGER NOT NULL DEFAULT 0,
    counting_since INTEGER,
    renewed_at INTEGER,
    added_bytes INTEGER NOT NULL DEFAULT 0,
    added_files INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
";

const LOOK: &str = "SELECT bytes, files, counted_at FROM usage WHERE territory = ?1";

/// `bytes` and `files` start at nothing where there is no row: as long as it was not counted they mean nothing.
const ADD: &str = "
INSERT INTO usage(territory, bytes, files, added_bytes, added_files, changes)
VALUES (?1, MAX(0, ?2), MAX(0, ?3), ?2, ?3, 1)
ON CONFLICT(territory) DO UPDATE SET
    bytes = MAX(0, bytes + ?2), files = MAX(0, files + ?3),
    added_bytes = added_bytes + ?2, added_files = added_files + ?3, changes = changes + 1";

const BEGIN: &str = "
INSERT INTO usage(territory, generation, counting_since, renewed_at) VALUES (?1, 1, ?2, ?2)
ON CONFLICT(territory) DO UPDATE SET
    generation = generation + 1, counting_since = ?2, renewed_at = ?2, added_bytes = 0, added_files = 0, changes = 0
WHERE counting_since IS NULL OR renewed_at NOT BETWEEN ?3 AND ?4
RETURNING generation";

const RENEW: &str =
    "UPDATE usage SET renewed_at = ?3 WHERE territory = ?1 AND generation = ?2 AND counting_since IS NOT NULL";

const END: &str = "
UPDATE usage SET bytes = MAX(0, ?3 + added_bytes), files = MAX(0, ?4 + added_files),
    counted_at = counting_since, counting_since = NULL
WHERE territory = ?1 AND generation = ?2 AND counting_since IS NOT NULL
RETURNING changes";

const ABANDON: &str = "UPDATE usage SET counting_since = NULL WHERE territory = ?1 AND generation = ?2";

/// Counts in SQLite what a territory holds.
#[derive(Debug, Clone)]
pub struct SqliteUsage {
    database: Sqlite,
    territory: String,
}

impl SqliteUsage {
    /// The tables, for the handle that is given.
    pub const SCHEMA: Schema = Schema { owner: "usage", migrations: &[Migration { version: 1, sql: TABLES }] };

    /// The counter of a territory, in words as [`paddock_core::Territory`] writes it; nothing is opened yet.
    pub fn new(database: Sqlite, territory: impl Into<String>) -> Self {
        Self { database, territory: territory.into() }
    }

    fn write<T>(&self, until: Instant, change: impl FnOnce(&Connection) -> Result<T, Told>) -> Result<T> {
        self.database.write(until, change).map_err(|told| told.0)
    }

    /// As [`Self::write`], for what no call waits for.
    fn tend<T>(&self, change: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let told = |error| Told::from(self.database.error(error));
        self.write(Instant::now() + PATIENCE, |tx| change(tx).map_err(told))
    }

    fn row(&self) -> Result<Option<(Usage, Option<i64>)>> {
        let seen = self.database.read(|conn| {
            let look = conn.prepare_cached(LOOK).and_then(|mut look| look.query_row([&self.territory], row).optional());
            look.map_err(|error| Told::from(self.database.error(error)))
        });
        seen.map_err(|told| told.0)
    }
}

impl UsageCounter for SqliteUsage {
    fn current(&self) -> Result<Option<Usage>> {
        Ok(self.row()?.and_then(|(usage, counted_at)| counted_at.map(|_| usage)))
    }

    fn reserve(&self, delta: UsageDelta, quota: Quota, until: Instant) -> Result<()> {
        let told = |error| Told::from(self.database.error(error));
        self.write(until, |tx| {
            let look = tx.prepare_cached(LOOK).and_then(|mut look| look.query_row([&self.territory], row).optional());
            if let Some((now, Some(_))) = look.map_err(told)? {
                quota.allow(now, delta.onto(now)).map_err(|kind| Told(kind.into()))?;
            }
            put(tx, &self.territory, delta).map_err(told)
        })
    }

    fn add(&self, delta: UsageDelta) -> Result<()> {
        self.tend(|tx| put(tx, &self.territory, delta))
    }

    fn counted_at(&self) -> Result<Option<SystemTime>> {
        let since = |millis: i64| UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs());
        Ok(self.row()?.and_then(|(_, counted_at)| counted_at.map(since)))
    }

    fn begin_count(&self) -> Result<Option<CountId>> {
        let now = millis();
        let abandoned = ABANDONED.as_secs() * 1000;
        // Neither long ago nor, by a clock that was set since, far in the future.
        let (from, to) = (now.saturating_sub_unsigned(abandoned), now.saturating_add_unsigned(abandoned));
        let begin = (&self.territory, now, from, to);
        let begun =
            self.tend(|tx| tx.prepare_cached(BEGIN)?.query_row(begin, |row| row.get::<_, i64>(0)).optional())?;
        Ok(begun.map(|generation| CountId(generation.unsigned_abs())))
    }

    fn renew_count(&self, count: CountId) -> Result<bool> {
        let renewed = (&self.territory, signed(count.0), millis());
        self.tend(|tx| tx.prepare_cached(RENEW)?.execute(renewed).map(|rows| rows > 0))
    }

    fn end_count(&self, count: CountId, seen: Usage) -> Result<Counted> {
        let end = (&self.territory, signed(count.0), signed(seen.bytes), signed(seen.files));
        let changes = self.tend(|tx| tx.prepare_cached(END)?.query_row(end, |row| row.get::<_, i64>(0)).optional())?;
        Ok(match changes {
            None => Counted::Overtaken,
            Some(0) => Counted::Exact,
            Some(_) => Counted::WithChanges,
        })
    }

    fn abandon_count(&self, count: CountId) -> Result<()> {
        self.tend(|tx| tx.prepare_cached(ABANDON)?.execute((&self.territory, signed(count.0)))).map(|_| ())
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<(Usage, Option<i64>)> {
    let number = |at| row.get::<_, i64>(at).map(|n| u64::try_from(n).unwrap_or(0));
    Ok((Usage { bytes: number(0)?, files: number(1)? }, row.get(2)?))
}

fn put(tx: &Connection, territory: &str, delta: UsageDelta) -> rusqlite::Result<()> {
    tx.prepare_cached(ADD)?.execute((territory, delta.bytes, delta.files)).map(|_| ())
}

fn millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// An error of a closure inside a transaction: the Store's own, or that of the database.
struct Told(StoreError);

impl From<DbError> for Told {
    fn from(error: DbError) -> Self {
        let kind = match &error {
            DbError::Full { .. } => ErrorKind::Full,
            DbError::Busy { .. } => ErrorKind::Busy,
            DbError::ReadOnly { .. } | DbError::Denied { .. } => ErrorKind::HostRefuses,
            _ => ErrorKind::Io,
        };
        Self(StoreError::caused_by(kind, io::Error::other(error)))
    }
}
