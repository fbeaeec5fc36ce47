//! Two Workspaces on the host's disk, `/w` in `one` and `/o` in `two`, with a history of what is replaced in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, AgentName, Call, CallId, Cancel, Mount, Operation, Refused, Territory, Vfs, Workspace,
};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::audit::SQLITE_SCHEMA;
use paddock_ledger::history::{History, HistoryError, schema};
use paddock_stores::{KeptPlace, PhysicalStore};
use tempfile::TempDir;

use super::history_world::{path, person, run};
use super::mortal::{Dies, Mortal};

pub(crate) struct OnDisk {
    pub(crate) dir: TempDir,
    pub(crate) history: History,
    pub(crate) vfs: Vfs,
    pub(crate) agent: AgentName,
}

/// The database below a directory.
pub(crate) fn database(dir: &Path) -> Sqlite {
    Sqlite::new(dir.join("state.db"), vec![schema::SQLITE, SQLITE_SCHEMA], Durability::Process)
}

/// The Workspaces below a directory.
pub(crate) fn workspaces(dir: &Path) -> Vec<Workspace> {
    let kept = KeptPlace::new(&dir.join("history")).unwrap();
    let workspace = |prefix: &str, name: &str| {
        let store = PhysicalStore::new(&dir.join(name)).unwrap().with_history(kept.clone());
        let mount = Mount::new(Arc::new(store), Some(Territory::new("host", [name])));
        Workspace::new(path(prefix), AccessScope::ReadWrite, mount)
    };
    vec![workspace("/w", "one"), workspace("/o", "two")]
}

impl OnDisk {
    /// Both are empty.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let history = History::on_sqlite(database(dir.path()));
        let vfs = person(workspaces(dir.path()), Arc::new(history.clone()));
        for name in ["one", "two"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir, history, vfs, agent: AgentName::main() }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let file = self.at(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.at(name)).ok()
    }

    pub(crate) fn with_call<T>(&self, id: CallId, run: impl FnOnce(&Call<'_>) -> T) -> T {
        let (cancel, deadline) = (Cancel::default(), Instant::now() + Duration::from_secs(60));
        run(&Call { id, agent: &self.agent, cancel: &cancel, deadline })
    }

    pub(crate) fn run(&self, vfs: &Vfs, id: CallId, operation: Operation) -> Result<(), Refused> {
        self.with_call(id, |call| run(vfs, call, operation))
    }

    /// Runs it in a process that dies meanwhile.
    pub(crate) fn dies(&self, dies: Dies, operation: Operation) -> CallId {
        let id = CallId::next();
        let vfs = person(self.vfs.workspaces().to_vec(), Arc::new(Mortal::new(&self.history, dies)));
        assert!(self.run(&vfs, id, operation).is_err(), "it lived");
        id
    }

    pub(crate) fn undo(&self, undone: CallId) -> Result<(), HistoryError> {
        let id = CallId::next();
        let undo = self.with_call(id, |call| self.history.undo(&self.vfs, call, undone))?;
        Ok(self.run(&self.vfs, id, undo.operation())?)
    }
}
