//! `paddock init`.

use crate::harness::World;

#[test]
fn it_sets_up_a_project_and_says_so() {
    let world = World::empty();
    insta::assert_snapshot!(world.paddock(&["init"]), @r#"
    ✓ paddock.toml           what agents perceive: change it as you like
    ✓ .paddock.schema.json   for your editor
    ✓ .gitignore             keeps workspace/ out of version control
    ✓ workspace/             the only place where agents write

    Agents read this project as /project and write in /project/workspace. Next:
      paddock map                       what does the agent see?
      paddock why write src/main.rs     what would happen, and which line decides it?
      paddock connect CLIENT            connect claude-code, codex, cursor, vscode

    For another MCP client, as it is configured in JSON:
    {
      "mcpServers": {
        "paddock": {
          "command": "[bin]/paddock",
          "args": ["mcp", "--config", "[world]/project/paddock.toml"]
        }
      }
    }
    [exit 0]
    "#);
    assert!(world.read("paddock.toml").starts_with("#:schema ./.paddock.schema.json\n"));
    assert!(world.read(".paddock.schema.json").contains("\"$schema\""));
    assert!(world.project().join("workspace").is_dir());
    assert_eq!(world.paddock(&["check"]).code, 0);
}

/// What is printed is what a client reads: the server starts from it, wherever the client is.
#[test]
fn the_printed_json_starts_the_server() {
    let world = World::empty();
    let output = world.command(&["init", "--home", "../state"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let printed: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let server = &printed["mcpServers"]["paddock"];
    let arguments: Vec<&str> = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(arguments.iter().any(|word| word.ends_with("/state")), "{arguments:?}");
    let mut command = std::process::Command::new(server["command"].as_str().unwrap());
    command.args(arguments).current_dir("/").env_clear();
    let greeting = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let ran = world.run(command, &format!("{greeting}\n"));
    assert!(ran.code == 0 && ran.stdout.contains("/project/workspace"), "{ran}");
}

#[test]
fn it_overwrites_nothing() {
    let world = World::seed();
    world.write("paddock.toml", "# mine\n");
    insta::assert_snapshot!(world.paddock(&["init"]), @r#"
    [stderr]
    error: "[world]/project/paddock.toml" exists already
    hint: change it with `paddock config set`, or remove it first
    [exit 1]
    "#);
    assert_eq!(world.read("paddock.toml"), "# mine\n");
}

#[test]
fn the_ignored_directory_is_added_once() {
    let world = World::empty();
    world.write(".gitignore", "target");
    assert_eq!(world.paddock(&["init"]).code, 0);
    assert_eq!(world.read(".gitignore"), "target\nworkspace/\n");
    std::fs::remove_file(world.project().join("paddock.toml")).unwrap();
    assert_eq!(world.paddock(&["init"]).code, 0);
    assert_eq!(world.read(".gitignore"), "target\nworkspace/\n");
}

#[test]
fn another_directory_and_another_name() {
    let world = World::empty();
    assert_eq!(world.paddock(&["init", "deep/app", "--name", "my app"]).code, 0);
    assert!(world.read("deep/app/paddock.toml").contains("name = \"my app\""));
    let ran = world.paddock(&["--config", "deep/app/paddock.toml", "map"]);
    assert!(ran.stdout.contains("/project/workspace"), "{ran}");
}

#[test]
fn the_nearest_configuration_above_is_used() {
    let world = World::seed();
    let mut command = world.command(&["tool", "read_file", r#"{"path": "package.json"}"#]);
    command.current_dir(world.project().join("src"));
    assert_eq!(world.run(command, "").code, 0);
}
