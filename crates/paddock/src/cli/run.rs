//! `paddock run`, `resume` and `threads`, as people write them.

use clap::{Args, Subcommand, ValueEnum};
use paddock_agent::Settled;
use paddock_agent::state::{AgentMode, TrustLevel};

/// `paddock run`
#[derive(Debug, Args)]
#[command(
    after_help = "A run plans, works step by step, and asks you before what is risky. It can be resumed on any machine that has its state.

Examples:
  paddock run \"add a test for the parser\" --model openai:gpt-5
  paddock run \"what does this project do?\" --mode consulting
  paddock run \"try it\" --model script:answers.jsonl --no-wait

Exit codes: 0 done, 1 failed or with a question, 3 waiting for an approval."
)]
pub(crate) struct Run {
    /// What is to be done
    pub(crate) task: String,

    /// The model: openai:NAME, anthropic:NAME, compatible:NAME or script:FILE [default: [model] in paddock.toml]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How far it may go
    #[arg(long, value_enum, default_value_t = ModeWord::Execution)]
    pub(crate) mode: ModeWord,

    /// How much it is trusted with: deleting needs admin
    #[arg(long, value_enum, default_value_t = LevelWord::User)]
    pub(crate) level: LevelWord,

    /// Only these tools, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,

    /// The name of the thread; one that is over goes on with this task [default: a new one]
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,
}

/// `paddock resume`
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The thread, or the beginning of its name
    pub(crate) thread: String,

    /// What became of a call that was cut off, as you have seen it
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) it_was: Option<SettledWord>,

    /// Another model than it had
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,
}

/// How a run is watched.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Do not ask here: stop where a person has to decide, with exit code 3
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Print what came of it as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Say nothing while it works
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `paddock threads`
#[derive(Debug, Subcommand)]
pub(crate) enum Threads {
    /// Show the runs there are, the newest first
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one run: its plan and what each node did
    Show {
        /// The thread, or the beginning of its name
        thread: String,
        /// Print as JSON: the thread, its state and its checkpoints
        #[arg(long)]
        json: bool,
    },
    /// Begin another run where one was at one of its steps
    Fork {
        /// The thread
        thread: String,
        /// The checkpoint, as `threads show` numbers them
        #[arg(long, value_name = "STEP")]
        at: u64,
        /// The name of the new thread [default: a new one]
        #[arg(long, value_name = "THREAD")]
        name: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// End a run; whoever works on it can do nothing more
    Cancel {
        /// The thread, or the beginning of its name
        thread: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Go through a run again from its record, without a model and without an effect, and see whether it comes to the same
    Replay {
        /// The thread
        thread: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// How far an agent may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// Look and answer, with read tools alone
    Consulting,
    /// Make a plan, and nothing else
    Planning,
    /// Work
    Execution,
}

impl From<ModeWord> for AgentMode {
    fn from(word: ModeWord) -> Self {
        match word {
            ModeWord::Consulting => Self::Consulting,
            ModeWord::Planning => Self::Planning,
            ModeWord::Execution => Self::Execution,
        }
    }
}

/// How much a run is trusted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelWord {
    /// Everyday work
    User,
    /// Also deleting
    Admin,
    /// All that the policy provides
    System,
}

impl From<LevelWord> for TrustLevel {
    fn from(word: LevelWord) -> Self {
        match word {
            LevelWord::User => Self::User,
            LevelWord::Admin => Self::Admin,
            LevelWord::System => Self::System,
        }
    }
}

/// What a person has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettledWord {
    /// It took effect
    Done,
    /// It did not
    NotDone,
}

impl From<SettledWord> for Settled {
    fn from(word: SettledWord) -> Self {
        match word {
            SettledWord::Done => Self::Done,
            SettledWord::NotDone => Self::NotDone,
        }
    }
}
