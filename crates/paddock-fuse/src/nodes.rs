//! The inode numbers that the kernel knows, and the paths they stand for.
//!
//! A number is given with the first lookup and stays until the kernel forgets it, whatever happens to the path
//! meanwhile: a rename takes it along, an unlink leaves it without a path. Nothing is kept that the kernel does not
//! know, so the kernel's own caches bound the memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use paddock_core::{Kind, LogicalPath, Version};

use crate::held::Held;

/// The number of what is served itself.
pub(crate) const TOP: u64 = 1;

/// One thing that the kernel knows.
pub(crate) struct Node {
    pub(crate) ino: u64,
    pub(crate) kind: Kind,
    at: Mutex<Option<LogicalPath>>,
    /// What is being written, while it is not in the Store.
    content: Mutex<Option<Held>>,
    told: Mutex<Option<Told>>,
    /// When a name in a directory was last changed through here.
    touched: Mutex<Option<SystemTime>>,
    /// How many handles are open on it.
    pub(crate) opens: AtomicUsize,
    /// Was the kernel given its content before it asked?
    given: AtomicBool,
}

/// What the kernel was last told of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    version: Version,
    len: u64,
    modified: SystemTime,
}

impl Node {
    fn new(ino: u64, kind: Kind, at: LogicalPath) -> Self {
        Self {
            ino,
            kind,
            at: Mutex::new(Some(at)),
            content: Mutex::default(),
            told: Mutex::default(),
            touched: Mutex::default(),
            opens: AtomicUsize::new(0),
            given: AtomicBool::new(false),
        }
    }

    /// Where it is now; nothing once it was unlinked.
    pub(crate) fn path(&self) -> Option<LogicalPath> {
        lock(&self.at).clone()
    }

    /// What is being written, locked: held for as long as a commit takes, so that nobody writes meanwhile.
    pub(crate) fn content(&self) -> MutexGuard<'_, Option<Held>> {
        lock(&self.content)
    }

    /// When a name in it was last changed through here.
    pub(crate) fn touched(&self) -> Option<SystemTime> {
        *lock(&self.touched)
    }

    pub(crate) fn touch(&self, at: SystemTime) {
        *lock(&self.touched) = Some(at);
    }

    /// Is anybody using it?
    pub(crate) fn is_open(&self) -> bool {
        self.opens.load(Ordering::SeqCst) > 0
    }

    /// The length and version that the kernel was told, the first time that this is asked.
    pub(crate) fn to_be_given(&self) -> Option<(u64, Version)> {
        let told = (*lock(&self.told))?;
        (!self.given.swap(true, Ordering::SeqCst)).then_some((told.len, told.version))
    }

    /// The time to tell the kernel for what has this version. It drops the pages it has when length or time change, so
    /// another version never has the time of the one before: it is then told a nanosecond later.
    pub(crate) fn time_to_tell(&self, version: Version, len: u64, modified: SystemTime) -> SystemTime {
        let mut told = lock(&self.told);
        let modified = match *told {
            Some(last) if last.version == version && last.len == len => last.modified.max(modified),
            Some(last) if last.len == len && last.modified >= modified && near(last.modified, modified) => {
                last.modified + Duration::from_nanos(1)
            }
            _ => modified,
        };
        *told = Some(Told { version, len, modified });
        modified
    }
}

/// Can the two only differ by what was added?
fn near(later: SystemTime, earlier: SystemTime) -> bool {
    later.duration_since(earlier).is_ok_and(|gap| gap < Duration::from_micros(100))
}

/// All that the kernel knows.
pub(crate) struct Nodes(Mutex<Known>);

struct Known {
    by_ino: HashMap<u64, (Arc<Node>, u64)>,
    by_path: BTreeMap<LogicalPath, u64>,
    next: u64,
}

impl Nodes {
    pub(crate) fn new(top: LogicalPath) -> Self {
        let node = Arc::new(Node::new(TOP, Kind::Dir, top.clone()));
        Self(Mutex::new(Known {
            by_ino: HashMap::from([(TOP, (node, 1))]),
            by_path: BTreeMap::from([(top, TOP)]),
            next: TOP + 1,
        }))
    }

    pub(crate) fn get(&self, ino: u64) -> Option<Arc<Node>> {
        lock(&self.0).by_ino.get(&ino).map(|(node, _)| Arc::clone(node))
    }

    pub(crate) fn at(&self, path: &LogicalPath) -> Option<Arc<Node>> {
        let known = lock(&self.0);
        known.by_path.get(path).and_then(|ino| known.by_ino.get(ino)).map(|(node, _)| Arc::clone(node))
    }

    /// The node of a path, counted as looked up once more. Something of another kind there is another thing.
    pub(crate) fn looked_up(&self, path: &LogicalPath, kind: Kind) -> Arc<Node> {
        let known = &mut *lock(&self.0);
        if let Some(ino) = known.by_path.get(path)
            && let Some((node, lookups)) = known.by_ino.get_mut(ino)
        {
            if node.kind == kind {
                *lookups += 1;
                return Arc::clone(node);
            }
            *lock(&node.at) = None;
        }
        let ino = known.next;
        known.next += 1;
        let node = Arc::new(Node::new(ino, kind, path.clone()));
        known.by_ino.insert(ino, (Arc::clone(&node), 1));
        known.by_path.insert(path.clone(), ino);
        node
    }

