//! `paddock fork`, `diff`, `apply`, `resolve` and `discard` as people write them.

use clap::Args;
use paddock_core::AgentName;

use super::agent_name;

/// `paddock fork`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock fork /project/workspace try
  paddock fork /notes review --agent reviewer --from main
  paddock fork --list")]
pub(crate) struct Fork {
    /// The Workspace that it stands on, as the agent that has it writes it
    #[arg(required_unless_present = "list")]
    pub(crate) workspace: Option<String>,

    /// Its name: the fork is a Workspace at /forks/NAME
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,

    /// An agent that gets it; more than once for several [default: main]
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    pub(crate) agent: Vec<AgentName>,

    /// The agent that has the Workspace [default: the first of --agent, or main]
    #[arg(long, value_name = "AGENT", value_parser = agent_name)]
    pub(crate) from: Option<AgentName>,

    /// Show the forks that there are
    #[arg(long, conflicts_with_all = ["workspace", "name", "agent", "from"])]
    pub(crate) list: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock diff`
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The name of a fork, or the prefix of an overlay
    #[arg(value_name = "NAME|PREFIX")]
    pub(crate) layer: String,

    /// Only these paths, here or below, with what they hold [default: all]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Also what a .gitignore names, such as build output
    #[arg(long)]
    pub(crate) ignored: bool,

    /// One line for each path instead of its content
    #[arg(long)]
    pub(crate) stat: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock apply`
#[derive(Debug, Args)]
#[command(
    after_help = "Where both sides changed a text in different places, both changes are kept. What a .gitignore names stays in the fork, unless --ignored takes it over, too.

Exit codes: 0 applied, 1 refused because of conflicts, which are listed, or of a path that is denied, or failed; then nothing is changed. A dry run ends as the apply would."
)]
pub(crate) struct Apply {
    /// The name of a fork, or the prefix of an overlay
    #[arg(value_name = "NAME|PREFIX")]
    pub(crate) layer: String,

    /// Also what a .gitignore names, such as build output
    #[arg(long)]
    pub(crate) ignored: bool,

    /// A path that stays in the fork, with what is below it; more than once for several
    #[arg(long, value_name = "PATH")]
    pub(crate) except: Vec<String>,

    /// Only say what would change
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock resolve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock resolve try src/main.rs --keep here
  paddock resolve /try notes.md --keep below
  paddock resolve try --all --keep below

The side that is not kept is changed now, as an act of yours that `paddock undo` takes back. `paddock apply` then takes over the rest.")]
pub(crate) struct Resolve {
    /// The name of a fork, or the prefix of an overlay
    #[arg(value_name = "NAME|PREFIX")]
    pub(crate) layer: String,

    /// The paths in conflict, as `paddock diff` and `paddock apply` name them, here or below
    #[arg(value_name = "PATH", required_unless_present = "all")]
    pub(crate) paths: Vec<String>,

    /// Every path in conflict
    #[arg(long, conflicts_with = "paths")]
    pub(crate) all: bool,

    /// Which side is kept: the fork's or overlay's (here), or that of what it stands on (below)
    #[arg(long)]
    pub(crate) keep: Keep,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A side of a conflict.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Keep {
    /// What the fork or the overlay holds
    Here,
    /// What the Workspace below holds
    Below,
}

/// `paddock discard`
#[derive(Debug, Args)]
pub(crate) struct Discard {
    /// The name of a fork, or the prefix of an overlay
    #[arg(value_name = "NAME|PREFIX")]
    pub(crate) layer: String,

    /// Do not ask, whatever is lost
    #[arg(long, short)]
    pub(crate) yes: bool,
}
