//! Forks and overlays beside what they stand on: what `fork`, `diff`, `apply` and `discard` are about.
//!
//! A fork is named by its name, an overlay by its prefix. What is opened here is compared and merged in
//! `paddock-stores`, and applied through the guard of the agent that has the source; nothing here changes a file of
//! anybody's. A fork is made and discarded here, because its record is a part of what an agent's Workspaces are built
//! from.

use std::time::{SystemTime, UNIX_EPOCH};

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Call, CallId, LogicalPath, PathError, StoreError, View, Workspace, visible,
};
use paddock_state::{ForkRecord, Forks, StateError};
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::Namespace;

use crate::build::{
    Ports, build, fork_namespace, fork_prefix, fork_store, namespace_of, overlay_namespace, plain as plain_workspaces,
};
use crate::config_file::ConfigFile;
use crate::host::Host;
use crate::problem::ConfigError;
use crate::schema::MountSpec;

/// Why a fork or an overlay cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// A text that cannot name a fork.
    #[error("\"{}\" cannot name a fork", visible(.0))]
    BadName(String),
    /// There is a fork of this name.
    #[error("there is a fork \"{0}\" already")]
    NameTaken(String),
    /// A Workspace of the configuration is where the fork would be.
    #[error("agent {agent} has a Workspace at \"{prefix}\" already")]
    PrefixTaken {
        /// Whose.
        agent: AgentName,
        /// Where.
        prefix: LogicalPath,
    },
    /// No fork has this name.
    #[error("there is no fork \"{}\"", visible(name))]
    NoSuchFork {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// No Workspace begins there.
    #[error("agent {agent} has no Workspace at \"{prefix}\"")]
    NoSuchWorkspace {
        /// The agent.
        agent: AgentName,
        /// Where it was looked for.
        prefix: LogicalPath,
        /// Those that it has.
        known: Vec<LogicalPath>,
    },
    /// A Workspace that stands on no other.
    #[error("the Workspace \"{0}\" is no overlay and no fork: what is written to it is there at once")]
    NotLayered(LogicalPath),
    /// A fork stands on a Workspace of the configuration only.
    #[error("\"{0}\" is a fork, and a fork of a fork is not possible")]
    ForkOfFork(LogicalPath),
    /// Nothing can be seen there, so nothing can stand on it.
    #[error("the Workspace \"{0}\" is write-only: nothing comes back from it, so it cannot be forked")]
    WriteOnly(LogicalPath),
    /// What a fork stands on is not there any more.
    #[error(
        "fork \"{fork}\" has lost its source: agent {agent} has no Workspace \"{source_prefix}\" that it could stand on"
    )]
    SourceGone {
        /// The fork.
        fork: String,
        /// Whose source it was.
        agent: String,
        /// Where it was.
        source_prefix: String,
    },
    /// Each process has a memory of its own.
    #[error("Virtual Stores are kept in memory here (virtual.url = \"memory\"), where no other command can see them")]
    InMemory,
    /// There is nowhere to keep a list of forks.
    #[error("this project has no place in the System Root")]
    NoPlace,
    /// Not a path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The configuration has a problem.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The list of forks cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The database did not do it.
    #[error("the database of Virtual Stores: {0}")]
    Store(#[from] StoreError),
}

