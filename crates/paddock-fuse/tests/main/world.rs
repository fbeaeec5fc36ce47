//! A Vfs on Stores in memory, and a real mount of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paddock_core::{
    AccessScope, AgentName, Call, Expect, Gate, HidePattern, LogicalPath, Mount, NameRules, NoJournal, Operation,
    Origin, Outcome, Passed, Permit, Plan, Refused, Request, Store, Vfs, Workspace,
};
use paddock_fuse::{How, Served, Session};
pub(crate) use paddock_stores::conformance::world::path_of as path;
use paddock_stores::conformance::world::{Open, run, with_call};
use paddock_stores::virtual_store::VirtualStore;
use tempfile::TempDir;

pub(crate) fn workspace(prefix: &str, scope: AccessScope, store: Arc<dyn Store>) -> Workspace {
    Workspace::new(path(prefix), scope, Mount::new(store, None))
}

pub(crate) fn hiding(names: &[&str]) -> NameRules {
    let hide = names.iter().map(|name| HidePattern { text: (*name).to_owned(), origin: Origin::unknown() });
    NameRules::new(hide.collect(), &[], &[]).unwrap()
}

pub(crate) fn vfs(workspaces: Vec<Workspace>) -> Arc<Vfs> {
    Arc::new(Vfs::new(workspaces, Arc::new(Open), Arc::new(NoJournal)).unwrap())
}

/// One read-write Workspace at `/w` on a fresh Virtual Store.
pub(crate) fn one() -> Arc<Vfs> {
    vfs(vec![workspace("/w", AccessScope::ReadWrite, Arc::new(VirtualStore::in_memory()))])
}

/// Lets everything pass and counts what changes something.
#[derive(Default)]
pub(crate) struct Counting(AtomicUsize);

impl Counting {
    /// How many changes passed since it was last asked.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Gate for Counting {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, plan: &Plan, permit: Permit) -> Result<Passed, Refused> {
        self.0.fetch_add(usize::from(plan.kind().changes()), Ordering::SeqCst);
        Ok(Passed::Now(permit.grant()))
    }
}

/// As [`one`], with a Gate that counts.
pub(crate) fn counted() -> (Arc<Vfs>, Arc<Counting>) {
    let gate = Arc::new(Counting::default());
    let workspaces = vec![workspace("/w", AccessScope::ReadWrite, Arc::new(VirtualStore::in_memory()))];
    (Arc::new(Vfs::new(workspaces, Arc::clone(&gate) as Arc<dyn Gate>, Arc::new(NoJournal)).unwrap()), gate)
}

/// Waits for something that happens by itself, soon.
pub(crate) fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    (0..2000).any(|_| {
        let so = is_so();
        if !so {
            std::thread::sleep(Duration::from_millis(5));
        }
        so
    })
}

/// What the file tools do, beside the mount.
pub(crate) fn act(vfs: &Vfs, operation: Operation) -> Result<Outcome, Refused> {
    with_call(|call| run(vfs, call, operation))
}

pub(crate) fn write(vfs: &Vfs, at: &str, content: impl AsRef<[u8]>) {
    let content = content.as_ref().to_vec();
    act(vfs, Operation::Write { path: path(at), content, expect: Expect::Any }).unwrap();
}

/// What the file tools read; nothing where nothing is.
pub(crate) fn read(vfs: &Vfs, at: &str) -> Option<String> {
    match act(vfs, Operation::Read { path: path(at), range: 0..u64::MAX }) {
        Ok(Outcome::Read { bytes, .. }) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

/// A real mount, gone when it is dropped.
pub(crate) struct Mounted {
    pub(crate) vfs: Arc<Vfs>,
    // Unmounted before the directory goes.
    session: Option<Session>,
    dir: TempDir,
}

impl Mounted {
    pub(crate) fn new(vfs: Arc<Vfs>, how: How, dress: impl FnOnce(Served) -> Served) -> Self {
        let dir = TempDir::new().unwrap();
        let served = Served::new(Arc::clone(&vfs), LogicalPath::top(), how, AgentName::main());
        let session =
            dress(served).mount(dir.path()).expect("mounting needs /dev/fuse and, for others than root, fusermount3");
        Self { vfs, session: Some(session), dir }
    }

    pub(crate) fn read_only(vfs: Arc<Vfs>) -> Self {
        Self::new(vfs, How::ReadOnly, |served| served)
    }

    pub(crate) fn writable(vfs: Arc<Vfs>) -> Self {
        Self::new(vfs, How::Writable, |served| served)
    }

    /// Where a logical path is on the host.
    pub(crate) fn at(&self, logical: &str) -> PathBuf {
        self.dir.path().join(logical.trim_start_matches('/'))
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn session(&self) -> &Session {
        self.session.as_ref().unwrap()
    }

    pub(crate) fn unmount(mut self) -> Arc<Vfs> {
        self.session.take().unwrap().unmount().unwrap();
        assert_eq!(std::fs::read_dir(self.dir.path()).unwrap().count(), 0, "nothing is mounted any more");
        Arc::clone(&self.vfs)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.session.take());
    }
}

/// The names in a directory.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The error number of what failed.
pub(crate) fn errno<T>(result: std::io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}
