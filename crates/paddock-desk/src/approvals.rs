//! What waits for a person, shown whole; what was decided; and what is allowed without asking again.
//!
//! One approval is shown whole. Many together come without their lines, which nobody makes for them: each may have very many.
//!
//! A look makes nothing on disk. A decision ([`deciding`]) is bound to what was looked at: whoever decides says which state of
//! the request they saw, and of several decisions one counts.

pub mod changes;
mod cut;
pub mod deciding;

use paddock_core::{Preview, Requester, visible};
use paddock_ledger::approvals::{Approval, ApprovalError, ApprovalQuery, Approvals, Decision, Grant, Reach, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::desk::Desk;
use crate::diff::MOST_LINES;
use crate::failure::{Failure, FailureKind, Result};
use crate::moment;

/// The most ids that are named where several may be meant.
const MOST_NAMED: usize = 5;

pub use changes::ChangeShown;
pub use deciding::{Decided, DecisionAsked, DecisionWord, Made, decide, revoke};

/// The most that one look at many gives.
pub const MOST: usize = 100;

/// A call that a person is asked about, or was.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ApprovalShown {
    /// What it is called.
    pub id: String,
    /// `pending`, `approved`, `edited`, `rejected`, `expired`, or `overtaken`: what it was about had moved on, and nothing was made.
    pub status: String,
    /// The agent that asks.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The first path of the call.
    pub path: String,
    /// The command, where it is one; in a list its first KiB.
    pub command: Option<String>,
    /// The arguments, without secrets. In a list, of each text the first KiB, and how many bytes are left out.
    pub arguments: Value,
    /// How many bytes of texts are left out of these arguments, and of those that were put in their place; 0: none.
    pub arguments_cut: u64,
    /// Are the arguments those of the call, with no secret taken out?
    pub arguments_whole: bool,
    /// `low`, `medium` or `high`.
    pub risk: String,
    /// The rule that says so, with its line; nothing: what the call does says it.
    pub rule: Option<String>,
    /// The process or connection that asks.
    pub session: String,
    /// The thread of a run.
    pub thread_id: Option<String>,
    /// The person on whose behalf it runs.
    pub user_id: Option<String>,
    /// When it was asked.
    pub requested_at: String,
    /// Until when it can be decided and used.
    pub expires_at: String,
    /// When it was decided.
    pub decided_at: Option<String>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why it was rejected, for the agent; why nothing was made, where it was overtaken.
    pub reason: Option<String>,
    /// The arguments that a person put in the place of the agent's.
    pub edited: Option<Value>,
    /// How far the decision reaches.
    pub reach: Option<String>,
    /// The call that used it.
    pub used_by: Option<String>,
    /// Is it about what a command changed already, and holds?
    pub held: bool,
    /// How many paths would change and how, and how many lines; nothing where that is not known.
    pub summary: String,
    /// Every path that would change; the first of them where they are too many to be named. In a list without the lines: `more` of each diff
    /// says how many they are.
    pub changes: Vec<ChangeShown>,
    /// Where all paths that would change lie, and how many there, if not every one of them is named.
    pub spots: Vec<String>,
    /// What would change as text, for people; nothing in a list. It is not made to be read by programs: `changes` is.
    pub preview: String,
    /// Is all that would change shown?
    pub whole: bool,
    /// Lines that would be added, by all paths.
    pub added: u64,
    /// Lines that would be removed, by all paths.
    pub removed: u64,
    /// Stands for what is shown here: a decision says it.
    pub shown: String,
    /// How far agreeing can reach, while it waits.
    pub reaches: Vec<Offer>,
}

impl ApprovalShown {
    /// How many lines there are that are not told here.
    #[must_use]
    pub fn more(&self) -> u64 {
        self.changes.iter().map(|change| change.diff.more).sum()
    }
}

