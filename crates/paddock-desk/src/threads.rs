//! The runs there are: how far each is, what it waits for, and what a person does with it.
//!
//! A run that is resumed here goes on in the background of the process ([`runs`]): its progress is in the record, whichever process looks.
//! What proves a decision is for the run alone, and is in no answer.

mod runs;
mod shown;

use paddock_agent::record::{Record, RecordError};
use paddock_agent::{RunError, RunSettings};
use paddock_core::{AgentName, CallId, CallRecord, visible};
use paddock_ledger::approvals::ApprovalQuery;
use paddock_state::InstanceKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approvals;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::running;

pub use runs::{ItWas, ResumeAsked, Resumed, Runs, resume};
pub use shown::{BoundsShown, CheckpointShown, CostShown, ForkedFrom, StepShown, ThreadDetail, ThreadShown, UsedShown};

/// The most threads, and the most checkpoints, that one look gives.
pub const MOST: usize = 200;

/// Going through a run again from its record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReplayShown {
    /// The thread.
    pub thread_id: String,
    /// How many checkpoints it has.
    pub checkpoints: u64,
    /// The first that does not come to the same again.
    pub differs_at: Option<u64>,
    /// What is not the same there: the node, and the part of what it left.
    pub why: Option<String>,
}

/// Another run that begins where one was.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkAsked {
    /// The checkpoint.
    pub at: u64,
    /// The name of the new thread; nothing: a new one.
    #[serde(default)]
    pub name: Option<String>,
}

/// The record, as far as anything was ever run here.
fn record(desk: &Desk) -> Result<Option<Record>> {
    let recorded = desk.is_recorded()?;
    Ok(running::record(desk.installation()).filter(|_| recorded))
}

/// Forgets what a run left beside its conversation: its record, outputs that were too long to be said, and what it waits for.
///
/// # Errors
/// When the record cannot be changed.
pub(crate) fn forget(desk: &Desk, key: &InstanceKey) -> Result<()> {
    let Some(record) = record(desk)? else { return Ok(()) };
    let about = match record.thread(key.as_str()) {
        Ok(about) => about,
        Err(RecordError::NoThread(_)) => return Ok(()),
        Err(error) => return Err(told(error)),
    };
    // The record last: whoever is cut off here finds it, and can begin again.
    withdraw(desk, &about.thread_id, "the run was deleted")?;
    // An agent that the file no longer names has no tools.
    if let Ok(agent) = AgentName::parse(&about.agent)
        && let Ok(toolbox) = desk.toolbox(&agent)
    {
        toolbox.forget_evicted(&about.thread_id);
    }
    record.forget(&about.thread_id).map_err(told)
}

/// Threads, the newest first: those behind `after`, and `limit` of them at most.
///
/// # Errors
/// When the record cannot be read.
pub fn list(desk: &Desk, after: Option<&str>, limit: Option<usize>) -> Result<Vec<ThreadShown>> {
    let Some(record) = record(desk)? else { return Ok(Vec::new()) };
    let threads = record.threads_after(after, limit.unwrap_or(usize::MAX)).map_err(told)?;
    Ok(threads.into_iter().map(|thread| shown::thread(desk, thread)).collect())
}

/// One thread with its plan and the first of its checkpoints.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn show(desk: &Desk, id: &str, limit: Option<usize>) -> Result<ThreadDetail> {
    let (record, id) = find(desk, id)?;
    let about = record.thread(&id).map_err(told)?;
    let last = record.checkpoint(&id, None).map_err(told)?;
    let most = limit.unwrap_or(usize::MAX);
    let checkpoints = record.checkpoints_after(&id, 0, most).map_err(told)?;
    Ok(shown::detail(desk, about, last.as_ref(), &checkpoints))
}

/// Checkpoints of a thread in order, behind one of them.
///
/// # Errors
/// When there is no such thread, or it cannot be read.
pub fn steps(desk: &Desk, id: &str, after: u64, limit: usize) -> Result<Vec<CheckpointShown>> {
    let (record, id) = find(desk, id)?;
    let found = record.checkpoints_after(&id, after, limit).map_err(told)?;
    Ok(found.iter().map(shown::checkpoint).collect())
}

/// What the last turn of a thread used up so far; nothing where it has not begun.
///
/// # Errors
/// When there is no such thread, or it cannot be read.
pub fn used(record: &Record, id: &str) -> Result<Option<UsedShown>> {
    Ok(record.checkpoint(id, None).map_err(told)?.map(|last| shown::used(&last.state.progress)))
}

/// Goes through a run again, without a model and without an effect.
///
/// # Errors
/// When there is no such thread, or it cannot be read.
pub fn replay(desk: &Desk, id: &str) -> Result<ReplayShown> {
    let (record, thread_id) = find(desk, id)?;
    let replayed = paddock_agent::replay(&record, &thread_id).map_err(run_told)?;
    let paddock_agent::Replayed { checkpoints, differs_at, why } = replayed;
    Ok(ReplayShown { thread_id, checkpoints, differs_at, why })
}

