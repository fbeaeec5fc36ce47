//! `paddock instance`: the conversations of agents, as a person looks at them and cares for them.
//!
//! What a conversation is and what can be kept of it is `paddock-state`'s to say; here it is found, asked about and shown.

mod carry;
mod change;
mod look;
mod plain;
mod transcript;

use std::fmt;
use std::sync::Arc;

use paddock_core::visible;
use paddock_desk::{Desk, Project, instances};
use paddock_state::conversation::{ConversationError, Notice};
use paddock_state::instance::Instances;
use paddock_state::{InstanceKey, Redactor};

use crate::cli::{Global, Instance};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};

pub(crate) fn run(global: &Global, options: &Instance, printer: &Printer) -> anyhow::Result<Ended> {
    match options {
        Instance::List(options) => look::list(global, options, printer),
        Instance::Show { key, json } => look::show(global, key, *json, printer),
        Instance::Messages(options) => transcript::run(&Named::find(global, &options.key)?, options, printer),
        Instance::Restart { key, fresh: false, .. } => change::restart(global, key, printer),
        Instance::Restart { key, yes, .. } => change::clear(global, key, *yes, printer),
        Instance::Delete { keys, yes } => change::delete(global, keys, *yes, printer),
        Instance::Repair { key, apply, json } => change::repair(global, key, *apply, *json, printer),
        Instance::Export(options) => carry::export(&Named::find(global, &options.key)?, options, printer),
        Instance::Import(options) => carry::import(global, options, printer),
    }
}

/// An instance that a person named.
struct Named {
    key: InstanceKey,
    kept: Arc<dyn Instances>,
}

impl Named {
    fn find(global: &Global, key: &str) -> anyhow::Result<Self> {
        let key = instances::key_of(key)?;
        match instances::kept(&looking(global)?) {
            Some(kept) => Ok(Self { key, kept }),
            None => Err(problem(&ConversationError::NoInstance(key.clone()), &key)),
        }
    }

    fn instances(&self) -> &dyn Instances {
        &*self.kept
    }

    /// What cannot be done with it, as it is told.
    fn problem(&self, error: &ConversationError) -> anyhow::Error {
        problem(error, &self.key)
    }
}

/// The project, for looking. Makes nothing on disk.
fn looking(global: &Global) -> anyhow::Result<Desk> {
    Ok(Desk::look(Project::with_config(&global.places())?)?)
}

/// The project, for changing an instance that is there; where there is none, as it is.
fn working(global: &Global, key: &InstanceKey) -> anyhow::Result<Desk> {
    let desk = looking(global)?;
    let is_there = instances::kept(&desk).is_some_and(|kept| !matches!(kept.show(key), Ok(None)));
    if is_there { Ok(Desk::work(desk.project().clone())?) } else { Ok(desk) }
}

/// The instances of the project, for making one, and what keeps secrets out of it.
fn made_instances(global: &Global) -> anyhow::Result<(Arc<dyn Instances>, Redactor)> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let none = || Failure::failed("the project keeps no state", "look at [state] in paddock.toml");
    Ok((instances::kept(&desk).ok_or_else(none)?, desk.installation().redactor()))
}

/// What cannot be done with an instance, as it is told.
fn problem(error: &ConversationError, key: &InstanceKey) -> anyhow::Error {
    instances::problem(error, key).into()
}

fn tell_notices(notices: &[Notice]) {
    for notice in notices {
        printer::tell(format_args!("note: {}", visible(&notice.to_string())));
    }
}

/// "1 message", "2 messages".
fn counted(count: u64, what: impl fmt::Display) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