/// How much of what would change is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All of it.
    Whole,
    /// The first lines, as many as one diff has elsewhere.
    FirstLines,
    /// Every path, and no lines.
    Paths,
}

impl Extent {
    fn lines(self) -> usize {
        match self {
            Self::Whole => usize::MAX,
            Self::FirstLines => MOST_LINES,
            Self::Paths => 0,
        }
    }

    /// Cuts texts where many are listed; gives how many bytes it left out.
    fn cuts(self, value: &mut Value) -> u64 {
        if self == Self::Paths { cut::texts(value) } else { 0 }
    }

    /// The text for people. What has no parts has nothing else.
    fn text(self, preview: &Preview) -> String {
        let is_told = match self {
            Self::Whole => true,
            Self::FirstLines => !preview.has_parts(),
            Self::Paths => false,
        };
        if is_told { preview.to_string() } else { String::new() }
    }
}

/// One way to agree.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Offer {
    /// How far.
    pub reach: ReachWord,
    /// What that means here.
    pub words: String,
    /// Why it cannot be chosen.
    pub withheld: Option<String>,
}

impl Offer {
    /// Keeps it for where all lines are shown.
    fn withhold_unseen(&mut self) {
        self.withheld.get_or_insert_with(|| "not all of what it would change is shown here".to_owned());
    }
}

/// How far a decision reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReachWord {
    /// This call, once.
    Once,
    /// This exact call, as often as it comes; of a command, as often as it makes the same change.
    Exact,
    /// This tool, for as long as the session lasts that asked.
    Session,
    /// This tool on this path, until the grant is revoked.
    Always,
}

impl ReachWord {
    /// All, the nearest first.
    pub const ALL: [Self; 4] = [Self::Once, Self::Exact, Self::Session, Self::Always];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Reach::from(self).name()
    }

    /// Does it reach to calls that nobody has seen?
    fn is_of_other_calls(self) -> bool {
        matches!(self, Self::Session | Self::Always)
    }
}

impl From<ReachWord> for Reach {
    fn from(word: ReachWord) -> Self {
        match word {
            ReachWord::Once => Self::Once,
            ReachWord::Exact => Self::Exact,
            ReachWord::Session => Self::Session,
            ReachWord::Always => Self::Always,
        }
    }
}

/// Something that is allowed without asking again.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GrantShown {
    /// What it is called.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// `exact`, `session` or `always`.
    pub reach: String,
    /// What it covers, in words.
    pub covers: String,
    /// Only on this path.
    pub path: Option<String>,
    /// Only in this session.
    pub session: Option<String>,
    /// Up to this risk.
    pub risk: String,
    /// When it was given.
    pub granted_at: String,
    /// By whom.
    pub granted_by: String,
    /// The approval it came from.
    pub approval: String,
    /// When it was last used.
    pub last_used: Option<String>,
    /// How often.
    pub uses: i64,
}

/// Which approvals are wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAsked {
    /// `waiting` (where nothing is said), `decided` or `all`.
    #[serde(default)]
    pub which: Option<Which>,
    /// Only of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Only of this thread.
    #[serde(default)]
    pub thread: Option<String>,
    /// Those behind this one: the last id of the page before.
    #[serde(default)]
    pub after: Option<String>,
    /// The most: up to 100.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
}

/// Those that wait, or those that do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Nobody decided yet.
    Waiting,
    /// Decided, or over.
    Decided,
    /// All of them.
    All,
}

/// What waits in a project, as far as anything was ever recorded there.
pub(crate) fn recorded(desk: &Desk) -> Result<Option<&Approvals>> {
    Ok(if desk.is_recorded()? { desk.approvals().ok().map(|approvals| &**approvals) } else { None })
}

/// Approvals without the lines that would change, the newest first; a page of them where a limit is said.
///
/// # Errors
/// When they cannot be asked for.
pub fn list(desk: &Desk, asked: &ListAsked) -> Result<Vec<ApprovalShown>> {
    listed(desk, asked, |approval| shown(&approval, Extent::Paths))
}

