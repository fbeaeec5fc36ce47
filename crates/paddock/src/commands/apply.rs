//! `paddock apply`: what a fork or an overlay changed is taken over into what it stands on, as a person's act.

use crate::cli::{Apply, Global};
use crate::failure::Ended;
use crate::printer::{self, Printer};
use crate::progress;
use paddock_desk::forks::{self, Applied, Applying};
use paddock_desk::{Desk, Project};

pub(crate) fn run(global: &Global, options: &Apply, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    // A dry run makes nothing on disk either.
    let desk = if options.dry_run { Desk::look(project)? } else { Desk::work(project)? };
    let how = Applying { dry_run: options.dry_run, ignored: options.ignored, except: options.except.clone() };
    let apply = || forks::apply(&desk, &options.layer, &global.agent(), &how);
    let applied = progress::during("comparing and applying", apply)?;
    if options.json {
        printer.json(&serde_json::to_value(&applied)?)?;
        return Ok(if applied.conflicts.is_empty() { Ended::Done } else { Ended::Denied });
    }
    tell(&applied.unless_conflicts()?, printer)
}

fn tell(applied: &Applied, printer: &Printer) -> anyhow::Result<Ended> {
    let Applied { called, source, name, .. } = applied;
    if applied.changes.is_empty() && (applied.by_the_way.is_some() || applied.left_by_name.is_some()) {
        printer::tell("there is nothing else to apply");
    } else if applied.changes.is_empty() {
        printer::tell(format_args!("{called} holds nothing that {source} does not: there is nothing to apply"));
    } else {
        let verb = if applied.done { "applied" } else { "would apply" };
        printer.line(format_args!("{verb} {called} to {source}"))?;
        applied.changes.iter().try_for_each(|change| printer.line(format_args!("  {}", change.said())))?;
    }
    for told in [&applied.out_of_sight, &applied.left_by_name, &applied.by_the_way].into_iter().flatten() {
        printer::tell(told);
    }
    let Some(call) = &applied.call else { return Ok(Ended::Done) };
    if applied.changed_meanwhile {
        printer::tell(format_args!(
            "{name} was changed meanwhile: `paddock diff {name}` shows what is not applied yet"
        ));
    }
    printer::tell(format_args!("`paddock undo {call}` takes this back"));
    if name.starts_with('/') {
        printer::tell(format_args!("the overlay stays as it is; `paddock discard {name}` empties it"));
    } else {
        printer::tell(format_args!("the fork stays; `paddock discard {name}` removes it"));
    }
    Ok(Ended::Done)
}
