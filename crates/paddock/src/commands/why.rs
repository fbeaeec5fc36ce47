//! `paddock why`: what the policy says about an operation on a path, and which line says so.

use crate::cli::{Global, Why};
use crate::failure::Ended;
use crate::printer::{Look, Printer};
use paddock_desk::Project;
use paddock_desk::explain::{self, Explained};

pub(crate) fn run(global: &Global, options: &Why, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let policy = project.policy_of(global.agent())?.current();
    let told = explain::on_policy(&policy, &project, &options.operation, &options.path)?;
    if options.json {
        printer.json(&serde_json::to_value(&told)?)?;
    } else {
        show(&told, printer)?;
    }
    Ok(if told.allowed { Ended::Done } else { Ended::Denied })
}

fn show(told: &Explained, printer: &Printer) -> anyhow::Result<()> {
    printer.text(&coloured(told, printer))?;
    if let Some(rule) = &told.risk_rule {
        printer.line(format_args!("  risk: {}", paddock_core::visible(rule)))?;
    }
    if let Some(asked) = &told.asked {
        printer.line(format_args!("  then: {asked}"))?;
    }
    if let Some(meant) = &told.meant {
        printer
            .line(format_args!("  that is a path of the host: the agent calls it {}", paddock_core::visible(meant)))?;
    }
    let Some(line) = &told.would_allow else { return Ok(()) };
    printer.line(format_args!("  would allow it, {}:", line.place))?;
    line.text.lines().try_for_each(|line| printer.line(format_args!("    {line}")))
}

fn coloured(told: &Explained, printer: &Printer) -> String {
    let (look, word) = if told.allowed { (Look::Good, "allowed") } else { (Look::Bad, "denied") };
    let (first, rest) = told.said.split_once('\n').unwrap_or((&told.said, ""));
    let head = first.strip_suffix(word).map(|head| format!("{head}{}", printer.look(look, word)));
    format!("{}\n{rest}", head.unwrap_or_else(|| first.to_owned()))
}
