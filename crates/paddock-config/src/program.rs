//! Workspaces that a program gives instead of a file: each with its prefix, its Access Scope and a Store.
//!
//! For who embeds Paddock, as the LangChain.js middleware does. A directory gets what a configuration would give it:
//! Paddock's own files in it stay its own, the System Root is out of reach, the names that `init` hides are hidden
//! unless other patterns are given. Two Mounts of one place that disagree are an error here too.

mod error;
mod options;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::ProgramError;
use error::first_of;
pub use options::program_options;
use paddock_core::{
    AccessScope, AgentName, AgentPolicy, BuildError, CommandRunner, CommandSettings, Commands, HidePattern,
    LogicalPath, Mount, NameRules, Origin, RelPathBuf, Store, Territory, Vfs, View, Workspace, visible,
};
use paddock_state::Secrets;
use paddock_stores::PhysicalStore;
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::{BaseStore, Namespace};

use crate::build::{Ports, look, physical, refuse_system_root};
use crate::commands::{self, Careful, Needs};
use crate::config_file::ConfigFile;
use crate::fault::Fault;
use crate::host::Host;
use crate::init::HIDE;
use crate::places::Places;
use crate::problem::ConfigError;
use crate::written::{BY_CONFIGS, BY_PROGRAMS};

/// Where a rule of a program comes from, as it is told.
const PROGRAM: &str = "the program";

/// A Workspace as a program gives it.
#[derive(Debug, Clone)]
pub struct ProgramMount {
    /// Where the agent sees it.
    pub prefix: String,
    /// What the agent may do in it.
    pub scope: AccessScope,
    /// What backs it.
    pub store: ProgramStore,
    /// The names that do not exist for the agent; those that `init` hides where nothing is said.
    pub hide: Option<Vec<String>>,
}

/// What backs a Workspace of a program. Cheap to clone.
#[derive(Clone)]
pub enum ProgramStore {
    /// A directory of the host.
    Physical {
        /// The directory.
        store: Arc<PhysicalStore>,
        /// As the program wrote it.
        written: String,
    },
    /// A namespace of a database.
    Virtual {
        /// The database.
        base: Arc<dyn BaseStore>,
        /// Tells databases apart.
        database: String,
        /// The namespace.
        namespace: Namespace,
    },
    /// Copy-on-write.
    Overlay {
        /// What shows through. It is only read.
        lower: Box<ProgramStore>,
        /// The database of what differs.
        base: Arc<dyn BaseStore>,
        /// Tells databases apart.
        database: String,
        /// The namespace of what differs.
        namespace: Namespace,
    },
    /// A Store that somebody else wrote.
    Other {
        /// The Store.
        store: Arc<dyn Store>,
        /// The place that it reaches.
        territory: Territory,
    },
}

impl std::fmt::Debug for ProgramStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Physical { .. } => "Physical",
            Self::Virtual { .. } => "Virtual",
            Self::Overlay { .. } => "Overlay",
            Self::Other { .. } => "Other",
        })
    }
}

impl ProgramStore {
    /// A directory of the host, relative to where the program runs. It may be made by the first write.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn directory(written: &str, host: &Host) -> Result<Self, ProgramError> {
        if written.is_empty() {
            // As from a variable that is not set: nobody meant the current directory.
            let why = "it is empty".to_owned();
            return Err(ProgramError::Directory(Fault::BadDirectory { path: String::new(), prefix: "/".into(), why }));
        }
        let store = physical(&host.path_of(written), written, written).map_err(ProgramError::Directory)?;
        look(store.host(), written, written, true).map_err(ProgramError::Directory)?;
        refuse_system_root(store.host(), host).map_err(ProgramError::Directory)?;
        Ok(Self::Physical { store: Arc::new(store), written: written.to_owned() })
    }

    /// This one with what differs kept in another.
    ///
    /// # Errors
    /// When the other is no Virtual Store.
    pub fn under(self, upper: &Self) -> Result<Self, ProgramError> {
        match upper {
            Self::Virtual { base, database, namespace } => Ok(Self::Overlay {
                lower: Box::new(self),
                base: Arc::clone(base),
                database: database.clone(),
                namespace: namespace.clone(),
            }),
            _ => Err(ProgramError::Upper),
        }
    }

    /// The Store itself, as one who tests Stores wants it.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Physical { store, .. } => Arc::clone(store) as Arc<dyn Store>,
            Self::Virtual { base, namespace, .. } => Arc::new(VirtualStore::new(Arc::clone(base), namespace.clone())),
            Self::Overlay { lower, base, namespace, .. } => {
                let upper = VirtualStore::new(Arc::clone(base), namespace.clone());
                let below = Workspace::new(LogicalPath::top(), AccessScope::ReadOnly, Mount::new(lower.store(), None));
                Arc::new(upper.over(view_of(&below)))
            }
            Self::Other { store, .. } => Arc::clone(store),
        }
    }
}

