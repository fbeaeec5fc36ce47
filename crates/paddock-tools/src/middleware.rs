//! The same tools around any model and any tool handler, for programs that run an agent themselves.
//!
//! [`WorkspacesMiddleware::wrap_model_call`] gives the model the tools and the Filesystem Map,
//! made anew every turn from the policy that holds then. It hands on a *copy* of the request: what
//! the caller keeps as its conversation never holds the map, nor the content of a file.
//! [`WorkspacesMiddleware::wrap_tool_call`] runs the calls that are ours and passes the others on. A
//! call of one of our names is ours even when it was not offered: it is then refused here, and
//! never reaches another handler.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::catalogue::ToolSpec;
use crate::control::Control;
use crate::toolbox::Toolbox;

/// What a program sends to its model, whatever its shape.
pub trait ModelRequest: Sized {
    /// The system text.
    fn system(&self) -> &str;

    /// A copy of this request with another system text, and with these tools beside its own.
    #[must_use]
    fn provided_with(&self, system: String, tools: Vec<ToolSpec>) -> Self;
}

/// A tool call as a model makes it, whatever its shape.
pub trait ToolRequest {
    /// The tool's name.
    fn name(&self) -> &str;

    /// Its arguments.
    fn arguments(&self) -> Map<String, Value>;
}

/// Who handled a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Handled<R> {
    /// Paddock did.
    Here(Answer),
    /// The handler did, and this is what it gave.
    There(R),
}

/// How long a call may take where nothing else is said.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Wraps the model calls and tool calls of a program.
#[derive(Debug, Clone)]
pub struct WorkspacesMiddleware {
    toolbox: Toolbox,
    time_limit: Duration,
}

impl WorkspacesMiddleware {
    /// Around this Toolbox.
    pub fn new(toolbox: Toolbox) -> Self {
        Self { toolbox, time_limit: TIME_LIMIT }
    }

    /// With another time limit for each tool call; one minute otherwise.
    #[must_use]
    pub fn with_time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Calls the model with the tools and the map of this very turn. Where the handler gives a
    /// future, so does this.
    pub fn wrap_model_call<Q: ModelRequest, R>(&self, request: &Q, handler: impl FnOnce(Q) -> R) -> R {
        let map = self.toolbox.filesystem_map();
        let system = match request.system() {
            "" => map,
            own => format!("{own}\n\n{map}"),
        };
        handler(request.provided_with(system, self.toolbox.tools()))
    }

    /// Runs a call of one of our tools, and passes any other on.
    pub fn wrap_tool_call<C: ToolRequest, R>(&self, call: C, handler: impl FnOnce(C) -> R) -> Handled<R> {
        self.wrap_tool_call_under(call, &Control::for_at_most(self.time_limit), handler)
    }

    /// As [`Self::wrap_tool_call`], for callers that may want to stop it.
    pub fn wrap_tool_call_under<C: ToolRequest, R>(
        &self,
        call: C,
        control: &Control,
        handler: impl FnOnce(C) -> R,
    ) -> Handled<R> {
        if !self.toolbox.knows(call.name()) {
            return Handled::There(handler(call));
        }
        Handled::Here(self.toolbox.call(call.name(), call.arguments(), control))
    }
}
