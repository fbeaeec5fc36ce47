//! Where the changes of a command wait: one directory for each run, taken away when nobody needs it any more.
//!
//! A process that is killed leaves its directory behind. Each is locked by the process that made it for as long as that lives, so
//! the next run finds what was left and removes it; before that, whoever starts next can see what was done half-way.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use paddock_core::{CallId, CutOff};
use rustix::fs::FlockOperation;

use crate::error::Error;
use crate::staged::remove_tree;

/// The file that is locked while a stage is in use.
const LOCK: &str = "lock";
/// How long settling what was left may take.
const SETTLING: Duration = Duration::from_secs(10);
/// What it is called until it is.
const FRESH: &str = "fresh";

/// Makes stages.
#[derive(Debug)]
pub(super) struct Stages {
    home: PathBuf,
    swept: Once,
}

impl Stages {
    pub(super) fn new(home: PathBuf) -> Self {
        Self { home, swept: Once::new() }
    }

    /// A stage for one run.
    pub(super) fn make(&self, call: CallId) -> Result<Stage, Error> {
        self.swept.call_once(|| self.sweep());
        let dir = self.home.join(call.to_string());
        let failed = |source| Error::Host { path: dir.clone(), source };
        make_private(&self.home).and_then(|()| make_new(&dir)).map_err(failed)?;
        // Nobody finds it by its name before it is locked.
        let (fresh, settled) = (dir.join(FRESH), dir.join(LOCK));
        let lock = File::create(&fresh).map_err(failed)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|e| failed(e.into()))?;
        fs::rename(&fresh, &settled).map_err(failed)?;
        Ok(Stage { dir, _lock: lock })
    }

    /// What processes left behind that are gone, for whoever takes back what they did half-way.
    pub(super) fn left(&self) -> Vec<LeftBehind> {
        let Ok(entries) = fs::read_dir(&self.home) else { return Vec::new() };
        let left = |dir: PathBuf| {
            let call = dir.file_name().and_then(|name| name.to_str()).and_then(CallId::parse)?;
            let lock = File::open(dir.join(LOCK)).ok()?;
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
            Some(LeftBehind { call, dir, _lock: lock })
        };
        entries.flatten().filter_map(|entry| left(entry.path())).collect()
    }

    /// Removes what processes left behind that are gone.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.home) else { return };
        for dir in entries.flatten().map(|entry| entry.path()) {
            let in_use = File::open(dir.join(LOCK))
                .is_ok_and(|lock| rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
            if !in_use && is_settled(&dir) {
                let _ = remove_tree(&dir);
            }
        }
    }
}

/// Makes a directory where nothing is. One that a process left which died in the same call is being settled by somebody: that is waited for.
fn make_new(dir: &Path) -> io::Result<()> {
    let until = Instant::now() + SETTLING;
    loop {
        match fs::create_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(50));
            }
            made => return made,
        }
    }
}

/// One that was just made may not be locked yet.
fn is_settled(dir: &Path) -> bool {
    let made = fs::metadata(dir).and_then(|meta| meta.modified());
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age.as_secs() > 60))
}

fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Where the changes of one run wait. Removed when it is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    dir: PathBuf,
    _lock: File,
}

impl Stage {
    /// Everything of it.
    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    /// A fresh directory of this name.
    pub(super) fn directory(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.dir.join(name);
        fs::create_dir_all(&path).map_err(|source| Error::Host { path: path.clone(), source })?;
        Ok(path)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.dir) {
            tracing::warn!(%error, "a stage could not be removed");
        }
    }
}

/// A stage whose process is gone. Locked, so that nobody else settles it at the same time.
#[derive(Debug)]
pub(super) struct LeftBehind {
    call: CallId,
    dir: PathBuf,
    _lock: File,
}

impl CutOff for LeftBehind {
    fn call(&self) -> CallId {
        self.call
    }

    fn settled(self: Box<Self>) {
        if let Err(error) = remove_tree(&self.dir) {
            tracing::warn!(%error, "a stage could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_not_left_behind() {
        let home = tempfile::tempdir().unwrap();
        let stages = Stages::new(home.path().join("staged"));
        let stage = stages.make(CallId::next()).unwrap();
        assert!(stages.left().is_empty());
        // As a process that is killed leaves it: there, and locked by nobody.
        let (dir, call) = (stage.dir.clone(), CallId::next());
        drop(stage);
        let dir = dir.with_file_name(call.to_string());
        fs::create_dir(&dir).unwrap();
        assert!(stages.left().is_empty(), "one that is just being made");
        fs::write(dir.join(LOCK), "").unwrap();
        let found = stages.left();
        assert_eq!(found.iter().map(CutOff::call).collect::<Vec<_>>(), [call]);
        assert!(stages.left().is_empty(), "somebody has it");
        drop(found);
        for left in stages.left() {
            Box::new(left).settled();
        }
        assert!(!dir.exists() && stages.left().is_empty());
    }
}
