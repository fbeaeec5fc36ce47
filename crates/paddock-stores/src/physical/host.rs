//! Opening what is inside a Mount, and only that.
//!
//! Every open starts at a directory descriptor and goes through `openat2` with `RESOLVE_BENEATH`,
//! `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS`: the kernel refuses to leave the directory or
//! to follow any link, in one step, so that nothing can be swapped between a check and the open.
//! Nothing here ever canonicalizes a path and opens the result.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paddock_core::{ErrorKind, Kind, Meta, StoreError, Version};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;

/// How often an open is tried again when the kernel saw a rename go on.
const RENAME_RETRIES: usize = 128;

/// Holds for every open.
const STRICTLY: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Opens a path (relative, clean, no `..`) below a directory, following nothing.
pub(super) fn open_beneath(dir: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    create_beneath(dir, path, flags, Mode::empty())
}

/// As [`open_beneath`], with the mode of what is created.
pub(super) fn create_beneath(dir: impl AsFd, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    open_strictly(dir.as_fd(), named(path), flags, mode, STRICTLY)
}

/// As [`open_beneath`], of any name that the host may have.
pub(super) fn open_raw_beneath(dir: impl AsFd, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_strictly(dir.as_fd(), path, flags, Mode::empty(), STRICTLY)
}

/// As [`open_beneath`], on the file system of the directory: what is mounted below it is an error and is not gone into.
pub(super) fn open_unmounted(dir: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_strictly(dir.as_fd(), named(path), flags, Mode::empty(), STRICTLY | ResolveFlags::NO_XDEV)
}

