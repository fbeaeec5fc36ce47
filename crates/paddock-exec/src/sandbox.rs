//! What a caller says about one run: the places shown, the command, the limits, and what came of it.
//!
//! Owns the words of the interface and nothing else: no system call is made here. Every place is named by the
//! logical path at which the command sees it; where it is on the host is between the caller and the launcher.

use std::ffi::OsString;
use std::fmt;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::protections::Protections;

/// One run: the places that the command sees, and the command.
#[derive(Debug)]
pub struct Sandbox {
    /// The Workspaces, each at its logical path. Order does not matter; a nested one covers what is below it.
    pub shown: Vec<Shown>,
    /// What is run.
    pub command: Command,
    pub(crate) protections: Protections,
}

impl Sandbox {
    /// A run of `command` that sees `shown` and a minimal system.
    pub fn new(shown: Vec<Shown>, command: Command) -> Sandbox {
        Sandbox { shown, command, protections: Protections::ALL }
    }

    /// The same run with some protections switched off, to see the attack that each of them stops.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_protections(mut self, protections: Protections) -> Sandbox {
        self.protections = protections;
        self
    }
}

/// One Workspace as the command sees it.
#[derive(Debug)]
pub struct Shown {
    /// Where the command sees it: absolute, with no `.` or `..`.
    pub at: PathBuf,
    /// What is shown there.
    pub what: What,
    /// With which Access Scope, and where changes go.
    pub how: How,
    /// Hidden paths, relative to the Workspace. Where the Workspace is on an overlay ([`How::ReadOnly`],
    /// [`How::Staged`]) they are not there at all; in [`How::Direct`] they are covered: the name can be seen, and
    /// nothing can be read, changed or moved.
    pub masks: Vec<PathBuf>,
    /// Guarded paths, relative to the Workspace, that are read-only in [`How::Direct`]; no ancestor of them can be
    /// renamed or removed either. One that is absent at the start cannot be held by the kernel: it is looked for at
    /// the end and named in [`Ended::appeared`]. The other ways need no list: a staged change is judged.
    pub guarded: Vec<PathBuf>,
    /// The directory of the host itself, where the caller has opened it to judge it. What is found at its path must be this
    /// one; being open, it cannot be taken for another.
    pub opened: Option<Arc<OwnedFd>>,
}

impl Shown {
    /// A directory of the host at a logical path, with nothing hidden and nothing guarded.
    pub fn host(at: impl Into<PathBuf>, from: impl Into<PathBuf>, how: How) -> Shown {
        let (masks, guarded) = (Vec::new(), Vec::new());
        Shown { at: at.into(), what: What::Host(from.into()), how, masks, guarded, opened: None }
    }
}

/// What backs a Workspace during a run.
pub enum What {
    /// A directory of the host.
    Host(PathBuf),
    /// A file system served by this process: the device is opened and mounted inside, and handed out to be served.
    Fuse(Serve<OwnedFd>),
}

/// Takes what was made inside the sandbox and serves it; called once, before the command starts. It must return
/// soon, so it hands over to a thread of its own.
pub type Serve<T> = Box<dyn FnOnce(T) + Send>;

impl fmt::Debug for What {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Host(path) => out.debug_tuple("Host").field(path).finish(),
            What::Fuse(_) => out.write_str("Fuse(..)"),
        }
    }
}

/// The Access Scope of a shown place, and where changes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// Nothing can be changed.
    ReadOnly,
    /// Changes go to the place itself, at once, also through hard links that lead out of it. The kernel's table of mounts
    /// tells the command where the place is on the host; layers tell nothing.
    Direct,
    /// Changes go to a layer above the place, which stays as it is.
    Staged(Stage),
    /// Files can be written and made, and nothing read, listed, moved or removed; changes go to the place itself.
    ///
    /// Below another shown place that can be read the kernel cannot refuse reading, so there the place must be an
    /// empty drop box: what the command could read is then only what it wrote itself.
    WriteOnly,
    /// As [`How::WriteOnly`], and what is written goes to a layer above the place: so it is a drop box of which the kernel's table
    /// of mounts does not tell where it is on the host.
    Dropped(Stage),
}

impl How {
    /// Can nothing be read there?
    pub(crate) fn is_write_only(&self) -> bool {
        matches!(self, How::WriteOnly | How::Dropped(_))
    }
}

/// Where the changes of a staged run go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The layer that takes the changes: an empty directory, best on the file system of the Workspace.
    pub upper: PathBuf,
    /// An empty directory on the same file system as `upper`, for the kernel's own use.
    pub work: PathBuf,
    /// Earlier layers that are held and not committed, the newest first: the command sees them too.
    pub held: Vec<PathBuf>,
}

impl Stage {
    /// Makes a fresh stage in `directory`, which must be there, empty, and on the file system of the Workspace. Each
    /// run needs its own: the kernel refuses one that was used.
    pub fn create(directory: &std::path::Path) -> std::io::Result<Stage> {
        let stage = Stage { upper: directory.join("upper"), work: directory.join("work"), held: Vec::new() };
        std::fs::create_dir(&stage.upper)?;
        std::fs::create_dir(&stage.work)?;
        Ok(stage)
    }
}

