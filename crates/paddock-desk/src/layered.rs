//! What the commands about forks and overlays share: finding them in a project, and saying why something does not go.
//!
//! It decides nothing: what differs and what can be merged is told by `paddock-stores`, and every change goes through
//! the guard as a person's act.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_config::{ConfigFile, Host, Installation, Layer, LayerError, LayerName, Layers, Ports};
use paddock_core::{
    AgentName, Call, CallId, CallRecord, Cancel, LogicalPath, Refused, RelPath, RelPathBuf, Risk, StoreError, visible,
};
use paddock_ledger::history::HistoryError;
use paddock_stores::fork::{self, Holdings};

use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::past;
use crate::project::{self, Project};

/// The most paths of those that are told by the way.
const MOST_NAMED: usize = 10;

/// How long looking may take.
const LONGEST: Duration = Duration::from_secs(600);

/// A project as forks and overlays are found in it.
pub struct Layered {
    file: ConfigFile,
    host: Host,
    ports: Ports,
    /// The project's installation.
    pub installation: Installation,
    by: String,
    cancel: Cancel,
}

impl Layered {
    /// For looking. Makes nothing on disk.
    pub fn look(project: &Project) -> Result<Self> {
        Self::at(&Desk::look(project.clone())?)
    }

    /// For what changes something.
    pub fn claim(project: &Project) -> Result<Self> {
        Self::at(&Desk::work(project.clone())?)
    }

    /// Of a project that is open.
    pub fn at(desk: &Desk) -> Result<Self> {
        let (file, host, ports) = (desk.config_in_effect()?, desk.host()?, desk.ports());
        let (installation, by) = (desk.installation().clone(), desk.by().to_owned());
        Ok(Self { file, host, ports, installation, by, cancel: Cancel::default() })
    }

