//! The kernel's questions, each handed to the tree and answered. Nothing is decided here.
//!
//! A Store that panics is an input/output error for the one who asked and nobody else: an answer is always given.

use std::ffi::OsStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use paddock_core::LogicalPath;
use rustix::fs::OFlags;

use crate::errno::Result;
use crate::handles::Handle;
use crate::held::now;
use crate::listing::Cursor;
use crate::nodes::lock;
use crate::served::{How, Others};
use crate::tree::{BLOCK, Tree, is};
use crate::writing::{Opening, Wanted};

/// The most that one write carries.
const MAX_WRITE: u32 = 1 << 20;
const GENERATION: Generation = Generation(0);
/// The kinds of file that a program may make by name alone.
const KIND_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// Answers the kernel.
pub(crate) struct Filesystem(Arc<Tree>);

impl Filesystem {
    pub(crate) fn new(tree: Arc<Tree>) -> Self {
        Self(tree)
    }

    fn answer<T>(&self, act: impl FnOnce(&Tree) -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(|| act(&self.0))).unwrap_or_else(|_| {
            self.0.count_defect();
            tracing::error!("a Store panicked; the call is answered as failed");
            Err(Errno::EIO)
        })
    }

    fn entry(&self, path: Option<&LogicalPath>, answer: Result<FileAttr>, reply: ReplyEntry) {
        match answer {
            Ok(attributes) => {
                let (facts, name) = (self.0.trust(path), self.0.name_trust(path));
                reply.entry_with_ttls(&facts, &name, &attributes, GENERATION);
            }
            Err(e) => reply.error(e),
        }
    }

    fn empty(answer: Result<()>, reply: ReplyEmpty) {
        match answer {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e),
        }
    }

    fn attributes(&self, ino: INodeNo, answer: Result<FileAttr>, reply: ReplyAttr) {
        match answer {
            Ok(attributes) => {
                let path = self.0.nodes.get(ino.0).and_then(|node| node.path());
                reply.attr(&self.0.trust(path.as_ref()), &attributes);
            }
            Err(e) => reply.error(e),
        }
    }

    /// Makes something with a name and tells what it is.
    fn make(
        &self,
        parent: INodeNo,
        name: &OsStr,
        reply: ReplyEntry,
        make: impl FnOnce(&Tree, &LogicalPath) -> Result<FileAttr>,
    ) {
        let path = self.0.child(parent, name);
        let answer = self.answer(|tree| make(tree, path.as_ref().map_err(|e| *e)?));
        self.entry(path.as_ref().ok(), answer, reply);
    }
}

fn opening(flags: i32, created: bool) -> Opening {
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    let mode = flags & OFlags::RWMODE;
    Opening {
        reads: mode == OFlags::RDONLY || mode == OFlags::RDWR,
        writes: mode == OFlags::WRONLY || mode == OFlags::RDWR,
        appends: flags.contains(OFlags::APPEND),
        empties: flags.contains(OFlags::TRUNC) && !created,
        exclusive: flags.contains(OFlags::EXCL),
    }
}

