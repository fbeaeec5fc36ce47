//! Cursor: `.cursor/mcp.json` for the entry, `.cursor/hooks.json` for the editor's agent, `.cursor/cli.json` for its command
//! line.
//!
//! No setting takes the editor's own tools away. Its hooks are asked before each tool, and Paddock's answer lets only MCP
//! tools pass. The command line has rules of its own beside them.

use serde_json::{Value, json};

use super::super::document::Format;
use super::super::plan::Content;
use super::super::wish::{Wish, at};
use super::{Client, Setting, Wanted};

/// The events before a tool; the second and third are all that versions before 2.4 know.
const EVENTS: &[&str] = &["preToolUse", "beforeShellExecution", "beforeReadFile"];

const OFF: &[&str] = &[
    "every tool of the editor's agent that is no MCP tool: terminal, read, write, delete, search (by hooks)",
    "Shell, Read and Write of `cursor-agent` (by rules)",
];

const OPEN: &[&str] = &[
    "the tools are still offered to the model; each call is refused by the hook",
    "Cursor before 2.4 asks no hook before it writes a file: Paddock cannot confine writes there",
    "Tab completion, the index of the code base, files that you attach yourself, cloud agents",
    "hooks that are switched off in the settings, or a project that is opened above this directory",
    "what you do yourself, extensions and other MCP servers",
];

pub(super) fn client(setting: &Setting<'_>) -> Client {
    let token = format!("${{env:{}}}", setting.token_env());
    let entry = Wish::Entry { at: at("mcpServers.paddock"), value: setting.entry(None, &token) };
    let hook = json!({ "command": setting.hook("cursor"), "failClosed": true });
    let mut hooks = vec![Wish::Default { at: at("version"), value: json!(1) }];
    hooks.extend(EVENTS.iter().map(|event| Wish::Add { at: at(&format!("hooks.{event}")), items: vec![hook.clone()] }));
    let words = |words: &[&str]| words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>();
    let mut rules = vec![
        Wish::Add { at: at("permissions.allow"), items: words(&["Mcp(paddock:*)"]) },
        Wish::Add {
            at: at("permissions.deny"),
            items: words(&["Shell(**)", "Read(**)", "Read(/**)", "Write(**)", "Write(/**)"]),
        },
    ];
    if setting.person.is_some() {
        // The person's own file has to hold these too.
        rules.insert(0, Wish::Default { at: at("version"), value: json!(1) });
        rules.insert(1, Wish::Default { at: at("editor.vimMode"), value: json!(false) });
    }
    let file = |path, wishes| Wanted { path, content: Content::Places(Format::Json, wishes) };
    let place = |in_project: &str, of_person: &str| setting.place(in_project, |home| home.join(of_person));
    Client {
        word: "cursor",
        title: "Cursor",
        files: vec![
            file(place(".cursor/hooks.json", ".cursor/hooks.json"), hooks),
            file(place(".cursor/cli.json", ".cursor/cli-config.json"), rules),
            file(place(".cursor/mcp.json", ".cursor/mcp.json"), vec![entry]),
        ],
        off: OFF,
        open: OPEN,
        next: vec![
            "restart Cursor, and switch paddock on under Settings, MCP".to_owned(),
            "Settings, Hooks shows the hooks; ask the agent to run `ls` in the terminal: it has to be refused"
                .to_owned(),
            "`cursor-agent mcp list` shows paddock on the command line".to_owned(),
        ],
    }
}
