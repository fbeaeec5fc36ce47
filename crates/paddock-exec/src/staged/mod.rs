//! What a staged command changed, read from the layer that took its changes.
//!
//! The layer was written by a command that may be hostile: nothing in it is followed, everything is opened below it by
//! descriptors, and a path that is too long to be judged is an error, not a guess. Only real changes are told: a file
//! that the kernel copied up and that is what it was before is none. Deletions are told one by one, down to what the
//! command could not see, so that whoever judges sees all that would go. This module commits nothing.

mod below;
mod remove;
mod walk;

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::Error;
use crate::sandbox::Stage;
use below::Below;
pub use remove::remove_tree;

/// A path may be this long: the length that a logical path may have.
const LONGEST: usize = 4096;

/// One real change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where, relative to the Workspace. Its bytes are the host's, and need not be UTF-8.
    pub path: PathBuf,
    /// What is there now.
    pub what: Now,
}

/// What is at a changed path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now {
    /// A file with a new content, or with a new mode.
    File {
        /// Its length.
        len: u64,
        /// Its mode: the lower twelve bits.
        mode: u32,
        /// When it was written.
        modified: SystemTime,
        /// Nothing was there before.
        new: bool,
        /// The content is what it was: only the mode is another.
        same_content: bool,
    },
    /// A directory that is new, or has another mode.
    Dir {
        /// Its mode: the lower twelve bits.
        mode: u32,
        /// No directory was there before.
        new: bool,
    },
    /// A symbolic link that is new, or leads elsewhere.
    Link {
        /// Where it leads, as it is written.
        to: PathBuf,
        /// Nothing was there before.
        new: bool,
    },
    /// Nothing: what was there is gone. Entries of a directory come before the directory.
    Gone {
        /// It was a directory.
        dir: bool,
    },
    /// A FIFO, a socket or a device.
    Special,
}

/// What a staged run changed, with a way to its contents.
#[derive(Debug)]
pub struct Changes {
    /// The changes: a directory before what is new in it, what is gone before what takes its place.
    pub found: Vec<Found>,
    upper: OwnedFd,
    /// Directories that the command closed even to their owner, opened for the time of reading: path and true mode.
    opened: Vec<(PathBuf, u32)>,
}

impl Changes {
    /// Opens a file of the change.
    pub fn open(&self, path: &Path) -> Result<File, Error> {
        let unreadable = |errno: Errno| Error::Layer { path: path.to_owned(), why: errno.to_string() };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match beneath(&self.upper, path, flags) {
            // The command took the mode away; the file is ours all the same.
            Err(Errno::ACCESS) => open_closed(&self.upper, path),
            answer => answer,
        };
        let file = file.map_err(unreadable)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file).map_err(unreadable)?.st_mode);
        if kind != FileType::RegularFile {
            return Err(Error::Layer { path: path.to_owned(), why: "it is not a file".to_owned() });
        }
        Ok(File::from(file))
    }
}

impl Drop for Changes {
    /// A held layer is read again later, and must then say the same.
    fn drop(&mut self) {
        for (path, mode) in self.opened.drain(..).rev() {
            if let Ok(directory) = beneath(&self.upper, &path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC) {
                let _ = rustix::fs::fchmod(directory, Mode::from_raw_mode(mode));
            }
        }
    }
}

/// Reads what a staged run changed in the Workspace at `base`; more than `most` changes are an error.
pub fn changes(stage: &Stage, base: &Path, most: usize) -> Result<Changes, Error> {
    changes_over(stage, open_layer(base)?, most)
}

/// As [`changes`], over a directory that is open.
pub fn changes_over(stage: &Stage, base: OwnedFd, most: usize) -> Result<Changes, Error> {
    let mut layers: Vec<OwnedFd> = stage.held.iter().map(|held| open_layer(held)).collect::<Result<_, _>>()?;
    layers.push(base);
    read(&stage.upper, &Below::new(layers), most)
}

/// Reads what a command put into an empty drop box: everything in it is new.
pub fn drop_box(directory: &Path, most: usize) -> Result<Changes, Error> {
    read(directory, &Below::new(Vec::new()), most)
}

fn read(upper: &Path, below: &Below, most: usize) -> Result<Changes, Error> {
    let upper = open_layer(upper)?;
    let mut changes = Changes { found: Vec::new(), upper, opened: Vec::new() };
    walk::walk(&mut changes, below, most)?;
    Ok(changes)
}

fn open_layer(path: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| Error::Host { path: path.to_owned(), source: errno.into() })
}

/// Opens a path below a directory; no link is followed on the way or at its end.
fn beneath(directory: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    loop {
        match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// Opens a file that its owner may not read, and leaves its mode as it was.
fn open_closed(directory: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let parent = beneath(directory, path.parent().unwrap_or(Path::new("")), OFlags::PATH | OFlags::CLOEXEC)?;
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let place = beneath(&parent, Path::new(name), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?;
    let meta = rustix::fs::fstat(&place)?;
    if FileType::from_raw_mode(meta.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let through = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&place.as_fd()));
    rustix::fs::chmod(&through, Mode::from_raw_mode((meta.st_mode & 0o7777) | 0o400))?;
    let opened = beneath(&parent, Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC);
    rustix::fs::chmod(&through, Mode::from_raw_mode(meta.st_mode & 0o7777))?;
    opened
}
