//! A pen to attack: a Mount in a temporary directory beside something that must stay untouched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, AgentName, Browse, Call, CallId, Cancel, ErrorKind, Expect, HidePattern, Mount, NameRules, NoJournal,
    Operation, Origin, Outcome, Refused, Replacement, Vfs, Workspace,
};
pub(crate) use paddock_stores::conformance::world::path_of as logical;
use paddock_stores::conformance::world::{self, Open, finish};
use paddock_stores::{HardLinks, PhysicalStore};
use tempfile::TempDir;

/// What must never be read.
pub(crate) const SECRET: &str = "SECRET-OF-THE-HOST";

/// Nothing takes so long; past this it hangs.
const HANG: Duration = Duration::from_secs(600);

/// One Workspace to be made.
pub(crate) struct Pane<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) scope: AccessScope,
    /// Relative to the pen's `inside` directory.
    pub(crate) host: &'a str,
    pub(crate) hide: &'a [&'a str],
}

pub(crate) struct Pen {
    temp: TempDir,
    pub(crate) vfs: Vfs,
    agent: AgentName,
}

impl Pen {
    /// One read-write Workspace at `/w`.
    pub(crate) fn new() -> Self {
        Self::with(&[Pane { prefix: "/w", scope: AccessScope::ReadWrite, host: "", hide: &[".env"] }], HardLinks::Read)
    }

    pub(crate) fn with(panes: &[Pane<'_>], hard_links: HardLinks) -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("inside")).unwrap();
        fs::create_dir(temp.path().join("outside")).unwrap();
        fs::write(temp.path().join("outside/secret.txt"), format!("{SECRET}\n")).unwrap();
        let workspaces = panes.iter().map(|pane| workspace(temp.path(), pane, hard_links)).collect();
        let vfs = Vfs::new(workspaces, Arc::new(Open), Arc::new(NoJournal)).unwrap();
        Self { temp, vfs, agent: AgentName::main() }
    }

    /// A path on the host inside the Mount.
    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.temp.path().join("inside").join(path)
    }

    /// A path on the host outside of it.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.temp.path().join("outside").join(path)
    }

    /// Everything outside, to compare before and after.
    pub(crate) fn outside_state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.outside("")).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), fs::read(&path).unwrap_or_default())).collect()
    }

    pub(crate) fn run(&self, operation: Operation) -> Result<Outcome, Refused> {
        self.run_with(operation, &Cancel::default(), HANG)
    }

    pub(crate) fn run_with(&self, operation: Operation, cancel: &Cancel, within: Duration) -> Result<Outcome, Refused> {
        self.run_steps(operation, cancel, within, || {})
    }

    /// Runs an operation with something else happening between its plan and its run.
    pub(crate) fn run_after(&self, operation: Operation, meanwhile: impl FnOnce()) -> Result<Outcome, Refused> {
        self.run_steps(operation, &Cancel::default(), HANG, meanwhile)
    }

    fn run_steps(
        &self,
        operation: Operation,
        cancel: &Cancel,
        within: Duration,
        meanwhile: impl FnOnce(),
    ) -> Result<Outcome, Refused> {
        let call = Call { id: CallId::next(), agent: &self.agent, cancel, deadline: Instant::now() + within };
        let plan = self.vfs.plan(&call, operation)?;
        meanwhile();
        finish(&self.vfs, &call, plan)
    }

    pub(crate) fn read(&self, path: &str) -> Result<String, Refused> {
        match self.run(Operation::Read { path: logical(path), range: 0..1 << 20 })? {
            Outcome::Read { bytes, .. } => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> Result<Outcome, Refused> {
        let content = content.as_bytes().to_vec();
        self.run(Operation::Write { path: logical(path), content, expect: Expect::Any })
    }

    pub(crate) fn append(&self, path: &str, content: &str) -> Result<Outcome, Refused> {
        self.run(Operation::Append { path: logical(path), content: content.as_bytes().to_vec() })
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Result<Outcome, Refused> {
        let edits = vec![Replacement { old: old.to_owned(), new: new.to_owned(), all: false }];
        self.run(Operation::Edit { path: logical(path), edits, expect: Expect::Any })
    }

    pub(crate) fn make_dir(&self, path: &str) -> Result<Outcome, Refused> {
        self.run(Operation::MakeDir { path: logical(path) })
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<Outcome, Refused> {
        self.run(Operation::Move { from: logical(from), to: logical(to) })
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Outcome, Refused> {
        self.run(Operation::Delete { path: logical(path), recursive: true })
    }

    /// Every path below, as a listing of all levels shows it.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, Refused> {
        let browse = Browse { path: logical(path), depth: None, skip_ignored: false, after: None, limit: 10_000_000 };
        match self.run(Operation::List(browse))? {
            Outcome::Entries(entries) => Ok(entries.found.iter().map(|found| found.path.to_owned()).collect()),
            other => panic!("{other:?}"),
        }
    }

    /// The paths and texts of every match.
    pub(crate) fn search(&self, path: &str, pattern: &str) -> Result<Vec<(String, String)>, Refused> {
        match self.run(search(path, pattern))? {
            Outcome::Hits(hits) => Ok(hits.found.into_iter().map(|hit| (hit.path, hit.text)).collect()),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn search(path: &str, pattern: &str) -> Operation {
    Operation::Search { path: logical(path), search: world::search(pattern) }
}

/// The kind of the Store's error.
#[track_caller]
pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, Refused>) -> ErrorKind {
    match result {
        Err(Refused::Store { source, .. }) => source.kind().clone(),
        other => panic!("expected an error of the Store, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_denied<T: std::fmt::Debug>(result: Result<T, Refused>) {
    match result {
        Err(Refused::Denied(_) | Refused::DeniedInside(_)) => {}
        other => panic!("expected a denial, got {other:?}"),
    }
}

fn workspace(temp: &Path, pane: &Pane<'_>, hard_links: HardLinks) -> Workspace {
    let store = PhysicalStore::new(&temp.join("inside").join(pane.host)).unwrap().with_hard_links(hard_links);
    let territory = store.territory();
    let hide = pane.hide.iter().map(|p| HidePattern { text: (*p).to_owned(), origin: Origin::unknown() }).collect();
    Workspace::new(logical(pane.prefix), pane.scope, Mount::new(Arc::new(store), Some(territory)))
        .with_names(NameRules::new(hide, &[], &[]).unwrap())
}
