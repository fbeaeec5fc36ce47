//! What a program gives is held to what a file is held to.

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
    let told =
        world.policy(&[mount("/a", AccessScope::ReadOnly, world.code()), mount("/a", AccessScope::ReadOnly, notes())]);
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
        program(AgentName::main(), Some(base), mounts, None, &world.host, &ports).map(|policy| policy.base.to_string())
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
    let mounts = [mount("/code", AccessScope::WriteOnly, world.code()), mount("/drafts", AccessScope::ReadOnly, over)];
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
    let program =
        |path: &str, scope| world.policy(&[mount("/w", scope, ProgramStore::directory(path, &world.host).unwrap())]);
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
        let mounts =
            [mount("/code", AccessScope::ReadWrite, world.code()), mount("/drafts", AccessScope::ReadOnly, through)];
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
        let second = ProgramStore::Virtual { base: Arc::new(MemoryBase::new()), database: "memory".into(), namespace };
        mount("/p", AccessScope::ReadWrite, lower.under(&second).unwrap().under(&notes()).unwrap())
    };
    let kept = |store| mount("/w", AccessScope::WriteOnly, store);
    let blind =
        ProgramMount { hide: Some(vec!["*.secret".to_owned()]), ..mount("/w", AccessScope::ReadOnly, world.code()) };
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
            .policy(&[over(world.code()), kept(ProgramStore::directory(&world.path("other"), &world.host).unwrap())])
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
