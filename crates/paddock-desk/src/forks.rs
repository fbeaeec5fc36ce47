//! Forks and overlays: which there are, what they change, applying and discarding them, as a person's acts.
//!
//! It decides nothing: what differs and what can be merged is told by `paddock-stores`, and every change goes through
//! the guard. An apply is all or nothing: a conflict refuses the whole.

mod applying;
mod comparing;
mod resolving;

use paddock_config::schema::MountSpec;
use paddock_config::{LayerError, LayerName, Layers, NewFork};
use paddock_core::{AgentName, Call, LogicalPath, Workspace, visible};
use paddock_ledger::approvals::ApprovalQuery;
use paddock_state::ForkRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use applying::{Applied, AppliedChange, Applying, apply};
pub use comparing::{Compared, Comparing, ConflictLines, ConflictShown, Detail, PathDiff, Sides, compare};
pub use resolving::{ResolveAsked, Resolved, ResolvedPath, Side, conflicts, resolve};

use crate::approvals;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::layered::{self, Layered, Unopened};

/// A fork, and how it stands beside its source.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForkShown {
    /// Its name.
    pub name: String,
    /// Where the agents have it.
    pub prefix: String,
    /// The Workspace that it stands on.
    pub source: String,
    /// The agent that has this Workspace.
    pub from: String,
    /// The agents that have the fork.
    pub agents: Vec<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// Does it stand on the Workspace as it was when it was made?
    pub frozen: bool,
    /// How many paths differ; nothing where that cannot be told.
    pub differs: Option<usize>,
    /// How many of them contradict what happened below.
    pub conflicts: Option<usize>,
    /// Is the Workspace gone that it stands on?
    pub source_is_gone: bool,
    /// Why it cannot be compared, where it cannot.
    pub problem: Option<String>,
}

/// An overlay of the configuration.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverlayShown {
    /// The agent that has it.
    pub agent: String,
    /// Where.
    pub prefix: String,
    /// The Workspace that it stands on.
    pub source: String,
}

/// A fork that is to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewForkAsked {
    /// The prefix of the Workspace that it stands on.
    pub workspace: String,
    /// Its name: the fork is a Workspace at `/forks/NAME`.
    pub name: String,
    /// The agents that get it; `main` where none is named.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Whose Workspace is meant; the first of the agents where it is not said.
    #[serde(default)]
    pub from: Option<String>,
}

/// What was discarded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Discarded {
    /// Its name or prefix.
    pub name: String,
    /// Was it an overlay, which is empty now, rather than a fork, which is gone?
    pub is_overlay: bool,
}

/// The forks that there are.
///
/// # Errors
/// When the list cannot be read.
pub fn list(desk: &Desk) -> Result<Vec<ForkShown>> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let main = AgentName::main();
    let call = layered.call(&main);
    let forks = layers.forks().map_err(layered::told)?;
    forks.into_iter().map(|fork| standing(&layered, &layers, &call, &fork)).collect()
}

/// The overlays of every agent.
///
/// # Errors
/// When the configuration has problems.
pub fn overlays(desk: &Desk) -> Result<Vec<OverlayShown>> {
    let file = desk.config_in_effect()?;
    let of_agent = |agent: &AgentName| {
        let shown = |table: &paddock_config::schema::WorkspaceTable| match &table.mount.value {
            MountSpec::Overlay { overlay } => Some(OverlayShown {
                agent: agent.to_string(),
                prefix: table.prefix.value.0.to_string(),
                source: overlay.value.0.to_string(),
            }),
            _ => None,
        };
        file.workspaces_of(agent).iter().filter_map(shown).collect::<Vec<_>>()
    };
    Ok(file.agents().iter().flat_map(of_agent).collect())
}

/// Makes a fork.
///
/// # Errors
/// When it cannot be; then nothing is made.
pub fn make(desk: &Desk, asked: &NewForkAsked) -> Result<ForkShown> {
    let parsed = |name: &String| {
        AgentName::parse(name).map_err(|error| Failure::misused(error, "name agents as the configuration does"))
    };
    let mut agents = asked.agents.iter().map(parsed).collect::<Result<Vec<_>>>()?;
    // Whoever was named first is whose Workspace is meant, or else `main`, unless it is said.
    let first = agents.first().cloned().unwrap_or_else(AgentName::main);
    if agents.is_empty() {
        agents.push(first.clone());
    }
    agents.sort();
    agents.dedup();
    let from = asked.from.as_ref().map(parsed).transpose()?;
    let from = from.unwrap_or_else(|| if has(desk, &first, &asked.workspace) { first } else { AgentName::main() });
    let layered = Layered::at(desk)?;
    let call = layered.call(&from);
    let new = NewFork { name: &asked.name, source: &asked.workspace, from: &from, agents: &agents };
    let record = layered.layers()?.make(&call, &new).map_err(layered::told)?;
    layered.record(&call, "fork", &layered::place(&LayerName::Fork(record.clone()))?, true)?;
    Ok(shown(&record, Some((0, 0)), false, None))
}

/// Does an agent have a Workspace of this prefix?
fn has(desk: &Desk, agent: &AgentName, prefix: &str) -> bool {
    let policy = desk.policy(agent).map(|policy| policy.current());
    policy.is_ok_and(|policy| policy.vfs.workspaces().iter().any(|workspace| workspace.prefix().as_str() == prefix))
}

/// What was asked for in a fork is no longer wanted: there is nothing left that it could be done to.
fn withdraw_in(desk: &Desk, place: &LogicalPath) -> Result<()> {
    approvals::withdraw(desk, &ApprovalQuery::default(), "the fork was discarded", |approval| {
        let path = LogicalPath::parse(&approval.path, &LogicalPath::top());
        path.is_ok_and(|path| path.below(place).is_some())
    })
}

