//! What can be wrong with a conversation, in words that tell a person what to do next.

use std::io;
use std::path::PathBuf;

use super::BadMessage;
use crate::{InstanceKey, TurnId};

/// Why a conversation cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The host refused.
    #[error("cannot use \"{}\": {source}", path.display())]
    Io {
        /// What was being read or written.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// A line is not what was written.
    #[error("line {line} of \"{}\" is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process is writing it.
    #[error("instance \"{key}\" is held by {holder}")]
    Held {
        /// The instance.
        key: InstanceKey,
        /// Who has it.
        holder: String,
    },
    /// A turn is not over yet, and another was to begin or end.
    #[error("turn \"{open}\" is not over, so nothing can be done in turn \"{asked}\"")]
    TurnOpen {
        /// The turn with events that are not folded.
        open: TurnId,
        /// The turn that was named.
        asked: TurnId,
    },
    /// A write failed so that it is not known what is on the disk.
    #[error("an earlier write to \"{}\" failed, so nothing more is written by this process", .0.display())]
    Unsure(PathBuf),
    /// There is no such instance.
    #[error("there is no instance \"{0}\"")]
    NoInstance(InstanceKey),
    /// There is one already.
    #[error("there is an instance \"{0}\" already")]
    Exists(InstanceKey),
    /// What was given is no message.
    #[error(transparent)]
    BadMessage(#[from] BadMessage),
    /// A file of Paddock's own is not what Paddock wrote.
    #[error("\"{}\" is damaged: {reason}", path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that every instance has from its beginning on is not there.
    #[error("\"{}\" is missing", .0.display())]
    MissingFile(PathBuf),
    /// Somebody else took the lease over: what this process would write is no longer wanted.
    #[error("the lease of instance \"{0}\" went to another process")]
    LeaseLost(InstanceKey),
    /// The database could not do it.
    #[error(transparent)]
    Database(#[from] paddock_db::DbError),
}

impl ConversationError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "check the directory's owner and mode, and the free space".into(),
            Self::Damaged { .. } => "`paddock instance repair KEY` shows what can be kept".into(),
            Self::DamagedFile { path, .. } => {
                format!("put back a copy of \"{}\" from a backup, or move it away", path.display())
            }
            Self::MissingFile(path) => format!(
                "put back a copy of \"{}\" from a backup; `paddock instance repair KEY` shows what can be kept without it",
                path.display()
            ),
            Self::Held { .. } => "wait until it is done, or end that process; reading is always possible".into(),
            Self::TurnOpen { open, .. } => {
                format!("go on with turn \"{open}\", or end it first: `paddock instance restart KEY` does")
            }
            Self::Unsure(_) => "open the conversation again: it is looked at anew then".into(),
            Self::NoInstance(_) => "`paddock instance list` shows those there are".into(),
            Self::Exists(_) => "name another key, or delete that instance first".into(),
            Self::BadMessage(_) => "a message is {id, data: {role, content}, metadata, createdAt, source}".into(),
            Self::LeaseLost(_) => "open the conversation again to go on from what is there now".into(),
            Self::Database(error) => error.hint().to_owned(),
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
