//! From a configuration to an agent's Workspaces.
//!
//! Every Workspace of the agent is built, or none: leaving one out would take away the boundary that it is
//! inside another. One whose Mount cannot be had as the disk is now is built too, and gives nothing. Each cites the line that it
//! came from. Nothing is made on disk here.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_core::AccessScope::ReadOnly;
use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Audit, BearerToken, BuildError, Call, CommandRunner, Commands, Gate,
    HidePattern, Journal, LogicalPath, Mount, NameRules, Origin, Passed, Permit, Plan, Quota, Refused, RelPathBuf,
    Request, Vfs, View, WebSearch, Workspace,
};
use paddock_db::Sqlite;
use paddock_state::{ForkRecord, Forks, Secrets, WorkspaceHome};
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::{BaseStore, Commit, Namespace};
use paddock_stores::{KeptPlace, NothingStore, PhysicalStore, SqliteUsage};

use crate::commands::{Careful, Needs};
use crate::config_file::{AgentSpec, ConfigFile};
use crate::fault::Fault;
use crate::host::Host;
use crate::installation::Installation;
use crate::places::Places;
use crate::problem::{ConfigError, Problem};
use crate::schema::{Durability, HardLinks, MountSpec, WorkspaceTable};
use crate::secret;
use crate::source::Located;
use crate::upkeep;
use crate::written::{BY_CONFIGS, BY_PROGRAMS};
use crate::{approvals, commands};

/// What every agent's guard is given besides its Workspaces.
#[derive(Clone)]
pub struct Ports {
    /// Decides whether a plan may run now.
    pub gate: Arc<dyn Gate>,
    /// Records effects.
    pub journal: Arc<dyn Journal>,
    /// Records calls.
    pub audit: Arc<dyn Audit>,
    /// The database of Virtual Stores.
    pub base: Arc<dyn BaseStore>,
    /// The project's place in the System Root, with its forks.
    pub home: Option<WorkspaceHome>,
    /// Where Physical Stores keep what changes replace.
    pub kept: Option<KeptPlace>,
    /// Where what Physical Stores hold is counted.
    pub counters: Option<Sqlite>,
    /// What the configuration names as `{ secret = … }`, and what keeps the values out of all that is written.
    pub secrets: Secrets,
    /// What runs commands; nothing where none can be run.
    pub runner: Option<Arc<dyn CommandRunner>>,
}

impl Ports {
    /// For programs that keep nothing beyond their own life, and for tests.
    pub fn in_memory(gate: Arc<dyn Gate>) -> Self {
        Installation::in_memory().ports(gate)
    }

