//! Searching an agent's files: lines of their contents, and their names.

use axum::Router;
use axum::routing::get;
use maud::{Markup, html};
use paddock_desk::files::{self, FileHits, Found, Named, Sought, Spot};
use paddock_desk::{FailureKind, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{counted, icon, in_url, path_in_url, shown};
use super::{Page, Visit, show};
use crate::endpoint::Nothing;
use crate::problem;
use crate::shared::Shared;

/// As many names as are shown.
const NAMES: usize = 50;

pub(super) fn router() -> Router<Shared> {
    Router::new().route("/search", get(|shared, request| show(shared, request, page)))
}

/// What is looked for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Search {
    #[serde(default)]
    q: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    glob: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default)]
    after: Option<String>,
}

fn page(visit: &Visit<Nothing, Search>) -> Result<Page> {
    let asked = &visit.query;
    let below = if asked.path.is_empty() { "/" } else { &asked.path };
    let (mut status, mut told) = (axum::http::StatusCode::OK, html! {});
    if !asked.q.is_empty() {
        let spot = Spot::of(&visit.shared.desk, visit.agent.as_deref(), below);
        match spot.and_then(|spot| Ok((found(&spot, asked)?, spot))) {
            Ok((found, spot)) => {
                let names = names(&spot, asked);
                told = html! {
                    (by_name(spot.agent.as_str(), &names))
                    @if !found.files.is_empty() || names.paths.is_empty() { (results(visit, spot.agent.as_str(), &found)) }
                };
            }
            Err(failure) => {
                let denied = failure.kind() == FailureKind::Denied;
                status = problem::status(failure.kind());
                told = html! {
                    div.note.bad role="alert" {
                        p { (shown(failure.message())) }
                        @if denied { a.button.small href={ "/why?operation=search&path=" (in_url(below)) } { "Why?" } }
                    }
                };
            }
        }
    }
    let mut page = Page::new(
        "Search",
        html! {
            header.page-head { div { h1 { "Search" } p.lede { "Lines and names of the files that the agent perceives." } } }
            (form(visit))
            (told)
        },
    );
    page.status = status;
    Ok(page)
}

fn found(spot: &Spot, asked: &Search) -> Result<Found> {
    let sought = Sought {
        q: asked.q.clone(),
        regex: asked.regex,
        ignore_case: asked.ignore_case,
        glob: Some(asked.glob.clone()),
        include_ignored: asked.include_ignored,
        after: asked.after.clone(),
        limit: None,
    };
    files::search(spot, &sought)
}

/// The files that are called so. Who asks for a pattern, for some files only or for a further page looks for lines.
fn names(spot: &Spot, asked: &Search) -> Named {
    if asked.regex || !asked.glob.is_empty() || asked.after.is_some() {
        return Named::default();
    }
    files::named(spot, &asked.q, asked.include_ignored, NAMES).unwrap_or_default()
}

fn by_name(agent: &str, names: &Named) -> Markup {
    html! {
        @if !names.paths.is_empty() {
            section.card aria-labelledby="h-names" {
                header { h2 #h-names { "Files by name" } span.label { (names.paths.len()) @if names.more { "+" } } }
                table.table {
                    caption.sr { "Files whose name matches" }
                    tbody data-key-list { @for path in &names.paths {
                        tr data-key-item tabindex="-1" { th scope="row" { a.path href={ "/files" (path_in_url(path)) "?agent=" (in_url(agent)) } data-key="Enter" { (shown(path)) } } }
                    } }
                }
            }
        }
    }
}

fn form(visit: &Visit<Nothing, Search>) -> Markup {
    let asked = &visit.query;
    html! {
        form.filters action="/search" {
            @if let Some(agent) = &visit.agent { input type="hidden" name="agent" value=(agent); }
            div.field { label for="s-q" { "Text" } input #s-q name="q" value=(asked.q) required; }
            div.field { label for="s-path" { "Below" } input #s-path name="path" value=(asked.path) placeholder="/"; }
            div.field { label for="s-glob" { "Files like" } input #s-glob name="glob" value=(asked.glob) placeholder="**/*.rs"; }
            label.check { input type="checkbox" name="regex" value="true" checked[asked.regex]; " Regular expression" }
            label.check { input type="checkbox" name="ignore_case" value="true" checked[asked.ignore_case]; " Any case" }
            label.check { input type="checkbox" name="include_ignored" value="true" checked[asked.include_ignored]; " Ignored files too" }
            button.button { (icon("search")) "Search" }
        }
    }
}

fn results(visit: &Visit<Nothing, Search>, agent: &str, found: &Found) -> Markup {
    if found.files.is_empty() {
        return html! { div.empty { (icon("search")) h2 { "Nothing matches" } p { "Try less of it, any case, or ignored files too." } } };
    }
    html! {
        p.muted role="status" { (counted(found.matches, "line")) " in " (counted(found.files.len(), "file")) }
        div.stack data-key-list { @for file in &found.files { (card(agent, file)) } }
        @for prefix in &found.unreachable { p.note.warn { "The Workspace " span.path { (prefix) } " cannot be searched." } }
        @if let Some(next) = &found.next {
            nav.pager aria-label="Pages" { span {} a.button.small rel="next" href=(onwards(visit, next)) { "More" } }
        }
    }
}

fn card(agent: &str, file: &FileHits) -> Markup {
    let address = format!("/files{}?agent={}", path_in_url(&file.path), in_url(agent));
    html! {
        section.card data-key-item tabindex="-1" {
            header { h2.path { a href=(address) data-key="Enter" { (shown(&file.path)) } } span.label { (file.lines.len()) @if file.cut { "+" } } }
            table.table {
                caption.sr { "Lines of " (shown(&file.path)) }
                tbody { @for line in &file.lines {
                    tr { th scope="row" { a href={ (address) "#L" (line.line) } { (line.line) } } td.mono { (shown(&line.text)) } }
                } }
            }
        }
    }
}

fn onwards(visit: &Visit<Nothing, Search>, next: &str) -> String {
    let asked = &visit.query;
    let mut address = format!("/search?q={}&after={}", in_url(&asked.q), in_url(next));
    for (name, value) in [("path", &asked.path), ("glob", &asked.glob)] {
        if !value.is_empty() {
            address.push_str(&format!("&{name}={}", in_url(value)));
        }
    }
    let marks =
        [("regex", asked.regex), ("ignore_case", asked.ignore_case), ("include_ignored", asked.include_ignored)];
    for (name, _) in marks.into_iter().filter(|(_, on)| *on) {
        address.push_str(&format!("&{name}=true"));
    }
    match &visit.agent {
        Some(agent) => format!("{address}&agent={}", in_url(agent)),
        None => address,
    }
}
