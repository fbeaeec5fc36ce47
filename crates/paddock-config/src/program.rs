//! Workspaces that a program gives instead of a file: each with its prefix, its Access Scope and a Store.
//!
//! For who embeds Paddock, as the LangChain.js middleware does. A directory gets what a configuration would give it:
//! Paddock's own files in it stay its own, the System Root is out of reach, the names that `init` hides are hidden
//! unless other patterns are given. Two Mounts of one place that disagree are an error here too.

mod error;
mod options;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    use crate::build::build;
    use paddock_core::{Alter, Alteration, Call, CallId, Cancel, DenyRule, Expect, OpKind, Operation, Refused};
    use paddock_state::{HomeSources, SystemRoot};
    use paddock_stores::virtual_store::MemoryBase;

    struct World {
        directory: tempfile::TempDir,
        host: Host,
    }

    impl World {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let home = HomeSources::from_environment(Some(directory.path().join("home")));
            let host = Host::without_config(SystemRoot::resolve(&home, None).unwrap()).unwrap();
            std::fs::create_dir(directory.path().join("code")).unwrap();
            Self { directory, host }
        }

        fn path(&self, name: &str) -> String {
            self.directory.path().join(name).display().to_string()
        }

        fn code(&self) -> ProgramStore {
            ProgramStore::directory(&self.path("code"), &self.host).unwrap()
        }

        fn policy(&self, mounts: &[ProgramMount]) -> Result<AgentPolicy, ProgramError> {
            let ports = Ports::in_memory(Arc::new(crate::build::Closed));
            program(AgentName::main(), None, mounts, None, &self.host, &ports)
        }
    }

    fn notes() -> ProgramStore {
        let namespace = Namespace::new(["notes"]);
        ProgramStore::Virtual { base: Arc::new(MemoryBase::new()), database: "memory".into(), namespace }
    }

    fn mount(prefix: &str, scope: AccessScope, store: ProgramStore) -> ProgramMount {
        ProgramMount { prefix: prefix.into(), scope, store, hide: None }
    }

    fn denied(policy: &AgentPolicy, op: OpKind, path: &str) -> bool {
        !policy.vfs.judge(op, &policy.path(path).unwrap()).allowed()
    }

    #[test]
    fn no_mounts_are_no_access() {
        let policy = World::new().policy(&[]).unwrap();
        assert!(policy.vfs.workspaces().is_empty());
        assert!(denied(&policy, OpKind::Read, "/anything"));
    }

    #[test]
    fn a_directory_hides_what_init_hides_and_keeps_paddocks_own_files() {
        let world = World::new();
        let policy = world.policy(&[mount("/code", AccessScope::ReadWrite, world.code())]).unwrap();
        assert!(denied(&policy, OpKind::Read, "/code/.env"));
        assert!(denied(&policy, OpKind::Write, "/code/paddock.toml"));
        assert!(!denied(&policy, OpKind::Write, "/code/a"));
    }

    #[test]
    fn an_overlay_shows_nothing_that_is_hidden_below() {
        let world = World::new();
        let over = world.code().under(&notes()).unwrap();
        let policy = world.policy(&[mount("/try", AccessScope::ReadWrite, over)]).unwrap();
        assert!(denied(&policy, OpKind::Read, "/try/.env"));
        assert!(denied(&policy, OpKind::Write, "/try/paddock.toml"));
    }

    #[test]
    fn only_a_virtual_store_is_above_another() {
        let world = World::new();
        assert!(matches!(world.code().under(&world.code()), Err(ProgramError::Upper)));
    }

    #[test]
    fn two_mounts_of_one_place_must_agree() {
        let world = World::new();
        let both = |second| [mount("/a", AccessScope::ReadOnly, world.code()), mount("/b", second, world.code())];
        assert!(matches!(world.policy(&both(AccessScope::ReadWrite)), Err(ProgramError::Contradiction(_))));
        assert!(world.policy(&both(AccessScope::ReadOnly)).is_ok());
    }

    #[test]
    fn two_mounts_of_one_namespace_must_agree_and_two_databases_are_two_places() {
        let world = World::new();
        let shared = |database: &str| {
            let namespace = Namespace::new(["notes"]);
            ProgramStore::Virtual { base: Arc::new(MemoryBase::new()), database: database.into(), namespace }
        };
        let both = |second| {
            let first = mount("/a", AccessScope::ReadOnly, shared("one"));
            world.policy(&[first, mount("/b", AccessScope::ReadWrite, second)])
        };
        assert!(matches!(both(shared("one")), Err(ProgramError::Contradiction(_))));
        assert!(both(shared("other")).is_ok());
        let over = world.code().under(&shared("one")).unwrap();
        assert!(matches!(both(over), Err(ProgramError::Contradiction(_))), "what is above is the same place, too");
    }

    #[test]
    fn a_file_is_no_directory() {
        let world = World::new();
        std::fs::write(world.directory.path().join("file"), "").unwrap();
        let made = ProgramStore::directory(&world.path("file"), &world.host);
        assert!(matches!(made, Err(ProgramError::Directory(Fault::BadDirectory { .. }))), "{made:?}");
    }

    #[test]
    fn the_system_root_is_out_of_reach() {
        let world = World::new();
        assert!(matches!(ProgramStore::directory(&world.path(""), &world.host), Err(ProgramError::Directory(_))));
        assert!(matches!(ProgramStore::directory("", &world.host), Err(ProgramError::Directory(_))));
    }

    #[test]
    fn a_directory_that_is_not_there_yet_can_only_be_written() {
        let world = World::new();
        let with = |scope| {
            let later = ProgramStore::directory(&world.path("later"), &world.host).unwrap();
            world.policy(&[mount("/later", scope, later)])
        };
        assert!(matches!(with(AccessScope::ReadOnly), Err(ProgramError::Directory(Fault::NoDirectory { .. }))));
        assert!(with(AccessScope::ReadWrite).is_ok());
    }

    #[test]
    fn a_prefix_is_absolute_and_stays_inside() {
        let world = World::new();
        let with = |prefix: &str| world.policy(&[mount(prefix, AccessScope::ReadOnly, notes())]);
        assert!(matches!(with("notes"), Err(ProgramError::Relative(_))));
        assert!(matches!(with("/../x"), Err(ProgramError::Prefix { .. })));
        assert!(with("/notes").is_ok());
    }

    #[test]
    fn two_mounts_of_one_prefix_are_told_without_a_file() {
        let world = World::new();
        let told = world
            .policy(&[mount("/a", AccessScope::ReadOnly, world.code()), mount("/a", AccessScope::ReadOnly, notes())]);
        let error = told.unwrap_err();
        assert_eq!(error.to_string(), "two Mounts have the prefix \"/a\"");
        assert_eq!(error.hint(), "give each Mount a prefix of its own");
    }

    #[test]
    fn relative_paths_start_in_a_workspace_or_on_the_way_to_one() {
        let world = World::new();
        let ports = Ports::in_memory(Arc::new(crate::build::Closed));
        let mounts = [mount("/a/b", AccessScope::ReadOnly, world.code())];
        let with = |base, mounts: &[ProgramMount]| {
            program(AgentName::main(), Some(base), mounts, None, &world.host, &ports)
                .map(|policy| policy.base.to_string())
        };
        for base in ["/", "/a", "/a/b", "/a/b/c"] {
            assert_eq!(with(Base::Here(base), &mounts).unwrap(), base);
        }
        for base in ["/nope", "/a/bc", "/b"] {
            assert!(matches!(with(Base::Here(base), &mounts), Err(ProgramError::Base(_))), "{base}");
            assert_eq!(with(Base::Anywhere(base), &mounts).unwrap(), base, "where they are others each time");
            assert_eq!(with(Base::Here(base), &[]).unwrap(), base, "where there are none");
        }
        assert!(matches!(with(Base::Here("a"), &mounts), Err(ProgramError::Relative(_))));
    }

    #[test]
    fn a_pattern_that_hides_nothing_is_refused_as_in_a_file() {
        let world = World::new();
        let with = |hide: &[&str]| {
            let hide = Some(hide.iter().map(|text| (*text).to_owned()).collect());
            world.policy(&[ProgramMount { hide, ..mount("/a", AccessScope::ReadOnly, world.code()) }])
        };
        for wrong in [&["# all"][..], &[""], &["!a"], &["a\nb"], &["\"", "!"]] {
            assert!(matches!(with(wrong), Err(ProgramError::Hide(_))), "{wrong:?}");
        }
        let policy = with(&["*.secret", "!a.secret", "\"quoted\"", "back\\\\slash"]).unwrap();
        assert!(denied(&policy, OpKind::Read, "/a/b.secret") && !denied(&policy, OpKind::Read, "/a/a.secret"));
        assert!(denied(&policy, OpKind::Read, "/a/\"quoted\""));
    }

    #[test]
    fn what_is_wrong_with_a_directory_is_told_to_who_has_no_file() {
        let world = World::new();
        let absent = ProgramStore::directory(&world.path("absent"), &world.host).unwrap();
        let error = world.policy(&[mount("/a", AccessScope::ReadOnly, absent)]).unwrap_err();
        assert!(!error.hint().contains("paddock.toml"), "{}", error.hint());
        let error = ProgramStore::directory(&world.path(""), &world.host).unwrap_err();
        assert!(!error.hint().contains("--home") && error.hint().contains("PADDOCK_HOME"), "{}", error.hint());
        let error = program_commands(table("dney = []"), &world.host).unwrap_err();
        assert_eq!(error.to_string(), "unknown key \"dney\" in [commands]");
        assert_eq!(error.hint(), "did you mean \"deny\"?");
    }

    #[test]
    fn a_write_into_read_only_is_denied_by_its_scope() {
        let world = World::new();
        let policy = world.policy(&[mount("/code", AccessScope::ReadOnly, world.code())]).unwrap();
        let asked = policy.path("/code/a").unwrap();
        assert_eq!(policy.vfs.judge(OpKind::Write, &asked).denial(&asked).rule, DenyRule::Scope);
    }

    #[test]
    fn a_link_that_an_agent_put_where_a_mount_will_be_is_not_followed() {
        let world = World::new();
        let outside = tempfile::tempdir().unwrap();
        let drafts = world.directory.path().join("code/drafts");
        std::os::unix::fs::symlink(outside.path(), &drafts).unwrap();
        let through = || ProgramStore::directory(&drafts.display().to_string(), &world.host).unwrap();
        for scope in [AccessScope::ReadWrite, AccessScope::ReadOnly] {
            let mounts = [mount("/code", AccessScope::ReadWrite, world.code()), mount("/drafts", scope, through())];
            let error = world.policy(&mounts).unwrap_err();
            assert!(matches!(error, ProgramError::Directory(Fault::LinkThatAgentsWrite { .. })), "{error}");
        }
        let over = through().under(&notes()).unwrap();
        let mounts =
            [mount("/code", AccessScope::WriteOnly, world.code()), mount("/drafts", AccessScope::ReadOnly, over)];
        assert!(matches!(world.policy(&mounts), Err(ProgramError::Directory(Fault::LinkThatAgentsWrite { .. }))));
        // A link of a person's own, in a directory that no agent writes.
        let mounts =
            [mount("/code", AccessScope::ReadOnly, world.code()), mount("/drafts", AccessScope::ReadOnly, through())];
        assert!(world.policy(&mounts).is_ok());
    }

    #[test]
    fn a_link_in_what_another_agent_of_the_process_writes_is_not_followed() {
        let world = World::new();
        let outside = tempfile::tempdir().unwrap();
        let drafts = world.directory.path().join("code/drafts");
        std::os::unix::fs::symlink(outside.path(), &drafts).unwrap();
        let through = || ProgramStore::directory(&drafts.display().to_string(), &world.host).unwrap();
        let alone = || world.policy(&[mount("/drafts", AccessScope::ReadOnly, through())]);
        drop(world.policy(&[mount("/code", AccessScope::ReadOnly, world.code())]).unwrap());
        assert!(alone().is_ok(), "a person's own link: nobody writes where it lies");
        let made_before = alone().unwrap();
        drop(world.policy(&[mount("/code", AccessScope::ReadWrite, world.code())]).unwrap());
        let error = alone().unwrap_err();
        assert!(matches!(error, ProgramError::Directory(Fault::LinkThatAgentsWrite { .. })), "{error}");
        assert!(!denied(&made_before, OpKind::Read, "/drafts/a"), "what it followed was there before any agent");
    }

    #[test]
    fn programs_and_configurations_of_one_process_know_what_the_other_writes() {
        let world = World::new();
        let outside = tempfile::tempdir().unwrap();
        let config = |directory: &str, scope: &str| {
            let mount = format!("mount = {{ physical = \"{directory}\" }}");
            let text = format!("[[workspace]]\nprefix = \"/w\"\nscope = \"{scope}\"\n{mount}\n");
            let file = ConfigFile::parse("paddock.toml", &text).unwrap();
            build(&file, &AgentName::main(), &world.host, &Ports::in_memory(Arc::new(crate::build::Closed)))
        };
        let program = |path: &str, scope| {
            world.policy(&[mount("/w", scope, ProgramStore::directory(path, &world.host).unwrap())])
        };
        for name in ["by-config", "by-program"] {
            std::fs::create_dir(world.path(name)).unwrap();
            std::os::unix::fs::symlink(outside.path(), world.path(&format!("{name}/link"))).unwrap();
        }
        let (in_configs, in_programs) = (world.path("by-config/link"), world.path("by-program/link"));
        assert!(program(&in_configs, AccessScope::ReadOnly).is_ok() && config(&in_programs, "RO").is_ok());
        config(&world.path("by-config"), "RW").unwrap();
        program(&world.path("by-program"), AccessScope::ReadWrite).unwrap();
        assert!(matches!(
            program(&in_configs, AccessScope::ReadOnly),
            Err(ProgramError::Directory(Fault::LinkThatAgentsWrite { .. }))
        ));
        assert!(config(&in_programs, "RO").unwrap_err().to_string().contains("link"), "the other way round too");
        assert!(config(&in_configs, "RO").is_ok(), "what a file said before it was changed counts no more");
    }

    /// What counts is what was followed, not what stands there when somebody looks.
    #[test]
    fn a_link_that_stood_there_for_a_moment_is_not_followed_either() {
        let world = World::new();
        let outside = tempfile::tempdir().unwrap();
        let planted = world.directory.path().join("code/drafts");
        std::os::unix::fs::symlink(outside.path(), &planted).unwrap();
        // A person's own link, which leads to the place where the agent put its one.
        std::os::unix::fs::symlink(&planted, world.directory.path().join("own")).unwrap();
        for named in ["code/drafts", "own"] {
            let through = ProgramStore::directory(&world.path(named), &world.host).unwrap();
            std::fs::remove_file(&planted).unwrap();
            let mounts = [
                mount("/code", AccessScope::ReadWrite, world.code()),
                mount("/drafts", AccessScope::ReadOnly, through),
            ];
            let error = world.policy(&mounts).unwrap_err();
            assert!(matches!(error, ProgramError::Directory(Fault::LinkThatAgentsWrite { .. })), "{named}: {error}");
            std::os::unix::fs::symlink(outside.path(), &planted).unwrap();
        }
    }

    #[test]
    fn no_command_puts_a_link_where_another_mount_will_be() {
        let world = World::new();
        let drafts = ProgramStore::directory(&world.path("code/drafts"), &world.host).unwrap();
        let mounts =
            [mount("/code", AccessScope::ReadWrite, world.code()), mount("/drafts", AccessScope::ReadWrite, drafts)];
        let policy = world.policy(&mounts).unwrap();
        let refused = |path: &str| {
            let path = policy.path(path).unwrap();
            let how = Alter::Link { leads_to: "/etc".into() };
            let alterations = vec![Alteration { path: path.clone(), how, expect: Expect::Any }];
            let (cancel, deadline) = (Cancel::default(), Instant::now() + Duration::from_secs(60));
            let call = Call { id: CallId::next(), agent: &policy.agent, cancel: &cancel, deadline };
            match policy.vfs.plan(&call, Operation::Commit { path, alterations }) {
                Err(Refused::Denied(denial)) => Some(denial.rule),
                _ => None,
            }
        };
        assert_eq!(refused("/code/drafts"), Some(DenyRule::HoldsWorkspace));
        assert_eq!(refused("/code/beside"), None);
    }

    #[test]
    fn an_overlay_shows_nothing_that_another_mount_of_the_place_keeps_from_being_read() {
        let world = World::new();
        std::fs::create_dir(world.directory.path().join("code/inbox")).unwrap();
        let inbox = || ProgramStore::directory(&world.path("code/inbox"), &world.host).unwrap();
        let over = |lower: ProgramStore| mount("/p", AccessScope::ReadWrite, lower.under(&notes()).unwrap());
        let twice = |lower: ProgramStore| {
            let namespace = Namespace::new(["second"]);
            let second =
                ProgramStore::Virtual { base: Arc::new(MemoryBase::new()), database: "memory".into(), namespace };
            mount("/p", AccessScope::ReadWrite, lower.under(&second).unwrap().under(&notes()).unwrap())
        };
        let kept = |store| mount("/w", AccessScope::WriteOnly, store);
        let blind = ProgramMount {
            hide: Some(vec!["*.secret".to_owned()]),
            ..mount("/w", AccessScope::ReadOnly, world.code())
        };
        let refused = [
            [over(world.code()), kept(world.code())],
            [over(world.code()), kept(inbox())],
            [over(inbox()), kept(world.code())],
            [twice(world.code()), kept(inbox())],
            [over(world.code()), blind],
        ];
        for mounts in refused {
            assert!(matches!(world.policy(&mounts), Err(ProgramError::SeenThrough { .. })), "{mounts:?}");
        }
        let twin = mount("/w", AccessScope::ReadWrite, world.code());
        assert!(world.policy(&[over(world.code()), twin]).is_ok());
        assert!(
            world
                .policy(&[
                    over(world.code()),
                    kept(ProgramStore::directory(&world.path("other"), &world.host).unwrap())
                ])
                .is_ok()
        );
    }

    #[test]
    fn commands_are_read_as_in_a_file() {
        let world = World::new();
        let settings =
            program_commands(table("deny = [\"dd\"]\ntime_limit = \"5 s\"\nenv = { LANG = \"C\" }\n"), &world.host);
        let settings = settings.unwrap();
        assert_eq!(settings.deny, ["dd"]);
        assert_eq!(settings.env["LANG"], "C");
        assert!(program_commands(toml::Table::new(), &world.host).is_ok());
        assert!(matches!(program_commands(table("dney = []"), &world.host), Err(ProgramError::Commands(_))));
    }

    fn table(text: &str) -> toml::Table {
        text.parse().unwrap()
    }

    #[test]
    fn commands_that_would_all_wait_for_a_person_are_refused_at_once() {
        let world = World::new();
        for (text, key) in [("changes = \"direct\"\n", "changes"), ("network = [\"example.org\"]\n", "network")] {
            let error = program_commands(table(text), &world.host).unwrap_err();
            assert!(matches!(error, ProgramError::Asks(asks) if asks == key), "{text}: {error}");
        }
        assert!(program_commands(table("changes = \"staged\"\nnetwork = false\n"), &world.host).is_ok());
    }
}
