//! Commands: what one may do, what is asked of a runner, and what came of it.
//!
//! A command is not a file operation, so it has a port of its own: [`CommandRunner`], implemented in a crate that no Store
//! and no tool knows. It runs the command where the kernel enforces the agent's policy. What the command changed comes
//! back as alterations, which go the way of every other change: judged, put before the Gate, made, undoable.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::alter::Alteration;
use crate::call::{Call, CallId};
use crate::host::AllowedHost;
use crate::path::LogicalPath;
use crate::ports::Risk;
use crate::vfs::Vfs;

/// How an agent runs commands.
#[derive(Clone)]
pub struct Commands {
    /// What a person allows.
    pub settings: Arc<CommandSettings>,
    /// What runs them.
    pub runner: Arc<dyn CommandRunner>,
}

impl std::fmt::Debug for Commands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commands").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a person allows commands, as the configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// Words that are refused before anything runs.
    pub deny: Vec<String>,
    /// Do changes take effect at once, instead of when the command ends?
    pub direct: bool,
    /// The only hosts that it may reach.
    pub network: Vec<AllowedHost>,
    /// Host places that it may read beside the system's own.
    pub tools: Vec<PathBuf>,
    /// Variables that it sees.
    pub env: BTreeMap<String, String>,
    /// What it may use up.
    pub limits: CommandLimits,
    /// Above this risk a person has to be asked.
    pub ask_above: Risk,
}

/// What a command may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    /// Time by the clock.
    pub time: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of output that are shown; what is longer can be read by pages.
    pub output: u64,
    /// Processes at once.
    pub processes: u64,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of `/tmp`.
    pub tmp: u64,
    /// Files open at once.
    pub open: u64,
    /// Bytes of everything that it changes, until that is made.
    pub staged: u64,
}

impl Default for CommandLimits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            time: Duration::from_secs(60),
            cpu: Duration::from_secs(120),
            memory: 2048 * MIB,
            output: MIB,
            processes: 256,
            file: 1024 * MIB,
            tmp: 512 * MIB,
            open: 1024,
            staged: 4096 * MIB,
        }
    }
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            deny: Vec::new(),
            direct: false,
            network: Vec::new(),
            tools: Vec::new(),
            env: BTreeMap::new(),
            limits: CommandLimits::default(),
            ask_above: Risk::Medium,
        }
    }
}

/// One command to run.
#[derive(Debug)]
pub struct CommandSpec<'a> {
    /// What is run.
    pub command: CommandLine<'a>,
    /// What it perceives.
    pub vfs: &'a Vfs,
    /// The directory that it runs in, inside a read-write Workspace.
    pub directory: &'a LogicalPath,
    /// Is that directory all that it perceives of its Workspace?
    pub confined: bool,
    /// What it may not change, whatever the scope: every path of it.
    pub spared: &'a [LogicalPath],
    /// What a person allows.
    pub settings: &'a CommandSettings,
    /// How long it may take.
    pub time_limit: Duration,
    /// How much processor time it may use.
    pub cpu_limit: Duration,
    /// What its bytes of input are read from; it never gets the descriptor itself.
    pub input: Option<BorrowedFd<'a>>,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub enum CommandLine<'a> {
    /// A text for the shell.
    Shell(&'a str),
    /// A program with its arguments.
    Words(&'a [String]),
}

/// A piece of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<'a> {
    /// From standard output.
    Out(&'a [u8]),
    /// From standard error.
    Err(&'a [u8]),
}

/// Takes what a command prints; answers `Break` to stop it.
pub type OutputSink<'a> = &'a mut dyn FnMut(Output<'_>) -> ControlFlow<()>;

/// What became of a command.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code as a shell shows it.
    pub exit: i32,
    /// What ended it before it was done: the name of a limit, or that it was stopped.
    pub ended_by: Option<&'static str>,
    /// How long it took.
    pub took: Duration,
    /// What it changed and nobody has made yet; empty when changes took effect at once.
    pub proposed: Proposed,
    /// What a person or an agent should know, in sentences.
    pub notes: Vec<String>,
}

/// What a command changed, in the order in which it can be made.
#[derive(Debug, Default)]
pub struct Proposed {
    /// The changes.
    pub alterations: Vec<Alteration>,
    /// Those of them, by path, that a `.gitignore` names: build output, which counts as a risk unless it is new or the agent's own.
    pub ignored: std::collections::HashSet<LogicalPath>,
    /// Why the whole cannot be made.
    pub obstacles: Vec<String>,
    /// Keeps what the changes are made from until they are made.
    pub stage: Option<Arc<dyn Stage>>,
}

/// Where changes wait. Dropping it takes away what was not made.
pub trait Stage: std::fmt::Debug + Send + Sync {}

/// A run whose process died before it was known what became of its changes. For as long as this lives, nobody else has it;
/// dropping it leaves it to the next who asks.
pub trait CutOff: std::fmt::Debug {
    /// The call that it was.
    fn call(&self) -> CallId;
    /// What it changed is as it should be: what it left behind goes.
    fn settled(self: Box<Self>);
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// The word list has a word of it.
    #[error("Dangerous command \"{0}\" is not allowed.")]
    Word(String),
    /// It cannot be run here, and what would help.
    #[error("{why}")]
    Cannot {
        /// What is missing or wrong.
        why: String,
        /// What would help.
        remedy: Option<String>,
    },
}

/// Runs commands in a sandbox that enforces the same policy.
pub trait CommandRunner: Send + Sync {
    /// Looks for a word of the list in a command, before anything runs. A courtesy, not the boundary.
    fn denied_word(&self, command: CommandLine<'_>, deny: &[String]) -> Option<String>;

    /// Runs one command to its end. Nothing of it is left behind but what it proposes.
    fn run(&self, call: &Call<'_>, spec: &CommandSpec<'_>, out: OutputSink<'_>) -> Result<Ran, NotRun>;

    /// Marks a call as making what a command changed, until the answer is dropped: where its process dies before, [`Self::cut_off`] tells
    /// of it. Nothing where this cannot be marked.
    fn making(&self, _call: CallId) -> Option<Box<dyn std::any::Any>> {
        None
    }

    /// The runs that died before what they changed was settled, whoever started them.
    fn cut_off(&self) -> Vec<Box<dyn CutOff>> {
        Vec::new()
    }
}
