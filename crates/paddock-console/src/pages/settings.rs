//! Settings: the tokens of agents and programs, the configuration with the origin of each value, the doctor, the session.

mod config;
mod health;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::access::{MadeToken, NewToken, Token};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Question, icon, shown, time};
use super::{Done, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/settings", get(|shared, request| show(shared, request, page)))
        .route("/settings/tokens", post(|shared, request| act::<Nothing, _>(shared, request, make)))
        .route("/settings/tokens/{id}/revoke", post(|shared, request| act::<Id, Nothing>(shared, request, revoke)))
        .route(
            "/settings/config",
            get(|shared, request| show(shared, request, config::page))
                .post(|shared, request| act::<Nothing, _>(shared, request, config::change)),
        )
        .route("/settings/doctor", get(|shared, request| show(shared, request, health::doctor)))
        .route("/settings/about", get(|shared, request| show(shared, request, health::about)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    id: String,
}

/// The head of every page of the settings.
fn head(here: &str) -> Markup {
    let tabs = [
        ("/settings", "Tokens"),
        ("/grants", "Grants"),
        ("/settings/config", "Configuration"),
        ("/settings/doctor", "Doctor"),
        ("/settings/about", "About"),
    ];
    html! {
        header.page-head { div { h1 { "Settings" } } }
        nav.tabs aria-label="Settings" { @for (at, name) in tabs { a href=(at) aria-current=[(at == here).then_some("page")] { (name) } } }
    }
}

fn page(visit: &Visit) -> Result<Page> {
    let tokens = visit.shared.access.tokens()?;
    let agents = visit.shared.desk.agents()?;
    Ok(Page::new(
        "Settings",
        html! {
            (head("/settings"))
            section.card #tokens aria-labelledby="h-tokens" data-live="settings" {
                header { h2 #h-tokens { "Tokens" } }
                @if tokens.is_empty() { div.empty { (icon("key")) h3 { "There are no tokens" } p { "An agent comes in over MCP with one, and a program over the API." } } }
                @else { (list(&tokens)) }
            }
            section.card aria-labelledby="h-new" {
                header { h2 #h-new { "Make a token" } }
                div.card-body { form.stack method="post" action="/settings/tokens" {
                    div.row {
                        div.field { label for="t-name" { "Name" } input #t-name name="name" required maxlength="100"; }
                        div.field { label for="t-agent" { "Opens" } select #t-agent name="agent" {
                            @for agent in &agents { option value=(agent.as_str()) { "agent " (agent.as_str()) " over MCP" } }
                            option value="" { "the API" }
                        } }
                        div.field { label for="t-days" { "Ends after days" } input #t-days name="days" type="number" min="1" max="3650" aria-describedby="t-days-hint"; p.hint #t-days-hint { "Empty: never." } }
                    }
                    label.check { input type="checkbox" name="read_only" value="true"; " It may only look (API)" }
                    div.actions { button.button.primary { (icon("key")) "Make it" } }
                } }
            }
            section.card aria-labelledby="h-out" {
                header { h2 #h-out { "This session" } }
                div.card-body { div.actions {
                    form method="post" action="/logout" { button.button { "Sign out" } }
                    (sign_out_everybody())
                } }
            }
        },
    ))
}

fn sign_out_everybody() -> Markup {
    let question = Question {
        id: "everybody".into(),
        action: "/logout",
        question: html! { "Sign out everybody, in every browser?" },
        yes: "Sign out everybody",
    };
    question.behind(
        "danger",
        &html! { "Sign out everybody" },
        &html! { input type="hidden" name="everybody" value="true"; },
    )
}

fn revoke_button(token: &Token) -> Markup {
    let question = Question {
        id: format!("revoke-{}", token.id),
        action: &format!("/settings/tokens/{}/revoke", token.id),
        question: html! { "Revoke this token? Whoever uses it is refused at once." },
        yes: "Revoke",
    };
    question.behind("danger small", &html! { "Revoke" span.sr { " " (shown(&token.name)) " " (token.id) } }, &html! {})
}

fn list(tokens: &[Token]) -> Markup {
    html! {
        table.table {
            caption.sr { "Tokens" }
            thead { tr { th scope="col" { "Name" } th scope="col" { "Opens" } th scope="col" { "Made" } th scope="col" { "Ends" } th scope="col" { "Last used" } th scope="col" { span.sr { "Acts" } } } }
            tbody data-key-list { @for token in tokens {
                tr data-key-item tabindex="-1" {
                    th scope="row" data-label="Name" { (shown(&token.name)) " " code.small { (token.id) } }
                    td data-label="Opens" { @match &token.agent { Some(agent) => { "agent " (agent) }, None if token.read_only => "API, read-only", None => "API" } }
                    td data-label="Made" { (time(&token.made)) }
                    td data-label="Ends" { @match &token.expires { Some(expires) => (time(expires)), None => "never" } }
                    td data-label="Last used" { @match &token.last_used { Some(used) => (time(used)), None => "never" } }
                    td.actions { @if token.revoked.is_some() { span.label { "revoked" } } @else {
                        (revoke_button(token))
                    } }
                }
            } }
        }
    }
}

/// What the form sends: what is not filled in is an empty text.
#[derive(Debug, Deserialize)]
struct Form {
    name: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    days: String,
    #[serde(default)]
    read_only: Option<String>,
}

fn make(visit: &Visit, form: Form) -> Result<Done> {
    let days = match form.days.trim() {
        "" => None,
        days => Some(days.parse().map_err(|_| {
            let message = format!("\"{}\" is no number of days", paddock_core::visible(days));
            paddock_desk::Failure::misused(message, "write how many days, or leave it empty")
        })?),
    };
    let agent = Some(form.agent).filter(|agent| !agent.is_empty());
    let read_only = form.read_only.is_some();
    let made = visit.shared.access.make_token(&NewToken { name: form.name, agent, read_only, days })?;
    Ok(Done::Page(Box::new(Page::new("Token", made_page(visit, &made)))))
}

/// The secret, this once, and how to connect with it.
fn made_page(visit: &Visit, made: &MadeToken) -> Markup {
    let name = &made.token.name;
    html! {
        header.page-head { div { h1 { "Token " (shown(name)) } p.lede { "Copy it now: it is not shown again." } } }
        section.card aria-labelledby="h-secret" {
            header { h2 #h-secret { "The secret" } button.button.small type="button" data-copy=(made.secret) { (icon("copy")) "Copy" } }
            div.card-body { pre.terminal { (made.secret) } }
        }
        @match &made.token.agent {
            Some(agent) => (connect_agent(visit, agent, &made.secret)),
            None => (use_api(visit, &made.secret)),
        }
        a.button href="/settings" { "Back to the settings" }
    }
}

fn connect_agent(visit: &Visit, agent: &str, secret: &str) -> Markup {
    let url = format!("{}/mcp", visit.shared.url);
    let claude = format!("claude mcp add --transport http paddock {url} --header \"Authorization: Bearer {secret}\"");
    let entry = serde_json::json!({ "mcpServers": { "paddock": {
        "type": "http", "url": url, "headers": { "Authorization": format!("Bearer {secret}") } } } });
    let entry = format!("{entry:#}");
    html! {
        section.card aria-labelledby="h-connect" {
            header { h2 #h-connect { "Connect agent " (agent) } }
            div.card-body.stack {
                p { "A coding agent on this machine, with its own file and shell tools switched off, so that Paddock confines it:" }
                pre.terminal { "paddock connect claude-code       # or codex, cursor, vscode" }
                p { "Any client of MCP over HTTP:" }
                pre.terminal.scroll tabindex="0" role="region" aria-label="Command for Claude Code" { (claude) }
                div.actions { button.button.small type="button" data-copy=(claude) { "Copy the command" } }
                pre.terminal.scroll tabindex="0" role="region" aria-label="Entry in a client's settings" { (entry) }
                div.actions { button.button.small type="button" data-copy=(entry) { "Copy the entry" } }
                p.muted { "These two switch off nothing: a client that keeps its own file tools is not confined." }
            }
        }
    }
}

fn use_api(visit: &Visit, secret: &str) -> Markup {
    let command = format!("curl -H \"Authorization: Bearer {secret}\" {}/api/v1/workspaces", visit.shared.url);
    html! {
        section.card aria-labelledby="h-api" {
            header { h2 #h-api { "Use it" } }
            div.card-body.stack {
                pre.terminal.scroll tabindex="0" role="region" aria-label="A first request" { (command) }
                div.actions { button.button.small type="button" data-copy=(command) { "Copy" } a.button.small href="/api/v1/openapi.json" { "All endpoints" } }
            }
        }
    }
}

fn revoke(visit: &Visit<Id>, _: Nothing) -> Result<Done> {
    visit.shared.revoke_token(&visit.path.id)?;
    Ok(Done::Back { to: "/settings".to_owned(), told: "The token is revoked.".to_owned() })
}
