//! Claude Code: `.mcp.json` for the entry, `.claude/settings.json` for what it may do.
//!
//! A rule of `permissions.deny` that is only a tool's name takes the tool out of what the model is offered, in every mode and
//! for its subagents too; no rule that allows beats it.

use serde_json::{Value, json};

use super::super::document::Format;
use super::super::plan::Content;
use super::super::wish::{Wish, at};
use super::{Client, NAME, Setting, Wanted, directory};

/// Its tools that reach files, or run something that could. `Glob` and `Grep` come only when `Bash` is off.
const DENIED: &[&str] = &[
    "Bash",
    "PowerShell",
    "Monitor",
    "REPL",
    "Read",
    "Edit",
    "Write",
    "NotebookEdit",
    "Glob",
    "Grep",
    "LSP",
    "Artifact",
    "EnterWorktree",
    "ExitWorktree",
    "Workflow",
];

const OPEN: &[&str] = &[
    "WebFetch and WebSearch reach the network; deny them too if the agent is not to have it",
    "what you do yourself: `!command`, files that you name with @, CLAUDE.md, hooks, skills, plugins, other MCP servers",
    "a start with --setting-sources that leaves this file out, or in another directory",
];

pub(super) fn client(setting: &Setting<'_>) -> Client {
    let token = format!("${{{}}}", setting.token_env());
    let entry = Wish::Entry { at: at("mcpServers.paddock"), value: setting.entry(Some(("stdio", "http")), &token) };
    let names = |names: &[&str]| names.iter().map(|name| Value::from(*name)).collect::<Vec<_>>();
    let mut rules = vec![
        Wish::Add { at: at("permissions.allow"), items: names(&["mcp__paddock"]) },
        Wish::Add { at: at("permissions.deny"), items: names(DENIED) },
    ];
    if setting.person.is_none() {
        // A server of a project is otherwise asked about on its first start.
        rules.push(Wish::Add { at: at("enabledMcpjsonServers"), items: vec![json!(NAME)] });
    }
    let of_person = |file: &'static str| {
        move |home: &std::path::Path| match file {
            // Beside its directory, or in it where a variable names one.
            ".claude.json" => directory("CLAUDE_CONFIG_DIR", home.to_owned()).join(file),
            _ => directory("CLAUDE_CONFIG_DIR", home.join(".claude")).join(file),
        }
    };
    let file = |path, wishes| Wanted { path, content: Content::Places(Format::Json, wishes) };
    Client {
        word: "claude-code",
        title: "Claude Code",
        files: vec![
            file(setting.place(".claude/settings.json", of_person("settings.json")), rules),
            file(setting.place(".mcp.json", of_person(".claude.json")), vec![entry]),
        ],
        off: DENIED,
        open: OPEN,
        next: vec![
            "start Claude Code anew in this project, and trust the directory when it asks".to_owned(),
            "`claude mcp list` shows paddock as connected; in a session `/mcp` lists its tools, `/permissions` the rules"
                .to_owned(),
        ],
    }
}
