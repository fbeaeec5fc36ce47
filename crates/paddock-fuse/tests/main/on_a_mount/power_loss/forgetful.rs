//! A file system whose power can fail: a [`Disk`] that the real kernel asks, one operation after the other.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyWrite, Request, Session, TimeOrNow, WriteFlags,
};
use rustix::mount::UnmountFlags;
use tempfile::TempDir;

use super::disk::{Ahead, Dir, Disk, File, Found, Moment, What};

/// The most that one write carries, and the least that the kernel knows: a file is written in parts.
const MAX_WRITE: u32 = 4096;
/// The kernel asks anew each time.
const TRUST: Duration = Duration::ZERO;
const GENERATION: Generation = Generation(0);

/// It, mounted; gone when it is dropped.
pub(super) struct Forgetful {
    disk: Arc<Mutex<Disk>>,
    session: Option<BackgroundSession>,
    dir: TempDir,
}

impl Forgetful {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self::on(Disk::new(false))
    }

    /// An empty one whose topmost directories are like file systems of their own.
    pub(super) fn apart() -> Self {
        Self::on(Disk::new(true))
    }

    /// One whose power has come back.
    pub(super) fn holding(found: &Found) -> Self {
        Self::on(Disk::holding(found))
    }

    fn on(disk: Disk) -> Self {
        let dir = TempDir::new().unwrap();
        let disk = Arc::new(Mutex::new(disk));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("forgetful".to_owned()), MountOption::NoAtime];
        let session = Session::new(Asked(Arc::clone(&disk)), dir.path(), &config)
            .expect("mounting needs /dev/fuse and, for others than root, fusermount3");
        Self { disk, session: Some(session.spawn().unwrap()), dir }
    }

    /// Where it is mounted.
    pub(super) fn dir(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        lock(&self.disk)
    }

    /// What programs see.
    pub(super) fn seen(&self) -> Found {
        self.disk().found(Ahead::All)
    }

    /// What would be found if the power failed now.
    pub(super) fn on_disk(&self, ahead: Ahead) -> Found {
        self.disk().found(ahead)
    }

    /// Everything that was not synced is lost.
    pub(super) fn power_off(self) -> Found {
        self.on_disk(Ahead::Nothing)
    }

    /// Syncs everything, as somebody else may.
    pub(super) fn sync_all(&self) {
        self.disk().sync_all();
    }

    /// What would have been found after each operation since this was last asked.
    pub(super) fn moments(&self) -> Vec<Moment> {
        self.disk().moments()
    }
}

impl Drop for Forgetful {
    fn drop(&mut self) {
        // Whoever has something open keeps it; nobody is waited for. Root unmounts so, others by the helper.
        let _ = rustix::mount::unmount(self.dir.path(), UnmountFlags::DETACH);
        drop(self.session.take());
    }
}

fn lock(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the kernel.
struct Asked(Arc<Mutex<Disk>>);

impl Asked {
    /// Does what changes something, and notes what would be found after it.
    fn change<T>(&self, what: &'static str, act: impl FnOnce(&mut Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut disk = lock(&self.0);
        let done = act(&mut disk)?;
        disk.note(what);
        Ok(done)
    }

    fn look<T>(&self, act: impl FnOnce(&Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        act(&lock(&self.0))
    }
}

fn empty(answer: Result<(), Errno>, reply: ReplyEmpty) {
    match answer {
        Ok(()) => reply.ok(),
        Err(e) => reply.error(e),
    }
}

fn entry(answer: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match answer {
        Ok(attributes) => reply.entry(&TRUST, &attributes, GENERATION),
        Err(e) => reply.error(e),
    }
}

fn data(answer: Result<Vec<u8>, Errno>, reply: ReplyData) {
    match answer {
        Ok(bytes) => reply.data(&bytes),
        Err(e) => reply.error(e),
    }
}

fn attributes(answer: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match answer {
        Ok(attributes) => reply.attr(&TRUST, &attributes),
        Err(e) => reply.error(e),
    }
}

impl Filesystem for Asked {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.set_max_write(MAX_WRITE);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(self.look(|disk| Ok(disk.attributes(disk.child((parent.0, name))?))), reply);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attributes(self.look(|disk| Ok(disk.attributes(ino.0))), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let modified = mtime.map(|time| match time {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => SystemTime::now(),
        });
        let set = self.change("setattr", |disk| {
            size.map_or(Ok(()), |len| disk.set_len(ino.0, len))?;
            disk.dress(ino.0, mode, modified);
            Ok(disk.attributes(ino.0))
        });
        attributes(set, reply);
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        data(self.look(|disk| Ok(disk.leads_to(ino.0)?.as_bytes().to_vec())), reply);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let made = self.change("mkdir", |disk| {
            let ino = disk.make((parent.0, name), What::Dir(Dir::default()), mode)?;
            Ok(disk.attributes(ino))
        });
        entry(made, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.change("unlink", |disk| disk.remove((parent.0, name))), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.change("rmdir", |disk| disk.remove((parent.0, name))), reply);
    }

    fn symlink(&self, _: &Request, parent: INodeNo, link_name: &OsStr, target: &Path, reply: ReplyEntry) {
        let made = self.change("symlink", |disk| {
            let text = target.to_str().ok_or(Errno::EILSEQ)?.to_owned();
            let ino = disk.make((parent.0, link_name), What::Link(text), 0o777)?;
            Ok(disk.attributes(ino))
        });
        entry(made, reply);
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
        empty(self.change("rename", |disk| disk.rename((parent.0, name), (newparent.0, newname), flags)), reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let linked = self.change("link", |disk| {
            disk.link(ino.0, (newparent.0, newname))?;
            Ok(disk.attributes(ino.0))
        });
        entry(linked, reply);
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: i32, reply: ReplyCreate) {
        let made = self.change("create", |disk| {
            let ino = disk.make((parent.0, name), What::File(File::default()), mode)?;
            Ok(disk.attributes(ino))
        });
        match made {
            Ok(made) => reply.created(&TRUST, &made, GENERATION, FileHandle(0), FopenFlags::empty()),
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
        let read = self.look(|disk| {
            let content = disk.content(ino.0)?;
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
            let end = start.saturating_add(size as usize).min(content.len());
            Ok(content[start..end].to_vec())
        });
        data(read, reply);
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.change("write", |disk| disk.write(ino.0, offset, data)) {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(0)),
            Err(e) => reply.error(e),
        }
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        empty(
            self.change("fsync", |disk| {
                disk.sync(ino.0);
                Ok(())
            }),
            reply,
        );
    }

    fn fsyncdir(&self, request: &Request, ino: INodeNo, file: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.fsync(request, ino, file, datasync, reply);
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.look(|disk| {
            let names = disk.names(ino.0)?.iter().zip(1..);
            for ((name, named), next) in names.skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
                if reply.add(INodeNo(*named), next, disk.kind(*named), name) {
                    break;
                }
            }
            Ok(())
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e),
        }
    }
}
