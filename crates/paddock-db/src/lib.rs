//! SQLite and PostgreSQL: connections, migrations, the queue of writers.
//!
//! Owns how a database is opened, kept whole and waited for. It must never know what is stored: each owner of
//! tables brings its own [`Schema`], and every statement comes from above.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]
#![allow(clippy::disallowed_methods, reason = "a crate that owns I/O: it opens the databases' files")]

mod error;
mod postgres;
mod schema;
mod sqlite;
pub mod statements;
mod sync;

pub use error::{DbError, Result};
#[cfg(feature = "testing")]
pub use postgres::testing as postgres_testing;
pub use postgres::{PgTransaction, Postgres, Watch};
pub use schema::{Migration, Schema};
pub use sqlite::{Sqlite, Stamp};
pub use tokio_postgres::{Row as PgRow, types as pg_types};

/// The SQLite this crate uses, for those who write statements.
pub use rusqlite;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, by whatever signal.
    #[default]
    Process,
    /// The loss of power too.
    Disk,
}
