//! `paddock discard`: removes a fork, or empties an overlay, with everything in it that was not applied.

use paddock_config::{LayerError, LayerName, Layers};
use paddock_core::{AgentName, visible};

use crate::cli::{Discard, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use paddock_desk::Project;
use paddock_desk::layered::{self, Layered};

pub(crate) fn run(global: &Global, options: &Discard, printer: &Printer) -> anyhow::Result<Ended> {
    let layered = Layered::claim(&Project::with_config(&global.places())?)?;
    let agent = global.agent();
    let layers = layered.layers()?;
    let name = layers.find(&options.layer, &agent).map_err(layered::told)?;
    if let Some(lost) = lost(&layered, &layers, &name, &agent)?
        && !options.yes
    {
        printer::tell(&lost);
        match printer::confirmed("discard it with all of this?")? {
            Some(true) => {}
            Some(false) => {
                printer::tell("nothing was discarded");
                return Ok(Ended::Denied);
            }
            None => {
                let (called, name) = (layered::called(&name), name.as_str());
                let hint = format!("`paddock diff {name}` shows what it holds; --yes discards it all the same");
                return Err(Failure::misused(format!("{called} was not discarded: nobody can be asked here"), hint));
            }
        }
    }
    let owner = owner(&name)?;
    let call = layered.call(&owner);
    let discarded = layers.discard(&call, &name).map_err(layered::told);
    layered.record(&call, "discard", &layered::place(&name)?, discarded.is_ok())?;
    discarded?;
    match &name {
        LayerName::Fork(fork) => printer.line(format_args!("discarded fork {}", fork.name))?,
        LayerName::Overlay { prefix, .. } => printer.line(format_args!("emptied overlay {prefix}"))?,
    }
    Ok(Ended::Done)
}

/// Whose it is, for the audit.
fn owner(name: &LayerName) -> anyhow::Result<AgentName> {
    Ok(match name {
        LayerName::Fork(fork) => AgentName::parse(&fork.from)?,
        LayerName::Overlay { agent, .. } => agent.clone(),
    })
}

/// What would be lost, in words; nothing where everything is applied.
fn lost(layered: &Layered, layers: &Layers<'_>, name: &LayerName, agent: &AgentName) -> anyhow::Result<Option<String>> {
    let called = layered::called(name);
    let layer = match layered.open(layers, name) {
        Ok(layer) => layer,
        Err(LayerError::SourceGone { .. }) => {
            let held = layers.held(&layered.call(agent), name).map_err(layered::told)?;
            let text = format!("{called} holds {} of its own, and its source is gone", layered::paths(held));
            return Ok((held > 0).then_some(text));
        }
        Err(error) => return Err(layered::told(error).into()),
    };
    let holdings = layered::compared(&layered.call(&layer.policy.agent), &layer)?;
    if holdings.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    if !holdings.differences.is_empty() {
        let changes = paddock_stores::fork::stat(&holdings.differences).to_string();
        text = format!("{called} holds what was not applied to {}:\n{}", layer.source, changes.trim_end());
    }
    if !holdings.left_out.is_empty() {
        let paths = layered::paths(holdings.left_out.len());
        text += if text.is_empty() { "" } else { "\n" };
        text += &format!("{called} holds {paths} that no apply takes over, because {} hides such names:", layer.source);
        for path in &holdings.left_out {
            text += &format!("\n  {}", visible(path.as_str()));
        }
    }
    Ok(Some(text))
}
