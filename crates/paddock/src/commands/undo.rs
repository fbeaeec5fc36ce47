//! `paddock undo`: takes back what a call changed, as a person's act.

use std::fmt::Write as _;

use paddock_core::{AgentName, CallId, ErrorKind, LogicalPath, Operation, Outcome, Refused, visible};
use paddock_ledger::history::{CallRow, ChangeRow, Conflict, Content, HistoryError, Spot, Undo as Way};
use paddock_tools::Person;
use serde_json::json;

use crate::cli::{Global, Undo};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use paddock_desk::FailureKind;
use paddock_desk::past::{self, Past};
use paddock_desk::{Project, project};
use paddock_desk::{moment, unified};

/// Conflicts that are shown with their differences.
const SHOWN: usize = 10;

pub(crate) fn run(global: &Global, options: &Undo, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let chosen = choose(&project, global, options)?;
    let agent = agent_of(global, &chosen)?;
    // A dry run makes nothing on disk either.
    let taken = if options.dry_run { project.looking_as(agent)? } else { project.working_as(agent)? };
    let past = Past::of(taken)?;
    let audit = past.installation.audit();
    let person = Person::on(&past.policy, &*audit);
    if !options.dry_run {
        project::count_first()?;
    }
    let done = if options.dry_run { plan(&past, &person, &chosen)? } else { act(&past, &person, &chosen)? };
    tell(&done, &chosen, options, printer)
}

/// What was done, or would be.
struct Done {
    way: Way,
    /// The call that did it.
    call: Option<CallId>,
}

/// The call that is to be undone.
fn choose(project: &Project, global: &Global, options: &Undo) -> anyhow::Result<CallRow> {
    let installation = project.installation()?;
    let history = past::history(&installation)?;
    if let Some(id) = &options.call {
        return Ok(history.find_call(id).map_err(past::told)?);
    }
    let agent = global.agent();
    history.last_call(Some(&agent)).map_err(past::told)?.ok_or_else(|| {
        let message = format!("agent \"{agent}\" has changed nothing that could be undone");
        Failure::failed(message, "`paddock log` shows the calls there are; name one, or another agent with --agent")
    })
}

/// Whose Workspaces are acted on: those of the agent that called, unless another is named.
fn agent_of(global: &Global, call: &CallRow) -> anyhow::Result<AgentName> {
    match &global.agent {
        Some(agent) => Ok(agent.clone()),
        None => AgentName::parse(&call.agent)
            .map_err(|error| Failure::failed(error, "name the agent whose Workspaces are meant with --agent")),
    }
}

fn plan(past: &Past, person: &Person<'_>, chosen: &CallRow) -> anyhow::Result<Done> {
    let call = person.call();
    let way =
        past.history.undo(person.vfs(), &call, chosen.call).map_err(|error| explain(past, person, chosen, error))?;
    Ok(Done { way, call: None })
}

fn act(past: &Past, person: &Person<'_>, chosen: &CallRow) -> anyhow::Result<Done> {
    let mut keep_directories = false;
    loop {
        let call = person.call();
        let way = past
            .history
            .undo(person.vfs(), &call, chosen.call)
            .map_err(|error| explain(past, person, chosen, error))?;
        let operation = if keep_directories { way.keeping_directories() } else { way.operation() };
        match person.act("undo", &call, operation) {
            Ok(acted) => return Ok(Done { way, call: Some(acted.call) }),
            // Something came into a directory that would have gone: it stays.
            Err(refused) if !keep_directories && is_held(&refused) => keep_directories = true,
            Err(refused) => return Err(past::refused(&refused).into()),
        }
    }
}

fn is_held(refused: &Refused) -> bool {
    match refused {
        Refused::DeniedInside(_) => true,
        Refused::Store { source, .. } => *source.kind() == ErrorKind::NotEmpty,
        _ => false,
    }
}

fn tell(done: &Done, chosen: &CallRow, options: &Undo, printer: &Printer) -> anyhow::Result<Ended> {
    let says = done.way.says();
    if options.json {
        printer.json(&json!({
            "undoes": chosen.call.to_string(),
            "call": done.call.map(|call| call.to_string()),
            "done": done.call.is_some(),
            "changes": says,
        }))?;
        return Ok(Ended::Done);
    }
    let verb = if done.call.is_some() { "undid" } else { "would undo" };
    printer.line(format_args!("{verb} {}", name(chosen)))?;
    for line in says {
        printer.line(format_args!("  {}", visible(&line)))?;
    }
    if let Some(call) = done.call {
        printer::tell(format_args!("`paddock undo {call}` takes this back"));
    }
    Ok(Ended::Done)
}

/// A call in a few words.
fn name(call: &CallRow) -> String {
    let (op, path) = (visible(&call.op), visible(&call.path));
    format!("call {} of {} ({op} {path}, {})", call.call, visible(&call.agent), moment::shown(call.began))
}

/// Why it cannot be undone; with what is in the way, and what would be lost.
fn explain(past: &Past, person: &Person<'_>, chosen: &CallRow, error: HistoryError) -> anyhow::Error {
    let HistoryError::Newer(conflicts) = &error else { return past::told(error).into() };
    let mut text = format!("error: {} cannot be undone: something newer is in the way\n", name(chosen));
    let rows = past.history.changes(chosen.call).unwrap_or_default();
    for conflict in conflicts.iter().take(SHOWN) {
        text.push_str(&who(past, conflict));
        text.push_str(&difference(past, person, &rows, chosen.call, conflict).unwrap_or_default());
    }
    if conflicts.len() > SHOWN {
        let _ = writeln!(text, "and {} more paths", conflicts.len() - SHOWN);
    }
    let _ = write!(text, "hint: {}", error.hint());
    Failure::told(text, FailureKind::Failed)
}

/// Who changed the path since.
fn who(past: &Past, conflict: &Conflict) -> String {
    let path = &conflict.path;
    if conflict.newer.is_empty() {
        return format!("{path} was changed since, and not through Paddock\n");
    }
    let mut text = format!("{path} was changed since by\n");
    for call in &conflict.newer {
        let row = past.history.find_call(&call.to_string()).ok();
        let (agent, op) = row.as_ref().map_or(("", ""), |row| (&row.agent, &row.op));
        let at = row.as_ref().map(|row| moment::shown(row.began)).unwrap_or_default();
        let _ = writeln!(text, "  {at}  {call}  {}  {}", visible(agent), visible(op));
    }
    text
}

/// What undoing would lose: how the path differs from how the call left it. Where that is no longer known, how it differs from
/// what it would hold again.
fn difference(
    past: &Past,
    person: &Person<'_>,
    rows: &[ChangeRow],
    call: CallId,
    conflict: &Conflict,
) -> Option<String> {
    let path = &conflict.path;
    let now = now(person, path)?;
    let now_name = format!("{path} (now)");
    let row = rows.iter().rev().find(|row| left_at(row, person) == Some(path.clone()));
    let left = row.and_then(|row| past.history.content_after(row).ok());
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

/// Where what a change left is today.
fn left_at(row: &ChangeRow, person: &Person<'_>) -> Option<LogicalPath> {
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
