//! Why a program's Workspaces cannot be had, in words for somebody who has no file and no command line.

use paddock_core::{BuildError, LogicalPath, NameRuleError, PathError, visible};

use crate::fault::Fault;
use crate::problem::{ConfigError, Problem};

/// Why a program's Workspaces cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// A prefix is no logical path.
    #[error("the prefix \"{written}\" is not a path that an agent could see: {error}")]
    Prefix {
        /// As it was given.
        written: String,
        /// What is wrong with it.
        error: PathError,
    },
    /// A prefix has to be absolute: there is nothing that it could be relative to.
    #[error("the prefix \"{0}\" does not start with \"/\"")]
    Relative(String),
    /// The directory cannot be used.
    #[error("{0}")]
    Directory(Fault),
    /// A pattern is none, or hides nothing.
    #[error("{0}")]
    Hide(Fault),
    /// The rules of names do not go together.
    #[error("{0}")]
    Names(#[from] NameRuleError),
    /// Only a Virtual Store can be above another.
    #[error("the upper Store of an overlay has to be a Virtual Store: only there can be kept that something is gone")]
    Upper,
    /// Two of them reach one place and disagree about it.
    #[error("{0}")]
    Contradiction(Box<BuildError>),
    /// What may not be read in one Workspace could be read in another.
    #[error("the overlay \"{overlay}\" shows the place of \"{other}\", and what \"{other}\" keeps from being read")]
    SeenThrough {
        /// The prefix of the overlay.
        overlay: String,
        /// The prefix of the other.
        other: String,
    },
    /// What is said about commands is wrong.
    #[error("{}", first_of(.0).map_or_else(String::new, ToString::to_string))]
    Commands(Box<ConfigError>),
    /// Every command would wait for a person.
    #[error("with \"{0}\" every command waits for a person, and a program's Mounts have nobody to ask")]
    Asks(&'static str),
    /// No command can run beside such a Workspace.
    #[error("{}", without_file(.0))]
    Room(Fault),
    /// Two Workspaces of one prefix.
    #[error("two Mounts have the prefix \"{0}\"")]
    SamePrefix(LogicalPath),
    /// Relative paths would start where nothing is.
    #[error("the base \"{0}\" is in no Workspace and on the way to none")]
    Base(LogicalPath),
    /// An option that nobody reads.
    #[error("{of} has no \"{}\"", visible(name))]
    UnknownOption {
        /// The function.
        of: &'static str,
        /// As it was written.
        name: String,
        /// What was meant.
        nearest: Option<&'static str>,
        /// All that there are.
        known: Vec<&'static str>,
    },
    /// An option that is something else.
    #[error("\"{name}\" of {of} must be {must_be}, not {is}")]
    WrongOption {
        /// The function.
        of: &'static str,
        /// The option.
        name: &'static str,
        /// What it has to be.
        must_be: &'static str,
        /// What it is.
        is: String,
    },
    /// An option that has to be there.
    #[error("{of} needs \"{name}\"")]
    MissingOption {
        /// The function.
        of: &'static str,
        /// The option.
        name: &'static str,
        /// What it has to be.
        must_be: &'static str,
    },
    /// A function that there is none of.
    #[error("no function takes options under the name \"{}\"", visible(.0))]
    NoFunction(String),
}

/// The first thing that is wrong.
pub(super) fn first_of(error: &ConfigError) -> Option<&Fault> {
    error.problems().first().map(Problem::fault)
}

/// A fault of Workspaces beside commands, in words for somebody who has no file.
fn without_file(fault: &Fault) -> String {
    fault.to_string().replace("with [commands] no", "beside commands no")
}

impl ProgramError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Prefix { error, .. } => error.hint().into(),
            Self::Relative(_) => "write it as \"/project\"".into(),
            Self::Directory(fault) => directory_hint(fault),
            Self::Room(fault) | Self::Hide(fault) => fault.hint(),
            Self::Names(_) => "write the pattern as in a .gitignore".into(),
            Self::Upper => "use a virtual one above; below may be any".into(),
            Self::SeenThrough { .. } => "put the overlay over another place, or hide in it what the other hides".into(),
            Self::Contradiction(_) => "mount each place once, or with the same Access Scope".into(),
            Self::Commands(error) => first_of(error).map_or_else(String::new, Fault::hint),
            Self::Asks(_) => "leave it out, or say it in a paddock.toml, whose approvals hold for `fromConfig`".into(),
            Self::SamePrefix(_) => "give each Mount a prefix of its own".into(),
            Self::Base(_) => "start at the prefix of a Mount, or leave the base out".into(),
            Self::UnknownOption { nearest: Some(nearest), .. } => format!("did you mean \"{nearest}\"?"),
            Self::UnknownOption { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
                format!("it has {}", known.join(", "))
            }
            Self::WrongOption { must_be, .. } => format!("give it {must_be}, or leave it out"),
            Self::MissingOption { name, must_be, .. } => format!("add \"{name}\": {must_be}"),
            Self::NoFunction(_) => "this is a defect of the package".into(),
        }
    }
}

/// What to do about a directory, for somebody who has no file and no command line.
fn directory_hint(fault: &Fault) -> String {
    match fault {
        Fault::NoDirectory { .. } => "create it, or correct the path; it is relative to where the program runs".into(),
        Fault::HoldsSystemRoot { .. } => {
            "mount a smaller directory, or keep the System Root elsewhere with the variable PADDOCK_HOME".into()
        }
        other => other.hint(),
    }
}