    /// The same, with what runs commands.
    #[must_use]
    pub fn with_runner(mut self, runner: Arc<dyn CommandRunner>) -> Self {
        self.runner = Some(runner);
        self
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

/// What one agent perceives, and what of it cannot be had as the disk is now.
pub(crate) struct Made {
    pub(crate) policy: AgentPolicy,
    /// Workspaces that give nothing.
    pub(crate) closed: Vec<Problem>,
    /// Why no command would run.
    pub(crate) idle: Vec<Problem>,
}

/// Builds what one agent perceives.
///
/// # Errors
/// With every problem of this agent's Workspaces and commands; then nothing of it is built.
pub fn build(file: &ConfigFile, agent: &AgentName, host: &Host, ports: &Ports) -> Result<AgentPolicy, ConfigError> {
    let Made { policy, mut closed, idle } = make(file, agent, host, ports)?;
    closed.extend(idle);
    if closed.is_empty() { Ok(policy) } else { Err(ConfigError::new(Arc::clone(file.source()), closed)) }
}

/// Builds what one agent perceives, as far as the disk has it: a Workspace whose Mount cannot be had gives nothing.
///
/// # Errors
/// With every problem of the file itself; then nothing is built.
pub(crate) fn make(file: &ConfigFile, agent: &AgentName, host: &Host, ports: &Ports) -> Result<Made, ConfigError> {
    let spec = file.agent(agent)?;
    let failed = |problems| ConfigError::new(Arc::clone(file.source()), problems);
    let built = Built::new(file, host, ports);
    let (mut workspaces, closed) = built.workspaces(agent, spec).map_err(failed)?;
    workspaces.extend(built.forks(agent));
    let (commands, idle) = built.commands(spec, &workspaces).map_err(failed)?;
    let aside = built.aside(agent, &workspaces, commands.is_some());
    workspaces.extend(aside);
    let vfs = Vfs::new(workspaces, Arc::clone(&ports.gate), Arc::clone(&ports.journal))
        .map_err(|error| failed(vec![contradiction(spec, &error)]))?;
    let base = spec.base.map_or_else(LogicalPath::top, |base| base.0.clone());
    let service = built.web_search().map_err(|problem| failed(vec![*problem]))?;
    let rules = approvals::rules(file).map_err(failed)?;
    let policy = AgentPolicy::new(agent.clone(), base, vfs).asking(approvals::terms(file), rules);
    built.places.make_known(&BY_CONFIGS);
    Ok(Made { policy: policy.with_commands(commands).with_web_search(service), closed, idle })
}

/// The Workspaces of an agent as the file has them, without forks.
pub(crate) fn plain(
    file: &ConfigFile,
    agent: &AgentName,
    host: &Host,
    ports: &Ports,
) -> Result<Vec<Workspace>, ConfigError> {
    let built = Built::new(file, host, ports).workspaces(agent, file.agent(agent)?);
    let whole = built.and_then(|(built, closed)| if closed.is_empty() { Ok(built) } else { Err(closed) });
    whole.map_err(|problems| ConfigError::new(Arc::clone(file.source()), problems))
}

/// Looks whether every agent of a file can be built.
///
/// # Errors
/// With every problem of every agent.
pub fn check(file: &ConfigFile, host: &Host) -> Result<(), ConfigError> {
    let ports = Ports::in_memory(Arc::new(Closed));
    let built = file.agents().into_iter().map(|agent| build(file, &agent, host, &ports));
    let problems: Vec<Problem> = built.filter_map(Result::err).flat_map(ConfigError::into_problems).collect();
    if problems.is_empty() { Ok(()) } else { Err(ConfigError::new(Arc::clone(file.source()), problems)) }
}

/// An agent without any Workspace: what a missing configuration gives.
pub(crate) fn nothing(agent: &AgentName, ports: &Ports) -> AgentPolicy {
    let vfs = Vfs::new(Vec::new(), Arc::clone(&ports.gate), Arc::clone(&ports.journal));
    let vfs = vfs.unwrap_or_else(|error| unreachable!("no Workspaces cannot contradict each other: {error}"));
    AgentPolicy::new(agent.clone(), LogicalPath::top(), vfs)
}

/// The Mounts of all agents that are on the disk, with their scopes: what one agent writes counts for what another gets.
pub(crate) fn on_disk(file: &ConfigFile, host: &Host) -> Vec<(PathBuf, AccessScope)> {
    let agents = file.agents();
    let tables = agents.iter().flat_map(|agent| file.workspaces_of(agent));
    let mounts = tables.filter_map(|table| match &table.mount.value {
        MountSpec::Physical { physical } => Some((host.path_of(physical), table.scope.value.0)),
        _ => None,
    });
    mounts.collect()
}

/// What Workspaces are built from.
struct Built<'b> {
    file: &'b ConfigFile,
    host: &'b Host,
    ports: &'b Ports,
    places: Arc<Places>,
}

/// How commands run, and why none would run now.
type AndIdle = (Option<Commands>, Vec<Problem>);

/// Workspaces, and the problems of those of them that give nothing.
type AndClosed = (Vec<Workspace>, Vec<Problem>);

impl<'b> Built<'b> {
    fn new(file: &'b ConfigFile, host: &'b Host, ports: &'b Ports) -> Self {
        let mounts = on_disk(file, host);
        // Not beside other configurations: a person may change a file, and what it said before counts no more.
        Self { file, host, ports, places: Arc::new(Places::new(mounts.into_iter()).beside(&[&BY_PROGRAMS])) }
    }