/// Ends a run: whoever works on it can do nothing more, and what it asked for is no longer wanted.
///
/// # Errors
/// When there is none, or it is over.
pub fn cancel(desk: &Desk, id: &str) -> Result<ThreadShown> {
    let (record, id) = find(desk, id)?;
    record.cancel(&id).map_err(told)?;
    withdraw(desk, &id, "the run was cancelled")?;
    let about = record.thread(&id).map_err(told)?;
    noted(desk, &about.agent, "threads cancel", "done");
    Ok(shown::thread(desk, about))
}

/// What it asked for is no longer wanted.
fn withdraw(desk: &Desk, thread: &str, why: &str) -> Result<()> {
    let query = ApprovalQuery { thread: Some(thread.to_owned()), ..ApprovalQuery::default() };
    approvals::withdraw(desk, &query, why, |_| true)
}

/// Begins another run where one was at one of its checkpoints.
///
/// # Errors
/// When there is no such checkpoint, the name is taken, or it is somebody else's.
pub fn fork(desk: &Desk, id: &str, asked: &ForkAsked) -> Result<ThreadShown> {
    let (record, id) = find(desk, id)?;
    let (from, to) = (key(&id)?, new_name(asked.name.as_deref())?);
    let about = record.thread(&id).map_err(told)?;
    let agent = agent_of(&about.agent);
    let (silent, settings) = (running::Chosen::nobody(), RunSettings::default());
    let runtime = running::runtime(desk, &agent, &silent, settings, std::sync::Arc::new(|_| {}))?;
    runtime.fork(&from, asked.at, &to, &user()).map_err(run_told)?;
    noted(desk, &about.agent, "threads fork", "done");
    Ok(shown::thread(desk, record.thread(to.as_str()).map_err(told)?))
}

/// The thread with this id, or the only one whose id begins so, and the record that has it.
///
/// # Errors
/// When there is none, or several begin so.
pub fn find(desk: &Desk, id: &str) -> Result<(Record, String)> {
    let none = || told(RecordError::NoThread(visible(id)));
    let record = record(desk)?.ok_or_else(none)?;
    match record.thread(id) {
        Ok(_) => return Ok((record, id.to_owned())),
        Err(RecordError::NoThread(_)) if !id.is_empty() => {}
        Err(error) => return Err(told(error)),
    }
    let mut meant = record.begins(id).map_err(told)?;
    match meant.len() {
        0 => Err(none()),
        1 => Ok((record, meant.remove(0))),
        several => Err(Failure::misused(
            format!("\"{}\" begins the ids of {several}", visible(id)),
            "write more letters of the one that is meant",
        )),
    }
}

/// The name of a new thread.
///
/// # Errors
/// When what is asked for cannot be one.
pub fn new_name(asked: Option<&str>) -> Result<InstanceKey> {
    match asked {
        Some(name) => key(name),
        None => key(&format!("run-{}", &CallId::next().to_string()[..18])),
    }
}

/// A thread's name as the key of its instance.
///
/// # Errors
/// When it cannot be one.
pub fn key(text: &str) -> Result<InstanceKey> {
    InstanceKey::new(text).map_err(|bad| Failure::misused(&bad, bad.hint()))
}

/// Who works at this machine: runs are theirs.
#[must_use]
pub fn user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("uid-{}", rustix::process::getuid().as_raw()))
}

fn agent_of(name: &str) -> AgentName {
    AgentName::parse(name).unwrap_or_else(|_| AgentName::main())
}

/// Writes down what was done with a run, for whoever watches; what was done does not depend on it.
pub(crate) fn noted(desk: &Desk, agent: &str, what: &str, outcome: &'static str) {
    let agent = agent_of(agent);
    let record = CallRecord {
        call: CallId::next(),
        agent: &agent,
        by: Some(desk.by()),
        tool: what,
        path: "",
        workspace: None,
        outcome,
        reason: if outcome == "done" { "" } else { "run" },
        risk: None,
        bytes: 0,
        took: std::time::Duration::ZERO,
        effect: true,
    };
    let audit = desk.audit();
    if let Err(error) = audit.record(&record).and_then(|()| audit.flush()) {
        tracing::warn!(%error, "what was done with a run could not be recorded");
    }
}

/// Why a record cannot be had, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn told(error: RecordError) -> Failure {
    Failure::of(kind_of(&error), &error, error.hint())
}

fn kind_of(error: &RecordError) -> FailureKind {
    match error {
        RecordError::NoThread(_) | RecordError::NoCheckpoint { .. } => FailureKind::Missing,
        RecordError::Exists(_) | RecordError::TakenOver(_) | RecordError::Over { .. } => FailureKind::Conflict,
        RecordError::Unreadable { .. } => FailureKind::Failed,
        RecordError::Database(_) => FailureKind::Broken,
    }
}

/// Why a run cannot go on, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn run_told(error: RunError) -> Failure {
    let kind = match &error {
        RunError::Record(error) => kind_of(error),
        RunError::Over(_) | RunError::Cancelled(_) | RunError::NotOver(_) => FailureKind::Conflict,
        RunError::NotYours(_) => FailureKind::Denied,
        RunError::Name(_) => FailureKind::Misused,
        _ => FailureKind::Failed,
    };
    Failure::of(kind, &error, error.hint())
}
