//! A disk, twice: as programs see it, and as it is found when the power has failed.
//!
//! The content of a file gets onto the disk by a sync of the file, a name by a sync of its directory, and by nothing else. Real
//! file systems keep more of it, and sooner; that may be relied on nowhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileType, INodeNo, RenameFlags};

/// The number of the topmost directory.
const TOP: u64 = 1;

type Result<T> = std::result::Result<T, Errno>;
type Names = BTreeMap<OsString, u64>;

/// Everything that is there, by path.
pub(super) type Found = BTreeMap<String, Thing>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    Dir,
    File { content: Arc<Vec<u8>>, mode: u32 },
    Link(String),
}

/// What a disk has written by itself, before anybody synced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Nothing: only what was synced is there.
    Nothing,
    /// Every name and no content, as where a journal of names is ahead of what they name.
    Names,
    /// Everything: what programs see.
    All,
}

/// What would be found, were the power to fail right after an operation.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) after: &'static str,
    pub(super) ahead: Ahead,
    pub(super) found: Found,
}

/// As programs see it, and as it is on the disk.
#[derive(Debug, Default)]
struct Both<T> {
    now: T,
    synced: T,
}

impl<T: Clone> Both<T> {
    fn sync(&mut self) {
        self.synced = self.now.clone();
    }

    fn get(&self, is_ahead: bool) -> &T {
        if is_ahead { &self.now } else { &self.synced }
    }
}

#[derive(Debug)]
pub(super) enum What {
    Dir(Dir),
    File(File),
    Link(String),
}

#[derive(Debug, Default)]
pub(super) struct Dir(Both<Names>);

#[derive(Debug, Default)]
pub(super) struct File(Both<Arc<Vec<u8>>>);

#[derive(Debug)]
struct Node {
    what: What,
    mode: Both<u32>,
    modified: SystemTime,
    changed: SystemTime,
}

impl Node {
    fn new(what: What, mode: u32) -> Self {
        let now = SystemTime::now();
        let mode = mode & 0o7777;
        Self { what, mode: Both { now: mode, synced: mode }, modified: now, changed: now }
    }

    fn is_changed(&mut self) {
        self.modified = SystemTime::now();
        self.changed = self.modified;
    }
}

/// A name in a directory.
pub(super) type Spot<'a> = (u64, &'a OsStr);

#[derive(Debug)]
pub(super) struct Disk {
    nodes: Vec<Node>,
    /// Nothing gets a name in another topmost directory than its own, as if each were a file system.
    apart: bool,
    moments: Vec<Moment>,
}

impl Disk {
    pub(super) fn new(apart: bool) -> Self {
        Self { nodes: vec![Node::new(What::Dir(Dir::default()), 0o755)], apart, moments: Vec::new() }
    }

    /// One that was found like this.
    pub(super) fn holding(found: &Found) -> Self {
        let mut disk = Self::new(false);
        let mut dirs = BTreeMap::from([("", TOP)]);
        // A directory comes before what is in it.
        for (path, thing) in found {
            let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
            let (what, mode) = match thing {
                Thing::Dir => (What::Dir(Dir::default()), 0o755),
                Thing::File { content, mode } => {
                    (What::File(File(Both { now: Arc::clone(content), synced: Arc::default() })), *mode)
                }
                Thing::Link(text) => (What::Link(text.clone()), 0o777),
            };
            let ino = disk.make((dirs[dir], name.as_ref()), what, mode).unwrap();
            dirs.insert(path, ino);
        }
        disk.sync_all();
        disk
    }

    /// What is there of it all.
    pub(super) fn found(&self, ahead: Ahead) -> Found {
        let mut found = Found::new();
        let mut left = vec![(String::new(), TOP)];
        while let Some((path, ino)) = left.pop() {
            assert!(path.len() < 4096, "a directory is in itself: {path}");
            let node = self.node(ino);
            let thing = match &node.what {
                What::Dir(Dir(names)) => {
                    let slash = if path.is_empty() { "" } else { "/" };
                    let below = |(name, ino): (&OsString, &u64)| (format!("{path}{slash}{}", name.display()), *ino);
                    left.extend(names.get(ahead != Ahead::Nothing).iter().map(below));
                    Thing::Dir
                }
                What::File(File(content)) => Thing::File {
                    content: Arc::clone(content.get(ahead == Ahead::All)),
                    mode: *node.mode.get(ahead == Ahead::All),
                },
                What::Link(text) => Thing::Link(text.clone()),
            };
            found.insert(path, thing);
        }
        found.remove("");
        found
    }

