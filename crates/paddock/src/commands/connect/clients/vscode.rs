//! Visual Studio Code: `.vscode/mcp.json` for the entry, `.github/hooks/paddock.json` for every agent, and an agent
//! (`.github/agents/paddock.agent.md`) that is offered Paddock's tools and nothing else.
//!
//! No setting of a project takes the built-in tools away. The hook is asked before each tool, and Paddock's answer lets only
//! MCP tools pass; the agent spares the model the tools that would be refused.

use serde_json::json;

use super::super::document::Format;
use super::super::plan::Content;
use super::super::wish::{Wish, at};
use super::{Client, Reach, Setting, Wanted, directory};

const OFF: &[&str] = &[
    "every tool of its agents that is no MCP tool: terminal, read, edit, search, tasks (by a hook)",
    "the agent \"paddock\" is offered Paddock's tools only",
];

const OPEN: &[&str] = &[
    "agents other than \"paddock\" are still offered the built-in tools; each call is refused by the hook",
    "hooks are a preview of VS Code and can be switched off in the settings, or by an organisation: then choose the agent \
     \"paddock\", and Paddock cannot confine the others",
    "inline chat, completions, the index of the code base, files that you attach yourself, cloud agents",
    "other extensions with agents of their own; what you do yourself and other MCP servers",
];

const AGENT: &str = "---
name: paddock
description: Works in the Workspaces that Paddock allows, with Paddock's tools only.
tools: ['paddock/*']
---
Files and commands are reached through the tools of the MCP server paddock, and through nothing else. Paths are those of
its Filesystem Map. When a call is refused, the answer says what is possible instead.
";

pub(super) fn client(setting: &Setting<'_>) -> Client {
    let asked = at("inputs");
    let (token, inputs) = match &setting.reach {
        Reach::Ask { token_env: None, .. } => {
            let input = json!({
                "type": "promptString", "id": "paddock-token", "description": "The token for Paddock", "password": true
            });
            ("${input:paddock-token}".to_owned(), vec![Wish::Add { at: asked, items: vec![input] }])
        }
        _ => (format!("${{env:{}}}", setting.token_env()), Vec::new()),
    };
    let entry = Wish::Entry { at: at("servers.paddock"), value: setting.entry(Some(("stdio", "http")), &token) };
    let hook = json!({ "type": "command", "command": setting.hook("vscode") });
    let hooks = vec![Wish::Add { at: at("hooks.PreToolUse"), items: vec![hook] }];
    let file = |path, wishes| Wanted { path, content: Content::Places(Format::Json, wishes) };
    let user = |home: &std::path::Path| directory("XDG_CONFIG_HOME", home.join(".config")).join("Code/User/mcp.json");
    let agent = setting.place(".github/agents/paddock.agent.md", |home| home.join(".copilot/agents/paddock.agent.md"));
    Client {
        word: "vscode",
        title: "Visual Studio Code",
        files: vec![
            file(setting.place(".github/hooks/paddock.json", |home| home.join(".copilot/hooks/paddock.json")), hooks),
            Wanted { path: agent, content: Content::Whole(AGENT.to_owned()) },
            file(setting.place(".vscode/mcp.json", user), inputs.into_iter().chain([entry]).collect()),
        ],
        off: OFF,
        open: OPEN,
        next: vec![
            "reload the window, start the server paddock (MCP: List Servers) and trust it".to_owned(),
            "choose the agent \"paddock\" in the chat".to_owned(),
            "the output \"GitHub Copilot Chat Hooks\" shows the hook at work; ask any agent to run `ls`: it has to be refused"
                .to_owned(),
        ],
    }
}
