//! The tree that is served: what every operation of the file system has in common.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime};

use fuser::{Errno, FileAttr, FileType, INodeNo};
use paddock_core::{Kind, LogicalPath, Meta, OpKind};

use crate::acting::Acting;
use crate::errno::{self, Result};
use crate::handles::Handles;
use crate::held::{Held, Room};
use crate::nodes::{Node, Nodes, lock};
use crate::notices::{Notice, Notices};
use crate::served::{How, Others};

/// How long the kernel may believe what nobody else changes.
const FOR_GOOD: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long it may believe what others may change, once it asked by name.
const AT_ONCE: Duration = Duration::from_millis(1);
/// The block size that is told.
pub(crate) const BLOCK: u32 = 4096;

/// What is served, and what the kernel knows of it.
pub(crate) struct Tree {
    pub(crate) acting: Acting,
    pub(crate) how: How,
    pub(crate) others: Others,
    /// Who everything belongs to, as those who use the file system count.
    pub(crate) owner: (u32, u32),
    pub(crate) nodes: Nodes,
    pub(crate) handles: Handles,
    pub(crate) room: Arc<Room>,
    /// Held for writing while a directory moves: what is committed below it must know where to.
    pub(crate) dirs_stay: RwLock<()>,
    /// Files that were created and are not in the Store yet, by number.
    pub(crate) being_made: Mutex<HashMap<u64, Arc<Node>>>,
    /// Gone when serving ends: whoever can tell the kernel something keeps the connection open.
    pub(crate) notices: Mutex<Option<Notices>>,
    /// When serving began: the time of what has none.
    pub(crate) since: SystemTime,
    /// How many calls were answered with a panic of a Store.
    pub(crate) defects: AtomicU64,
}

impl Tree {
    pub(crate) fn node(&self, ino: INodeNo) -> Result<Arc<Node>> {
        self.nodes.get(ino.0).ok_or(Errno::ESTALE)
    }

    /// The node of a number, and where it is.
    pub(crate) fn place(&self, ino: INodeNo) -> Result<(Arc<Node>, LogicalPath)> {
        let node = self.node(ino)?;
        let path = node.path().ok_or(Errno::ESTALE)?;
        Ok((node, path))
    }

    /// The path of a name in a directory.
    pub(crate) fn child(&self, parent: INodeNo, name: &OsStr) -> Result<LogicalPath> {
        let (_, dir) = self.place(parent)?;
        let name = name.to_str().ok_or(Errno::EILSEQ)?;
        LogicalPath::parse(name, &dir).map_err(|e| errno::of_path(&e))
    }

    /// What is at a path, where it is not only being written.
    pub(crate) fn seen(&self, path: &LogicalPath) -> Result<Meta> {
        self.acting.facts(path).map_err(|refused| match errno::of(&refused) {
            // A place whose content may not be read has no names in it.
            e if e.code() == Errno::EACCES.code() => Errno::ENOENT,
            e => e,
        })
    }

    /// Looks a name up; the kernel holds on to what is found.
    pub(crate) fn lookup(&self, parent: INodeNo, name: &OsStr) -> Result<(LogicalPath, FileAttr)> {
        // A name that no path can hold is the name of nothing.
        let path = self.child(parent, name).map_err(|e| if is(e, Errno::EINVAL) { Errno::ENOENT } else { e })?;
        let attributes = self.look_at(&path)?;
        Ok((path, attributes))
    }

    /// As [`Self::lookup`], of a path.
    pub(crate) fn look_at(&self, path: &LogicalPath) -> Result<FileAttr> {
        if let Some(node) = self.nodes.at(path)
            && let Some(held) = node.content().as_ref().filter(|held| held.is_shown())
        {
            let attributes = self.attributes_of_held(&node, held);
            self.nodes.looked_up(path, Kind::File);
            return Ok(attributes);
        }
        let meta = self.seen(path)?;
        let node = self.nodes.looked_up(path, meta.kind);
        Ok(self.attributes_of(&node, &meta))
    }

    /// Facts about a node.
    pub(crate) fn attributes(&self, node: &Node) -> Result<FileAttr> {
        if let Some(held) = node.content().as_ref().filter(|held| held.is_shown() || node.path().is_none()) {
            return Ok(self.attributes_of_held(node, held));
        }
        let path = node.path().ok_or(Errno::ESTALE)?;
        let meta = self.seen(&path)?;
        if meta.kind != node.kind {
            return Err(Errno::ESTALE);
        }
        Ok(self.attributes_of(node, &meta))
    }

    pub(crate) fn attributes_of(&self, node: &Node, meta: &Meta) -> FileAttr {
        let modified = meta.modified.unwrap_or(self.since);
        let modified = match node.kind {
            Kind::Dir => node.touched().map_or(modified, |touched| touched.max(modified)),
            _ => node.time_to_tell(meta.version, meta.len, modified),
        };
        self.attributes_with(node, meta.len, meta.mode, modified)
    }