/// How a program's agent runs commands.
pub struct ProgramCommands {
    /// What they may.
    pub settings: CommandSettings,
    /// What runs them.
    pub runner: Arc<dyn CommandRunner>,
}

impl std::fmt::Debug for ProgramCommands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramCommands").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a program says about commands: the table `[commands]`, read as strictly as in a file.
///
/// # Errors
/// When there is a problem in it.
pub fn program_commands(table: toml::Table, host: &Host) -> Result<CommandSettings, ProgramError> {
    let wrong = |error: ConfigError| ProgramError::Commands(Box::new(error));
    // As a whole: a table in it would begin at the top of the file otherwise.
    let text = toml::Table::from_iter([("commands".to_owned(), toml::Value::Table(table))]).to_string();
    let file = ConfigFile::parse("commands", &text).map_err(wrong)?;
    let settings = commands::settings(file.config(), host, &Secrets::none())
        .map_err(|problem| wrong(ConfigError::new(Arc::clone(file.source()), vec![*problem])))?;
    let settings = settings.unwrap_or_else(|| unreachable!("the table is there"));
    // Refused here, and not one command after the other.
    if settings.direct {
        return Err(ProgramError::Asks("changes"));
    }
    if settings.network.is_empty() { Ok(settings) } else { Err(ProgramError::Asks("network")) }
}

/// The policy of an agent that perceives exactly these.
///
/// # Errors
/// When one of them cannot be had, or two contradict each other. Nothing of it is built then.
pub fn program(
    agent: AgentName,
    base: Option<Base<'_>>,
    mounts: &[ProgramMount],
    commands: Option<ProgramCommands>,
    host: &Host,
    ports: &Ports,
) -> Result<AgentPolicy, ProgramError> {
    let directories = mounts.iter().filter_map(|mount| mount.store.host_directory());
    let host = host.with_configs_over(directories.chain([host.project_root()]));
    let places = Places::new(mounts.iter().filter_map(ProgramMount::place)).beside(&[&BY_PROGRAMS, &BY_CONFIGS]);
    mounts.iter().try_for_each(|mount| refuse_planted(mount, &places))?;
    mounts.iter().try_for_each(|mount| refuse_seen_through(mount, mounts))?;
    let workspaces: Vec<Workspace> =
        mounts.iter().map(|mount| workspace(mount, &host, &places)).collect::<Result<_, _>>()?;
    let base = match (base, workspaces.as_slice()) {
        (Some(base), _) => base.among(&workspaces)?,
        (None, [only]) => only.prefix().clone(),
        (None, _) => LogicalPath::top(),
    };
    let places = Arc::new(places);
    let commands = commands.map(|commands| careful(commands, &workspaces, &host, &places)).transpose()?;
    let vfs = Vfs::new(workspaces, Arc::clone(&ports.gate), Arc::clone(&ports.journal)).map_err(contradiction)?;
    places.make_known(&BY_PROGRAMS);
    Ok(AgentPolicy::new(agent, base, vfs).with_commands(commands))
}

/// How commands run among these Workspaces, while what they need is there.
fn careful(
    commands: ProgramCommands,
    workspaces: &[Workspace],
    host: &Host,
    places: &Arc<Places>,
) -> Result<Commands, ProgramError> {
    workspaces.iter().try_for_each(commands::leaves_room).map_err(ProgramError::Room)?;
    let ProgramCommands { settings, runner } = commands;
    let needs = Needs::new(&settings, workspaces, host, places);
    needs.missing().into_iter().next().map_or(Ok(()), |fault| Err(ProgramError::Room(fault)))?;
    Ok(Commands { settings: Arc::new(settings), runner: Arc::new(Careful { runner, needs }) })
}

