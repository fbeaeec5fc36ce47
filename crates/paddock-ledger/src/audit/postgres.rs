//! The audit's tables in PostgreSQL, where many machines write side by side.
//!
//! A head is locked before it is changed, whoever closes silent chains passes over those that are being written, and a batch of
//! rows is one journey. Paths are bytes here, since a path as it was asked for may hold a NUL, which PostgreSQL does not keep in a
//! text.

use std::time::{Duration, Instant};

use paddock_db::pg_types::Type;
use paddock_db::statements::{Deed, Param, PgSession};
use paddock_db::{Migration, PgRow, Postgres, Schema};

use super::columns::{Cells, Odd, ROW, ROW_COLUMNS, Stored, of_row};
use super::row::Row;
use super::storage::{Found, Result, Storage, Tables};
use super::tables::Statements;

/// The tables of the audit, for the database that is given to `AuditLog::postgres`.
pub const POSTGRES_SCHEMA: Schema = Schema {
    owner: "audit",
    migrations: &[
        Migration {
            version: 1,
            sql: "CREATE TABLE audit_row(
                chain BIGINT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, kind BIGINT NOT NULL,
                call BYTEA NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL, workspace TEXT, path BYTEA NOT NULL,
                outcome TEXT NOT NULL, reason TEXT NOT NULL, risk BIGINT NOT NULL, bytes BIGINT NOT NULL,
                took_us BIGINT NOT NULL, prev BYTEA NOT NULL, hash BYTEA NOT NULL,
                PRIMARY KEY(chain, seq));
              CREATE INDEX audit_row_at ON audit_row(at, chain, seq);
              CREATE TABLE audit_head(
                chain BIGINT PRIMARY KEY, nonce BYTEA NOT NULL, key BYTEA NOT NULL, at BIGINT NOT NULL,
                count BIGINT NOT NULL, hash BYTEA NOT NULL, closed BIGINT NOT NULL, mac BYTEA NOT NULL);
              CREATE INDEX audit_head_open ON audit_head(at) WHERE closed = 0 AND chain <> 0;
              CREATE TABLE audit_register(
                seq BIGINT PRIMARY KEY, at BIGINT NOT NULL, event BIGINT NOT NULL, chain BIGINT NOT NULL,
                nonce BYTEA NOT NULL, count BIGINT NOT NULL, last BYTEA NOT NULL, prev BYTEA NOT NULL,
                hash BYTEA NOT NULL);
              CREATE INDEX audit_register_chain ON audit_register(chain);",
        },
        // Rows of before name no person, and are signed as they were.
        Migration { version: 2, sql: "ALTER TABLE audit_row ADD COLUMN person TEXT" },
    ],
};

/// How long a look may take: a check reads everything.
const LOOK: Duration = Duration::from_secs(24 * 3600);

impl Storage for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    fn read(&self, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Postgres::read(self, Instant::now() + LOOK, |tx| look(&mut In { session: PgSession { tx }, writes: false }))
    }

    fn read_durable(&self, until: Instant, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        // The server shows a commit to others once it is durable.
        Postgres::read(self, until, |tx| look(&mut In { session: PgSession { tx }, writes: false }))
    }

    fn write(&self, until: Instant, change: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Postgres::write(self, until, |tx| change(&mut In { session: PgSession { tx }, writes: true }))
    }
}

/// Inside a transaction of PostgreSQL.
struct In<'a, 't> {
    session: PgSession<'a, 't>,
    writes: bool,
}

impl Statements for In<'_, '_> {
    fn all<T: Stored>(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Found<T>>> {
        Ok(self.session.ask(sql, params)?.iter().map(T::found).collect())
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64> {
        Ok(self.session.change(sql, params)?)
    }

    fn put_rows(&mut self, rows: &[Row]) -> Result<()> {
        let sql = format!(
            "INSERT INTO audit_row({ROW}) SELECT * FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bigint[], \
             ?5::bytea[], ?6::text[], ?7::text[], ?8::text[], ?9::text[], ?10::bytea[], ?11::text[], ?12::text[], \
             ?13::bigint[], ?14::bigint[], ?15::bigint[], ?16::bytea[], ?17::bytea[])"
        );
        let calls: Vec<[u8; 16]> = rows.iter().map(|row| row.call.0.to_be_bytes()).collect();
        let rows: Vec<[Param<'_>; ROW_COLUMNS]> =
            rows.iter().zip(&calls).map(|(row, call)| of_row(row, call)).collect();
        let column = |at: usize| rows.iter().map(|row| row[at]).collect();
        let columns: [Vec<Param<'_>>; ROW_COLUMNS] = std::array::from_fn(column);
        self.session.change(&sql, &columns)?;
        Ok(())
    }

    fn do_deed(&mut self, deed: &mut Deed) -> Result<()> {
        Ok(deed(&mut self.session)?)
    }

    fn locking(&self) -> &'static str {
        if self.writes { "FOR UPDATE" } else { "" }
    }

    fn locking_the_free(&self) -> &'static str {
        "FOR UPDATE SKIP LOCKED"
    }
}

impl Cells for PgRow {
    fn number(&self, at: usize) -> Result<i64, Odd> {
        self.try_get(at).map_err(|_| Odd)
    }

    fn bytes(&self, at: usize) -> Result<&[u8], Odd> {
        self.try_get(at).map_err(|_| Odd)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Odd> {
        if self.columns().get(at).is_some_and(|column| *column.type_() == Type::BYTEA) {
            return std::str::from_utf8(self.bytes(at)?).map(Some).map_err(|_| Odd);
        }
        self.try_get(at).map_err(|_| Odd)
    }
}