    /// The forks and overlays that there are.
    pub fn layers(&self) -> Result<Layers<'_>> {
        Layers::of(&self.file, &self.host, &self.ports).map_err(told)
    }

    /// Opens a fork or an overlay, with what a `.gitignore` names left apart.
    pub fn open(&self, layers: &Layers<'_>, name: &LayerName) -> Result<Layer, Unopened> {
        let layer = self.open_whole(layers, name)?;
        Ok(Layer { store: layer.store.leaving_ignored(true), ..layer })
    }

    /// Opens a fork or an overlay, with those of its applies left out that were undone since: what they carried is not
    /// below any more. One that the history knows no more may have been: rather is something shown again than lost from sight.
    pub fn open_whole(&self, layers: &Layers<'_>, name: &LayerName) -> Result<Layer, Unopened> {
        let layer = layers.open(name)?;
        let mut undone = Vec::new();
        for call in layer.store.applies(&self.call(&layer.policy.agent)).map_err(LayerError::Store)? {
            if self.was_undone(call)? {
                undone.push(call);
            }
        }
        Ok(Layer { store: layer.store.without(undone), ..layer })
    }

    /// Was it undone, or is it not known any more? A history that does not answer says neither.
    fn was_undone(&self, call: CallId) -> Result<bool, HistoryError> {
        let Some(history) = self.installation.history() else { return Ok(false) };
        match history.find_call(&call.to_string()) {
            Ok(row) => Ok(row.undone_by.is_some()),
            Err(HistoryError::NoSuchCall(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// A call of the person's, on behalf of an agent.
    pub fn call<'c>(&'c self, agent: &'c AgentName) -> Call<'c> {
        Call { id: CallId::next(), agent, cancel: &self.cancel, deadline: Instant::now() + LONGEST }
    }

    /// Has what a person did to a fork or an overlay as a whole recorded.
    pub fn record(&self, call: &Call<'_>, command: &str, path: &LogicalPath, done: bool) -> Result<()> {
        let record = CallRecord {
            call: call.id,
            agent: call.agent,
            by: Some(&self.by),
            tool: command,
            path: path.as_str(),
            workspace: Some(path),
            outcome: if done { "done" } else { "failed" },
            reason: if done { "" } else { "person" },
            risk: Some(Risk::Low),
            bytes: 0,
            took: Duration::ZERO,
            effect: true,
        };
        self.installation.audit().record(&record).map_err(|error| store_problem(path, error))
    }
}

/// Why a fork or an overlay could not be opened.
#[derive(Debug)]
pub enum Unopened {
    /// There is none, or what it stands on cannot be had.
    Layer(LayerError),
    /// The history does not say which of its applies were undone.
    Past(HistoryError),
}

impl From<LayerError> for Unopened {
    fn from(error: LayerError) -> Self {
        Self::Layer(error)
    }
}

impl From<HistoryError> for Unopened {
    fn from(error: HistoryError) -> Self {
        Self::Past(error)
    }
}

impl From<Unopened> for Failure {
    fn from(error: Unopened) -> Self {
        match error {
            Unopened::Layer(error) => told(error),
            Unopened::Past(error) => past::told(error),
        }
    }
}

/// What a fork or an overlay holds that what it stands on does not.
pub fn compared(call: &Call<'_>, layer: &Layer) -> Result<Holdings> {
    fork::compared(call, &layer.store, &layer.below).map_err(|error| store_problem(&layer.source, error))
}

/// What no apply takes along, in words.
pub fn out_of_sight(layer: &Layer, left_out: &[RelPathBuf]) -> String {
    let mut text = format!(
        "left where they are, because {} keeps such names out of sight: {}",
        layer.source,
        paths(left_out.len())
    );
    for path in left_out {
        text.push_str("\n  ");
        text.push_str(&visible(path.as_str()));
    }
    text
}

/// What a `.gitignore` names and an apply leaves, in words.
pub fn by_the_way(ignored: &[RelPathBuf]) -> String {
    let count = paths(ignored.len());
    let is_index = |path: &RelPathBuf| path.as_str() == ".git/index" || path.as_str().ends_with("/.git/index");
    let what = match (ignored.iter().all(is_index), ignored.iter().any(is_index)) {
        (true, _) => "what is staged and not committed",
        (false, true) => "what .gitignore names, or is staged and not committed,",
        (false, false) => "what .gitignore names",
    };
    format!("by the way, {what} stays in it (--ignored takes it along): {count}{}", first_of(ignored))
}

/// What was named to be left, in words.
pub fn left_by_name(name: &LayerName, excepted: &[RelPathBuf]) -> String {
    format!("left in {}, as asked: {}{}", called(name), paths(excepted.len()), first_of(excepted))
}

/// The path that is meant in a fork or an overlay: relative, or as it is called on one of both sides.
///
/// # Errors
/// When it is no path, or of neither side.
pub fn meant(name: &LayerName, source: &LogicalPath, asked: &str) -> Result<RelPathBuf> {
    let here = place(name)?;
    let look = || format!("`paddock diff {}` shows what differs", name.as_str());
    let path = LogicalPath::parse(asked, &here).map_err(|error| Failure::misused(error, look()))?;
    // One side may be within the other.
    let (inner, outer) = if here.below(source).is_some() { (&here, source) } else { (source, &here) };
    let within = path.below(inner).or_else(|| path.below(outer)).map(RelPath::to_buf);
    within
        .ok_or_else(|| Failure::missing(format!("\"{}\" is neither in {here} nor in {source}", visible(asked)), look()))
}

/// The first of many paths, each on a line of its own, and how many more there are.
pub fn first_of(all: &[RelPathBuf]) -> String {
    let mut text = String::new();
    for path in all.iter().take(MOST_NAMED) {
        text.push_str("\n  ");
        text.push_str(&visible(path.as_str()));
    }
    if let more @ 1.. = all.len().saturating_sub(MOST_NAMED) {
        text.push_str(&format!("\n  … and {more} more"));
    }
    text
}

/// Where the Workspace of a fork or an overlay is.
pub fn place(name: &LayerName) -> Result<LogicalPath> {
    let prefix = match name {
        LayerName::Fork(fork) => format!("/forks/{}", fork.name),
        LayerName::Overlay { prefix, .. } => prefix.to_string(),
    };
    LogicalPath::parse(&prefix, &LogicalPath::top())
        .map_err(|error| Failure::misused(&error, "name it as `paddock fork` lists it"))
}

/// "fork x", or "overlay /try".
pub fn called(name: &LayerName) -> String {
    match name {
        LayerName::Fork(fork) => format!("fork {}", fork.name),
        LayerName::Overlay { prefix, .. } => format!("overlay {prefix}"),
    }
}

/// Why a fork or an overlay cannot be had, as it is told.
pub fn told(error: LayerError) -> Failure {
    match error {
        LayerError::Config(problem) => project::config_problem(problem),
        LayerError::Store(source) => store_problem(&LogicalPath::top(), source),
        error if error.is_misuse() => Failure::misused(&error, error.hint()),
        error => Failure::failed(&error, error.hint()),
    }
}

/// What a Store says, as it is told.
pub fn store_problem(path: &LogicalPath, source: StoreError) -> Failure {
    past::refused(&Refused::Store { path: path.clone(), source })
}

/// "1 path", "2 paths".
pub fn paths(count: usize) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

/// How long ago a moment in milliseconds since 1970 was.
pub fn age(created: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = now.saturating_sub(Duration::from_millis(created)).as_secs();
    match seconds {
        0..60 => "just made".to_owned(),
        60..3600 => format!("{} min old", seconds / 60),
        3600..86_400 => format!("{} h old", seconds / 3600),
        86_400..172_800 => "1 day old".to_owned(),
        _ => format!("{} days old", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let shown = [0, 90, 2 * 3600 + 5, 30 * 3600, 50 * 3600].map(|seconds| age(now - seconds * 1000));
        assert_eq!(shown, ["just made", "1 min old", "2 h old", "1 day old", "2 days old"]);
    }
}
