//! Making both sides of a conflict agree: what one side holds is put on the other, as a person's act that can be undone.
//!
//! It is decided path by path and applies nothing: once no conflict is left, an apply takes the rest over.

use paddock_config::{Layer, LayerName};
use paddock_core::{AgentName, Expect, Version};
use paddock_stores::fork;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::files::{self, Receiving, Spot};
use crate::layered::{self, Layered};

/// How much is copied at once.
const PIECE: u64 = 1024 * 1024;

/// Which side of a conflict is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What the fork or the overlay holds: the Workspace below takes it over now.
    Here,
    /// What the Workspace below holds: the fork or the overlay takes it over.
    Below,
}

/// A path whose sides are to agree.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveAsked {
    /// Where, relative to the Workspace, as the conflict names it.
    pub path: String,
    /// Which side is kept.
    pub keep: Side,
}

/// What was done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Resolved {
    /// Where the side was changed that was not kept.
    pub path: String,
    /// Which side is kept.
    pub kept: Side,
    /// Is there nothing any more, as on the side that is kept?
    pub removed: bool,
    /// The call; undoing it brings the conflict back.
    pub call: String,
    /// How many conflicts are left.
    pub conflicts: usize,
}

/// Makes both sides of one conflict agree.
///
/// # Errors
/// When the path is in no conflict, or one of its sides is neither a file nor absent.
pub fn resolve(desk: &Desk, layer: &str, agent: &AgentName, asked: &ResolveAsked) -> Result<Resolved> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    let layer = layered.open(&layers, &name).map_err(layered::told)?;
    let conflicts = conflicts(&layered, &layer)?;
    if !conflicts.contains(&asked.path) {
        let text = format!("\"{}\" is in no conflict", paddock_core::visible(&asked.path));
        return Err(Failure::missing(text, format!("`paddock diff {}` shows what differs", name.as_str())));
    }
    let (below, here) = (below(desk, &layer, &asked.path)?, here(desk, &name, &asked.path)?);
    let (from, to) = match asked.keep {
        Side::Here => (here, below),
        Side::Below => (below, here),
    };
    let changed = agree(desk, from, &to)?;
    Ok(Resolved {
        path: to.path.to_string(),
        kept: asked.keep,
        removed: changed.1,
        call: changed.0.call,
        conflicts: self::conflicts(&layered, &layer)?.len(),
    })
}

fn conflicts(layered: &Layered, layer: &Layer) -> Result<Vec<String>> {
    let call = layered.call(&layer.policy.agent);
    let merge = fork::merge(&call, &layer.store, &layer.below, &layer.source);
    let merge = merge.map_err(|error| layered::store_problem(&layer.source, error))?;
    Ok(merge.conflicts.iter().map(|conflict| conflict.path.as_str().to_owned()).collect())
}

/// The path in the Workspace that it stands on.
fn below(desk: &Desk, layer: &Layer, path: &str) -> Result<Spot> {
    Spot::of(desk, Some(layer.policy.agent.as_str()), &inside(layer.source.as_str(), path))
}

/// The path in the fork or the overlay itself.
fn here(desk: &Desk, name: &LayerName, path: &str) -> Result<Spot> {
    let agent = match name {
        LayerName::Fork(fork) => fork.agents.first().map_or("main", String::as_str),
        LayerName::Overlay { agent, .. } => agent.as_str(),
    };
    Spot::of(desk, Some(agent), &inside(layered::place(name)?.as_str(), path))
}

fn inside(prefix: &str, path: &str) -> String {
    format!("{}/{path}", prefix.trim_end_matches('/'))
}

/// Puts what one side holds on the other, as long as that is as it was looked at. Says whether it was removed.
fn agree(desk: &Desk, from: Spot, to: &Spot) -> Result<(files::Changed, bool)> {
    let there = version_of(to)?;
    if version_of(&from)?.is_none() {
        return Ok((files::delete_as("resolve", to, there)?, true));
    }
    let opened = files::open(from)?;
    let mut received = Receiving::begin(desk, to, Some(opened.len()))?;
    let mut at = 0;
    while at < opened.len() {
        let piece = opened.piece(at..at + PIECE)?;
        received.push(&piece)?;
        at += PIECE;
    }
    let expect = there.map_or(Expect::Absent, Expect::Is);
    Ok((files::put_as("resolve", to, received, expect)?, false))
}

/// The version of a file; nothing where nothing is.
fn version_of(spot: &Spot) -> Result<Option<Version>> {
    let found = match files::stat(spot) {
        Ok(found) => found,
        Err(failure) if failure.kind() == FailureKind::Missing => return Ok(None),
        Err(failure) => return Err(failure),
    };
    found.version.as_deref().and_then(Version::parse).map(Some).ok_or_else(|| {
        let text = format!("{} is no file on one side, so no side can be chosen for it", spot.path);
        Failure::of(FailureKind::Conflict, text, "make both sides agree by moving or removing one of them")
    })
}
