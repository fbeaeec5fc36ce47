//! Statements that run on either database: one small trait, with SQLite and PostgreSQL behind it.
//!
//! Statements are the same for every database: parameters are written `?1`, `?2`, …, values are whole numbers and
//! texts. A database must run a change whole or not at all, and may run it again when it met another's.
//! Nothing here knows what the rows mean.

mod postgres;

use std::time::Instant;

pub use postgres::PgSession;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::{DbError, Sqlite};

/// One value of a row or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
}

impl Value {
    /// The number, or 0 where there is none.
    pub fn int(&self) -> i64 {
        if let Self::Int(n) = self { *n } else { 0 }
    }

    /// The number, where there is one.
    pub fn maybe_int(&self) -> Option<i64> {
        if let Self::Int(n) = self { Some(*n) } else { None }
    }

    /// The text, or an empty one.
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The text, where there is one.
    pub fn maybe_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Int(yes.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A parameter that is borrowed, for those who write much: as a [`Value`], or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A text. Where a column holds bytes, those of it.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl Value {
    fn borrowed(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(n) => Param::Int(*n),
            Self::Text(text) => Param::Text(text),
        }
    }
}

/// One row of an answer.
pub type Row = Vec<Value>;

/// A transaction that is open.
pub trait Session {
    /// All rows that `sql` answers.
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError>;
    /// How many rows `sql` changed.
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError>;
}

/// What is done in a transaction. May be run more than once; only the last run counts.
pub type Work<'a> = &'a mut dyn FnMut(&mut dyn Session) -> Result<(), DbError>;

/// Something to be written down, by whoever writes next. Run again where it is not known whether it was kept, so that
/// doing it twice must come to the same.
pub type Deed = Box<dyn FnMut(&mut dyn Session) -> Result<(), DbError> + Send>;

/// A database that statements run on.
pub trait Storage: Send + Sync {
    /// Reads in one snapshot.
    fn read(&self, work: Work<'_>) -> Result<(), DbError>;
    /// Changes all of it, or nothing; waits for its turn, not past `until`.
    fn write(&self, until: Instant, work: Work<'_>) -> Result<(), DbError>;
    /// As [`Self::write`], for what may be lost with the power: it lasts when the next change does that is waited for.
    fn write_ahead(&self, until: Instant, work: Work<'_>) -> Result<(), DbError> {
        self.write(until, work)
    }
}

impl dyn Storage {
    /// What `ask` finds, in one snapshot.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn look<T>(&self, ask: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T, DbError> {
        told(ask, |work| self.read(work))
    }

    /// What `change` comes to, all of it made or nothing, not past `until`.
    ///
    /// # Errors
    /// When it could not be made.
    pub fn change<T>(
        &self,
        until: Instant,
        change: impl FnMut(&mut dyn Session) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        told(change, |work| self.write(until, work))
    }

    /// As [`Self::change`], for what may be lost with the power until the next change that is waited for.
    ///
    /// # Errors
    /// When it could not be made.
    pub fn change_ahead<T>(
        &self,
        until: Instant,
        change: impl FnMut(&mut dyn Session) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        told(change, |work| self.write_ahead(until, work))
    }
}

/// What `work` came to, where `run` runs it.
fn told<T>(
    mut work: impl FnMut(&mut dyn Session) -> Result<T, DbError>,
    run: impl FnOnce(Work<'_>) -> Result<(), DbError>,
) -> Result<T, DbError> {
    let mut came_to = None;
    run(&mut |session| {
        came_to = Some(work(session)?);
        Ok(())
    })?;
    came_to.ok_or_else(|| DbError::Other { name: "the database".to_owned(), why: "it ran nothing".to_owned() })
}

impl Storage for Sqlite {
    fn read(&self, work: Work<'_>) -> Result<(), DbError> {
        Self::read(self, |conn| work(&mut SqliteSession { database: self, conn }))
    }

    fn write(&self, until: Instant, work: Work<'_>) -> Result<(), DbError> {
        Self::write(self, until, |tx| work(&mut SqliteSession { database: self, conn: tx }))
    }

    fn write_ahead(&self, until: Instant, work: Work<'_>) -> Result<(), DbError> {
        Self::write_ahead(self, until, |tx| work(&mut SqliteSession { database: self, conn: tx }))
    }
}

/// A transaction of SQLite.
#[derive(Debug)]
pub struct SqliteSession<'a> {
    /// The database.
    pub database: &'a Sqlite,
    /// Its connection, in a transaction.
    pub conn: &'a Connection,
}

impl SqliteSession<'_> {
    /// What `read` makes of each row that `sql` answers.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn ask<T>(
        &self,
        sql: &str,
        params: &[impl ToSql],
        mut read: impl FnMut(&rusqlite::Row<'_>) -> T,
    ) -> Result<Vec<T>, DbError> {
        let mut answers = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.conn.prepare_cached(sql)?;
            statement.query_map(rusqlite::params_from_iter(params), |row| Ok(read(row)))?.collect()
        };
        answers().map_err(|error| self.database.error(error))
    }

    /// How many rows `sql` changed, run once with each of these.
    ///
    /// # Errors
    /// When the database refuses one of them.
    pub fn change(
        &self,
        sql: &str,
        each: impl IntoIterator<Item = impl IntoIterator<Item: ToSql>>,
    ) -> Result<u64, DbError> {
        let change = || -> rusqlite::Result<usize> {
            let mut statement = self.conn.prepare_cached(sql)?;
            each.into_iter().map(|params| statement.execute(rusqlite::params_from_iter(params))).sum()
        };
        change().map(|changed| changed as u64).map_err(|error| self.database.error(error))
    }
}

impl Session for SqliteSession<'_> {
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        self.ask(sql, params, |row| {
            (0..row.as_ref().column_count()).map(|at| row.get_ref(at).map_or(Value::Null, value)).collect()
        })
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        self.change(sql, [params])
    }
}

fn value(from: ValueRef<'_>) -> Value {
    match from {
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
    }
}

impl<'a> From<Param<'a>> for ValueRef<'a> {
    fn from(param: Param<'a>) -> Self {
        match param {
            Param::Null => ValueRef::Null,
            Param::Int(n) => ValueRef::Integer(n),
            Param::Text(text) => ValueRef::Text(text.as_bytes()),
            Param::Bytes(bytes) => ValueRef::Blob(bytes),
        }
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed((*self).into()))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.borrowed().into()))
    }
}
