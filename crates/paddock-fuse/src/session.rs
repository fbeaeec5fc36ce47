//! A file system that is being served.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use fuser::BackgroundSession;
use paddock_core::LogicalPath;

use crate::error::FuseError;
use crate::host;
use crate::notices::Notice;
use crate::tree::Tree;

/// How long the end of a mount that nobody uses is waited for: so many moments.
const PATIENCE: u32 = 400;
const MOMENT: Duration = Duration::from_millis(5);

/// A file system that is being served. Dropped, it is unmounted where it was mounted from here.
///
/// A process that is killed leaves nothing that hangs: the kernel answers for it with `ENOTCONN`.
pub struct Session {
    background: Option<BackgroundSession>,
    tree: Arc<Tree>,
    dir: Option<PathBuf>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(background: BackgroundSession, tree: Arc<Tree>, dir: Option<PathBuf>) -> Self {
        Self { background: Some(background), tree, dir }
    }

    /// Waits until the mount is gone and everything that was written is in its Store.
    ///
    /// # Errors
    /// When serving ended otherwise.
    pub fn wait(mut self) -> Result<(), FuseError> {
        let background = self.background.take();
        background.map_or(Ok(()), |background| background.join().map_err(FuseError::Serve))
    }

    /// Is the mount gone?
    pub fn is_over(&self) -> bool {
        self.background.as_ref().is_none_or(|background| background.guard.is_finished())
    }

    /// Unmounts, and waits until everything that was written is in its Store. Who still has something open keeps it
    /// until they close it; then this does not wait for them.
    ///
    /// # Errors
    /// When serving ended otherwise.
    pub fn unmount(mut self) -> Result<(), FuseError> {
        self.end()
    }

    /// Tells the kernel that somebody else changed what is at a path, so that it asks anew.
    pub fn changed(&self, path: &LogicalPath) {
        if let Some(node) = self.tree.nodes.at(path) {
            self.tree.notice(Notice::Content(node.ino));
        }
        if let (Some(dir), Some(name)) = (path.parent().and_then(|dir| self.tree.nodes.at(&dir)), path.name()) {
            self.tree.notice(Notice::Name(dir.ino, name.into()));
            self.tree.notice(Notice::Content(dir.ino));
        }
    }

    /// How many files and directories the kernel knows at the moment.
    pub fn known(&self) -> usize {
        self.tree.nodes.count()
    }

    /// How many calls a Store answered with a panic; each was told as an input/output error.
    pub fn defects(&self) -> u64 {
        self.tree.defects.load(Ordering::Relaxed)
    }

    fn end(&mut self) -> Result<(), FuseError> {
        let (Some(background), Some(dir)) = (self.background.take(), self.dir.take()) else { return Ok(()) };
        let guard = unmount(background);
        if !is_finished_soon(&guard) && host::detach(&dir) && !is_finished_soon(&guard) {
            tracing::debug!("somebody still uses the file system; it is taken away from under them");
        }
        if guard.is_finished() {
            return guard.join().unwrap_or(Ok(())).map_err(FuseError::Serve);
        }
        self.tree.finish();
        Ok(())
    }
}

/// Unmounts by dropping all but the thread that serves.
fn unmount(background: BackgroundSession) -> JoinHandle<std::io::Result<()>> {
    background.guard
}

/// Waits for a mount that nobody uses to be gone.
fn is_finished_soon(guard: &JoinHandle<std::io::Result<()>>) -> bool {
    for _ in 0..PATIENCE {
        if guard.is_finished() {
            return true;
        }
        std::thread::sleep(MOMENT);
    }
    guard.is_finished()
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "the file system could not be unmounted");
        }
    }
}
