//! Codex: `config.toml`, of the project or of the person.
//!
//! Its shell and its viewer of images are features that can be switched off. `apply_patch` cannot, so its sandbox is set to
//! read-only and nobody is asked to lift it: every patch is then refused. Because nobody is asked, the tools of Paddock are
//! approved there; Paddock asks a person by its own rules.

use serde_json::json;

use super::super::document::Format;
use super::super::plan::Content;
use super::super::wish::{Wish, at};
use super::{Client, Reach, Setting, Wanted, directory};

const OFF: &[&str] =
    &["its shell (shell_tool)", "view_image", "every write of apply_patch (read-only sandbox, nobody asked)"];

const OPEN: &[&str] = &[
    "apply_patch is still offered to the model; each patch is refused, but the refusal can tell whether a line is in a file",
    "options of the command line beat the file: -s, -a, --yolo, -c; so does changing the mode in a session",
    "a project's file counts only once you trust the project; until then Codex has its own tools and no Paddock",
    "web search reaches the network; what you do yourself, plugins, apps and other MCP servers",
];

pub(super) fn client(setting: &Setting<'_>) -> Client {
    let mut entry = match &setting.reach {
        Reach::Start(arguments) => json!({ "command": setting.program, "args": arguments }),
        Reach::Ask { url, .. } => json!({ "url": url, "bearer_token_env_var": setting.token_env() }),
    };
    // Without Paddock it would start with no tools at all and try its luck; so it does not start.
    entry["required"] = true.into();
    entry["default_tools_approval_mode"] = "approve".into();
    let put = |place, value| Wish::Put { at: at(place), value };
    let wishes = vec![
        put("sandbox_mode", json!("read-only")),
        put("approval_policy", json!("never")),
        put("features.shell_tool", json!(false)),
        put("features.view_image", json!(false)),
        Wish::Entry { at: at("mcp_servers.paddock"), value: entry },
    ];
    let path =
        setting.place(".codex/config.toml", |home| directory("CODEX_HOME", home.join(".codex")).join("config.toml"));
    Client {
        word: "codex",
        title: "Codex",
        files: vec![Wanted { path, content: Content::Places(Format::Toml, wishes) }],
        off: OFF,
        open: OPEN,
        next: vec![
            "start Codex anew in this project, and trust the project when it asks".to_owned(),
            "`codex mcp list` shows paddock; in a session `/mcp` lists its tools, `/status` the sandbox".to_owned(),
        ],
    }
}
