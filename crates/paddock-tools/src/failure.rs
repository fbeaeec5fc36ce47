//! Why a call has no result, before it is put into words.

use paddock_core::{AgentName, DenyRule, ErrorKind, LogicalPath, NotRun, PathError, Refused, Risk};
use paddock_state::SecretName;

use crate::arguments::BadArguments;

/// Why a call has no result. The words are in `messages`.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no such tool.
    NoTool { given: String, nearest: Option<&'static str> },
    /// No Workspace allows what the tool does; the agent, where it has none.
    NotProvided { tool: &'static str, without: Option<AgentName> },
    /// The arguments are not those of the tool.
    Arguments(BadArguments),
    /// A path that is none.
    Path(PathError),
    /// A path that holds a secret: names are written down in many places.
    SecretInPath(SecretName),
    /// The policy, the Store or the Gate refused.
    Refused(Refused),
    /// A person has to decide first.
    Parked(String),
    /// It could run; it was only looked whether.
    Rehearsed,
    /// Whoever calls keeps this path from the call.
    Protected(LogicalPath),
    /// A person agreed to other arguments, which this token is for.
    Edited { arguments: String, token: String },
    /// The file changed every time it was read.
    Restless(LogicalPath),
    /// No command may run there.
    NoPlace { asked: LogicalPath, places: Vec<LogicalPath> },
    /// The command was not run.
    NotRun(NotRun),
    /// A person would have to be asked, and there is nobody.
    NobodyToAsk { risk: Risk, why: &'static str },
    /// The web was not searched.
    NotSearched(NotSearched),
    /// It had an effect that could not be recorded.
    NotRecorded,
    /// A defect of Paddock or of a Store; nothing of it is for the agent.
    Defect,
}

/// Why the web was not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSearched {
    /// Nobody answers at the service's address.
    Unreachable,
    /// The service took too long.
    Slow,
    /// It answered with this status.
    Status(u16),
    /// It answered with more than is read.
    TooLarge,
    /// It answered with something else than results.
    NotResults,
    /// The call was cancelled.
    Cancelled,
}

impl Failure {
    /// Did the policy say no? The agent may be told something else.
    pub(crate) fn is_denial(&self) -> bool {
        matches!(self, Self::Refused(Refused::Denied(_) | Refused::DeniedInside(_)))
    }

    /// The true reason, for logs. The agent may be told less.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::NoTool { .. } => "no such tool",
            Self::NotProvided { .. } => "not provided",
            Self::Arguments(_) => "arguments",
            Self::Path(_) => "path",
            Self::SecretInPath(_) => "secret",
            Self::Refused(Refused::Denied(denial) | Refused::DeniedInside(denial)) => match denial.rule {
                DenyRule::NoWorkspace => "no Workspace",
                DenyRule::Scope => "scope",
                DenyRule::Unserved => "unserved",
                DenyRule::Hidden => "hidden",
                DenyRule::Guarded(_) => "guarded",
                DenyRule::Own => "own",
                DenyRule::HoldsWorkspace => "holds a Workspace",
            },
            Self::Refused(Refused::Store { source, .. }) => of_store(source.kind()),
            Self::Refused(Refused::Misuse { .. }) => "misuse",
            Self::Refused(Refused::Gate(_)) => "gate",
            Self::Refused(Refused::NotApproved { name, .. }) => name,
            Self::Parked(_) => "parked",
            Self::Edited { .. } => "edited",
            Self::Rehearsed => "rehearsed",
            Self::Protected(_) => "protected",
            Self::Restless(_) => "changing",
            Self::NoPlace { .. } => "scope",
            Self::NotRun(NotRun::Word(_)) => "word",
            Self::NotRun(NotRun::Cannot { .. }) => "sandbox",
            Self::NobodyToAsk { .. } => "nobody to ask",
            Self::NotSearched(_) => "search",
            Self::NotRecorded => "not recorded",
            Self::Defect => "defect",
        }
    }
}

/// What a Store found in the way; "store" where the Store itself failed.
fn of_store(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::UsedUp => "token_used",
        ErrorKind::NotFound => "not there",
        ErrorKind::AlreadyExists => "exists",
        ErrorKind::NotEmpty => "not empty",
        ErrorKind::Stale => "changed meanwhile",
        ErrorKind::Edit(_) => "no match",
        ErrorKind::OverQuota { .. } => "over quota",
        ErrorKind::Full => "no space",
        ErrorKind::TooLarge { .. } => "too large",
        _ => "store",
    }
}

impl From<BadArguments> for Failure {
    fn from(error: BadArguments) -> Self {
        Self::Arguments(error)
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}
