//! What the host must have before something can be mounted, and what it says when it has not.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::error::FuseError;

const DEVICE: &str = "/dev/fuse";

/// The empty directory that a path names, ready to be mounted on.
pub(crate) fn mountable(dir: &Path) -> Result<PathBuf, FuseError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(dir, flags, Mode::empty());
    let fd = match opened {
        Err(Errno::NOTCONN) => return Err(FuseError::LeftBehind(dir.to_owned())),
        opened => opened.map_err(|e| FuseError::NotADirectory { dir: dir.to_owned(), source: e.into() })?,
    };
    let entries = rustix::fs::Dir::read_from(&fd).map_err(|e| not_listed(dir, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| not_listed(dir, e))?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return Err(FuseError::NotEmpty(dir.to_owned()));
        }
    }
    device()?;
    std::path::absolute(dir).map_err(|source| FuseError::NotADirectory { dir: dir.to_owned(), source })
}

fn not_listed(dir: &Path, error: Errno) -> FuseError {
    FuseError::NotADirectory { dir: dir.to_owned(), source: error.into() }
}

/// Can the device be opened?
pub(crate) fn device() -> Result<(), FuseError> {
    match rustix::fs::access(DEVICE, Access::READ_OK | Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => Err(FuseError::DeviceDenied),
        Err(_) => Err(FuseError::NoDevice),
    }
}

/// Why a mount failed.
pub(crate) fn mount_problem(dir: &Path, error: io::Error) -> FuseError {
    match error.kind() {
        io::ErrorKind::NotFound if !rustix::process::geteuid().is_root() => FuseError::NoHelper,
        _ => FuseError::Mount { dir: dir.to_owned(), source: error },
    }
}

/// Takes a mount away even while somebody uses it: they keep what they have open, nobody new comes in.
pub(crate) fn detach(dir: &Path) -> bool {
    rustix::mount::unmount(dir, UnmountFlags::DETACH).is_ok()
}
