//! Runs: looked at, resumed in the background, cancelled, forked.

use axum::http::Method;
use paddock_desk::FailureKind::Conflict;
use paddock_desk::threads::{
    self, CheckpointShown, ForkAsked, ReplayShown, ResumeAsked, Resumed, ThreadDetail, ThreadShown,
};
use paddock_desk::{Result, at_once};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// As many as a page has where nothing is said.
const A_PAGE: usize = 50;

/// Which thread.
#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    /// Its id, or the beginning of it that no other has.
    id: String,
}

/// Which part of the threads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Behind {
    /// Those behind this one: the last id of the page before.
    #[serde(default)]
    after: Option<String>,
    /// The most: up to 200.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
}

/// Which part of the checkpoints.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BehindStep {
    /// Those behind the checkpoint of this number.
    #[serde(default)]
    after: Option<u64>,
    /// The most: up to 200.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/threads", "The runs there are, the last changed first", list),
        json(Method::GET, "/api/v1/threads/{id}", "A run: its state, its plan, the first of its checkpoints", show),
        json(Method::GET, "/api/v1/threads/{id}/steps", "Checkpoints of a run, in order", steps),
        json(
            Method::GET,
            "/api/v1/threads/{id}/replay",
            "Go through a run again from its record, without a model and without an effect",
            replay,
        )
        .failing(&[Conflict]),
        json(
            Method::POST,
            "/api/v1/threads/{id}/resume",
            "Go on with a run in the background; answers at once, and the run shows how far it is",
            resume,
        )
        .failing(&[Conflict]),
        json(Method::POST, "/api/v1/threads/{id}/cancel", "End a run; what it did stays", cancel).failing(&[Conflict]),
        json(Method::POST, "/api/v1/threads/{id}/fork", "Begin another run where one was at a checkpoint", fork)
            .failing(&[Conflict]),
    ]
}

fn list(asked: &Asked<Nothing, Behind>) -> Result<Vec<ThreadShown>> {
    let limit = at_once(asked.query.limit, A_PAGE, threads::MOST)?;
    threads::list(&asked.shared.desk, asked.query.after.as_deref(), Some(limit))
}

fn show(asked: &Asked<Id>) -> Result<ThreadDetail> {
    threads::show(&asked.shared.desk, &asked.path.id, Some(threads::MOST))
}

fn steps(asked: &Asked<Id, BehindStep>) -> Result<Vec<CheckpointShown>> {
    let limit = at_once(asked.query.limit, A_PAGE, threads::MOST)?;
    threads::steps(&asked.shared.desk, &asked.path.id, asked.query.after.unwrap_or(0), limit)
}

fn replay(asked: &Asked<Id>) -> Result<ReplayShown> {
    threads::replay(&asked.shared.desk, &asked.path.id)
}

fn resume(asked: &Asked<Id, Nothing, ResumeAsked>) -> Result<Resumed> {
    threads::resume(&asked.shared.desk, &asked.path.id, &asked.body)
}

fn cancel(asked: &Asked<Id>) -> Result<ThreadShown> {
    threads::cancel(&asked.shared.desk, &asked.path.id)
}

fn fork(asked: &Asked<Id, Nothing, ForkAsked>) -> Result<ThreadShown> {
    threads::fork(&asked.shared.desk, &asked.path.id, &asked.body)
}
