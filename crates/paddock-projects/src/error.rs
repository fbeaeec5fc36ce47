//! Why a project was not made, taken in or taken out: the bad value, a kind for programs, a hint for people.
//!
//! No message holds a word that opens a remote: addresses are told without what stands before their host, and what git said is
//! cleaned before it gets here.

use std::io;

use paddock_core::{ErrorKind, LogicalPath, Refused, list_some};
use thiserror::Error;

/// The outcome of what is done with a project.
pub type Result<T, E = ProjectError> = std::result::Result<T, E>;

/// Why it was not done. Nothing was changed, unless it says so.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// There is no such template.
    #[error("no template is called \"{name}\"")]
    UnknownTemplate {
        /// What was asked for.
        name: String,
        /// Names that are written nearly so.
        near: Vec<String>,
        /// All names there are.
        known: Vec<String>,
    },
    /// A template of the person's cannot be used.
    #[error("the template \"{name}\" cannot be read: {source}")]
    BadTemplate {
        /// Which.
        name: String,
        /// What the host said.
        source: io::Error,
    },
    /// Something is there already.
    #[error("\"{path}\" is not empty")]
    NotEmpty {
        /// Where.
        path: LogicalPath,
    },
    /// A file where a directory is wanted, or the other way round.
    #[error("\"{path}\" stands in the way: it is {is}")]
    InTheWay {
        /// Where.
        path: LogicalPath,
        /// What is there.
        is: &'static str,
    },
    /// There is no such directory.
    #[error("there is no directory \"{path}\"")]
    NoDirectory {
        /// Where.
        path: LogicalPath,
    },
    /// No Workspace covers it.
    #[error("no Workspace covers \"{path}\"")]
    NoWorkspace {
        /// Where.
        path: LogicalPath,
    },
    /// The Workspace does not let these names be written.
    #[error("{} may not be written", list_some(.paths).unwrap_or_default())]
    Denied {
        /// All of them.
        paths: Vec<LogicalPath>,
    },
    /// The guard or the Store said no.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It stopped half-way, and what was made before could not be taken back.
    #[error("it stopped half-way, and what was written before is still there: {source}")]
    HalfWay {
        /// The call that began it.
        call: String,
        /// Why it stopped.
        source: Refused,
    },
    /// A name that is no path below the project.
    #[error("the name \"{name}\" is refused: {why}")]
    BadName {
        /// The name, harmless to show.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// Two names that are one on some host, or something below what is no directory.
    #[error("\"{first}\" and \"{second}\" cannot both be there")]
    SameName {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// A link that leads out of the project.
    #[error("the link \"{name}\" leads out of the project")]
    LinkLeaves {
        /// The link.
        name: String,
    },
    /// An entry that only a password opens.
    #[error("\"{name}\" is encrypted")]
    Encrypted {
        /// The entry.
        name: String,
    },
    /// More than is taken.
    #[error("it holds more than is taken: {what} is over {limit}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The most.
        limit: u64,
    },
    /// It is not what it should be, or damaged.
    #[error("it cannot be read as {what}: {why}")]
    Damaged {
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It changed between two looks at it.
    #[error("\"{path}\" changed while it was exported")]
    Changed {
        /// The file, below the project.
        path: String,
    },
    /// Whoever waits has stopped it.
    #[error("it was stopped")]
    Stopped,
    /// What goes out could not be written.
    #[error("it cannot be written: {0}")]
    Output(io::Error),
    /// The place for temporary files cannot be used.
    #[error("the place for temporary files cannot be used: {0}")]
    Scratch(io::Error),
    /// The host has no git.
    #[error("the program git is not there")]
    NoGit,
    /// An address that is not used.
    #[error("the address \"{address}\" is refused: {why}")]
    BadAddress {
        /// The address, without a word that opens it.
        address: String,
        /// Why.
        why: &'static str,
    },
    /// A path of this machine where nothing is.
    #[error("there is no \"{path}\" on this machine")]
    NothingThere {
        /// The path, harmless to show.
        path: String,
    },
    /// A file of this machine that is nothing that can be taken in.
    #[error("\"{path}\" is neither a Zip nor a Git bundle")]
    OtherKind {
        /// The path, harmless to show.
        path: String,
    },
    /// A name that no branch can have.
    #[error("\"{0}\" is no name for a branch")]
    BadBranch(String),
    /// What git said.
    #[error("git could not {doing}: {said}")]
    Git {
        /// What it was to do.
        doing: &'static str,
        /// Its words, cleaned.
        said: String,
    },
    /// Git was ended, since nobody answered it.
    #[error("git could not {doing}: {why}")]
    TooSlow {
        /// What it was to do.
        doing: &'static str,
        /// What was waited for.
        why: &'static str,
    },
}

/// What went wrong, for programs: exit codes and HTTP states derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// What was asked for is not possible as asked.
    Misuse,
    /// It is not there.
    NotFound,
    /// Something is in the way, or has changed.
    Conflict,
    /// The policy says no.
    Denied,
    /// What was brought is not taken.
    BadContent,
    /// More than is taken.
    TooLarge,
    /// The host, the network or a program failed.
    Failed,
    /// Whoever waits has stopped it.
    Stopped,
}

