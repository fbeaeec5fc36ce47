//! The ports: what the core asks of others, by trait.
//!
//! - [`Gate`]: may this plan run now? The only source of a [`Token`], without which nothing runs.
//! - [`Journal`]: what is about to change and what became of it.
//! - [`Audit`]: what became of every call.
//!
//! The port for commands stands with what it speaks of, in `command.rs`.

use std::time::Duration;

use crate::alter::Alteration;
use crate::asked::{Asked, Earlier, NotAsked, Question, Requester};
use crate::call::{AgentName, Call, CallId};
use crate::change::{Act, Applied, Change, ChangeSet};
use crate::error::Result;
use crate::path::{LogicalPath, RelPath};
use crate::plan::{Effect, EffectKind, Plan};
use crate::vfs::{Refused, Vfs};
use crate::workspace::Workspace;

/// How much harm a call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// Nothing is lost if it was a mistake.
    Low,
    /// Something is replaced.
    Medium,
    /// Something is gone.
    High,
}

impl Risk {
    /// The word for configuration and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What the Gate is told about a call besides its plan.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The tool that was called.
    pub tool: &'a str,
    /// Its risk, from the tool's row, the plan and the rules.
    pub risk: Risk,
    /// What a person has to know who decides about it.
    pub asked: &'a dyn Asked,
}

impl<'a> Request<'a> {
    /// About what nobody is ever asked: a person's own acts, and what no agent decides.
    pub fn of_person(tool: &'a str, risk: Risk) -> Self {
        Self { tool, risk, asked: &NotAsked }
    }
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("tool", &self.tool).field("risk", &self.risk).finish_non_exhaustive()
    }
}

/// Decides whether a plan may run now.
pub trait Gate: Send + Sync {
    /// Lets it pass by granting the permit, parks it, or refuses with a reason.
    fn pass(&self, call: &Call<'_>, request: &Request<'_>, plan: &Plan, permit: Permit) -> Result<Passed, Refused>;

    /// Can somebody be asked here?
    fn asks(&self) -> bool {
        false
    }

    /// What became of the change of an identical command that ran before. Asking changes nothing: a call may be looked at
    /// before it is made.
    fn earlier(&self, _call: &Call<'_>, _request: &Request<'_>) -> Result<Earlier, Refused> {
        Ok(Earlier::Nothing { waiting: 0 })
    }

    /// Whoever asks hears now what became of it; the same command runs again from then on. False where another one has heard it
    /// before: it is told once.
    fn hears(&self, _id: &str, _requester: &Requester) -> Result<bool, Refused> {
        Ok(false)
    }

    /// What a person is asked about this call, which waits; nothing where it does not, or cannot be shown whole in words.
    fn question(&self, _agent: &AgentName, _id: &str, _tool: &str, _arguments: &str) -> Option<Question> {
        None
    }

    /// What was answered to a question.
    fn answered(&self, _id: &str, _by: &str, _agrees: bool) -> Result<(), Refused> {
        Err(Refused::Gate("there is nobody to ask".to_owned()))
    }

    /// What was held can no longer be made, and why: it goes, and the same command may run again.
    fn let_go(&self, _id: &str, _why: &str) {}
}

/// What the Gate answered.
#[derive(Debug)]
pub enum Passed {
    /// It may run now.
    Now(Token),
    /// A person has to decide first; this names what they decide.
    Parked(String),
    /// A person agreed to other arguments: the call is to be made with these, and with this token.
    Edited {
        /// The arguments, as one text.
        arguments: String,
        /// What proves it. Never for a model.
        token: String,
    },
}

/// Handed to a [`Gate`] with one plan; granting it gives the token for that plan and no other.
#[derive(Debug)]
pub struct Permit {
    pub(crate) plan: u64,
}

impl Permit {
    /// Lets the plan run.
    pub fn grant(self) -> Token {
        Token { plan: self.plan }
    }
}

/// Proof that a Gate let one plan pass. Used up by running it.
#[derive(Debug)]
pub struct Token {
    pub(crate) plan: u64,
}

