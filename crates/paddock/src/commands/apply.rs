//! `paddock apply`: what a fork or an overlay changed is taken over into what it stands on, as a person's act.
//!
//! All of it or nothing: a conflict refuses the whole, and where a Store cannot make several changes as one, those
//! that were made before a failure are taken back through the history.

use std::fmt::Write as _;

use paddock_config::{Layer, LayerName};
use paddock_core::{Alter, Alteration, Call, Operation, Refused, visible};
use paddock_ledger::history::HistoryError;
use paddock_stores::fork::{self, Conflict, Merge};
use paddock_tools::{Acted, Person};
use serde_json::{Value, json};

use crate::cli::{Apply, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use paddock_desk::FailureKind;
use paddock_desk::layered::{self, Layered};
use paddock_desk::past;
use paddock_desk::{Project, project};

pub(crate) fn run(global: &Global, options: &Apply, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    // A dry run makes nothing on disk either.
    let layered = if options.dry_run { Layered::look(&project)? } else { Layered::claim(&project)? };
    let agent = global.agent();
    let layers = layered.layers()?;
    let name = layers.find(&options.layer, &agent).map_err(layered::told)?;
    let layer = layered.open(&layers, &name).map_err(layered::told)?;
    let audit = layered.installation.audit();
    let person = Person::on(&layer.policy, &*audit);
    let call = person.call();
    let merge = fork::merge(&call, &layer.store, &layer.below, &layer.source);
    let merge = merge.map_err(|error| layered::store_problem(&layer.source, error))?;
    let told = Told { name: &name, layer: &layer, merge: &merge, options, printer };
    if !merge.conflicts.is_empty() {
        return told.conflicts();
    }
    if options.dry_run || merge.alterations.is_empty() {
        return told.nothing_done();
    }
    project::count_first()?;
    let operation = Operation::Alter { path: layer.source.clone(), alterations: merge.alterations.clone() };
    let acted = match person.act("apply", &call, operation) {
        Ok(acted) => acted,
        Err(refused) => return Err(take_back(&layered, &person, &call, &refused)),
    };
    let acknowledged = merge.applied(&call, &layer.store);
    told.applied(&acted, acknowledged.unwrap_or(false))
}

/// Takes back what a call that failed half-way had changed, and says what became of it.
fn take_back(layered: &Layered, person: &Person<'_>, failed: &Call<'_>, refused: &Refused) -> anyhow::Error {
    let why = past::refused(refused);
    let Ok(history) = past::history(&layered.installation) else { return why.into() };
    let call = person.call();
    let undone = match history.undo(person.vfs(), &call, failed.id) {
        Ok(way) => person.act("undo", &call, way.operation()).map_err(|refused| past::refused(&refused)),
        // Nothing of it had happened.
        Err(HistoryError::ChangedNothing(_) | HistoryError::NoSuchCall(_)) => return why.into(),
        Err(error) => Err(past::told(error)),
    };
    let cause = why.message();
    match undone {
        Ok(_) => {
            let message = format!("{cause}\nwhat had been changed before that was taken back: nothing is applied");
            Failure::failed(message, "mend the cause, then apply again")
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

/// What a person is told of a merge.
struct Told<'t> {
    name: &'t LayerName,
    layer: &'t Layer,
    merge: &'t Merge,
    options: &'t Apply,
    printer: &'t Printer,
}

impl Told<'_> {
    fn conflicts(&self) -> anyhow::Result<Ended> {
        let conflicts = &self.merge.conflicts;
        if self.options.json {
            self.printer.json(&self.as_json(None))?;
            return Ok(Ended::Denied);
        }
        let (name, source) = (layered::called(self.name), &self.layer.source);
        let mut text =
            format!("error: {name} cannot be applied to {source}: {} in conflict\n", layered::paths(conflicts.len()));
        for conflict in conflicts {
            let _ = writeln!(text, "  {conflict}");
        }
        let called = self.name.as_str();
        let _ = write!(
            text,
            "hint: nothing was changed; make both agree on one side, then apply again (`paddock diff {called}`)"
        );
        Err(Failure::told(text, FailureKind::Failed))
    }

    /// A dry run, or nothing to do.
    fn nothing_done(&self) -> anyhow::Result<Ended> {
        if self.options.json {
            self.printer.json(&self.as_json(None))?;
            return Ok(Ended::Done);
        }
        let (name, source) = (layered::called(self.name), &self.layer.source);
        if self.merge.alterations.is_empty() {
            printer::tell(format_args!("{name} holds nothing that {source} does not: there is nothing to apply"));
        } else {
            self.printer.line(format_args!("would apply {name} to {source}"))?;
            self.changes()?;
        }
        self.left_out();
        Ok(Ended::Done)
    }

    fn applied(&self, acted: &Acted, acknowledged: bool) -> anyhow::Result<Ended> {
        if self.options.json {
            self.printer.json(&self.as_json(Some(acted)))?;
            return Ok(Ended::Done);
        }
        let name = self.name.as_str();
        self.printer.line(format_args!("applied {} to {}", layered::called(self.name), self.layer.source))?;
        self.changes()?;
        self.left_out();
        if !acknowledged {
            printer::tell(format_args!(
                "{name} was changed meanwhile: `paddock diff {name}` shows what is not applied yet"
            ));
        }
        printer::tell(format_args!("`paddock undo {}` takes this back", acted.call));
        match self.name {
            LayerName::Fork(_) => printer::tell(format_args!("the fork stays; `paddock discard {name}` removes it")),
            LayerName::Overlay { .. } => {
                printer::tell(format_args!("the overlay stays as it is; `paddock discard {name}` empties it"));
            }
        }
        Ok(Ended::Done)
    }

    fn changes(&self) -> anyhow::Result<()> {
        self.merge.alterations.iter().try_for_each(|change| self.printer.line(format_args!("  {}", say(change))))
    }

    fn left_out(&self) {
        let left_out = &self.merge.left_out;
        if !left_out.is_empty() {
            printer::tell(layered::out_of_sight(self.layer, left_out));
        }
    }

    fn as_json(&self, acted: Option<&Acted>) -> Value {
        let conflict = |conflict: &Conflict| {
            json!({
                "path": conflict.path.as_str(),
                "kind": conflict.kind,
                "why": conflict.kind.why(),
                "lines": conflict.lines,
            })
        };
        json!({
            "name": self.name.as_str(),
            "source": self.layer.source.as_str(),
            "done": acted.is_some(),
            "call": acted.map(|acted| acted.call.to_string()),
            "changes": if self.merge.conflicts.is_empty() {
                self.merge.alterations.iter().map(as_json).collect()
            } else {
                Vec::new()
            },
            "conflicts": self.merge.conflicts.iter().map(conflict).collect::<Vec<_>>(),
            "left_out": self.merge.left_out.iter().map(|path| path.as_str()).collect::<Vec<_>>(),
        })
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

fn say(change: &Alteration) -> String {
    let path = visible(change.path.as_str());
    match change.how {
        Alter::MakeDir => format!("makes the directory {path}"),
        Alter::Delete => format!("removes {path}"),
        _ => format!("writes {path}"),
    }
}

fn as_json(change: &Alteration) -> Value {
    json!({ "change": verb(change), "path": change.path.as_str() })
}
