//! The inbox: what waits for a person, each call whole and decided alone; what was decided; what is allowed without asking.
//!
//! A form carries the hash of what it shows, so a decision about something else than was looked at is refused, and a second one says who
//! decided. Everything an agent wrote is text here, with the characters shown that could deceive.

mod card;
mod edit;
mod grants;
mod preview;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::approvals::{self, ApprovalShown, DecisionAsked, DecisionWord, ListAsked, ReachWord, Which};
use paddock_desk::{Failure, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{icon, in_url, outcome, shown, time};
use super::{Done, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

/// As many as a page shows: each may hold a long diff.
const A_PAGE: usize = 20;
const DECIDED: usize = 50;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/approvals", get(|shared, request| show(shared, request, inbox)))
        .route("/approvals/{id}", get(|shared, request| show(shared, request, one)))
        .route("/approvals/{id}/approve", post(|shared, request| act(shared, request, approve)))
        .route("/approvals/{id}/reject", post(|shared, request| act(shared, request, reject)))
        .route(
            "/approvals/{id}/edit",
            get(|shared, request| show(shared, request, edit::page))
                .post(|shared, request| act(shared, request, edit::take)),
        )
        .route("/grants", get(|shared, request| show(shared, request, grants::page)))
        .route("/grants/{id}/revoke", post(|shared, request| act::<Id, Nothing>(shared, request, grants::revoke)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    id: String,
}

/// Which part of the inbox is looked at.
#[derive(Debug, Deserialize, JsonSchema)]
struct Looked {
    #[serde(default)]
    which: Option<Which>,
    #[serde(default)]
    after: Option<String>,
}

fn inbox(visit: &Visit<Nothing, Looked>) -> Result<Page> {
    let decided = visit.query.which == Some(Which::Decided);
    let (which, limit) = if decided { (Which::Decided, DECIDED) } else { (Which::Waiting, A_PAGE) };
    let asked =
        ListAsked { which: Some(which), after: visit.query.after.clone(), limit: Some(limit), ..ListAsked::default() };
    let look = if decided { approvals::list } else { approvals::inbox };
    let mut found = look(&visit.shared.desk, &asked)?;
    let here = |yes: bool| yes.then_some("page");
    let tab = if decided { "?which=decided&after=" } else { "?after=" };
    let more = found.last().filter(|_| found.len() == limit).map(|last| format!("/approvals{tab}{}", in_url(&last.id)));
    if decided {
        // The page is cut by when it was asked, and read by when it was decided.
        found.sort_by(|one, other| when(other).cmp(when(one)));
    }
    Ok(Page::new(
        "Approvals",
        html! {
            header.page-head {
                div { h1 { "Approvals" } p.lede { "Calls that wait for a person. Each is decided alone." } }
                div.actions { a.button href="/grants" { (icon("key")) "Grants" } }
            }
            nav.tabs aria-label="Approvals" {
                a href="/approvals" aria-current=[here(!decided)] { "Waiting" }
                a href="/approvals?which=decided" aria-current=[here(decided)] { "Decided" }
            }
            @if decided { (history(&found)) } @else {
                div.stack #inbox data-live="approvals" data-key-list {
                    @for approval in &found { (card::card(approval)) }
                    @if found.is_empty() { (nothing()) }
                }
            }
            @if visit.query.after.is_some() || more.is_some() {
                nav.pager aria-label="Pages" {
                    @if visit.query.after.is_some() { a.button.small rel="prev" href=(if decided { "/approvals?which=decided" } else { "/approvals" }) { "Newest" } }
                    @if let Some(more) = &more { a.button.small rel="next" href=(more) { "Older" } }
                }
            }
        },
    ))
}

/// When it was decided, or came to its end.
fn when(approval: &ApprovalShown) -> &String {
    approval.decided_at.as_ref().unwrap_or(&approval.expires_at)
}

fn nothing() -> Markup {
    html! {
        div.empty {
            (icon("approvals"))
            h2 { "Nothing waits for you" }
            p { "Calls whose risk is above the threshold in " code { "[approvals]" } " are held here until you decide." }
            pre.terminal { "paddock approvals list" }
        }
    }
}

fn history(found: &[ApprovalShown]) -> Markup {
    html! {
        section.card #decided data-live="approvals" aria-labelledby="h-decided" {
            header { h2 #h-decided { "Decided" } }
            @if found.is_empty() { div.card-body { p.muted { "Nothing was decided yet." } } } @else {
                table.table {
                    caption.sr { "Decided approvals" }
                    thead { tr { th scope="col" { "Call" } th scope="col" { "Agent" } th scope="col" { "Decision" } th scope="col" { "By" } th scope="col" { "When" } } }
                    tbody data-key-list { @for row in found {
                        tr data-key-item tabindex="-1" {
                            th scope="row" data-label="Call" { a href={ "/approvals/" (in_url(&row.id)) } { code { (row.tool) } " " span.path { (shown(row.command.as_deref().unwrap_or(&row.path))) } } }
                            td data-label="Agent" { (shown(&row.agent)) }
                            td data-label="Decision" { (outcome(&row.status)) @if let Some(reach) = &row.reach { " " span.label { (reach) } } @if let Some(why) = row.reason.as_ref().filter(|_| row.status == "overtaken") { " " small { (shown(why)) } } }
                            td data-label="By" { @match &row.decided_by { Some(by) => (shown(by)), None => span.muted { "nobody" } } }
                            td data-label="When" { (time(when(row))) }
                        }
                    } }
                }
            }
        }
    }
}

fn one(visit: &Visit<Id>) -> Result<Page> {
    let approval = approvals::show(&visit.shared.desk, &visit.path.id)?;
    Ok(Page::new(
        format!("Approval {}", approval.id),
        html! {
            header.page-head {
                div { h1 { "Approval " (approval.id) } p.lede #stands data-live="approvals" { (outcome(&approval.status)) } }
                div.actions { a.button href="/approvals" { "All approvals" } }
            }
            div.stack #approval data-live="approvals" data-key-list data-key-only { (card::card(&approval)) }
        },
    ))
}

/// Agreeing, as the form says it.
#[derive(Debug, Deserialize)]
struct Approve {
    hash: String,
    #[serde(default)]
    reach: Option<ReachWord>,
}

/// Refusing, as the form says it.
#[derive(Debug, Deserialize)]
struct Reject {
    hash: String,
    #[serde(default)]
    reason: String,
}

fn approve(visit: &Visit<Id>, form: Approve) -> Result<Done> {
    let asked = DecisionAsked { reach: form.reach, ..about(DecisionWord::Approve, form.hash) };
    decided(visit, &asked)
}

fn reject(visit: &Visit<Id>, form: Reject) -> Result<Done> {
    let asked = DecisionAsked { reason: Some(form.reason), ..about(DecisionWord::Reject, form.hash) };
    decided(visit, &asked)
}

fn about(decision: DecisionWord, shown: String) -> DecisionAsked {
    DecisionAsked { decision, reach: None, arguments: None, reason: None, shown }
}

/// Decides, and goes back to what else waits.
fn decided(visit: &Visit<Id>, asked: &DecisionAsked) -> Result<Done> {
    let done = approvals::decide(&visit.shared.desk, &visit.path.id, asked);
    let done = done.map_err(|failure| behind(visit, failure))?;
    let verb = if asked.decision == DecisionWord::Reject { "Rejected" } else { "Approved" };
    Ok(Done::Back { to: "/approvals".to_owned(), told: format!("{verb} {}: {}.", done.approval.id, done.words) })
}

/// Who was too late is told where to look.
fn behind(visit: &Visit<Id>, failure: Failure) -> Failure {
    if failure.kind() != paddock_desk::FailureKind::Conflict {
        return failure;
    }
    let hint = format!("/approvals/{} shows it as it is now", visit.path.id);
    Failure::of(failure.kind(), failure.message(), hint)
}