    /// Every Workspace of an agent; an overlay after the one that it stands on.
    fn workspaces(&self, agent: &AgentName, spec: AgentSpec<'_>) -> Result<AndClosed, Vec<Problem>> {
        let mut built: Vec<Workspace> = Vec::new();
        let (mut problems, mut closed) = (Vec::new(), Vec::new());
        let mut waiting: Vec<&WorkspaceTable> = Vec::new();
        for table in spec.workspaces {
            let made = match &table.mount.value {
                MountSpec::Physical { .. } => match self.physical(table) {
                    Err(fault) if fault.is_of_mount() => {
                        closed.push(Problem::new(fault, table.mount.span.clone()));
                        self.closed(table)
                    }
                    made => made,
                },
                MountSpec::Virtual { name, shared } => {
                    self.virtual_(agent, table, &name.value, shared.unwrap_or(false))
                }
                MountSpec::Overlay { .. } => {
                    waiting.push(table);
                    continue;
                }
            };
            match made {
                Ok(workspace) => built.push(workspace),
                Err(fault) => problems.push(Problem::new(fault, table.mount.span.clone())),
            }
        }
        // Shadows count too, so those that overlays stand on are looked at with all the plain ones beside them.
        self.overlays(agent, waiting, &mut built, &mut problems);
        if problems.is_empty() {
            return Ok((built, closed));
        }
        problems.extend(closed);
        Err(problems)
    }

    /// Builds each overlay once what it stands on is there. Those that are left stand on each other, or on nothing.
    fn overlays(
        &self,
        agent: &AgentName,
        mut waiting: Vec<&WorkspaceTable>,
        built: &mut Vec<Workspace>,
        problems: &mut Vec<Problem>,
    ) {
        loop {
            let (ready, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|table| lower_of(table, built).is_some());
            waiting = rest;
            if ready.is_empty() {
                break;
            }
            for table in ready {
                match self.overlay(agent, table, built) {
                    Ok(workspace) => built.push(workspace),
                    Err(fault) => problems.push(Problem::new(fault, table.mount.span.clone())),
                }
            }
        }
        let circle: Vec<String> = waiting.iter().map(|table| table.prefix.value.0.to_string()).collect();
        for table in waiting {
            let MountSpec::Overlay { overlay } = &table.mount.value else { continue };
            let below = overlay.value.0.to_string();
            let fault = if circle.contains(&below) {
                Fault::OverlayCircle(table.prefix.value.0.to_string())
            } else {
                Fault::OverlayOnNothing(below)
            };
            problems.push(Problem::new(fault, table.mount.span.clone()));
        }
    }

    fn physical(&self, table: &WorkspaceTable) -> Result<Workspace, Fault> {
        let mut store = open(table, self.host, &self.places)?;
        let own = self.host.own_below(store.host());
        let territory = store.territory();
        if let Some(kept) = &self.ports.kept {
            store = store.with_history(kept.clone());
        }
        if let (Some(counters), Some(_)) = (&self.ports.counters, &table.quota) {
            store = store.with_usage(Arc::new(SqliteUsage::new(counters.clone(), territory.to_string())));
        }
        let store = Arc::new(store);
        if table.quota.is_some() {
            upkeep::count(&store, &territory.to_string());
        }
        let directory = store.host().to_owned();
        let mounts = self.places.below(&directory);
        let mount = Mount::new(store, Some(territory)).on_host(directory);
        let workspace = self.finish(table, mount, self.hidden(table), &own)?;
        let names = workspace.names().clone().with_mounts(&mounts);
        Ok(workspace.with_names(names))
    }

    /// A Workspace whose Mount cannot be had: it gives nothing, and is still the boundary that it is inside another.
    fn closed(&self, table: &WorkspaceTable) -> Result<Workspace, Fault> {
        self.finish(table, Mount::new(Arc::new(NothingStore), None), self.hidden(table), &[])
    }

    fn virtual_(
        &self,
        agent: &AgentName,
        table: &WorkspaceTable,
        name: &str,
        shared: bool,
    ) -> Result<Workspace, Fault> {
        let namespace = if shared {
            Namespace::new(["shared", name])
        } else {
            Namespace::new(["workspaces", agent.as_str(), name])
        };
        let store = VirtualStore::new(Arc::clone(&self.ports.base), namespace);
        let territory = store.territory();
        self.finish(table, Mount::new(Arc::new(store), Some(territory)), self.hidden(table), &[])
    }

