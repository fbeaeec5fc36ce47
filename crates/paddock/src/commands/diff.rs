//! `paddock diff`: what a fork or an overlay changes of what it stands on.

use paddock_stores::fork;
use serde_json::json;

use crate::cli::{Diff, Global};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};
use paddock_desk::unified::harmless;
use paddock_desk::{Desk, Project, forks};

pub(crate) fn run(global: &Global, options: &Diff, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::look(Project::with_config(&global.places())?)?;
    let compared = forks::compare(&desk, &options.layer, &global.agent(), options.ignored)?;
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
            printer::tell(format_args!("{} holds nothing that {} does not", compared.called, compared.source));
        }
        (false, true) => printer.text(&fork::stat(found).to_string())?,
        (false, false) if printer.is_for_a_person() => printer.text(&shown(&fork::unified(found), printer))?,
        // As it is, so that `patch` takes it.
        (false, false) => printer.text(&fork::unified(found))?,
    }
    for told in [compared.out_of_sight, compared.by_the_way].into_iter().flatten().filter(|_| !options.json) {
        printer::tell(told);
    }
    Ok(Ended::Done)
}

/// A diff on a terminal: what agents wrote is in it, so nothing of it may steer the terminal.
fn shown(diff: &str, printer: &Printer) -> String {
    let line = |line: &str| {
        let plain = harmless(line);
        match plain.as_bytes().first() {
            Some(b'+') => printer.look(Look::Good, plain),
            Some(b'-') => printer.look(Look::Bad, plain),
            Some(b'@') => printer.look(Look::Faint, plain),
            _ => plain,
        }
    };
    diff.split_terminator('\n').map(line).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_escaped() {
        let told = shown("--- a/x\n+\u{1b}[2J\tx\u{202e}\r\n", &Printer::plain());
        assert_eq!(told, "--- a/x\n+\\u{1b}[2J\tx\\u{202e}\\u{d}\n");
    }
}
