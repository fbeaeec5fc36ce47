//! The installation of a project: the databases behind its Virtual Stores, its history and its audit.
//!
//! Claims the project's place in the System Root. The databases in it are opened by whoever first uses them, so that
//! a start stays short. What only looks at the policy takes [`Installation::look`], which makes nothing on disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use paddock_core::{Audit, Gate, Journal, NoAudit, NoJournal};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::audit::{AuditKey, AuditLog};
use paddock_ledger::history::{History, Retention};
use paddock_state::{Forks, Origin, StateError, SystemRoot, WorkspaceHome};
use paddock_stores::virtual_store::base::BaseStore;
use paddock_stores::virtual_store::{MemoryBase, SqliteBase};

use crate::build::Ports;
use crate::config_file::ConfigFile;
use crate::schema::{Durability as Promised, MountSpec};

/// For how long history is kept where nothing is said.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How much of it.
const KEPT_BYTES: u64 = 1 << 30;
/// How many versions of a file.
const KEPT_VERSIONS: u64 = 100;

/// Why an installation cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// Its place in the System Root cannot be had.
    #[error("{0}")]
    State(#[from] StateError),
    /// The key of its audit cannot be read or made.
    #[error("{0}")]
    Audit(#[from] paddock_ledger::audit::AuditError),
    /// A database that this version cannot use for this.
    #[error("{0} cannot be used yet")]
    Unsupported(&'static str),
}

impl InstallationError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::State(error) => error.hint(),
            Self::Audit(error) => error.hint().to_owned(),
            Self::Unsupported(_) => "use url = \"sqlite\", or leave the section out".to_owned(),
        }
    }
}

/// Where a project's state is, as its configuration says.
#[derive(Debug, Clone)]
pub struct Settings {
    origin: Origin,
    virtual_url: String,
    state_url: String,
    durability: Durability,
    retention: Retention,
}

impl Settings {
    /// What a configuration says; without one, the embedded defaults.
    #[must_use]
    pub fn of(project_root: PathBuf, file: Option<&ConfigFile>) -> Self {
        let config = file.map(ConfigFile::config);
        let name = config.and_then(|config| config.name.as_ref()).map(|name| name.value.as_str());
        let stores = config.and_then(|config| config.virtual_.as_ref());
        let state = config.and_then(|config| config.state.as_ref());
        let history = stores.and_then(|stores| stores.history.as_ref());
        let sqlite = || "sqlite".to_owned();
        Self {
            origin: Origin::of_project(project_root, name),
            virtual_url: stores.and_then(|stores| stores.url.as_ref()).map_or_else(sqlite, |url| url.0.clone()),
            state_url: state.and_then(|state| state.url.as_ref()).map_or_else(sqlite, |url| url.0.clone()),
            durability: file.map_or(Durability::Process, durability),
            retention: Retention {
                age: Some(history.and_then(|history| history.keep.as_ref()).map_or(KEPT, |keep| keep.0)),
                count: Some(history.and_then(|history| history.count).unwrap_or(KEPT_VERSIONS)),
                bytes: Some(history.and_then(|history| history.size.as_ref()).map_or(KEPT_BYTES, |size| size.0)),
            },
        }
    }
}

/// One database holds the rows of all: it promises the most that any of them was promised.
fn durability(file: &ConfigFile) -> Durability {
    let state = file.config().state.as_ref().and_then(|state| state.durability);
    let virtual_ = file.agents().into_iter().any(|agent| {
        file.workspaces_of(&agent).iter().any(|table| {
            matches!(table.mount.value, MountSpec::Virtual { .. }) && table.durability == Some(Promised::Disk)
        })
    });
    if virtual_ || state == Some(Promised::Disk) { Durability::Disk } else { Durability::Process }
}

/// The databases of one project, and its place in the System Root.
#[derive(Clone)]
pub struct Installation {
    home: Option<WorkspaceHome>,
    base: Arc<dyn BaseStore>,
    ledger: Option<Ledger>,
    retention: Retention,
}

/// What happened in a project.
#[derive(Clone)]
struct Ledger {
    state: Sqlite,
    content: Sqlite,
    history: Arc<History>,
    audit: Arc<AuditLog>,
}