/// No agent of this process may choose where a Mount is, by a link in a directory that it writes.
fn refuse_planted(mount: &ProgramMount, places: &Places) -> Result<(), ProgramError> {
    let Some((store, written)) = mount.store.physical() else { return Ok(()) };
    places.refuse_planted(store, written, &mount.prefix).map_err(ProgramError::Directory)
}

/// What one Mount keeps from being read is not read through an overlay of the same place.
fn refuse_seen_through(mount: &ProgramMount, all: &[ProgramMount]) -> Result<(), ProgramError> {
    let below = mount.store.below();
    let kept_from = |other: &&ProgramMount| {
        let reached = other.store.own_territory();
        let keeps = other.scope == AccessScope::WriteOnly || !other.hides().is_subset(&mount.hides());
        keeps && below.iter().any(|place| place.overlaps(&reached))
    };
    match all.iter().find(kept_from) {
        Some(other) => Err(ProgramError::SeenThrough { overlay: mount.prefix.clone(), other: other.prefix.clone() }),
        None => Ok(()),
    }
}

impl ProgramMount {
    /// The directory that it shows, with what the agent may do there: what an overlay stands on is only read.
    fn place(&self) -> Option<(PathBuf, AccessScope)> {
        let (store, _) = self.store.physical()?;
        let is_own = matches!(self.store, ProgramStore::Physical { .. });
        Some((store.host().to_owned(), if is_own { self.scope } else { AccessScope::ReadOnly }))
    }

    /// The patterns of the names that do not exist in it.
    fn hides(&self) -> BTreeSet<&str> {
        match &self.hide {
            Some(patterns) => patterns.iter().map(String::as_str).collect(),
            None => HIDE.iter().copied().collect(),
        }
    }
}

/// Where a program says that relative paths start.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// In these Workspaces, or on the way to one of them: anywhere else is a slip.
    Here(&'a str),
    /// Wherever it is: the Workspaces are others each time.
    Anywhere(&'a str),
}

impl Base<'_> {
    fn among(self, workspaces: &[Workspace]) -> Result<LogicalPath, ProgramError> {
        let (Self::Here(written) | Self::Anywhere(written)) = self;
        let base = prefix(written)?;
        let leads = |space: &Workspace| base.below(space.prefix()).is_some() || space.prefix().below(&base).is_some();
        if matches!(self, Self::Here(_)) && !workspaces.is_empty() && !workspaces.iter().any(leads) {
            return Err(ProgramError::Base(base));
        }
        Ok(base)
    }
}

fn contradiction(error: BuildError) -> ProgramError {
    match error {
        BuildError::SamePrefix { prefix, .. } => ProgramError::SamePrefix(prefix),
        other => ProgramError::Contradiction(Box::new(other)),
    }
}

fn prefix(written: &str) -> Result<LogicalPath, ProgramError> {
    if !written.starts_with('/') {
        return Err(ProgramError::Relative(written.to_owned()));
    }
    LogicalPath::parse(written, &LogicalPath::top())
        .map_err(|error| ProgramError::Prefix { written: visible(written), error })
}

fn workspace(mount: &ProgramMount, host: &Host, places: &Places) -> Result<Workspace, ProgramError> {
    let prefix = prefix(&mount.prefix)?;
    mount.store.check(&prefix, mount.scope)?;
    let hidden: Vec<String> = match &mount.hide {
        Some(patterns) => hidden(patterns)?,
        None => HIDE.iter().map(|text| (*text).to_owned()).collect(),
    };
    let workspace = guarded(prefix, mount.scope, &mount.store, &hidden, host)?;
    let Some(directory) = mount.store.host_directory() else { return Ok(workspace) };
    let names = workspace.names().clone().with_mounts(&places.below(directory));
    Ok(workspace.with_names(names))
}

