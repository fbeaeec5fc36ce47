//! The audit's tables in SQLite, where whoever writes is alone.

use std::sync::LazyLock;
use std::time::Instant;

use paddock_db::statements::{Deed, Param, SqliteSession};
use paddock_db::{Migration, Schema, Sqlite, rusqlite};

use super::columns::{Cells, Odd, ROW, Stored, of_row};
use super::row::Row;
use super::storage::{Found, Result, Storage, Tables};
use super::tables::Statements;

/// The tables of the audit, for the database that is given to `AuditLog::sqlite`.
pub const SQLITE_SCHEMA: Schema = Schema {
    owner: "audit",
    migrations: &[
        Migration {
            version: 1,
            sql: "CREATE TABLE audit_row(
                chain INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, kind INTEGER NOT NULL,
                call BLOB NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL, workspace TEXT, path TEXT NOT NULL,
                outcome TEXT NOT NULL, reason TEXT NOT NULL, risk INTEGER NOT NULL, bytes INTEGER NOT NULL,
                took_us INTEGER NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL,
                PRIMARY KEY(chain, seq)) WITHOUT ROWID, STRICT;
              CREATE INDEX audit_row_at ON audit_row(at);
              CREATE TABLE audit_head(
                chain INTEGER PRIMARY KEY, nonce BLOB NOT NULL, key BLOB NOT NULL, at INTEGER NOT NULL,
                count INTEGER NOT NULL, hash BLOB NOT NULL, closed INTEGER NOT NULL, mac BLOB NOT NULL) STRICT;
              CREATE INDEX audit_head_open ON audit_head(at) WHERE closed = 0 AND chain <> 0;
              CREATE TABLE audit_register(
                seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, event INTEGER NOT NULL, chain INTEGER NOT NULL,
                nonce BLOB NOT NULL, count INTEGER NOT NULL, last BLOB NOT NULL, prev BLOB NOT NULL,
                hash BLOB NOT NULL) STRICT;
              CREATE INDEX audit_register_chain ON audit_register(chain);",
        },
        // A head grows with every row, and its index need not.
        Migration {
            version: 2,
            sql: "DROP INDEX audit_head_open;
                  CREATE INDEX audit_head_open ON audit_head(chain) WHERE closed = 0 AND chain <> 0;",
        },
        // Rows of before name no person, and are signed as they were.
        Migration { version: 3, sql: "ALTER TABLE audit_row ADD COLUMN person TEXT;" },
    ],
};

/// Made once: every call puts rows in.
static INSERT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO audit_row({ROW}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
    )
});

impl Storage for Sqlite {
    fn is_shared(&self) -> bool {
        false
    }

    fn is_free(&self) -> bool {
        Sqlite::is_free(self)
    }

    fn read(&self, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Sqlite::read(self, |conn| look(&mut SqliteSession { database: self, conn }))
    }

    fn read_durable(&self, until: Instant, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        // Others may see a commit before it is durable; whoever has had the turn to write only those that are.
        Storage::write(self, until, look)
    }

    fn write(&self, until: Instant, change: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Sqlite::write(self, until, |tx| change(&mut SqliteSession { database: self, conn: tx }))
    }
}

impl Statements for SqliteSession<'_> {
    fn all<T: Stored>(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Found<T>>> {
        Ok(self.ask(sql, params, |row| T::found(row))?)
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64> {
        Ok(self.change(sql, [params])?)
    }

    fn put_rows(&mut self, rows: &[Row]) -> Result<()> {
        let calls: Vec<[u8; 16]> = rows.iter().map(|row| row.call.0.to_be_bytes()).collect();
        self.change(&INSERT, rows.iter().zip(&calls).map(|(row, call)| of_row(row, call)))?;
        Ok(())
    }

    fn do_deed(&mut self, deed: &mut Deed) -> Result<()> {
        Ok(deed(self)?)
    }

    fn locking(&self) -> &'static str {
        ""
    }

    fn locking_the_free(&self) -> &'static str {
        ""
    }
}

impl Cells for rusqlite::Row<'_> {
    fn number(&self, at: usize) -> Result<i64, Odd> {
        self.get_ref(at).ok().and_then(|value| value.as_i64().ok()).ok_or(Odd)
    }

    fn bytes(&self, at: usize) -> Result<&[u8], Odd> {
        self.get_ref(at).ok().and_then(|value| value.as_blob().ok()).ok_or(Odd)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Odd> {
        self.get_ref(at).ok().and_then(|value| value.as_str_or_null().ok()).ok_or(Odd)
    }
}
