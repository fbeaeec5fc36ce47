//! Why a decision cannot be made or used, each reason in its own words.

use paddock_db::DbError;

use super::Status;

/// Why a token is not accepted. Each attack has its own reason, so that the audit tells which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not a token, or not one that this installation signed.
    #[error("the token was not signed here")]
    Forged,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// It was made for another thread.
    #[error("the token belongs to another thread")]
    OtherThread,
    /// It was made for another user.
    #[error("the token belongs to another user")]
    OtherUser,
    /// It was made for another tool.
    #[error("the token was given for another tool")]
    OtherTool,
    /// It was made for other arguments.
    #[error("the token was given for other arguments")]
    OtherArguments,
    /// What the call would touch is no longer as it was shown.
    #[error("what the call would change has changed since it was shown")]
    OtherState,
    /// The policy changed since.
    #[error("the policy has changed since it was shown")]
    OtherPolicy,
    /// It was used.
    #[error("the token was used already")]
    Used,
    /// There is no such approval, or it was not approved.
    #[error("there is no approval for the token")]
    Unknown,
}

impl TokenFault {
    /// In a word, for programs and the audit.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forged => "token_forged",
            Self::Expired => "token_expired",
            Self::OtherThread => "token_thread",
            Self::OtherUser => "token_user",
            Self::OtherTool => "token_tool",
            Self::OtherArguments => "token_arguments",
            Self::OtherState => "token_state",
            Self::OtherPolicy => "token_policy",
            Self::Used => "token_used",
            Self::Unknown => "token_unknown",
        }
    }
}

/// Why something cannot be done to an approval.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// There is none with that id.
    #[error("there is no approval \"{0}\"")]
    NoApproval(String),
    /// Somebody decided it already, or its time is over.
    #[error("approval \"{id}\" is {} already{}", status.name(), whose(*status, by.as_deref()))]
    Decided {
        /// The approval.
        id: String,
        /// What it is.
        status: Status,
        /// Who decided.
        by: Option<String>,
        /// Until when a decision counts, in milliseconds since 1970.
        until: i64,
    },
    /// What was shown is not what it is now.
    #[error("approval \"{0}\" is no longer what was shown: look at it again")]
    NotAsShown(String),
    /// Nobody can agree for good to what they did not see whole.
    #[error("\"{0}\" cannot be allowed for good: what it would change is not shown whole")]
    NotWhole(String),
    /// A grant knows one place, and a move has two.
    #[error("\"{0}\" cannot be allowed always: what is moved, and where to, would be left open")]
    TwoPlaces(String),
    /// The session that asked made this one call and is over.
    #[error("\"{0}\" cannot be allowed for its session: the process that asked made this one call and has ended")]
    SessionOver(String),
    /// A command's held change has no arguments to edit.
    #[error("approval \"{0}\" is of what a command did: it can be approved or rejected, not edited")]
    NothingToEdit(String),
    /// What a command changed is not there as it was kept.
    #[error("what approval \"{id}\" holds cannot be made: {why}")]
    NotHeld {
        /// The approval.
        id: String,
        /// Why not.
        why: String,
    },
    /// There is no such grant.
    #[error("there is no grant \"{0}\"")]
    NoGrant(String),
    /// The database could not do it.
    #[error(transparent)]
    Database(#[from] DbError),
}

/// Who made it what it is. Nobody did where the files or the policy moved on.
fn whose(status: Status, by: Option<&str>) -> String {
    by.filter(|_| status != Status::Overtaken).map(|by| format!(", by {by}")).unwrap_or_default()
}

impl ApprovalError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoApproval(_) => "`paddock approvals list` shows those that wait; `--all` shows all",
            Self::Decided { status: Status::Rejected, .. } => {
                "it stands until it expires; where what the call would change is something else by then, or `paddock.toml` is, the \
                 call is asked about anew"
            }
            Self::Decided { status: Status::Overtaken, .. } => {
                "nothing was made, and `paddock approvals show ID` says why; the agent can ask again"
            }
            Self::Decided { .. } => "an approval is decided once; the agent can ask again",
            Self::NotAsShown(_) => "`paddock approvals show ID` shows what it is now",
            Self::NotWhole(_) | Self::TwoPlaces(_) => "approve it once",
            Self::SessionOver(_) => "approve it once, or this exact call with `--reach exact`",
            Self::NothingToEdit(_) => "reject it with a reason, and the agent can run another command",
            Self::NotHeld { .. } => "reject it, and the agent can run the command again",
            Self::NoGrant(_) => "`paddock approvals grants` lists them",
            Self::Database(error) => error.hint(),
        }
    }
}
