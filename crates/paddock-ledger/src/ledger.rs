//! The audit and the history of an installation, in one database.
//!
//! They are made together because what they write about a call goes into the same transactions; a history beside an audit in
//! another database could not promise that.

use std::path::PathBuf;
use std::sync::Arc;

use paddock_db::{Durability, Postgres, Sqlite};
use paddock_state::Redactor;

use crate::approvals::Approvals;
use crate::audit::{AuditKey, AuditLog};
use crate::history::History;

/// What happened: every call, and what each changed.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// What each call changed; the `Journal` of every Vfs.
    pub history: Arc<History>,
    /// Every call.
    pub audit: Arc<AuditLog>,
    /// The calls that wait for a person; the `Gate` of every Vfs.
    pub approvals: Arc<Approvals>,
}

impl Ledger {
    /// In a SQLite database that was given the schemas of both; see [`AuditLog::sqlite`].
    pub fn sqlite(db: &Sqlite, durability: Durability, key: AuditKey, outside: PathBuf, redactor: Redactor) -> Self {
        let history = History::on_sqlite(db.clone());
        let approvals = Approvals::new(Arc::new(db.clone()), "", key.bytes(), history.using.clone());
        Self::of(AuditLog::sqlite(db.clone(), durability, key, outside, redactor), history, approvals)
    }

    /// In a PostgreSQL database that was given the schemas of both; see [`AuditLog::postgres`] and [`History::on_postgres`].
    pub fn postgres(db: &Postgres, home: &str, key: AuditKey, outside: PathBuf, redactor: Redactor) -> Self {
        let history = History::on_postgres(db.clone(), home);
        let approvals = Approvals::new(Arc::new(db.clone()), home, key.bytes(), history.using.clone());
        Self::of(AuditLog::postgres(db.clone(), key, outside, redactor), history, approvals)
    }

    fn of(audit: AuditLog, history: History, approvals: Approvals) -> Self {
        let audit = Arc::new(audit);
        Self { history: Arc::new(history.beside(Arc::clone(&audit))), audit, approvals: Arc::new(approvals) }
    }
}
