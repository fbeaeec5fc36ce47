//! What a Physical Store keeps of what changes replace, told through a Vfs whose Journal listens.

mod acts;
mod crash;
mod elsewhere;
mod ordinary;
mod outside;
mod place;
mod races;
mod staged;
mod undo;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, Act, AgentName, Alter, Alteration, AppliedChange, Before, Call, CallId, Cancel, Change, ErrorKind,
    Expect, Journal, Kept, LogicalPath, Mount, Operation, Outcome, PartDone, Plan, Quota, Refused, Replacement, Result,
    Vfs, Workspace,
};
pub(crate) use paddock_stores::conformance::world::path_of as logical;
use paddock_stores::conformance::world::{self, Open};
use paddock_stores::quota::{MemoryUsage, UsageCounter, reconcile};
use paddock_stores::{HardLinks, KeptPlace, PhysicalStore};
use tempfile::TempDir;

/// A change and what became of it.
pub(crate) type Told = (Change, AppliedChange);

/// Wants everything kept, and remembers what it was told.
struct Listener {
    keeps: bool,
    told: Mutex<Vec<Told>>,
}

impl Journal for Listener {
    fn keeps(&self) -> bool {
        self.keeps
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> Result<()> {
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> Result<()> {
        let changes = done.set.changes().iter().cloned().zip(done.applied.changes.iter().cloned());
        self.told.lock().unwrap().extend(changes);
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// A Mount at `/w`, a place for what is replaced beside it, and a counter.
pub(crate) struct Pasture {
    pub(crate) dir: TempDir,
    pub(crate) store: Arc<PhysicalStore>,
    pub(crate) place: KeptPlace,
    pub(crate) vfs: Vfs,
    listener: Arc<Listener>,
    counter: Arc<MemoryUsage>,
    agent: AgentName,
}

impl Pasture {
    pub(crate) fn new() -> Self {
        Self::with(true, |_, place| place)
    }

    /// With nothing kept, though there is a place for it.
    pub(crate) fn forgetful() -> Self {
        Self::with(false, |_, place| place)
    }

    pub(crate) fn with(keeps: bool, place: impl FnOnce(&Path, KeptPlace) -> KeptPlace) -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("mount")).unwrap();
        Self::at(dir, keeps, place)
    }

    pub(crate) fn at(dir: TempDir, keeps: bool, place: impl FnOnce(&Path, KeptPlace) -> KeptPlace) -> Self {
        Self::made(dir, keeps, HardLinks::Read, place)
    }

    /// The same places under a stricter rule.
    pub(crate) fn denying_hard_links(self) -> Self {
        let place = self.place.clone();
        Self::made(self.dir, true, HardLinks::Deny, |_, _| place)
    }

    fn made(
        dir: TempDir,
        keeps: bool,
        hard_links: HardLinks,
        place: impl FnOnce(&Path, KeptPlace) -> KeptPlace,
    ) -> Self {
        let place = place(dir.path(), KeptPlace::new(&dir.path().join("system/history")).unwrap());
        let counter = Arc::new(MemoryUsage::new());
        let shared: Arc<dyn UsageCounter> = Arc::<MemoryUsage>::clone(&counter);
        let store = PhysicalStore::new(&dir.path().join("mount")).unwrap().with_hard_links(hard_links);
        let store = Arc::new(store.with_history(place.clone()).with_usage(shared));
        reconcile(&store, &Cancel::default()).unwrap();
        let listener = Arc::new(Listener { keeps, told: Mutex::default() });
        let mount = Mount::new(Arc::<PhysicalStore>::clone(&store), Some(store.territory()));
        let workspace = Workspace::new(logical("/w"), AccessScope::ReadWrite, mount)
            .with_quota(Quota { bytes: Some(1 << 40), files: Some(1 << 30) });
        let journal: Arc<dyn Journal> = Arc::<Listener>::clone(&listener);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), journal).unwrap();
        Self { dir, store, place, vfs, listener, counter, agent: AgentName::main() }
    }

    /// A path on the host inside the Mount.
    pub(crate) fn host(&self, path: &str) -> PathBuf {
        self.dir.path().join("mount").join(path)
    }