/// The Workspaces nested in one that is forked: a fork shows nothing of them.
///
/// # Errors
/// When the configuration cannot be used.
pub fn left_out(desk: &Desk, fork: &ForkShown) -> Result<Vec<String>> {
    let from = AgentName::parse(&fork.from)
        .map_err(|error| Failure::failed(error, "the list of forks in the System Root is damaged"))?;
    let policy = desk.policy(&from)?.current();
    let source = LogicalPath::parse(&fork.source, &LogicalPath::top());
    let nested = |prefix: &LogicalPath| {
        source.as_ref().is_ok_and(|source| prefix.below(source).is_some_and(|rel| !rel.is_here()))
    };
    let all = policy.vfs.workspaces().iter().filter(|workspace| !workspace.is_aside());
    Ok(all.map(Workspace::prefix).filter(|prefix| nested(prefix)).map(ToString::to_string).collect())
}

/// Removes a fork, or empties an overlay, with everything in it that was not applied.
///
/// # Errors
/// When there is none, or it cannot be removed.
pub fn discard(desk: &Desk, layer: &str, agent: &AgentName) -> Result<Discarded> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    let owner = match &name {
        LayerName::Fork(fork) => AgentName::parse(&fork.from)
            .map_err(|error| Failure::failed(error, "the list of forks in the System Root is damaged"))?,
        LayerName::Overlay { agent, .. } => agent.clone(),
    };
    let call = layered.call(&owner);
    let discarded = layers.discard(&call, &name).map_err(layered::told);
    layered.record(&call, "discard", &layered::place(&name)?, discarded.is_ok())?;
    discarded?;
    if matches!(name, LayerName::Fork(_)) {
        withdraw_in(desk, &layered::place(&name)?)?;
    }
    Ok(Discarded { name: name.as_str().to_owned(), is_overlay: matches!(name, LayerName::Overlay { .. }) })
}

/// What would be lost with a fork or an overlay, in words; nothing where everything is applied.
///
/// # Errors
/// When there is none.
pub fn lost(desk: &Desk, layer: &str, agent: &AgentName) -> Result<Option<String>> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    let called = layered::called(&name);
    let layer = match layered.open(&layers, &name) {
        Ok(layer) => layer,
        Err(Unopened::Layer(LayerError::SourceGone { .. })) => {
            let held = layers.held(&layered.call(agent), &name).map_err(layered::told)?;
            let text = format!("{called} holds {} of its own, and its source is gone", layered::paths(held));
            return Ok((held > 0).then_some(text));
        }
        Err(error) => return Err(error.into()),
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
    if !holdings.ignored.is_empty() {
        text += if text.is_empty() { "" } else { "\n" };
        let (paths, first) = (layered::paths(holdings.ignored.len()), layered::first_of(&holdings.ignored));
        text += &format!("{called} holds {paths} that a .gitignore names and no apply took over:{first}");
    }
    Ok(Some(text))
}

/// As [`discard`], unless something would be lost that nobody said may be.
///
/// # Errors
/// As [`discard`]; and a conflict where something would be lost.
pub fn discard_unless_lost(desk: &Desk, layer: &str, agent: &AgentName, may_be_lost: bool) -> Result<Discarded> {
    if !may_be_lost && let Some(lost) = lost(desk, layer, agent)? {
        return Err(Failure::of(FailureKind::Conflict, lost, "say that it may be lost, or apply it first"));
    }
    discard(desk, layer, agent)
}

/// A fork as it stands beside its source.
fn standing(layered: &Layered, layers: &Layers<'_>, call: &Call<'_>, fork: &ForkRecord) -> Result<ForkShown> {
    let layer = match layered.open(layers, &LayerName::Fork(fork.clone())) {
        Ok(layer) => layer,
        Err(Unopened::Layer(LayerError::SourceGone { .. })) => return Ok(shown(fork, None, true, None)),
        Err(error) => return Err(error.into()),
    };
    // One that cannot be compared must not keep the others from being shown.
    let holdings = match layered::compared(call, &layer) {
        Ok(holdings) => holdings,
        Err(error) => {
            let first = error.message().lines().next().unwrap_or_default().to_owned();
            return Ok(shown(fork, None, false, Some(first)));
        }
    };
    let conflicts = holdings.differences.iter().filter(|difference| difference.conflict).count();
    // What no apply takes along is in the fork alone, too.
    let paths = holdings.differences.len() + holdings.left_out.len();
    Ok(shown(fork, Some((paths, conflicts)), false, None))
}

fn shown(fork: &ForkRecord, counts: Option<(usize, usize)>, is_gone: bool, problem: Option<String>) -> ForkShown {
    ForkShown {
        name: fork.name.clone(),
        prefix: format!("/forks/{}", fork.name),
        source: fork.source.clone(),
        from: fork.from.clone(),
        agents: fork.agents.clone(),
        created: fork.created,
        frozen: fork.frozen_at.is_some(),
        differs: counts.map(|(paths, _)| paths),
        conflicts: counts.map(|(_, conflicts)| conflicts),
        source_is_gone: is_gone,
        problem,
    }
}

/// Is there a fork of this name?
///
/// # Errors
/// When the list cannot be read.
pub fn exists(desk: &Desk, name: &str) -> Result<bool> {
    let layered = Layered::at(desk)?;
    let forks = layered.layers()?.forks().map_err(layered::told)?;
    Ok(forks.iter().any(|fork| fork.name == name))
}
