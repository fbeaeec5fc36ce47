//! `paddock doctor`: what could keep Paddock from working here, each with its remedy.

use crate::cli::{Doctor, Global};
use crate::failure::Ended;
use crate::printer::{Look, Printer};
use paddock_desk::Project;
use paddock_desk::doctor::{self, Row, Status};

pub(crate) fn run(global: &Global, options: &Doctor, printer: &Printer) -> anyhow::Result<Ended> {
    let rows = doctor::examine(Project::find(&global.places()), global.agent.as_ref());
    if options.json {
        printer.json(&serde_json::to_value(&rows)?)?;
    } else {
        rows.iter().try_for_each(|row| show(row, printer))?;
    }
    let sick = rows.iter().any(|row| row.status == Status::Bad);
    Ok(if sick { Ended::Denied } else { Ended::Done })
}

fn show(row: &Row, printer: &Printer) -> anyhow::Result<()> {
    let (look, sign) = match row.status {
        Status::Good => (Look::Good, "✓"),
        Status::Doubtful => (Look::Warning, "⚠"),
        Status::Bad => (Look::Bad, "✗"),
    };
    let found = row.found.replace('\n', "\n    ");
    printer.line(format_args!("{} {}: {found}", printer.look(look, sign), printer.look(Look::Strong, &row.what)))?;
    match &row.remedy {
        Some(remedy) => printer.line(format_args!("    → {remedy}")),
        None => Ok(()),
    }
}
