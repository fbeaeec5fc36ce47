//! What is served, to whom, and how it gets to a kernel.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};

use fuser::{Config, MountOption, SessionACL};
use paddock_core::{AgentName, Audit, Cancel, LogicalPath};

use crate::acting::{Acting, Author, Record, Shown};
use crate::error::FuseError;
use crate::filesystem::Filesystem;
use crate::held::{Room, now};
use crate::host;
use crate::nodes::{Nodes, lock};
use crate::notices::Notices;
use crate::session::Session;
use crate::tree::Tree;

/// How many calls run at once: a Store that is slow for some leaves the others to the rest.
const THREADS: usize = 8;
/// How much of all files that are being written is in memory.
const ALL_HELD: u64 = 2 << 30;
/// How much of one.
const ONE_HELD: u64 = 1 << 30;

/// May the file system be changed?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It may only be looked at.
    ReadOnly,
    /// What the Vfs lets through may be changed.
    Writable,
}

/// What others do to the same Workspaces while they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They may change them: the kernel asks anew each time.
    MayChange,
    /// They change nothing, as in a fork of one's own: the kernel remembers what it was told.
    ChangeNothing,
}

/// What a Vfs shows below a logical path, ready to be served as a file system.
pub struct Served {
    shown: Shown,
    at: LogicalPath,
    how: How,
    agent: AgentName,
    author: Author,
    others: Others,
    owner: (u32, u32),
    record: Option<Record>,
    held: (u64, u64),
    threads: usize,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("at", &self.at).field("how", &self.how).finish_non_exhaustive()
    }
}

impl Served {
    /// What is below a path, for an agent's commands. Others may change it; it belongs to the user of this process.
    pub fn new(shown: impl Into<Shown>, at: LogicalPath, how: How, agent: AgentName) -> Self {
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self {
            shown: shown.into(),
            at,
            how,
            agent,
            author: Author::Command,
            others: Others::MayChange,
            owner,
            record: None,
            held: (ALL_HELD, ONE_HELD),
            threads: THREADS,
        }
    }

    /// For whose programs it is.
    #[must_use]
    pub fn for_author(mut self, author: Author) -> Self {
        self.author = author;
        self
    }

    /// What others do meanwhile.
    #[must_use]
    pub fn while_others(mut self, others: Others) -> Self {
        self.others = others;
        self
    }

    /// Who everything belongs to, as the user namespace of those who use it counts.
    #[must_use]
    pub fn owned_by(mut self, uid: u32, gid: u32) -> Self {
        self.owner = (uid, gid);
        self
    }

    /// With each change recorded under the name of a command.
    #[must_use]
    pub fn recorded_by(mut self, audit: Arc<dyn Audit>, command: &str) -> Self {
        self.record = Some(Record { audit, command: command.to_owned() });
        self
    }

    /// With so many bytes in memory of all files that are being written, and of one.
    #[must_use]
    pub fn holding_at_most(mut self, all: u64, one: u64) -> Self {
        self.held = (all, one);
        self
    }

    /// With so many calls at once, one at least; 8 where it is not said.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Serves it on a descriptor of `/dev/fuse` that was opened and mounted elsewhere. Serving ends when that mount is
    /// gone.
    ///
    /// # Errors
    /// When the kernel does not answer as one that has mounted it.
    pub fn serve(self, device: OwnedFd) -> Result<Session, FuseError> {
        let config = config(Vec::new(), self.threads);
        let (filesystem, tree) = self.filesystem();
        // Who may come is decided by the mount; the ids of a user namespace mean nothing here.
        let session = fuser::Session::from_fd(filesystem, device, SessionACL::All, config);
        begin(session.map_err(FuseError::Serve)?, tree, None)
    }

    /// Mounts it on an empty directory and serves it until the answer is dropped.
    ///
    /// # Errors
    /// When the directory or the host does not allow it.
    pub fn mount(self, dir: &Path) -> Result<Session, FuseError> {
        let dir = host::mountable(dir)?;
        let options = vec![
            MountOption::FSName("paddock".to_owned()),
            MountOption::Subtype("paddock".to_owned()),
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoAtime,
            if self.how == How::ReadOnly { MountOption::RO } else { MountOption::RW },
        ];
        let config = config(options, self.threads);
        let (filesystem, tree) = self.filesystem();
        let mounted = fuser::Session::new(filesystem, &dir, &config);
        begin(mounted.map_err(|error| host::mount_problem(&dir, error))?, tree, Some(dir))
    }

    fn filesystem(self) -> (Filesystem, Arc<Tree>) {
        let tree = Arc::new(Tree {
            acting: Acting {
                shown: self.shown,
                agent: self.agent,
                author: self.author,
                record: self.record,
                cancel: Cancel::default(),
            },
            how: self.how,
            others: self.others,
            owner: self.owner,
            nodes: Nodes::new(self.at),
            handles: crate::handles::Handles::default(),
            room: Arc::new(Room::new(self.held.0, self.held.1)),
            dirs_stay: RwLock::new(()),
            being_made: Mutex::default(),
            notices: Mutex::default(),
            since: now(),
            defects: AtomicU64::new(0),
        });
        (Filesystem::new(Arc::clone(&tree)), tree)
    }
}

fn config(options: Vec<MountOption>, threads: usize) -> Config {
    let mut config = Config::default();
    config.mount_options = options;
    config.n_threads = Some(threads);
    config
}

fn begin(
    session: fuser::Session<Filesystem>,
    tree: Arc<Tree>,
    dir: Option<std::path::PathBuf>,
) -> Result<Session, FuseError> {
    *lock(&tree.notices) = Some(Notices::start(session.notifier()).map_err(FuseError::Serve)?);
    let background = session.spawn().map_err(FuseError::Serve)?;
    Ok(Session::new(background, tree, dir))
}
