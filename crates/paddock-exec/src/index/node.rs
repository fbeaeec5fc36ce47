//! What is known of one directory, and what tells whether it is still so.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Stat;

/// A directory as it was read.
#[derive(Default)]
pub(super) struct Node {
    pub(super) stamp: Option<Stamp>,
    /// It was watched before it was read.
    pub(super) watched: bool,
    /// It cannot be looked into, so it is found itself.
    pub(super) closed: bool,
    pub(super) found: Vec<OsString>,
    pub(super) inner: BTreeMap<OsString, Node>,
}

impl Node {
    pub(super) fn closed() -> Node {
        Node { closed: true, ..Node::default() }
    }

    /// The directory at a path below this one.
    pub(super) fn at(&mut self, path: &Path) -> Option<&mut Node> {
        path.iter().try_fold(self, |node, name| node.inner.get_mut(name))
    }

    /// Adds what was found in this directory, which lies at `path`.
    pub(super) fn tell(&self, path: &Path, found: &mut Vec<PathBuf>) {
        if self.closed {
            found.push(path.to_owned());
        }
        found.extend(self.found.iter().map(|name| path.join(name)));
    }

    /// Everything that was found here and below, in order.
    pub(super) fn all(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = vec![(PathBuf::new(), self)];
        while let Some((path, node)) = left.pop() {
            node.tell(&path, &mut found);
            left.extend(node.inner.iter().map(|(name, inner)| (path.join(name), inner)));
        }
        found.sort();
        found
    }

    pub(super) fn forget_watches(&mut self) {
        self.watched = false;
        self.inner.values_mut().for_each(Node::forget_watches);
    }

    /// How many directories are known here.
    pub(super) fn count(&self) -> usize {
        1 + self.inner.values().map(Node::count).sum::<usize>()
    }
}

/// What tells whether a directory is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(meta: &Stat) -> Stamp {
        Stamp {
            device: meta.st_dev,
            inode: meta.st_ino,
            modified: (meta.st_mtime, meta.st_mtime_nsec as i64),
            changed: (meta.st_ctime, meta.st_ctime_nsec as i64),
        }
    }

    /// Whether a change after `now` would surely have another time.
    pub(super) fn is_settled(&self, now: Duration) -> bool {
        let latest = self.modified.max(self.changed);
        // A file system that counts whole seconds gives itself away.
        let whole = self.modified.1 == 0 && self.changed.1 == 0;
        let tick = if whole { Duration::from_millis(2100) } else { Duration::from_millis(100) };
        let Ok(seconds) = u64::try_from(latest.0) else { return false };
        let latest = Duration::from_secs(seconds) + Duration::from_nanos(latest.1 as u64);
        latest + tick < now
    }
}
