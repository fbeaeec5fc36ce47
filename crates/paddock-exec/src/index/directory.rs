//! Directories of a tree as they are opened and listed. Where something cannot be told, that is an error or said, never
//! "there is nothing": a name that is not found is not hidden.

use std::ffi::{OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Kind;

/// A directory at a longer path is not looked into: the kernel takes no path of 4096 bytes, and a name of this directory
/// and the place where a command sees the tree have to fit too.
pub(super) const LONGEST: usize = 3072;
/// Nor one that lies below more directories than this.
pub(super) const DEEPEST: usize = 256;

/// What is at the path of a directory.
pub(super) enum Place {
    Open(OwnedFd),
    /// No directory, or no more.
    Gone,
    /// A directory that we cannot look into. A command may come into it all the same: without the right to list it names can
    /// be guessed, its owner can take any right back, and who goes step by step needs no path.
    Closed,
}

/// Opens a directory below `top`, no link on the way.
pub(super) fn open(top: BorrowedFd<'_>, path: &Path) -> Result<Place, Errno> {
    if path.as_os_str().len() > LONGEST || path.iter().count() > DEEPEST {
        return Ok(Place::Closed);
    }
    match open_to_search(top, or_here(path)) {
        Ok(directory) => Ok(Place::Open(directory)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Place::Gone),
        Err(Errno::ACCESS | Errno::PERM) => Ok(Place::Closed),
        Err(errno) => Err(errno),
    }
}

fn open_to_search(top: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let directory = loop {
        match rustix::fs::openat2(top, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => break answer?,
        }
    };
    // The right to list does not bring the right to go in, without which nothing in it can be hidden.
    rustix::fs::statat(&directory, ".", AtFlags::empty())?;
    Ok(directory)
}

/// The path of a directory of the tree, for a system call.
pub(super) fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// The names in a directory, and what each is.
pub(super) fn entries(directory: &OwnedFd) -> Result<Vec<(OsString, Kind)>, Errno> {
    let mut all = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            continue;
        }
        match kind(directory, &name, entry.file_type()) {
            Err(Errno::NOENT) => {}
            kind => all.push((name, kind?)),
        }
    }
    Ok(all)
}

fn kind(directory: &OwnedFd, name: &OsStr, told: FileType) -> Result<Kind, Errno> {
    let told = match told {
        FileType::Unknown => {
            let meta = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            FileType::from_raw_mode(meta.st_mode)
        }
        told => told,
    };
    Ok(match told {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        FileType::Socket => Kind::Socket,
        _ => Kind::Other,
    })
}
