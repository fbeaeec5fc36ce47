//! The way back: undoing a call, and restoring a path to an earlier moment.

use std::fmt::Write as _;
use std::time::SystemTime;

use paddock_core::{
    AgentName, AgentPolicy, CallId, ErrorKind, LogicalPath, Operation, Outcome, Refused, Version, visible,
};
use paddock_ledger::history::{
    CallRow, ChangeRow, Conflict, Content, History, HistoryError, Moment, Restoration, Spot, Undo as Way,
};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{recorded, uncovered};
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::{moment, past, project, unified};

/// Conflicts that are shown with their differences.
const SHOWN: usize = 10;

/// What was undone, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Undone {
    /// The call that is undone.
    pub undoes: String,
    /// The call that did it, where it was done.
    pub call: Option<String>,
    /// Was it done?
    pub done: bool,
    /// What it changes, a line for each path.
    pub changes: Vec<String>,
    /// The undone call in a few words.
    #[serde(skip)]
    pub named: String,
    /// What no undo of this agent's calls takes back, in words.
    #[serde(skip)]
    pub apart: Option<String>,
}

/// What was restored, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Restored {
    /// The path.
    pub path: String,
    /// The call that did it, where it was done.
    pub call: Option<String>,
    /// Was it done?
    pub done: bool,
    /// What it changes, a line for each path; none when it has not changed since.
    pub changes: Vec<String>,
}

/// The call that is meant: by its id or the beginning of it, else the last one of the agent that can be undone.
///
/// # Errors
/// When there is none.
pub fn choose(desk: &Desk, id: Option<&str>, agent: Option<&AgentName>) -> Result<CallRow> {
    let history = happened(desk)?;
    if let Some(id) = id {
        return history.find_call(id).map_err(past::told);
    }
    let agent = agent.cloned().unwrap_or_else(AgentName::main);
    history.last_call(Some(&agent)).map_err(past::told)?.ok_or_else(|| {
        let message = format!("agent \"{agent}\" has changed nothing that could be undone");
        Failure::missing(message, "`paddock log` shows the calls there are; name one, or another agent with --agent")
    })
}

/// Takes back what a call changed. It acts on the Workspaces of the agent that called, unless another is named.
///
/// # Errors
/// When there is no such call, or something newer is in the way. Nothing was changed then.
pub fn undo(desk: &Desk, id: Option<&str>, agent: Option<&AgentName>, dry_run: bool) -> Result<Undone> {
    let chosen = choose(desk, id, agent)?;
    let agent = match agent {
        Some(agent) => agent.clone(),
        None => AgentName::parse(&chosen.agent)
            .map_err(|error| Failure::failed(error, "name the agent whose Workspaces are meant with --agent"))?,
    };
    let (policy, audit) = (desk.policy(&agent)?.current(), desk.audit());
    let undoing = Undoing { history: happened(desk)?, person: Person::on(&policy, &*audit).named(desk.by()), chosen };
    let (way, call) = if dry_run {
        (undoing.way(&undoing.person.call())?, None)
    } else {
        project::count_first()?;
        let (way, call) = undoing.act()?;
        (way, Some(call))
    };
    let is_direct = policy.commands.as_ref().is_some_and(|commands| commands.settings.direct);
    Ok(Undone {
        undoes: undoing.chosen.call.to_string(),
        call: call.map(|call| call.to_string()),
        done: call.is_some(),
        changes: way.says(),
        named: undoing.named(),
        apart: is_direct.then(|| {
            format!(
                "what commands of agent \"{agent}\" changed is not undone: `changes = \"direct\"` keeps no past of it"
            )
        }),
    })
}

