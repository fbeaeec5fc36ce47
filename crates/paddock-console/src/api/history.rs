//! What happened to a path, what a call changed, and the way back.

use axum::http::Method;
use paddock_desk::FailureKind::{Conflict, Missing};
use paddock_desk::history::{self, CallChanges, CallShown, Change, ChangeDiff, Part, Restored, Undone};
use paddock_desk::{Result, at_once, workspaces};
use schemars::JsonSchema;
use serde::Deserialize;

use super::looks::OfAgent;
use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// Rows where nobody says how many.
const USUAL: usize = 100;

/// Which changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfPath {
    /// The path; everything below it is meant, too.
    path: String,
    /// The agent whose Workspaces are meant; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// The `seq` of the last row that was seen: what is older follows.
    #[serde(default)]
    after: Option<i64>,
    /// The most rows, up to 10,000.
    #[serde(default)]
    limit: Option<usize>,
}

/// Which calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfCalls {
    /// Only those of this agent.
    #[serde(default)]
    agent: Option<String>,
    /// The `seq` of the last row that was seen: what is older follows.
    #[serde(default)]
    after: Option<i64>,
    /// The most rows, up to 10,000.
    #[serde(default)]
    limit: Option<usize>,
}

/// Which call.
#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    /// Its id, or the beginning of it.
    id: String,
}

/// How to undo.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoAsked {
    /// Only say what it would change.
    #[serde(default)]
    dry_run: bool,
    /// The agent whose Workspaces are meant, where it is not the one that called.
    #[serde(default)]
    agent: Option<String>,
}

/// What to restore.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RestoreAsked {
    /// The path.
    path: String,
    /// To which moment: a version, a time, or the id of the call that left it so.
    at: String,
    /// The agent whose Workspaces are meant; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// Only say what it would change.
    #[serde(default)]
    dry_run: bool,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/history", "The changes of a path, newest first", changes).failing(&[Missing]),
        json(Method::GET, "/api/v1/history/changes/{id}", "One change with its lines", diff),
        json(Method::POST, "/api/v1/history/restore", "Bring a path to an earlier moment", restore)
            .failing(&[Missing, Conflict]),
        json(Method::GET, "/api/v1/calls", "The calls that changed something, newest first", calls).failing(&[Missing]),
        json(Method::GET, "/api/v1/calls/{id}", "One call with everything that it changed", call),
        json(Method::POST, "/api/v1/calls/{id}/undo", "Take back what a call changed", undo).failing(&[Conflict]),
    ]
}

fn changes(asked: &Asked<Nothing, OfPath>) -> Result<Vec<Change>> {
    let (desk, query) = (&asked.shared.desk, &asked.query);
    let agent = workspaces::agent_named(desk, query.agent.as_deref())?;
    let part = Part { after: query.after, limit: at_once(query.limit, USUAL, history::MOST)? };
    history::changes(desk, &agent, &query.path, part)
}

fn diff(asked: &Asked<Id, OfAgent>) -> Result<ChangeDiff> {
    let agent = workspaces::agent_named(&asked.shared.desk, asked.query.agent.as_deref())?;
    history::diff(&asked.shared.desk, &agent, &asked.path.id)
}

fn calls(asked: &Asked<Nothing, OfCalls>) -> Result<Vec<CallShown>> {
    let (desk, query) = (&asked.shared.desk, &asked.query);
    let agent = query.agent.as_deref().map(|agent| workspaces::agent_named(desk, Some(agent))).transpose()?;
    history::calls(
        desk,
        agent.as_ref(),
        Part { after: query.after, limit: at_once(query.limit, USUAL, history::MOST)? },
    )
}

fn call(asked: &Asked<Id>) -> Result<CallChanges> {
    history::call(&asked.shared.desk, &asked.path.id)
}

fn undo(asked: &Asked<Id, Nothing, UndoAsked>) -> Result<Undone> {
    let (desk, body) = (&asked.shared.desk, &asked.body);
    let agent = body.agent.as_deref().map(|agent| workspaces::agent_named(desk, Some(agent))).transpose()?;
    history::undo(desk, Some(&asked.path.id), agent.as_ref(), body.dry_run)
}

fn restore(asked: &Asked<Nothing, Nothing, RestoreAsked>) -> Result<Restored> {
    let (desk, body) = (&asked.shared.desk, &asked.body);
    let agent = workspaces::agent_named(desk, body.agent.as_deref())?;
    history::restore(desk, &agent, &body.path, &body.at, body.dry_run)
}