impl LayerError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::BadName(_) => "use 1 to 64 letters, digits, \"-\" or \"_\", and no \"-\" at the beginning".to_owned(),
            Self::NameTaken(name) => format!("take another name, or `paddock discard {name}` first"),
            Self::PrefixTaken { .. } => "take another name".to_owned(),
            Self::NoSuchFork { known, .. } if known.is_empty() => {
                "there are no forks; `paddock fork WORKSPACE NAME` makes one, and an overlay is named by its prefix"
                    .to_owned()
            }
            Self::NoSuchFork { known, .. } => format!("forks of this project are {}", known.join(", ")),
            Self::NoSuchWorkspace { known, .. } => match paddock_core::list_some(known) {
                Some(known) => format!("its Workspaces are {known}"),
                None => "it has no Workspaces".to_owned(),
            },
            Self::NotLayered(_) => "name a fork, or the prefix of an overlay".to_owned(),
            Self::ForkOfFork(_) => "fork the Workspace that it stands on, or apply it first".to_owned(),
            Self::WriteOnly(_) => "name a Workspace that can be read".to_owned(),
            Self::SourceGone { fork, .. } => {
                format!("put the Workspace back into paddock.toml, or `paddock discard {fork}`")
            }
            Self::InMemory => "use url = \"sqlite\" under [virtual]".to_owned(),
            Self::NoPlace => "run `paddock init` in the project's directory".to_owned(),
            Self::Path(error) => error.hint().to_owned(),
            Self::Config(_) => "`paddock check` shows every problem".to_owned(),
            Self::State(error) => error.hint(),
            Self::Store(_) => "try again; `paddock doctor` looks at the databases".to_owned(),
        }
    }

    /// Is what was asked for wrong, rather than what was found?
    #[must_use]
    pub fn is_misuse(&self) -> bool {
        !matches!(self, Self::WriteOnly(_) | Self::SourceGone { .. } | Self::State(_) | Self::Store(_))
    }
}

/// A fork or an overlay, by what it is called. What it stands on may be gone.
#[derive(Debug, Clone)]
pub enum LayerName {
    /// A fork.
    Fork(ForkRecord),
    /// An overlay of an agent.
    Overlay {
        /// Whose.
        agent: AgentName,
        /// Where.
        prefix: LogicalPath,
    },
}

impl LayerName {
    /// As people write it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Fork(fork) => &fork.name,
            Self::Overlay { prefix, .. } => prefix.as_str(),
        }
    }

    fn namespace(&self) -> Namespace {
        match self {
            Self::Fork(fork) => fork_namespace(fork),
            Self::Overlay { agent, prefix } => overlay_namespace(agent, prefix),
        }
    }
}

/// A fork or an overlay with what it stands on.
#[derive(Debug)]
pub struct Layer {
    /// What it holds, over what it stands on.
    pub store: VirtualStore,
    /// Where the Workspace that it stands on is.
    pub source: LogicalPath,
    /// This Workspace as it is now.
    pub below: View,
    /// Everything that the agent of this Workspace has.
    pub policy: AgentPolicy,
}

/// A fork that is to be made.
#[derive(Debug, Clone)]
pub struct NewFork<'n> {
    /// Its name.
    pub name: &'n str,
    /// The Workspace that it stands on.
    pub source: &'n str,
    /// Whose Workspace this is.
    pub from: &'n AgentName,
    /// The agents that get it.
    pub agents: &'n [AgentName],
}

/// Finds, makes and discards forks and overlays of a project.
#[derive(Debug)]
pub struct Layers<'l> {
    file: &'l ConfigFile,
    host: &'l Host,
    ports: &'l Ports,
}

impl<'l> Layers<'l> {
    /// Those of a project.
    ///
    /// # Errors
    /// Where Virtual Stores are in the memory of each process.
    pub fn of(file: &'l ConfigFile, host: &'l Host, ports: &'l Ports) -> Result<Self, LayerError> {
        let stores = file.config().virtual_.as_ref();
        let url = stores.and_then(|stores| stores.url.as_ref()).and_then(|url| url.plain());
        if url.is_some_and(|url| url.0 == "memory") {
            return Err(LayerError::InMemory);
        }
        Ok(Self { file, host, ports })
    }

    /// Every fork, by name.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn forks(&self) -> Result<Vec<ForkRecord>, LayerError> {
        match self.list() {
            Ok(list) => Ok(list.list()?),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// What a person means by a fork's name, or by a prefix of this agent.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, text: &str, agent: &AgentName) -> Result<LayerName, LayerError> {
        if !text.contains('/') {
            return self.fork(text);
        }
        let prefix = self.path(text, agent)?;
        if let Some(name) = prefix.as_str().strip_prefix("/forks/")
            && let Ok(fork) = self.fork(name)
        {
            return Ok(fork);
        }
        match self.file.workspaces_of(agent).iter().find(|table| table.prefix.value.0 == prefix) {
            None => Err(self.no_such_workspace(agent, prefix)),
            Some(table) if matches!(table.mount.value, MountSpec::Overlay { .. }) => {
                Ok(LayerName::Overlay { agent: agent.clone(), prefix })
            }
            Some(_) => Err(LayerError::NotLayered(prefix)),
        }
    }

