//! Making both sides of a conflict agree: what one side holds is put on the other, as a person's act that can be undone.
//!
//! It applies nothing: once no conflict is left, an apply takes the rest over.

use paddock_config::{Layer, LayerName};
use paddock_core::{AgentName, Alter, Alteration, Expect, LogicalPath, Operation, RelPathBuf, Version, visible};
use paddock_stores::fork;
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::applying::take_back;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::files::{self, Receiving, Spot};
use crate::layered::{self, Layered};
use crate::project;

/// How much is copied at once, and of how much no file is made.
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

/// Paths whose sides are to agree.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveAsked {
    /// Where: relative to the Workspace, as the conflicts name them, or as it is called on one of both sides.
    pub paths: Vec<String>,
    /// Which side is kept.
    pub keep: Side,
}

/// What was done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Resolved {
    /// Where the side was changed that was not kept.
    pub changed: Vec<ResolvedPath>,
    /// Which side is kept.
    pub kept: Side,
    /// The call; undoing it brings the conflicts back.
    pub call: String,
    /// How many conflicts are left.
    pub conflicts: usize,
}

/// A path that is as the side that is kept has it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolvedPath {
    /// Where.
    pub path: String,
    /// Is there nothing any more?
    pub removed: bool,
}

impl ResolvedPath {
    fn of(alteration: &Alteration) -> Self {
        Self { path: alteration.path.to_string(), removed: matches!(alteration.how, Alter::Delete) }
    }
}

/// Makes both sides of these conflicts agree, as one act.
///
/// # Errors
/// When one of the paths is in no conflict, or one of its sides is neither a file nor absent; nothing is changed then.
pub fn resolve(desk: &Desk, layer: &str, agent: &AgentName, asked: &ResolveAsked) -> Result<Resolved> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    // Whoever names a path means it, also where a .gitignore does.
    let layer = layered.open_whole(&layers, &name)?;
    let paths = meant(&name, &layer.source, &conflicts_of(&layered, &layer)?, &asked.paths)?;
    let (below, here) = (Place::below(&layer), Place::here(&name)?);
    let (from, to) = match asked.keep {
        Side::Here => (here, below),
        Side::Below => (below, here),
    };
    project::count_first()?;
    let both = paths.iter().map(|path| agreeing(desk, from.spot(desk, path)?, &to.spot(desk, path)?));
    let both = both.collect::<Result<Vec<Vec<Alteration>>>>()?;
    let changed = both.iter().filter_map(|of_one| of_one.first()).map(ResolvedPath::of).collect();
    let alterations: Vec<Alteration> = both.into_iter().flatten().collect();
    let policy = desk.policy(&to.agent)?.current();
    let audit = desk.audit();
    let person = Person::on(&policy, &*audit).named(desk.by());
    let call = person.call();
    if asked.keep == Side::Here {
        // Before it happens: whoever is cut off in between has remembered too much, which changes nothing.
        let below = layer.store.will_be_below(&call, &paths);
        below.map_err(|error| layered::store_problem(&layer.source, error))?;
    }
    let path = match paths.as_slice() {
        [one] => to.prefix.join(one.as_rel()),
        _ => to.prefix.clone(),
    };
    let only_goes = alterations.iter().all(|one| matches!(one.how, Alter::Delete));
    let operation = match asked.keep {
        // What goes from a fork is no more than what an undo takes away there.
        Side::Below if only_goes => Operation::Alter { path, alterations },
        _ => Operation::TakeOver { path, alterations },
    };
    let acted = person.act("resolve", &call, operation);
    let acted = acted.map_err(|refused| take_back(&layered, &person, &call, &refused, ("resolved", "resolve")))?;
    let layer = layered.open(&layers, &name)?;
    let conflicts = conflicts_of(&layered, &layer)?.len();
    Ok(Resolved { changed, kept: asked.keep, call: acted.call.to_string(), conflicts })
}

/// The paths that are in conflict, for who means all of them.
///
/// # Errors
/// When there is no such fork or overlay, or it cannot be compared.
pub fn conflicts(desk: &Desk, layer: &str, agent: &AgentName) -> Result<Vec<String>> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    let found = conflicts_of(&layered, &layered.open(&layers, &name)?)?;
    Ok(found.iter().map(|path| path.as_str().to_owned()).collect())
}

fn conflicts_of(layered: &Layered, layer: &Layer) -> Result<Vec<RelPathBuf>> {
    let call = layered.call(&layer.policy.agent);
    let merge = fork::merge(&call, &layer.store, &layer.below, &layer.source);
    let merge = merge.map_err(|error| layered::store_problem(&layer.source, error))?;
    Ok(merge.conflicts.into_iter().map(|conflict| conflict.path).collect())
}

/// The conflicts that are meant, each once.
fn meant(
    name: &LayerName,
    source: &LogicalPath,
    conflicts: &[RelPathBuf],
    asked: &[String],
) -> Result<Vec<RelPathBuf>> {
    let look = format!("`paddock diff {}` shows what differs", name.as_str());
    if asked.is_empty() {
        return Err(Failure::misused("no path is named", look));
    }
    let mut paths = Vec::with_capacity(asked.len());
    for one in asked {
        let path = layered::meant(name, source, one)?;
        if !conflicts.contains(&path) {
            return Err(Failure::missing(format!("\"{}\" is in no conflict", visible(one)), look));
        }
        paths.push(path);
    }
    Ok(conflicts.iter().filter(|conflict| paths.contains(conflict)).cloned().collect())
}

/// One side: whose it is, and where it begins.
struct Place {
    agent: AgentName,
    prefix: LogicalPath,
}

impl Place {
    /// The Workspace that it stands on.
    fn below(layer: &Layer) -> Self {
        Self { agent: layer.policy.agent.clone(), prefix: layer.source.clone() }
    }

    /// The fork or the overlay itself.
    fn here(name: &LayerName) -> Result<Self> {
        let agent = match name {
            LayerName::Fork(fork) => match fork.agents.first() {
                Some(first) => AgentName::parse(first)
                    .map_err(|error| Failure::failed(error, "the list of forks in the System Root is damaged"))?,
                None => AgentName::main(),
            },
            LayerName::Overlay { agent, .. } => agent.clone(),
        };
        Ok(Self { agent, prefix: layered::place(name)? })
    }

    fn spot(&self, desk: &Desk, path: &RelPathBuf) -> Result<Spot> {
        Spot::of(desk, Some(self.agent.as_str()), self.prefix.join(path.as_rel()).as_str())
    }
}

/// What puts on one side what the other holds, as long as that is as it was looked at. A content that waits in a file
/// keeps it open, and there may be more conflicts than open files: only what is large does.
fn agreeing(desk: &Desk, from: Spot, to: &Spot) -> Result<Vec<Alteration>> {
    let there = version_of(to)?;
    if version_of(&from)?.is_none() {
        return Ok(vec![files::leaving(to, there)]);
    }
    let expect = there.map_or(Expect::Absent, Expect::Is);
    let opened = files::open(from)?;
    if opened.len() <= PIECE {
        return files::writing(to, opened.piece(0..opened.len())?, opened.mode(), expect);
    }
    let mut received = Receiving::begin(desk, to, Some(opened.len()))?.with_mode(opened.mode());
    let mut at = 0;
    while at < opened.len() {
        let piece = opened.piece(at..at + PIECE)?;
        received.push(&piece)?;
        at += PIECE;
    }
    files::taking(to, received, expect).map(|(alteration, _)| vec![alteration])
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
