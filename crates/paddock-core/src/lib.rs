//! The domain of Paddock: what an agent perceives, and the guard in front of it.
//!
//! A [`Workspace`] is a logical directory with one [`AccessScope`] and a [`Mount`] behind it. A
//! [`Vfs`] holds the Workspaces of one agent. Every operation goes the same way through it:
//!
//! 1. [`Vfs::plan`] judges each path the operation touches and refuses what the policy denies;
//! 2. [`Vfs::ask`] puts the plan before the [`Gate`], the only source of a [`Token`];
//! 3. [`Vfs::run`] takes plan and token, and hands the [`Store`] a [`Place`] or a [`ChangeSet`].
//!
//! Only the Vfs can mint a `Place` or a `ChangeSet`, so no Store can be reached with the guard left
//! out. This crate does no I/O and depends on no runtime; Stores do the work elsewhere.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod alter;
mod asked;
mod browse;
mod call;
mod change;
mod command;
mod decision;
mod edit;
mod error;
mod facts;
mod first_look;
mod found;
mod git;
mod gits_files;
mod gits_index;
mod gits_lists;
mod glob;
mod groups;
mod guarded;
mod host;
mod moving;
mod names;
mod own;
mod path;
mod place;
mod plan;
mod policy;
mod ports;
mod preview;
mod repository;
mod risk_rules;
mod router;
mod run;
mod scope;
mod staged;
mod store;
mod surroundings;
mod text;
mod unfinished;
mod vfs;
mod view;
mod workspace;

pub use alter::{Alter, Alteration};
pub use asked::{Asked, Earlier, Held, Holding, Large, Notify, Question, Requester, Terms, Waiting};
pub use call::{AgentName, BadAgentName, Call, CallId, Cancel};
pub use change::{
    Act, Applied, AppliedChange, Before, Change, ChangeSet, Expect, Kept, Looks, PLAIN_MODE, Quota, Usage,
};
pub use command::{
    CommandLimits, CommandLine, CommandRunner, CommandSettings, CommandSpec, Commands, CutOff, NotRun, Output,
    OutputSink, Proposed, Ran, Stage,
};
pub use decision::{Decision, Denial, DenyRule, Rule, list_some};
pub use edit::{EditError, MAX_EDITED, Replacement, edit};
pub use error::{ErrorKind, Result, StoreError};
pub use found::{Found, FoundList};
pub use gits_lists::{MAX_LIST, is_read_by_git};
pub use glob::PathGlob;
pub use groups::written_out;
pub use guarded::{GUARDED, GuardedName};
pub use host::{AllowedHost, BadHost, Host, split_port};
pub use names::{HidePattern, NameRuleError, NameRules, OWN_NAMES, TEMP_PREFIX, fold};
pub use own::Own;
pub use path::{
    LogicalPath, MAX_NAME, MAX_PATH, PathError, RelPath, RelPathBuf, is_plain_name, is_unseen, tree_order, visible,
};
pub use place::Place;
pub use plan::{Browse, Effect, EffectKind, Entries, Hits, Operation, Outcome, Plan, Search, Was};
pub use policy::{AgentPolicy, BearerToken, WebSearch};
pub use ports::{
    Audit, CallRecord, Gate, Journal, NoAudit, NoJournal, Part, PartDone, Passed, Permit, Request, Risk, Token, WayBack,
};
pub use preview::{Changed, DiffHunk, DiffLine, Fate, LineFate, Preview, Spot, Totals};
pub use risk_rules::{RiskRule, RiskRules};
pub use scope::{AccessScope, OpKind, UnknownScope};
pub use staged::Staged;
pub use store::{
    Entry, EntrySink, Hit, KeptIn, Kind, LastName, Meta, Pieces, Query, Sink, Store, Version, Versioned, Walk,
};
pub use text::{SNIFF, TextKind, suited_to};
pub use vfs::{BuildError, MAX_EXPANSION, Refused, Vfs};
pub use view::View;
pub use workspace::{Mount, Origin, Territory, Workspace};
