//! From a configuration to an agent's Workspaces.
//!
//! Every Workspace of the agent is built, or none: leaving one out would take away the boundary that it is
//! inside another. Each cites the line that it came from. Nothing is made on disk here.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use paddock_core::AccessScope::ReadOnly;
use paddock_core::{
    AgentName, AgentPolicy, BuildError, Call, Gate, HidePattern, Journal, LogicalPath, Mount, NameRules, NoJournal,
    Origin, Passed, Permit, Plan, Refused, Request, Vfs, Workspace,
};
use paddock_stores::PhysicalStore;

use crate::config_file::{AgentSpec, ConfigFile};
use crate::fault::Fault;
use crate::host::Host;
use crate::problem::{ConfigError, Problem};
use crate::schema::{Durability, HardLinks, MountSpec, WorkspaceTable};
use crate::source::Located;

/// What every agent's guard is given besides its Workspaces.
#[derive(Clone)]
pub struct Ports {
    /// Decides whether a plan may run now.
    pub gate: Arc<dyn Gate>,
    /// Records effects.
    pub journal: Arc<dyn Journal>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

/// Builds what one agent perceives.
///
/// # Errors
/// With every problem of this agent's Workspaces; then nothing of it is built.
pub fn build(file: &ConfigFile, agent: &AgentName, host: &Host, ports: &Ports) -> Result<AgentPolicy, ConfigError> {
    let spec = file.agent(agent)?;
    let failed = |problems| ConfigError::new(Arc::clone(file.source()), problems);
    let workspaces = workspaces(file, spec, host).map_err(failed)?;
    let vfs = Vfs::new(workspaces, Arc::clone(&ports.gate), Arc::clone(&ports.journal))
        .map_err(|error| failed(vec![contradiction(spec, &error)]))?;
    let base = spec.base.map_or_else(LogicalPath::top, |base| base.0.clone());
    Ok(AgentPolicy { agent: agent.clone(), base, vfs })
}

/// Looks whether every agent of a file can be built.
///
/// # Errors
/// With every problem of every agent.
pub fn check(file: &ConfigFile, host: &Host) -> Result<(), ConfigError> {
    let ports = Ports { gate: Arc::new(Closed), journal: Arc::new(NoJournal) };
    let built = file.agents().into_iter().map(|agent| build(file, &agent, host, &ports));
    let problems: Vec<Problem> = built.filter_map(Result::err).flat_map(ConfigError::into_problems).collect();
    if problems.is_empty() { Ok(()) } else { Err(ConfigError::new(Arc::clone(file.source()), problems)) }
}

/// An agent without any Workspace: what a missing configuration gives.
pub(crate) fn nothing(agent: &AgentName, ports: &Ports) -> AgentPolicy {
    let vfs = Vfs::new(Vec::new(), Arc::clone(&ports.gate), Arc::clone(&ports.journal));
    let vfs = vfs.unwrap_or_else(|error| unreachable!("no Workspaces cannot contradict each other: {error}"));
    AgentPolicy { agent: agent.clone(), base: LogicalPath::top(), vfs }
}

fn workspaces(file: &ConfigFile, spec: AgentSpec<'_>, host: &Host) -> Result<Vec<Workspace>, Vec<Problem>> {
    let mut built = Vec::new();
    let mut problems = Vec::new();
    for table in spec.workspaces {
        match workspace(file, table, host) {
            Ok(workspace) => built.push(workspace),
            Err(fault) => problems.push(Problem::new(fault, table.mount.span.clone())),
        }
    }
    if problems.is_empty() { Ok(built) } else { Err(problems) }
}

fn workspace(file: &ConfigFile, table: &WorkspaceTable, host: &Host) -> Result<Workspace, Fault> {
    let store = open(table, host)?;
    let own = host.own_below(store.host());
    let cite = |line| Origin::new(Arc::clone(file.source().name()), line);
    let hide = table.hide.iter().flatten();
    let hide = hide.map(|pattern| HidePattern { text: pattern.0.clone(), origin: cite(pattern.at.line) }).collect();
    let unguard: Vec<String> = table.unguard.iter().flatten().map(|name| name.0.clone()).collect();
    // Each rule was checked alone when it was read, so together they can only be too large.
    let names = NameRules::new(hide, &unguard, &own).map_err(|error| Fault::BadPattern(error.to_string()))?;
    let territory = store.territory();
    let mount = Mount::new(Arc::new(store), Some(territory));
    let scope = &table.scope;
    Ok(Workspace::new(table.prefix.0.clone(), scope.0, mount).with_names(names).with_origin(cite(scope.at.line)))
}

/// Opens the Store behind a Workspace, after looking that it is a place that may be one.
fn open(table: &WorkspaceTable, host: &Host) -> Result<PhysicalStore, Fault> {
    let prefix = || table.prefix.0.to_string();
    let written = match (&table.mount.value, table.mount.needs()) {
        (MountSpec::Physical { physical }, _) => physical,
        (_, Some(feature)) => return Err(Fault::NotBuilt { prefix: prefix(), feature }),
        (_, None) => return Err(Fault::MountKind("none")),
    };
    let store = physical(&host.path_of(written), written, &prefix())?;
    let missing_is_fine = table.scope.0 != ReadOnly;
    look(store.host(), written, &prefix(), missing_is_fine)?;
    refuse_system_root(store.host(), host)?;
    let store = match table.hard_links {
        Some(HardLinks::Deny) => store.with_hard_links(paddock_stores::HardLinks::Deny),
        Some(HardLinks::Read) | None => store,
    };
    Ok(match table.durability {
        Some(Durability::Disk) => store.with_durability(paddock_stores::Durability::Disk),
        Some(Durability::Process) | None => store,
    })
}

pub(crate) fn physical(path: &Path, written: &str, prefix: &str) -> Result<PhysicalStore, Fault> {
    PhysicalStore::new(path).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        bad_directory(written, prefix, cause.unwrap_or_else(|| error.to_string()))
    })
}

