//! From a file to what an agent perceives.

use std::fs;
use std::os::unix::fs::symlink;

use paddock_config::{ConfigFile, Host, build, template};
use paddock_core::{AccessScope, AgentName, AgentPolicy, OpKind, Operation};

use crate::support::{Project, act, allowed, may_read, may_write, ports, read, system_root, workspace, write};

#[test]
fn the_template_confines_an_agent_to_its_directory() {
    let project = Project::new();
    let text = template("shop");
    project.write(&text);
    let policy = project.build(&text).unwrap();
    assert_eq!(policy.base.as_str(), "/project");
    assert!(may_read(&policy, "src/App.tsx"));
    assert!(!may_write(&policy, "src/App.tsx"));
    assert!(may_write(&policy, "workspace/test.txt"));
    assert!(!may_read(&policy, ".env") && !may_read(&policy, "a/b/.env.local"));
    assert!(!may_read(&policy, "workspace/id_ed25519") && may_read(&policy, "workspace/id_ed25519.pub"));
    assert!(!may_read(&policy, "/etc/passwd"));
    assert!(!may_write(&policy, "workspace/.git/hooks/pre-commit"));
}

#[test]
fn a_writable_directory_is_made_by_the_first_write_and_again_after_it_is_deleted() {
    let project = Project::new();
    let policy = project.build(&template("shop")).unwrap();
    let directory = project.root.join("workspace");
    assert!(!directory.exists(), "building makes nothing");
    for _ in 0..2 {
        write(&policy, "workspace/new/test.txt", "Hola Mundo").unwrap();
        assert_eq!(fs::read_to_string(directory.join("new/test.txt")).unwrap(), "Hola Mundo");
        fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_decision_cites_the_line_that_decides() {
    let project = Project::new();
    project.make("src");
    let text = format!("# a comment\n{}hide = [\n  \"a\",\n  \"secret\",\n]\n", workspace("/code", "RO", "src"));
    let policy = project.build(&text).unwrap();
    let explain = |op, path: &str| {
        let path = policy.path(path).unwrap();
        policy.vfs.judge(op, &path).explain()
    };
    let scope = explain(OpKind::Write, "/code/x");
    assert!(scope.contains("/code READ_ONLY (paddock.toml:4)"), "{scope}");
    let hidden = explain(OpKind::Read, "/code/b/secret/x");
    assert!(hidden.contains("hidden by the pattern \"secret\" (paddock.toml:8)"), "{hidden}");
}

#[test]
fn agents_never_inherit() {
    let project = Project::new();
    let text = format!(
        "base = \"/project\"\n{}[agents.reviewer]\nbase = \"/code\"\n{}[agents.idle]\n",
        workspace("/project", "RW", "."),
        workspace("/code", "RO", ".").replace("[[workspace]]", "[[agents.reviewer.workspace]]"),
    );
    let main = project.build(&text).unwrap();
    let reviewer = project.build_agent(&text, "reviewer").unwrap();
    assert!(may_write(&main, "x") && !may_read(&main, "/code/x"));
    assert!(may_read(&reviewer, "x") && !may_write(&reviewer, "x") && !may_read(&reviewer, "/project/x"));
    assert_eq!(project.build_agent(&text, "idle").unwrap().vfs.workspaces().len(), 0);
    let error = project.build_agent(&text, "nobody").unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: there is no agent \"nobody\"\n --> paddock.toml\nhint: agents of this file are \"main\", \"idle\", \"reviewer\""
    );
}

#[test]
fn paddocks_own_files_are_never_writable() {
    let project = Project::new();
    let binary = std::env::current_exe().unwrap().canonicalize().unwrap();
    let text = format!(
        "{}{}{}",
        workspace("/all", "RW", "."),
        workspace("/bin", "RW", binary.parent().unwrap().to_str().unwrap()),
        workspace("/sub", "WO", "sub")
    );
    project.write(&text);
    let text = text.replace("\"WO\"", "\"RW\"");
    let policy = project.build(&text).unwrap();
    for own in ["/all/paddock.toml", "/all/.paddock.schema.json", "/all/PADDOCK.toml", "/sub/paddock.toml"] {
        assert!(may_read(&policy, own), "{own}");
        for op in [OpKind::Write, OpKind::Edit, OpKind::Append, OpKind::Delete, OpKind::MoveFrom, OpKind::MoveTo] {
            assert!(!allowed(&policy, op, own), "{op} {own}");
        }
    }
    let name = binary.file_name().unwrap().to_str().unwrap();
    assert!(!may_write(&policy, &format!("/bin/{name}")));
    assert!(may_write(&policy, "/all/other.toml") && may_write(&policy, "/bin/other"), "the honest twin");
}

#[test]
fn the_place_that_a_linked_configuration_leads_to_is_protected_too() {
    let project = Project::new();
    project.make("conf");
    fs::write(project.root.join("conf/real.toml"), "").unwrap();
    symlink("conf/real.toml", project.file()).unwrap();
    let policy = project.build(&workspace("/all", "RW", ".")).unwrap();
    assert!(!may_write(&policy, "/all/conf/real.toml"));
    assert!(!may_write(&policy, "/all/paddock.toml"));
    assert!(may_write(&policy, "/all/conf/other.toml"));
}

#[test]
fn a_directory_that_holds_the_configuration_cannot_be_moved_or_deleted() {
    let project = Project::new();
    let home = tempfile::tempdir().unwrap();
    project.write("");
    fs::create_dir(project.top.join("other")).unwrap();
    let file = ConfigFile::parse("paddock.toml", &workspace("/top", "RW", "..")).unwrap();
    let host = Host::new(&project.file(), system_root(&home.path().join("home"))).unwrap();
    let policy = build(&file, &AgentName::main(), &host, &ports()).unwrap();
    let path = |text: &str| policy.path(text).unwrap();
    let moved = |from: &str| act(&policy, Operation::Move { from: path(from), to: path("/top/away") });
    assert!(moved("/top/project").is_err());
    assert!(act(&policy, Operation::Delete { path: path("/top/project"), recursive: true }).is_err());
    assert!(project.file().exists());
    moved("/top/other").unwrap();
    assert!(project.top.join("away").is_dir(), "the honest twin");
}

#[test]
fn every_workspace_is_built_or_none() {
    let project = Project::new();
    let text = "[[workspace]]\nprefix = \"/a\"\nscope = \"RW\"\nmount = { physical = \".\" }\n\
                [[workspace]]\nprefix = \"/drop\"\nscope = \"WO\"\nmount = { virtual = \"notes\" }\n\
                [[workspace]]\nprefix = \"/over\"\nscope = \"RW\"\nmount = { overlay = \"/drop\" }\n\
                [[workspace]]\nprefix = \"/one\"\nscope = \"RW\"\nmount = { overlay = \"/two\" }\n\
                [[workspace]]\nprefix = \"/two\"\nscope = \"RW\"\nmount = { overlay = \"/one\" }\n\
                [[workspace]]\nprefix = \"/three\"\nscope = \"RW\"\nmount = { overlay = \"/nowhere\" }\n";
    let error = project.build(text).unwrap_err();
    let told: Vec<String> = error.problems().iter().map(|problem| problem.fault().to_string()).collect();
    assert_eq!(
        told,
        [
            "an overlay cannot stand on \"/drop\": it is write-only, and what is in it must not come back",
            "the overlay \"/one\" stands on itself",
            "the overlay \"/two\" stands on itself",
            "the agent has no Workspace \"/nowhere\" for an overlay to stand on",
        ]
    );
}

fn held(policy: &AgentPolicy, path: &str) -> Option<String> {
    read(policy, path).ok().map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn virtual_workspaces_are_private_to_an_agent_unless_they_are_shared() {
    let project = Project::new();
    let text = "[[workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = { virtual = \"notes\" }\n\
                [[workspace]]\nprefix = \"/all\"\nscope = \"RW\"\nmount = { virtual = \"docs\", shared = true }\n\
                [[agents.other.workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = { virtual = \"notes\" }\n\
                [[agents.other.workspace]]\nprefix = \"/all\"\nscope = \"RO\"\nmount = { virtual = \"docs\", shared = true }\n";
    let ports = ports();
    let file = paddock_config::ConfigFile::parse("paddock.toml", text).unwrap();
    let build = |agent| build(&file, &AgentName::parse(agent).unwrap(), &project.host(), &ports).unwrap();
    let (main, other) = (build("main"), build("other"));
    write(&main, "/notes/a", "mine").unwrap();
    write(&main, "/all/b", "everybody's").unwrap();
    assert_eq!(held(&main, "/notes/a").as_deref(), Some("mine"));
    assert_eq!(held(&other, "/notes/a"), None, "another agent's notes are its own");
    assert_eq!(held(&other, "/all/b").as_deref(), Some("everybody's"));
    assert!(write(&other, "/all/b", "changed").is_err(), "and its scope there is its own too");
}

#[test]
fn an_overlay_shows_and_covers_what_it_stands_on_and_hides_what_that_hides() {
    let project = Project::new();
    fs::write(project.root.join("a"), "below").unwrap();
    fs::write(project.root.join(".env"), "secret").unwrap();
    let text = "[[workspace]]\nprefix = \"/two\"\nscope = \"RW\"\nmount = { overlay = \"/one\" }\n\
                [[workspace]]\nprefix = \"/one\"\nscope = \"RW\"\nmount = { overlay = \"/p\" }\n\
                [[workspace]]\nprefix = \"/p\"\nscope = \"RO\"\nmount = { physical = \".\" }\nhide = [\".env\"]\n";
    let policy = project.build(text).unwrap();
    assert_eq!(held(&policy, "/two/a").as_deref(), Some("below"), "through both");
    write(&policy, "/one/a", "middle").unwrap();
    assert_eq!(held(&policy, "/two/a").as_deref(), Some("middle"));
    write(&policy, "/two/a", "above").unwrap();
    assert_eq!(held(&policy, "/one/a").as_deref(), Some("middle"));
    assert_eq!(fs::read_to_string(project.root.join("a")).unwrap(), "below");
    for path in ["/one/.env", "/two/.env"] {
        assert_eq!(held(&policy, path), None, "{path}");
        assert!(write(&policy, path, "x").is_err(), "{path}");
    }
}

#[test]
fn a_quota_bounds_growth_and_nothing_else() {
    let project = Project::new();
    let text = "[[workspace]]\nprefix = \"/n\"\nscope = \"RW\"\nmount = { virtual = \"n\" }\nquota = { bytes = \"10 B\", files = 2 }\n";
    let policy = project.build(text).unwrap();
    write(&policy, "/n/a", "12345").unwrap();
    write(&policy, "/n/b", "12345").unwrap();
    assert!(write(&policy, "/n/b", "123456").is_err(), "one byte too many");
    assert!(write(&policy, "/n/c", "").is_err(), "one file too many");
    write(&policy, "/n/b", "1").unwrap();
    assert_eq!(held(&policy, "/n/b").as_deref(), Some("1"));
}

#[test]
fn directories_that_cannot_be_mounted() {
    let project = Project::new();
    fs::write(project.root.join("file"), "").unwrap();
    symlink("nowhere", project.root.join("dangling")).unwrap();
    let text = [
        workspace("/ro", "RO", "missing"),
        workspace("/rw", "RW", "missing-too"),
        workspace("/wo", "WO", "missing/deep"),
        workspace("/file", "RW", "file"),
        workspace("/below", "RW", "file/below"),
        workspace("/link", "RW", "dangling"),
    ]
    .concat();
    let error = project.build(&text).unwrap_err();
    let messages: Vec<String> = error.problems().iter().map(|problem| problem.fault().to_string()).collect();
    assert_eq!(
        messages,
        [
            "the directory \"missing\" behind \"/ro\" does not exist",
            "the directory \"file\" behind \"/file\" cannot be used: it is not a directory",
            "the directory \"file/below\" behind \"/below\" cannot be used: Not a directory (os error 20)",
            "the directory \"dangling\" behind \"/link\" cannot be used: it is a link that leads nowhere",
        ]
    );
    let lines: Vec<u32> = error.problems().iter().map(|problem| error.position(problem).unwrap().line).collect();
    assert_eq!(lines, [4, 16, 20, 24]);
}

#[test]
fn a_pattern_that_names_a_whole_path_is_refused_where_it_would_hide_nothing() {
    let project = Project::new();
    let hiding = |pattern: &str| format!("{}hide = [\"*.old\", \"{pattern}\"]\n", workspace("/p", "RO", "."));
    let top = project.root.display().to_string();
    let groups = ["{/p/vault,*.key}", "{*.key,/p/vault}", "/{p,q}/vault", "!{x,/p/y}", &format!("{{x,{top}/.env}}")];
    for pattern in ["/p/.env", "/p", &format!("{top}/.env")].into_iter().chain(groups) {
        let error = project.build(&hiding(pattern)).unwrap_err().to_string();
        assert!(error.contains("hides nothing: a leading \"/\" is the top of the Workspace"), "{pattern}: {error}");
    }
    for pattern in ["/.env", "p/.env", "/px/.env", "/other", "{/vault,p/x}", "!/{px,q}"] {
        project.build(&hiding(pattern)).unwrap();
    }
}

#[test]
fn the_system_root_is_never_in_a_workspace() {
    let project = Project::new();
    fs::create_dir_all(project.top.join("home/workspaces")).unwrap();
    symlink(&project.top, project.root.join("up")).unwrap();
    symlink(project.top.join("home/workspaces"), project.root.join("into")).unwrap();
    for (mount, expected) in [
        ("..", "the mount \"TOP\" contains the System Root \"TOP/home\""),
        ("up", "the mount \"TOP\" contains the System Root \"TOP/home\""),
        ("/", "the mount \"/\" contains the System Root \"TOP/home\""),
        ("../home", "the mount \"TOP/home\" lies in the System Root \"TOP/home\""),
        ("into", "the mount \"TOP/home/workspaces\" lies in the System Root \"TOP/home\""),
        ("../home/new/dir", "the mount \"TOP/home/new/dir\" lies in the System Root \"TOP/home\""),
    ] {
        for scope in ["RW", "WO"] {
            let error = project.build(&workspace("/a", scope, mount)).unwrap_err();
            assert_eq!(project.without_place(error.problems()[0].fault()), expected, "{mount}");
            assert_eq!(error.position(&error.problems()[0]).unwrap().line, 4);
        }
    }
    fs::create_dir(project.top.join("homely")).unwrap();
    project.build(&workspace("/a", "RW", "../homely")).unwrap();
}

#[test]
fn one_place_under_two_scopes_names_both_lines() {
    let project = Project::new();
    project.make("src");
    symlink("src", project.root.join("alias")).unwrap();
    let text = format!("{}{}", workspace("/code", "RO", "src"), workspace("/again", "RW", "alias"));
    let error = project.build(&text).unwrap_err().to_string();
    assert!(error.contains(":4:9") && error.contains(":8:9"), "{error}");
    assert!(error.contains("note: the other one is here"), "{error}");
    assert!(error.contains("reach the same place with scopes that disagree"), "{error}");
    let same = format!("{}{}", workspace("/code", "RO", "src"), workspace("/again", "RO", "alias"));
    project.build(&same).unwrap();
    let nested = format!("{}{}", workspace("/code", "RO", "."), workspace("/code/src", "RW", "src"));
    project.build(&nested).unwrap();
}

#[test]
fn check_looks_at_every_agent() {
    let project = Project::new();
    let other = workspace("/x", "RO", "missing").replace("[[workspace]]", "[[agents.b.workspace]]");
    let text = format!("{}{other}", workspace("/a", "RO", "gone"));
    let error = project.check(&text).unwrap_err();
    assert_eq!(error.problems().len(), 2, "{error}");
    project.make("gone");
    project.make("missing");
    project.check(&text).unwrap();
    assert!(!project.top.join("home").exists(), "looking makes nothing");
}

#[test]
fn options_reach_the_store() {
    let project = Project::new();
    let directory = project.make("w");
    fs::write(project.top.join("outside"), "text").unwrap();
    fs::hard_link(project.top.join("outside"), directory.join("linked")).unwrap();
    let text = workspace("/w", "RW", "w");
    let linked = |text: &str| {
        let policy = project.build(text).unwrap();
        let scopes = policy.vfs.workspaces().iter().filter(|w| !w.is_aside()).map(|w| w.scope());
        assert_eq!(scopes.collect::<Vec<_>>(), [AccessScope::ReadWrite]);
        read(&policy, "/w/linked")
    };
    assert_eq!(linked(&text).unwrap(), b"text");
    assert!(linked(&format!("{text}hard_links = \"deny\"\n")).is_err());
    let durable = project.build(&format!("{text}durability = \"disk\"\n")).unwrap();
    write(&durable, "/w/new", "x").unwrap();
}

/// What Paddock puts before an agent itself: readable, in no list, and never where a person has put something else.
#[test]
fn paddocks_own_places_are_read_only_and_give_way_to_the_file() {
    let project = Project::new();
    let policy = project.build(&workspace("/w", "RW", ".")).unwrap();
    for own in ["/evicted/x", "/plan/x"] {
        assert!(may_read(&policy, own) && !may_write(&policy, own), "{own}");
    }
    let listed = policy.vfs.workspaces().iter().filter(|w| !w.is_aside()).count();
    assert_eq!(listed, 1);
    let given = format!("{}{}", workspace("/evicted/mine", "RW", "."), workspace("/plan", "RW", "."));
    let policy = project.build(&given).unwrap();
    assert!(!may_read(&policy, "/evicted/x") && may_write(&policy, "/evicted/mine/x") && may_write(&policy, "/plan/x"));
    let whole = project.build(&workspace("/", "RW", ".")).unwrap();
    assert!(may_write(&whole, "/plan/x") && may_write(&whole, "/evicted/x"), "what is there is the project's");
}
