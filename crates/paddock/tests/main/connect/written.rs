//! What stands in each client's files, by its documented format.

use serde_json::json;

use super::{connect, project, text, value};
use crate::harness::World;

#[test]
fn claude_code_gets_an_entry_and_rules() {
    let world = project();
    world.write(
        ".claude/settings.json",
        "{\n  // what we agreed on\n  \"permissions\": {\n    \"deny\": [\"WebFetch\"], // no network\n  },\n  \"model\": \"opus\"\n}\n",
    );
    connect(&world, "claude-code", &[]);
    insta::assert_snapshot!(text(&world, ".claude/settings.json"), @r#"
    {
      // what we agreed on
      "permissions": {
        "deny": ["WebFetch", "Bash", "PowerShell", "Monitor", "REPL", "Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "LSP", "Artifact", "EnterWorktree", "ExitWorktree", "Workflow"], // no network
        "allow": [
          "mcp__paddock"
        ],
      },
      "model": "opus",
      "enabledMcpjsonServers": [
        "paddock"
      ]
    }
    "#);
    insta::assert_snapshot!(text(&world, ".mcp.json"), @r#"
    {
      "mcpServers": {
        "paddock": {
          "type": "stdio",
          "command": "[bin]/paddock",
          "args": ["mcp", "--config", "[world]/project/paddock.toml"]
        }
      }
    }
    "#);
}

#[test]
fn codex_gets_an_entry_and_switches() {
    let world = project();
    world.write(
        ".codex/config.toml",
        "# ours\nmodel = \"gpt-5\" # the good one\nsandbox_mode = \"workspace-write\"\n\n[features]\nweb = true\n\n[mcp_servers.docs]\ncommand = \"docs\"\n",
    );
    connect(&world, "codex", &[]);
    insta::assert_snapshot!(text(&world, ".codex/config.toml"), @r#"
    # ours
    model = "gpt-5" # the good one
    sandbox_mode = "read-only"
    approval_policy = "never"

    [features]
    web = true
    shell_tool = false
    view_image = false

    [mcp_servers.docs]
    command = "docs"

    [mcp_servers.paddock]
    command = "[bin]/paddock"
    args = ["mcp", "--config", "[world]/project/paddock.toml"]
    default_tools_approval_mode = "approve"
    required = true
    "#);
}

#[test]
fn cursor_gets_an_entry_hooks_and_rules() {
    let world = project();
    world.write(".cursor/hooks.json", "{ \"version\": 1, \"hooks\": { \"stop\": [{ \"command\": \"say done\" }] } }\n");
    connect(&world, "cursor", &[]);
    insta::assert_snapshot!(text(&world, ".cursor/hooks.json"), @r#"
    { "version": 1, "hooks": {
        "stop": [{ "command": "say done" }],
        "preToolUse": [
          {
            "command": "'[bin]/paddock' connect cursor --hook || exit 2",
            "failClosed": true
          }
        ],
        "beforeShellExecution": [
          {
            "command": "'[bin]/paddock' connect cursor --hook || exit 2",
            "failClosed": true
          }
        ],
        "beforeReadFile": [
          {
            "command": "'[bin]/paddock' connect cursor --hook || exit 2",
            "failClosed": true
          }
        ]
      } }
    "#);
    insta::assert_snapshot!(text(&world, ".cursor/cli.json"), @r#"
    {
      "permissions": {
        "allow": [
          "Mcp(paddock:*)"
        ],
        "deny": [
          "Shell(**)",
          "Read(**)",
          "Read(/**)",
          "Write(**)",
          "Write(/**)"
        ]
      }
    }
    "#);
    insta::assert_snapshot!(text(&world, ".cursor/mcp.json"), @r#"
    {
      "mcpServers": {
        "paddock": {
          "command": "[bin]/paddock",
          "args": ["mcp", "--config", "[world]/project/paddock.toml"]
        }
      }
    }
    "#);
}

#[test]
fn vscode_gets_an_entry_a_hook_and_an_agent() {
    let world = project();
    world.write(
        ".vscode/mcp.json",
        "{\n    // shared\n    \"servers\": {\n        \"docs\": { \"type\": \"http\", \"url\": \"https://d\" },\n    },\n}\n",
    );
    connect(&world, "vscode", &[]);
    insta::assert_snapshot!(text(&world, ".vscode/mcp.json"), @r#"
    {
        // shared
        "servers": {
            "docs": { "type": "http", "url": "https://d" },
            "paddock": {
                "type": "stdio",
                "command": "[bin]/paddock",
                "args": ["mcp", "--config", "[world]/project/paddock.toml"],
            },
        },
    }
    "#);
    insta::assert_snapshot!(text(&world, ".github/hooks/paddock.json"), @r#"
    {
      "hooks": {
        "PreToolUse": [
          {
            "type": "command",
            "command": "'[bin]/paddock' connect vscode --hook || exit 2"
          }
        ]
      }
    }
    "#);
    insta::assert_snapshot!(text(&world, ".github/agents/paddock.agent.md"), @r#"
    ---
    name: paddock
    description: Works in the Workspaces that Paddock allows, with Paddock's tools only.
    tools: ['paddock/*']
    ---
    Files and commands are reached through the tools of the MCP server paddock, and through nothing else. Paths are those of
    its Filesystem Map. When a call is refused, the answer says what is possible instead.
    "#);
}

/// The entry is what a client reads: the server starts from it, wherever the client is.
#[test]
fn the_entry_starts_the_server() {
    let world = project();
    connect(&world, "claude-code", &["--agent", "main", "--home", "../state"]);
    let entry = &value(&world, ".mcp.json")["mcpServers"]["paddock"];
    let arguments: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(arguments.ends_with(&["--agent", "main"]), "{arguments:?}");
    let mut command = std::process::Command::new(entry["command"].as_str().unwrap());
    command.args(arguments).current_dir("/").env_clear();
    let greeting = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    let ran = world.run(command, &format!("{greeting}\n"));
    assert!(ran.code == 0 && ran.stdout.contains("/project/workspace"), "{ran}");
}

/// A client that is started from a desktop has not the variables of the person's shell.
#[test]
fn the_entry_names_the_system_root_that_a_variable_named() {
    let world = project();
    let mut command = world.command(&["connect", "claude-code", "--yes"]);
    command.env("PADDOCK_HOME", world.path().join("elsewhere"));
    let ran = world.run(command, "");
    assert_eq!(ran.code, 0, "{ran}");
    let arguments = &value(&world, ".mcp.json")["mcpServers"]["paddock"]["args"];
    assert!(
        arguments.to_string().contains("\"--home\",\"") && arguments.to_string().contains("/elsewhere\""),
        "{arguments}"
    );
}

const HTTP: [&str; 3] = ["--http", "--url", "http://127.0.0.1:7777/mcp"];

#[test]
fn a_running_server_is_named_and_its_token_is_not() {
    let world = project();
    for client in super::CLIENTS {
        let told = connect(&world, client, &HTTP);
        assert!(told.stdout.contains(&format!("`paddock token new {client}` makes a token; ")), "{told}");
    }
    let url = "http://127.0.0.1:7777/mcp";
    assert_eq!(
        value(&world, ".mcp.json")["mcpServers"]["paddock"],
        json!({ "type": "http", "url": url, "headers": { "Authorization": "Bearer ${PADDOCK_TOKEN}" } })
    );
    assert_eq!(
        value(&world, ".cursor/mcp.json")["mcpServers"]["paddock"],
        json!({ "url": url, "headers": { "Authorization": "Bearer ${env:PADDOCK_TOKEN}" } })
    );
    let codex = text(&world, ".codex/config.toml");
    assert!(codex.contains("url = \"http://127.0.0.1:7777/mcp\"\nbearer_token_env_var = \"PADDOCK_TOKEN\""), "{codex}");
    assert!(!codex.contains("command"), "{codex}");
    let vscode = value(&world, ".vscode/mcp.json");
    assert_eq!(vscode["servers"]["paddock"]["headers"]["Authorization"], "Bearer ${input:paddock-token}");
    assert_eq!(vscode["inputs"][0]["password"], true);
}

#[test]
fn the_variable_of_the_token_can_be_another_one() {
    let world = project();
    connect(&world, "vscode", &["--http", "--token-env", "MY_TOKEN"]);
    let vscode = value(&world, ".vscode/mcp.json");
    assert_eq!(vscode["servers"]["paddock"]["url"], "http://127.0.0.1:7433/mcp");
    assert_eq!(vscode["servers"]["paddock"]["headers"]["Authorization"], "Bearer ${env:MY_TOKEN}");
    assert!(vscode.get("inputs").is_none());
    for wrong in [&["--url", "http://h/mcp"][..], &["--http", "--undo"], &["--http", "--url", "http://a:b@h/mcp"]] {
        assert_eq!(world.paddock(&[&["connect", "codex"], wrong].concat()).code, 2, "{wrong:?}");
    }
}

/// From the program to the server and back: the same places are used, and nothing is left over.
#[test]
fn the_way_to_reach_paddock_can_change() {
    let world = project();
    world.write(".vscode/mcp.json", "{\n  // mine\n  \"servers\": {}\n}\n");
    let before = super::files(&world.project());
    connect(&world, "vscode", &HTTP);
    connect(&world, "vscode", &[]);
    let vscode = text(&world, ".vscode/mcp.json");
    assert!(!vscode.contains("7777") && !vscode.contains("inputs") && vscode.contains("// mine"), "{vscode}");
    connect(&world, "vscode", &["--undo"]);
    assert_eq!(super::files(&world.project()), before);
}

#[test]
fn for_every_project_it_is_written_where_the_person_lives() {
    let world = World::empty();
    assert_eq!(world.paddock(&["init"]).code, 0);
    let before = super::files(&world.project());
    for client in super::CLIENTS {
        connect(&world, client, &["--user"]);
        assert!(world.paddock(&["connect", client, "--user"]).stdout.starts_with("nothing changes"), "{client}");
    }
    assert_eq!(super::files(&world.project()), before);
    let home: Vec<String> = super::files(&world.home())
        .into_iter()
        .filter(|(path, text)| !text.is_empty() && !path.contains("/.paddock/"))
        .map(|(path, _)| path.replace(world.home().to_str().unwrap(), "~"))
        .collect();
    insta::assert_snapshot!(home.join("\n"), @r#"
    ~/.claude.json
    ~/.claude/settings.json
    ~/.codex/config.toml
    ~/.config/Code/User/mcp.json
    ~/.copilot/agents/paddock.agent.md
    ~/.copilot/hooks/paddock.json
    ~/.cursor/cli-config.json
    ~/.cursor/hooks.json
    ~/.cursor/mcp.json
    "#);
    let rules = std::fs::read_to_string(world.home().join(".cursor/cli-config.json")).unwrap();
    let rules: serde_json::Value = serde_json::from_str(&rules).unwrap();
    assert_eq!((&rules["version"], &rules["editor"]["vimMode"]), (&json!(1), &json!(false)));
    for client in super::CLIENTS {
        connect(&world, client, &["--user", "--undo"]);
    }
    let left: Vec<_> =
        super::files(&world.home()).into_iter().filter(|(path, _)| !path.ends_with("/.paddock")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_page_names_every_file_and_every_tool_that_is_switched_off() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/connect.md");
    let page = std::fs::read_to_string(page).unwrap();
    let world = project();
    for client in super::CLIENTS {
        for user in [&[][..], &["--user"]] {
            let told = connect(&world, client, &[&["--json", "--dry-run"], user].concat()).json();
            assert_eq!(told["for_every_project"], !user.is_empty());
            for file in told["files"].as_array().unwrap() {
                let path = file["path"].as_str().unwrap();
                let home = path.strip_prefix("[world]/home").map(|path| format!("~{path}"));
                let named = home.unwrap_or_else(|| path.strip_prefix("[world]/project/").unwrap().to_owned());
                assert!(page.contains(&format!("`{named}`")), "{named}");
            }
            let off = told["switched_off"].as_array().unwrap().iter().map(|row| row.as_str().unwrap());
            for tool in off.filter(|row| client == "claude-code" && !row.contains(' ')) {
                assert!(page.contains(&format!("`{tool}`")), "{tool}");
            }
        }
    }
}
