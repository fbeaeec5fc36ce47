//! Which paths of a tree match, kept between commands: what is hidden or guarded is asked before every run.
//!
//! Reading a tree of a hundred thousand files takes longer than most commands. A directory's own times change when a
//! name in it does, so a directory whose times and inode are as they were is not read again, only asked. Times are
//! trusted only when they were old enough at the time of reading: a change within the same tick would not show. A tree
//! of very many directories that is asked for again and again is watched instead.

mod watch;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
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

/// From so many directories on a tree is watched when it is asked for the second time.
const WATCHED: usize = 2000;

impl fmt::Debug for Index {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Index").field("top", &self.top).finish_non_exhaustive()
    }
}

/// A directory as it was read.
#[derive(Default)]
struct Node {
    stamp: Option<Stamp>,
    /// It was watched before it was read.
    watched: bool,
    found: Vec<OsString>,
    inner: BTreeMap<OsString, Node>,
}

impl Node {
    /// The directory at a path below this one.
    fn at(&mut self, path: &Path) -> Option<&mut Node> {
        path.iter().try_fold(self, |node, name| node.inner.get_mut(name))
    }

    /// Everything that was found here and below, in order.
    fn all(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = vec![(PathBuf::new(), self)];
        while let Some((path, node)) = left.pop() {
            found.extend(node.found.iter().map(|name| path.join(name)));
            left.extend(node.inner.iter().map(|(name, inner)| (path.join(name), inner)));
        }
        found.sort();
        found
    }

    fn forget_watches(&mut self) {
        self.watched = false;
        self.inner.values_mut().for_each(Node::forget_watches);
    }

    /// How many directories are known here.
    fn count(&self) -> usize {
        1 + self.inner.values().map(Node::count).sum::<usize>()
    }
}

/// What tells whether a directory is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Stat) -> Stamp {
        Stamp {
            device: meta.st_dev,
            inode: meta.st_ino,
            modified: (meta.st_mtime, meta.st_mtime_nsec as i64),
            changed: (meta.st_ctime, meta.st_ctime_nsec as i64),
        }
    }

    /// Whether a change after `now` would surely have another time.
    fn is_settled(&self, now: Duration) -> bool {
        let latest = self.modified.max(self.changed);
        // A file system that counts whole seconds gives itself away.
        let whole = self.modified.1 == 0 && self.changed.1 == 0;
        let tick = if whole { Duration::from_millis(2100) } else { Duration::from_millis(100) };
        let Ok(seconds) = u64::try_from(latest.0) else { return false };
        let latest = Duration::from_secs(seconds) + Duration::from_nanos(latest.1 as u64);
        latest + tick < now
    }
}

impl Index {
    /// An index of the tree at `top`; nothing is read before it is asked.
    pub fn new(top: impl Into<PathBuf>, matches: Matches) -> Index {
        Index { top: top.into(), matches, state: Mutex::default() }
    }

