//! What can be wrong with a System Root, in words that tell a person what to do next.
//!
//! Every error carries the path it is about. These messages are for the person at the terminal;
//! they hold host paths and must never be shown to an agent.

use std::io;
use std::path::PathBuf;

use crate::Origin;

/// Why a directory cannot be the System Root.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Neither an option, nor `PADDOCK_HOME`, nor a home directory says where it is.
    #[error("there is no home directory to keep the System Root in")]
    NoHome,
    /// The System Root lies in the Project Root, where an agent might reach it.
    #[error("the System Root \"{}\" lies inside the Project Root \"{}\"", home.display(), project.display())]
    InsideProject {
        /// The System Root.
        home: PathBuf,
        /// The Project Root.
        project: PathBuf,
    },
    /// Others could change what Paddock relies on.
    #[error("the System Root \"{}\" is writable by others (mode {mode:03o})", home.display())]
    WritableByOthers {
        /// The System Root.
        home: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to another user of the machine.
    #[error("the System Root \"{}\" belongs to user {owner}, and Paddock runs as user {ours}", home.display())]
    NotOurs {
        /// The System Root.
        home: PathBuf,
        /// The user it belongs to.
        owner: u32,
        /// The user that we are.
        ours: u32,
    },
    /// Something that is not a directory stands there.
    #[error("the System Root \"{}\" is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// `..` after a part that does not exist: where it leads is not known.
    #[error("the System Root \"{}\" goes up from a directory that does not exist", .0.display())]
    Unresolvable(PathBuf),
    /// The host refused.
    #[error("cannot use the System Root \"{}\": {source}", home.display())]
    Io {
        /// The System Root, or the part of it that failed.
        home: PathBuf,
        /// What the host said.
        source: io::Error,
    },
}

impl HomeError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        const ELSEWHERE: &str = "name another directory with --home or PADDOCK_HOME";
        match self {
            Self::NoHome => "set HOME, or name a directory with --home or PADDOCK_HOME".into(),
            Self::InsideProject { .. } => {
                format!("{ELSEWHERE}, one that is outside the Project Root")
            }
            Self::WritableByOthers { home, .. } => format!("run: chmod 700 \"{}\"", home.display()),
            Self::NotOurs { .. } | Self::NotADirectory(_) | Self::Unresolvable(_) => ELSEWHERE.into(),
            Self::Io { .. } => {
                format!("make it readable and writable for you, or {ELSEWHERE}")
            }
        }
    }

    pub(crate) fn io(home: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { home: home.into(), source }
    }
}

/// Why a project's place in the System Root cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The System Root itself is not usable.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The host refused.
    #[error("cannot use \"{}\": {source}", path.display())]
    Io {
        /// What was being read or made.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// There is state, and nothing says whose it is.
    #[error("\"{}\" holds state but no origin.json, so it is not known whose it is", .0.display())]
    NoOrigin(PathBuf),
    /// The origin cannot be read, so it is not known whose state this is.
    #[error("\"{}\" is damaged: {reason}", path.display())]
    DamagedOrigin {
        /// The `origin.json`.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer Paddock laid the state out in another way.
    #[error("\"{}\" was written by a newer Paddock: its layout is {layout}, and this one knows an older one", path.display())]
    NewerLayout {
        /// The place in the System Root.
        path: PathBuf,
        /// The way it is laid out.
        layout: u32,
    },
    /// A file of Paddock's own is not what Paddock wrote.
    #[error("\"{}\" is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Even the id with the hash is another project's.
    #[error("\"{}\" already belongs to {owner}", path.display())]
    Taken {
        /// The place in the System Root.
        path: PathBuf,
        /// Whose it is.
        owner: Box<Origin>,
    },
}

impl StateError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Home(error) => error.hint(),
            Self::Io { .. } => "check the directory's owner and mode, and the free space".into(),
            Self::NoOrigin(path) | Self::DamagedOrigin { path, .. } => format!(
                "restore its origin.json from a backup, or move \"{}\" away to begin anew",
                if path.ends_with("origin.json") { path.parent().unwrap_or(path) } else { path }.display()
            ),
            Self::NewerLayout { .. } => "use the Paddock that wrote it, or a later one; nothing was changed".into(),
            Self::Damaged { path, .. } => {
                format!("put back a copy of \"{}\" from a backup, or move it away", path.display())
            }
            Self::Taken { .. } => "give the project another name in paddock.toml".into(),
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