/// The kernel has no empty path.
fn named(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn open_strictly(
    dir: BorrowedFd<'_>,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    how: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    for _ in 0..RENAME_RETRIES {
        match rustix::fs::openat2(dir, path, flags | OFlags::CLOEXEC, mode, how) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a directory for listing and locking.
pub(super) fn open_dir(dir: impl AsFd, path: &str) -> Result<OwnedFd, Errno> {
    open_beneath(dir, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a regular file for reading. A FIFO does not make it wait, and is refused.
pub(super) fn open_file(dir: impl AsFd, path: &str) -> Result<(OwnedFd, Stat), StoreError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = open_beneath(dir, path, flags).map_err(store_error)?;
    let stat = rustix::fs::fstat(&fd).map_err(store_error)?;
    match kind_of(&stat) {
        Kind::File => Ok((fd, stat)),
        Kind::Dir => Err(ErrorKind::IsADirectory.into()),
        Kind::Link | Kind::Special => Err(ErrorKind::NotAFile.into()),
    }
}

/// Facts about what is at a path; a link as the last name is reported, not followed.
pub(super) fn look(dir: impl AsFd, path: &str) -> Result<Stat, Errno> {
    let fd = open_beneath(dir, path, OFlags::PATH | OFlags::NOFOLLOW)?;
    rustix::fs::fstat(&fd)
}

/// Makes what was changed survive the loss of power.
pub(super) fn sync(file: impl AsFd) -> Result<(), StoreError> {
    #[cfg(test)]
    faults::sync()?;
    rustix::fs::fsync(file).map_err(store_error)
}

/// Are these two opens of one inode?
pub(super) fn same_inode(a: impl AsFd, b: impl AsFd) -> Result<bool, StoreError> {
    let (a, b) = (rustix::fs::fstat(a).map_err(store_error)?, rustix::fs::fstat(b).map_err(store_error)?);
    Ok((a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// Appends up to `len` bytes from `offset` to `out`; fewer when the file ends before.
pub(super) fn read_into(fd: BorrowedFd<'_>, offset: u64, len: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let len = usize::try_from(len).map_err(|_| ErrorKind::TooLarge { what: "the range", limit: u64::MAX })?;
    let start = out.len();
    out.reserve_exact(len);
    while out.len() - start < len {
        let at = offset + (out.len() - start) as u64;
        match rustix::io::pread(fd, rustix::buffer::spare_capacity(out), at) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(store_error(e)),
        }
    }
    // The buffer may be larger than what was asked for.
    out.truncate(start + len);
    Ok(())
}

/// What a stat says, in the core's words.
pub(super) fn meta_of(stat: &Stat) -> Meta {
    Meta {
        kind: kind_of(stat),
        len: u64::try_from(stat.st_size).unwrap_or(0),
        version: version_of(stat),
        mode: Some(stat.st_mode & 0o7777),
        modified: modified(stat),
    }
}

pub(super) fn kind_of(stat: &Stat) -> Kind {
    kind_of_type(FileType::from_raw_mode(stat.st_mode))
}

pub(super) fn kind_of_type(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

/// A mark of this state: the inode, its size and both of its times. What Paddock writes gets a
/// modification time of full precision, so that two writes within one kernel tick differ too.
fn version_of(stat: &Stat) -> Version {
    let parts = [
        stat.st_dev,
        stat.st_ino,
        stat.st_size.cast_unsigned(),
        stat.st_mtime.cast_unsigned(),
        stat.st_mtime_nsec,
        stat.st_ctime.cast_unsigned(),
        stat.st_ctime_nsec,
    ];
    let mut input = [0; 56];
    for (place, part) in input.chunks_exact_mut(8).zip(parts) {
        place.copy_from_slice(&part.to_le_bytes());
    }
    let hash = blake3::hash(&input);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    Version(u128::from_le_bytes(bytes))
}

/// The same inode with the same content, as far as a rename in between lets it be told: a rename
/// changes the time of the inode's last status change and nothing else.
pub(super) fn same_content(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size, a.st_mtime, a.st_mtime_nsec)
        == (b.st_dev, b.st_ino, b.st_size, b.st_mtime, b.st_mtime_nsec)
}

fn modified(stat: &Stat) -> Option<SystemTime> {
    time_of(stat.st_mtime, stat.st_mtime_nsec)
}

/// When anything about it last changed. Unlike the time of its content, nobody can set this one.
pub(super) fn changed(stat: &Stat) -> Option<SystemTime> {
    time_of(stat.st_ctime, stat.st_ctime_nsec)
}

fn time_of(seconds: i64, nanos: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}

/// The host's answer in the core's words.
pub(super) fn store_error(errno: Errno) -> StoreError {
    let kind = match errno {
        Errno::NOENT => ErrorKind::NotFound,
        Errno::EXIST => ErrorKind::AlreadyExists,
        Errno::ISDIR => ErrorKind::IsADirectory,
        Errno::NOTDIR => ErrorKind::NotADirectory,
        Errno::NOTEMPTY => ErrorKind::NotEmpty,
        Errno::LOOP => ErrorKind::Link,
        Errno::XDEV => ErrorKind::LinkEscapes,
        Errno::NXIO | Errno::NODEV => ErrorKind::NotAFile,
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => ErrorKind::Full,
        // A program that is running cannot be written to: the host's refusal, like the others.
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY => ErrorKind::HostRefuses,
        Errno::AGAIN | Errno::BUSY => ErrorKind::Busy,
        Errno::NOSYS => ErrorKind::Unsupported("opening files safely (it takes Linux 5.6 or later)"),
        Errno::NAMETOOLONG => ErrorKind::TooLarge { what: "the path's length on the host", limit: 4096 },
        _ => ErrorKind::Io,
    };
    StoreError::caused_by(kind, io::Error::from(errno))
}

/// A disk that fails, for the tests of this thread.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::Cell;

    use rustix::io::Errno;

    use super::{StoreError, store_error};

    thread_local! {
        static SYNCS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// So many of the next calls of [`super::sync`] still succeed.
    pub(in super::super) fn sync_fails_after(calls: usize) {
        SYNCS_LEFT.set(calls);
    }

    pub(super) fn sync() -> Result<(), StoreError> {
        let left = SYNCS_LEFT.get().checked_sub(1).ok_or_else(|| store_error(Errno::IO))?;
        SYNCS_LEFT.set(left);
        Ok(())
    }
}
