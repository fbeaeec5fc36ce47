//! Why a run could not start, in words for people.
//!
//! Paths of the host may stand in these messages: they are for the person who runs Paddock. What an agent reads is
//! made from [`Error::kind`] by the caller.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a run could not start, or a staged change not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel lacks something without which a command would not be held.
    #[error("this system lacks {missing}\nhint: {remedy}")]
    Missing {
        /// What is missing.
        missing: String,
        /// How to get it.
        remedy: String,
    },
    /// A logical path that cannot be shown.
    #[error("{at:?} cannot be shown to a command: {why}")]
    Place {
        /// The logical path.
        at: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A place of the host that could not be opened.
    #[error("{path:?} could not be opened: {source}")]
    Host {
        /// Where on the host.
        path: PathBuf,
        /// What the host answered.
        source: io::Error,
    },
    /// A text that cannot be given to a program.
    #[error("a null byte stands in {what}")]
    NullByte {
        /// Where it stands.
        what: &'static str,
    },
    /// The command has no program.
    #[error("the command is empty")]
    Empty,
    /// The sandbox could not be built.
    #[error("the sandbox could not be built: {step} failed: {source}\nhint: {hint}")]
    Build {
        /// What kind of step.
        part: Part,
        /// Which step.
        step: String,
        /// What the kernel answered.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The program could not be started inside.
    #[error("{program:?} could not be started: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A layer of changes that is not what an overlay leaves behind, or is too deep to be read.
    #[error("the staged change at {path:?} cannot be read: {why}")]
    Layer {
        /// Where, relative to the layer.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Something of the launcher itself failed.
    #[error("{doing} failed: {source}")]
    Launcher {
        /// What was being done.
        doing: &'static str,
        /// What the host answered.
        source: io::Error,
    },
}

/// The parts of building a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Users and the first process.
    Users,
    /// Mounts.
    Mounts,
    /// The process table.
    Processes,
    /// Layers: overlay file systems.
    Layers,
    /// The network.
    Network,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Filter,
}

/// The sort of an [`Error`], for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The system cannot hold a command.
    Unsupported,
    /// What the caller asked for cannot be.
    Invalid,
    /// The program is not there, or is none.
    NotStarted,
    /// Something went wrong that was not asked for.
    Failed,
}

impl Error {
    /// The sort of it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Missing { .. } => ErrorKind::Unsupported,
            Error::Place { .. } | Error::NullByte { .. } | Error::Empty => ErrorKind::Invalid,
            Error::Start { .. } => ErrorKind::NotStarted,
            Error::Host { .. } | Error::Build { .. } | Error::Layer { .. } | Error::Launcher { .. } => {
                ErrorKind::Failed
            }
        }
    }

    pub(crate) fn launcher(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Launcher { doing, source }
    }
}