/// The same with the first lines of each, to decide about them one beside the other. Nobody agrees there for longer to what is not shown
/// there whole.
///
/// # Errors
/// When they cannot be asked for.
pub fn inbox(desk: &Desk, asked: &ListAsked) -> Result<Vec<ApprovalShown>> {
    listed(desk, asked, |approval| {
        let mut one = shown(&approval, Extent::FirstLines);
        if one.more() > 0 {
            one.reaches.iter_mut().filter(|offer| offer.reach.is_of_other_calls()).for_each(Offer::withhold_unseen);
        }
        one
    })
}

fn listed<T>(desk: &Desk, asked: &ListAsked, each: impl FnMut(Approval) -> T) -> Result<Vec<T>> {
    let which = asked.which.unwrap_or(Which::Waiting);
    let query = ApprovalQuery {
        all: which == Which::All,
        decided: which == Which::Decided,
        agent: asked.agent.clone(),
        thread: asked.thread.clone(),
        after: asked.after.clone(),
        limit: asked.limit,
    };
    recorded(desk)?.map_or(Ok(Vec::new()), |approvals| approvals.list_as(&query, each)).map_err(told)
}

/// How many wait.
///
/// # Errors
/// When they cannot be asked for.
pub fn waiting(desk: &Desk) -> Result<u64> {
    recorded(desk)?.map_or(Ok(0), Approvals::waiting).map_err(told)
}

/// One approval, by its id or the beginning of it that no other has.
///
/// # Errors
/// When there is none, or several begin so.
pub fn show(desk: &Desk, id: &str) -> Result<ApprovalShown> {
    find(desk, id).map(|found| whole(&found))
}

/// The approval with this id, or the only one whose id begins so: of those that wait, or else of all.
pub(super) fn find(desk: &Desk, id: &str) -> Result<Approval> {
    let none = || told(ApprovalError::NoApproval(visible(id)));
    let approvals = recorded(desk)?.ok_or_else(none)?;
    match approvals.show(id) {
        Err(ApprovalError::NoApproval(_)) if !id.is_empty() => {}
        other => return other.map_err(told),
    }
    let all = approvals.begins(id).map_err(told)?;
    let waiting: Vec<&String> = all.iter().filter(|(_, waits)| *waits).map(|(id, _)| id).collect();
    let meant = match (waiting.as_slice(), all.as_slice()) {
        ([only], _) => *only,
        (_, [(only, _)]) => only,
        (_, []) => return Err(none()),
        ([], several) => {
            let text =
                format!("nothing waits; \"{}\" begins the ids of {} that are decided", visible(id), several.len());
            return Err(Failure::misused(text, "write more letters"));
        }
        (several, _) => {
            let text = format!("\"{}\" begins the ids of {} that wait", visible(id), several.len());
            let some: Vec<&str> = several.iter().take(MOST_NAMED).map(|id| id.as_str()).collect();
            return Err(Failure::misused(text, format!("write more letters: {}", some.join(", "))));
        }
    };
    approvals.show(meant).map_err(told)
}

/// Of what waits, this is no longer wanted.
pub(crate) fn withdraw(
    desk: &Desk,
    among: &ApprovalQuery,
    why: &str,
    unwanted: impl Fn(&Approval) -> bool,
) -> Result<()> {
    let Some(approvals) = recorded(desk)? else { return Ok(()) };
    let found = approvals.list_as(among, |one| unwanted(&one).then_some(one.id)).map_err(told)?;
    for id in found.iter().flatten() {
        let reject = Decision::Reject(why.to_owned());
        approvals.decide(id, None, desk.by(), &reject).map_err(told)?;
    }
    Ok(())
}

