//! `paddock resolve`: makes both sides of a conflict agree, as a person's act.

use paddock_core::visible;
use paddock_desk::forks::{self, ResolveAsked, Side};
use paddock_desk::{Desk, Project};

use crate::cli::{Global, Keep, Resolve};
use crate::failure::Ended;
use crate::printer::{self, Printer};

pub(crate) fn run(global: &Global, options: &Resolve, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let keep = match options.keep {
        Keep::Here => Side::Here,
        Keep::Below => Side::Below,
    };
    let paths = match options.all {
        true => forks::conflicts(&desk, &options.layer, &global.agent())?,
        false => options.paths.clone(),
    };
    if paths.is_empty() {
        printer::tell("there is no conflict");
        return Ok(Ended::Done);
    }
    let done = forks::resolve(&desk, &options.layer, &global.agent(), &ResolveAsked { paths, keep })?;
    if options.json {
        printer.json(&serde_json::to_value(&done)?)?;
        return Ok(Ended::Done);
    }
    for one in &done.changed {
        let verb = if one.removed { "removed" } else { "wrote" };
        printer.line(format_args!("{verb} {}", visible(&one.path)))?;
    }
    match done.conflicts {
        0 => printer::tell(format_args!("no conflict is left: `paddock apply {}` takes the rest over", options.layer)),
        1 => printer::tell("1 conflict is left"),
        more => printer::tell(format_args!("{more} conflicts are left")),
    }
    printer::tell(format_args!("`paddock undo {}` takes this back", done.call));
    Ok(Ended::Done)
}
