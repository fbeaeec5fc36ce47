//! `paddock undo`: takes back what a call changed, as a person's act.

use paddock_core::visible;

use crate::cli::{Global, Undo};
use crate::failure::Ended;
use crate::printer::{self, Printer};
use crate::progress;
use paddock_desk::{Desk, Project, history};

pub(crate) fn run(global: &Global, options: &Undo, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let (id, agent) = (options.call.as_deref(), global.agent.as_ref());
    // What cannot be meant makes nothing on disk, and a dry run neither.
    let looking = Desk::look(project.clone())?;
    history::choose(&looking, id, agent)?;
    let desk = if options.dry_run { looking } else { Desk::work(project)? };
    let done = progress::during("undoing", || history::undo(&desk, id, agent, options.dry_run))?;
    if options.json {
        printer.json(&serde_json::to_value(&done)?)?;
        return Ok(Ended::Done);
    }
    let verb = if done.done { "undid" } else { "would undo" };
    printer.line(format_args!("{verb} {}", done.named))?;
    for line in &done.changes {
        printer.line(format_args!("  {}", visible(line)))?;
    }
    if let Some(apart) = &done.apart {
        printer::tell(apart);
    }
    if let Some(call) = &done.call {
        printer::tell(format_args!("`paddock undo {call}` takes this back"));
    }
    Ok(Ended::Done)
}