/// What is allowed without asking, the newest first.
///
/// # Errors
/// When it cannot be asked for.
pub fn grants(desk: &Desk, agent: Option<&str>) -> Result<Vec<GrantShown>> {
    let found = all_grants(desk)?;
    Ok(found.iter().filter(|grant| agent.is_none_or(|agent| agent == grant.agent)).map(grant_shown).collect())
}

fn all_grants(desk: &Desk) -> Result<Vec<Grant>> {
    recorded(desk)?.map_or(Ok(Vec::new()), Approvals::grants).map_err(told)
}

/// The grant with this id, or the only one whose id begins so.
pub(super) fn find_grant(desk: &Desk, id: &str) -> Result<Grant> {
    let mut meant: Vec<Grant> = all_grants(desk)?.into_iter().filter(|grant| grant.id.starts_with(id)).collect();
    if let Some(exact) = meant.iter().position(|grant| grant.id == id) {
        return Ok(meant.swap_remove(exact));
    }
    match meant.len() {
        1 if !id.is_empty() => Ok(meant.remove(0)),
        0 | 1 => Err(told(ApprovalError::NoGrant(visible(id)))),
        several => Err(too_many(id, several)),
    }
}

fn too_many(id: &str, several: usize) -> Failure {
    Failure::misused(
        format!("\"{}\" begins the ids of {several}", visible(id)),
        "write more letters of the one that is meant",
    )
}

/// Why something cannot be done to an approval, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn told(error: ApprovalError) -> Failure {
    let kind = match error {
        ApprovalError::NoApproval(_) | ApprovalError::NoGrant(_) => FailureKind::Missing,
        ApprovalError::Decided { .. } | ApprovalError::NotAsShown(_) => FailureKind::Conflict,
        ApprovalError::Database(_) => FailureKind::Broken,
        _ => FailureKind::Failed,
    };
    let hint = match error {
        ApprovalError::Decided { status: Status::Rejected, until, .. } => format!(
            "it stands until {}; where the file has changed by then, or paddock.toml has, the call is asked about anew",
            moment::shown(moment::of_millis(until))
        ),
        _ => error.hint().to_owned(),
    };
    Failure::of(kind, visible(&error.to_string()), hint)
}

/// How far a decision reaches, in plain words.
pub(crate) fn in_words(reach: Reach, approval: &Approval) -> String {
    let (tool, agent) = (&approval.tool, visible(&approval.agent));
    let risk = approval.risk.name();
    match reach {
        Reach::Once => "this call, once".to_owned(),
        Reach::Exact if approval.held.is_some() => {
            format!("this exact command of {agent}, as often as it makes the same change")
        }
        Reach::Exact => format!("this exact call of {agent}, as often as it comes"),
        Reach::Session => format!("every {tool} of {agent} up to {risk} risk, until the session ends that asked"),
        Reach::Always => format!(
            "every {tool} of {agent} on {} up to {risk} risk, until the grant is revoked",
            visible(&approval.path)
        ),
    }
}

/// Nobody agrees for longer to what they did not see whole.
fn offers(approval: &Approval) -> Vec<Offer> {
    let offer = |word: ReachWord| {
        let withheld = withheld(word, approval).map(str::to_owned);
        Offer { reach: word, words: in_words(word.into(), approval), withheld }
    };
    ReachWord::ALL.into_iter().map(offer).collect()
}

fn withheld(word: ReachWord, approval: &Approval) -> Option<&'static str> {
    match word {
        _ if word.is_of_other_calls() && !approval.preview.whole => Some("what it would change cannot be shown whole"),
        ReachWord::Always if approval.preview.has_moves() => Some("what is moved, and where to, would be left open"),
        ReachWord::Session if Requester::is_of_one_call(&approval.session) => {
            Some("the process that asked made this one call and has ended")
        }
        _ => None,
    }
}

/// All of an approval.
pub(super) fn whole(approval: &Approval) -> ApprovalShown {
    shown(approval, Extent::Whole)
}