    fn overlay(&self, agent: &AgentName, table: &WorkspaceTable, built: &[Workspace]) -> Result<Workspace, Fault> {
        let lower = lower_of(table, built).ok_or_else(|| Fault::OverlayOnNothing(table.prefix.value.0.to_string()))?;
        let view = View::of(lower, built).ok_or_else(|| Fault::OverlayUnreadable(lower.prefix().to_string()))?;
        let namespace = overlay_namespace(agent, &table.prefix.value.0);
        let store = VirtualStore::new(Arc::clone(&self.ports.base), namespace).over(view);
        let territory = store.territory();
        let mut hide = lower.names().hide_patterns().to_vec();
        hide.extend(self.hidden(table));
        hide.extend(nested_in(lower, built));
        self.finish(table, Mount::new(Arc::new(store), Some(territory)), hide, &[])
    }

    /// How the agent runs commands, where it has a place that they may change, and why none would run now.
    fn commands(&self, spec: AgentSpec<'_>, workspaces: &[Workspace]) -> Result<AndIdle, Vec<Problem>> {
        let settings =
            commands::settings(self.file.config(), self.host, &self.ports.secrets).map_err(|problem| vec![*problem])?;
        let Some(settings) = settings else { return Ok((None, Vec::new())) };
        let span = |workspace: &Workspace| {
            let table = spec.workspaces.iter().find(|table| table.prefix.value.0 == *workspace.prefix());
            table.map(|table| table.prefix.span.clone())
        };
        let problem = |workspace: &Workspace, fault| match span(workspace) {
            Some(span) => Problem::new(fault, span),
            None => Problem::of_file(fault),
        };
        let looked = workspaces.iter().filter_map(|w| commands::leaves_room(w).err().map(|fault| problem(w, fault)));
        let problems: Vec<Problem> = looked.collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let needs = Needs::new(&settings, workspaces, self.host, &self.places);
        let top = workspaces.iter().find(|workspace| workspace.prefix().as_str() == "/");
        let idle = needs.missing().into_iter().map(|fault| match (&fault, top) {
            (Fault::SystemPrefix { .. }, Some(top)) => problem(top, fault),
            _ => Problem::of_file(fault),
        });
        let idle = idle.collect();
        let Some(runner) = &self.ports.runner else { return Ok((None, idle)) };
        let runner = Arc::new(Careful { runner: Arc::clone(runner), needs });
        Ok((Some(Commands { settings: Arc::new(settings), runner }), idle))
    }

    /// The service that searches the web; nothing where its address is a secret that is not looked up.
    fn web_search(&self) -> Result<Option<WebSearch>, Box<Problem>> {
        let Some(search) = &self.file.config().web_search else { return Ok(None) };
        let secrets = &self.ports.secrets;
        let key = search.key.as_ref().map(|key| secret::look_up_key(key, secrets)).transpose()?.flatten();
        let url = secret::look_up(&search.url, secrets)?;
        Ok(url.map(|url| WebSearch { url: url.0, key: key.map(|key| BearerToken::new(key.expose())) }))
    }

    /// What Paddock itself puts where the agent only reads it: outputs that are too long to show, and the plans of runs that
    /// have no other place. What the file gives to something else stays that; what commands need was kept free.
    fn aside(&self, agent: &AgentName, given: &[Workspace], commands: bool) -> Vec<Workspace> {
        let is_free = |own: &Workspace| given.iter().all(|workspace| !meet(own.prefix(), workspace.prefix()));
        let evicted = self.own(commands::EVICTED, Namespace::new(["evicted", agent.as_str()]), "long outputs");
        let plans = self.own(commands::PLANS, Namespace::new(["plans", agent.as_str()]), "plans of runs");
        let all = evicted.filter(|own| commands || is_free(own)).into_iter().chain(plans.filter(is_free));
        // Whoever perceives nothing gets nothing by this either.
        all.filter(|_| !given.is_empty()).collect()
    }

    /// A Virtual Workspace of Paddock's own, in no list of places.
    fn own(&self, prefix: &str, namespace: Namespace, says: &str) -> Option<Workspace> {
        let prefix = LogicalPath::parse(prefix, &LogicalPath::top()).ok()?;
        let store = VirtualStore::new(Arc::clone(&self.ports.base), namespace);
        let territory = store.territory();
        let mount = Mount::new(Arc::new(store), Some(territory));
        Some(Workspace::new(prefix, ReadOnly, mount).with_origin(Origin::new(says, 0)).set_aside())
    }

