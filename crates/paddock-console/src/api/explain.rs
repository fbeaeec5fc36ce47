//! Why something is allowed or denied.

use axum::http::Method;
use paddock_desk::FailureKind::Missing;
use paddock_desk::explain::{self, Explained};
use paddock_desk::{Result, workspaces};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// What is asked about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The operation, or the tool that does it.
    operation: String,
    /// The path.
    path: String,
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let does = "Why an operation on a path is allowed or denied, and what would allow it";
    vec![json(Method::GET, "/api/v1/why", does, why).failing(&[Missing])]
}

fn why(asked: &Asked<Nothing, Question>) -> Result<Explained> {
    let Question { operation, path, agent } = &asked.query;
    let agent = workspaces::agent_named(&asked.shared.desk, agent.as_deref())?;
    explain::why(&asked.shared.desk, &agent, operation, path)
}
