//! What the audit can answer instead of a result, with the way out.

use std::io;
use std::path::PathBuf;

use paddock_core::{ErrorKind, StoreError};
use paddock_db::DbError;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The database.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The key, or the head outside the database, cannot be read or written.
    #[error("the audit cannot use \"{}\": {why}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the host said.
        why: io::Error,
    },
    /// The file of the key holds something else.
    #[error("\"{}\" is no key for the audit: {why}", path.display())]
    BadKey {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no key, although there was one.
    #[error("the key of the audit is gone: there is no \"{}\", and rows were signed with it", path.display())]
    KeyGone {
        /// Where it was.
        path: PathBuf,
    },
    /// The rows in the database were signed with another key.
    #[error("the audit in the database was signed with another key")]
    OtherKey,
    /// The register of chains does not fit its signature.
    #[error("the register of the audit was changed by somebody without the key")]
    Tampered,
    /// What is not as it was written is not pruned.
    #[error("the audit is not as it was written, so nothing of it is removed")]
    NotWhole,
    /// Nothing is wrong that a person could take as it is.
    #[error("there is nothing to accept: the audit is as it was written")]
    NothingToAccept,
    /// What was asked for cannot be written out.
    #[error("the audit cannot be written out: {0}")]
    Output(io::Error),
    /// Rows could not be kept, because the database failed for too long.
    #[error("{0} rows of the audit could not be kept: the database failed for too long")]
    Lost(u64),
    /// Too much waits to be written.
    #[error("too much waits to be recorded: the database failed for too long")]
    Behind,
}

impl AuditError {
    /// The one thing to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Db(error) => error.hint(),
            Self::File { .. } => "look who owns the file and its directory, and whether the disk is full",
            Self::BadKey { .. } => "put back the key from a copy; only without rows may it be deleted to get a new one",
            Self::KeyGone { .. } => {
                "put it back from a copy: until then nothing is done that has to be recorded, and the rows can be read \
                 and not verified"
            }
            Self::OtherKey => {
                "put back the key that was used before; machines that share a state share secrets/audit.key"
            }
            Self::Tampered => "run `paddock audit verify`; put back a copy that `paddock backup` made",
            Self::NotWhole => "`paddock audit verify` says what is wrong; it would be gone with the rows",
            Self::NothingToAccept => "nothing was changed; it is for an older copy that you put back yourself",
            Self::Output(_) => "look at where the output goes",
            Self::Lost(_) | Self::Behind => "look at the database with `paddock doctor`",
        }
    }
}

/// For the ports: what an agent reads is made from the kind alone.
impl From<AuditError> for StoreError {
    fn from(error: AuditError) -> Self {
        let kind = match &error {
            AuditError::Db(DbError::Full { .. }) => ErrorKind::Full,
            AuditError::Db(DbError::Busy { .. }) => ErrorKind::Busy,
            AuditError::File { why, .. } if why.kind() == io::ErrorKind::StorageFull => ErrorKind::Full,
            _ => ErrorKind::Io,
        };
        Self::caused_by(kind, io::Error::other(error))
    }
}