    /// The kernel dropped so many of its references.
    pub(crate) fn forget(&self, ino: u64, count: u64) {
        let known = &mut *lock(&self.0);
        let Some((node, lookups)) = known.by_ino.get_mut(&ino) else { return };
        *lookups = lookups.saturating_sub(count);
        if *lookups > 0 || ino == TOP {
            return;
        }
        if let Some(path) = node.path()
            && known.by_path.get(&path) == Some(&ino)
        {
            known.by_path.remove(&path);
        }
        known.by_ino.remove(&ino);
    }

    /// The path is gone; who has the node open keeps it.
    pub(crate) fn unlinked(&self, path: &LogicalPath) {
        let known = &mut *lock(&self.0);
        if let Some(ino) = known.by_path.remove(path)
            && let Some((node, _)) = known.by_ino.get(&ino)
        {
            *lock(&node.at) = None;
        }
    }

    /// What was at a path, and below it, is at another one now.
    pub(crate) fn moved(&self, from: &LogicalPath, to: &LogicalPath) {
        self.unlinked(to);
        let known = &mut *lock(&self.0);
        let below = known.by_path.range(from.clone()..).take_while(|(path, _)| path.below(from).is_some());
        let moving: Vec<(LogicalPath, u64)> = below.map(|(path, ino)| (path.clone(), *ino)).collect();
        for (path, ino) in moving {
            known.by_path.remove(&path);
            let Some(rel) = path.below(from) else { continue };
            let arrived = to.join(rel);
            if let Some((node, _)) = known.by_ino.get(&ino) {
                *lock(&node.at) = Some(arrived.clone());
            }
            known.by_path.insert(arrived, ino);
        }
    }

    /// Every node there is.
    pub(crate) fn all(&self) -> Vec<Arc<Node>> {
        lock(&self.0).by_ino.values().map(|(node, _)| Arc::clone(node)).collect()
    }

    /// How many nodes are known.
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).by_ino.len()
    }
}

/// What a thread that panicked left is whole: nothing is changed in between.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn path(text: &str) -> LogicalPath {
        LogicalPath::parse(text, &LogicalPath::top()).unwrap()
    }

    fn nodes() -> Nodes {
        Nodes::new(LogicalPath::top())
    }

    #[test]
    fn a_number_stays_while_it_is_known_and_is_freed_when_forgotten() {
        let nodes = nodes();
        let first = nodes.looked_up(&path("/a"), Kind::File).ino;
        assert_eq!(nodes.looked_up(&path("/a"), Kind::File).ino, first);
        nodes.forget(first, 1);
        assert!(nodes.get(first).is_some(), "one of two lookups is left");
        nodes.forget(first, 1);
        assert!(nodes.get(first).is_none() && nodes.at(&path("/a")).is_none());
        assert_eq!(nodes.count(), 1, "only the top is left");
        nodes.forget(TOP, 1000);
        assert!(nodes.get(TOP).is_some());
    }

    #[test]
    fn something_of_another_kind_is_another_thing() {
        let nodes = nodes();
        let file = nodes.looked_up(&path("/a"), Kind::File);
        let dir = nodes.looked_up(&path("/a"), Kind::Dir);
        assert_ne!(file.ino, dir.ino);
        assert_eq!(file.path(), None);
        nodes.forget(file.ino, 1);
        assert_eq!(nodes.at(&path("/a")).unwrap().ino, dir.ino, "the new one keeps the path");
    }

    #[test]
    fn a_rename_takes_everything_below_along() {
        let nodes = nodes();
        let (dir, inner, beside) = (
            nodes.looked_up(&path("/d"), Kind::Dir),
            nodes.looked_up(&path("/d/f"), Kind::File),
            nodes.looked_up(&path("/d-2"), Kind::File),
        );
        let replaced = nodes.looked_up(&path("/e"), Kind::Dir);
        nodes.moved(&path("/d"), &path("/e"));
        assert_eq!(dir.path(), Some(path("/e")));
        assert_eq!(inner.path(), Some(path("/e/f")));
        assert_eq!(beside.path(), Some(path("/d-2")));
        assert_eq!(replaced.path(), None);
        assert!(nodes.at(&path("/d/f")).is_none());
        assert_eq!(nodes.at(&path("/e/f")).unwrap().ino, inner.ino);
    }

    #[test]
    fn another_version_never_has_the_time_of_the_one_before() {
        let node = Node::new(2, Kind::File, path("/a"));
        let at = UNIX_EPOCH + Duration::from_secs(5);
        let first = node.time_to_tell(Version(1), 3, at);
        assert_eq!(first, at);
        assert_eq!(node.time_to_tell(Version(1), 3, at), at, "the same version keeps its time");
        let second = node.time_to_tell(Version(2), 3, at);
        assert!(second > first);
        let third = node.time_to_tell(Version(3), 3, at);
        assert!(third > second);
        assert_eq!(node.time_to_tell(Version(3), 3, at), third);
        assert_eq!(node.time_to_tell(Version(4), 4, at), at, "another length is noticed by itself");
    }
}
