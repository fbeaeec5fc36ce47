//! What a Store can answer instead of a result.
//!
//! A small kind for programs, and the source for people who look after the host. Nothing here ever
//! holds a host path: what an agent reads is made from the kind alone.

use std::fmt;
use std::io;

use crate::edit::EditError;

/// The outcome of a Store's operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What went wrong, for programs. The tool boundary turns each into one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nothing is there.
    NotFound,
    /// Something is there already.
    AlreadyExists,
    /// A directory where a file was wanted.
    IsADirectory,
    /// A file where a directory was wanted.
    NotADirectory,
    /// The directory still holds something.
    NotEmpty,
    /// It is not what the caller saw before, or it changed while the call ran.
    Stale,
    /// A symbolic link is on the way; the Vfs resolves it and judges where it leads.
    Link,
    /// A symbolic link leads out of the Mount, or in circles.
    LinkEscapes,
    /// A FIFO, a device or a socket.
    NotAFile,
    /// The file has several hard links and the Workspace denies those.
    HardLinked,
    /// The edit does not apply.
    Edit(EditError),
    /// The search pattern is not a regular expression, or is too large.
    BadPattern(String),
    /// More than one call may carry.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The most that is taken.
        limit: u64,
    },
    /// The disk is full.
    Full,
    /// The Workspace holds as much as it may.
    OverQuota {
        /// Of what: bytes or files.
        what: &'static str,
        /// How much it may hold.
        limit: u64,
    },
    /// What a person agreed to was done already.
    UsedUp,
    /// A change that was to be taken back can no longer be: what it replaced is gone.
    NotKept,
    /// The host does not let Paddock do it.
    HostRefuses,
    /// Another process holds the lock for too long.
    Busy,
    /// The caller stopped the call.
    Cancelled,
    /// The call ran out of time.
    TimedOut,
    /// This Store cannot do it.
    Unsupported(&'static str),
    /// Somebody else's store gave an answer that cannot be used: this is what is wrong with it.
    BadAnswer(&'static str),
    /// Anything else the host answered.
    Io,
}

/// A [`ErrorKind`] with what caused it.
#[derive(Debug)]
pub struct StoreError {
    kind: ErrorKind,
    source: Option<io::Error>,
}

impl StoreError {
    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// A kind with what the host said.
    pub fn caused_by(kind: ErrorKind, source: io::Error) -> Self {
        Self { kind, source: Some(source) }
    }
}

impl From<ErrorKind> for StoreError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl From<EditError> for StoreError {
    fn from(error: EditError) -> Self {
        ErrorKind::Edit(error).into()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no such file or directory"),
            Self::AlreadyExists => f.write_str("it exists already"),
            Self::IsADirectory => f.write_str("it is a directory"),
            Self::NotADirectory => f.write_str("a part of the path is not a directory"),
            Self::NotEmpty => f.write_str("the directory is not empty"),
            Self::Stale => f.write_str("it has changed since it was read"),
            Self::Link => f.write_str("a symbolic link is on the way"),
            Self::LinkEscapes => f.write_str("a symbolic link leads out of the Workspace"),
            Self::NotAFile => f.write_str("it is a pipe, a device or a socket"),
            Self::HardLinked => f.write_str("it has several hard links, which this Workspace denies"),
            Self::Edit(error) => error.fmt(f),
            Self::BadPattern(why) => write!(f, "the pattern cannot be used: {why}"),
            Self::TooLarge { what, limit } => write!(f, "{what} is over the limit of {limit}"),
            Self::Full => f.write_str("no space is left"),
            Self::OverQuota { what, limit } => write!(f, "the Workspace may hold {limit} {what} and no more"),
            Self::UsedUp => f.write_str("the approval for it was used already"),
            Self::NotKept => f.write_str("what was there before is no longer kept"),
            Self::HostRefuses => f.write_str("the host refuses access"),
            Self::Busy => f.write_str("another process is changing it"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::TimedOut => f.write_str("the call ran out of time"),
            Self::Unsupported(what) => write!(f, "{what} is not possible here"),
            Self::BadAnswer(what) => write!(f, "its Store gave an answer that cannot be used: {what}"),
            Self::Io => f.write_str("the host could not do it"),
        }
    }
}
