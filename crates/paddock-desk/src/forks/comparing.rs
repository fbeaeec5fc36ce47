//! What a fork or an overlay changes, path by path; and both sides of what contradicts.

use std::ops::Range;

use paddock_config::{Layer, LayerName};
use paddock_core::{
    AgentName, ErrorKind, LogicalPath, NoAudit, Operation, Outcome, Refused, RelPathBuf, StoreError, TextKind,
};
use paddock_stores::fork::{self, Conflict, Difference, Holdings};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::layered::{self, Layered};
use crate::past;

/// The most of one side of a conflict that is shown.
const MOST_SHOWN: u64 = 256 * 1024;

/// What a fork or an overlay changes of what it stands on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Compared {
    /// Its name or prefix.
    pub name: String,
    /// The Workspace that it stands on.
    pub source: String,
    /// The agent that has this Workspace.
    pub agent: String,
    /// What applying it would change, in tree order.
    pub differences: Vec<PathDiff>,
    /// What it holds at names that the Workspace below keeps out of sight.
    pub left_out: Vec<String>,
    /// What a `.gitignore` names of what it holds, where that was not asked for: it stays when it is applied.
    pub ignored: Vec<String>,
    /// The same as they were found, for a unified diff.
    #[serde(skip)]
    pub found: Vec<Difference>,
    /// What no apply takes along, in words.
    #[serde(skip)]
    pub out_of_sight: Option<String>,
    /// What an apply leaves because a `.gitignore` names it, in words.
    #[serde(skip)]
    pub by_the_way: Option<String>,
    /// "fork x", or "overlay /try".
    #[serde(skip)]
    pub called: String,
}

/// One path that it changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PathDiff {
    /// Where, relative to the Workspace.
    pub path: String,
    /// `added`, `changed`, `removed` or `kind_changed`.
    pub change: String,
    /// What is below now: `file`, `directory`, `link` or `special`.
    pub before: Option<String>,
    /// What it becomes.
    pub after: Option<String>,
    /// The mode bits of what is below now; nothing for what has none of its own, such as a link.
    pub mode_before: Option<u32>,
    /// The mode bits of what it becomes.
    pub mode_after: Option<u32>,
    /// What of the modes is worth a word.
    #[serde(skip)]
    pub mode_told: Option<String>,
    /// What can be shown of it.
    pub detail: Detail,
    /// Does it contradict a change that was made below?
    pub conflict: bool,
    /// How, and what both sides hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<ConflictShown>,
}

/// What can be shown of a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Detail {
    /// There is no content, or it stays: directories, and what only gets another mode.
    Nothing,
    /// Lines.
    Text {
        /// How many are new.
        added: u64,
        /// How many go.
        removed: u64,
        /// The hunks of a unified diff, without its header.
        hunks: String,
    },
    /// No text.
    Binary {
        /// Bytes before.
        before: u64,
        /// Bytes after.
        after: u64,
    },
    /// Too large for being compared line by line.
    Large {
        /// Bytes before.
        before: u64,
        /// Bytes after.
        after: u64,
    },
    /// Where a link leads, as it is written in it; nothing for what is no link.
    Link {
        /// Before.
        before: String,
        /// After.
        after: String,
    },
}

/// Two changes that cannot both be had.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConflictShown {
    /// Where, relative to the Workspace.
    pub path: String,
    /// In a word for programs.
    pub kind: String,
    /// What happened, for people.
    pub why: String,
    /// Which lines, for texts.
    pub lines: Vec<ConflictLines>,
    /// What both sides hold, where that is a text that is not too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<Sides>,
    /// Why what one side holds cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// All of it in one line.
    #[serde(skip)]
    pub said: String,
}

/// Lines of the three sides that contradict each other, counted from 0, the end not included.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConflictLines {
    /// Of the common ancestor.
    pub base: Range<usize>,
    /// Of the fork or overlay.
    pub here: Range<usize>,
    /// Of what it stands on.
    pub below: Range<usize>,
}

/// Both sides of a conflict.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Sides {
    /// The Workspace now; nothing where nothing is there.
    pub below: Option<String>,
    /// The fork or overlay; nothing where nothing is there.
    pub here: Option<String>,
}

impl ConflictShown {
    pub(super) fn of(conflict: &Conflict) -> Self {
        let lines = |lines: &fork::Lines| ConflictLines {
            base: lines.base.clone(),
            here: lines.here.clone(),
            below: lines.below.clone(),
        };
        Self {
            path: conflict.path.as_str().to_owned(),
            kind: word(&conflict.kind),
            why: conflict.kind.why().to_owned(),
            lines: conflict.lines.iter().map(lines).collect(),
            sides: None,
            unread: None,
            said: conflict.to_string(),
        }
    }
}

