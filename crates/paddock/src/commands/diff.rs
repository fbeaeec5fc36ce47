//! `paddock diff`: what a fork or an overlay changes of what it stands on.

use paddock_stores::fork::{self, Holdings};
use serde_json::json;

use crate::cli::{Diff, Global};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};
use paddock_desk::Project;
use paddock_desk::layered::{self, Layered};
use paddock_desk::unified::harmless;

pub(crate) fn run(global: &Global, options: &Diff, printer: &Printer) -> anyhow::Result<Ended> {
    let layered = Layered::look(&Project::with_config(&global.places())?)?;
    let agent = global.agent();
    let layers = layered.layers()?;
    let name = layers.find(&options.layer, &agent).map_err(layered::told)?;
    let layer = layered.open(&layers, &name).map_err(layered::told)?;
    let Holdings { differences, left_out } = layered::compared(&layered.call(&layer.policy.agent), &layer)?;
    let hidden: Vec<&str> = left_out.iter().map(|path| path.as_str()).collect();
    match (options.json, options.stat) {
        (true, false) => printer.json(&json!({
            "name": name.as_str(),
            "source": layer.source.as_str(),
            "agent": layer.policy.agent.as_str(),
            "differences": differences,
            "left_out": hidden,
        }))?,
        (true, true) => {
            let mut stat = json!(fork::stat(&differences));
            stat["left_out"] = json!(hidden);
            printer.json(&stat)?;
        }
        (false, _) if differences.is_empty() => {
            printer::tell(format_args!("{} holds nothing that {} does not", layered::called(&name), layer.source));
        }
        (false, true) => printer.text(&fork::stat(&differences).to_string())?,
        (false, false) if printer.is_for_a_person() => printer.text(&shown(&fork::unified(&differences), printer))?,
        // As it is, so that `patch` takes it.
        (false, false) => printer.text(&fork::unified(&differences))?,
    }
    if !left_out.is_empty() && !options.json {
        printer::tell(layered::out_of_sight(&layer, &left_out));
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