    /// The forks that an agent has. One whose source is gone shows nothing, and is told by `paddock fork`.
    fn forks(&self, agent: &AgentName) -> Vec<Workspace> {
        let Some(home) = &self.ports.home else { return Vec::new() };
        let forks = Forks::of(home).list().unwrap_or_default();
        forks
            .iter()
            .filter(|fork| fork.agents.iter().any(|name| name == agent.as_str()))
            .filter_map(|fork| self.fork(fork))
            .collect()
    }

    fn fork(&self, fork: &ForkRecord) -> Option<Workspace> {
        let from = AgentName::parse(&fork.from).ok()?;
        let spec = self.file.agent(&from).ok()?;
        let (built, _) = self.workspaces(&from, spec).ok()?;
        let source = built.iter().find(|workspace| workspace.prefix().as_str() == fork.source)?;
        let (store, _) = fork_store(&self.ports.base, fork, source, &built)?;
        let territory = store.territory();
        let mount = Mount::new(Arc::new(store), Some(territory));
        let workspace = Workspace::new(fork_prefix(&fork.name)?, AccessScope::ReadWrite, mount);
        let names = source.names().clone().also_hiding(nested_in(source, &built)).ok()?;
        let workspace = workspace.with_names(names).with_quota(source.quota());
        Some(workspace.with_origin(Origin::new(format!("fork {}", fork.name), 0)))
    }

    fn hidden(&self, table: &WorkspaceTable) -> Vec<HidePattern> {
        let hide = table.hide.iter().flatten();
        hide.map(|pattern| HidePattern { text: pattern.0.clone(), origin: self.cite(pattern.at.line) }).collect()
    }

    fn cite(&self, line: u32) -> Origin {
        Origin::new(Arc::clone(self.file.source().name()), line)
    }

    fn finish(
        &self,
        table: &WorkspaceTable,
        mount: Mount,
        hide: Vec<HidePattern>,
        own: &[RelPathBuf],
    ) -> Result<Workspace, Fault> {
        refuse_whole_paths(table, self.host)?;
        let unguard: Vec<String> = table.unguard.iter().flatten().map(|name| name.0.clone()).collect();
        // Each rule was checked alone when it was read, so together they can only be too large.
        let names = NameRules::new(hide, &unguard, own).map_err(|error| Fault::BadPattern(error.to_string()))?;
        let quota = table.quota.as_ref().map_or_else(Quota::default, |quota| Quota {
            bytes: quota.bytes.as_ref().map(|bytes| bytes.0),
            files: quota.files,
        });
        let scope = &table.scope;
        let workspace = Workspace::new(table.prefix.value.0.clone(), scope.value.0, mount);
        Ok(workspace.with_names(names).with_origin(self.cite(scope.at.line)).with_quota(quota))
    }
}

/// A pattern that names a file as the agent sees it, or as the host does, hides nothing: its leading "/" is the top of the
/// Workspace. Nobody would notice before the agent does.
fn refuse_whole_paths(table: &WorkspaceTable, host: &Host) -> Result<(), Fault> {
    let prefix = table.prefix.value.0.as_str();
    let on_host = match &table.mount.value {
        MountSpec::Physical { physical } => host.path_of(physical).components().collect::<PathBuf>(),
        _ => PathBuf::new(),
    };
    let on_host = on_host.to_string_lossy();
    let begins = |text: &str, with: &str| {
        with.len() > 1 && text.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_whole = |text: &str| begins(text, prefix) || begins(text, &on_host);
    let mut patterns = table.hide.iter().flatten();
    match patterns.find(|pattern| pattern.each().iter().any(|text| is_whole(text.trim_start_matches('!')))) {
        Some(pattern) => Err(Fault::HidesNothing {
            pattern: pattern.0.clone(),
            why: "a leading \"/\" is the top of the Workspace: leave out what leads there",
        }),
        None => Ok(()),
    }
}

/// Does one lie in the other?
fn meet(one: &LogicalPath, other: &LogicalPath) -> bool {
    one.below(other).is_some() || other.below(one).is_some()
}

fn lower_of<'w>(table: &WorkspaceTable, built: &'w [Workspace]) -> Option<&'w Workspace> {
    let MountSpec::Overlay { overlay } = &table.mount.value else { return None };
    built.iter().find(|workspace| *workspace.prefix() == overlay.value.0)
}

