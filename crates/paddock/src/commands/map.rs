//! `paddock map`: what the agent perceives.

use paddock_tools::Toolbox;
use serde_json::json;
use std::sync::Arc;

use crate::cli::{Global, Map};
use crate::failure::Ended;
use crate::printer::Printer;
use paddock_desk::Project;

pub(crate) fn run(global: &Global, options: &Map, printer: &Printer) -> anyhow::Result<Ended> {
    let source = Project::find(&global.places())?.policy_of(global.agent())?;
    let policy = source.current();
    let toolbox = Toolbox::new(Arc::new(source));
    if !options.json {
        printer.text(&toolbox.filesystem_map())?;
        return Ok(Ended::Done);
    }
    let workspaces: Vec<_> = policy
        .vfs
        .workspaces()
        .iter()
        .filter(|w| !w.is_aside())
        .map(|w| json!({ "prefix": w.prefix().as_str(), "scope": w.scope().name(), "origin": w.origin().to_string() }))
        .collect();
    let tools: Vec<_> = toolbox.tools().iter().map(|tool| tool.name).collect();
    printer.json(&json!({
        "agent": policy.agent.as_str(),
        "base": policy.base.as_str(),
        "workspaces": workspaces,
        "tools": tools,
    }))?;
    Ok(Ended::Done)
}