/// Brings a path to an earlier moment: a version, a time, or how a call left things.
///
/// # Errors
/// When the moment is none, or the path has no history. Nothing was changed then.
pub fn restore(desk: &Desk, agent: &AgentName, path: &str, at: &str, dry_run: bool) -> Result<Restored> {
    let at = when(desk, at)?;
    let policy = desk.policy(agent)?.current();
    let path = policy.path(path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let (way, call) = restored(desk, &policy, &path, at, dry_run)?;
    Ok(Restored {
        path: path.to_string(),
        call: call.map(|call| call.to_string()),
        done: call.is_some(),
        changes: way.says(),
    })
}

fn restored(
    desk: &Desk,
    policy: &AgentPolicy,
    path: &LogicalPath,
    at: Moment,
    dry_run: bool,
) -> Result<(Restoration, Option<CallId>)> {
    let audit = desk.audit();
    let person = Person::on(policy, &*audit).named(desk.by());
    let call = person.call();
    let spot = Spot::find(person.vfs(), path).ok_or_else(|| uncovered(path))?;
    let way = happened(desk)?.restore_to(person.vfs(), &call, &spot, at).map_err(past::told)?;
    if dry_run || way.alterations.is_empty() {
        return Ok((way, None));
    }
    project::count_first()?;
    let acted = person.act("restore", &call, way.operation()).map_err(|refused| past::refused(&refused))?;
    Ok((way, Some(acted.call)))
}

/// The moment that a text means: a version, a time, or how a call left things.
///
/// # Errors
/// When it is none, is not over yet, or is before what the history keeps.
pub fn when(desk: &Desk, text: &str) -> Result<Moment> {
    let history = happened(desk)?;
    if let Some(version) = Version::parse(text) {
        return Ok(Moment::Version(version));
    }
    // An id is one word of letters and digits, and no way to write a time is.
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return as_left_by(history, text);
    }
    let now = SystemTime::now();
    let Some(time) = moment::parse(text, now) else {
        let hint = format!("{}, or the id of a call", moment::WAYS);
        return Err(Failure::misused(format!("\"{}\" is no moment", visible(text)), hint));
    };
    if time > now {
        return Err(Failure::misused(format!("\"{}\" is not over yet", visible(text)), "name a moment of the past"));
    }
    let kept_since = desk.installation().retention().age.and_then(|age| now.checked_sub(age));
    if let Some(since) = kept_since.filter(|since| time < *since) {
        let message =
            format!("the history is kept since {}, and \"{}\" is before", moment::shown(since), visible(text));
        return Err(Failure::failed(message, "keep it longer with `history.keep` under `virtual` in paddock.toml"));
    }
    Ok(Moment::Time(time))
}

fn as_left_by(history: &History, id: &str) -> Result<Moment> {
    match history.find_call(id) {
        Ok(call) => Ok(Moment::Call(call.call)),
        Err(HistoryError::NoSuchCall(_)) => {
            let message = format!("\"{id}\" is no moment, and no call that changed anything has this id");
            Err(Failure::missing(message, format!("{}, or an id that `paddock log` shows", moment::WAYS)))
        }
        Err(error) => Err(past::told(error)),
    }
}

/// The history, where there must be one.
fn happened(desk: &Desk) -> Result<&History> {
    recorded(desk)?.map_or_else(|| desk.history().map(|history| &**history), |history| Ok(history))
}

/// A call that is being undone.
struct Undoing<'d> {
    history: &'d History,
    person: Person<'d>,
    chosen: CallRow,
}