    /// Opens it beside what it stands on.
    ///
    /// # Errors
    /// When that is gone, or the configuration has a problem.
    pub fn open(&self, name: &LayerName) -> Result<Layer, LayerError> {
        let base = &self.ports.base;
        let (agent, source, store) = match name {
            LayerName::Fork(fork) => {
                let gone = || LayerError::SourceGone {
                    fork: fork.name.clone(),
                    agent: fork.from.clone(),
                    source_prefix: fork.source.clone(),
                };
                let agent = AgentName::parse(&fork.from).map_err(|_| gone())?;
                self.file.agent(&agent).map_err(|_| gone())?;
                let all = self.plain(&agent)?;
                let source = all.iter().find(|one| one.prefix().as_str() == fork.source).ok_or_else(gone)?;
                let (store, _) = fork_store(base, fork, source, &all).ok_or_else(gone)?;
                (agent, source.prefix().clone(), store)
            }
            LayerName::Overlay { agent, prefix } => {
                let all = self.plain(agent)?;
                let source = self.lower_of(agent, prefix)?;
                let lower = all.iter().find(|one| *one.prefix() == source);
                let view = lower.and_then(|lower| View::of(lower, &all));
                let view = view.ok_or_else(|| self.no_such_workspace(agent, source.clone()))?;
                let store = VirtualStore::new(base.clone(), name.namespace()).over(view);
                (agent.clone(), source, store)
            }
        };
        let policy = build(self.file, &agent, self.host, self.ports)?;
        // With the forks beside it: nothing that belongs to one of them is this Workspace's.
        let all = policy.vfs.workspaces();
        let below = all.iter().find(|one| *one.prefix() == source).and_then(|one| View::of(one, all));
        let below = below.ok_or_else(|| self.no_such_workspace(&agent, source.clone()))?;
        Ok(Layer { store, source, below, policy })
    }