/// The places of Workspaces that are nested in one, as patterns: what a fork or an overlay of it held there could never be applied.
fn nested_in(source: &Workspace, all: &[Workspace]) -> Vec<HidePattern> {
    let below = |inner: &Workspace| {
        let rel = inner.prefix().below(source.prefix()).filter(|rel| !rel.is_here())?;
        let literal: String = rel.as_str().chars().flat_map(literally).collect();
        Some(HidePattern { text: format!("/{literal}"), origin: inner.origin().clone() })
    };
    all.iter().filter_map(below).collect()
}

/// A character of a name in a pattern, where it stands for nothing but itself.
fn literally(letter: char) -> impl Iterator<Item = char> {
    let escaped = matches!(letter, '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | ' ');
    escaped.then_some('\\').into_iter().chain([letter])
}

/// The Store of a fork and the View that it stands on: frozen where that can be.
pub fn fork_store(
    base: &Arc<dyn BaseStore>,
    fork: &ForkRecord,
    source: &Workspace,
    all: &[Workspace],
) -> Option<(VirtualStore, View)> {
    // The prefix leads to another place by now: that one was never forked.
    if source.territory().map(ToString::to_string).unwrap_or_default() != fork.territory {
        return None;
    }
    let view = View::of(source, all)?;
    let store = VirtualStore::new(Arc::clone(base), fork_namespace(fork));
    match (fork.frozen_at, namespace_of(source)) {
        (None, _) => Some((store.over(view.clone()), view)),
        // Another Mount by now: the commit means nothing there.
        (Some(_), namespace) if namespace.as_ref().map(Namespace::key) != fork.frozen_in => None,
        (Some(at), namespace) => {
            let namespace = namespace?;
            let below = VirtualStore::new(Arc::clone(base), namespace).frozen(Commit(at));
            let view = view.standing_on(Arc::new(below));
            Some((store.over_frozen(view.clone()), view))
        }
    }
}

/// Where the Workspace of a fork is.
pub(crate) fn fork_prefix(name: &str) -> Option<LogicalPath> {
    LogicalPath::parse(&format!("/forks/{name}"), &LogicalPath::top()).ok()
}

/// What a fork itself holds is in here.
pub(crate) fn fork_namespace(fork: &ForkRecord) -> Namespace {
    Namespace::new(["forks", fork.id.as_str()])
}

/// What an overlay itself holds is in here.
pub(crate) fn overlay_namespace(agent: &AgentName, prefix: &LogicalPath) -> Namespace {
    Namespace::new(["overlays", agent.as_str(), prefix.as_str()])
}

/// The namespace of a Workspace on a plain Virtual Store.
pub fn namespace_of(workspace: &Workspace) -> Option<Namespace> {
    VirtualStore::namespace_in(workspace.territory()?)
        .filter(|namespace| matches!(namespace.names().first().map(String::as_str), Some("workspaces" | "shared")))
}

/// Opens the Store behind a Workspace, after looking that it is a place that may be one.
fn open(table: &WorkspaceTable, host: &Host, places: &Places) -> Result<PhysicalStore, Fault> {
    let prefix = || table.prefix.0.to_string();
    let MountSpec::Physical { physical: written } = &table.mount.value else { return Err(Fault::MountKind("none")) };
    let store = physical(&host.path_of(written), written, &prefix())?;
    let missing_is_fine = table.scope.0 != ReadOnly;
    look(store.host(), written, &prefix(), missing_is_fine)?;
    refuse_system_root(store.host(), host)?;
    places.refuse_planted(&store, written, &prefix())?;
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
pub(crate) struct Closed;

impl Gate for Closed {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, _: Permit) -> Result<Passed, Refused> {
        Err(Refused::Gate("nothing runs while a configuration is only checked".to_owned()))
    }
}
