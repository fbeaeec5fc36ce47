//! The JSON API: one module per idea, each a list of rows.

mod activity;
mod approvals;
mod explain;
mod files;
mod forks;
mod history;
mod instances;
mod looks;
mod projects;
mod setup;
mod threads;
mod tokens;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::endpoint::{Answers, Endpoint, Nothing, query_of, raw};
use crate::problem::Problem;
use crate::shared::Shared;
use crate::{events, openapi};
use paddock_desk::FailureKind::Busy;

pub(crate) use files::Incoming;

pub(crate) use instances::export as instances_export;
pub(crate) use projects::{Archive, push_to_git, take_from_git};

/// An idea: its name, what it is about, and its rows.
pub(crate) struct Idea {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    rows: fn() -> Vec<Endpoint>,
}

impl Idea {
    const fn new(name: &'static str, about: &'static str, rows: fn() -> Vec<Endpoint>) -> Self {
        Self { name, about, rows }
    }
}

/// Every idea, in the order in which they are read.
pub(crate) const IDEAS: [Idea; 13] = [
    Idea::new("At a glance", "Agents and their Workspaces, and everything at a glance.", looks::endpoints),
    Idea::new("Files", "Listing, reading with ranges, conditional writing, searching.", files::endpoints),
    Idea::new("Why", "Why something is allowed or denied.", explain::endpoints),
    Idea::new(
        "Approvals",
        "Calls that wait for a person, and what is allowed without asking again.",
        approvals::endpoints,
    ),
    Idea::new("Audit", "What every call asked for and what became of it.", activity::endpoints),
    Idea::new("History", "What happened to a path, what a call changed, and the way back.", history::endpoints),
    Idea::new("Forks", "Forks and overlays: what they change, applying and discarding them.", forks::endpoints),
    Idea::new("Projects", "Templates, taking in and taking home, and shares.", projects::endpoints),
    Idea::new("Instances", "The conversations of agents.", instances::endpoints),
    Idea::new("Runs", "Runs: looked at, resumed in the background, cancelled, forked.", threads::endpoints),
    Idea::new(
        "Configuration",
        "Every value with where it was written, changing it, and what the doctor finds.",
        setup::endpoints,
    ),
    Idea::new("Tokens", "What agents and programs come in with.", tokens::endpoints),
    Idea::new("Of the API itself", "What happens, as it happens, and the OpenAPI document.", of_itself),
];

/// Every endpoint.
pub(crate) fn endpoints() -> Vec<Endpoint> {
    let of_idea = |idea: &Idea| {
        let tag = idea.name;
        (idea.rows)().into_iter().map(move |row| Endpoint { tag, ..row })
    };
    IDEAS.iter().flat_map(of_idea).collect()
}

fn of_itself() -> Vec<Endpoint> {
    let events = raw::<Nothing, events::After>(
        Method::GET,
        "/api/v1/events",
        "What happens, as it happens: server-sent events, to be resumed by id",
        Answers::Other("text/event-stream"),
        get(events::stream),
    );
    vec![
        Endpoint {
            headers: &[("Last-Event-ID", "The id of the last event that was seen: those behind it follow")],
            ..events.failing(&[Busy])
        },
        raw::<Nothing, Nothing>(
            Method::GET,
            "/api/v1/openapi.json",
            "This document",
            Answers::Other("application/json"),
            get(document),
        ),
    ]
}

async fn document(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match query_of::<Nothing>(&parts) {
        Ok(_) => axum::Json(openapi::with_cookie(&shared.cookie)).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// The routes of all of them. What is no endpoint is a problem, not a page.
pub(crate) fn router() -> Router<Shared> {
    let mut router = Router::new();
    for row in endpoints() {
        router = router.route(row.path, row.router);
    }
    router.route("/api/{*rest}", axum::routing::any(nowhere))
}

async fn nowhere() -> Problem {
    let (status, text) = (axum::http::StatusCode::NOT_FOUND, "there is no such endpoint");
    Problem::new(status, "missing", text, Some("/api/v1/openapi.json lists them"))
}
