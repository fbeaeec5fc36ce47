//! What a database can answer instead of a result, with the way out.

use thiserror::Error;

/// The outcome of asking a database.
pub type Result<T, E = DbError> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, Error)]
pub enum DbError {
    /// Somebody else keeps it for too long.
    #[error("the database \"{name}\" is busy: another process holds it for too long")]
    Busy {
        /// Which database, for people.
        name: String,
    },
    /// It was written by a newer Paddock.
    #[error("the database \"{name}\" was written by a newer Paddock: {owner} is at step {found}, this one knows {known}")]
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
    /// The one thing to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "look for a paddock process that hangs, or try again",
            Self::Newer { .. } => "update this paddock, or use the one that wrote it",
            Self::Corrupt { .. } => "run `paddock doctor`; put back a copy that `paddock backup` made",
            Self::Full { .. } => "make room on the disk; nothing was lost",
            Self::ReadOnly { .. } => "look whether the disk is mounted read-only and who owns the file",
            Self::Unreachable { .. } => "look whether the server runs, and at the url in paddock.toml",
            Self::Other { .. } => "run `paddock doctor`",
        }
    }
}
