//! `paddock diff`: what a fork or an overlay changes of what it stands on.

use paddock_core::visible;
use paddock_stores::fork;
use serde_json::json;

use crate::cli::{Diff, Global};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};
use crate::rows;
use paddock_desk::forks::{self, Comparing};
use paddock_desk::unified::harmless;
use paddock_desk::{Desk, Project};

pub(crate) fn run(global: &Global, options: &Diff, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::look(Project::with_config(&global.places())?)?;
    let what = Comparing { ignored: options.ignored, paths: options.paths.clone() };
    let compared = forks::compare(&desk, &options.layer, &global.agent(), &what)?;
    let found = &compared.found;
    match (options.json, options.stat) {
        (true, false) => printer.json(&serde_json::to_value(&compared)?)?,
        (true, true) => {
            let mut stat = json!(fork::stat(found));
            stat["left_out"] = json!(compared.left_out);
            stat["ignored"] = json!(compared.ignored);
            printer.json(&stat)?;
        }
        (false, _) if found.is_empty() && compared.by_the_way.is_some() => {}
        (false, _) if found.is_empty() => {
            let at = match options.paths.as_slice() {
                [] => String::new(),
                paths => format!(" at {}", visible(&paths.join(", "))),
            };
            printer::tell(format_args!("{} holds nothing{at} that {} does not", compared.called, compared.source));
        }
        (false, is_short) => {
            let text = if is_short { fork::stat(found).to_string() } else { fork::unified(found) };
            // Without a person it stays as it is, so that `patch` takes it.
            let is_seen = printer.is_for_a_person();
            printer.text(&if is_seen { shown(&text, printer, rows::columns(std::io::stdout())) } else { text })?;
        }
    }
    for told in [compared.out_of_sight, compared.by_the_way].into_iter().flatten().filter(|_| !options.json) {
        printer::tell(told);
    }
    Ok(Ended::Done)
}

/// A diff on a terminal of so many columns: what agents wrote is in it, so nothing of it may steer the terminal or look like a line
/// that is not there.
pub(crate) fn shown(diff: &str, printer: &Printer, columns: usize) -> String {
    let line = |line: &str| {
        let look = match line.as_bytes().first() {
            Some(b'+') => Some(Look::Good),
            Some(b'-') => Some(Look::Bad),
            Some(b'@') => Some(Look::Faint),
            _ => None,
        };
        let rows = rows::folded(&harmless(line), columns).into_iter();
        rows.map(|row| look.map_or_else(|| row.clone(), |look| printer.look(look, &row)) + "\n").collect::<String>()
    };
    diff.split_terminator('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_escaped() {
        let told = shown("--- a/x\n+\u{1b}[2J\tx\u{202e}\r\n", &Printer::plain(), usize::MAX);
        assert_eq!(told, "--- a/x\n+\\u{1b}[2J\tx\\u{202e}\\u{d}\n");
    }

    #[test]
    fn a_long_line_does_not_go_on_as_another() {
        let told = shown("+0123456789 123456789-gone\n", &Printer::plain(), 21);
        assert_eq!(told, "+0123456789 123456789\n   ⤷ -gone\n");
    }
}
