//! `paddock instance`: the conversations of agents, as a person looks at them and cares for them.
//!
//! What a conversation is and what can be kept of it is `paddock-state`'s to say; here it is found, asked about and shown.

mod carry;
mod change;
mod look;
mod plain;
mod transcript;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use paddock_config::Installation;
use paddock_core::visible;
use paddock_state::conversation::{ConversationError, Notice};
use paddock_state::instance::Instances;
use paddock_state::{ExtensionName, InstanceKey};

use crate::cli::{Global, Instance};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};
use paddock_desk::layered::Layered;
use paddock_desk::{Project, project};

pub(crate) fn run(global: &Global, options: &Instance, printer: &Printer) -> anyhow::Result<Ended> {
    match options {
        Instance::List(options) => look::list(global, options, printer),
        Instance::Show { key, json } => look::show(&Named::find(global, key)?, *json, printer),
        Instance::Messages(options) => transcript::run(&Named::find(global, &options.key)?, options, printer),
        Instance::Restart { key, fresh: false, .. } => change::restart(&Named::find(global, key)?, printer),
        Instance::Restart { key, force, .. } => change::clear(&Named::find(global, key)?, *force, printer),
        Instance::Delete { keys, force } => change::delete(global, keys, *force, printer),
        Instance::Repair { key, apply, json } => change::repair(&Named::find(global, key)?, *apply, *json, printer),
        Instance::Export(options) => carry::export(&Named::find(global, &options.key)?, options, printer),
        Instance::Import(options) => carry::import(global, options, printer),
    }
}

/// The instances of a project.
struct Kept {
    instances: Arc<dyn Instances>,
    /// The directory that holds them, where they are files.
    place: Option<PathBuf>,
}

/// An instance that a person named.
struct Named {
    key: InstanceKey,
    kept: Kept,
}

impl Named {
    fn find(global: &Global, key: &str) -> anyhow::Result<Self> {
        let key = key_of(key)?;
        match instances(global)? {
            Some(kept) => Ok(Self { key, kept }),
            None => Err(problem(&ConversationError::NoInstance(key.clone()), &key)),
        }
    }

    fn instances(&self) -> &dyn Instances {
        &*self.kept.instances
    }

    /// The extensions that keep a state in it; a server is not asked which there are, and that is told.
    fn extensions(&self) -> anyhow::Result<Vec<ExtensionName>> {
        let Some(place) = &self.kept.place else {
            printer::tell("note: states of extensions on the server are neither listed nor exported");
            return Ok(Vec::new());
        };
        let place = place.join(&self.key).join("extensions");
        let names = host::names_in(&place).with_context(|| format!("cannot read \"{}\"", place.display()))?;
        let stems = names.iter().filter_map(|name| name.strip_suffix(".json"));
        Ok(stems.filter_map(|stem| ExtensionName::new(stem).ok()).collect())
    }

    /// What cannot be done with it, as it is told.
    fn problem(&self, error: &ConversationError) -> anyhow::Error {
        problem(error, &self.key)
    }
}

/// The key that a person wrote.
fn key_of(text: &str) -> anyhow::Result<InstanceKey> {
    InstanceKey::new(text).map_err(|bad| Failure::misused(&bad, bad.hint()))
}

/// The instances of the project, where it has a place. Makes nothing on disk.
fn instances(global: &Global) -> anyhow::Result<Option<Kept>> {
    let project = Project::with_config(&global.places())?;
    kept_by(&project, &project.installation()?)
}

/// The instances of the project, for making one.
fn made_instances(global: &Global) -> anyhow::Result<Kept> {
    let project = Project::with_config(&global.places())?;
    let kept = kept_by(&project, &Layered::claim(&project)?.installation)?;
    kept.ok_or_else(|| Failure::failed("the project keeps no state", "look at [state] in paddock.toml"))
}

fn kept_by(project: &Project, installation: &Installation) -> anyhow::Result<Option<Kept>> {
    let (Some(instances), Some(home)) = (installation.instances(), installation.home()) else { return Ok(None) };
    let on_a_server = project.on_servers()?.contains(&project::STATE_URL);
    Ok(Some(Kept { instances, place: (!on_a_server).then(|| home.instances_dir()) }))
}

/// What cannot be done with an instance, as it is told.
fn problem(error: &ConversationError, key: &InstanceKey) -> anyhow::Error {
    Failure::failed(visible(&error.to_string()), error.hint().replace("KEY", key.as_str()))
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