impl ProjectError {
    /// What went wrong, for programs.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::UnknownTemplate { .. }
            | Self::NoDirectory { .. }
            | Self::NoWorkspace { .. }
            | Self::NothingThere { .. } => FaultKind::NotFound,
            Self::NotEmpty { .. } | Self::InTheWay { .. } | Self::Changed { .. } => FaultKind::Conflict,
            Self::Denied { .. } => FaultKind::Denied,
            Self::BadName { .. }
            | Self::SameName { .. }
            | Self::LinkLeaves { .. }
            | Self::Encrypted { .. }
            | Self::OtherKind { .. }
            | Self::Damaged { .. } => FaultKind::BadContent,
            Self::TooMuch { .. } => FaultKind::TooLarge,
            Self::BadAddress { .. } | Self::BadBranch(_) => FaultKind::Misuse,
            Self::Stopped => FaultKind::Stopped,
            Self::Refused(refused) => kind_of(refused),
            Self::BadTemplate { .. }
            | Self::HalfWay { .. }
            | Self::Output(_)
            | Self::Scratch(_)
            | Self::NoGit
            | Self::Git { .. }
            | Self::TooSlow { .. } => FaultKind::Failed,
        }
    }

    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownTemplate { near, known, .. } => match near.first() {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("there are: {}", known.join(", ")),
            },
            Self::BadTemplate { .. } => "look into the packages of the System Root".to_owned(),
            Self::NotEmpty { .. } => {
                "name a directory that is not there yet; an import can also be merged into it".to_owned()
            }
            Self::InTheWay { .. } => "name another place, or move it away first".to_owned(),
            Self::NoDirectory { .. } => "name a directory of a Workspace".to_owned(),
            Self::NoWorkspace { .. } => {
                "`paddock map` shows the Workspaces of the agent; --agent names another".to_owned()
            }
            Self::Denied { .. } => {
                "`paddock why write PATH` explains each; an import can leave out what may not be written".to_owned()
            }
            Self::Refused(_) => "nothing was changed".to_owned(),
            Self::HalfWay { call, .. } => format!("`paddock undo {call}` tries to take it back"),
            Self::BadName { .. } | Self::SameName { .. } | Self::LinkLeaves { .. } => {
                "nothing was written; make the archive again without it".to_owned()
            }
            Self::Encrypted { .. } => "make the archive again without a password".to_owned(),
            Self::TooMuch { .. } => "nothing was written; take in less, or raise the bound".to_owned(),
            Self::Damaged { .. } => "nothing was written; get it again".to_owned(),
            Self::Changed { .. } => "try again when nobody writes to it".to_owned(),
            Self::Stopped => "nothing was changed".to_owned(),
            Self::Output(_) => "look whether the disk is full and the place can be written to".to_owned(),
            Self::Scratch(_) => "look whether the disk of the System Root is full".to_owned(),
            Self::NoGit => "install git; a Zip needs no other program".to_owned(),
            Self::BadAddress { .. } => {
                "write https://HOST/PATH, ssh://HOST/PATH, git://HOST/PATH or the path of a repository".to_owned()
            }
            Self::NothingThere { .. } => {
                "an import takes a Zip, a Git bundle, a repository or an address such as https://HOST/PATH; a push takes the last two"
                    .to_owned()
            }
            Self::OtherKind { .. } => {
                "an import takes a Zip, a Git bundle, a repository or an address such as https://HOST/PATH".to_owned()
            }
            Self::BadBranch(_) => "letters, digits, '-', '_', '.' and '/' make a name, as in \"main\"".to_owned(),
            Self::TooSlow { .. } => "a run may take 10 minutes, and 60 seconds of silence; try again later".to_owned(),
            Self::Git { .. } => "look at the address, the branch and the secret that opens it".to_owned(),
        }
    }
}

fn kind_of(refused: &Refused) -> FaultKind {
    match refused {
        Refused::Denied(_) | Refused::DeniedInside(_) | Refused::Gate(_) | Refused::NotApproved { .. } => {
            FaultKind::Denied
        }
        Refused::Misuse { .. } => FaultKind::Misuse,
        Refused::Store { source, .. } => match source.kind() {
            ErrorKind::NotFound => FaultKind::NotFound,
            ErrorKind::AlreadyExists
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::NotEmpty
            | ErrorKind::Stale
            | ErrorKind::Busy => FaultKind::Conflict,
            ErrorKind::OverQuota { .. } | ErrorKind::TooLarge { .. } | ErrorKind::Full => FaultKind::TooLarge,
            ErrorKind::Cancelled => FaultKind::Stopped,
            _ => FaultKind::Failed,
        },
    }
}
