//! `paddock fork`: makes a fork of a Workspace, or lists those that there are.

use crate::cli::{Fork, Global};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};
use paddock_desk::forks::{self, ForkShown, NewForkAsked};
use paddock_desk::{Desk, Project, layered};

pub(crate) fn run(global: &Global, options: &Fork, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    match (&options.workspace, &options.name) {
        (Some(workspace), Some(name)) if !options.list => {
            let asked = NewForkAsked {
                workspace: workspace.clone(),
                name: name.clone(),
                agents: options.agent.iter().map(ToString::to_string).collect(),
                from: options.from.as_ref().map(ToString::to_string),
            };
            make(&Desk::work(project)?, options, &asked, printer)
        }
        _ => list(&Desk::look(project)?, options, printer),
    }
}

fn make(desk: &Desk, options: &Fork, asked: &NewForkAsked, printer: &Printer) -> anyhow::Result<Ended> {
    let made = forks::make(desk, asked)?;
    if options.json {
        printer.json(&serde_json::to_value(&made)?)?;
        return Ok(Ended::Done);
    }
    let ForkShown { name, source, agents, .. } = &made;
    printer.line(format_args!("forked {source} as /forks/{name}, for {}", agents.join(", ")))?;
    printer::tell(format_args!(
        "`paddock diff {name}` shows what changes there, `paddock apply {name}` takes it over into {source}"
    ));
    let left_out = forks::left_out(desk, &made)?;
    if !left_out.is_empty() {
        printer::tell(format_args!(
            "it shows nothing of the Workspaces nested in {source}: {}; fork those that are to be changed by themselves",
            left_out.join(", ")
        ));
    }
    Ok(Ended::Done)
}

fn list(desk: &Desk, options: &Fork, printer: &Printer) -> anyhow::Result<Ended> {
    let rows = forks::list(desk)?;
    if options.json {
        printer.json(&serde_json::to_value(&rows)?)?;
        return Ok(Ended::Done);
    }
    if rows.is_empty() {
        printer::tell("there are no forks; `paddock fork WORKSPACE NAME` makes one");
    }
    let widest = |text: fn(&ForkShown) -> String| rows.iter().map(|fork| text(fork).len()).max().unwrap_or(0);
    let (names, sources, agents) = (widest(|fork| fork.name.clone()), widest(of), widest(for_whom));
    for fork in &rows {
        let (name, source) = (format!("{:names$}", fork.name), format!("{:sources$}", of(fork)));
        let (agents, age) = (format!("{:agents$}", for_whom(fork)), layered::age(fork.created));
        let state = standing(fork, printer);
        printer.line(format_args!("{}  {source}  for {agents}  {age:9}  {state}", printer.look(Look::Strong, name)))?;
    }
    Ok(Ended::Done)
}

/// How a fork stands beside its source.
fn standing(fork: &ForkShown, printer: &Printer) -> String {
    match (fork.differs, fork.conflicts) {
        _ if fork.source_is_gone => printer.look(Look::Bad, "its source is gone"),
        (Some(0), _) => printer.look(Look::Faint, "nothing differs"),
        (Some(1), Some(0)) => "1 path differs".to_owned(),
        (Some(count), Some(0)) => format!("{count} paths differ"),
        (Some(paths), Some(conflicts)) => {
            let conflicts = format!("{conflicts} in conflict");
            format!("{} differ, {}", layered::paths(paths), printer.look(Look::Warning, conflicts))
        }
        _ => printer.look(Look::Bad, fork.problem.as_deref().unwrap_or("it cannot be compared")),
    }
}

fn of(fork: &ForkShown) -> String {
    format!("{} of {}", fork.source, fork.from)
}

fn for_whom(fork: &ForkShown) -> String {
    fork.agents.join(", ")
}
