//! `instance list` and `instance show`: what is known without reading what was said.

use paddock_core::visible;
use paddock_desk::instances::{self, InstanceShown, InstancesAsked};
use paddock_desk::{moment, past};
use serde_json::json;

use super::{counted, looking};
use crate::cli::{Global, InstanceList};
use crate::failure::Ended;
use crate::printer::{self, Look, Printer};

pub(super) fn list(global: &Global, options: &InstanceList, printer: &Printer) -> anyhow::Result<Ended> {
    let agent = options.agent.as_ref().or(global.agent.as_ref()).map(ToString::to_string);
    let asked = InstancesAsked { agent, after: None, limit: (!options.all).then_some(options.n) };
    let listing = instances::list(&looking(global)?, &asked)?;
    for bad in &listing.unreadable {
        printer::tell(format_args!(
            "note: instance \"{}\" cannot be read: {}",
            visible(&bad.name),
            visible(&bad.reason)
        ));
    }
    if options.json {
        printer.json(&json!(listing))?;
        return Ok(Ended::Done);
    }
    if listing.instances.is_empty() && listing.unreadable.is_empty() {
        printer::tell("there are no instances");
    }
    rows(&listing.instances, printer)?;
    if listing.more > 0 {
        printer::tell(format_args!("{} more: raise -n, or show --all", listing.more));
    }
    Ok(Ended::Done)
}

fn rows(instances: &[InstanceShown], printer: &Printer) -> anyhow::Result<()> {
    let agent = |row: &InstanceShown| visible(&row.agent);
    let width = |text: &str| text.chars().count();
    let keys = instances.iter().map(|row| width(&row.key)).max().unwrap_or(0);
    let agents = instances.iter().map(|row| width(&agent(row))).max().unwrap_or(0);
    for row in instances {
        let key = printer.look(Look::Strong, format_args!("{:keys$}", row.key));
        let status = format!("{:10}", row.status);
        let status = if row.status == "processing" { printer.look(Look::Warning, status) } else { status };
        printer.line(format_args!(
            "{key}  {:agents$}  {status}  changed {}",
            agent(row),
            moment::reshown(&row.updated_at)
        ))?;
    }
    Ok(())
}

pub(super) fn show(global: &Global, key: &str, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let shown = instances::show(&looking(global)?, key)?;
    for notice in &shown.notices {
        printer::tell(format_args!("note: {}", visible(&notice.said)));
    }
    if as_json {
        printer.json(&json!(shown))?;
        return Ok(Ended::Done);
    }
    let row = |name: &str, value: &str| {
        printer.line(format_args!("{}  {value}", printer.look(Look::Faint, format_args!("{name:10}"))))
    };
    let instance = &shown.instance;
    row("key", &instance.key)?;
    row("agent", &visible(&instance.agent))?;
    row("status", &instance.status)?;
    row("created", &moment::reshown(&instance.created_at))?;
    row("changed", &moment::reshown(&instance.updated_at))?;
    row("messages", &format!("{}, {}", shown.messages, past::size(shown.bytes)))?;
    match &shown.open_turn {
        Some(open) => row("open turn", &format!("{}, with {}", open.turn_id, counted(open.events, "event")))?,
        None => row("open turn", "none")?,
    }
    row("held by", &instance.held_by.as_ref().map_or_else(|| "nobody".to_owned(), |holder| visible(holder)))?;
    for extension in &shown.extensions {
        row("extension", &format!("{}, {}", visible(&extension.name), past::size(extension.bytes)))?;
    }
    Ok(Ended::Done)
}