/// What stands at the place of a Mount: a directory, or nothing where the first write will make one.
pub(crate) fn look(path: &Path, written: &str, prefix: &str, missing_is_fine: bool) -> Result<(), Fault> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(found) if found.is_symlink() => Err(bad_directory(written, prefix, "it is a link that leads nowhere")),
        Ok(_) => Err(bad_directory(written, prefix, "it is not a directory")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (path, prefix) = (written.to_owned(), prefix.to_owned());
            if missing_is_fine { Ok(()) } else { Err(Fault::NoDirectory { path, prefix }) }
        }
        Err(error) => Err(bad_directory(written, prefix, error.to_string())),
    }
}

pub(crate) fn refuse_system_root(mount: &Path, host: &Host) -> Result<(), Fault> {
    let path = mount.display().to_string();
    let home = host.system_root().path().display().to_string();
    if host.in_system_root(mount) {
        Err(Fault::InSystemRoot { path, home })
    } else if host.holds_system_root(mount) {
        Err(Fault::HoldsSystemRoot { path, home })
    } else {
        Ok(())
    }
}

fn bad_directory(path: &str, prefix: &str, why: impl Into<String>) -> Fault {
    Fault::BadDirectory { path: path.to_owned(), prefix: prefix.to_owned(), why: why.into() }
}

/// Two Workspaces that cannot stand together, with both lines.
fn contradiction(spec: AgentSpec<'_>, error: &BuildError) -> Problem {
    let table = |prefix: &LogicalPath| spec.workspaces.iter().find(|table| table.prefix.0 == *prefix);
    let span = |place: &Located<MountSpec>| place.span.clone();
    let (fault, here, there) = match error {
        BuildError::SamePrefix { prefix, .. } => (Fault::DuplicatePrefix(prefix.to_string()), prefix, prefix),
        BuildError::Alias { outer, inner, .. } => (Fault::Alias(error.to_string()), inner, outer),
    };
    match (table(here), table(there)) {
        (Some(here), Some(there)) => {
            Problem::new(fault, span(&here.mount)).beside("the other one is here", span(&there.mount))
        }
        _ => Problem::of_file(fault),
    }
}

/// Lets nothing pass: for looking at Workspaces that nobody will use.
struct Closed;

impl Gate for Closed {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, _: Permit) -> Result<Passed, Refused> {
        Err(Refused::Gate("nothing runs while a configuration is only checked".to_owned()))
    }
}
