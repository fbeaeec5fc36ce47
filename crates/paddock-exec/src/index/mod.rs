//! Which paths of a tree match, kept between commands: what is hidden or guarded is asked before every run.
//!
//! Reading a tree of a hundred thousand files takes longer than most commands. A directory's own times change when a
//! name in it does, so a directory whose times and inode are as they were is not read again, only asked. Times are
//! trusted only when they were old enough at the time of reading: a change within the same tick would not show. A tree
//! of very many directories that is asked for again and again is watched instead.
//!
//! An agent may have made the tree. Whatever it makes, nothing that matches may be missed: what cannot be looked into
//! matches as a whole, and what else goes wrong is an error.

mod directory;
mod node;
#[cfg(test)]
mod tests;
mod watch;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use directory::{Place, or_here};
use node::{Node, Stamp};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use watch::Watch;

/// What an entry is, for the question whether it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A socket. In a direct run one of the host can be reached: mask it.
    Socket,
    /// A FIFO or a device.
    Other,
}

/// Says whether a path, relative to the tree, matches. What is below a directory that matches is not asked for.
pub type Matches = Box<dyn Fn(&Path, Kind) -> bool + Send + Sync>;

/// The matching paths of one tree.
pub struct Index {
    top: PathBuf,
    matches: Matches,
    /// From so many directories on the tree is watched when it is asked for the second time.
    watched_from: usize,
    state: Mutex<State>,
}

/// What is known of the tree.
#[derive(Default)]
struct State {
    tree: Node,
    /// While the tree is watched: what was found, which is true until a change is told.
    found: Vec<PathBuf>,
    watch: Option<Watch>,
}

/// [`Index::watched_from`] of every index but those of tests.
const WATCHED: usize = 2000;

impl fmt::Debug for Index {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Index").field("top", &self.top).finish_non_exhaustive()
    }
}

impl Index {
    /// An index of the tree at `top`; nothing is read before it is asked.
    pub fn new(top: impl Into<PathBuf>, matches: Matches) -> Index {
        Index { top: top.into(), matches, watched_from: WATCHED, state: Mutex::default() }
    }

    /// The matching paths, relative to the tree, in order. A directory that cannot be looked into is one of them, whatever it
    /// is called: the host does not let us, or it lies too deep. Whatever else keeps one from being read is an error, since a
    /// name that is not found is not hidden.
    pub fn find(&self) -> io::Result<Vec<PathBuf>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::openat(CWD, &self.top, flags, Mode::empty())?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let search = Search { top: top.as_fd(), matches: &self.matches };
        if search.told(&mut state)? {
            return Ok(state.found.clone());
        }
        let known = !state.tree.inner.is_empty() && state.tree.count() >= self.watched_from;
        if known && search.begin_watch(&mut state)? {
            return Ok(state.found.clone());
        }
        let mut found = search.top(&mut state.tree)?;
        found.sort();
        Ok(found)
    }
}

/// So many directories are asked by one thread in the time that starting another takes.
const SHARE: usize = 500;

/// Directories are held open on so many levels; a thread must not use up descriptors by the depth of what it looks at.
const HELD: usize = 16;

#[derive(Clone, Copy)]
struct Search<'a> {
    top: BorrowedFd<'a>,
    matches: &'a Matches,
}

type Found = Result<Vec<PathBuf>, Errno>;

