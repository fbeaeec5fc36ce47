//! An agent loop with Paddock around its model and its tools: `cargo run -p paddock-tools --example middleware`.
//!
//! The model is scripted, so that this runs anywhere; a real one would be called in its place. The
//! loop owns its conversation and one tool of its own, and knows nothing about files: what the model
//! sees of them, and what it may do, comes from the middleware.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write as _;
use std::sync::Arc;

use paddock_core::{AccessScope, AgentName, AgentPolicy, LogicalPath, Mount, NoJournal, Vfs, Workspace};
use paddock_stores::MemoryStore;
use paddock_tools::{Handled, ModelRequest, RecordingGate, ToolRequest, ToolSpec, Toolbox, WorkspacesMiddleware};
use serde_json::{Map, Value, json};

fn main() {
    println!("{}", converse());
}

/// Runs the loop to its end and gives back what was said.
pub(crate) fn converse() -> String {
    let middleware = WorkspacesMiddleware::new(Toolbox::fixed(policy()));
    let mut conversation = Conversation { system: "You are a poet.".to_owned(), messages: vec![], tools: vec![] };
    let mut transcript = String::new();
    // Each turn: the model gets the tools and the map of this very moment ...
    while let Some(call) = middleware.wrap_model_call(&conversation, |request| scripted_model(&request)) {
        let _ = writeln!(transcript, "model: {} {}", call.name, Value::Object(call.arguments.clone()));
        // ... and what it calls is run by Paddock if it is Paddock's, else by us.
        let result = match middleware.wrap_tool_call(call, |call| our_own_tool(&call)) {
            Handled::Here(answer) => answer.text(),
            Handled::There(result) => result,
        };
        let _ = writeln!(transcript, "tool:  {result}");
        conversation.messages.push(result);
    }
    // The map was never written into what the loop keeps.
    assert_eq!(conversation.system, "You are a poet.");
    transcript
}

/// `/project` may be read, `/project/workspace` may be changed; nothing else exists.
fn policy() -> AgentPolicy {
    let path = |text| LogicalPath::parse(text, &LogicalPath::top()).unwrap();
    let workspace = |prefix, scope| Workspace::new(path(prefix), scope, Mount::new(Arc::new(MemoryStore::new()), None));
    let workspaces =
        vec![workspace("/project", AccessScope::ReadOnly), workspace("/project/workspace", AccessScope::ReadWrite)];
    let vfs = Vfs::new(workspaces, Arc::new(RecordingGate::new()), Arc::new(NoJournal)).unwrap();
    AgentPolicy::new(AgentName::main(), path("/project"), vfs)
}

/// What this program sends to its model.
#[derive(Clone)]
struct Conversation {
    system: String,
    messages: Vec<String>,
    tools: Vec<ToolSpec>,
}

impl ModelRequest for Conversation {
    fn system(&self) -> &str {
        &self.system
    }

    fn provided_with(&self, system: String, tools: Vec<ToolSpec>) -> Self {
        Self { system, messages: self.messages.clone(), tools }
    }
}

/// A tool call as this program's model makes it.
struct ModelCall {
    name: String,
    arguments: Map<String, Value>,
}

impl ToolRequest for ModelCall {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Map<String, Value> {
        self.arguments.clone()
    }
}

/// Stands for a model: the next line of a fixed script, as long as it was given what it needs.
fn scripted_model(request: &Conversation) -> Option<ModelCall> {
    assert!(request.system.contains("Filesystem Map"));
    assert!(request.tools.iter().any(|tool| tool.name == "write_file"));
    let (name, arguments) = match request.messages.len() {
        0 => ("weather", json!({"city": "Lima"})),
        1 => ("write_file", json!({"path": "workspace/haiku.txt", "content": "Fog over Lima\n"})),
        2 => ("read_file", json!({"path": "workspace/haiku.txt"})),
        3 => ("write_file", json!({"path": "README.md", "content": "mine now"})),
        _ => return None,
    };
    Some(ModelCall { name: name.to_owned(), arguments: arguments.as_object().cloned().unwrap_or_default() })
}

/// The tool that this program has besides Paddock's.
fn our_own_tool(call: &ModelCall) -> String {
    match call.name.as_str() {
        "weather" => "17 °C, fog".to_owned(),
        other => format!("no tool {other}"),
    }
}
