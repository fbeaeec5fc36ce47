//! Agents and their Workspaces, and everything at a glance.

use axum::http::Method;
use paddock_desk::FailureKind::Missing;
use paddock_desk::Result;
use paddock_desk::overview::{self, Overview};
use paddock_desk::workspaces::{self, AgentShown, WorkspaceShown};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// Which agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfAgent {
    /// The agent; `main` where none is named.
    #[serde(default)]
    pub(crate) agent: Option<String>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/agents", "The agents of the configuration", agents),
        json(
            Method::GET,
            "/api/v1/overview",
            "Agents, their Workspaces, what waits and what happened last",
            at_a_glance,
        ),
        json(Method::GET, "/api/v1/workspaces", "The Workspaces of an agent", of_agent).failing(&[Missing]),
    ]
}

fn agents(asked: &Asked) -> Result<Vec<AgentShown>> {
    workspaces::agents(&asked.shared.desk)
}

fn at_a_glance(asked: &Asked) -> Result<Overview> {
    overview::overview(&asked.shared.desk, &asked.shared.access)
}

fn of_agent(asked: &Asked<Nothing, OfAgent>) -> Result<Vec<WorkspaceShown>> {
    workspaces::of_agent(&asked.shared.desk, asked.query.agent.as_deref())
}