/// The word that a unit of an enum is written as.
pub(super) fn word(kind: &impl Serialize) -> String {
    serde_json::to_value(kind).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct Comparing {
    /// Also what a `.gitignore` names.
    pub ignored: bool,
    /// Only these paths, with what is below them: relative, or as they are on one of both sides. All where there are none.
    pub paths: Vec<String>,
}

/// What a fork or an overlay changes, by its name or its prefix.
///
/// # Errors
/// When there is none, or it cannot be compared.
pub fn compare(desk: &Desk, layer: &str, agent: &AgentName, what: &Comparing) -> Result<Compared> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    let opened = if what.ignored { layered.open_whole(&layers, &name) } else { layered.open(&layers, &name) };
    let layer = opened?;
    let only = what.paths.iter().map(|path| layered::meant(&name, &layer.source, path));
    let only = only.collect::<Result<Vec<RelPathBuf>>>()?;
    let is_asked =
        |path: &RelPathBuf| only.is_empty() || only.iter().any(|asked| path.as_rel().is_within(asked.as_rel()));
    let call = layered.call(&layer.policy.agent);
    let Holdings { mut differences, mut left_out, mut ignored } = layered::compared(&call, &layer)?;
    differences.retain(|difference| is_asked(&difference.path));
    left_out.retain(&is_asked);
    ignored.retain(&is_asked);
    let conflicts = match differences.iter().any(|difference| difference.conflict) {
        true => {
            let merge = fork::merge(&call, &layer.store, &layer.below, &layer.source);
            merge.map_err(|error| layered::store_problem(&layer.source, error))?.conflicts
        }
        false => Vec::new(),
    };
    let shown = |difference: &Difference| {
        let conflict = conflicts.iter().find(|conflict| conflict.path == difference.path);
        let contradiction = conflict.map(|conflict| {
            let shown = ConflictShown::of(conflict);
            match sides(desk, &layered, &layer, &name, &conflict.path) {
                Ok(sides) => ConflictShown { sides, ..shown },
                Err(failure) => ConflictShown { unread: Some(failure.message().to_owned()), ..shown },
            }
        });
        path_diff(difference, contradiction)
    };
    Ok(Compared {
        name: name.as_str().to_owned(),
        source: layer.source.to_string(),
        agent: layer.policy.agent.to_string(),
        differences: differences.iter().map(shown).collect(),
        out_of_sight: (!left_out.is_empty()).then(|| layered::out_of_sight(&layer, &left_out)),
        left_out: left_out.iter().map(|path| path.as_str().to_owned()).collect(),
        by_the_way: (!ignored.is_empty()).then(|| layered::by_the_way(&ignored)),
        ignored: ignored.iter().map(|path| path.as_str().to_owned()).collect(),
        called: layered::called(&name),
        found: differences,
    })
}

fn path_diff(difference: &Difference, contradiction: Option<ConflictShown>) -> PathDiff {
    let detail = match difference.detail.clone() {
        fork::Detail::Nothing => Detail::Nothing,
        fork::Detail::Text { added, removed, hunks } => Detail::Text { added, removed, hunks },
        fork::Detail::Binary { before, after } => Detail::Binary { before, after },
        fork::Detail::Large { before, after } => Detail::Large { before, after },
        fork::Detail::Link { before, after } => Detail::Link { before, after },
    };
    PathDiff {
        path: difference.path.as_str().to_owned(),
        change: word(&difference.change),
        before: difference.before.as_ref().map(word),
        after: difference.after.as_ref().map(word),
        mode_before: difference.modes.mode_before,
        mode_after: difference.modes.mode_after,
        mode_told: difference.mode_told(),
        detail,
        conflict: difference.conflict,
        contradiction,
    }
}

/// What both sides hold; nothing where one of them is no text, or too large.
fn sides(desk: &Desk, layered: &Layered, layer: &Layer, name: &LayerName, path: &RelPathBuf) -> Result<Option<Sides>> {
    let call = layered.call(&layer.policy.agent);
    let mut bytes = Vec::new();
    let below = match layer.below.read(&call, path.as_rel(), 0..MOST_SHOWN + 1, &mut bytes) {
        Ok(_) => Held::of(&bytes),
        Err(error) => Held::unless_missing(&layer.source.join(path.as_rel()), error)?,
    };
    let agent = match name {
        LayerName::Fork(fork) => {
            let first = fork.agents.first().map_or("main", String::as_str);
            AgentName::parse(first)
                .map_err(|error| Failure::failed(error, "the list of forks in the System Root is damaged"))?
        }
        LayerName::Overlay { agent, .. } => agent.clone(),
    };
    let policy = desk.policy(&agent)?.current();
    let place: LogicalPath = layered::place(name)?.join(path.as_rel());
    let here = match Person::on(&policy, &NoAudit).look(Operation::Read { path: place, range: 0..MOST_SHOWN + 1 }) {
        Ok(Outcome::Read { bytes, .. }) => Held::of(&bytes),
        Ok(_) => Held::NoText,
        Err(Refused::Store { path, source }) => Held::unless_missing(&path, source)?,
        Err(refused) => return Err(past::refused(&refused)),
    };
    Ok(match (below, here) {
        (Held::NoText, _) | (_, Held::NoText) => None,
        (below, here) => Some(Sides { below: below.text(), here: here.text() }),
    })
}

/// What one side of a conflict holds.
enum Held {
    Nothing,
    Text(String),
    /// Something else than a text that is not too large.
    NoText,
}

impl Held {
    fn of(bytes: &[u8]) -> Self {
        let fits = bytes.len() as u64 <= MOST_SHOWN;
        TextKind::of(bytes).decode(bytes).filter(|_| fits).map_or(Self::NoText, Self::Text)
    }

    /// That nothing is there, or no file; whatever else is wrong is told.
    fn unless_missing(path: &LogicalPath, error: StoreError) -> Result<Self> {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(Self::Nothing),
            ErrorKind::IsADirectory | ErrorKind::NotAFile | ErrorKind::Link => Ok(Self::NoText),
            _ => Err(layered::store_problem(path, error)),
        }
    }

    fn text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}
