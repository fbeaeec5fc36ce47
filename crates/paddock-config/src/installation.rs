//! The installation of a project: the databases behind its Virtual Stores, its history and its audit.
//!
//! Claims the project's place in the System Root. The databases in it are opened by whoever first uses them, so that
//! a start stays short. What only looks at the policy takes [`Installation::look`], which makes nothing on disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_core::{AgentName, Audit, Call, CallId, Cancel, Gate, Journal, NoAudit, NoJournal, Versioned as _};
use paddock_db::{Durability, Postgres, Schema, Sqlite};
use paddock_ledger::Ledger;
use paddock_ledger::approvals::Approvals;
use paddock_ledger::audit::{AuditError, AuditKey, AuditLog};
use paddock_ledger::history::{History, HistoryError, Retention};
use paddock_state::instance::{FileInstances, Instances, PostgresInstances};
use paddock_state::{Forks, Origin, Redactor, Secrets, SecretsError, StateError, SystemRoot, WorkspaceHome};
use paddock_stores::virtual_store::base::BaseStore;
use paddock_stores::virtual_store::{MemoryBase, PostgresBase, SqliteBase, VirtualStore};
use paddock_stores::{KeptPlace, SqliteUsage};

use crate::build::Ports;
use crate::config_file::ConfigFile;
use crate::problem::ConfigError;
use crate::schema::{Durability as Promised, MountSpec};
use crate::upkeep::{self, Untouched};

/// For how long history is kept where nothing is said.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How much of it.
const KEPT_BYTES: u64 = 1 << 30;
/// How many versions of a file.
const KEPT_VERSIONS: u64 = 100;
/// How long a chunk may be staged, in milliseconds, before the commit that names it.
const STAGED: u64 = 24 * 3600 * 1000;
/// How long one tidying may take.
const LONGEST: Duration = Duration::from_secs(600);

/// Why an installation cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// Its place in the System Root cannot be had.
    #[error("{0}")]
    State(#[from] StateError),
    /// The key of its audit cannot be read or made.
    #[error("{0}")]
    Audit(#[from] AuditError),
    /// A database cannot be used.
    #[error("{0}")]
    Database(#[from] paddock_db::DbError),
    /// There are secrets that cannot be opened, and so could not be kept out of what is written.
    #[error("{0}")]
    Secrets(#[from] SecretsError),
    /// The place for what changes replaced cannot be used.
    #[error("the history of the project cannot be kept: {0}")]
    History(paddock_core::StoreError),
}

impl InstallationError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::State(error) => error.hint(),
            Self::Audit(error) => error.hint().to_owned(),
            Self::Secrets(error) => error.hint(),
            Self::Database(error) => error.hint().to_owned(),
            Self::History(_) => "check the owner and mode of the System Root, or use another with --home".to_owned(),
        }
    }
}

/// Where a project's state is, as its configuration says, and which secrets it may name.
#[derive(Clone)]
pub struct Settings {
    origin: Origin,
    virtual_url: String,
    state_url: String,
    /// Whose rows are ours on a shared server.
    id: Option<String>,
    durability: Durability,
    retention: Retention,
    secrets: Secrets,
    more: Vec<Tables>,
}

/// Tables of somebody above, on either database.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// On SQLite.
    pub sqlite: Schema,
    /// On PostgreSQL.
    pub postgres: Schema,
}

/// Where the state of a project is.
#[derive(Debug, Clone)]
pub enum StateDatabase {
    /// In its own place.
    Sqlite(Sqlite),
    /// On a server, under this name.
    Postgres(Postgres, String),
}

/// An address may hold a password.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Settings {
    /// What a configuration says; without one, the embedded defaults.
    ///
    /// # Errors
    /// When it names a secret that is not there.
    pub fn of(project_root: PathBuf, file: Option<&ConfigFile>, secrets: &Secrets) -> Result<Self, ConfigError> {
        let config = file.map(ConfigFile::config);
        let name = config.and_then(|config| config.name.as_ref()).map(|name| name.value.as_str());
        let stores = config.and_then(|config| config.virtual_.as_ref());
        let state = config.and_then(|config| config.state.as_ref());
        let history = stores.and_then(|stores| stores.history.as_ref());
        let sqlite = || "sqlite".to_owned();
        let virtual_url = file.zip(stores.and_then(|stores| stores.url.as_ref()));
        let virtual_url = virtual_url.map(|(file, url)| file.look_up(url, secrets)).transpose()?.flatten();
        let state_url = file.zip(state.and_then(|state| state.url.as_ref()));
        let state_url = state_url.map(|(file, url)| file.look_up(url, secrets)).transpose()?.flatten();
        Ok(Self {
            origin: Origin::of_project(project_root, name),
            virtual_url: virtual_url.map_or_else(sqlite, |url| url.0),
            state_url: state_url.map_or_else(sqlite, |url| url.0),
            id: state.and_then(|state| state.id.clone()),
            durability: file.map_or(Durability::Process, durability),
            retention: Retention {
                age: Some(history.and_then(|history| history.keep.as_ref()).map_or(KEPT, |keep| keep.0)),
                count: Some(history.and_then(|history| history.count).unwrap_or(KEPT_VERSIONS)),
                bytes: Some(history.and_then(|history| history.size.as_ref()).map_or(KEPT_BYTES, |size| size.0)),
            },
            secrets: secrets.clone(),
            more: Vec::new(),
        })
    }

    /// With further tables beside the project's own.
    #[must_use]
    pub fn with_tables(mut self, tables: Tables) -> Self {
        self.more.push(tables);
        self
    }
}