impl Search<'_> {
    /// Brings a watched tree up to date with what was told; false when it is not watched, or no longer.
    fn told(self, state: &mut State) -> Result<bool, Errno> {
        let State { tree, found, watch: kept } = state;
        // Taken out: whatever goes wrong below ends the watching.
        let Some(mut watch) = kept.take() else { return Ok(false) };
        let same = watch.is_of(&rustix::fs::fstat(self.top)?);
        let Some(changed) = watch.changed().filter(|_| same) else { return Ok(false) };
        // In order: what lies above comes first, and what was replaced is not looked for below its old path.
        for path in &changed {
            if let Some(node) = tree.at(path) {
                (node.watched, node.stamp) = (false, None);
                if !self.watched(node, path, &mut watch)? {
                    return Ok(false);
                }
            }
        }
        if !changed.is_empty() {
            *found = tree.all();
        }
        *kept = Some(watch);
        Ok(true)
    }

    /// Begins to watch a tree; false where that cannot be done.
    fn begin_watch(self, state: &mut State) -> Result<bool, Errno> {
        let Some(mut watch) = Watch::begin(self.top) else { return Ok(false) };
        state.tree.forget_watches();
        if !self.watched(&mut state.tree, Path::new(""), &mut watch)? {
            return Ok(false);
        }
        state.found = state.tree.all();
        state.watch = Some(watch);
        Ok(true)
    }

    /// Watches and reads a directory, and those below it that are not watched yet; false when the watching has to end.
    fn watched(self, node: &mut Node, path: &Path, watch: &mut Watch) -> Result<bool, Errno> {
        if !node.watched && !self.begin_at(node, path, watch)? {
            return Ok(false);
        }
        for (name, inner) in node.inner.iter_mut().filter(|(_, inner)| !inner.watched) {
            if !self.watched(inner, &path.join(name), watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Watches one directory, and reads it when it is not as it was. One that is closed is told of by the one above it.
    fn begin_at(self, node: &mut Node, path: &Path, watch: &mut Watch) -> Result<bool, Errno> {
        let Some(directory) = self.open(node, path)? else { return Ok(true) };
        let Some(meta) = watch.add(&directory, path) else { return Ok(false) };
        if node.stamp != Some(Stamp::of(&meta)) {
            self.read(node, path, &directory)?;
        }
        node.watched = true;
        Ok(true)
    }

    /// The first two levels here, what is below them by several threads when it is much.
    fn top(self, tree: &mut Node) -> Found {
        let mut found = Vec::new();
        self.look(tree, None, Path::new(""), &mut found)?;
        let mut left = Vec::new();
        for (name, node) in &mut tree.inner {
            let path = PathBuf::from(name);
            self.look(node, None, &path, &mut found)?;
            left.extend(node.inner.iter_mut().map(|(name, inner)| (path.join(name), inner)));
        }
        let known: usize = left.iter().map(|(_, node)| node.count()).sum();
        let most = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        let threads = (known / SHARE).clamp(1, most);
        if threads == 1 {
            self.share(&mut left, &mut found)?;
            return Ok(found);
        }
        let size = left.len().div_ceil(threads).max(1);
        let answers: Vec<Found> = std::thread::scope(|scope| {
            let work = |share| {
                scope.spawn(move || {
                    let mut found = Vec::new();
                    self.share(share, &mut found).map(|()| found)
                })
            };
            let running: Vec<_> = left.chunks_mut(size).map(work).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(Err(Errno::IO))).collect()
        });
        for answer in answers {
            found.append(&mut answer?);
        }
        Ok(found)
    }

    fn share(self, share: &mut [(PathBuf, &mut Node)], found: &mut Vec<PathBuf>) -> Result<(), Errno> {
        share.iter_mut().try_for_each(|(path, node)| self.visit(node, None, path, found))
    }

    /// Looks at a directory and everything below it.
    fn visit(
        self,
        node: &mut Node,
        parent: Option<BorrowedFd<'_>>,
        path: &mut PathBuf,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), Errno> {
        self.look(node, parent, path, found)?;
        if node.inner.is_empty() {
            return Ok(());
        }
        let held = self.hold(parent, path);
        for (name, inner) in &mut node.inner {
            path.push(name);
            self.visit(inner, held.as_ref().map(AsFd::as_fd), path, found)?;
            path.pop();
        }
        Ok(())
    }

    /// The directory, for asking beside it, so that no path is walked twice; none where it lies deep or cannot be had: then
    /// whole paths are asked for.
    fn hold(self, parent: Option<BorrowedFd<'_>>, path: &Path) -> Option<OwnedFd> {
        if path.iter().count() > HELD {
            return None;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (beside, name) = self.beside(parent, path);
        rustix::fs::openat(beside, name, flags, Mode::empty()).ok()
    }

    /// How a directory is asked for.
    fn beside<'a>(&'a self, parent: Option<BorrowedFd<'a>>, path: &'a Path) -> (BorrowedFd<'a>, &'a Path) {
        match (parent, path.file_name()) {
            (Some(parent), Some(name)) => (parent, Path::new(name)),
            _ => (self.top, or_here(path)),
        }
    }

    /// Looks at a directory itself, and reads it when it is not as it was.
    fn look(
        self,
        node: &mut Node,
        parent: Option<BorrowedFd<'_>>,
        path: &Path,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), Errno> {
        let (beside, name) = self.beside(parent, path);
        let now = rustix::fs::statat(beside, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|meta| Stamp::of(&meta));
        if (now.is_none() || node.stamp != now)
            && let Some(directory) = self.open(node, path)?
        {
            self.read(node, path, &directory)?;
        }
        node.tell(path, found);
        Ok(())
    }

    /// Opens a directory. What is known of one that is gone or closed is forgotten.
    fn open(self, node: &mut Node, path: &Path) -> Result<Option<OwnedFd>, Errno> {
        match directory::open(self.top, path)? {
            Place::Open(directory) => return Ok(Some(directory)),
            Place::Gone => *node = Node::default(),
            // There is nothing above it in which it could be hidden.
            Place::Closed if path.as_os_str().is_empty() => return Err(Errno::ACCESS),
            Place::Closed => *node = Node::closed(),
        }
        Ok(None)
    }

    /// Reads a directory. What is known of directories whose names are still there is kept, and each is to be looked at: another
    /// one may have come in its place.
    fn read(self, node: &mut Node, path: &Path, directory: &OwnedFd) -> Result<(), Errno> {
        let mut known = std::mem::take(node).inner;
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let stamp = Stamp::of(&rustix::fs::fstat(directory)?);
        for (name, kind) in directory::entries(directory)? {
            if (self.matches)(&path.join(&name), kind) {
                node.found.push(name);
            } else if kind == Kind::Dir {
                let inner = Node { watched: false, ..known.remove(&name).unwrap_or_default() };
                node.inner.insert(name, inner);
            }
        }
        node.stamp = Some(stamp).filter(|stamp| stamp.is_settled(began));
        Ok(())
    }
}
