//! What happened to a path, what a call changed, and the way back: undo and restore, as a person's acts.
//!
//! It decides nothing: what can be taken back is the history's to say, and every change goes through the guard.

mod back;

use std::collections::BTreeMap;

use paddock_core::{AgentName, AgentPolicy, CallId, LogicalPath, NoAudit, RelPath, visible};
use paddock_ledger::history::{CallQuery, CallRow, CallState, ChangeRow, History, Page, Planned, Spot};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

pub use back::{Restored, Undone, choose, restore, undo, when};

use crate::desk::Desk;
use crate::diff::Diff;
use crate::failure::{Failure, Result};
use crate::{moment, past};

/// The most rows of one answer to a program.
pub const MOST: usize = 10_000;
/// How many changes of one call are shown with their lines.
const WITH_LINES: usize = 50;

/// Which part of a list: behind the row with this number, and how many rows.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Only rows behind the one with this `seq`: what is older.
    pub after: Option<i64>,
    /// The most rows.
    pub limit: usize,
}

impl Part {
    /// The newest rows.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }

    fn page(self) -> Page {
        Page { limit: self.limit, before: self.after }
    }
}

/// One change of one path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Change {
    /// Names this change; [`diff`] takes it.
    pub id: String,
    /// Later changes have larger numbers; `after` takes it.
    pub seq: i64,
    /// When.
    pub at: String,
    /// The call that made it.
    pub call: String,
    /// Whose call it was, or on whose Workspaces a person acted.
    pub agent: String,
    /// The person whose own act it was; nothing for what an agent did.
    pub by: Option<String>,
    /// What happened: `write`, `append`, `edit`, `make_dir`, `move`, `delete`, …
    pub what: String,
    /// The path as it was called at that time.
    pub path: String,
    /// The other end of a move.
    pub to: Option<String>,
    /// Was it new?
    pub new: bool,
    /// How many bytes of content went in.
    pub bytes: u64,
    /// The version that it left; `restore` takes it.
    pub version: Option<String>,
}

impl Change {
    fn of(row: &ChangeRow) -> Self {
        Self {
            id: format!("{}.{}.{}", row.call, row.part, row.index),
            seq: row.seq,
            at: moment::exact(row.at),
            call: row.call.to_string(),
            agent: row.agent.clone(),
            by: row.by.clone(),
            what: row.what.name().to_owned(),
            path: row.path_then(),
            to: row.to_then(),
            new: row.created,
            bytes: row.bytes,
            version: row.version.map(|version| version.to_string()),
        }
    }

    /// Did content go in?
    #[must_use]
    pub fn carries(&self) -> bool {
        matches!(self.what.as_str(), "write" | "append" | "edit")
    }
}

/// One call that changed something, or tried to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CallShown {
    /// Later calls have larger numbers; `after` takes it.
    pub seq: i64,
    /// When it began.
    pub at: String,
    /// Its id.
    pub call: String,
    /// Who called, or on whose Workspaces a person acted.
    pub agent: String,
    /// The person whose own act it was; nothing for what an agent did.
    pub by: Option<String>,
    /// The operation, in a word.
    pub operation: String,
    /// The path that was asked for.
    pub path: String,
    /// How many changes it made.
    pub changes: u64,
    /// Of a command, its text and how it ended.
    pub note: Option<String>,
    /// Does nobody mean it who takes back the last call?
    pub by_the_way: bool,
    /// `open`, `completed` or `failed`.
    pub state: String,
    /// The call that it undoes.
    pub undoes: Option<String>,
    /// The call that undid it.
    pub undone_by: Option<String>,
    /// What it was about to change, while it has not ended.
    pub may_have_changed: Vec<String>,
}

impl CallShown {
    fn of(history: &History, row: &CallRow) -> Result<Self> {
        let planned = match row.state {
            CallState::Open => history.planned(row.call).map_err(past::told)?,
            CallState::Completed | CallState::Failed => Vec::new(),
        };
        let state = match row.state {
            CallState::Open => "open",
            CallState::Completed => "completed",
            CallState::Failed => "failed",
        };
        Ok(Self {
            seq: row.seq,
            at: moment::exact(row.began),
            call: row.call.to_string(),
            agent: row.agent.clone(),
            by: row.by.clone(),
            operation: row.op.clone(),
            path: row.path.clone(),
            changes: row.changes,
            note: row.note.clone(),
            by_the_way: row.is_aside,
            state: state.to_owned(),
            undoes: row.undoes.map(|call| call.to_string()),
            undone_by: row.undone_by.map(|call| call.to_string()),
            may_have_changed: planned.iter().map(Planned::path_then).collect(),
        })
    }
}

/// A change with what it did to the content.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeDiff {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// What the path is called today, where it still has a place in a Workspace of the agent.
    pub path_now: Option<String>,
    /// The lines.
    pub diff: Diff,
}

/// One call with everything that it changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CallChanges {
    /// The call.
    #[serde(flatten)]
    pub call: CallShown,
    /// Its changes, in the order in which they were made.
    pub changed: Vec<ChangeDiff>,
}

