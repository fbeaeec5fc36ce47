//! `paddock discard`: removes a fork, or empties an overlay, with everything in it that was not applied.

use crate::cli::{Discard, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use paddock_desk::{Desk, Project, forks};

pub(crate) fn run(global: &Global, options: &Discard, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let (layer, agent) = (&options.layer, global.agent());
    // What may be lost is not looked at: that can take long, or fail.
    if !options.yes
        && let Some(lost) = forks::lost(&desk, layer, &agent)?
    {
        printer::tell(&lost);
        match printer::confirmed("discard it with all of this?")? {
            Some(true) => {}
            Some(false) => {
                printer::tell("nothing was discarded");
                return Ok(Ended::Denied);
            }
            None => {
                let called = if layer.starts_with('/') { "overlay" } else { "fork" };
                let hint = format!("`paddock diff {layer}` shows what it holds; --yes discards it all the same");
                let message = format!("{called} {layer} was not discarded: nobody can be asked here");
                return Err(Failure::misused(message, hint));
            }
        }
    }
    let discarded = forks::discard(&desk, layer, &agent)?;
    let verb = if discarded.is_overlay { "emptied overlay" } else { "discarded fork" };
    printer.line(format_args!("{verb} {}", discarded.name))?;
    Ok(Ended::Done)
}
