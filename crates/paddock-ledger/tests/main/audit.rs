//! The audit as its callers and its enemies see it, on both databases.

mod child;
mod keeping;
mod looking;
mod pruning;
mod random;
mod redacting;
mod tampering;
mod trouble;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use paddock_core::{AgentName, Audit, CallId, CallRecord, LogicalPath, Risk};
use paddock_db::postgres_testing::{self, Database};
use paddock_db::{Durability, Postgres, Sqlite, rusqlite};
use paddock_ledger::audit::{AuditKey, AuditLog, Finding, POSTGRES_SCHEMA, Report, SQLITE_SCHEMA};
use paddock_state::Redactor;
use tempfile::TempDir;

/// Where an audit is kept for a test; gone when dropped.
pub(crate) struct Ground {
    home: TempDir,
    postgres: Option<Database>,
}

impl Ground {
    pub(crate) fn sqlite() -> Self {
        Self { home: tempfile::tempdir().unwrap(), postgres: None }
    }

    pub(crate) fn postgres() -> Self {
        Self { home: tempfile::tempdir().unwrap(), postgres: Some(Database::fresh()) }
    }

    pub(crate) fn both() -> [Self; 2] {
        [Self::sqlite(), Self::postgres()]
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    fn database(&self) -> PathBuf {
        self.home().join("state.db")
    }

    fn outside(&self) -> PathBuf {
        outside_in(self.home())
    }

    fn open(&self) -> AuditLog {
        open_at(self.home(), self.url().as_deref())
    }

    fn url(&self) -> Option<String> {
        self.postgres.as_ref().map(Database::url)
    }

    /// Runs statements behind the audit's back.
    fn sql(&self, sql: &str) {
        match &self.postgres {
            None => rusqlite::Connection::open(self.database()).unwrap().execute_batch(sql).unwrap(),
            Some(database) => {
                postgres_testing::run(&database.url(), &format!("SET search_path = paddock; {sql}"));
            }
        }
    }

    fn verify(&self) -> Report {
        self.open().verify().unwrap()
    }

    fn findings(&self) -> Vec<Finding> {
        self.verify().findings
    }

    /// A chain of `rows` reads, written by a process that ended as it should.
    fn write_chain(&self, rows: u64) {
        let log = self.open();
        for n in 0..rows {
            let risk = (n % 2 == 1).then_some(Risk::Low);
            let by = (n == 2).then_some("alice");
            log.record(&CallRecord { risk, by, ..record(&main(), "read", &format!("/ws/{n}"), false) }).unwrap();
        }
        log.close().unwrap();
    }
}

fn outside_in(home: &Path) -> PathBuf {
    home.join("secrets/audit.head")
}

fn open_at(home: &Path, url: Option<&str>) -> AuditLog {
    let key = AuditKey::load_or_create(&home.join("secrets/audit.key")).unwrap();
    let outside = outside_in(home);
    match url {
        None => {
            let db = Sqlite::new(home.join("state.db"), vec![SQLITE_SCHEMA], Durability::Process);
            AuditLog::sqlite(db, Durability::Process, key, outside, Redactor::none())
        }
        Some(url) => {
            AuditLog::postgres(Postgres::new(url, vec![POSTGRES_SCHEMA]).unwrap(), key, outside, Redactor::none())
        }
    }
}

fn main() -> AgentName {
    AgentName::main()
}

fn record<'a>(agent: &'a AgentName, tool: &'a str, path: &'a str, effect: bool) -> CallRecord<'a> {
    CallRecord {
        call: CallId::next(),
        agent,
        by: None,
        tool,
        path,
        workspace: None,
        outcome: "done",
        reason: "",
        risk: Some(Risk::Low),
        bytes: 10,
        took: Duration::from_micros(7),
        effect,
    }
}

/// An effect as the boundary does it: an intent that is kept before anything happens, and then the outcome.
fn effect(log: &AuditLog, path: &str) -> Result<CallId, String> {
    let (agent, workspace) = (main(), LogicalPath::parse("/ws", &LogicalPath::top()).unwrap());
    let call = CallId::next();
    log.intent(call, (&agent, None), "write", path, Some(&workspace), SystemTime::now())
        .and_then(|()| log.flush())
        .map_err(|error| error.to_string())?;
    let record = CallRecord { call, workspace: Some(&workspace), ..record(&agent, "write_file", path, true) };
    log.record(&record).map_err(|error| error.to_string())?;
    Ok(call)
}
