//! A world for the tests of the history: two Workspaces, one agent, a person, a clock that is set by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_core::{
    AccessScope, AgentName, Alter, Alteration, Call, CallId, Cancel, Expect, Journal, Mount, Operation, Refused,
    Replacement, Territory, Vfs, Workspace,
};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::history::{Content, History, HistoryError, Page, Spot, schema};
pub(crate) use paddock_stores::conformance::world::path_of as path;
use paddock_stores::conformance::world::{self, Open};
use tempfile::TempDir;

use super::history_store::{KeepingStore, Node};
use super::mortal::{Dies, Mortal};

pub(crate) struct World {
    pub(crate) store: Arc<KeepingStore>,
    pub(crate) other: Arc<KeepingStore>,
    pub(crate) history: History,
    pub(crate) vfs: Vfs,
    pub(crate) agent: AgentName,
    clock: Arc<AtomicU64>,
    last: Mutex<CallId>,
    _dir: TempDir,
}

pub(crate) fn workspace(prefix: &str, names: &[&str], store: &Arc<KeepingStore>) -> Workspace {
    let territory = Territory::new("test", names.iter().copied());
    let mount = Mount::new(Arc::<KeepingStore>::clone(store), Some(territory));
    Workspace::new(path(prefix), AccessScope::ReadWrite, mount)
}

pub(crate) fn person(workspaces: Vec<Workspace>, journal: Arc<dyn Journal>) -> Vfs {
    Vfs::new(workspaces, Arc::new(Open), journal).unwrap().for_person(Arc::new(Open))
}

