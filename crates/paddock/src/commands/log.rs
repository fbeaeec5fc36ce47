//! `paddock log`: what happened to a path, or the last calls.

use paddock_core::visible;
use serde::Serialize;

use crate::cli::{Global, Log};
use crate::failure::Ended;
use crate::printer::{Look, Printer, tell};
use paddock_desk::history::{self, CallShown, Change, Part};
use paddock_desk::{Desk, Project, moment, past};

pub(crate) fn run(global: &Global, options: &Log, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::look(Project::with_config(&global.places())?)?;
    // One more than is shown tells whether there are more.
    let part = Part::first(options.limit.get().saturating_add(1));
    match &options.path {
        Some(path) => {
            let changes = history::changes(&desk, &global.agent(), path, part)?;
            show(&changes, options, printer, change_line)
        }
        None => show(&history::calls(&desk, global.agent.as_ref(), part)?, options, printer, call_line),
    }
}

fn show<T: Serialize>(
    rows: &[T],
    options: &Log,
    printer: &Printer,
    line: fn(&T, &Printer) -> String,
) -> anyhow::Result<Ended> {
    let limit = options.limit.get();
    let shown = &rows[..rows.len().min(limit)];
    if options.json {
        printer.json(&serde_json::to_value(shown)?)?;
        return Ok(Ended::Done);
    }
    shown.iter().try_for_each(|row| printer.line(line(row, printer)))?;
    if rows.is_empty() {
        tell("nothing was changed, as far as is kept");
    } else if rows.len() > limit {
        tell(format!("there are more: --limit {}", limit.saturating_mul(5)));
    }
    Ok(Ended::Done)
}

fn change_line(row: &Change, printer: &Printer) -> String {
    let path = match &row.to {
        Some(to) => format!("{} → {}", visible(&row.path), visible(to)),
        None => visible(&row.path),
    };
    let new = if row.new && row.carries() { " (new)" } else { "" };
    let time = printer.look(Look::Faint, moment::reshown(&row.at));
    let size = if row.carries() { past::size(row.bytes) } else { "-".to_owned() };
    let by = by(row.by.as_deref());
    format!("{time}  {}  {:<8}  {:<8}  {size:>9}  {path}{new}{by}", row.call, visible(&row.agent), row.what)
}

/// Whose own act it was.
fn by(person: Option<&str>) -> String {
    person.map(|person| format!("  (by {})", visible(person))).unwrap_or_default()
}

/// That a call has not ended, and what it may have changed.
fn not_ended(planned: &[String]) -> String {
    match planned {
        [] => "  (not ended)".to_owned(),
        [one] => format!("  (not ended; may have changed {})", visible(one)),
        [one, more @ ..] => format!("  (not ended; may have changed {} and {} more)", visible(one), more.len()),
    }
}

fn call_line(row: &CallShown, printer: &Printer) -> String {
    let time = printer.look(Look::Faint, moment::reshown(&row.at));
    let changes = if row.changes == 1 { "1 change".to_owned() } else { format!("{} changes", row.changes) };
    let mut notes = by(row.by.as_deref());
    match row.state.as_str() {
        "open" => notes.push_str(&not_ended(&row.may_have_changed)),
        "failed" => notes.push_str("  (failed)"),
        _ => {}
    }
    if let Some(note) = &row.note {
        notes.push_str(&format!("  ({})", visible(note)));
    }
    if row.by_the_way {
        notes.push_str("  (by the way)");
    }
    if let Some(undone) = &row.undoes {
        notes.push_str(&format!("  (undoes {undone})"));
    }
    if row.undone_by.is_some() {
        notes.push_str("  (undone)");
    }
    let (agent, op, path) = (visible(&row.agent), visible(&row.operation), visible(&row.path));
    format!("{time}  {}  {agent:<8}  {op:<8}  {changes:>10}  {path}{notes}", row.call)
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