impl fuser::Filesystem for Filesystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.set_max_write(MAX_WRITE);
        let mut wanted =
            vec![InitFlags::FUSE_AUTO_INVAL_DATA, InitFlags::FUSE_ATOMIC_O_TRUNC, InitFlags::FUSE_PARALLEL_DIROPS];
        if self.0.others == Others::ChangeNothing {
            wanted.extend([
                InitFlags::FUSE_CACHE_SYMLINKS,
                InitFlags::FUSE_DO_READDIRPLUS,
                InitFlags::FUSE_READDIRPLUS_AUTO,
            ]);
        }
        for flag in wanted {
            // An older kernel does without.
            let _ = config.add_capabilities(flag);
        }
        Ok(())
    }

    fn destroy(&mut self) {
        let _ = self.answer(|tree| {
            tree.finish();
            Ok(())
        });
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.answer(|tree| tree.lookup(parent, name));
        let path = self.0.child(parent, name).ok();
        match found {
            Err(e) if is(e, Errno::ENOENT) && !self.0.name_trust(path.as_ref()).is_zero() => {
                // That nothing is there is remembered too.
                let nothing = FileAttr { ino: INodeNo(0), ..nothing() };
                reply.entry(&self.0.name_trust(path.as_ref()), &nothing, GENERATION);
            }
            found => self.entry(path.as_ref(), found.map(|(_, attributes)| attributes), reply),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, nlookup: u64) {
        self.0.nodes.forget(ino.0, nlookup);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let answer = self.answer(|tree| tree.attributes(&*tree.node(ino)?));
        self.attributes(ino, answer, reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let modified = mtime.map(|time| match time {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => now(),
        });
        let wanted = Wanted { mode, owner: (uid, gid), len: size, modified };
        let answer = self.answer(|tree| tree.set(ino, fh, wanted));
        self.attributes(ino, answer, reply);
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.answer(|tree| tree.read_link(ino)) {
            Ok(text) => reply.data(text.as_bytes()),
            Err(e) => reply.error(e),
        }
    }

    fn mknod(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        self.make(parent, name, reply, |tree, path| match mode & KIND_BITS {
            0 | REGULAR => tree.make_file(path, mode),
            _ => Err(Errno::EPERM),
        });
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        self.make(parent, name, reply, |tree, path| tree.make_dir(path, mode));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        Self::empty(self.answer(|tree| tree.unlink(&tree.child(parent, name)?)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        Self::empty(self.answer(|tree| tree.remove_dir(&tree.child(parent, name)?)), reply);
    }

    fn symlink(&self, _: &Request, parent: INodeNo, link_name: &OsStr, target: &Path, reply: ReplyEntry) {
        let leads_to = target.to_str().ok_or(Errno::EILSEQ);
        self.make(parent, link_name, reply, |tree, path| tree.make_link(path, leads_to?));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let answer =
            self.answer(|tree| tree.rename(&tree.child(parent, name)?, &tree.child(newparent, newname)?, flags));
        Self::empty(answer, reply);
    }

    fn link(&self, _: &Request, _: INodeNo, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        // A second name for one file is nothing that a Store knows.
        reply.error(Errno::EPERM);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.answer(|tree| tree.open(ino, opening(flags.0, false))) {
            Ok((fh, flags)) => reply.opened(fh, flags),
            Err(e) => reply.error(e),
        }
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, flags: i32, reply: ReplyCreate) {
        let path = self.0.child(parent, name);
        let created = self.answer(|tree| tree.create(path.as_ref().map_err(|e| *e)?, mode, opening(flags, true)));
        match created {
            Ok((attributes, fh, flags)) => {
                reply.created(&self.0.name_trust(path.as_ref().ok()), &attributes, GENERATION, fh, flags);
            }
            Err(e) => reply.error(e),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.answer(|tree| tree.read(ino, offset, size)) {
            Ok(bytes) => reply.data(&bytes),
            Err(e) => reply.error(e),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let from_cache = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        match self.answer(|tree| tree.write(fh, offset, data, from_cache)) {
            Ok(size) => reply.written(size),
            Err(e) => reply.error(e),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, fh: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        if self.0.how == How::ReadOnly {
            return reply.error(Errno::ENOSYS);
        }
        Self::empty(self.answer(|tree| tree.flush(fh)), reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        Self::empty(self.answer(|tree| tree.release(fh)), reply);
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, _: bool, reply: ReplyEmpty) {
        Self::empty(self.answer(|tree| tree.sync(fh)), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode != 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let end = offset.checked_add(length).ok_or(Errno::EFBIG);
        Self::empty(self.answer(|tree| tree.allocate(fh, end?)), reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let opened = self.answer(|tree| {
            let (_, path) = tree.place(ino)?;
            Ok(tree.handles.open(Handle::Dir(Mutex::new(Cursor::new(ino, path)))))
        });
        let flags = match self.0.others {
            Others::ChangeNothing => FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE,
            Others::MayChange => FopenFlags::empty(),
        };
        match opened {
            Ok(fh) => reply.opened(fh, flags),
            Err(e) => reply.error(e),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.answer(|tree| {
            let handle = tree.handles.get(fh)?;
            let Handle::Dir(cursor) = &*handle else { return Err(Errno::ENOTDIR) };
            lock(cursor).list(tree, offset, |entry| Ok(reply.add(entry.ino, entry.next, entry.kind, &entry.name)))
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e),
        }
    }

    fn readdirplus(&self, _: &Request, _: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        let listed = self.answer(|tree| {
            let handle = tree.handles.get(fh)?;
            let Handle::Dir(cursor) = &*handle else { return Err(Errno::ENOTDIR) };
            lock(cursor).list(tree, offset, |entry| {
                let trust = tree.name_trust(entry.path.as_ref());
                let Some(path) = &entry.path else {
                    let dot = FileAttr { ino: entry.ino, kind: entry.kind, ..nothing() };
                    return Ok(reply.add(entry.ino, entry.next, &entry.name, &Duration::ZERO, &dot, GENERATION));
                };
                // What went away meanwhile is not listed.
                let Ok(attributes) = tree.look_at(path) else { return Ok(false) };
                let full = reply.add(attributes.ino, entry.next, &entry.name, &trust, &attributes, GENERATION);
                if full {
                    // The kernel does not get it, and holds on to nothing.
                    tree.nodes.forget(attributes.ino.0, 1);
                }
                Ok(full)
            })
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.0.handles.close(fh);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // Every change of a name is in the Store when it is answered.
        reply.ok();
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        const FILES: u64 = 1 << 30;
        match self.answer(|tree| Ok(tree.space(ino))) {
            Ok((all, free)) => reply.statfs(all, free, free, FILES, FILES, BLOCK, 255, BLOCK),
            Err(e) => reply.error(e),
        }
    }

    fn access(&self, _: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let answer = self.answer(|tree| {
            let Some(path) = tree.node(ino)?.path() else { return Ok(()) };
            if mask.contains(AccessFlags::W_OK) {
                tree.may_write(&path)?;
            }
            Ok(())
        });
        Self::empty(answer, reply);
    }
}

/// Facts about nothing.
fn nothing() -> FileAttr {
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}
