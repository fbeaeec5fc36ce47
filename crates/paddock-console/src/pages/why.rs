//! Why: ask for a path and an operation, see the evaluation, and the line that would allow it.

use axum::Router;
use axum::routing::get;
use maud::{Markup, html};
use paddock_desk::explain::{self, Explained};
use paddock_desk::{Result, workspaces};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{in_url, path_in_url, shown};
use super::{Page, Visit, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new().route("/why", get(|shared, request| show(shared, request, page)))
}

/// What is asked.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Question {
    #[serde(default)]
    operation: Option<String>,
    #[serde(default)]
    path: Option<String>,
}

fn page(visit: &Visit<Nothing, Question>) -> Result<Page> {
    let desk = &visit.shared.desk;
    let agent = workspaces::agent_named(desk, visit.agent.as_deref())?;
    let agents = desk.agents()?;
    let Question { operation, path } = &visit.query;
    let path = path.as_deref().filter(|path| !path.is_empty());
    let asked = operation.as_deref().unwrap_or("read");
    let told = path.map(|path| explain::why(desk, &agent, asked, path));
    let chosen = told.as_ref().and_then(|told| told.as_ref().ok()).map_or(asked, |told| told.operation.as_str());
    Ok(Page::new(
        "Why",
        html! {
            header.page-head { div { h1 { "Why" } p.lede { "What the policy says about an operation on a path, and which line says so." } } }
            form.filters action="/why" {
                div.field { label for="w-agent" { "Agent" } select #w-agent name="agent" {
                    @for one in &agents { option value=(one.as_str()) selected[*one == agent] { (one.as_str()) } }
                } }
                div.field { label for="w-op" { "Operation" } select #w-op name="operation" {
                    @for one in explain::operations() { option value=(one) selected[one == chosen] { (one) } }
                } }
                div.field { label for="w-path" { "Path" } input #w-path name="path" value=[path] required placeholder="/project/src/App.tsx"; }
                button.button.primary { "Ask" }
            }
            @match &told {
                None => div.empty { h2 { "Ask about a path" } p { "Denied calls in the activity lead here with their question filled in." } pre.terminal { "paddock why write src/App.tsx" } },
                Some(Ok(told)) => (answer(told)),
                Some(Err(failure)) => div.note.bad role="alert" { p { (shown(failure.message())) } @if let Some(hint) = failure.hint() { p { (super::parts::hinted(hint)) } } },
            }
        },
    ))
}

/// The whole answer.
pub(super) fn answer(told: &Explained) -> Markup {
    let verdict = if told.allowed { "allowed" } else { "denied" };
    html! {
        section.card aria-labelledby="h-verdict" {
            header {
                h2 #h-verdict { code { (told.operation) } " " span.path { (shown(&told.path)) } }
                span class={ "outcome " (if told.allowed { "done" } else { "denied" }) } { (verdict) }
            }
            div.card-body.stack {
                ol.evaluation { @for step in &told.steps {
                    li class=(if step.passed { "pass" } else { "stop" }) {
                        strong { (step.about) } " " (shown(&step.found)) @if let Some(origin) = &step.origin { " " code { (shown(origin)) } }
                    }
                } }
                @if !told.allowed { (instead(told)) }
                @if let Some(line) = &told.would_allow {
                    h3 { "What would allow it" }
                    p { (shown(&line.place)) ":" }
                    pre.terminal { (shown(&line.text)) }
                    div.actions {
                        button.button.small type="button" data-copy=(line.text) { "Copy" }
                        @if let (Some(key), Some(value)) = (&line.key, &line.value) {
                            a.button.small href={ "/settings/config?key=" (in_url(key)) "&value=" (in_url(value)) } { "Change it in the settings" }
                        }
                    }
                }
            }
        }
    }
}

fn instead(told: &Explained) -> Markup {
    html! {
        @if told.allowed_in.is_empty() { p { "No Workspace of agent " (told.agent) " allows " code { (told.operation) } "." } }
        @else {
            p {
                code { (told.operation) } " is allowed in "
                @for (n, prefix) in told.allowed_in.iter().enumerate() {
                    @if n > 0 { ", " }
                    a.path href={ "/files" (path_in_url(prefix)) "?agent=" (in_url(&told.agent)) } { (shown(prefix)) }
                }
                "."
            }
        }
    }
}
