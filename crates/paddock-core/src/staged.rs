//! A file that was made outside of any Mount and waits to be taken in: what a command wrote, an upload.
//!
//! It is named by an open directory and a name in it, so that a Store on the same file system can take the file itself
//! instead of copying it; every other Store reads it from the descriptor. Nobody may write to it any more. Core only
//! hands it on.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::SystemTime;

/// A file that waits to be taken in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Staged(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    home: Option<(Arc<OwnedFd>, String)>,
    len: u64,
    mode: u32,
    modified: SystemTime,
}

impl Staged {
    /// A file that is open for reading, with what it will look like.
    pub fn new(file: File, len: u64, mode: u32, modified: SystemTime) -> Self {
        Self(Arc::new(Inner { file, home: None, len, mode, modified }))
    }

    /// The same with the only name it has, in a directory that nobody else changes: a Store may take it from there.
    #[must_use]
    pub fn at(self, dir: Arc<OwnedFd>, name: String) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Self(Arc::new(Inner { home: Some((dir, name)), ..inner })),
            // Somebody has it already; it is then only read.
            Err(shared) => Self(shared),
        }
    }

    /// The file, open for reading.
    pub fn file(&self) -> &File {
        &self.0.file
    }

    /// The directory and the name it can be taken from.
    pub fn home(&self) -> Option<(&OwnedFd, &str)> {
        self.0.home.as_ref().map(|(dir, name)| (&**dir, name.as_str()))
    }

    /// How many bytes it has.
    #[expect(clippy::len_without_is_empty, reason = "whether a file is empty is of no interest here")]
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// Its mode, without bits that raise privileges.
    pub fn mode(&self) -> u32 {
        self.0.mode & crate::change::PLAIN_MODE
    }

    /// When its content was last changed.
    pub fn modified(&self) -> SystemTime {
        self.0.modified
    }
}

/// The same file, not a like one.
impl PartialEq for Staged {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Staged {}
