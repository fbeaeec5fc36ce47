//! `paddock approvals` as people write it: calls that wait for a person, and what was allowed for longer.

use clap::{Args, Subcommand, ValueEnum};

/// `paddock approvals`
#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// Show the calls that wait for a person, the newest first; --agent holds here too
    List {
        /// Also those that were decided, or that nobody decided in time
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one call: who asks, why, its arguments, and what it would change
    Show {
        /// The approval, or the beginning of its id
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Agree to a call; the agent makes it again, or what a command changed is made now
    Approve {
        /// The approval, or the beginning of its id
        id: String,
        /// How far it reaches
        #[arg(long, value_enum, default_value_t = ReachWord::Once)]
        reach: ReachWord,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Agree to a call with other arguments; they are judged by the policy as if the agent had written them
    Edit(ApprovalEdit),
    /// Refuse a call; the agent is told the reason
    Reject {
        /// The approval, or the beginning of its id
        id: String,
        /// What the agent is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what is allowed without asking again
    Grants {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a grant back: from the next call on it is asked again
    Revoke {
        /// The grant, or the beginning of its id
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// `paddock approvals edit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock approvals edit ap-4k2 --set path=workspace/old.txt
  paddock approvals edit ap-4k2 --arguments '{\"path\": \"workspace/old.txt\"}'

Without either, $VISUAL or $EDITOR opens with the arguments.")]
pub(crate) struct ApprovalEdit {
    /// The approval, or the beginning of its id
    pub(crate) id: String,

    /// All arguments, as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "set")]
    pub(crate) arguments: Option<String>,

    /// One argument; more than once for several. A value is JSON, or a text where it is none or was one
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How far a decision reaches, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReachWord {
    /// This call, once
    Once,
    /// This exact call, as often as it comes; of a command, as often as it makes the same change
    Exact,
    /// This tool, for as long as the session lasts that asked
    Session,
    /// This tool on this path, from now on, until the grant is revoked
    Always,
}

impl From<ReachWord> for paddock_desk::approvals::ReachWord {
    fn from(word: ReachWord) -> Self {
        match word {
            ReachWord::Once => Self::Once,
            ReachWord::Exact => Self::Exact,
            ReachWord::Session => Self::Session,
            ReachWord::Always => Self::Always,
        }
    }
}