fn shown(approval: &Approval, extent: Extent) -> ApprovalShown {
    let preview = &approval.preview;
    let mut room = extent.lines();
    let mut arguments: Value = serde_json::from_str(&approval.arguments).unwrap_or(Value::Null);
    let mut edited: Option<Value> = approval.edited.as_ref().and_then(|edited| serde_json::from_str(edited).ok());
    let left_out = extent.cuts(&mut arguments) + edited.as_mut().map_or(0, |edited| extent.cuts(edited));
    let command = arguments.get("command").filter(|_| approval.tool == "execute_command").map(in_a_line);
    let is_pending = approval.status == Status::Pending;
    // The token is for the call alone.
    ApprovalShown {
        id: approval.id.clone(),
        status: approval.status.name().to_owned(),
        agent: approval.agent.clone(),
        tool: approval.tool.clone(),
        path: approval.path.clone(),
        command,
        arguments,
        arguments_cut: left_out,
        arguments_whole: approval.shows_all_arguments(),
        risk: approval.risk.name().to_owned(),
        rule: approval.rule.clone(),
        session: approval.session.clone(),
        thread_id: approval.thread.clone(),
        user_id: approval.user.clone(),
        requested_at: exact(approval.requested_at),
        expires_at: exact(approval.expires_at),
        decided_at: approval.decided_at.map(exact),
        decided_by: approval.decided_by.clone(),
        reason: approval.reason.clone(),
        edited,
        reach: approval.reach.clone(),
        used_by: approval.used_by.clone(),
        held: approval.held.is_some(),
        summary: preview.summary(),
        changes: preview.paths.iter().map(|path| changes::shown(path, &mut room)).collect(),
        spots: preview.spots.iter().map(ToString::to_string).collect(),
        preview: extent.text(preview),
        whole: preview.whole,
        added: preview.totals.added,
        removed: preview.totals.removed,
        shown: approval.shown(),
        reaches: if is_pending { offers(approval) } else { Vec::new() },
    }
}

/// A command may be one text, or its words.
fn in_a_line(command: &Value) -> String {
    match command {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let word = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
            words.iter().map(word).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

fn grant_shown(grant: &Grant) -> GrantShown {
    GrantShown {
        id: grant.id.clone(),
        agent: grant.agent.clone(),
        tool: grant.tool.clone(),
        reach: grant.reach().name().to_owned(),
        covers: covered(grant),
        path: grant.path.clone(),
        session: grant.session.clone(),
        risk: grant.risk.name().to_owned(),
        granted_at: exact(grant.granted_at),
        granted_by: grant.granted_by.clone(),
        approval: grant.approval.clone(),
        last_used: grant.last_used.map(exact),
        uses: grant.uses,
    }
}

fn covered(grant: &Grant) -> String {
    let (tool, risk) = (&grant.tool, grant.risk.name());
    match grant.reach() {
        Reach::Once | Reach::Exact => format!("{tool}, exactly the call of {}", grant.approval),
        Reach::Session => {
            let session = visible(grant.session.as_deref().unwrap_or_default());
            format!("{tool} up to {risk} risk in session {session}")
        }
        Reach::Always => {
            format!("{tool} on {} up to {risk} risk", visible(grant.path.as_deref().unwrap_or_default()))
        }
    }
}

fn exact(millis: i64) -> String {
    moment::exact(moment::of_millis(millis))
}

/// The JSON Schema of the arguments that an edited call can have; nothing where the agent no longer has the tool.
///
/// # Errors
/// When the agent has no policy.
pub fn schema(desk: &Desk, approval: &ApprovalShown) -> Result<Option<Value>> {
    let agent = crate::workspaces::agent_named(desk, Some(&approval.agent))?;
    let tools = desk.toolbox(&agent)?.tools();
    let tool = tools.into_iter().find(|tool| tool.name == approval.tool);
    Ok(tool.map(|tool| Value::Object((*tool.input_schema).clone())))
}