    /// The matching paths, relative to the tree, in order. A directory that the host does not let us read has none:
    /// neither can a command read it. What else keeps a directory from being read is an error, since a name that is not
    /// found is not hidden.
    pub fn find(&self) -> io::Result<Vec<PathBuf>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::openat(CWD, &self.top, flags, Mode::empty())?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let search = Search { top: top.as_fd(), matches: &self.matches };
        if search.told(&mut state)? {
            return Ok(state.found.clone());
        }
        let known = !state.tree.inner.is_empty() && state.tree.count() >= WATCHED;
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
        let here = rustix::fs::fstat(self.top)?;
        let same = tree.stamp.is_some_and(|stamp| (stamp.device, stamp.inode) == (here.st_dev, here.st_ino));
        let Some(changed) = watch.changed().filter(|_| same) else { return Ok(false) };
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
        if !node.watched {
            let Some(directory) = readable(open(self.top, path))? else {
                *node = Node::default();
                return Ok(true);
            };
            let meta = rustix::fs::fstat(&directory)?;
            if !watch.add(&directory, meta.st_dev, path) {
                return Ok(false);
            }
            let now = Stamp::of(&meta);
            if node.stamp != Some(now) {
                self.read(node, path)?;
                node.stamp = Some(now);
            }
            node.watched = true;
        }
        for (name, inner) in node.inner.iter_mut().filter(|(_, inner)| !inner.watched) {
            if !self.watched(inner, &path.join(name), watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first two levels here, what is below them by several threads when it is much.
    fn top(self, tree: &mut Node) -> Found {
        let mut found = Vec::new();
        self.look(tree, self.top, OsStr::new("."), Path::new(""), &mut found)?;
        let mut left = Vec::new();
        for (name, node) in &mut tree.inner {
            let path = PathBuf::from(name);
            self.look(node, self.top, name, &path, &mut found)?;
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
        for (path, node) in share {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name().map(OsStr::to_owned)) else { continue };
            if let Some(parent) = readable(open(self.top, parent))? {
                self.visit(node, parent.as_fd(), &name, path, found)?;
            }
        }
        Ok(())
    }

    /// Looks at a directory and everything below it. Names are asked for beside their parent, so that no path is walked
    /// twice.
    fn visit(
        self,
        node: &mut Node,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        path: &mut PathBuf,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), Errno> {
        self.look(node, parent, name, path, found)?;
        if node.inner.is_empty() {
            return Ok(());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Some(directory) = readable(rustix::fs::openat(parent, name, flags, Mode::empty()))? else { return Ok(()) };
        for (name, inner) in &mut node.inner {
            path.push(name);
            self.visit(inner, directory.as_fd(), name, path, found)?;
            path.pop();
        }
        Ok(())
    }

    /// Looks at a directory itself, and reads it when it is not as it was.
    fn look(
        self,
        node: &mut Node,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), Errno> {
        let now = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|meta| Stamp::of(&meta));
        if now.is_none() || node.stamp != now {
            self.read(node, path)?;
        }
        found.extend(node.found.iter().map(|name| path.join(name)));
        Ok(())
    }

    /// Reads a directory; what is known of directories that are still there is kept.
    fn read(self, node: &mut Node, path: &Path) -> Result<(), Errno> {
        let mut known = std::mem::take(node).inner;
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let Some(directory) = readable(open(self.top, path))? else { return Ok(()) };
        let stamp = rustix::fs::fstat(&directory).ok().map(|meta| Stamp::of(&meta));
        for (name, kind) in entries(&directory)? {
            if (self.matches)(&path.join(&name), kind) {
                node.found.push(name);
            } else if kind == Kind::Dir {
                let inner = known.remove(&name).unwrap_or_default();
                node.inner.insert(name, inner);
            }
        }
        node.stamp = stamp.filter(|stamp| stamp.is_settled(began));
        Ok(())
    }
}

/// A directory that is gone, is none any more, or is closed to us has nothing to find.
fn readable<T>(answer: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM | Errno::XDEV) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn open(top: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(top, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn entries(directory: &OwnedFd) -> Result<Vec<(OsString, Kind)>, Errno> {
    let mut all = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name != "." && name != ".." {
            let kind = kind(directory, &name, entry.file_type());
            all.push((name, kind));
        }
    }
    Ok(all)
}

fn kind(directory: &OwnedFd, name: &OsStr, told: FileType) -> Kind {
    let told = match told {
        FileType::Unknown => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |meta| FileType::from_raw_mode(meta.st_mode)),
        told => told,
    };
    match told {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        FileType::Socket => Kind::Socket,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn paths(index: &Index) -> Vec<String> {
        index.find().unwrap().into_iter().map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    /// An index of names that begin with `.env`, and how often it was asked.
    fn of_env(top: &Path) -> (Index, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let matches = move |path: &Path, _: Kind| {
            count.fetch_add(1, Ordering::Relaxed);
            path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(".env"))
        };
        (Index::new(top, Box::new(matches)), asked)
    }

    /// Makes every directory look as if it had been left alone for long.
    fn settle(top: &Path) {
        let old = SystemTime::now() - Duration::from_secs(60);
        for path in [top.to_owned(), top.join("a"), top.join("a/b")] {
            if path.is_dir() {
                fs::File::open(path).unwrap().set_modified(old).unwrap();
            }
        }
    }

    #[test]
    fn names_are_found_at_any_depth_and_below_a_match_nothing_is_asked() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        fs::create_dir_all(top.path().join(".env.d/x")).unwrap();
        for name in [".env", "a/b/.env.local", "a/file", ".env.d/x/.env"] {
            fs::write(top.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("a", top.path().join("link")).unwrap();
        let (index, _) = of_env(top.path());
        assert_eq!(paths(&index), [".env", ".env.d", "a/b/.env.local"]);
    }

    #[test]
    fn what_changes_is_noticed_at_once() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        let (index, _) = of_env(top.path());
        assert!(paths(&index).is_empty());
        for round in 0..50 {
            let name = format!("a/b/.env{round}");
            fs::write(top.path().join(&name), "").unwrap();
            assert_eq!(paths(&index), std::slice::from_ref(&name));
            fs::remove_file(top.path().join(&name)).unwrap();
            assert!(paths(&index).is_empty());
        }
        fs::write(top.path().join("a/.env"), "").unwrap();
        fs::rename(top.path().join("a"), top.path().join("c")).unwrap();
        assert_eq!(paths(&index), ["c/.env"]);
    }

    #[test]
    fn a_settled_directory_is_not_read_again() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        fs::write(top.path().join("a/b/.env"), "").unwrap();
        settle(top.path());
        // Setting a time changes the other one, which nobody can set: it has to grow old by itself.
        std::thread::sleep(Duration::from_millis(150));
        let (index, asked) = of_env(top.path());
        assert_eq!(paths(&index), ["a/b/.env"]);
        let once = asked.load(Ordering::Relaxed);
        assert_eq!(paths(&index), ["a/b/.env"]);
        assert_eq!(asked.load(Ordering::Relaxed), once);
        fs::write(top.path().join("a/.env"), "").unwrap();
        assert_eq!(paths(&index), ["a/.env", "a/b/.env"]);
    }

    #[test]
    fn a_large_tree_is_shared_and_nothing_is_lost() {
        let top = tempfile::tempdir().unwrap();
        for number in 0..1500 {
            fs::create_dir_all(top.path().join(format!("a/b{}/c{}/d{number}", number % 3, number % 40))).unwrap();
        }
        let hidden: Vec<String> = [7, 700, 1499].map(|n| format!("a/b{}/c{}/d{n}/.env", n % 3, n % 40)).to_vec();
        for path in &hidden {
            fs::write(top.path().join(path), "").unwrap();
        }
        let (index, _) = of_env(top.path());
        let mut wanted = hidden.clone();
        wanted.sort();
        for _ in 0..3 {
            assert_eq!(paths(&index), wanted);
        }
        fs::write(top.path().join("a/b1/c1/d1/.env.new"), "").unwrap();
        wanted.push("a/b1/c1/d1/.env.new".to_owned());
        wanted.sort();
        assert_eq!(paths(&index), wanted);
    }

    /// A tree that is watched from the second question on.
    fn watched() -> (tempfile::TempDir, Index, Arc<AtomicUsize>) {
        let top = tempfile::tempdir().unwrap();
        for number in 0..WATCHED {
            fs::create_dir_all(top.path().join(format!("a{}/b{number}", number % 10))).unwrap();
        }
        fs::write(top.path().join("a7/b7/.env"), "").unwrap();
        let (index, asked) = of_env(top.path());
        for _ in 0..2 {
            assert_eq!(paths(&index), ["a7/b7/.env"]);
        }
        assert!(index.state.lock().unwrap().watch.is_some(), "it is watched");
        (top, index, asked)
    }

    #[test]
    fn a_watched_tree_is_not_asked_and_no_change_is_missed() {
        let (top, index, asked) = watched();
        let before = asked.load(Ordering::Relaxed);
        assert_eq!(paths(&index), ["a7/b7/.env"]);
        assert_eq!(asked.load(Ordering::Relaxed), before, "nothing was read");
        let at = |path: &str| top.path().join(path);
        fs::write(at("a1/.env"), "").unwrap();
        assert_eq!(paths(&index), ["a1/.env", "a7/b7/.env"]);
        fs::create_dir_all(at("a1/new/deep/er")).unwrap();
        fs::write(at("a1/new/deep/er/.env"), "").unwrap();
        assert_eq!(paths(&index), ["a1/.env", "a1/new/deep/er/.env", "a7/b7/.env"]);
        fs::write(at("a1/new/deep/er/.env2"), "").unwrap();
        fs::remove_file(at("a1/.env")).unwrap();
        assert_eq!(paths(&index), ["a1/new/deep/er/.env", "a1/new/deep/er/.env2", "a7/b7/.env"]);
        fs::rename(at("a1/new"), at("a2/moved")).unwrap();
        assert_eq!(paths(&index), ["a2/moved/deep/er/.env", "a2/moved/deep/er/.env2", "a7/b7/.env"]);
        fs::rename(at("a2/moved/deep/er/.env"), at("a2/moved/deep/er/x")).unwrap();
        fs::remove_dir_all(at("a7")).unwrap();
        assert_eq!(paths(&index), ["a2/moved/deep/er/.env2"]);
        fs::rename(at("a2/moved/deep"), at("a3/.env.d")).unwrap();
        assert_eq!(paths(&index), ["a3/.env.d"]);
        fs::rename(at("a3/.env.d"), at("a3/plain")).unwrap();
        assert_eq!(paths(&index), ["a3/plain/er/.env2"]);
        assert!(index.state.lock().unwrap().watch.is_some(), "still");
    }

    #[test]
    fn a_tree_that_was_replaced_is_read_again() {
        let (top, index, _) = watched();
        let other = top.path().with_extension("old");
        fs::rename(top.path(), &other).unwrap();
        fs::create_dir(top.path()).unwrap();
        fs::write(top.path().join(".env"), "").unwrap();
        assert_eq!(paths(&index), [".env"]);
        fs::remove_dir_all(other).unwrap();
    }

    #[test]
    fn a_queue_that_overflows_is_not_trusted() {
        let (top, index, _) = watched();
        let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
        for number in 0..most / 2 + 1000 {
            let path = top.path().join(format!("a1/b1/x{}", number % 2));
            fs::write(&path, "").unwrap();
            fs::remove_file(&path).unwrap();
        }
        fs::write(top.path().join("a1/.env"), "").unwrap();
        assert_eq!(paths(&index), ["a1/.env", "a7/b7/.env"]);
    }

    #[test]
    fn a_fresh_time_is_not_trusted() {
        let now = Duration::from_secs(1000);
        let stamp = |seconds, nanoseconds| Stamp {
            device: 1,
            inode: 1,
            modified: (seconds, nanoseconds),
            changed: (seconds, nanoseconds),
        };
        assert!(stamp(999, 1).is_settled(now));
        assert!(!stamp(999, 950_000_000).is_settled(now));
        assert!(!stamp(998, 0).is_settled(now), "whole seconds are coarse");
        assert!(stamp(990, 0).is_settled(now));
        assert!(!stamp(1001, 5).is_settled(now), "a time to come says nothing");
    }

    #[test]
    fn a_directory_replaced_by_a_link_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join(".env"), "").unwrap();
        fs::create_dir(top.path().join("a")).unwrap();
        let (index, _) = of_env(top.path());
        assert!(paths(&index).is_empty());
        fs::remove_dir(top.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), top.path().join("a")).unwrap();
        assert!(paths(&index).is_empty());
    }
}