    fn attributes_of_held(&self, node: &Node, held: &Held) -> FileAttr {
        let mut attributes = self.attributes_with(node, held.len(), Some(held.mode), held.modified);
        attributes.nlink = u32::from(node.path().is_some());
        attributes
    }

    fn attributes_with(&self, node: &Node, len: u64, mode: Option<u32>, modified: SystemTime) -> FileAttr {
        let (kind, usual) = match node.kind {
            Kind::File => (FileType::RegularFile, 0o644),
            Kind::Dir => (FileType::Directory, 0o755),
            Kind::Link => (FileType::Symlink, 0o777),
            // A socket cannot be opened, whoever tries; a pipe would be one of the kernel's own.
            Kind::Special => (FileType::Socket, 0o000),
        };
        let perm = if node.kind == Kind::Link { usual } else { mode.unwrap_or(usual) & paddock_core::PLAIN_MODE };
        FileAttr {
            ino: INodeNo(node.ino),
            size: len,
            blocks: len.div_ceil(512),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind,
            perm: u16::try_from(perm).unwrap_or(0),
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        }
    }

    /// How long the kernel may believe facts about a path. Where others change things, as long as one open, read and
    /// close takes: whoever goes by the name asks anew, and gets new facts with the answer.
    pub(crate) fn trust(&self, path: Option<&LogicalPath>) -> Duration {
        match self.others {
            _ if path.is_some_and(|path| self.is_write_only(path)) => Duration::ZERO,
            Others::ChangeNothing => FOR_GOOD,
            Others::MayChange => AT_ONCE,
        }
    }

    /// How long the kernel may believe what a name stands for. The way to a Workspace stays while it is served.
    pub(crate) fn name_trust(&self, path: Option<&LogicalPath>) -> Duration {
        match self.others {
            _ if path.is_some_and(|path| self.acting.is_a_way(path)) => FOR_GOOD,
            Others::ChangeNothing => self.trust(path),
            Others::MayChange => Duration::ZERO,
        }
    }

    /// Bytes of a file.
    pub(crate) fn read(&self, ino: INodeNo, offset: u64, size: u32) -> Result<Vec<u8>> {
        let node = self.node(ino)?;
        let mut tried = None;
        loop {
            let path = {
                let content = node.content();
                let path = node.path();
                if let Some(held) = content.as_ref().filter(|held| held.is_shown() || path.is_none()) {
                    return held.read(offset, size as usize);
                }
                path.ok_or(Errno::ESTALE)?
            };
            match self.acting.read(&path, offset..offset.saturating_add(u64::from(size))) {
                Ok((bytes, _)) => return Ok(bytes),
                // It may have moved meanwhile.
                Err(refused) if is(errno::of(&refused), Errno::ENOENT) => {
                    if tried.replace(path.clone()) == Some(path) {
                        return Err(Errno::ESTALE);
                    }
                }
                Err(refused) => return Err(errno::of(&refused)),
            }
        }
    }

    pub(crate) fn read_link(&self, ino: INodeNo) -> Result<String> {
        let (_, path) = self.place(ino)?;
        self.acting.leads_to(&path).map_err(|refused| errno::of(&refused))
    }

    /// The policy's verdict on an operation.
    pub(crate) fn judge(&self, op: OpKind, path: &LogicalPath) -> Result<()> {
        if self.how == How::ReadOnly && op.changes() {
            return Err(Errno::EROFS);
        }
        let decision = self.acting.judge(op, path);
        if decision.allowed() { Ok(()) } else { Err(errno::of_decision(op, &decision)) }
    }

    /// How much there is and how much is left, as far as that is bounded at all.
    pub(crate) fn space(&self, ino: INodeNo) -> (u64, u64) {
        const PLENTY: u64 = 1 << 28;
        let path = self.node(ino).ok().and_then(|node| node.path());
        let workspace = path.as_ref().and_then(|path| self.acting.workspace_of(path));
        let bounded = workspace.and_then(|workspace| Some((workspace, workspace.quota().bytes?)));
        let Some((workspace, quota)) = bounded else { return (PLENTY, PLENTY) };
        let used = self.acting.used(workspace.prefix()).unwrap_or(0);
        let blocks = |bytes: u64| bytes / u64::from(BLOCK);
        (blocks(quota), blocks(quota.saturating_sub(used)))
    }

    /// Has the kernel drop what it knows of a name, soon.
    pub(crate) fn notice(&self, notice: Notice) {
        if let Some(notices) = &*lock(&self.notices) {
            notices.send(notice);
        }
    }

    pub(crate) fn count_defect(&self) {
        self.defects.fetch_add(1, Ordering::Relaxed);
    }
}

/// Are these the same number?
pub(crate) fn is(one: Errno, other: Errno) -> bool {
    one.code() == other.code()
}