impl std::fmt::Debug for Installation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Installation").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Installation {
    /// One that keeps nothing: for programs that need none, and for tests.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { home: None, base: Arc::new(MemoryBase::new()), ledger: None, retention: Retention::default() }
    }

    /// The project's own, made now where there is none yet.
    ///
    /// # Errors
    /// When its place in the System Root cannot be had.
    pub fn claim(system: &SystemRoot, settings: &Settings) -> Result<Self, InstallationError> {
        let home = WorkspaceHome::claim(system, &settings.origin)?;
        Self::at(system, home, settings)
    }

    /// The project's own if it has one, else one without anything in it. Makes nothing.
    ///
    /// # Errors
    /// When it cannot be said whose the place is.
    pub fn look(system: &SystemRoot, settings: &Settings) -> Result<Self, InstallationError> {
        match WorkspaceHome::find(system, &settings.origin)? {
            Some(home) => Self::at(system, home, settings),
            None => Ok(Self::in_memory()),
        }
    }

    fn at(system: &SystemRoot, home: WorkspaceHome, settings: &Settings) -> Result<Self, InstallationError> {
        if settings.state_url != "sqlite" {
            return Err(InstallationError::Unsupported("a state database other than SQLite"));
        }
        let schemas =
            vec![SqliteBase::STATE, paddock_ledger::history::schema::SQLITE, paddock_ledger::audit::SQLITE_SCHEMA];
        let state = Sqlite::new(home.state_db(), schemas, settings.durability);
        let content = Sqlite::new(home.content_db(), vec![SqliteBase::CONTENT], settings.durability);
        let base: Arc<dyn BaseStore> = match settings.virtual_url.as_str() {
            "sqlite" => Arc::new(SqliteBase::new(state.clone(), content.clone())),
            "memory" => Arc::new(MemoryBase::new()),
            _ => return Err(InstallationError::Unsupported("Virtual Stores on PostgreSQL")),
        };
        let key = AuditKey::load_or_create(&system.secrets_dir().join("audit.key"))?;
        let outside = home.path().join("audit.head");
        let audit = Arc::new(AuditLog::sqlite(state.clone(), settings.durability, key, outside));
        let told = Arc::clone(&audit);
        let history = History::on_sqlite(state.clone()).with_intent(Arc::new(move |call, plan| {
            let (op, path) = (plan.kind().to_string(), plan.path().as_str());
            Ok(told.intent(call.id, call.agent, &op, path, None, SystemTime::now())?)
        }));
        let ledger = Ledger { state, content, history: Arc::new(history), audit };
        Ok(Self { home: Some(home), base, ledger: Some(ledger), retention: settings.retention })
    }

    /// What every agent's guard is given besides its Workspaces.
    pub fn ports(&self, gate: Arc<dyn Gate>) -> Ports {
        let history = self.history().cloned();
        Ports {
            gate,
            journal: history.map_or_else(|| Arc::new(NoJournal) as Arc<dyn Journal>, |history| history),
            audit: self.audit(),
            base: Arc::clone(&self.base),
            home: self.home.clone(),
        }
    }

    /// Where every call is recorded.
    #[must_use]
    pub fn audit(&self) -> Arc<dyn Audit> {
        match &self.ledger {
            Some(ledger) => Arc::clone(&ledger.audit) as Arc<dyn Audit>,
            None => Arc::new(NoAudit),
        }
    }

    /// The audit, for reading it.
    #[must_use]
    pub fn audit_log(&self) -> Option<&Arc<AuditLog>> {
        self.ledger.as_ref().map(|ledger| &ledger.audit)
    }

    /// What each call changed.
    #[must_use]
    pub fn history(&self) -> Option<&Arc<History>> {
        self.ledger.as_ref().map(|ledger| &ledger.history)
    }

    /// The database of the Virtual Stores.
    #[must_use]
    pub fn base(&self) -> &Arc<dyn BaseStore> {
        &self.base
    }

    /// The embedded databases: by name, for checks and backups.
    #[must_use]
    pub fn databases(&self) -> Vec<(&'static str, &Sqlite)> {
        let ledger = self.ledger.as_ref();
        ledger.map_or_else(Vec::new, |ledger| vec![("state.db", &ledger.state), ("content.db", &ledger.content)])
    }

    /// How much of the past is kept.
    #[must_use]
    pub fn retention(&self) -> &Retention {
        &self.retention
    }

    /// The project's place in the System Root, where it has one.
    #[must_use]
    pub fn home(&self) -> Option<&WorkspaceHome> {
        self.home.as_ref()
    }

    /// The project's forks, where it has a place for them.
    #[must_use]
    pub fn forks(&self) -> Option<Forks> {
        self.home.as_ref().map(Forks::of)
    }
}
