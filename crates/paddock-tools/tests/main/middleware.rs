//! The middleware around a model and a tool handler that know nothing of Paddock.

use std::sync::Arc;

use paddock_tools::{Fixed, Handled, ModelRequest, ToolRequest, ToolSpec, Toolbox, Verdict, WorkspacesMiddleware};
use serde_json::{Map, Value, json};

use crate::setup::{RO, holding, policy, workspace};

#[path = "../../examples/middleware.rs"]
#[allow(dead_code)]
mod example;

/// A request as some program might have it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
}

impl ModelRequest for Request {
    fn system(&self) -> &str {
        &self.system
    }

    fn provided_with(&self, system: String, tools: Vec<ToolSpec>) -> Self {
        let ours = tools.into_iter().map(|tool| tool.name.to_owned());
        Self { system, tools: self.tools.iter().cloned().chain(ours).collect() }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct ToolUse {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

impl ToolRequest for ToolUse {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Map<String, Value> {
        self.arguments.as_object().cloned().unwrap_or_default()
    }
}

fn reader() -> WorkspacesMiddleware {
    let policy = policy(vec![workspace("/docs", RO, holding(&[("a.md", b"text")]))], "/");
    WorkspacesMiddleware::new(Toolbox::new(Arc::new(Fixed(Arc::new(policy)))))
}

fn ask(name: &str, arguments: Value) -> Handled<String> {
    let call = ToolUse { name: name.to_owned(), arguments };
    reader().wrap_tool_call(call, |call| format!("handled {}", call.name))
}

#[test]
fn ours_is_run_and_others_are_passed_on() {
    let Handled::Here(answer) = ask("read_file", json!({"path": "/docs/a.md"})) else { unreachable!("ours") };
    assert_eq!(answer.text(), "text");
    assert_eq!(ask("weather", json!({"city": "Lima"})), Handled::There("handled weather".to_owned()));
}

#[test]
fn one_of_ours_that_was_not_offered_is_refused_and_never_passed_on() {
    let offered = reader().wrap_model_call(&Request { system: String::new(), tools: vec![] }, |request| request.tools);
    assert!(!offered.contains(&"delete_file".to_owned()), "{offered:?}");
    let Handled::Here(answer) = ask("delete_file", json!({"path": "/docs/a.md"})) else { unreachable!("ours") };
    assert_eq!(answer.verdict, Verdict::Denied);
}

#[test]
fn a_handler_that_gives_a_future_is_given_back_as_one() {
    let request = Request { system: "S".to_owned(), tools: vec![] };
    let middleware = reader();
    let future = middleware.wrap_model_call(&request, |request| async move { request.system });
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(system) => assert!(system.starts_with("S\n\nFilesystem Map")),
        std::task::Poll::Pending => unreachable!("nothing to wait for"),
    }
}

#[test]
fn the_example_runs() {
    let transcript = example::converse();
    assert!(transcript.contains("File written successfully: /project/workspace/haiku.txt"), "{transcript}");
    assert!(transcript.contains("Cannot write to protected path"), "{transcript}");
    assert!(transcript.contains("17 °C"), "{transcript}");
}
