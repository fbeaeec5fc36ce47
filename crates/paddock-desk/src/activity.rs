//! What every call asked for and what became of it: the audit, as the person in charge reads it.
//!
//! Texts are as they were asked for: whoever shows them sees to it that nothing in them deceives.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use paddock_config::Installation;
use paddock_core::{AgentName, CallId, LogicalPath, visible};
use paddock_ledger::audit::{AuditError, AuditLog, Cursor, Filter, Kind, Report, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::desk::Desk;
use crate::explain::{self, Explained};
use crate::failure::{Failure, FailureKind, Result};
use crate::history::{self, CallChanges};
use crate::{approvals, moment, past};

/// Rows where nobody says how many.
pub const USUAL: usize = 100;
/// The most rows of one answer.
pub const MOST: usize = 10_000;
/// What becomes of calls, in the words of the rows.
pub const OUTCOMES: [&str; 6] = ["done", "denied", "failed", "invalid", "parked", "lost"];
/// The longest time that is counted.
const MOST_HOURS: u64 = 31 * 24;
const HOUR: i64 = 3_600_000;

/// One row of the audit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Act {
    /// Which chain; each process has its own.
    pub chain: u64,
    /// Its number in the chain, counted from 1.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// `intent`, `outcome` or `gap`.
    pub kind: String,
    /// The call.
    pub call: String,
    /// Who called, or on whose Workspaces a person acted.
    pub agent: String,
    /// The person whose own act it was; nothing for what an agent did.
    pub by: Option<String>,
    /// The tool, the operation of an intent, or the command of a person.
    pub tool: String,
    /// The Workspace that the path belongs to.
    pub workspace: Option<String>,
    /// The path as it was asked for.
    pub path: String,
    /// What became of it; empty in an intent.
    pub outcome: String,
    /// Why not, in a word for programs.
    pub reason: String,
    /// Its risk, where it was weighed.
    pub risk: Option<String>,
    /// How many bytes of content went in or came out.
    pub bytes: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// The hash of the row before.
    pub prev: String,
    /// The signature over all of this.
    pub hash: String,
    /// When, as RFC 3339 has it.
    pub time: String,
    /// Where the row is; `after` takes it.
    pub cursor: String,
}

impl Act {
    /// Of a row.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        let hex = |bytes: &[u8; 32]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let kind = match row.kind {
            Kind::Intent => "intent",
            Kind::Outcome => "outcome",
            Kind::Gap => "gap",
        };
        Self {
            chain: row.chain,
            seq: row.seq,
            at: row.at,
            kind: kind.to_owned(),
            call: row.call.to_string(),
            agent: row.agent.clone(),
            by: row.by.clone(),
            tool: row.tool.clone(),
            workspace: row.workspace.clone(),
            path: row.path.clone(),
            outcome: row.outcome.clone(),
            reason: row.reason.clone(),
            risk: row.risk.map(|risk| risk.name().to_owned()),
            bytes: row.bytes,
            took_us: row.took_us,
            prev: hex(&row.prev),
            hash: hex(&row.hash),
            time: moment::exact(moment::of_millis(row.at)),
            cursor: format!("{}.{}.{}", row.at, row.chain, row.seq),
        }
    }
}

/// Which rows; what is not said is not asked.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// The own acts of this person, as the rows name them.
    #[serde(default)]
    pub by: Option<String>,
    /// In this Workspace.
    #[serde(default)]
    pub workspace: Option<String>,
    /// Of this path and what is below it.
    #[serde(default)]
    pub path: Option<String>,
    /// With this outcome: `done`, `denied`, `failed`, `parked`, …
    #[serde(default)]
    pub outcome: Option<String>,
    /// Of this tool, operation or command.
    #[serde(default)]
    pub tool: Option<String>,
    /// Of this call.
    #[serde(default)]
    pub call: Option<String>,
    /// Not before this moment.
    #[serde(default)]
    pub since: Option<String>,
    /// Not after this moment.
    #[serde(default)]
    pub until: Option<String>,
    /// The newest first, rather than the oldest.
    #[serde(default)]
    pub newest_first: bool,
    /// Only what became of calls, not that they began.
    #[serde(default)]
    pub ended: bool,
    /// The `cursor` of the last row that was seen: those behind it follow, in the order that is asked for.
    #[serde(default)]
    pub after: Option<String>,
    /// The most rows, up to 10,000; nothing: 100.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// How many calls ended how, in one hour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hour {
    /// When it begins.
    pub from: String,
    /// Done.
    pub done: u64,
    /// Denied by the policy, or rejected by a person.
    pub denied: u64,
    /// Waiting for a person.
    pub waiting: u64,
    /// Failed, and everything else.
    pub failed: u64,
}

