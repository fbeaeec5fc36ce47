//! The hook that Cursor and VS Code run before each tool, started as they start it: by a shell.

use std::process::Command;

use serde_json::{Value, json};

use super::{connect, project, value};
use crate::harness::{Ran, World};

fn run(world: &World, command: &str, event: &Value) -> Ran {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir("/").env_clear();
    world.run(shell, &event.to_string())
}

fn cursor(world: &World) -> Vec<String> {
    connect(world, "cursor", &[]);
    let hooks = value(world, ".cursor/hooks.json")["hooks"].clone();
    let events = ["preToolUse", "beforeShellExecution", "beforeReadFile"];
    events.iter().map(|event| hooks[event][0]["command"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn in_cursor_only_tools_of_mcp_servers_pass() {
    let world = project();
    let commands = cursor(&world);
    let event = |tool: &str| json!({ "hook_event_name": "preToolUse", "tool_name": tool, "tool_input": {} });
    let passed = run(&world, &commands[0], &event("MCP:read_file"));
    assert_eq!((passed.code, passed.json()), (0, json!({ "permission": "allow" })));
    for tool in ["Shell", "Read", "Write", "Delete", "Grep", "SomethingNew"] {
        let refused = run(&world, &commands[0], &event(tool));
        assert_eq!((refused.code, &refused.json()["permission"]), (2, &json!("deny")), "{tool}");
        assert!(refused.stderr.contains("paddock"), "{refused}");
    }
    let shell = json!({ "hook_event_name": "beforeShellExecution", "command": "ls" });
    assert_eq!(run(&world, &commands[1], &shell).code, 2);
    let reading = json!({ "hook_event_name": "beforeReadFile", "file_path": "/x", "content": "c" });
    assert_eq!(run(&world, &commands[2], &reading).code, 2);
}

#[test]
fn in_vscode_only_tools_of_mcp_servers_pass() {
    let world = project();
    connect(&world, "vscode", &[]);
    let hooks = value(&world, ".github/hooks/paddock.json");
    let command = hooks["hooks"]["PreToolUse"][0]["command"].as_str().unwrap().to_owned();
    let event = |tool: &str| json!({ "hookEventName": "PreToolUse", "tool_name": tool, "tool_input": {} });
    let passed = run(&world, &command, &event("mcp_paddock_read_file"));
    assert_eq!((passed.code, passed.json()), (0, json!({ "continue": true })));
    for tool in ["run_in_terminal", "read_file", "create_file", "replace_string_in_file", "grep_search"] {
        assert_eq!(run(&world, &command, &event(tool)).code, 2, "{tool}");
    }
}

#[test]
fn what_cannot_be_read_does_not_pass() {
    let world = project();
    let commands = cursor(&world);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &commands[0]]).env_clear();
    assert_eq!(world.run(shell, "no JSON").code, 2);
}

#[test]
fn where_the_program_is_gone_nothing_passes() {
    let world = project();
    let gone = cursor(&world)[0].replace(env!("CARGO_BIN_EXE_paddock"), "/no/such/paddock");
    let event = json!({ "hook_event_name": "preToolUse", "tool_name": "MCP:read_file" });
    assert_eq!(run(&world, &gone, &event).code, 2);
}
