//! What a database can answer instead of a result, with the way out.

use std::io::ErrorKind;

use rusqlite::ErrorCode;
use rustix::io::Errno;
use thiserror::Error;

/// The outcome of asking a database.
pub type Result<T, E = DbError> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, Clone, Error)]
pub enum DbError {
    /// Somebody else keeps it for too long.
    #[error("the database \"{name}\" is busy: another process holds it for too long")]
    Busy {
        /// Which database, for people.
        name: String,
    },
    /// It was written by a newer Paddock.
    #[error(
        "the database \"{name}\" was written by a newer Paddock: {owner} is at step {found}, this one knows {known}"
    )]
    Newer {
        /// Which database, for people.
        name: String,
        /// Whose tables.
        owner: String,
        /// What is there.
        found: u32,
        /// What this program knows.
        known: u32,
    },
    /// It is damaged, or no database at all.
    #[error("the database \"{name}\" is damaged: {why}")]
    Corrupt {
        /// Which database, for people.
        name: String,
        /// What was found.
        why: String,
    },
    /// No space is left.
    #[error("no space is left for the database \"{name}\"")]
    Full {
        /// Which database, for people.
        name: String,
    },
    /// It cannot be written.
    #[error("the database \"{name}\" cannot be written")]
    ReadOnly {
        /// Which database, for people.
        name: String,
    },
    /// It cannot be reached or opened.
    #[error("the database \"{name}\" cannot be reached: {why}")]
    Unreachable {
        /// Which database, for people.
        name: String,
        /// What was answered.
        why: String,
    },
    /// Another file, or none, has come to its place since it was opened.
    #[error("the database \"{name}\" was taken away while it was in use")]
    TakenAway {
        /// Which database, for people.
        name: String,
    },
    /// A new file was to be made, and something has its name.
    #[error("\"{name}\" already exists")]
    Exists {
        /// What is in the way.
        name: String,
    },
    /// The server knows the user, the password or the right to it not.
    #[error("the database \"{name}\" refused the user: {why}")]
    Denied {
        /// Which database, for people.
        name: String,
        /// What was answered.
        why: String,
    },
    /// The server has no such database.
    #[error("the server has no such database: {why}")]
    Missing {
        /// Which database, for people.
        name: String,
        /// What was answered.
        why: String,
    },
    /// The connection would not be as safe as was asked for.
    #[error("no safe connection to the database \"{name}\": {why}")]
    Insecure {
        /// Which database, for people.
        name: String,
        /// What was found.
        why: String,
    },
    /// The connection ended while the change was being made durable, and nobody could be asked.
    #[error("it is not known whether the database \"{name}\" kept the last change: {why}")]
    Unknown {
        /// Which database, for people.
        name: String,
        /// What happened.
        why: String,
    },
    /// The url of a server that says nothing one could connect to.
    #[error("the url of the database is not usable: {why}")]
    BadUrl {
        /// What is wrong with it; never the url, which may hold a password.
        why: String,
    },
    /// Anything else; a statement that was refused, for one.
    #[error("the database \"{name}\" answered: {why}")]
    Other {
        /// Which database, for people.
        name: String,
        /// What was answered.
        why: String,
    },
}

impl DbError {
    /// What SQLite's error means for the database `name`.
    #[allow(clippy::needless_pass_by_value, reason = "made for `map_err`")]
    pub(crate) fn of_sqlite(name: impl Into<String>, error: rusqlite::Error) -> Self {
        let name = name.into();
        let why = error.to_string();
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                Self::Busy { name }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { name, why },
            Some(ErrorCode::DiskFull) => Self::Full { name },
            // The shared memory could not be given its size.
            _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::Full { name },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { name },
            Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied) => {
                Self::Unreachable { name, why }
            }
            _ => Self::Other { name, why },
        }
    }

    /// What the host's error means for the database `name`.
    pub(crate) fn of_io(name: &str, error: &std::io::Error) -> Self {
        let name = name.to_owned();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full { name },
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => Self::ReadOnly { name },
            _ => Self::Unreachable { name, why: error.to_string() },
        }
    }

    /// A commit was made and could not be synced.
    pub(crate) fn unsynced(name: &str, errno: Errno) -> Self {
        let error = std::io::Error::from(errno);
        Self::Unknown { name: name.to_owned(), why: format!("the disk did not take it: {error}") }
    }

    /// The one thing to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "look for a paddock process that hangs, or try again",
            Self::Newer { .. } => "update this paddock, or use the one that wrote it",
            Self::Corrupt { .. } => "run `paddock doctor`; put back a copy that `paddock backup` made",
            Self::Full { .. } => "make room on the disk; nothing was lost",
            Self::ReadOnly { .. } => "look whether the disk is mounted read-only and who owns the file",
            Self::Unreachable { .. } => {
                "look whether the file's directory, or the server and its url in paddock.toml, are right"
            }
            Self::TakenAway { .. } => "put it back, or what `paddock backup` made, and start Paddock again",
            Self::Exists { .. } => "choose another name, or move that one away",
            Self::Denied { .. } => "look at the user and the password of the url, and at what the user may do",
            Self::Missing { .. } => "make it with `createdb`, or correct the name at the end of the url",
            Self::Insecure { .. } => "give the server's certificate with `sslrootcert`, or choose another `sslmode`",
            Self::Unknown { .. } => "look at what is there before doing it again",
            Self::BadUrl { .. } => "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, special characters as %XX",
            Self::Other { .. } => "run `paddock doctor`",
        }
    }
}
