//! Approvals and grants.

use axum::http::Method;
use paddock_desk::FailureKind::Conflict;
use paddock_desk::approvals::{self, ApprovalShown, Decided, DecisionAsked, GrantShown, ListAsked};
use paddock_desk::{Result, at_once};
use schemars::JsonSchema;
use serde::Deserialize;

use super::looks::OfAgent;
use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// As many as a page has where nothing is said.
const A_PAGE: usize = 20;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    /// Its id, or the beginning of it that no other has.
    id: String,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/approvals", "Calls that wait for a person, or were decided, the newest first", list),
        json(Method::GET, "/api/v1/approvals/{id}", "One call that a person is asked about, whole", show),
        json(
            Method::POST,
            "/api/v1/approvals/{id}/decision",
            "Decide a call once, bound to what was looked at; a second or stale decision is a conflict that says who decided",
            decide,
        )
        .failing(&[Conflict]),
        json(Method::GET, "/api/v1/grants", "What is allowed without asking again", grants),
        json(
            Method::DELETE,
            "/api/v1/grants/{id}",
            "Take a grant back: from the next call on it is asked again",
            revoke,
        ),
    ]
}

fn list(asked: &Asked<Nothing, ListAsked>) -> Result<Vec<ApprovalShown>> {
    let limit = Some(at_once(asked.query.limit, A_PAGE, approvals::MOST)?);
    approvals::list(&asked.shared.desk, &ListAsked { limit, ..asked.query.clone() })
}

fn show(asked: &Asked<Id>) -> Result<ApprovalShown> {
    approvals::show(&asked.shared.desk, &asked.path.id)
}

fn decide(asked: &Asked<Id, Nothing, DecisionAsked>) -> Result<Decided> {
    approvals::decide(&asked.shared.desk, &asked.path.id, &asked.body)
}

fn grants(asked: &Asked<Nothing, OfAgent>) -> Result<Vec<GrantShown>> {
    approvals::grants(&asked.shared.desk, asked.query.agent.as_deref())
}

fn revoke(asked: &Asked<Id>) -> Result<GrantShown> {
    approvals::revoke(&asked.shared.desk, &asked.path.id)
}
