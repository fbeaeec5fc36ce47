//! What the history answers instead of a result, with the way out.

use paddock_core::{CallId, ErrorKind, Kept, LogicalPath, Refused, StoreError, Version};
use paddock_db::DbError;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The database did not answer.
    #[error(transparent)]
    Database(#[from] DbError),
    /// No call of the history begins so.
    #[error("no call that changed anything has the id \"{0}\"")]
    NoSuchCall(String),
    /// Several calls begin so.
    #[error("the id \"{id}\" is the beginning of several: {}", some(.calls))]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Some of those that begin so.
        calls: Vec<CallId>,
    },
    /// The call was undone before.
    #[error("call {call} was already undone, by {by}")]
    AlreadyUndone {
        /// The call.
        call: CallId,
        /// What undid it.
        by: CallId,
    },
    /// Nothing of it can be taken back, because nothing changed.
    #[error("call {0} changed nothing")]
    ChangedNothing(CallId),
    /// A process died in the middle of it, and what it did last left no trace that could be relied on.
    #[error("call {call} was cut off, and it cannot be said what it did to {}", some(.paths))]
    CutOff {
        /// The call.
        call: CallId,
        /// The paths, as they were called then.
        paths: Vec<String>,
    },
    /// What was there before is not kept any more.
    #[error("what was there before is no longer kept: {}", some(.0))]
    Lost(Vec<String>),
    /// No Workspace of today reaches the place.
    #[error("no Workspace reaches \"{path}\" any more")]
    NoWorkspace {
        /// As it was called then.
        path: String,
    },
    /// Something newer is in the way.
    #[error("something newer is in the way: {}", some(.0.iter().map(|c| &c.path)))]
    Newer(Vec<Conflict>),
    /// What was there moved elsewhere, and is there now.
    #[error("\"{path}\" was moved by call {call}, to \"{to}\"")]
    Moved {
        /// What was asked for, or what in it.
        path: String,
        /// Where it went.
        to: String,
        /// The call that moved it.
        call: CallId,
    },
    /// The version was never there.
    #[error("the history of \"{path}\" has no version {version}")]
    NoSuchVersion {
        /// Which path.
        path: String,
        /// Which version.
        version: Version,
    },
    /// The policy, or a Store, does not let it happen.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl HistoryError {
    /// The one thing to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Database(error) => error.hint(),
            Self::NoSuchCall(_) | Self::ChangedNothing(_) => "see `paddock log` for the calls there are",
            Self::Ambiguous { .. } => "write more of the id",
            Self::CutOff { .. } => {
                "nothing was changed; look at these paths yourself, and bring back others with `paddock restore`"
            }
            Self::AlreadyUndone { .. } => "undo the undo to have it again",
            Self::Lost(_) => "nothing was changed; keep more under `history` in paddock.toml",
            Self::NoWorkspace { .. } => "put the Workspace back into paddock.toml first",
            Self::Newer(_) => {
                "nothing was changed; undo the newer calls first, or bring single paths back with `paddock restore PATH --at TIME`"
            }
            Self::Moved { .. } => "undo the call that moved it, or restore it where it is now",
            Self::NoSuchVersion { .. } => "see `paddock log PATH` for its versions",
            Self::Refused(_) => "nothing was changed",
        }
    }
}

/// A path that is not as a call left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What it is called today.
    pub path: LogicalPath,
    /// The version that the call left; nothing where it left nothing there, or a directory.
    pub after: Option<Version>,
    /// The version that is there now; nothing where nothing is.
    pub now: Option<Version>,
    /// What the call replaced, where it is kept: what the path would hold again.
    pub before: Option<Kept>,
    /// The calls that changed it since, newest first; none where somebody else did.
    pub newer: Vec<CallId>,
}

/// What the database says, as what a Store may answer.
pub(crate) fn store_error(error: DbError) -> StoreError {
    let kind = match error {
        DbError::Busy { .. } => ErrorKind::Busy,
        DbError::Full { .. } => ErrorKind::Full,
        _ => ErrorKind::Io,
    };
    StoreError::caused_by(kind, std::io::Error::other(error))
}

/// The first few, and how many more there are.
fn some<T: std::fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    const SHOWN: usize = 5;
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
