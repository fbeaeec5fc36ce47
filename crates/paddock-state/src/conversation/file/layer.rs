//! The few things an instance does to its files and directories, as a trait: so that tests can stop at each of them, or lose what
//! was not synced.
//!
//! [`HostFiles`] is the real one and does nothing but pass on.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, RenameFlags};

use crate::private;

/// Who else may use a file while a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
}

/// What is in the place that something is renamed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// A file, which goes, or nothing.
    Replaced,
    /// Nothing, or it is not taken.
    Nothing,
    /// Another, which the new one changes places with.
    Another,
}

/// The files of an instance.
pub(crate) trait Files: Clone + Send {
    type File: OneFile + 'static;

    /// Opens a file that is there, to look into it.
    fn open(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens a file that is there, to change it.
    fn open_to_write(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens a file, made now and empty where there is none, and emptied where `anew`.
    fn create(&self, path: &Path, anew: bool) -> io::Result<Self::File>;
    /// Gives something another name in its directory.
    fn rename(&self, from: &Path, to: &Path, over: Over) -> io::Result<()>;
    /// Makes one directory, for this person alone, where there is nothing yet.
    fn make_directory(&self, path: &Path) -> io::Result<()>;
    /// Takes away a file, or a directory with all that is in it.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Whether an open file is the one that has this name now. Not where nothing has it.
    fn is_at(&self, file: &Self::File, path: &Path) -> io::Result<bool>;
    /// What is in a directory, by name.
    fn names_in(&self, directory: &Path) -> io::Result<Vec<OsString>>;
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
        File::open(path)
    }

    fn open_to_write(&self, path: &Path) -> io::Result<File> {
        let file = File::options().read(true).write(true).open(path)?;
        private::narrow(&file)?;
        Ok(file)
    }

    fn create(&self, path: &Path, anew: bool) -> io::Result<File> {
        let file = private::options().read(true).write(true).create(true).truncate(anew).open(path)?;
        private::narrow(&file)?;
        Ok(file)
    }

    fn rename(&self, from: &Path, to: &Path, over: Over) -> io::Result<()> {
        let how = match over {
            Over::Replaced => RenameFlags::empty(),
            Over::Nothing => RenameFlags::NOREPLACE,
            Over::Another => RenameFlags::EXCHANGE,
        };
        Ok(rustix::fs::renameat_with(CWD, from, CWD, to, how)?)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        private::new_directory(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
    }

    fn is_at(&self, file: &File, path: &Path) -> io::Result<bool> {
        let named = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            named => named?,
        };
        let open = file.metadata()?;
        Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
    }

    fn names_in(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        private::sync_directory(path)
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
