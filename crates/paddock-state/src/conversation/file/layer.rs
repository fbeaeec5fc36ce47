//! The few things a conversation does to files, as a trait: so that tests can stop at each of them, or lose what was not synced.
//!
//! [`HostFiles`] is the real one and does nothing but pass on.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::FlockOperation;

/// Who else may use a file while a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
}

/// The files of a conversation.
pub(crate) trait Files: Clone + Send {
    type File: OneFile;

    /// Opens a file that is there.
    fn open(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens a file, made now and empty where there is none, and emptied where `anew`.
    fn create(&self, path: &Path, anew: bool) -> io::Result<Self::File>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes what happened to the names in a directory last.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// One open file.
pub(crate) trait OneFile: Send {
    fn len(&self) -> io::Result<u64>;
    /// Fills as much of `out` as there is from `at` on.
    fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<usize>;
    /// Writes all of it, from `at` on.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    fn truncate(&self, len: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    /// Waits for others.
    fn lock(&self, lock: Lock) -> io::Result<()>;
    fn unlock(&self) -> io::Result<()>;
}

/// The host's own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostFiles;

impl Files for HostFiles {
    type File = File;

    fn open(&self, path: &Path) -> io::Result<File> {
        match File::options().read(true).write(true).open(path) {
            // Looking needs no more than reading.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
            {
                File::open(path)
            }
            opened => opened,
        }
    }

    fn create(&self, path: &Path, anew: bool) -> io::Result<File> {
        let file = File::options().read(true).write(true).create(true).truncate(anew).mode(0o600).open(path)?;
        // A file that was there may have come from elsewhere, with a wider mode.
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

impl OneFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            match FileExt::read_at(self, &mut out[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        let operation = match lock {
            Lock::Shared => FlockOperation::LockShared,
            Lock::Exclusive => FlockOperation::LockExclusive,
        };
        Ok(rustix::io::retry_on_intr(|| rustix::fs::flock(self, operation))?)
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(rustix::fs::flock(self, FlockOperation::Unlock)?)
    }
}