/// Patterns, read as strictly as in a file: nobody would notice one that hides nothing.
fn hidden(patterns: &[String]) -> Result<Vec<String>, ProgramError> {
    let list = toml::Value::from(patterns.to_vec());
    let text =
        format!("[[workspace]]\nprefix = \"/\"\nscope = \"RO\"\nmount = {{ physical = \".\" }}\nhide = {list}\n");
    match ConfigFile::parse("hide", &text) {
        Ok(_) => Ok(patterns.to_vec()),
        Err(error) => Err(match first_of(&error) {
            Some(fault) => ProgramError::Hide(fault.clone()),
            None => ProgramError::Commands(Box::new(error)),
        }),
    }
}

/// A Workspace on a Store, with the name rules that belong to it.
fn guarded(
    prefix: LogicalPath,
    scope: AccessScope,
    store: &ProgramStore,
    hidden: &[String],
    host: &Host,
) -> Result<Workspace, ProgramError> {
    let origin = || Origin::new(PROGRAM, 0);
    let hide = hidden.iter().map(|text| HidePattern { text: text.clone(), origin: origin() }).collect();
    let names = NameRules::new(hide, &[], &own_files(store, host))?;
    let mount = store.mount(&prefix, hidden, host)?;
    Ok(Workspace::new(prefix, scope, mount).with_names(names).with_origin(origin()))
}

/// Paddock's own files in it.
fn own_files(store: &ProgramStore, host: &Host) -> Vec<RelPathBuf> {
    store.host_directory().map(|directory| host.own_below(directory)).unwrap_or_default()
}

impl ProgramStore {
    /// The Physical Store that it shows, itself or from below, with its directory as it was given.
    fn physical(&self) -> Option<(&PhysicalStore, &str)> {
        match self {
            Self::Physical { store, written } => Some((store, written)),
            Self::Overlay { lower, .. } => lower.physical(),
            Self::Virtual { .. } | Self::Other { .. } => None,
        }
    }

    /// The directory that it shows.
    fn host_directory(&self) -> Option<&Path> {
        self.physical().map(|(store, _)| store.host())
    }

    /// The place whose files it changes.
    fn own_territory(&self) -> Territory {
        match self {
            Self::Physical { store, .. } => store.territory(),
            Self::Virtual { database, namespace, .. } | Self::Overlay { database, namespace, .. } => {
                territory(database, namespace)
            }
            Self::Other { territory, .. } => territory.clone(),
        }
    }

    /// The places that it only shows.
    fn below(&self) -> Vec<Territory> {
        match self {
            Self::Overlay { lower, .. } => {
                let mut places = lower.below();
                places.push(lower.own_territory());
                places
            }
            _ => Vec::new(),
        }
    }

    /// A directory that the first write makes is fine where something may be written; elsewhere it is a slip.
    fn check(&self, prefix: &LogicalPath, scope: AccessScope) -> Result<(), ProgramError> {
        let (Self::Physical { store, written }, AccessScope::ReadOnly) = (self, scope) else { return Ok(()) };
        look(store.host(), written, prefix.as_str(), false).map_err(ProgramError::Directory)
    }

    fn mount(&self, prefix: &LogicalPath, hidden: &[String], host: &Host) -> Result<Mount, ProgramError> {
        Ok(match self {
            Self::Physical { store, .. } => {
                let territory = store.territory();
                Mount::new(Arc::clone(store) as Arc<dyn Store>, Some(territory)).on_host(store.host())
            }
            Self::Virtual { database, namespace, .. } => Mount::new(self.store(), Some(territory(database, namespace))),
            Self::Overlay { lower, base, database, namespace } => {
                // It stands on what the agent could read there: hidden and own names included.
                let below = guarded(prefix.clone(), AccessScope::ReadOnly, lower, hidden, host)?;
                let store = VirtualStore::new(Arc::clone(base), namespace.clone()).over(view_of(&below));
                Mount::new(Arc::new(store), Some(territory(database, namespace)))
            }
            Self::Other { store, territory } => Mount::new(Arc::clone(store), Some(territory.clone())),
        })
    }
}

/// What can be seen of a Workspace that is read-only and alone.
fn view_of(workspace: &Workspace) -> View {
    let view = View::of(workspace, std::slice::from_ref(workspace));
    view.unwrap_or_else(|| unreachable!("what is read-only can be read"))
}

/// Two namespaces of one name are two places in two databases.
fn territory(database: &str, namespace: &Namespace) -> Territory {
    Territory::new(format!("{database} {namespace}"), Vec::<String>::new())
}
