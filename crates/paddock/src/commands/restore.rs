//! `paddock restore`: brings a path to an earlier moment, as a person's act.

use paddock_core::visible;

use crate::cli::{Global, Restore};
use crate::failure::Ended;
use crate::printer::{self, Printer};
use crate::progress;
use paddock_desk::history::{self, Restored};
use paddock_desk::{Desk, Project};

pub(crate) fn run(global: &Global, options: &Restore, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    // Looked at first: a moment that is none makes nothing on disk.
    let looking = Desk::look(project.clone())?;
    history::when(&looking, &options.at)?;
    let desk = if options.dry_run { looking } else { Desk::work(project)? };
    let restore = || history::restore(&desk, &global.agent(), &options.path, &options.at, options.dry_run);
    let done = progress::during("restoring", restore)?;
    if options.json {
        printer.json(&serde_json::to_value(&done)?)?;
        return Ok(Ended::Done);
    }
    tell(&done, options.dry_run, printer)?;
    if let Some(call) = &done.call {
        printer::tell(format_args!("`paddock undo {call}` takes this back"));
    }
    Ok(Ended::Done)
}

fn tell(done: &Restored, dry: bool, printer: &Printer) -> anyhow::Result<()> {
    let path = &done.path;
    if done.changes.is_empty() {
        return printer.line(format_args!("{path} has not changed since: there is nothing to do"));
    }
    let verb = if dry { "would restore" } else { "restored" };
    printer.line(format_args!("{verb} {path}"))?;
    done.changes.iter().try_for_each(|line| printer.line(format_args!("  {}", visible(line))))
}
