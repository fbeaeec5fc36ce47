//! Taking over what a fork or an overlay changed into what it stands on.
//!
//! All of it or nothing: a conflict refuses the whole, and where a Store cannot make several changes as one, those
//! that were made before a failure are taken back through the history.

use std::fmt::Write as _;

use paddock_config::Layer;
use paddock_core::{AgentName, Alter, Alteration, Call, Expect, LogicalPath, Operation, Refused, RelPathBuf, visible};
use paddock_ledger::history::HistoryError;
use paddock_stores::fork;
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::comparing::ConflictShown;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::files;
use crate::layered::{self, Layered};
use crate::{past, project};

/// What was applied, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Applied {
    /// Its name or prefix.
    pub name: String,
    /// The Workspace that it stands on.
    pub source: String,
    /// Was it done?
    pub done: bool,
    /// The call that did it; undoing it takes all back.
    pub call: Option<String>,
    /// What changes; nothing where there are conflicts.
    pub changes: Vec<AppliedChange>,
    /// What stands in the way. With any, nothing is applied.
    pub conflicts: Vec<ConflictShown>,
    /// What stays where it is, because the Workspace below keeps such names out of sight.
    pub left_out: Vec<String>,
    /// What stays where it is, because a `.gitignore` names it and nobody asked for it.
    pub ignored: Vec<String>,
    /// What stays where it is, because it was named to be left.
    pub excepted: Vec<String>,
    /// Did somebody change it while it was applied? Then some of it is not applied yet.
    pub changed_meanwhile: bool,
    /// What no apply takes along, in words.
    #[serde(skip)]
    pub out_of_sight: Option<String>,
    /// What is left because a `.gitignore` names it, in words.
    #[serde(skip)]
    pub by_the_way: Option<String>,
    /// What is left by name, in words.
    #[serde(skip)]
    pub left_by_name: Option<String>,
    /// "fork x", or "overlay /try".
    #[serde(skip)]
    pub called: String,
}

/// One change of an apply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AppliedChange {
    /// What happens: `write`, `make_dir`, `delete`, …
    pub change: String,
    /// Where.
    pub path: String,
    /// The mode that it sets.
    pub mode: Option<u32>,
}

impl AppliedChange {
    fn of(change: &Alteration) -> Self {
        let mode = match &change.how {
            // A file that is replaced keeps its own.
            Alter::Write { mode, .. } if change.expect == Expect::Absent => *mode,
            Alter::Dress(looks) => looks.mode,
            _ => None,
        };
        Self { change: verb(change).to_owned(), path: change.path.to_string(), mode }
    }

    /// For people.
    #[must_use]
    pub fn said(&self) -> String {
        let path = visible(&self.path);
        match (self.change.as_str(), self.mode) {
            ("make_dir", _) => format!("makes the directory {path}"),
            ("delete", _) => format!("removes {path}"),
            ("link", _) => format!("makes the link {path}"),
            ("dress", Some(mode)) => format!("sets the mode of {path} to {mode:o}"),
            (_, Some(mode)) if mode != files::NEW => format!("writes {path} (mode {mode:o})"),
            _ => format!("writes {path}"),
        }
    }
}

impl Applied {
    /// That it was not done, where something stands in the way.
    ///
    /// # Errors
    /// With any conflict.
    pub fn unless_conflicts(self) -> Result<Self> {
        if self.conflicts.is_empty() {
            return Ok(self);
        }
        let (name, source) = (&self.called, &self.source);
        let count = layered::paths(self.conflicts.len());
        let mut text = format!("error: {name} cannot be applied to {source}: {count} in conflict\n");
        for conflict in &self.conflicts {
            let _ = writeln!(text, "  {}", conflict.said);
        }
        let _ = write!(
            text,
            "hint: nothing was changed; `paddock resolve {} PATH --keep here|below` makes both sides agree, then apply again",
            self.name
        );
        Err(Failure::told(text, FailureKind::Conflict).with_details(json!({ "conflicts": self.conflicts })))
    }
}

/// How something is applied.
#[derive(Debug, Clone, Default)]
pub struct Applying {
    /// Only say what would change.
    pub dry_run: bool,
    /// Also what a `.gitignore` names.
    pub ignored: bool,
    /// Paths that stay where they are, with what is below them: relative, or as they are on one of both sides.
    pub except: Vec<String>,
}

