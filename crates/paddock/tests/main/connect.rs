//! `paddock connect`: what it writes into each client's files, and that exactly that is taken back.

mod asked;
mod hook;
mod undo;
mod written;

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::{Ran, World};

const CLIENTS: [&str; 4] = ["claude-code", "codex", "cursor", "vscode"];

/// A project that is set up and connected to nothing.
fn project() -> World {
    let world = World::empty();
    assert_eq!(world.paddock(&["init"]).code, 0);
    world
}

fn connect(world: &World, client: &str, more: &[&str]) -> Ran {
    let ran = world.paddock(&[&["connect", client, "--yes"], more].concat());
    assert_eq!(ran.code, 0, "{ran}");
    ran
}

/// A text of the project with what is different on each machine named.
fn text(world: &World, path: &str) -> String {
    let text = world.read(path).replace(env!("CARGO_BIN_EXE_paddock"), "[bin]/paddock");
    text.replace(world.path().to_str().unwrap(), "[world]")
}

fn value(world: &World, path: &str) -> Value {
    serde_json::from_str(&world.read(path)).unwrap()
}

/// Every file below a directory, with its text.
fn files(directory: &std::path::Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                found.push((path.display().to_string(), String::new()));
                waiting.push(path);
            } else {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_second_time_nothing_changes() {
    for client in CLIENTS {
        let world = project();
        connect(&world, client, &[]);
        let before = (files(&world.project()), files(&world.home()));
        let again = world.paddock(&["connect", client]);
        assert_eq!(again.code, 0, "{again}");
        assert!(again.stdout.starts_with("nothing changes: "), "{again}");
        assert_eq!((files(&world.project()), files(&world.home())), before, "{client}");
    }
}

#[test]
fn only_showing_it_writes_nothing_and_neither_does_a_question_that_nobody_answers() {
    for client in CLIENTS {
        let world = project();
        let before = (files(&world.project()), files(&world.home()));
        let shown = world.paddock(&["connect", client, "--dry-run"]);
        assert!(shown.code == 0 && shown.stdout.contains("+++ ") && shown.stdout.contains("--dry-run"), "{shown}");
        let unasked = world.paddock(&["connect", client]);
        assert_eq!(unasked.code, 2, "{unasked}");
        assert!(unasked.stderr.contains("nobody can be asked here"), "{unasked}");
        assert_eq!((files(&world.project()), files(&world.home())), before, "{client}");
    }
}

#[test]
fn a_file_that_does_not_parse_is_refused_with_its_line_and_nothing_is_written() {
    let broken = [
        ("claude-code", ".mcp.json", "{\n  \"mcpServers\": {\n    \"a\" 1\n  }\n}\n", 3),
        ("codex", ".codex/config.toml", "model = \"x\"\nmodel = \"y\"\n", 2),
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": { \"a\": {} \"b\": {} }\n}\n", 2),
        ("vscode", ".vscode/mcp.json", "[]\n", 1),
    ];
    for (client, path, content, line) in broken {
        let world = project();
        world.write(path, content);
        let before = files(&world.project());
        for more in [&["--yes"][..], &["--dry-run"]] {
            let ran = world.paddock(&[&["connect", client], more].concat());
            assert_eq!(ran.code, 2, "{ran}");
            assert!(ran.stderr.contains(&format!("{path}\", line {line}: ")), "{ran}");
            assert!(ran.stderr.contains("nothing was written"), "{ran}");
        }
        assert_eq!(files(&world.project()), before, "{client}");
    }
}

#[test]
fn an_entry_that_is_not_paddocks_is_left_alone() {
    let world = project();
    let mine = r#"{ "mcpServers": { "paddock": { "command": "my-paddock", "env": { "KEY": "k" } } } }"#;
    world.write(".mcp.json", mine);
    insta::assert_snapshot!(world.paddock(&["connect", "claude-code", "--yes"]), @r#"
    [stderr]
    error: "[world]/project/.mcp.json": "mcpServers.paddock" is there already, and is not Paddock's entry
    hint: rename or remove it if it is not needed, then connect again; nothing was written
    [exit 2]
    "#);
    assert_eq!(world.read(".mcp.json"), mine);
    assert!(!world.has(".claude"));
}

#[test]
fn an_agent_of_the_same_name_that_is_not_paddocks_is_left_alone() {
    let world = project();
    world.write(".github/agents/paddock.agent.md", "mine\n");
    let ran = world.paddock(&["connect", "vscode", "--yes"]);
    assert!(ran.code == 2 && ran.stderr.contains("is not what Paddock wrote"), "{ran}");
    assert!(!world.has(".vscode") && !world.has(".github/hooks"));
}

#[test]
fn a_link_is_kept_and_what_it_leads_to_is_changed() {
    let world = project();
    let elsewhere = world.path().join("dotfiles.json");
    std::fs::write(&elsewhere, "{\n  \"model\": \"x\"\n}\n").unwrap();
    world.write(".claude/other", "");
    symlink(&elsewhere, world.project().join(".claude/settings.json")).unwrap();
    connect(&world, "claude-code", &[]);
    assert!(world.project().join(".claude/settings.json").is_symlink());
    assert!(std::fs::read_to_string(&elsewhere).unwrap().contains("\"Bash\""));
    connect(&world, "claude-code", &["--undo"]);
    assert!(world.project().join(".claude/settings.json").is_symlink());
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "{\n  \"model\": \"x\"\n}\n");
}

#[test]
fn a_link_that_leads_nowhere_is_refused() {
    let world = project();
    symlink("/no/such/file", world.project().join(".mcp.json")).unwrap();
    let ran = world.paddock(&["connect", "claude-code", "--yes"]);
    assert!(ran.code == 2 && ran.stderr.contains(".mcp.json"), "{ran}");
    assert!(!world.has(".claude"));
}

#[test]
fn what_is_written_is_told_as_json_too() {
    let world = project();
    let told = connect(&world, "codex", &["--json"]).json();
    assert_eq!(told["client"], "codex");
    assert_eq!(told["written"], true);
    assert_eq!(told["files"][0]["change"], "create");
    assert!(told["files"][0]["diff"].as_str().unwrap().contains("+shell_tool = false"), "{told:#}");
    for list in ["switched_off", "not_confined", "next"] {
        assert!(!told[list].as_array().unwrap().is_empty(), "{list}");
    }
    let again = world.paddock(&["connect", "codex", "--json"]).json();
    assert_eq!((&again["written"], &again["files"][0]["change"]), (&Value::from(false), &Value::from("keep")));
}

#[test]
fn without_a_configuration_there_is_nothing_to_connect_to() {
    let world = World::empty();
    let ran = world.paddock(&["connect", "cursor", "--yes"]);
    assert!(ran.code == 2 && ran.stderr.contains("paddock init"), "{ran}");
}

#[test]
fn the_mode_of_a_file_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = project();
    world.write(".mcp.json", "{}\n");
    let path = world.project().join(".mcp.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    connect(&world, "claude-code", &[]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