/// What a check of the audit came to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Verified {
    /// Is everything as it was written?
    pub ok: bool,
    /// Chains looked at.
    pub chains: u64,
    /// Rows looked at.
    pub rows: u64,
    /// Rows that could not be kept when they came, as rows say.
    pub lost: u64,
    /// How often a person took the database as it was.
    pub accepted: u64,
    /// Chains that a person had removed.
    pub pruned_chains: u64,
    /// Their rows.
    pub pruned_rows: u64,
    /// What is wrong, for programs.
    pub findings: Vec<Value>,
    /// How much more is wrong.
    pub more: u64,
    /// What is wrong, in words.
    pub said: Vec<String>,
}

impl Verified {
    fn of(report: &Report) -> Self {
        Self {
            ok: report.is_ok(),
            chains: report.chains,
            rows: report.rows,
            lost: report.lost,
            accepted: report.accepted,
            pruned_chains: report.pruned_chains,
            pruned_rows: report.pruned_rows,
            findings: report.findings.iter().filter_map(|finding| serde_json::to_value(finding).ok()).collect(),
            more: report.more,
            said: report.findings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Everything that is known about one call.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CallStory {
    /// Its rows in the audit, in the order of time.
    pub acts: Vec<Act>,
    /// What it changed, where it changed something.
    pub changes: Option<CallChanges>,
    /// What the policy says today about what was denied.
    pub why: Option<Explained>,
    /// The approval that it waited for, that let it through, or that it decided.
    pub approval: Option<StoryApproval>,
}

/// Who decided about a call, and what came of that.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoryApproval {
    /// What the approval is called.
    pub id: String,
    /// `pending`, `approved`, `edited`, `rejected`, `expired` or `overtaken`.
    pub status: String,
    /// Who decided.
    pub decided_by: Option<String>,
    /// The call that made the change.
    pub used_by: Option<String>,
}

/// The audit, where anything was recorded yet. Asking an embedded database would make it.
///
/// # Errors
/// When the configuration has problems.
pub fn recorded(desk: &Desk) -> Result<Option<&Arc<AuditLog>>> {
    let kept = desk.project().has_ledger(desk.installation())?;
    Ok(desk.installation().audit_log().filter(|_| kept))
}

/// The rows that fit.
///
/// # Errors
/// When what is asked for cannot be, or the audit cannot be read.
pub fn query(desk: &Desk, wanted: &Wanted) -> Result<Vec<Act>> {
    let mut filter = filter(desk, wanted)?;
    let place = wanted.after.as_deref().map(cursor).transpose()?;
    let limit = wanted.limit.unwrap_or(USUAL);
    let Some(log) = recorded(desk)? else { return Ok(Vec::new()) };
    let rows = if wanted.newest_first {
        filter.before = place;
        let mut rows = log.tail(&filter, limit).map_err(past::audit_problem)?;
        rows.reverse();
        rows
    } else {
        filter.after = place;
        filter.limit = Some(limit);
        log.query(&filter).map_err(past::audit_problem)?.rows
    };
    Ok(rows.iter().map(Act::of).collect())
}

fn filter(desk: &Desk, wanted: &Wanted) -> Result<Filter> {
    Ok(Filter {
        agent: wanted.agent.clone(),
        by: wanted.by.clone(),
        workspace: wanted.workspace.as_deref().map(path).transpose()?,
        path: wanted.path.as_deref().map(path).transpose()?,
        outcome: wanted.outcome.as_deref().map(outcome).transpose()?,
        tool: wanted.tool.clone(),
        call: wanted.call.as_deref().map(|id| call_id(desk, id)).transpose()?,
        since: wanted.since.as_deref().map(time).transpose()?,
        until: wanted.until.as_deref().map(time).transpose()?,
        ended: wanted.ended,
        ..Filter::default()
    })
}

/// A word that no call ends with would find nothing, and that would read as if nothing had happened.
fn outcome(word: &str) -> Result<String> {
    let known = OUTCOMES.contains(&word);
    known.then(|| word.to_owned()).ok_or_else(|| {
        let hint = format!("the outcomes are {}", OUTCOMES.join(", "));
        Failure::misused(format!("no call has the outcome \"{}\"", visible(word)), hint)
    })
}

fn cursor(text: &str) -> Result<Cursor> {
    let mut words = text.split('.');
    let read = (|| {
        let (at, chain, seq) = (words.next()?, words.next()?, words.next()?);
        let cursor = Cursor { at: at.parse().ok()?, chain: chain.parse().ok()?, seq: seq.parse().ok()? };
        words.next().is_none().then_some(cursor)
    })();
    let fits = |cursor: &Cursor| i64::try_from(cursor.chain).is_ok() && i64::try_from(cursor.seq).is_ok();
    read.filter(fits).ok_or_else(|| {
        Failure::misused(format!("\"{}\" is no place in the audit", visible(text)), "take the cursor of a row")
    })
}

/// A path as it stands in the rows.
fn path(text: &str) -> Result<String> {
    let path = LogicalPath::parse(text, &LogicalPath::top());
    path.map(|path| path.to_string()).map_err(|error| Failure::misused(&error, error.hint()))
}

/// A moment that a person wrote, in milliseconds since 1970.
///
/// # Errors
/// When it is none.
pub fn time(text: &str) -> Result<i64> {
    let time = moment::parse(text, SystemTime::now());
    time.map(moment::millis)
        .ok_or_else(|| Failure::misused(format!("\"{}\" is no moment", visible(text)), moment::WAYS))
}

/// A call by its id; one that changed something also by the beginning of it.
fn call_id(desk: &Desk, id: &str) -> Result<CallId> {
    if let Some(call) = CallId::parse(&id.to_ascii_lowercase()) {
        return Ok(call);
    }
    Ok(past::history(desk.installation())?.find_call(id).map_err(past::told)?.call)
}

/// Everything about one call.
///
/// # Errors
/// When there is no such call.
pub fn call(desk: &Desk, id: &str) -> Result<CallStory> {
    let wanted = Wanted { call: Some(id.to_owned()), limit: Some(MOST), ..Wanted::default() };
    let acts = query(desk, &wanted)?;
    let changes = match history::call(desk, id) {
        Ok(changes) => Some(changes),
        Err(failure) if failure.kind() == FailureKind::Missing => None,
        Err(failure) => return Err(failure),
    };
    if acts.is_empty() && changes.is_none() {
        let message = format!("there is no call \"{}\"", visible(id));
        return Err(Failure::missing(message, "`paddock audit tail` shows the last ones"));
    }
    let denied = acts.iter().find(|act| act.outcome == "denied");
    let why = denied.and_then(|act| {
        let agent = AgentName::parse(&act.agent).ok()?;
        explain::why(desk, &agent, &act.tool, &act.path).ok()
    });
    let approval = approval_of(desk, &acts)?;
    Ok(CallStory { acts, changes, why, approval })
}

/// A call that waits is recorded under the name of its approval, and so is a decision; one that was let through is known to that.
fn approval_of(desk: &Desk, acts: &[Act]) -> Result<Option<StoryApproval>> {
    let Some((approvals, first)) = approvals::recorded(desk)?.zip(acts.first()) else { return Ok(None) };
    let used = CallId::parse(&first.call).map(|call| approvals.used_by(call)).transpose().map_err(approvals::told)?;
    let named = || acts.iter().find_map(|act| act.reason.split(':').next().filter(|id| id.starts_with("ap-")));
    let waited = || approvals.show(named()?).ok();
    Ok(used.flatten().or_else(waited).map(|approval| StoryApproval {
        id: approval.id,
        status: approval.status.name().to_owned(),
        decided_by: approval.decided_by,
        used_by: approval.used_by,
    }))
}

/// How many calls ended how, for each of the last hours, the oldest first.
///
/// # Errors
/// When the audit cannot be read.
pub fn hours(desk: &Desk, hours: u64) -> Result<Vec<Hour>> {
    let hours = i64::try_from(hours.clamp(1, MOST_HOURS)).unwrap_or(1);
    let this = moment::millis(SystemTime::now()) / HOUR;
    let first = this - hours + 1;
    let mut spans: Vec<Hour> = (first..=this)
        .map(|hour| Hour { from: moment::exact(moment::of_millis(hour * HOUR)), ..Hour::default() })
        .collect();
    let Some(log) = recorded(desk)? else { return Ok(spans) };
    for count in log.counts(first * HOUR, HOUR).map_err(past::audit_problem)? {
        let index = usize::try_from(count.from / HOUR - first).unwrap_or(usize::MAX);
        let Some(span) = spans.get_mut(index) else { continue };
        let slot = match count.outcome.as_str() {
            "done" => &mut span.done,
            "denied" | "rejected" => &mut span.denied,
            "parked" | "waiting" => &mut span.waiting,
            _ => &mut span.failed,
        };
        *slot += count.count;
    }
    Ok(spans)
}

/// Is the audit as it was written?
///
/// # Errors
/// When it cannot be looked at, or there is nothing to compare it with.
pub fn verify(desk: &Desk) -> Result<Verified> {
    can_be_verified(desk.installation())?;
    let report = match recorded(desk)? {
        Some(log) => log.verify().map_err(past::audit_problem)?,
        None => Report::default(),
    };
    Ok(Verified::of(&report))
}

/// Without the key, or with everything gone that it signed, there is nothing to compare.
///
/// # Errors
/// When there is nothing to compare with.
pub fn can_be_verified(installation: &Installation) -> Result<()> {
    if let Some(path) = installation.key_gone() {
        return Err(past::audit_problem(AuditError::KeyGone { path: path.clone() }));
    }
    let Some(place) = installation.taken_away() else { return Ok(()) };
    let message = format!("\"{}\" was taken away, with all that was recorded in it", place.display());
    Err(Failure::failed(message, "put it back, or what `paddock backup` made; the head of its audit is still there"))
}

/// Writes every row as one line of JSON; gives how many.
///
/// # Errors
/// When the audit cannot be read, or whoever takes it goes away.
pub fn export(desk: &Desk, out: &mut dyn Write) -> Result<u64> {
    match recorded(desk)? {
        Some(log) => log.export(out).map_err(past::audit_problem),
        None => Ok(0),
    }
}
