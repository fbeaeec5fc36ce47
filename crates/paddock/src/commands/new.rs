//! `paddock new`: a project from a template.

use paddock_core::visible;
use paddock_desk::{Desk, Project, projects};
use paddock_projects::TemplateSource;
use serde_json::json;

use crate::cli::{Global, New};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};
use crate::progress::Line;

pub(crate) fn run(global: &Global, options: &New, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let (Some(template), Some(path)) = (&options.template, &options.path) else {
        return list(&Desk::look(project)?, options, printer);
    };
    let desk = Desk::work(project)?;
    let mut line = Line::new();
    let made = projects::new(&desk, Some(global.agent().as_str()), template, path, &mut |at| line.hear(at))?;
    drop(line);
    if options.json {
        printer.json(&json!(made))?;
    } else {
        printer.line(format_args!("made {} from {}: {} files", visible(&made.path), visible(template), made.files))?;
        tell_noteworthy(&desk, Some(global.agent().as_str()), path)?;
    }
    Ok(Ended::Done)
}

/// A person may write where the agent may not: that is worth a word.
pub(super) fn tell_noteworthy(desk: &Desk, agent: Option<&str>, path: &str) -> anyhow::Result<()> {
    if let Some(note) = projects::noteworthy(desk, agent, path)? {
        printer::tell(format_args!("note: {note}"));
    }
    Ok(())
}

fn list(desk: &Desk, options: &New, printer: &Printer) -> anyhow::Result<Ended> {
    let templates = projects::templates(desk)?;
    if options.json {
        printer.json(&json!(templates))?;
        return Ok(Ended::Done);
    }
    let widest = templates.iter().map(|template| template.name.len()).max().unwrap_or(0);
    for template in &templates {
        let name = printer.look(Look::Strong, format_args!("{:widest$}", visible(&template.name)));
        let from = match &template.source {
            TemplateSource::Embedded => String::new(),
            TemplateSource::Package(package) => printer.look(Look::Faint, format_args!("  ({})", visible(package))),
        };
        printer.line(format_args!("{name}  {}{from}", visible(&template.description)))?;
    }
    Ok(Ended::Done)
}
