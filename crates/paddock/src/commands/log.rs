//! `paddock log`: what happened to a path, or the last calls.

use std::collections::BTreeMap;

use paddock_core::{LogicalPath, RelPath, visible};
use paddock_ledger::history::{CallQuery, CallRow, CallState, ChangeRow, History, Page, Planned, Spot, What};
use serde_json::{Value, json};

use crate::cli::{Global, Log};
use crate::failure::{Ended, Failure};
use crate::printer::{Look, Printer};
use paddock_desk::Project;
use paddock_desk::moment;
use paddock_desk::past::{self, Past};

pub(crate) fn run(global: &Global, options: &Log, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let installation = project.installation()?;
    let kept = project.has_ledger(&installation)?;
    let Some(history) = installation.history().filter(|_| kept) else {
        return nothing(options, printer);
    };
    let Some(path) = &options.path else {
        let which = CallQuery { agent: global.agent.as_ref(), ..CallQuery::default() };
        let calls = history.calls(&which, Page::first(options.limit)).map_err(past::told)?;
        let calls = calls.into_iter().map(|row| listed(history, row)).collect::<anyhow::Result<Vec<_>>>()?;
        return show(&calls, options, printer, call_json, call_line);
    };
    let past = Past::of(project.looking_as(global.agent())?)?;
    let path = past.policy.path(path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let changes = changes(&past, &path, options.limit)?;
    show(&changes, options, printer, change_json, change_line)
}

/// A call, and what it may have changed besides what is recorded.
struct Listed {
    row: CallRow,
    planned: Vec<String>,
}

fn listed(history: &History, row: CallRow) -> anyhow::Result<Listed> {
    let planned = match row.state {
        CallState::Open => history.planned(row.call).map_err(past::told)?,
        CallState::Completed | CallState::Failed => Vec::new(),
    };
    Ok(Listed { row, planned: planned.iter().map(Planned::path_then).collect() })
}

fn nothing(options: &Log, printer: &Printer) -> anyhow::Result<Ended> {
    show::<Listed>(&[], options, printer, call_json, call_line)
}

fn show<T>(
    rows: &[T],
    options: &Log,
    printer: &Printer,
    as_json: fn(&T) -> Value,
    line: fn(&T, &Printer) -> String,
) -> anyhow::Result<Ended> {
    if options.json {
        printer.json(&Value::Array(rows.iter().map(as_json).collect()))?;
    } else {
        rows.iter().try_for_each(|row| printer.line(line(row, printer)))?;
    }
    Ok(Ended::Done)
}

/// The changes of a path, and of every Workspace below it.
fn changes(past: &Past, path: &LogicalPath, limit: usize) -> anyhow::Result<Vec<ChangeRow>> {
    let vfs = &past.policy.vfs;
    let below = vfs.workspaces().iter().filter(|workspace| workspace.prefix().below(path).is_some());
    let spots: Vec<Spot> =
        Spot::find(vfs, path).into_iter().chain(below.filter_map(|w| Spot::of(w, RelPath::HERE))).collect();
    if spots.is_empty() {
        let message = format!("no Workspace that keeps a history covers \"{path}\"");
        return Err(Failure::failed(message, "`paddock map` shows the Workspaces of the agent; --agent names another"));
    }
    let mut found = BTreeMap::new();
    for spot in &spots {
        let rows = past.history.log(spot, Page::first(limit)).map_err(past::told)?;
        found.extend(rows.into_iter().map(|row| (row.seq, row)));
    }
    Ok(found.into_values().rev().take(limit).collect())
}

fn change_line(row: &ChangeRow, printer: &Printer) -> String {
    let path = match row.to_then() {
        Some(to) => format!("{} → {}", visible(&row.path_then()), visible(&to)),
        None => visible(&row.path_then()),
    };
    let new = if row.created && carries(row.what) { " (new)" } else { "" };
    let time = printer.look(Look::Faint, moment::shown(row.at));
    let size = if carries(row.what) { past::size(row.bytes) } else { "-".to_owned() };
    format!("{time}  {}  {:<8}  {:<8}  {size:>9}  {path}{new}", row.call, visible(&row.agent), row.what.name())
}

/// Does content go in?
fn carries(what: What) -> bool {
    matches!(what, What::Write | What::Append | What::Edit)
}

fn change_json(row: &ChangeRow) -> Value {
    json!({
        "at": moment::exact(row.at),
        "call": row.call.to_string(),
        "agent": row.agent,
        "what": row.what.name(),
        "path": row.path_then(),
        "to": row.to_then(),
        "new": row.created,
        "bytes": row.bytes,
        "version": row.version.map(|version| version.to_string()),
    })
}

/// That a call has not ended, and what it may have changed.
fn not_ended(planned: &[String]) -> String {
    match planned {
        [] => "  (not ended)".to_owned(),
        [one] => format!("  (not ended; may have changed {})", visible(one)),
        [one, more @ ..] => format!("  (not ended; may have changed {} and {} more)", visible(one), more.len()),
    }
}

fn call_line(listed: &Listed, printer: &Printer) -> String {
    let row = &listed.row;
    let time = printer.look(Look::Faint, moment::shown(row.began));
    let changes = if row.changes == 1 { "1 change".to_owned() } else { format!("{} changes", row.changes) };
    let mut notes = String::new();
    match row.state {
        CallState::Open => notes.push_str(&not_ended(&listed.planned)),
        CallState::Failed => notes.push_str("  (failed)"),
        CallState::Completed => {}
    }
    if let Some(note) = &row.note {
        notes.push_str(&format!("  ({})", visible(note)));
    }
    if row.is_aside {
        notes.push_str("  (by the way)");
    }
    if let Some(undone) = row.undoes {
        notes.push_str(&format!("  (undoes {undone})"));
    }
    if row.undone_by.is_some() {
        notes.push_str("  (undone)");
    }
    let (agent, op, path) = (visible(&row.agent), visible(&row.op), visible(&row.path));
    format!("{time}  {}  {agent:<8}  {op:<8}  {changes:>10}  {path}{notes}", row.call)
}

fn call_json(listed: &Listed) -> Value {
    let row = &listed.row;
    let state = match row.state {
        CallState::Open => "open",
        CallState::Completed => "completed",
        CallState::Failed => "failed",
    };
    json!({
        "at": moment::exact(row.began),
        "call": row.call.to_string(),
        "agent": row.agent,
        "operation": row.op,
        "path": row.path,
        "changes": row.changes,
        "note": row.note,
        "by_the_way": row.is_aside,
        "state": state,
        "undoes": row.undoes.map(|call| call.to_string()),
        "undone_by": row.undone_by.map(|call| call.to_string()),
        "may_have_changed": listed.planned,
    })
}

#[cfg(test)]
mod tests {
    use super::not_ended;

    #[test]
    fn what_a_call_may_have_changed_is_named() {
        let paths = |n: usize| (0..n).map(|n| format!("/w/{n}\u{202e}")).collect::<Vec<_>>();
        assert_eq!(not_ended(&paths(0)), "  (not ended)");
        assert_eq!(not_ended(&paths(1)), "  (not ended; may have changed /w/0\\u{202e})");
        assert_eq!(not_ended(&paths(3)), "  (not ended; may have changed /w/0\\u{202e} and 2 more)");
    }
}