/// The changes of a path and of what is below it, newest first; nothing where nothing happened yet.
///
/// # Errors
/// When no Workspace of the agent that keeps a history covers the path, or the history cannot be read.
pub fn changes(desk: &Desk, agent: &AgentName, path: &str, part: Part) -> Result<Vec<Change>> {
    let Some(history) = recorded(desk)? else { return Ok(Vec::new()) };
    let policy = desk.policy(agent)?.current();
    let path = policy.path(path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let mut found = BTreeMap::new();
    for spot in spots(&policy, &path)? {
        let rows = history.log(&spot, part.page()).map_err(past::told)?;
        found.extend(rows.into_iter().map(|row| (row.seq, row)));
    }
    Ok(found.into_values().rev().take(part.page().limit).map(|row| Change::of(&row)).collect())
}

/// Where the path, and every Workspace below it, keeps its history.
fn spots(policy: &AgentPolicy, path: &LogicalPath) -> Result<Vec<Spot>> {
    let vfs = &policy.vfs;
    let below = vfs.workspaces().iter().filter(|workspace| workspace.prefix().below(path).is_some());
    let spots: Vec<Spot> =
        Spot::find(vfs, path).into_iter().chain(below.filter_map(|w| Spot::of(w, RelPath::HERE))).collect();
    if spots.is_empty() { Err(uncovered(path)) } else { Ok(spots) }
}

fn uncovered(path: &LogicalPath) -> Failure {
    Failure::missing(
        format!("no Workspace that keeps a history covers \"{path}\""),
        "`paddock map` shows the Workspaces of the agent; --agent names another",
    )
}

/// The calls that changed something, newest first; of one agent, or of all.
///
/// # Errors
/// When the history cannot be read.
pub fn calls(desk: &Desk, agent: Option<&AgentName>, part: Part) -> Result<Vec<CallShown>> {
    let Some(history) = recorded(desk)? else { return Ok(Vec::new()) };
    let which = CallQuery { agent, ..CallQuery::default() };
    let rows = history.calls(&which, part.page()).map_err(past::told)?;
    rows.iter().map(|row| CallShown::of(history, row)).collect()
}

/// One call, by its id or the beginning of it, with its changes and their lines.
///
/// # Errors
/// When there is no such call.
pub fn call(desk: &Desk, id: &str) -> Result<CallChanges> {
    let history = recorded(desk)?.ok_or_else(|| no_such_call(id))?;
    let row = history.find_call(id).map_err(past::told)?;
    let rows = history.changes(row.call).map_err(past::told)?;
    // An agent that is gone from the configuration has no Workspaces to read from.
    let policy =
        AgentName::parse(&row.agent).ok().and_then(|agent| desk.policy(&agent).ok()).map(|policy| policy.current());
    let shown = |(n, change): (usize, &ChangeRow)| match &policy {
        Some(policy) if n < WITH_LINES => with_lines(history, policy, change),
        Some(_) => bare(change, "the call has too many changes for showing the lines of all"),
        None => bare(change, "its agent is not in the configuration any more"),
    };
    Ok(CallChanges { call: CallShown::of(history, &row)?, changed: rows.iter().enumerate().map(shown).collect() })
}

/// What one change did, by its id, as far as the Workspaces of this agent reach it.
///
/// # Errors
/// When there is no such change.
pub fn diff(desk: &Desk, agent: &AgentName, change: &str) -> Result<ChangeDiff> {
    let missing = || {
        let message = format!("there is no change \"{}\"", visible(change));
        Failure::missing(message, "see `paddock log PATH` for those there are")
    };
    let history = recorded(desk)?.ok_or_else(missing)?;
    let mut words = change.split('.');
    let (call, part, index) = (words.next().and_then(CallId::parse), number(words.next()), number(words.next()));
    let rows = history.changes(call.ok_or_else(missing)?).map_err(past::told)?;
    let row = rows.iter().find(|row| (Some(row.part), Some(row.index)) == (part, index)).ok_or_else(missing)?;
    Ok(with_lines(history, &desk.policy(agent)?.current(), row))
}

fn number(word: Option<&str>) -> Option<u64> {
    word?.parse().ok()
}

fn with_lines(history: &History, policy: &AgentPolicy, row: &ChangeRow) -> ChangeDiff {
    let person = Person::on(policy, &NoAudit);
    let change = Change::of(row);
    let path_now = back::left_at(row, &person).map(|path| path.to_string());
    if !change.carries() && change.what != "delete" && change.what != "restore" {
        return ChangeDiff { change, path_now, diff: Diff::without("no content changed") };
    }
    let content = |content: paddock_ledger::history::Result<paddock_ledger::history::Content>| {
        content.ok().and_then(|content| past::recall(&person, &content))
    };
    let (before, after) = (content(history.content_before(row)), content(history.content_after(row)));
    ChangeDiff { change, path_now, diff: Diff::of(before.as_deref(), after.as_deref()) }
}

fn bare(row: &ChangeRow, why: &str) -> ChangeDiff {
    ChangeDiff { change: Change::of(row), path_now: None, diff: Diff::without(why) }
}

/// The history, where anything was recorded yet. Asking an embedded database would make it.
pub(crate) fn recorded(desk: &Desk) -> Result<Option<&Arc<History>>> {
    let kept = desk.project().has_ledger(desk.installation())?;
    Ok(desk.installation().history().filter(|_| kept))
}

fn no_such_call(id: &str) -> Failure {
    Failure::missing(format!("there is no call \"{}\"", visible(id)), "see `paddock log` for the calls there are")
}
