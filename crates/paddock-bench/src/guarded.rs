//! A Workspace on any Store behind the guard, as an agent's call reaches it; and the databases of an installation.
//!
//! With a ledger, a call is recorded as the boundary of the tools records it: the intent before its first change, its
//! changes in the history, its outcome in the audit. Nothing here is quicker than what an agent gets.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use paddock_core::{
    AccessScope, AgentName, Audit as _, Browse, Call, CallId, CallRecord, Cancel, Expect, Gate, Journal, LogicalPath,
    Mount, NoJournal, Operation, Outcome, Passed, Permit, Plan, Refused, Request, Risk, Store, Vfs, Workspace,
};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::Ledger;
use paddock_ledger::audit::{AuditKey, AuditLog};
use paddock_state::Redactor;
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{SqliteBase, VirtualStore};

/// Longer than anything here takes.
const LONGEST: Duration = Duration::from_secs(3600);
/// Where the Workspace is.
const PREFIX: &str = "/w";

/// Lets everything pass.
pub(crate) struct Open;

impl Gate for Open {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        Ok(Passed::Now(permit.grant()))
    }
}

/// Who calls; as long as one lasts.
#[derive(Debug)]
pub(crate) struct Caller {
    agent: AgentName,
    cancel: Cancel,
}

impl Caller {
    pub(crate) fn new() -> Self {
        Self { agent: AgentName::main(), cancel: Cancel::default() }
    }

    pub(crate) fn call(&self) -> Call<'_> {
        Call { id: CallId::next(), agent: &self.agent, cancel: &self.cancel, deadline: Instant::now() + LONGEST }
    }
}

/// The embedded databases, as an installation has them.
#[derive(Clone)]
pub(crate) struct Databases {
    state: Sqlite,
    durability: Durability,
    outside: std::path::PathBuf,
    key: std::path::PathBuf,
    pub(crate) base: Arc<dyn BaseStore>,
}

impl Databases {
    /// In this directory, which is made.
    pub(crate) fn at(directory: &Path, durability: Durability) -> Result<Self> {
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make \"{}\"", directory.display()))?;
        let schemas =
            vec![SqliteBase::STATE, paddock_ledger::history::schema::SQLITE, paddock_ledger::audit::SQLITE_SCHEMA];
        let state = Sqlite::new(directory.join("state.db"), schemas, durability);
        let content = Sqlite::new(directory.join("content.db"), vec![SqliteBase::CONTENT], durability);
        Ok(Self {
            base: Arc::new(SqliteBase::new(state.clone(), content)),
            state,
            durability,
            outside: directory.join("audit.head"),
            key: directory.join("audit.key"),
        })
    }

    /// The Store of a namespace.
    pub(crate) fn store(&self, name: &str) -> VirtualStore {
        VirtualStore::new(Arc::clone(&self.base), Namespace::new([name]))
    }

    /// The history and the audit in the same database, as an installation has them.
    pub(crate) fn ledger(&self) -> Result<Ledger> {
        let key = AuditKey::load_or_create(&self.key)?;
        Ok(Ledger::sqlite(&self.state, self.durability, key, self.outside.clone(), Redactor::none()))
    }
}

/// A Workspace behind the guard.
pub(crate) struct Guarded {
    vfs: Vfs,
    caller: Caller,
    audit: Option<Arc<AuditLog>>,
    prefix: LogicalPath,
}

impl Guarded {
    /// A read-write Workspace on this Store.
    pub(crate) fn new(store: Arc<dyn Store>, ledger: Option<Ledger>) -> Result<Self> {
        Self::of(workspace(PREFIX, store)?, ledger)
    }

    /// This Workspace alone.
    pub(crate) fn of(workspace: Workspace, ledger: Option<Ledger>) -> Result<Self> {
        let prefix = workspace.prefix().clone();
        let journal = ledger.as_ref().map(|ledger| Arc::clone(&ledger.history) as Arc<dyn Journal>);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), journal.unwrap_or_else(|| Arc::new(NoJournal)))?;
        Ok(Self { vfs, caller: Caller::new(), audit: ledger.map(|ledger| ledger.audit), prefix })
    }

    /// One call from its beginning to its end.
    pub(crate) fn run(&self, tool: &str, operation: Operation, effect: bool) -> Result<Outcome> {
        let (call, began) = (self.caller.call(), Instant::now());
        let asked = operation.path().clone();
        let plan = self.vfs.plan(&call, operation).map_err(|refused| anyhow!("{refused}"))?;
        let request = Request::of_person(tool, Risk::Low);
        let Passed::Now(token) = self.vfs.ask(&call, &request, &plan).map_err(|refused| anyhow!("{refused}"))? else {
            bail!("nobody is there to decide");
        };
        let outcome = self.vfs.run(&call, plan, token).map_err(|refused| anyhow!("{asked}: {refused}"))?;
        if let Some(audit) = &self.audit {
            let bytes = if let Outcome::Read { bytes, .. } = &outcome { bytes.len() as u64 } else { 0 };
            audit.record(&CallRecord {
                call: call.id,
                agent: call.agent,
                by: None,
                tool,
                path: asked.as_str(),
                workspace: Some(&self.prefix),
                outcome: "done",
                reason: "",
                risk: Some(Risk::Low),
                bytes,
                took: began.elapsed(),
                effect,
            })?;
        }
        Ok(outcome)
    }

    fn at(&self, path: &str) -> Result<LogicalPath> {
        logical(&format!("{}/{path}", self.prefix))
    }

    /// A path is relative to the Workspace.
    pub(crate) fn write(&self, path: &str, content: Vec<u8>) -> Result<()> {
        let operation = Operation::Write { path: self.at(path)?, content, expect: Expect::Any };
        self.run("write_file", operation, true).map(drop)
    }

    pub(crate) fn append(&self, path: &str, content: Vec<u8>) -> Result<()> {
        self.run("append_file", Operation::Append { path: self.at(path)?, content }, true).map(drop)
    }

    pub(crate) fn read(&self, path: &str, range: Range<u64>) -> Result<Vec<u8>> {
        self.read_as_asked(&format!("{}/{path}", self.prefix), range)
    }

    /// The path is as an agent writes it.
    pub(crate) fn read_as_asked(&self, path: &str, range: Range<u64>) -> Result<Vec<u8>> {
        match self.run("read_file", Operation::Read { path: logical(path)?, range }, false)? {
            Outcome::Read { bytes, .. } => Ok(bytes),
            other => bail!("reading answered {other:?}"),
        }
    }

    /// The paths of the entries of a directory.
    pub(crate) fn list(&self, dir: &str, limit: usize) -> Result<paddock_core::FoundList> {
        let browse = Browse { path: self.at(dir)?, depth: Some(1), skip_ignored: false, after: None, limit };
        match self.run("list_dir", Operation::List(browse), false)? {
            Outcome::Entries(entries) => Ok(entries.found),
            other => bail!("listing answered {other:?}"),
        }
    }

    pub(crate) fn delete(&self, path: &str) -> Result<()> {
        self.run("delete_path", Operation::Delete { path: self.at(path)?, recursive: false }, true).map(drop)
    }
}

/// A read-write Workspace on a Store.
pub(crate) fn workspace(prefix: &str, store: Arc<dyn Store>) -> Result<Workspace> {
    Ok(Workspace::new(logical(prefix)?, AccessScope::ReadWrite, Mount::new(store, None)))
}

pub(crate) fn logical(path: &str) -> Result<LogicalPath> {
    Ok(LogicalPath::parse(path, &LogicalPath::top())?)
}
