//! `paddock instance` as people write it: conversations, looked at and cared for by a person.
//!
//! Keys are texts here: whether one can name an instance is said with a hint, by the command.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use paddock_core::AgentName;

/// `paddock instance`
#[derive(Debug, Subcommand)]
pub(crate) enum Instance {
    /// Show the instances there are, the last changed first
    List(InstanceList),
    /// Show what is known of an instance: its agent, its messages, its open turn, who holds it
    Show {
        /// The key of the instance
        key: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the conversation of an instance
    Messages(InstanceMessages),
    /// End a turn that was cut off, keeping what it said, so that the next can begin
    Restart {
        /// The key of the instance
        key: String,
        /// Begin anew: without the messages and the state of extensions
        #[arg(long)]
        fresh: bool,
        /// With --fresh: do not ask
        #[arg(long, short, requires = "fresh")]
        yes: bool,
    },
    /// Remove instances with their messages and the state of their extensions
    Delete {
        /// The keys of the instances
        #[arg(required = true, value_name = "KEY")]
        keys: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Show which lines of a damaged conversation can be kept, and keep these
    Repair {
        /// The key of the instance
        key: String,
        /// Put what can be kept in the place of the damaged files, which are kept aside
        #[arg(long)]
        apply: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a conversation as plain JSON lines, for other programs and for `import`
    Export(InstanceExport),
    /// Make a new instance of a conversation that was exported, or that goondan wrote; --agent says whose
    Import(InstanceImport),
}

/// `paddock instance list`
#[derive(Debug, Args)]
pub(crate) struct InstanceList {
    /// Only those of this agent
    #[arg(long, short, value_name = "NAME", value_parser = super::agent_name)]
    pub(crate) agent: Option<AgentName>,

    /// The most that is shown
    #[arg(short, value_name = "N", default_value_t = 20)]
    pub(crate) n: usize,

    /// Show all of them
    #[arg(long, conflicts_with = "n")]
    pub(crate) all: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock instance messages`
#[derive(Debug, Args)]
pub(crate) struct InstanceMessages {
    /// The key of the instance
    pub(crate) key: String,

    /// Only the last so many
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,

    /// Print as one JSON array
    #[arg(long)]
    pub(crate) json: bool,

    /// Print one message per line, as JSON
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
}

/// `paddock instance export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock instance export main backup              a new directory, with everything
  paddock instance export main chat.jsonl --messages
  paddock instance export main | jq .data.content  the messages, one per line")]
pub(crate) struct InstanceExport {
    /// The key of the instance
    pub(crate) key: String,

    /// A directory that is not there yet, or is empty; "-" prints the messages, one per line
    #[arg(value_name = "DIR|-", default_value = "-", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,

    /// Write the messages alone, one per line, into a new file
    #[arg(long)]
    pub(crate) messages: bool,
}

/// `paddock instance import`
#[derive(Debug, Args)]
#[command(after_help = "A line that is no message is refused with its number, and nothing is imported then.

Examples:
  paddock instance import main backup
  paddock instance import copy chat.jsonl --agent reviewer
  paddock instance export main | paddock instance import copy -")]
pub(crate) struct InstanceImport {
    /// The key of the new instance
    pub(crate) key: String,

    /// The directory of an instance, or a file with one message per line; "-" reads standard input
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
}
