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
use axum::extract::State;
use axum::http::Method;
use axum::routing::get;

use crate::endpoint::{Answers, Endpoint, Nothing, raw};
use crate::shared::Shared;
use crate::{events, openapi};

pub(crate) use files::Incoming;

pub(crate) use instances::export as instances_export;
pub(crate) use projects::{Archive, push_to_git, take_from_git};

/// Every endpoint.
pub(crate) fn endpoints() -> Vec<Endpoint> {
    let events = raw::<Nothing, events::After>(
        Method::GET,
        "/api/v1/events",
        "What happens, as it happens: server-sent events, to be resumed by id",
        Answers::Other("text/event-stream"),
        get(events::stream),
    );
    let mut rows = vec![
        Endpoint {
            headers: &[("Last-Event-ID", "The id of the last event that was seen: those behind it follow")],
            ..events
        },
        raw::<Nothing, Nothing>(
            Method::GET,
            "/api/v1/openapi.json",
            "This document",
            Answers::Other("application/json"),
            get(|State(shared): State<Shared>| async move { axum::Json(openapi::with_cookie(&shared.cookie)) }),
        ),
    ];
    rows.extend(activity::endpoints());
    rows.extend(approvals::endpoints());
    rows.extend(explain::endpoints());
    rows.extend(files::endpoints());
    rows.extend(forks::endpoints());
    rows.extend(history::endpoints());
    rows.extend(instances::endpoints());
    rows.extend(looks::endpoints());
    rows.extend(projects::endpoints());
    rows.extend(setup::endpoints());
    rows.extend(threads::endpoints());
    rows.extend(tokens::endpoints());
    rows
}

/// The routes of all of them. What is no endpoint is a problem, not a page.
pub(crate) fn router() -> Router<Shared> {
    let mut router = Router::new();
    for row in endpoints() {
        router = router.route(row.path, row.router);
    }
    router.route("/api/{*rest}", axum::routing::any(nowhere))
}

async fn nowhere() -> crate::problem::Problem {
    let (status, text) = (axum::http::StatusCode::NOT_FOUND, "there is no such endpoint");
    crate::problem::Problem::new(status, "missing", text, Some("/api/v1/openapi.json lists them"))
}
