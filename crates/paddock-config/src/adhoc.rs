//! Directories named on the command line instead of a file: `paddock mcp DIR[:ro|:wo] …`.
//!
//! A drop-in for servers that take directories as arguments. Each is a Workspace at `/<last name>`, with
//! the names hidden that `init` hides. One directory alone is also where relative paths start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, BuildError, HidePattern, LogicalPath, Mount, NameRuleError, NameRules, Origin,
    PathError, Vfs, Workspace, visible,
};

use crate::build::{Ports, look, physical, refuse_system_root};
use crate::fault::Fault;
use crate::host::Host;
use crate::init::HIDE;
use crate::places::Places;

/// A directory and the Access Scope that the agent has in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdhocDir {
    /// The directory, as written.
    pub path: PathBuf,
    /// The Access Scope.
    pub scope: AccessScope,
}

impl AdhocDir {
    /// Reads `DIR`, `DIR:ro`, `DIR:wo` or `DIR:rw`; read-write unless said.
    ///
    /// ```
    /// use paddock_config::AdhocDir;
    /// use paddock_core::AccessScope;
    /// assert_eq!(AdhocDir::parse("docs:ro").scope, AccessScope::ReadOnly);
    /// assert_eq!(AdhocDir::parse("src").scope, AccessScope::ReadWrite);
    /// ```
    #[must_use]
    pub fn parse(argument: &str) -> Self {
        let (path, scope) = match argument.rsplit_once(':') {
            Some((path, "ro" | "RO")) => (path, AccessScope::ReadOnly),
            Some((path, "wo" | "WO")) => (path, AccessScope::WriteOnly),
            Some((path, "rw" | "RW")) => (path, AccessScope::ReadWrite),
            _ => (argument, AccessScope::ReadWrite),
        };
        Self { path: PathBuf::from(path), scope }
    }
}

/// Why directories cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum AdhocError {
    /// None was named.
    #[error("no directory was named")]
    None,
    /// It has no name that an agent could use.
    #[error("\"{}\" has no last name to be seen under", visible(&.0.to_string_lossy()))]
    Nameless(PathBuf),
    /// Its name is no logical path.
    #[error("{0}")]
    BadName(#[from] PathError),
    /// Two would be seen under one name.
    #[error("\"{}\" and \"{}\" would both be \"{prefix}\"", visible(&first.to_string_lossy()), visible(&second.to_string_lossy()))]
    SameName {
        /// One directory.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Where both would be seen.
        prefix: LogicalPath,
    },
    /// The directory cannot be used.
    #[error("{0}")]
    Directory(Fault),
    /// A rule of ours does not compile.
    #[error("{0}")]
    Names(#[from] NameRuleError),
    /// Two of them reach one place and disagree about it.
    #[error("{0}")]
    Contradiction(Box<BuildError>),
}

impl AdhocError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::None => "name a directory, as in `paddock mcp ~/notes:ro`, or run `paddock init`".into(),
            Self::Nameless(_) => "name a directory below it".into(),
            Self::BadName(error) => error.hint().into(),
            Self::SameName { .. } => "give them different prefixes in a paddock.toml; `paddock init` writes one".into(),
            Self::Directory(Fault::NoDirectory { .. }) => "create it, or correct the path".into(),
            Self::Directory(fault) => fault.hint(),
            Self::Names(_) => "run `paddock init` and use its paddock.toml".into(),
            Self::Contradiction(_) => "name each place once, or give both the same Access Scope".into(),
        }
    }
}

/// The policy of the agent that perceives exactly these directories.
///
/// # Errors
/// When one is not a directory, contains or lies in the System Root, or two have the same last name.
pub fn adhoc(dirs: &[AdhocDir], host: &Host, ports: &Ports) -> Result<AgentPolicy, AdhocError> {
    let mut workspaces: Vec<(Workspace, &Path)> = Vec::new();
    // All of them first: the configuration of one directory may be a link into another.
    let named: Vec<PathBuf> = dirs.iter().map(|dir| host.project_root().join(&dir.path)).collect();
    let host = host.with_configs_over(named.iter().map(PathBuf::as_path).chain([host.project_root()]));
    let places = Places::new(named.into_iter().zip(dirs).map(|(path, dir)| (path, dir.scope)));
    for dir in dirs {
        let workspace = workspace(dir, &host, &places, ports)?;
        let same = workspaces.iter().find(|(other, _)| other.prefix() == workspace.prefix());
        if let Some((_, first)) = same {
            let (first, second) = (first.to_path_buf(), dir.path.clone());
            return Err(AdhocError::SameName { first, second, prefix: workspace.prefix().clone() });
        }
        workspaces.push((workspace, &dir.path));
    }
    let base = match workspaces.as_slice() {
        [] => return Err(AdhocError::None),
        [(only, _)] => only.prefix().clone(),
        _ => LogicalPath::top(),
    };
    let workspaces = workspaces.into_iter().map(|(workspace, _)| workspace).collect();
    let vfs = Vfs::new(workspaces, Arc::clone(&ports.gate), Arc::clone(&ports.journal))
        .map_err(|error| AdhocError::Contradiction(Box::new(error)))?;
    Ok(AgentPolicy::new(AgentName::main(), base, vfs))
}

fn workspace(dir: &AdhocDir, host: &Host, places: &Places, ports: &Ports) -> Result<Workspace, AdhocError> {
    if dir.path.as_os_str().is_empty() {
        // As from a variable that is not set: nobody meant the current directory.
        return Err(AdhocError::Nameless(PathBuf::new()));
    }
    let written = dir.path.to_string_lossy();
    let path = host.project_root().join(&dir.path);
    let store = physical(&path, &written, &written).map_err(AdhocError::Directory)?;
    let name = store.host().file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| AdhocError::Nameless(dir.path.clone()))?;
    let prefix = LogicalPath::parse(name, &LogicalPath::top())?;
    // A missing directory is a slip of the person who typed it, in any scope.
    look(store.host(), &written, prefix.as_str(), false).map_err(AdhocError::Directory)?;
    refuse_system_root(store.host(), host).map_err(AdhocError::Directory)?;
    places.refuse_planted(&store, &written, prefix.as_str()).map_err(AdhocError::Directory)?;
    let hide = HIDE.iter().map(|text| HidePattern { text: (*text).to_owned(), origin: Origin::command_line() });
    let names =
        NameRules::new(hide.collect(), &[], &host.own_below(store.host()))?.with_mounts(&places.below(store.host()));
    let territory = store.territory();
    let store = match &ports.kept {
        Some(kept) => store.with_history(kept.clone()),
        None => store,
    };
    let mount = Mount::new(Arc::new(store), Some(territory));
    Ok(Workspace::new(prefix, dir.scope, mount).with_names(names).with_origin(Origin::command_line()))
}