impl Undoing<'_> {
    fn way(&self, call: &paddock_core::Call<'_>) -> Result<Way> {
        self.history.undo(self.person.vfs(), call, self.chosen.call).map_err(|error| self.explain(error))
    }

    fn act(&self) -> Result<(Way, CallId)> {
        let mut keep_directories = false;
        loop {
            let call = self.person.call();
            let way = self.way(&call)?;
            let operation = if keep_directories { way.keeping_directories() } else { way.operation() };
            match self.person.act("undo", &call, operation) {
                Ok(acted) => return Ok((way, acted.call)),
                // Something came into a directory that would have gone: it stays.
                Err(refused) if !keep_directories && is_held(&refused) => keep_directories = true,
                Err(refused) => return Err(past::refused(&refused)),
            }
        }
    }

    /// The call in a few words.
    fn named(&self) -> String {
        let call = &self.chosen;
        let (op, path) = (visible(&call.op), visible(&call.path));
        format!("call {} of {} ({op} {path}, {})", call.call, visible(&call.agent), moment::shown(call.began))
    }

    /// Why it cannot be undone; with what is in the way, and what would be lost.
    fn explain(&self, error: HistoryError) -> Failure {
        let HistoryError::Newer(conflicts) = &error else { return past::told(error) };
        let mut text = format!("error: {} cannot be undone: something newer is in the way\n", self.named());
        let rows = self.history.changes(self.chosen.call).unwrap_or_default();
        for conflict in conflicts.iter().take(SHOWN) {
            text.push_str(&self.who(conflict));
            text.push_str(&self.difference(&rows, conflict).unwrap_or_default());
        }
        if conflicts.len() > SHOWN {
            let _ = writeln!(text, "and {} more paths", conflicts.len() - SHOWN);
        }
        let _ = write!(text, "hint: {}", error.hint());
        let newer = |conflict: &Conflict| {
            let calls: Vec<String> = conflict.newer.iter().map(ToString::to_string).collect();
            json!({ "path": conflict.path.as_str(), "newer": calls })
        };
        let details = json!({ "conflicts": conflicts.iter().map(newer).collect::<Vec<_>>() });
        Failure::told(text, FailureKind::Conflict).with_details(details)
    }

    /// Who changed the path since.
    fn who(&self, conflict: &Conflict) -> String {
        let path = &conflict.path;
        if conflict.newer.is_empty() {
            return format!("{path} was changed since, and not through Paddock\n");
        }
        let mut text = format!("{path} was changed since by\n");
        for call in &conflict.newer {
            let row = self.history.find_call(&call.to_string()).ok();
            let (agent, op) = row.as_ref().map_or(("", ""), |row| (&row.agent, &row.op));
            let at = row.as_ref().map(|row| moment::shown(row.began)).unwrap_or_default();
            let _ = writeln!(text, "  {at}  {call}  {}  {}", visible(agent), visible(op));
        }
        text
    }

    /// What undoing would lose: how the path differs from how the call left it. Where that is no longer known, how it
    /// differs from what it would hold again.
    fn difference(&self, rows: &[ChangeRow], conflict: &Conflict) -> Option<String> {
        let (person, path, call) = (&self.person, &conflict.path, self.chosen.call);
        let now = now(person, path)?;
        let now_name = format!("{path} (now)");
        let row = rows.iter().rev().find(|row| left_at(row, person) == Some(path.clone()));
        let left = row.and_then(|row| self.history.content_after(row).ok());
        if let Some(left) = left.and_then(|left| past::recall(person, &left)) {
            return Some(unified::diff((&format!("{path} (as call {call} left it)"), &left), (&now_name, &now)));
        }
        let spot = Spot::find(person.vfs(), path)?;
        let before = Content::Kept { spot, kept: conflict.before.clone()?, cut: None };
        let before = past::recall(person, &before)?;
        if row.is_none() {
            // It moved along, and what was kept since is what it was then.
            return Some(unified::diff((&format!("{path} (as call {call} left it)"), &before), (&now_name, &now)));
        }
        Some(unified::diff((&now_name, &now), (&format!("{path} (before call {call})"), &before)))
    }
}

fn is_held(refused: &Refused) -> bool {
    match refused {
        Refused::DeniedInside(_) => true,
        Refused::Store { source, .. } => *source.kind() == ErrorKind::NotEmpty,
        _ => false,
    }
}

/// Where what a change left is today.
pub(super) fn left_at(row: &ChangeRow, person: &Person<'_>) -> Option<LogicalPath> {
    let path = row.to.clone().unwrap_or_else(|| row.spot.path.clone());
    Spot { territory: row.spot.territory.clone(), path }.logical(person.vfs())
}

/// The content of today; nothing where it is no file, or too large to be shown.
fn now(person: &Person<'_>, path: &LogicalPath) -> Option<Vec<u8>> {
    match person.look(Operation::Read { path: path.clone(), range: 0..unified::LARGEST + 1 }) {
        Ok(Outcome::Read { bytes, .. }) => (bytes.len() as u64 <= unified::LARGEST).then_some(bytes),
        Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::NotFound => Some(Vec::new()),
        _ => None,
    }
}
