//! The answer to a client's hook: only MCP tools pass.
//!
//! Cursor and VS Code ask before each tool of their agents, with the call as JSON on standard input. What passes is named
//! here; everything else, also what cannot be read, is refused, so that a tool that a new version brings is off until
//! somebody looked at it. Exit code 2 refuses in both, whatever becomes of their JSON.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::cli::ClientName;
use crate::failure::Ended;
use crate::printer::{self, Printer};

/// The most that is read: an event can hold the content of a file.
const LARGEST: u64 = 64 * 1024 * 1024;

const REFUSAL: &str = "this client's own file and shell tools are switched off in this project; use the tools of the MCP \
                       server paddock, whose answers say what is possible";

/// What a client calls a tool of an MCP server, and its tools that reach neither files nor a shell.
struct Passing {
    beginnings: &'static [&'static str],
    names: &'static [&'static str],
}

const CURSOR: Passing = Passing { beginnings: &["MCP:"], names: &["TodoWrite", "AskQuestion", "Task", "WebSearch"] };

const VSCODE: Passing = Passing {
    // As its own agents say it, as Claude's does, and as Copilot's does.
    beginnings: &["mcp_", "paddock-"],
    names: &["manage_todo_list", "vscode_askQuestions", "runSubagent", "tool_search"],
};

/// Answers one event.
pub(crate) fn answer(client: ClientName, printer: &Printer) -> anyhow::Result<Ended> {
    let mut event = String::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_string(&mut event);
    let event: Option<Value> = read.ok().and_then(|_| serde_json::from_str(&event).ok());
    if event.as_ref().is_some_and(|event| passes(client, event)) {
        // Nothing is approved by it: the client still asks where it would.
        printer.json(&if client == ClientName::Cursor {
            json!({ "permission": "allow" })
        } else {
            json!({ "continue": true })
        })?;
        return Ok(Ended::Done);
    }
    if client == ClientName::Cursor {
        printer.json(&json!({ "permission": "deny", "user_message": REFUSAL, "agent_message": REFUSAL }))?;
    }
    printer::tell(REFUSAL);
    Ok(Ended::Code(2))
}

/// Does the tool that an event is about pass?
fn passes(client: ClientName, event: &Value) -> bool {
    let passing = match client {
        ClientName::Cursor => CURSOR,
        ClientName::VsCode => VSCODE,
        // They have no such hook of ours.
        ClientName::ClaudeCode | ClientName::Codex => return false,
    };
    // Events that name no tool are those before a shell command and before a file is read.
    let Some(tool) = event.get("tool_name").and_then(Value::as_str) else { return false };
    let about_tools = ["preToolUse", "PreToolUse"];
    let named = |key: &str| event.get(key).and_then(Value::as_str);
    let is_about_tools =
        named("hook_event_name").or(named("hookEventName")).is_none_or(|name| about_tools.contains(&name));
    let begins = passing.beginnings.iter().any(|beginning| tool.len() > beginning.len() && tool.starts_with(beginning));
    is_about_tools && (begins || passing.names.contains(&tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_mcp_servers_pass_and_their_own_do_not() {
        let cursor =
            |tool: &str| passes(ClientName::Cursor, &json!({ "hook_event_name": "preToolUse", "tool_name": tool }));
        let vscode =
            |tool: &str| passes(ClientName::VsCode, &json!({ "hookEventName": "PreToolUse", "tool_name": tool }));
        for tool in ["MCP:read_file", "MCP:github_search", "TodoWrite"] {
            assert!(cursor(tool), "{tool}");
        }
        for tool in ["Shell", "Read", "Write", "Delete", "Grep", "MCP:", "mcp_paddock_read_file", "read_file", ""] {
            assert!(!cursor(tool), "{tool}");
        }
        for tool in ["mcp_paddock_read_file", "mcp__paddock__read_file", "paddock-read_file", "manage_todo_list"] {
            assert!(vscode(tool), "{tool}");
        }
        for tool in ["run_in_terminal", "read_file", "create_file", "apply_patch", "Bash", "fetch_webpage", "MCP:x"] {
            assert!(!vscode(tool), "{tool}");
        }
    }

    #[test]
    fn what_is_not_understood_does_not_pass() {
        for event in [
            json!({}),
            json!([]),
            json!({ "tool_name": 1 }),
            json!({ "hook_event_name": "beforeShellExecution", "command": "ls" }),
            json!({ "hook_event_name": "beforeReadFile", "file_path": "/x", "tool_name": "MCP:read_file" }),
        ] {
            assert!(!passes(ClientName::Cursor, &event), "{event}");
        }
        assert!(!passes(ClientName::Codex, &json!({ "tool_name": "MCP:x" })));
    }
}
