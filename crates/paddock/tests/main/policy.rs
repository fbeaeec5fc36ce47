//! `paddock map` and `paddock why`.

use crate::harness::World;

#[test]
fn map_shows_what_the_agent_is_told() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["map"]), @"
    Filesystem Map: the Workspaces you perceive. Nothing else exists for you.
    - /project: read-only (read, list, find, search)
    - /project/workspace: read-write (read, list, find, search, write, append, edit, make, move, delete)
    A path belongs to the Workspace with the longest prefix of it. Relative paths start at /project.
    Commands (execute_command) see the same Workspaces and start in /project/workspace.
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["map", "--json"]), @r#"
    {
      "agent": "main",
      "base": "/project",
      "tools": [
        "read_file",
        "list_dir",
        "find_files",
        "search_files",
        "write_file",
        "append_file",
        "edit_file",
        "make_dir",
        "move_file",
        "delete_file",
        "execute_command"
      ],
      "workspaces": [
        {
          "origin": "paddock.toml:15",
          "prefix": "/project",
          "scope": "READ_ONLY"
        },
        {
          "origin": "paddock.toml:22",
          "prefix": "/project/workspace",
          "scope": "READ_WRITE"
        }
      ]
    }
    [exit 0]
    "#);
}

#[test]
fn why_names_the_rule_and_its_line() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["why", "write", "src/App.tsx"]), @r#"
    write /project/src/App.tsx: denied
      workspace: /project READ_ONLY (paddock.toml:15)
      rule: read-only does not allow write
      instead: write is allowed in /project/workspace
      would allow it, in the Workspace /project of paddock.toml:15:
        scope = "READ_WRITE"
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["why", "write_file", "workspace/x"]), @"
    write /project/workspace/x: allowed
      workspace: /project/workspace READ_WRITE (paddock.toml:22)
      rule: read-write allows write
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["why", "read", ".env"]), @r#"
    read /project/.env: denied
      workspace: /project READ_ONLY (paddock.toml:15)
      rule: hidden by the pattern ".env" (paddock.toml:17)
      instead: read is allowed in /project, /project/workspace
      would allow it, in the Workspace /project of paddock.toml:15:
        hide = [".env.*", "*.pem", "!cacert.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"]
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["why", "edit", "workspace/.git/hooks/pre-commit"]), @r#"
    edit /project/workspace/.git/hooks/pre-commit: denied
      workspace: /project/workspace READ_WRITE (paddock.toml:22)
      rule: guarded name .git/hooks: git runs what it names; list it under unguard to lift this
      instead: edit is allowed in /project/workspace
      would allow it, in the Workspace /project/workspace of paddock.toml:22:
        unguard = [".git/hooks"]
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["why", "write", "workspace/paddock.toml"]), @"
    write /project/workspace/paddock.toml: denied
      workspace: /project/workspace READ_WRITE (paddock.toml:22)
      rule: Paddock's own file: never changed by an agent, and nothing lifts this
      instead: a person has to do it
    [exit 1]
    ");
    insta::assert_snapshot!(world.paddock(&["why", "read", "/etc/passwd"]), @r#"
    read /etc/passwd: denied
      workspace: none covers this path
      rule: deny by default: what no Workspace covers cannot be reached
      instead: read is allowed in /project, /project/workspace
      would allow it, at the end of paddock.toml, for the agent to find it below /host/etc:
        [[workspace]]
        prefix = "/host/etc"
        scope = "READ_ONLY"
        mount = { physical = "/etc" }
        hide = [".env", ".env.*", "*.pem", "!cacert.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"]
    [exit 1]
    "#);
}

/// A wider scope alone would not do where a name is in the way as well.
#[test]
fn what_would_allow_something_is_all_that_is_needed() {
    let world = World::seed();
    let told = world.paddock(&["why", "write", "/project/.git/hooks/x"]);
    assert!(told.stdout.contains("    scope = \"READ_WRITE\"\n    unguard = [\".git/hooks\"]\n"), "{told}");
    let own = world.paddock(&["why", "write", "/project/paddock.toml"]);
    assert!(own.code == 1 && !own.stdout.contains("would allow it"), "nothing does: {own}");
    std::fs::create_dir(world.project().join("../elsewhere")).unwrap();
    let beside = world.paddock(&["why", "read", "/elsewhere/a"]);
    assert!(beside.stdout.contains("with the directory that should be seen there"), "{beside}");
}

#[test]
fn an_agent_whose_only_workspace_was_a_fork_is_told_how_to_get_another() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/w\"\nscope = \"RW\"\nmount = { physical = \".\" }\n[agents.worker]\n",
    );
    assert_eq!(world.paddock(&["fork", "/w", "x", "--agent", "worker", "--from", "main"]).code, 0);
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
    let way = "`paddock fork WORKSPACE NAME --agent worker`";
    assert!(world.paddock(&["--agent", "worker", "map"]).stdout.contains(way));
    let called = world.paddock(&["--agent", "worker", "tool", "read_file", "{\"path\": \"/a\"}"]);
    assert!(called.to_string().contains(way) && !called.to_string().contains("paddock init"), "{called}");
}

