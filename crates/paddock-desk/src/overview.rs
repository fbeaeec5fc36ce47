//! Everything at a glance: who works here, on what, what waits for the person, what happened last.

use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Access;
use crate::activity::{self, Act, Hour, Wanted};
use crate::approvals::{self, ListAsked};
use crate::desk::Desk;
use crate::failure::Result;
use crate::workspaces::{self, WorkspaceShown};

/// How many hours are told.
const HOURS: u64 = 24;
/// How many of the last acts are told, and of what waits.
const LAST: usize = 10;
const FIRST: usize = 5;

/// The project at a glance.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Overview {
    /// The agents of the configuration.
    pub agents: Vec<AgentAtWork>,
    /// How many calls wait for a person.
    pub waiting: u64,
    /// Some of them, the newest first.
    pub first: Vec<Waits>,
    /// The last acts, the newest first.
    pub recent: Vec<Act>,
    /// How calls ended in each of the last 24 hours, the oldest first.
    pub hours: Vec<Hour>,
}

/// An agent and what it has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentAtWork {
    /// Its name.
    pub name: String,
    /// The tools that it is given.
    pub tools: Vec<String>,
    /// Its Workspaces, with what they hold and may hold.
    pub workspaces: Vec<WorkspaceShown>,
    /// Its last call.
    pub last: Option<Act>,
    /// How many tokens speak for it at `/mcp`.
    pub tokens: usize,
}

/// A call that waits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Waits {
    /// What it is called.
    pub id: String,
    /// The agent that asks.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The first path of the call.
    pub path: String,
    /// `low`, `medium` or `high`.
    pub risk: String,
    /// When it was asked.
    pub requested_at: String,
}

/// Looks at everything.
///
/// # Errors
/// When the configuration has problems, or what is recorded cannot be read.
pub fn overview(desk: &Desk, access: &Access) -> Result<Overview> {
    let tokens = access.tokens()?;
    let agent = |shown: workspaces::AgentShown| -> Result<AgentAtWork> {
        let speaks = |token: &&crate::access::Token| {
            token.revoked.is_none() && token.agent.as_deref() == Some(shown.name.as_str())
        };
        let wanted = Wanted { agent: Some(shown.name.clone()), ..newest(1) };
        Ok(AgentAtWork {
            workspaces: workspaces::of_agent(desk, Some(&shown.name))?,
            last: activity::query(desk, &wanted)?.into_iter().next(),
            tokens: tokens.iter().filter(speaks).count(),
            tools: shown.tools,
            name: shown.name,
        })
    };
    let first = approvals::list(desk, &ListAsked { limit: Some(FIRST), ..ListAsked::default() })?;
    Ok(Overview {
        agents: workspaces::agents(desk)?.into_iter().map(agent).collect::<Result<_>>()?,
        waiting: approvals::waiting(desk)?,
        first: first.into_iter().map(waits).collect(),
        recent: activity::query(desk, &newest(LAST))?,
        hours: activity::hours(desk, HOURS)?,
    })
}

fn newest(limit: usize) -> Wanted {
    Wanted { newest_first: true, ended: true, limit: Some(limit), ..Wanted::default() }
}

fn waits(asked: approvals::ApprovalShown) -> Waits {
    let approvals::ApprovalShown { id, agent, tool, path, risk, requested_at, .. } = asked;
    Waits { id, agent, tool, path, risk, requested_at }
}
