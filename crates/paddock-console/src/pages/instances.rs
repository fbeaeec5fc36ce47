//! Instances: the conversations of agents, paged; a turn that was cut off is ended, an instance exported or removed.

pub(super) mod talk;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::instances::{self, InstanceDetail, InstanceShown, InstancesAsked};
use paddock_desk::past;
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Question, counted, icon, in_url, outcome, shown, time};
use super::{Done, Page, Visit, act, show};
use crate::api::instances_export;
use crate::endpoint::Nothing;
use crate::shared::Shared;

/// As many as a page shows.
const A_PAGE: usize = 50;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/instances", get(|shared, request| show(shared, request, list)))
        .route("/instances/{key}", get(|shared, request| show(shared, request, one)))
        .route("/instances/{key}/export", get(instances_export))
        .route("/instances/{key}/restart", post(|shared, request| act::<Key, Nothing>(shared, request, restart)))
        .route("/instances/{key}/clear", post(|shared, request| act::<Key, Nothing>(shared, request, clear)))
        .route("/instances/{key}/delete", post(|shared, request| act::<Key, Nothing>(shared, request, delete)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Key {
    key: String,
}

/// Which part of the list.
#[derive(Debug, Deserialize, JsonSchema)]
struct Behind {
    #[serde(default)]
    after: Option<String>,
}

/// Which part of a conversation: nothing: its end.
#[derive(Debug, Deserialize, JsonSchema)]
struct Part {
    #[serde(default)]
    from: Option<u64>,
}

fn list(visit: &Visit<Nothing, Behind>) -> Result<Page> {
    let asked = InstancesAsked { agent: None, after: visit.query.after.clone(), limit: Some(A_PAGE) };
    let listing = instances::list(&visit.shared.desk, &asked)?;
    let next = listing.instances.last().filter(|_| listing.more > 0).map(|last| in_url(&last.key));
    Ok(Page::new(
        "Instances",
        html! {
            header.page-head { div { h1 { "Instances" } p.lede { "The conversations of agents." } } }
            @for bad in &listing.unreadable { p.note.warn { "Instance " strong { (shown(&bad.name)) } " cannot be read: " (shown(&bad.reason)) } }
            section.card #instances data-live="instances threads" aria-labelledby="h-instances" {
                header { h2 #h-instances { "Conversations" } }
                @if listing.instances.is_empty() {
                    div.empty { (icon("instances")) h2 { "No conversation yet" } p { "A run begins one, and so does an import." } pre.terminal { "paddock run \"…\"" } }
                } @else { (rows(&listing.instances)) }
            }
            @if visit.query.after.is_some() || next.is_some() {
                nav.pager aria-label="Pages" {
                    @if visit.query.after.is_some() { a.button.small rel="prev" href="/instances" { "Newest" } }
                    @if let Some(next) = &next { a.button.small rel="next" href={ "/instances?after=" (next) } { (listing.more) " more" } }
                }
            }
        },
    ))
}

fn rows(found: &[InstanceShown]) -> Markup {
    html! {
        table.table {
            caption.sr { "Instances" }
            thead { tr { th scope="col" { "Instance" } th scope="col" { "Agent" } th scope="col" { "Status" } th scope="col" { "Changed" } } }
            tbody data-key-list { @for row in found {
                tr data-key-item tabindex="-1" {
                    th scope="row" data-label="Instance" { a href={ "/instances/" (in_url(&row.key)) } { (shown(&row.key)) } }
                    td data-label="Agent" { (shown(&row.agent)) }
                    td data-label="Status" { (status(&row.status)) @if row.held_by.is_some() { " " span.label { "held" } } }
                    td data-label="Changed" { (time(&row.updated_at)) }
                }
            } }
        }
    }
}

fn status(word: &str) -> Markup {
    if word == "processing" {
        outcome("running")
    } else {
        html! { span.label { (word) } }
    }
}

fn one(visit: &Visit<Key, Part>) -> Result<Page> {
    let (desk, key) = (&visit.shared.desk, &visit.path.key);
    let detail = instances::show(desk, key)?;
    let last = detail.messages.saturating_sub(A_PAGE as u64);
    let from = visit.query.from.unwrap_or(last).min(detail.messages);
    let messages = instances::messages(desk, key, from, A_PAGE)?;
    let to = from + messages.len() as u64;
    let at = in_url(key);
    Ok(Page::new(
        format!("Instance {key}"),
        html! {
            header.page-head {
                div { h1 { "Instance " (shown(key)) } p.lede { "of " (shown(&detail.instance.agent)) ", " (counted(detail.messages, "message")) ", " (past::size(detail.bytes)) } }
                div.actions { a.button href={ "/instances/" (at) "/export" } { (icon("export")) "Export" } a.button href={ "/threads/" (at) } { "Thread" } }
            }
            @for notice in &detail.notices { p.note.warn { (shown(&notice.said)) } }
            (facts(&detail, &at))
            section.card #conversation data-live="instances threads" aria-labelledby="h-talk" {
                header { h2 #h-talk { "Conversation" } span.muted { @if messages.is_empty() { "empty" } @else { (from + 1) "–" (to) " of " (detail.messages) } } }
                div.card-body { (talk::conversation(&messages)) }
            }
            nav.pager aria-label="Pages" {
                @if from > 0 { a.button.small rel="prev" href={ "/instances/" (at) "?from=" (from.saturating_sub(A_PAGE as u64)) } { "Earlier" } }
                @if to < detail.messages { a.button.small rel="next" href={ "/instances/" (at) "?from=" (to) } { "Later" } }
            }
        },
    ))
}

fn facts(detail: &InstanceDetail, at: &str) -> Markup {
    let instance = &detail.instance;
    let asked = |act: &str, yes: &str, question: Markup| {
        let action = format!("/instances/{at}/{act}");
        Question { id: act.into(), action: &action, question, yes }.behind("danger", &html! { (yes) }, &html! {})
    };
    html! {
        section.card #about data-live="instances threads" aria-labelledby="h-about" {
            header { h2 #h-about { "About" } (status(&instance.status)) }
            div.card-body {
                dl.facts {
                    div { dt { "Made" } dd { (time(&instance.created_at)) } }
                    div { dt { "Changed" } dd { (time(&instance.updated_at)) } }
                    div { dt { "Held by" } dd { @match &instance.held_by { Some(by) => (shown(by)), None => "nobody" } } }
                    div { dt { "Open turn" } dd { @match &detail.open_turn { Some(open) => { (shown(&open.turn_id)) ", " (open.events) " events" }, None => "none" } } }
                    @for extension in &detail.extensions { div { dt { "Extension" } dd { (shown(&extension.name)) ", " (past::size(extension.bytes)) } } }
                }
            }
            footer { div.actions {
                @if detail.open_turn.is_some() { form method="post" action={ "/instances/" (at) "/restart" } { button.button { "End the open turn" } } }
                (asked("clear", "Begin anew", html! { "Let “" (shown(&instance.key)) "” begin anew? Its messages and the state of its extensions are lost." }))
                (asked("delete", "Delete", html! { "Delete “" (shown(&instance.key)) "” with all messages?" }))
            } }
        }
    }
}

fn restart(visit: &Visit<Key>, _: Nothing) -> Result<Done> {
    let restarted = instances::restart(&visit.shared.desk, &visit.path.key)?;
    let told = match &restarted.ended_turn {
        Some(turn) => format!("Turn {turn}, which was cut off, is over."),
        None => "No turn was open.".to_owned(),
    };
    Ok(Done::Back { to: format!("/instances/{}", in_url(&restarted.key)), told })
}

fn clear(visit: &Visit<Key>, _: Nothing) -> Result<Done> {
    let cleared = instances::clear(&visit.shared.desk, &visit.path.key)?;
    Ok(Done::Back { to: format!("/instances/{}", in_url(&cleared.key)), told: "It begins anew.".to_owned() })
}

fn delete(visit: &Visit<Key>, _: Nothing) -> Result<Done> {
    let deleted = instances::delete(&visit.shared.desk, &visit.path.key)?;
    let told = if deleted.was_there { "is deleted" } else { "was not there" };
    Ok(Done::Back { to: "/instances".to_owned(), told: format!("Instance {} {told}.", deleted.key) })
}