#[test]
fn why_for_programs() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["why", "--json", "delete", "package.json"]), @r#"
    {
      "agent": "main",
      "allowed": false,
      "allowed_in": [
        "/project/workspace"
      ],
      "operation": "delete",
      "path": "/project/package.json",
      "rule": "read-only does not allow delete",
      "steps": [
        {
          "about": "Workspace",
          "found": "/project is the longest prefix of /project/package.json",
          "origin": "paddock.toml:15",
          "passed": true
        },
        {
          "about": "Access Scope",
          "found": "READ_ONLY does not let delete through",
          "origin": "paddock.toml:15",
          "passed": false
        }
      ],
      "workspace": {
        "origin": "paddock.toml:15",
        "prefix": "/project",
        "scope": "READ_ONLY"
      },
      "would_allow": {
        "key": "workspace[0].scope",
        "place": "in the Workspace /project of paddock.toml:15",
        "text": "scope = \"READ_WRITE\"",
        "value": "\"READ_WRITE\""
      }
    }
    [exit 1]
    "#);
}

#[test]
fn what_cannot_be_asked_is_told() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["why", "chmod", "x"]), @r#"
    [stderr]
    error: there is no operation "chmod"
    hint: use one of read, list, find, search, write, append, edit, make_dir, move, move_to, delete
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["why", "read", "../../etc"]), @r#"
    [stderr]
    error: path "../../etc" leads above "/"
    hint: write the path from "/", without climbing above it
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["map", "--agent", "nobody"]), @r#"
    [stderr]
    error: there is no agent "nobody"
     --> paddock.toml
    hint: agents of this file are "main"
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["map", "--agent", "no body"]), @r#"
    [stderr]
    error: invalid value 'no body' for '--agent <NAME>': "no body" cannot name an agent: use 1 to 64 letters, digits, "-" or "_"

    For more information, try '--help'.
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["map", "--config", "missing.toml"]), @r#"
    [stderr]
    error: there is no file "missing.toml"
    hint: name a paddock.toml that exists, or leave --config out
    [exit 2]
    "#);
}

#[test]
fn without_a_configuration_there_is_nothing_and_a_way_to_begin() {
    let world = World::empty();
    insta::assert_snapshot!(world.paddock(&["map"]), @"
    Filesystem Map: empty. No Workspace is configured, so there is no access to any file. A person can begin with `paddock init` in the directory of the project.
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#]), @r#"
    ❌ ERROR: The tool "read_file" is not provided. No Workspace is configured, so there is no access to any file. A person can begin with `paddock init` in the directory of the project.
    [exit 1]
    "#);
    assert_eq!(world.paddock(&["map", "--json"]).json()["tools"], serde_json::json!([]));
    let why = world.paddock(&["why", "read", "x"]);
    assert!(why.code == 2 && why.stderr.contains("there is no paddock.toml here or above"), "{why}");
    world.write("paddock.toml", "");
    assert_eq!(world.paddock(&["map", "--json"]).json()["tools"], serde_json::json!([]));
}

#[test]
fn why_knows_a_path_of_the_host_by_what_the_agent_calls_it() {
    let world = World::seed();
    let path = world.project().canonicalize().unwrap().join("workspace/a/b.txt");
    let told = world.paddock(&["why", "write", path.to_str().unwrap()]);
    assert!(
        told.stdout.contains("that is a path of the host: the agent calls it /project/workspace/a/b.txt"),
        "{told}"
    );
    assert!(told.code == 1 && !told.stdout.contains("would allow it"), "{told}");
}

#[test]
fn check_tells_a_directory_that_is_called_nearly_so() {
    let config = "[[workspace]]\nprefix = \"/w\"\nscope = \"RW\"\nmount = { physical = \"srcs/lbi\" }\n";
    let world = World::configured(config);
    world.write("srcs/lib/a.rs", "a\n");
    let told = world.paddock(&["check"]);
    assert!(told.stdout.contains("the directory \"srcs/lbi\" of the Workspace \"/w\" is not there"), "{told}");
    assert!(told.stdout.contains("→ write \"srcs/lib\", if that is meant"), "{told}");
    // What is there, and what nothing is called like, is as it was meant.
    for meant in ["srcs/lib", "srcs/output"] {
        world.write("paddock.toml", config.replace("srcs/lbi", meant));
        let told = world.paddock(&["check"]);
        assert!(told.code == 0 && !told.stdout.contains("is not there"), "{told}");
    }
}

#[test]
fn check_tells_what_git_tracks_and_hide_hides() {
    let config = "[[workspace]]\nprefix = \"/w\"\nscope = \"RW\"\nmount = { physical = \".\" }\nhide = [\"*.key\"]\n";
    let world = World::configured(config);
    for name in ["a.txt", "deep/b.key", "c.key", "untracked.key"] {
        world.write(name, "x\n");
    }
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        let ran = command.args(arguments).current_dir(world.project()).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
        assert!(ran.unwrap().status.success(), "{arguments:?}");
    };
    assert!(!world.paddock(&["check"]).stdout.contains("Git tracks"));
    git(&["init", "-q"]);
    git(&["add", "a.txt", "c.key", "deep/b.key"]);
    let told = world.paddock(&["check"]);
    assert!(
        told.stdout.contains("Git tracks what \"*.key\" hides: \"c.key\", \"deep/b.key\" (paddock.toml:5)"),
        "{told}"
    );
    git(&["rm", "-q", "--cached", "c.key", "deep/b.key"]);
    assert!(!world.paddock(&["check"]).stdout.contains("Git tracks"));
}
