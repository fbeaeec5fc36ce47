//! What each call changed, and how to take it back.
//!
//! [`History`] is the [`Journal`](paddock_core::Journal) of a Vfs: an intent before the first change, one row per change
//! with the name under which the Store keeps what it replaced, and the end. From the rows it answers what
//! happened to a path ([`History::log`]), what was there ([`History::content_before`]), and the changes that would take a call back
//! ([`History::undo`]) or bring a path to an earlier moment ([`History::restore_to`]).
//!
//! Taking back is never done here: the answer is a list of [`Alteration`](paddock_core::Alteration)s that the Vfs
//! judges and makes like any other change, as one call whose own rows say how to take *that* back. The history must
//! never hold contents, and never promise what a Store no longer keeps.

mod content;
mod error;
mod found;
mod inside;
mod journal;
mod log;
mod mark;
mod own;
mod place;
mod planned;
mod retention;
mod row;
pub mod schema;
mod since;
mod undo;
mod way;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{CallId, Version};
use paddock_db::{Postgres, Sqlite};

pub use self::content::{Content, Moment, Restoration};
pub use self::error::{Conflict, HistoryError};
pub use self::log::{CallQuery, Page};
pub use self::place::Spot;
pub use self::planned::Planned;
pub use self::retention::{Collected, Retention};
pub use self::row::{CallRow, CallState, ChangeRow, What};
pub use self::undo::Undo;

use self::found::Room;
use crate::approvals::Using;
use crate::audit::AuditLog;
use paddock_db::statements::{Session, Storage};

/// The outcome of asking the history.
pub type Result<T, E = HistoryError> = std::result::Result<T, E>;

/// How long housekeeping waits for the database.
const PATIENCE: Duration = Duration::from_secs(30);

/// What each call changed.
#[derive(Clone)]
pub struct History {
    storage: Arc<dyn Storage>,
    home: String,
    /// Writes what happens together with its own rows, where there is one.
    audit: Option<Arc<AuditLog>>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Calls about to run, and the calls that they undo.
    undoing: Arc<Mutex<HashMap<CallId, CallId>>>,
    /// Calls about to run, and the approvals that they use.
    pub(crate) using: Using,
    /// Calls that run, and how many of their changes have rows that are not counted yet.
    counted: Arc<Mutex<HashMap<CallId, usize>>>,
    /// Calls that run, and the versions that the paths of their part had when it began.
    met: Arc<Mutex<HashMap<CallId, HashMap<String, Version>>>>,
    /// Whether more can be kept.
    room: Arc<Room>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").field("home", &self.home).finish_non_exhaustive()
    }
}

impl History {
    /// In a SQLite database that was given [`schema::SQLITE`].
    pub fn on_sqlite(database: Sqlite) -> Self {
        Self::on(Arc::new(database), "")
    }

    /// In a PostgreSQL database that was given [`schema::POSTGRES`]; `home` tells our rows from those of other installations.
    pub fn on_postgres(database: Postgres, home: &str) -> Self {
        Self::on(Arc::new(database), home)
    }

    fn on(storage: Arc<dyn Storage>, home: &str) -> Self {
        Self {
            storage,
            home: home.to_owned(),
            audit: None,
            clock: Arc::new(SystemTime::now),
            undoing: Arc::default(),
            using: Using::default(),
            counted: Arc::default(),
            met: Arc::default(),
            room: Arc::default(),
        }
    }

    /// Beside an audit in the same database: it has an intent of each call before its first change, and what happens is
    /// written with its rows, in as few transactions as can be.
    pub(crate) fn beside(mut self, audit: Arc<AuditLog>) -> Self {
        self.audit = Some(audit);
        self
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Fn() -> SystemTime + Send + Sync>) -> Self {
        self.clock = clock;
        self
    }

    fn now(&self) -> SystemTime {
        (self.clock)()
    }

    fn counted(&self) -> MutexGuard<'_, HashMap<CallId, usize>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn met(&self) -> MutexGuard<'_, HashMap<CallId, HashMap<String, Version>>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn undoing(&self) -> MutexGuard<'_, HashMap<CallId, CallId>> {
        self.undoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, look: impl FnMut(&mut dyn Session) -> Result<T, paddock_db::DbError>) -> Result<T> {
        if let Some(audit) = &self.audit {
            // What this process did is seen, also what still waits. What cannot be written is met where that matters.
            let _ = audit.flush();
        }
        Ok(self.storage.look(look)?)
    }

    fn write<T>(
        &self,
        until: Instant,
        change: impl FnMut(&mut dyn Session) -> Result<T, paddock_db::DbError>,
    ) -> Result<T, paddock_db::DbError> {
        self.storage.change(until, change)
    }
}