    pub(crate) fn call<T>(&self, act: impl FnOnce(&Call<'_>) -> T) -> T {
        let cancel = Cancel::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        act(&Call { id: CallId::next(), agent: &self.agent, cancel: &cancel, deadline })
    }

    /// Runs an operation and tells what its changes were.
    pub(crate) fn run(&self, operation: Operation) -> Result<Vec<Told>, Refused> {
        self.listener.told.lock().unwrap().clear();
        self.call(|call| world::run(&self.vfs, call, operation))?;
        Ok(self.listener.told.lock().unwrap().clone())
    }

    /// As [`Self::run`], of what makes one change.
    #[track_caller]
    pub(crate) fn one(&self, operation: Operation) -> AppliedChange {
        let mut told = self.run(operation).unwrap();
        assert_eq!(told.len(), 1);
        told.remove(0).1
    }

    #[track_caller]
    pub(crate) fn write(&self, path: &str, content: &str) -> AppliedChange {
        self.one(write(path, content))
    }

    pub(crate) fn alter(&self, path: &str, how: Alter, expect: Expect) -> Result<Vec<Told>, Refused> {
        let alterations = vec![Alteration { path: logical(path), how, expect }];
        self.run(Operation::Alter { path: logical(path), alterations })
    }

    pub(crate) fn restore(&self, path: &str, kept: &Kept) -> Result<Vec<Told>, Refused> {
        self.alter(path, Alter::Restore(kept.clone()), Expect::Any)
    }

    /// What is kept, as text.
    pub(crate) fn recall(&self, kept: &Kept) -> Result<String, ErrorKind> {
        self.call(|call| match self.vfs.recall(call, &logical("/w/any"), kept, &(0..u64::MAX)) {
            Ok((bytes, _)) => Ok(String::from_utf8(bytes).unwrap()),
            Err(Refused::Store { source, .. }) => Err(source.kind().clone()),
            Err(other) => panic!("{other:?}"),
        })
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let read = Operation::Read { path: logical(path), range: 0..u64::MAX };
        match self.call(|call| world::run(&self.vfs, call, read)) {
            Ok(Outcome::Read { bytes, .. }) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Everything in the Mount as the host sees it: mode and content, or where a link leads.
    pub(crate) fn state(&self) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        gather(&self.host(""), "", &mut state);
        state
    }

    /// The version that the last of these changes told of is the one that is there.
    #[track_caller]
    pub(crate) fn assert_version(&self, told: &[Told]) {
        let Some((change, AppliedChange { version: Some(version), .. })) = told.last() else { return };
        let path = match change.act() {
            Act::Move { to } => to.as_rel(),
            _ => change.path(),
        };
        if fs::symlink_metadata(self.host(path.as_str())).unwrap().is_file() {
            // Cuts nothing off; but only if this version is there.
            let path = format!("/w/{path}");
            self.alter(&path, Alter::Truncate(u64::MAX), Expect::Is(*version)).unwrap();
        }
    }

    /// The counter has always counted right.
    #[track_caller]
    pub(crate) fn assert_counted(&self) {
        let counted = self.call(|call| self.store.count(call)).unwrap();
        assert_eq!(self.counter.current().unwrap(), Some(counted));
    }
}

fn gather(dir: &Path, above: &str, state: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{above}{}", entry.file_name().to_str().unwrap());
        let meta = fs::symlink_metadata(entry.path()).unwrap();
        let mode = meta.permissions().mode() & 0o7777;
        let what = if meta.is_dir() {
            gather(&entry.path(), &format!("{path}/"), state);
            "directory".to_owned()
        } else if meta.is_symlink() {
            format!("to {}", fs::read_link(entry.path()).unwrap().display())
        } else {
            format!("{mode:o} {}", String::from_utf8_lossy(&fs::read(entry.path()).unwrap()))
        };
        state.insert(path, what);
    }
}

pub(crate) fn write(path: &str, content: &str) -> Operation {
    Operation::Write { path: logical(path), content: content.as_bytes().to_vec(), expect: Expect::Any }
}

pub(crate) fn append(path: &str, content: &str) -> Operation {
    Operation::Append { path: logical(path), content: content.as_bytes().to_vec() }
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Operation {
    let edits = vec![Replacement { old: old.to_owned(), new: new.to_owned(), all: false }];
    Operation::Edit { path: logical(path), edits, expect: Expect::Any }
}

pub(crate) fn delete(path: &str) -> Operation {
    Operation::Delete { path: logical(path), recursive: true }
}

pub(crate) fn rename(from: &str, to: &str) -> Operation {
    Operation::Move { from: logical(from), to: logical(to) }
}

#[track_caller]
pub(crate) fn kept(change: &AppliedChange) -> Kept {
    match &change.before {
        Before::Kept(kept) => kept.clone(),
        other => panic!("it should be kept, and is {other:?}"),
    }
}

#[track_caller]
pub(crate) fn error<T: std::fmt::Debug>(outcome: Result<T, Refused>) -> ErrorKind {
    match outcome {
        Err(Refused::Store { source, .. }) => source.kind().clone(),
        other => panic!("the Store should have refused, and this came: {other:?}"),
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

/// What takes one change back, as whoever keeps a history would do it.
pub(crate) fn way_back((change, applied): &Told) -> Vec<Alteration> {
    let path = logical(&format!("/w/{}", change.path()));
    let step = |path: &LogicalPath, how, expect| Alteration { path: path.clone(), how, expect };
    // What came in between was taken back first, and with it came a new version.
    let seen = Expect::Any;
    let (mut steps, made) = match change.act() {
        Act::Move { to } => {
            let to = logical(&format!("/w/{}", to.as_rel()));
            (vec![step(&to, Alter::Move { to: path.clone() }, Expect::Any)], to)
        }
        _ => match &applied.before {
            Before::Absent if applied.created => (vec![step(&path, Alter::Delete, seen)], path),
            Before::Dir(_) if *change.act() == Act::Delete => (vec![step(&path, Alter::MakeDir, Expect::Absent)], path),
            Before::Absent | Before::Dir(_) => (Vec::new(), path),
            Before::Kept(kept) => (vec![step(&path, Alter::Restore(kept.clone()), seen)], path),
            Before::Prefix(len) => (vec![step(&path, Alter::Truncate(*len), seen)], path),
            Before::Looks(looks) => (vec![step(&path, Alter::Dress(*looks), seen)], path),
            Before::Lost => panic!("{change:?} cannot be taken back"),
        },
    };
    let mut above = made;
    for _ in 0..applied.parents {
        above = above.parent().unwrap();
        steps.push(step(&above, Alter::Delete, Expect::Any));
    }
    steps
}