/// What is run, and with what.
#[derive(Debug)]
pub struct Command {
    /// The program and its arguments; a program without `/` is looked for in `PATH` of [`Command::variables`].
    pub arguments: Vec<OsString>,
    /// Where it starts: a logical path.
    pub directory: PathBuf,
    /// All the variables it gets besides `HOME`, `PATH`, `TMPDIR`, `USER` and `LANG`, which have defaults.
    pub variables: Vec<(OsString, OsString)>,
    /// Further places of the host, shown read-only at their own paths.
    pub tools: Vec<PathBuf>,
    /// What it may use up.
    pub limits: Limits,
    /// Whom it may reach.
    pub network: Network,
    /// What it reads as its input; nothing when absent.
    pub input: Option<OwnedFd>,
}

impl Command {
    /// A program with its arguments, started in `directory`.
    pub fn new(directory: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        Command {
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: directory.into(),
            variables: Vec::new(),
            tools: Vec::new(),
            limits: Limits::default(),
            network: Network::None,
            input: None,
        }
    }

    /// A text for the shell.
    pub fn shell(directory: impl Into<PathBuf>, text: impl Into<OsString>) -> Command {
        Command::new(directory, [OsString::from("/bin/sh"), OsString::from("-c"), text.into()])
    }
}

/// Whom a command may reach.
pub enum Network {
    /// Nobody: no socket but local ones between its own processes.
    None,
    /// Only who listens here: a listener on the loopback of the sandbox, at `port`, is handed out to be served by a
    /// proxy outside; everything else stays unreachable.
    Proxy {
        /// The port on `127.0.0.1` inside.
        port: u16,
        /// Takes the listener.
        serve: Serve<TcpListener>,
    },
}

impl fmt::Debug for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::None => out.write_str("None"),
            Network::Proxy { port, .. } => out.debug_struct("Proxy").field("port", port).finish_non_exhaustive(),
        }
    }
}

/// What a command may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time by the clock.
    pub wall: Duration,
    /// Processor time of all its processes together, where the kernel counts it; of each one otherwise.
    pub cpu: Duration,
    /// Memory in bytes of all its processes together, where the kernel counts it; of each one otherwise.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of `/tmp` and `/dev/shm` together.
    pub tmp_size: u64,
    /// Descriptors of one process.
    pub open_files: u64,
    /// Bytes of output and errors together; past them the command is ended.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        const MIB: u64 = 1024 * 1024;
        Limits {
            wall: Duration::from_secs(120),
            cpu: Duration::from_secs(120),
            memory: 2048 * MIB,
            processes: 256,
            file_size: 1024 * MIB,
            tmp_size: 512 * MIB,
            open_files: 1024,
            output: 64 * MIB,
        }
    }
}

/// A piece of what the command printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<'a> {
    /// From its standard output.
    Out(&'a [u8]),
    /// From its standard error.
    Err(&'a [u8]),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What became of the command's first process.
    pub exit: Exit,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// Limits that it ran into on the way, whether or not they ended it.
    pub reached: Vec<Limit>,
    /// The caller asked for the end.
    pub stopped: bool,
    /// How long it took.
    pub took: Duration,
    /// What it used.
    pub usage: Usage,
    /// What bounded memory, processes and processor time in this run.
    pub tiers: Tiers,
    /// Guarded paths, as logical paths, that were absent at the start of a direct run and are there now.
    pub appeared: Vec<PathBuf>,
}

/// What became of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

impl Exit {
    /// The status as a shell would show it.
    pub fn code(self) -> i32 {
        match self {
            Exit::Exited(status) => status,
            Exit::Signalled(signal) => 128 + signal,
        }
    }
}

/// One of the [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::wall`].
    Wall,
    /// [`Limits::cpu`].
    Cpu,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::processes`].
    Processes,
    /// [`Limits::file_size`].
    FileSize,
    /// [`Limits::output`].
    Output,
}

impl Limit {
    /// Its name, as the configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Wall => "time",
            Limit::Cpu => "cpu",
            Limit::Memory => "memory",
            Limit::Processes => "processes",
            Limit::FileSize => "file size",
            Limit::Output => "output",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Processor time of all its processes.
    pub cpu: Duration,
    /// The most memory at once in bytes: of all processes where the kernel counts it, else of the largest.
    pub memory: u64,
    /// Bytes printed.
    pub output: u64,
}

/// By what a run's limits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiers {
    /// By what memory is bounded.
    pub memory: Tier,
    /// By what the number of processes is bounded.
    pub processes: Tier,
    /// By what processor time is bounded.
    pub cpu: Tier,
}

/// What keeps a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// A control group, version 2: all processes together.
    CgroupV2,
    /// A control group, version 1: all processes together.
    CgroupV1,
    /// The numbers of the process namespace: all processes together.
    PidNamespace,
    /// A limit of the user inside the sandbox: all processes together.
    PerUser,
    /// A limit of each process alone.
    PerProcess,
}

impl fmt::Display for Tier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Tier::CgroupV2 => "control group v2",
            Tier::CgroupV1 => "control group v1",
            Tier::PidNamespace => "process namespace",
            Tier::PerUser => "per user",
            Tier::PerProcess => "per process",
        })
    }
}
