//! Settings: the tokens of agents and programs, and the end of the session.

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::access::{NewToken, Token};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{shown, time};
use super::{Done, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/settings", get(|shared, request| show(shared, request, page)))
        .route("/settings/tokens", post(|shared, request| act::<Nothing, _>(shared, request, make)))
        .route("/settings/tokens/{id}/revoke", post(|shared, request| act::<Id, Nothing>(shared, request, revoke)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    id: String,
}

fn page(visit: &Visit) -> Result<Page> {
    let tokens = visit.shared.access.tokens()?;
    let agents = visit.shared.desk.agents()?;
    Ok(Page::new(
        "Settings",
        html! {
            header.page-head { div { h1 { "Settings" } } }
            section.card #tokens aria-labelledby="h-tokens" data-live="settings" {
                header { h2 #h-tokens { "Tokens" } }
                (list(&tokens))
                footer {
                    form.row method="post" action="/settings/tokens" {
                        div.field { label for="t-name" { "Name" } input #t-name name="name" required maxlength="100"; }
                        div.field { label for="t-agent" { "For" } select #t-agent name="agent" {
                            @for agent in &agents { option value=(agent.as_str()) { "agent " (agent.as_str()) " over MCP" } }
                            option value="" { "the API" }
                        } }
                        button.button.primary { "Make a token" }
                    }
                }
            }
            section.card aria-labelledby="h-out" {
                header { h2 #h-out { "This session" } }
                div.card-body { form method="post" action="/logout" { button.button { "Sign out" } } }
            }
        },
    ))
}

fn list(tokens: &[Token]) -> Markup {
    html! {
        table.table {
            caption.sr { "Tokens" }
            thead { tr { th scope="col" { "Name" } th scope="col" { "Opens" } th scope="col" { "Made" } th scope="col" { "Last used" } th scope="col" { span.sr { "Acts" } } } }
            tbody { @for token in tokens {
                tr {
                    th scope="row" data-label="Name" { (shown(&token.name)) }
                    td data-label="Opens" { @match &token.agent { Some(agent) => { "agent " (agent) }, None if token.read_only => "API, read-only", None => "API" } }
                    td data-label="Made" { (time(&token.made)) }
                    td data-label="Last used" { @match &token.last_used { Some(used) => (time(used)), None => "never" } }
                    td.actions { @if token.revoked.is_some() { span.label { "revoked" } } @else {
                        form method="post" action={ "/settings/tokens/" (token.id) "/revoke" } data-confirm="Revoke this token? Whoever uses it is refused at once." { button.button.danger.small { "Revoke" } }
                    } }
                }
            } }
        }
    }
}

fn make(visit: &Visit, mut new: NewToken) -> Result<Done> {
    new.agent = new.agent.filter(|agent| !agent.is_empty());
    let made = visit.shared.access.make_token(&new)?;
    Ok(Done::Page(Box::new(Page::new(
        "Token",
        html! {
            header.page-head { div { h1 { "Token " (shown(&made.token.name)) } p.lede { "Copy it now: it is not shown again." } } }
            div.card { div.card-body.stack {
                pre.terminal { (made.secret) }
                button.button type="button" data-copy=(made.secret) { "Copy" }
                a.button href="/settings" { "Back to the settings" }
            } }
        },
    ))))
}

fn revoke(visit: &Visit<Id>, _: Nothing) -> Result<Done> {
    visit.shared.revoke_token(&visit.path.id)?;
    Ok(Done::Back { to: "/settings".to_owned(), told: "The token is revoked.".to_owned() })
}