/// As any operation is run, without what came of it.
pub(crate) fn run(vfs: &Vfs, call: &Call<'_>, operation: Operation) -> Result<(), Refused> {
    world::run(vfs, call, operation).map(drop)
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = Sqlite::new(dir.path().join("state.db"), vec![schema::SQLITE], Durability::Process);
        Self::on(History::on_sqlite(database), dir)
    }

    pub(crate) fn on(history: History, dir: TempDir) -> Self {
        let clock = Arc::new(AtomicU64::new(1_000));
        let seconds = Arc::clone(&clock);
        let now = move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst));
        let history = history.with_clock(Arc::new(now));
        let (store, other) = (Arc::new(KeepingStore::default()), Arc::new(KeepingStore::default()));
        let workspaces = vec![workspace("/w", &["one"], &store), workspace("/o", &["two"], &other)];
        let vfs = person(workspaces, Arc::new(history.clone()));
        let last = Mutex::new(CallId(0));
        Self { store, other, history, vfs, agent: AgentName::main(), clock, last, _dir: dir }
    }

    /// Lets seconds pass.
    pub(crate) fn wait(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.clock.load(Ordering::SeqCst))
    }

    pub(crate) fn with_call<T>(&self, id: CallId, run: impl FnOnce(&Call<'_>) -> T) -> T {
        let cancel = Cancel::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        run(&Call { id, agent: &self.agent, cancel: &cancel, deadline })
    }

    pub(crate) fn run_as(&self, id: CallId, operation: Operation) -> Result<(), Refused> {
        self.run_in(&self.vfs, id, operation)
    }

    fn run_in(&self, vfs: &Vfs, id: CallId, operation: Operation) -> Result<(), Refused> {
        self.with_call(id, |call| run(vfs, call, operation))
    }

    /// Runs it, and is killed before the end is written.
    pub(crate) fn cut_off(&self, operation: Operation) -> CallId {
        let journal = Arc::new(Mortal::new(&self.history, Dies::AtTheEnd));
        let id = CallId::next();
        self.run_in(&person(self.vfs.workspaces().to_vec(), journal), id, operation).unwrap();
        id
    }

    /// Runs it as a call of its own.
    pub(crate) fn run(&self, operation: Operation) -> Result<CallId, Refused> {
        let id = CallId::next();
        *self.last.lock().unwrap() = id;
        self.run_as(id, operation).map(|()| id)
    }

    /// The id of the call that was run last, also when it failed.
    pub(crate) fn last(&self) -> CallId {
        *self.last.lock().unwrap()
    }

    pub(crate) fn write(&self, at: &str, text: &str) -> CallId {
        self.run(Operation::Write { path: path(at), content: text.into(), expect: Expect::Any }).unwrap()
    }

    pub(crate) fn append(&self, at: &str, text: &str) -> CallId {
        self.run(Operation::Append { path: path(at), content: text.into() }).unwrap()
    }

    pub(crate) fn edit(&self, at: &str, old: &str, new: &str) -> CallId {
        let edits = vec![Replacement { old: old.to_owned(), new: new.to_owned(), all: false }];
        self.run(Operation::Edit { path: path(at), edits, expect: Expect::Any }).unwrap()
    }

    pub(crate) fn make_dir(&self, at: &str) -> CallId {
        self.run(Operation::MakeDir { path: path(at) }).unwrap()
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> CallId {
        self.run(Operation::Move { from: path(from), to: path(to) }).unwrap()
    }

    pub(crate) fn delete(&self, at: &str) -> CallId {
        self.run(Operation::Delete { path: path(at), recursive: true }).unwrap()
    }

    pub(crate) fn alter(&self, alterations: Vec<Alteration>) -> CallId {
        self.run(Operation::Alter { path: path("/w"), alterations }).unwrap()
    }

    /// May the agent take it away unasked, because it is its own?
    pub(crate) fn is_own(&self, at: &str) -> bool {
        let alterations = vec![Alteration { path: path(at), how: Alter::Delete, expect: Expect::Any }];
        self.with_call(CallId::next(), |call| {
            let plan = self.vfs.plan(call, Operation::Commit { path: path("/w"), alterations }).unwrap();
            self.vfs.was_made_by(call, &plan.effects()[0])
        })
    }

    /// Undoes a call, by a call of its own.
    pub(crate) fn undo(&self, undone: CallId) -> Result<CallId, HistoryError> {
        let id = CallId::next();
        let undo = self.with_call(id, |call| self.history.undo(&self.vfs, call, undone))?;
        self.run_as(id, undo.operation())?;
        Ok(id)
    }

    pub(crate) fn text(&self, at: &str) -> Option<String> {
        let (store, rel) = match at.strip_prefix("/w/") {
            Some(rel) => (&self.store, rel),
            None => (&self.other, at.strip_prefix("/o/").unwrap()),
        };
        match store.dump().remove(rel)? {
            Node::Dir => Some("<dir>".to_owned()),
            Node::File(content, _) => Some(String::from_utf8(content).unwrap()),
        }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.store.dump().into_keys().collect()
    }

    pub(crate) fn spot(&self, at: &str) -> Spot {
        Spot::find(&self.vfs, &path(at)).unwrap()
    }

    /// The log of a path: what happened, as it was called then.
    pub(crate) fn log(&self, at: &str) -> Vec<String> {
        let rows = self.history.log(&self.spot(at), Page::first(100)).unwrap();
        rows.iter()
            .map(|row| match row.to_then() {
                Some(to) => format!("{} {} {to}", row.what.name(), row.path_then()),
                None => format!("{} {}", row.what.name(), row.path_then()),
            })
            .collect()
    }

    /// What the history says a path held, read as it says.
    pub(crate) fn content(&self, content: &Content) -> Option<String> {
        let range = content.range();
        let bytes = self.with_call(CallId::next(), |call| match content {
            Content::Kept { spot, kept, .. } => {
                let at = spot.logical(&self.vfs).unwrap();
                Some(self.vfs.recall(call, &at, kept, &range).unwrap().0)
            }
            Content::Now { spot, version, .. } => {
                let Node::File(bytes, now) = self.store.dump().remove(&spot.path).unwrap() else {
                    panic!("a directory")
                };
                assert!(version.is_none_or(|version| version.0 == now));
                let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(bytes.len());
                Some(bytes[..end].to_vec())
            }
            Content::Nothing | Content::Dir | Content::Lost => None,
        });
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }
}