    /// Notes what would be found now.
    pub(super) fn note(&mut self, after: &'static str) {
        for ahead in [Ahead::Nothing, Ahead::Names] {
            let found = self.found(ahead);
            self.moments.push(Moment { after, ahead, found });
        }
    }

    /// What was noted since this was last asked.
    pub(super) fn moments(&mut self) -> Vec<Moment> {
        std::mem::take(&mut self.moments)
    }

    /// As `sync` does it.
    pub(super) fn sync_all(&mut self) {
        for ino in TOP..TOP + self.nodes.len() as u64 {
            self.sync(ino);
        }
    }

    /// A file with its content, or a directory with its names. What they name is another matter.
    pub(super) fn sync(&mut self, ino: u64) {
        let node = self.node_mut(ino);
        node.mode.sync();
        match &mut node.what {
            What::Dir(Dir(names)) => names.sync(),
            What::File(File(content)) => content.sync(),
            What::Link(_) => {}
        }
    }

    fn node(&self, ino: u64) -> &Node {
        &self.nodes[usize::try_from(ino - TOP).unwrap()]
    }

    fn node_mut(&mut self, ino: u64) -> &mut Node {
        &mut self.nodes[usize::try_from(ino - TOP).unwrap()]
    }

    /// The names in a directory, as programs see them.
    pub(super) fn names(&self, dir: u64) -> Result<&Names> {
        match &self.node(dir).what {
            What::Dir(Dir(names)) => Ok(&names.now),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn names_mut(&mut self, dir: u64) -> Result<&mut Names> {
        let node = self.node_mut(dir);
        node.is_changed();
        match &mut node.what {
            What::Dir(Dir(names)) => Ok(&mut names.now),
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub(super) fn child(&self, (dir, name): Spot<'_>) -> Result<u64> {
        self.names(dir)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    pub(super) fn make(&mut self, (dir, name): Spot<'_>, what: What, mode: u32) -> Result<u64> {
        if self.names(dir)?.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        self.nodes.push(Node::new(what, mode));
        let ino = TOP - 1 + self.nodes.len() as u64;
        self.names_mut(dir)?.insert(name.to_owned(), ino);
        Ok(ino)
    }

    pub(super) fn link(&mut self, ino: u64, (dir, name): Spot<'_>) -> Result<()> {
        if self.apart && self.topmost(ino) != self.topmost(dir) {
            return Err(Errno::EXDEV);
        }
        if self.names(dir)?.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        self.names_mut(dir)?.insert(name.to_owned(), ino);
        self.node_mut(ino).changed = SystemTime::now();
        Ok(())
    }

    pub(super) fn remove(&mut self, (dir, name): Spot<'_>) -> Result<()> {
        let ino = self.child((dir, name))?;
        if self.names(ino).is_ok_and(|names| !names.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.names_mut(dir)?.remove(name);
        self.node_mut(ino).changed = SystemTime::now();
        Ok(())
    }

    pub(super) fn rename(&mut self, from: Spot<'_>, to: Spot<'_>, flags: RenameFlags) -> Result<()> {
        let (moved, there) = (self.child(from)?, self.child(to).ok());
        if self.apart && self.topmost(from.0) != self.topmost(to.0) {
            return Err(Errno::EXDEV);
        }
        let other = if flags == RenameFlags::RENAME_EXCHANGE {
            Some(there.ok_or(Errno::ENOENT)?)
        } else if flags == RenameFlags::RENAME_NOREPLACE && there.is_some() {
            return Err(Errno::EEXIST);
        } else if there.is_some_and(|there| self.names(there).is_ok_and(|names| !names.is_empty())) {
            return Err(Errno::ENOTEMPTY);
        } else {
            None
        };
        self.names_mut(from.0)?.remove(from.1);
        if let Some(other) = other {
            self.names_mut(from.0)?.insert(from.1.to_owned(), other);
        }
        self.names_mut(to.0)?.insert(to.1.to_owned(), moved);
        for ino in [Some(moved), there].into_iter().flatten() {
            self.node_mut(ino).changed = SystemTime::now();
        }
        Ok(())
    }

    pub(super) fn content(&self, ino: u64) -> Result<&[u8]> {
        match &self.node(ino).what {
            What::File(File(content)) => Ok(&content.now),
            _ => Err(Errno::EISDIR),
        }
    }

    fn change(&mut self, ino: u64, change: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let node = self.node_mut(ino);
        let What::File(File(content)) = &mut node.what else { return Err(Errno::EISDIR) };
        change(Arc::make_mut(&mut content.now));
        node.is_changed();
        Ok(())
    }

    pub(super) fn write(&mut self, ino: u64, at: u64, data: &[u8]) -> Result<()> {
        let at = usize::try_from(at).map_err(|_| Errno::EFBIG)?;
        self.change(ino, |content| {
            content.resize(content.len().max(at + data.len()), 0);
            content[at..at + data.len()].copy_from_slice(data);
        })
    }

    pub(super) fn set_len(&mut self, ino: u64, len: u64) -> Result<()> {
        let len = usize::try_from(len).map_err(|_| Errno::EFBIG)?;
        self.change(ino, |content| content.resize(len, 0))
    }

    pub(super) fn dress(&mut self, ino: u64, mode: Option<u32>, modified: Option<SystemTime>) {
        let node = self.node_mut(ino);
        node.changed = SystemTime::now();
        node.modified = modified.unwrap_or(node.modified);
        node.mode.now = mode.map_or(node.mode.now, |mode| mode & 0o7777);
    }

    pub(super) fn leads_to(&self, ino: u64) -> Result<&str> {
        match &self.node(ino).what {
            What::Link(text) => Ok(text),
            _ => Err(Errno::EINVAL),
        }
    }

    /// How many names it has, as programs see it.
    fn names_of(&self, ino: u64) -> usize {
        let dirs = self.nodes.iter().filter_map(|node| match &node.what {
            What::Dir(Dir(names)) => Some(&names.now),
            _ => None,
        });
        dirs.flat_map(BTreeMap::values).filter(|named| **named == ino).count()
    }

    /// In which of the topmost directories it is.
    fn topmost(&self, ino: u64) -> Option<u64> {
        let holds = |dir: &u64| {
            let mut left = vec![*dir];
            while let Some(at) = left.pop() {
                if at == ino {
                    return true;
                }
                left.extend(self.names(at).into_iter().flat_map(BTreeMap::values));
            }
            false
        };
        self.names(TOP).ok()?.values().copied().find(holds)
    }

    pub(super) fn kind(&self, ino: u64) -> FileType {
        match &self.node(ino).what {
            What::Dir(_) => FileType::Directory,
            What::File(_) => FileType::RegularFile,
            What::Link(_) => FileType::Symlink,
        }
    }

    pub(super) fn attributes(&self, ino: u64) -> FileAttr {
        let node = self.node(ino);
        let (size, nlink) = match &node.what {
            What::Dir(_) => (0, if ino == TOP || self.names_of(ino) > 0 { 2 } else { 0 }),
            What::File(File(content)) => (content.now.len(), self.names_of(ino)),
            What::Link(text) => (text.len(), self.names_of(ino)),
        };
        FileAttr {
            ino: INodeNo(ino),
            size: size as u64,
            blocks: size.div_ceil(512) as u64,
            atime: node.modified,
            mtime: node.modified,
            ctime: node.changed,
            crtime: node.changed,
            kind: self.kind(ino),
            perm: u16::try_from(node.mode.now).unwrap_or_default(),
            nlink: u32::try_from(nlink).unwrap_or_default(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}