/// Applies a fork or an overlay, by its name or its prefix. Conflicts are in the answer, and nothing is done then.
///
/// # Errors
/// When there is none, or it is refused; what was changed before that is taken back.
pub fn apply(desk: &Desk, layer: &str, agent: &AgentName, how: &Applying) -> Result<Applied> {
    let layered = Layered::at(desk)?;
    let layers = layered.layers()?;
    let name = layers.find(layer, agent).map_err(layered::told)?;
    let opened = if how.ignored { layered.open_whole(&layers, &name) } else { layered.open(&layers, &name) };
    let layer = opened?;
    let except = how.except.iter().map(|path| layered::meant(&name, &layer.source, path));
    let except = except.collect::<Result<Vec<RelPathBuf>>>()?;
    let layer = Layer { store: layer.store.excepting(except.clone()), ..layer };
    let audit = layered.installation.audit();
    let person = Person::on(&layer.policy, &*audit).named(desk.by());
    let call = person.call();
    let merge = fork::merge(&call, &layer.store, &layer.below, &layer.source);
    let mut merge = merge.map_err(|error| layered::store_problem(&layer.source, error))?;
    let is_left = |path: &&RelPathBuf| merge.excepted.iter().any(|left| left.as_rel().is_within(path.as_rel()));
    if let Some(unknown) = except.iter().find(|path| !is_left(path)) {
        let text =
            format!("\"{}\" does not differ, or goes with the directory that it is in", visible(unknown.as_str()));
        return Err(Failure::missing(text, format!("`paddock diff {}` shows what differs", name.as_str())));
    }
    let conflicts: Vec<ConflictShown> = merge.conflicts.iter().map(ConflictShown::of).collect();
    let changes = match conflicts.is_empty() {
        true => merge.alterations.iter().map(AppliedChange::of).collect(),
        false => Vec::new(),
    };
    let mut applied = Applied {
        name: name.as_str().to_owned(),
        source: layer.source.to_string(),
        done: false,
        call: None,
        changes,
        conflicts,
        out_of_sight: (!merge.left_out.is_empty()).then(|| layered::out_of_sight(&layer, &merge.left_out)),
        left_out: merge.left_out.iter().map(|path| path.as_str().to_owned()).collect(),
        by_the_way: (!merge.ignored.is_empty()).then(|| layered::by_the_way(&merge.ignored)),
        ignored: merge.ignored.iter().map(|path| path.as_str().to_owned()).collect(),
        left_by_name: (!merge.excepted.is_empty()).then(|| layered::left_by_name(&name, &merge.excepted)),
        excepted: merge.excepted.iter().map(|path| path.as_str().to_owned()).collect(),
        changed_meanwhile: false,
        called: layered::called(&name),
    };
    if !applied.conflicts.is_empty() || merge.alterations.is_empty() {
        return Ok(applied);
    }
    let alterations = std::mem::take(&mut merge.alterations);
    let operation = Operation::TakeOver { path: layer.source.clone(), alterations };
    let without = |failure: Failure, refused: &Refused| without_it(failure, refused, &applied, &layer.source, how);
    if how.dry_run {
        let judged = person.vfs().plan(&call, operation);
        judged.map_err(|refused| without(past::refused(&refused), &refused))?;
        return Ok(applied);
    }
    project::count_first()?;
    let note = format!("applies {}", applied.called);
    let acted = person.act_noting("apply", &call, operation, &note);
    let acted = acted.map_err(|refused| {
        let failure = take_back(&layered, &person, &call, &refused, ("applied", "apply"));
        without(failure, &refused)
    })?;
    applied.changed_meanwhile = !merge.applied(&call, &layer.store).unwrap_or(false);
    applied.call = Some(acted.call.to_string());
    applied.done = true;
    Ok(applied)
}

/// The way out where a path is denied: the rest can be applied without it, or without the directory that it goes with.
fn without_it(failure: Failure, refused: &Refused, applied: &Applied, source: &LogicalPath, how: &Applying) -> Failure {
    let (Refused::Denied(denial) | Refused::DeniedInside(denial)) = refused else { return failure };
    let above = std::iter::successors(Some(denial.asked.clone()), LogicalPath::parent);
    let goes = |path: &LogicalPath| {
        applied.changes.iter().any(|change| change.change == "delete" && change.path == path.as_str())
    };
    let whole = above.filter(goes).last().unwrap_or_else(|| denial.asked.clone());
    let Some(denied) = whole.below(source).filter(|_| failure.kind() == FailureKind::Denied) else { return failure };
    let mut again = format!("paddock apply {}", applied.name);
    again += if how.ignored { " --ignored" } else { "" };
    let except = how.except.iter().map(String::as_str).chain([denied.as_str()]);
    again.extend(except.map(|path| format!(" --except {}", visible(path))));
    let hint = format!("nothing was changed; `{again}` leaves it where it is and takes over the rest");
    Failure::of(FailureKind::Denied, failure.message(), hint)
}

/// Takes back what a call that failed half-way had changed, and says what became of it: nothing is "applied", and one can "apply" again.
pub(super) fn take_back(
    layered: &Layered,
    person: &Person<'_>,
    failed: &Call<'_>,
    refused: &Refused,
    (done, again): (&str, &str),
) -> Failure {
    let why = past::refused(refused);
    let Ok(history) = past::history(&layered.installation) else { return why };
    let call = person.call();
    let undone = match history.undo(person.vfs(), &call, failed.id) {
        Ok(way) => person.act("undo", &call, way.operation()).map_err(|refused| past::refused(&refused)),
        // Nothing of it had happened.
        Err(HistoryError::ChangedNothing(_) | HistoryError::NoSuchCall(_)) => return why,
        Err(error) => Err(past::told(error)),
    };
    let cause = why.message();
    match undone {
        Ok(_) => {
            let message = format!("{cause}\nwhat had been changed before that was taken back: nothing is {done}");
            Failure::failed(message, format!("mend the cause, then {again} again"))
        }
        Err(error) => {
            let message = format!(
                "{cause}\nwhat had been changed before that could not be taken back: {}",
                error.text().trim_start_matches("error: ")
            );
            Failure::failed(
                message,
                format!("`paddock log` shows what was done; `paddock undo {}` tries again", failed.id),
            )
        }
    }
}

fn verb(change: &Alteration) -> &'static str {
    match change.how {
        Alter::Write { .. } | Alter::Take(_) => "write",
        Alter::Link { .. } => "link",
        Alter::Dress(_) => "dress",
        Alter::MakeDir => "make_dir",
        Alter::Delete => "delete",
        Alter::Restore(_) => "restore",
        Alter::Truncate(_) => "truncate",
        Alter::Move { .. } => "move",
    }
}