/// Why the past could not be tidied.
#[derive(Debug, thiserror::Error)]
pub enum TidyError {
    /// The history could not be asked.
    #[error("{0}")]
    History(#[from] HistoryError),
    /// The approvals could not be asked.
    #[error("{0}")]
    Approvals(#[from] paddock_ledger::approvals::ApprovalError),
    /// A Store could not let go.
    #[error("{0}")]
    Store(#[from] paddock_core::StoreError),
    /// It cannot be said whether somebody copies.
    #[error("the lock of the past: {0}")]
    Lock(#[from] std::io::Error),
}

/// Is something about to happen, or is only looked at what did?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Work,
    Look,
}

/// The key of the audit, and whether it is gone. A key is made only where nothing was signed yet: a new one in the place of
/// one that is gone would make all that was signed look forged, and hide that somebody took it. On a server others may have signed.
fn audit_key(
    system: &SystemRoot,
    purpose: Purpose,
    shared: Option<&Postgres>,
) -> Result<(AuditKey, Option<PathBuf>), InstallationError> {
    let path = system.audit_key();
    let gone = system.has_audit_heads();
    match (AuditKey::load(&path)?, purpose) {
        (Some(key), Purpose::Look) => Ok((key, None)),
        (Some(key), Purpose::Work) => match shared.map_or(Ok(()), |shared| key.suits(shared)) {
            // A server that does not answer now is met where that matters: what is on this machine can be read without it.
            Ok(()) | Err(AuditError::Db(_)) => Ok((key, None)),
            Err(error) => Err(error.into()),
        },
        (None, Purpose::Look) => Ok((AuditKey::of_nobody()?, gone.then_some(path))),
        (None, Purpose::Work) if gone => Err(AuditError::KeyGone { path }.into()),
        (None, Purpose::Work) => {
            // Nobody has this key, so it suits only where nobody has signed.
            shared.map_or(Ok(()), |shared| AuditKey::of_nobody()?.suits(shared))?;
            Ok((AuditKey::load_or_create(&path)?, None))
        }
    }
}

/// The tables of the state on a server.
#[must_use]
pub fn state_schemas() -> Vec<Schema> {
    use paddock_ledger::{approvals, audit, history};
    vec![history::schema::POSTGRES, approvals::schema::POSTGRES, audit::POSTGRES_SCHEMA, PostgresInstances::SCHEMA]
}

/// The history and the audit, where the configuration wants them.
fn ledger(
    home: &WorkspaceHome,
    settings: &Settings,
    state: &Sqlite,
    shared: Option<&Postgres>,
    key: AuditKey,
) -> Ledger {
    let outside = home.audit_head().to_owned();
    let redactor = settings.secrets.redactor();
    match shared {
        None => Ledger::sqlite(state, settings.durability, key, outside, redactor),
        Some(shared) => Ledger::postgres(shared, &ours(home, settings), key, outside, redactor),
    }
}

/// The server of the state, where the configuration names one. Reaches for nothing.
fn state_server(settings: &Settings) -> Result<Option<Postgres>, InstallationError> {
    match settings.state_url.as_str() {
        "sqlite" => Ok(None),
        url => {
            let schemas = state_schemas().into_iter().chain(settings.more.iter().map(|tables| tables.postgres));
            Ok(Some(Postgres::new(url, schemas.collect())?))
        }
    }
}

/// Whose rows are ours on that server.
fn ours(home: &WorkspaceHome, settings: &Settings) -> String {
    settings.id.clone().unwrap_or_else(|| home.id().to_string())
}

/// The instances of agents: in files of the project's own place, or on the server of its state.
fn instances(home: &WorkspaceHome, settings: &Settings, shared: Option<Postgres>) -> Arc<dyn Instances> {
    match shared {
        None => Arc::new(FileInstances::of(home, settings.durability)),
        Some(shared) => Arc::new(PostgresInstances::new(shared, ours(home, settings))),
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
    instances: Option<Arc<dyn Instances>>,
    database: Option<StateDatabase>,
    session_key: [u8; 32],
    kept: Option<KeptPlace>,
    embedded: Option<Embedded>,
    retention: Retention,
    secrets: Secrets,
    key_gone: Option<PathBuf>,
    taken_away: Option<PathBuf>,
}

/// The databases in the project's own place.
#[derive(Clone)]
struct Embedded {
    state: Sqlite,
    content: Sqlite,
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
        Self {
            home: None,
            base: Arc::new(MemoryBase::new()),
            ledger: None,
            instances: None,
            database: None,
            session_key: [0; 32],
            kept: None,
            embedded: None,
            retention: Retention::default(),
            secrets: Secrets::none(),
            key_gone: None,
            taken_away: None,
        }
    }

    /// The project's own, made now where there is none yet.
    ///
    /// # Errors
    /// When its place in the System Root cannot be had, or there are secrets that cannot be opened.
    pub fn claim(system: &SystemRoot, settings: &Settings) -> Result<Self, InstallationError> {
        settings.secrets.unlock()?;
        let home = WorkspaceHome::claim(system, &settings.origin)?;
        Self::at(system, home, settings, Purpose::Work)
    }

    /// The project's own if it has one, else one without anything in it. Makes nothing.
    ///
    /// # Errors
    /// When it cannot be said whose the place is.
    pub fn look(system: &SystemRoot, settings: &Settings) -> Result<Self, InstallationError> {
        // Where they cannot be opened nothing of them can be read by accident either.
        settings.secrets.refresh();
        match WorkspaceHome::find(system, &settings.origin)? {
            Some(home) => Self::at(system, home, settings, Purpose::Look),
            None => {
                let taken_away = WorkspaceHome::taken_away(system, &settings.origin);
                Ok(Self { taken_away, secrets: settings.secrets.clone(), ..Self::in_memory() })
            }
        }
    }

    fn at(
        system: &SystemRoot,
        home: WorkspaceHome,
        settings: &Settings,
        purpose: Purpose,
    ) -> Result<Self, InstallationError> {
        let mut schemas = vec![
            SqliteBase::STATE,
            SqliteUsage::SCHEMA,
            paddock_ledger::history::schema::SQLITE,
            paddock_ledger::approvals::schema::SQLITE,
            paddock_ledger::audit::SQLITE_SCHEMA,
        ];
        schemas.extend(settings.more.iter().map(|tables| tables.sqlite));
        let state = Sqlite::new(home.state_db(), schemas, settings.durability);
        let content = Sqlite::new(home.content_db(), vec![SqliteBase::CONTENT], settings.durability);
        let embedded = Embedded { state, content };
        let base: Arc<dyn BaseStore> = match settings.virtual_url.as_str() {
            "sqlite" => Arc::new(SqliteBase::new(embedded.state.clone(), embedded.content.clone())),
            "memory" => Arc::new(MemoryBase::new()),
            url => Arc::new(PostgresBase::new(Postgres::new(url, vec![PostgresBase::SCHEMA])?)),
        };
        let shared = state_server(settings)?;
        let (key, key_gone) = audit_key(system, purpose, shared.as_ref())?;
        let session_key = key.derived("Paddock 2026 sessions of runs");
        let ledger = ledger(&home, settings, &embedded.state, shared.as_ref(), key);
        ledger.history.keep_up_to(settings.retention.bytes);
        let database = match &shared {
            None => StateDatabase::Sqlite(embedded.state.clone()),
            Some(shared) => StateDatabase::Postgres(shared.clone(), ours(&home, settings)),
        };
        let instances = instances(&home, settings, shared);
        let kept = KeptPlace::new(&home.history_dir()).map_err(InstallationError::History)?;
        Ok(Self {
            home: Some(home),
            base,
            ledger: Some(ledger),
            instances: Some(instances),
            database: Some(database),
            session_key,
            kept: Some(kept),
            embedded: Some(embedded),
            retention: settings.retention,
            secrets: settings.secrets.clone(),
            key_gone,
            taken_away: None,
        })
    }

    /// What every agent's guard is given besides its Workspaces. `nobody` is the Gate where nothing can wait for a person.
    pub fn ports(&self, nobody: Arc<dyn Gate>) -> Ports {
        let gate = match self.approvals() {
            Some(approvals) => Arc::clone(approvals) as Arc<dyn Gate>,
            None => nobody,
        };
        let journal: Arc<dyn Journal> = match self.history() {
            Some(history) => Arc::clone(history) as Arc<dyn Journal>,
            None => Arc::new(NoJournal),
        };
        Ports {
            gate,
            journal,
            audit: self.audit(),
            base: Arc::clone(&self.base),
            home: self.home.clone(),
            kept: self.kept.clone(),
            counters: self.embedded.as_ref().map(|embedded| embedded.state.clone()),
            secrets: self.secrets.clone(),
            runner: None,
        }
    }

    /// The secrets that its configuration may name.
    #[must_use]
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What keeps their values out of all that is written.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        self.secrets.redactor()
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

    /// Where the key of the audit was, if it is gone: what was recorded can be read then, and not verified.
    #[must_use]
    pub fn key_gone(&self) -> Option<&PathBuf> {
        self.key_gone.as_ref()
    }

    /// Where the project's place was, if all that is left of it is the head of its audit.
    #[must_use]
    pub fn taken_away(&self) -> Option<&PathBuf> {
        self.taken_away.as_ref()
    }

    /// Where the state is, for tables of those above.
    #[must_use]
    pub fn state_database(&self) -> Option<&StateDatabase> {
        self.database.as_ref()
    }

    /// Binds what was begun under this System Root to it.
    #[must_use]
    pub fn session_key(&self) -> [u8; 32] {
        self.session_key
    }

    /// The calls that wait for a person.
    #[must_use]
    pub fn approvals(&self) -> Option<&Arc<Approvals>> {
        self.ledger.as_ref().map(|ledger| &ledger.approvals)
    }

    /// What each call changed.
    #[must_use]
    pub fn history(&self) -> Option<&Arc<History>> {
        self.ledger.as_ref().map(|ledger| &ledger.history)
    }

    /// The instances of its agents, with their conversations; nothing where nothing is kept.
    #[must_use]
    pub fn instances(&self) -> Option<Arc<dyn Instances>> {
        self.instances.clone()
    }

    /// The database of the Virtual Stores.
    #[must_use]
    pub fn base(&self) -> &Arc<dyn BaseStore> {
        &self.base
    }

    /// The embedded databases: by name, for checks and backups.
    #[must_use]
    pub fn databases(&self) -> Vec<(&'static str, &Sqlite)> {
        let embedded = self.embedded.as_ref();
        embedded.map_or_else(Vec::new, |both| vec![("state.db", &both.state), ("content.db", &both.content)])
    }

    /// Lets go of what the rules no longer keep, and of chunks that nothing names. Meant for the background: it waits
    /// for others like every writer. While a copy is made ([`Self::hold_still`]) it does nothing.
    ///
    /// # Errors
    /// When a database cannot be asked. What was not let go of is met again the next time.
    pub fn tidy(&self) -> Result<(), TidyError> {
        let Some(history) = self.history() else { return Ok(()) };
        let lock = self.home.as_ref().map(|home| upkeep::may_tidy(home.path())).transpose()?;
        if let Some(None) = lock {
            return Ok(());
        }
        if let (Some(approvals), Some(age)) = (self.approvals(), self.retention.age) {
            let before = SystemTime::now().checked_sub(age).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            approvals.collect(i64::try_from(before.unwrap_or_default().as_millis()).unwrap_or(0))?;
        }
        let sizes: HashMap<String, u64> = match &self.kept {
            Some(kept) => kept.entries()?.into_iter().map(|entry| (entry.kept.0, entry.len)).collect(),
            None => HashMap::new(),
        };
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline: Instant::now() + LONGEST };
        let collected = history.collect(&self.retention, &mut |spot, kept| match VirtualStore::namespace_of_text(
            &spot.territory,
        ) {
            Some(namespace) => {
                let store = VirtualStore::new(Arc::clone(&self.base), namespace);
                store.kept_len(&call, kept).ok().flatten()
            }
            None => sizes.get(&kept.0).copied(),
        })?;
        for released in &collected {
            match VirtualStore::namespace_of_text(&released.territory) {
                Some(namespace) => {
                    VirtualStore::new(Arc::clone(&self.base), namespace).release(&call, &released.kept)?;
                }
                None => self.kept.as_ref().map_or(Ok(()), |kept| kept.release(&released.kept))?,
            }
            history.forget(released)?;
        }
        self.base.collect_chunks(&call, STAGED)?;
        Ok(())
    }

    /// Keeps everybody from letting go of anything, for as long as the answer lives: for copies.
    ///
    /// # Errors
    /// When there is no place for a lock.
    pub fn hold_still(&self) -> std::io::Result<Option<Untouched>> {
        self.home.as_ref().map(|home| Untouched::in_home(home.path())).transpose()
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
