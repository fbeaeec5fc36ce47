//! `paddock projects`: the projects of an agent, and how much each holds.

use paddock_core::visible;
use paddock_desk::past::size;
use paddock_desk::{Desk, Project, projects};
use serde_json::json;

use crate::cli::{Global, Projects};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};

pub(crate) fn run(global: &Global, options: &Projects, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::look(Project::with_config(&global.places())?)?;
    let agent = global.agent();
    let found = projects::list(&desk, Some(agent.as_str()), true, options.after.as_deref(), Some(options.n))?;
    if options.json {
        printer.json(&json!(found))?;
        return Ok(Ended::Done);
    }
    if found.projects.is_empty() {
        printer::tell("there are no projects");
    }
    rows(&found.projects, printer)?;
    if let Some(next) = &found.next {
        printer::tell(format_args!("there are more: `paddock projects --after {}`", visible(next)));
    }
    Ok(Ended::Done)
}

fn rows(projects: &[paddock_projects::Project], printer: &Printer) -> anyhow::Result<()> {
    let width = |text: &str| visible(text).chars().count();
    let paths = projects.iter().map(|project| width(&project.path)).max().unwrap_or(0);
    let kinds = projects.iter().map(|project| width(&project.kind)).max().unwrap_or(0);
    for project in projects {
        let path = printer.look(Look::Strong, format_args!("{:paths$}", visible(&project.path)));
        let holds = project.size.unwrap_or_default();
        let s = if holds.files == 1 { "" } else { "s" };
        let (kind, bytes) = (visible(&project.kind), size(holds.bytes));
        printer.line(format_args!("{path}  {kind:kinds$}  {bytes}, {} file{s}", holds.files))?;
    }
    Ok(())
}