/// Records effects around their execution, so that what was cut off can be told from what was done, and what was
/// done can be undone.
///
/// What it is told may wait, but for [`Journal::part_begins`]: everything told before is durable with it. The rest of a
/// call is durable with its record ([`Audit::record`]), before the call is acknowledged.
pub trait Journal: Send + Sync {
    /// Is what changes replace to be kept, so that they can be undone?
    fn keeps(&self) -> bool;
    /// Will what changes replace stay kept? No where all that may be kept is what nobody may let go of.
    fn has_room(&self) -> bool {
        true
    }
    /// A plan that the Gate let pass is about to run.
    fn begin(&self, call: &Call<'_>, plan: &Plan) -> Result<()>;
    /// A Store is about to be given a part. Durable before it is, with everything told before.
    fn part_begins(&self, _call: &Call<'_>, _part: &Part<'_>) -> Result<()> {
        Ok(())
    }
    /// One part of the plan is done.
    fn part_done(&self, call: &Call<'_>, done: &PartDone<'_>) -> Result<()>;
    /// The plan is over.
    fn end(&self, call: &Call<'_>, completed: bool);
    /// Did the agent of this call make what is at a place, and nobody else change it since? `now` says what is there.
    fn made_by(&self, _call: &Call<'_>, _workspace: &Workspace, _rel: RelPath<'_>, _now: &Effect) -> bool {
        false
    }
    /// What takes back what a call has changed that failed or was cut off, in the Workspaces of a person. To be run by
    /// `call`.
    fn way_back(&self, _vfs: &Vfs, _call: &Call<'_>, _undone: CallId) -> Result<WayBack, Refused> {
        Ok(WayBack::Nothing)
    }
}

/// What takes a call back that did not come to its end.
#[derive(Debug)]
pub enum WayBack {
    /// There is nothing to take back: it changed nothing, came to its end after all, or was undone.
    Nothing,
    /// It was made in the Workspaces of another agent.
    OfAnother,
    /// These changes.
    By(Vec<Alteration>),
}

/// A part of a plan: changes that one Store is given together.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Where.
    pub workspace: &'a Workspace,
    /// What is asked of the Store.
    pub set: &'a ChangeSet,
    /// Of the whole plan, what had a version when it was planned, or was to be made; by path.
    pub(crate) planned: &'a [Effect],
}

impl Part<'_> {
    /// What is known of a path before a change of the set: that it has a version, or that nothing is there.
    pub fn effect(&self, change: &Change) -> Option<&Effect> {
        let path = self.workspace.prefix().join(change.path());
        let from = self.planned.partition_point(|effect| effect.path < path);
        let here = self.planned[from..].iter().take_while(|effect| effect.path == path);
        here.into_iter().find(|effect| suits(effect.what, change.act()))
    }
}

/// Of several changes of one path, is this the effect of that one?
fn suits(what: EffectKind, act: &Act) -> bool {
    match act {
        Act::Delete => what == EffectKind::Delete,
        Act::MakeDir => what == EffectKind::MakeDir,
        Act::Dress { .. } => what == EffectKind::Dress,
        Act::Move { .. } => what == EffectKind::MoveAway,
        _ => matches!(what, EffectKind::Create | EffectKind::Replace | EffectKind::Append | EffectKind::Deliver),
    }
}

/// A part of a plan: what one Store made of its changes.
#[derive(Debug, Clone, Copy)]
pub struct PartDone<'a> {
    /// Which part, counted from 0.
    pub part: usize,
    /// Where.
    pub workspace: &'a Workspace,
    /// What was asked of the Store.
    pub set: &'a ChangeSet,
    /// What became of it.
    pub applied: &'a Applied,
}

/// A Journal for where nothing has to survive the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn keeps(&self) -> bool {
        false
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> Result<()> {
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, _: &PartDone<'_>) -> Result<()> {
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// Told of every call when it is over, denials and bad calls included. What is told never holds contents.
pub trait Audit: Send + Sync {
    /// Keeps the record. That of a call with an effect is as durable as promised when this returns, with all that the
    /// [`Journal`] was told of the call; without it the call is not acknowledged.
    fn record(&self, record: &CallRecord<'_>) -> Result<()>;

    /// Writes what waits. Called at the end.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Would a record wait for nobody now? Another may come a moment later.
    fn is_free(&self) -> bool {
        true
    }
}

/// What the audit keeps of one call.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// The call.
    pub call: CallId,
    /// Who called, or on whose Workspaces a person acted.
    pub agent: &'a AgentName,
    /// The person whose own act it was; nothing for what an agent did.
    pub by: Option<&'a str>,
    /// The tool, or the command of a person.
    pub tool: &'a str,
    /// The first path of the call as it was asked for, if it named one.
    pub path: &'a str,
    /// The Workspace that the path belongs to.
    pub workspace: Option<&'a LogicalPath>,
    /// What became of it: done, denied, failed, invalid, parked.
    pub outcome: &'a str,
    /// Why not, in a word for programs; empty when it was done.
    pub reason: &'a str,
    /// Its risk, where it got as far as being weighed.
    pub risk: Option<Risk>,
    /// How many bytes of content went in or came out.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// Did it change anything, or try to?
    pub effect: bool,
}

/// An Audit for where nothing is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAudit;

impl Audit for NoAudit {
    fn record(&self, _: &CallRecord<'_>) -> Result<()> {
        Ok(())
    }
}