    /// How many paths it has a say in, whether or not what it stands on is there.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn held(&self, call: &Call<'_>, name: &LayerName) -> Result<usize, LayerError> {
        let store = VirtualStore::new(self.ports.base.clone(), name.namespace());
        Ok(store.own_rows(call)?.len())
    }

    /// Makes a fork. A running server has it at its next call.
    ///
    /// # Errors
    /// When it cannot be; then nothing is made.
    pub fn make(&self, call: &Call<'_>, new: &NewFork<'_>) -> Result<ForkRecord, LayerError> {
        // One that begins like an option could not be named to a command.
        let name = AgentName::parse(new.name).ok().filter(|name| !name.as_str().starts_with('-'));
        let prefix = name.and_then(|name| fork_prefix(name.as_str()));
        let prefix = prefix.ok_or_else(|| LayerError::BadName(new.name.to_owned()))?;
        for agent in new.agents {
            self.file.agent(agent)?;
            if self.file.workspaces_of(agent).iter().any(|table| table.prefix.value.0 == prefix) {
                return Err(LayerError::PrefixTaken { agent: agent.clone(), prefix });
            }
        }
        let source = self.source(new)?;
        let mut record = ForkRecord {
            name: new.name.to_owned(),
            id: CallId::next().to_string(),
            source: source.prefix().to_string(),
            territory: source.territory().map(ToString::to_string).unwrap_or_default(),
            from: new.from.to_string(),
            agents: new.agents.iter().map(ToString::to_string).collect(),
            created: now(),
            frozen_at: None,
            frozen_in: None,
        };
        let frozen = namespace_of(&source);
        let listed = self.list()?.change(|all| {
            if all.iter().any(|fork| fork.name == new.name) {
                return Err(LayerError::NameTaken(new.name.to_owned()));
            }
            if let Some(namespace) = &frozen {
                record.frozen_at = Some(self.ports.base.pin(call, namespace, &record.id)?.0);
                record.frozen_in = Some(namespace.key());
            }
            all.push(record.clone());
            Ok(())
        });
        if let (Err(_), Some(namespace)) = (&listed, &frozen) {
            // Nobody knows of the pin, if there is one.
            let _ = self.ports.base.unpin(call, namespace, &record.id);
        }
        listed.map(|()| record)
    }

    /// Discards everything that it holds. A fork is no Workspace of anybody's from then on; an overlay shows what it
    /// stands on.
    ///
    /// # Errors
    /// When the list or the database cannot be changed. It can be tried again.
    pub fn discard(&self, call: &Call<'_>, name: &LayerName) -> Result<(), LayerError> {
        let LayerName::Fork(fork) = name else {
            return Ok(self.ports.base.drop_namespace(call, &name.namespace())?);
        };
        // What it holds goes before its record, so that one that is cut off can be discarded again; in between, no
        // other may have taken its name.
        self.list()?.change(|all| {
            self.ports.base.drop_namespace(call, &name.namespace())?;
            if let Some(namespace) = fork.frozen_in.as_deref().and_then(Namespace::of_key) {
                self.ports.base.unpin(call, &namespace, &fork.id)?;
            }
            all.retain(|one| one.id != fork.id);
            Ok(())
        })
    }

    fn source(&self, new: &NewFork<'_>) -> Result<Workspace, LayerError> {
        self.file.agent(new.from)?;
        let prefix = self.path(new.source, new.from)?;
        let all = self.plain(new.from)?;
        let Some(source) = all.into_iter().find(|one| *one.prefix() == prefix) else {
            let is_fork = prefix.as_str().strip_prefix("/forks/").is_some_and(|name| self.fork(name).is_ok());
            return Err(if is_fork {
                LayerError::ForkOfFork(prefix)
            } else {
                self.no_such_workspace(new.from, prefix)
            });
        };
        if source.scope() == AccessScope::WriteOnly { Err(LayerError::WriteOnly(prefix)) } else { Ok(source) }
    }

    fn fork(&self, name: &str) -> Result<LayerName, LayerError> {
        let all = self.forks()?;
        let known = all.iter().map(|fork| fork.name.clone()).collect();
        let found = all.into_iter().find(|fork| fork.name == name);
        found.map(LayerName::Fork).ok_or_else(|| LayerError::NoSuchFork { name: name.to_owned(), known })
    }

    fn list(&self) -> Result<Forks, LayerError> {
        self.ports.home.as_ref().map(Forks::of).ok_or(LayerError::NoPlace)
    }

    fn path(&self, text: &str, agent: &AgentName) -> Result<LogicalPath, LayerError> {
        let base = self.file.agent(agent)?.base.map_or_else(LogicalPath::top, |base| base.0.clone());
        Ok(LogicalPath::parse(text, &base)?)
    }

    fn plain(&self, agent: &AgentName) -> Result<Vec<Workspace>, LayerError> {
        Ok(plain_workspaces(self.file, agent, self.host, self.ports)?)
    }

    fn lower_of(&self, agent: &AgentName, prefix: &LogicalPath) -> Result<LogicalPath, LayerError> {
        let tables = self.file.workspaces_of(agent).iter();
        let lower = tables.filter(|table| table.prefix.value.0 == *prefix).find_map(|table| match &table.mount.value {
            MountSpec::Overlay { overlay } => Some(overlay.value.0.clone()),
            _ => None,
        });
        lower.ok_or_else(|| LayerError::NotLayered(prefix.clone()))
    }

    fn no_such_workspace(&self, agent: &AgentName, prefix: LogicalPath) -> LayerError {
        let known = self.file.workspaces_of(agent).iter().map(|table| table.prefix.value.0.clone()).collect();
        LayerError::NoSuchWorkspace { agent: agent.clone(), prefix, known }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
