//! Removing a layer that a command has filled, whatever it has put there.
//!
//! A tree may be deeper than any path is long and wider than there are descriptors. So a directory that is not empty
//! is moved up to the top first: no path is ever longer than two names. Modes that keep the owner out are lifted.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::below::names_in;

/// Removes a directory with everything in it; nothing outside is touched, and a missing one is no error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(0o700), AtFlags::empty())?;
            rustix::fs::openat(CWD, path, flags, Mode::empty())?
        }
        answer => answer?,
    };
    let mut moved = 0_u64;
    let mut left: Vec<OsString> = names_in(&top)?;
    while let Some(name) = left.pop() {
        if unlink(&top, &name)? {
            continue;
        }
        let directory = open(&top, &name)?;
        for inner in names_in(&directory)? {
            if unlink(&directory, &inner)? || rmdir(&directory, &inner)? {
                continue;
            }
            // Its owner may move it only with a mode that lets them write it.
            open(&directory, &inner)?;
            let name = loop {
                moved += 1;
                let name = OsString::from(format!(".paddock-gone-{moved}"));
                match rustix::fs::renameat_with(&directory, &inner, &top, &name, rustix::fs::RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => {}
                    answer => break answer.map(|()| name)?,
                }
            };
            left.push(name);
        }
        rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
    }
    drop(top);
    Ok(rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

/// Removes what is not a directory; false for a directory.
fn unlink(directory: &OwnedFd, name: &OsString) -> io::Result<bool> {
    let meta = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(meta.st_mode) == FileType::Directory {
        return Ok(false);
    }
    rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
    Ok(true)
}

/// Removes a directory; false when it is not empty.
fn rmdir(directory: &OwnedFd, name: &OsString) -> io::Result<bool> {
    match rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a directory and makes sure that its owner can do everything in it.
fn open(directory: &OwnedFd, name: &OsString) -> io::Result<OwnedFd> {
    let meta = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if meta.st_mode & 0o700 != 0o700 {
        let place = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::openat(directory, name, place, Mode::empty())?;
        let through = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&place.as_fd()));
        rustix::fs::chmod(&through, Mode::from_raw_mode(0o700))?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}
