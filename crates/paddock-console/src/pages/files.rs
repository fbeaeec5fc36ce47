//! Files: browsing, preview, history, upload.
//!
//! One address per path. What is shown there is the desk's answer; what a form does is the desk's act, and comes back to the page that it was on.

mod acts;
mod directory;
mod file;
mod highlight;
mod markdown;
mod past;
mod upload;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::files::{self, FileShown, Spot};
use paddock_desk::workspaces::{self, WorkspaceShown};
use paddock_desk::{Failure, FailureKind, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{in_url, path_in_url, scope, shown};
use super::{Page, Visit, act, show};
use crate::problem;
use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/files", get(|shared, request| show(shared, request, page)))
        .route("/files/", get(|shared, request| show(shared, request, page)))
        .route(
            "/files/{*path}",
            get(|shared, request| show(shared, request, page)).post(|shared, request| act(shared, request, acts::deed)),
        )
        .route("/upload/{*path}", post(upload::form).layer(DefaultBodyLimit::disable()))
}

/// Which path.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct At {
    /// Without the slash at the beginning; absent for the top.
    #[serde(default)]
    path: String,
}

/// What of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct What {
    /// `preview`, `source` or `history`.
    #[serde(default)]
    view: Option<String>,
    /// Of a directory: behind this entry. Of a history: behind this change.
    #[serde(default)]
    after: Option<String>,
    /// Of a history: the change whose lines are shown.
    #[serde(default)]
    change: Option<String>,
}

/// What the parts of a page need to know.
struct Here<'v> {
    visit: &'v Visit<At, What>,
    spot: Spot,
}

impl Here<'_> {
    fn address(&self, path: &str) -> String {
        address(self.spot.agent.as_str(), path)
    }
}

/// The page of a path.
fn address(agent: &str, path: &str) -> String {
    format!("/files{}?agent={}", path_in_url(path.trim_end_matches('/')), in_url(agent))
}

/// The file itself.
fn raw(agent: &str, path: &str) -> String {
    format!("/api/v1/files/{}{}", in_url(agent), path_in_url(path))
}

/// The path that an address names. Dots are names of nothing here.
fn spot_of<Q>(visit: &Visit<At, Q>) -> Result<Spot> {
    if visit.path.path.split('/').any(|name| matches!(name, "." | "..")) {
        return Err(Failure::misused("\".\" and \"..\" are no names of files", "follow the links of the page"));
    }
    Spot::of(&visit.shared.desk, visit.agent.as_deref(), &format!("/{}", visit.path.path))
}

fn page(visit: &Visit<At, What>) -> Result<Page> {
    let spot = spot_of(visit)?;
    let here = Here { visit, spot };
    let stat = match files::stat(&here.spot) {
        Ok(stat) => stat,
        Err(failure) => return not_shown(&here, &failure),
    };
    let body = match (visit.query.view.as_deref(), stat.is_directory()) {
        (Some("history"), _) => past::page(&here, &stat)?,
        (_, true) => directory::page(&here, &stat)?,
        (_, false) => file::page(&here, &stat)?,
    };
    let title = if stat.name.is_empty() { "Files".to_owned() } else { paddock_core::visible(&stat.name) };
    Ok(Page::new(title, body))
}

/// Why nothing is shown, and where to ask further.
fn not_shown(here: &Here<'_>, failure: &Failure) -> Result<Page> {
    let (path, agent) = (here.spot.path.as_str(), here.spot.agent.as_str());
    let denied = failure.kind() == FailureKind::Denied;
    let why = format!("/why?operation=read&path={}&agent={}", in_url(path), in_url(agent));
    let mut page = Page::new(
        "Files",
        html! {
            (crumbs(here))
            div.empty {
                h1 { @if denied { "Not shown" } @else { "Nothing to show" } }
                p { (shown(failure.message())) }
                div.actions {
                    @if denied { a.button href=(why) { "Why?" } }
                    a.button href=(here.address("/")) { "All Workspaces" }
                }
            }
        },
    );
    page.status = problem::status(failure.kind());
    Ok(page)
}

/// The way to the path.
fn crumbs(here: &Here<'_>) -> Markup {
    let names: Vec<&str> = here.spot.path.names().collect();
    let up_to = |n: usize| format!("/{}", names[..=n].join("/"));
    let last = |n: usize| (n + 1 == names.len()).then_some("page");
    html! {
        nav.crumbs aria-label="Path" { ol {
            li { a href=(here.address("/")) aria-current=[names.is_empty().then_some("page")] { "/" } }
            @for (n, name) in names.iter().enumerate() {
                li { a href=(here.address(&up_to(n))) aria-current=[last(n)] { (shown(name)) } }
            }
        } }
    }
}

/// The Workspaces of the agent, each below the one it is nested in.
fn tree(here: &Here<'_>) -> Result<Markup> {
    let all = workspaces::of_agent(&here.visit.shared.desk, Some(here.spot.agent.as_str()))?;
    let all: Vec<&WorkspaceShown> = all.iter().collect();
    Ok(html! { nav.tree aria-label="Workspaces" { ul { (branch(here, &all, "")) } } })
}

/// These Workspaces, each with those that are nested in it; their names are told from `above`.
fn branch(here: &Here<'_>, all: &[&WorkspaceShown], above: &str) -> Markup {
    let is_nested = |one: &WorkspaceShown, other: &WorkspaceShown| below(&one.prefix, &other.prefix).is_some();
    let outermost: Vec<&WorkspaceShown> =
        all.iter().copied().filter(|one| !all.iter().any(|other| is_nested(one, other))).collect();
    let path = here.spot.path.as_str();
    html! {
        @for one in outermost {
            @let nested: Vec<&WorkspaceShown> = all.iter().copied().filter(|other| is_nested(other, one)).collect();
            li {
                a href=(here.address(&one.prefix)) aria-current=[(one.prefix == path).then_some("page")] {
                    (below(&one.prefix, above).filter(|_| !above.is_empty()).unwrap_or(&one.prefix))
                }
                " " (scope(&one.scope))
                @if !nested.is_empty() { ul { (branch(here, &nested, &one.prefix)) } }
            }
        }
    }
}

/// What of a prefix is below another.
fn below<'p>(path: &'p str, other: &str) -> Option<&'p str> {
    let other = other.trim_end_matches('/');
    path.strip_prefix(other)?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

/// May the person be offered to change something here? The policy itself is asked when they do.
fn is_writable(stat: &FileShown) -> bool {
    stat.scope.as_deref() == Some("READ_WRITE")
}

/// The heading of a path's page.
fn head(here: &Here<'_>, stat: &FileShown, actions: &Markup) -> Markup {
    html! {
        (crumbs(here))
        header.page-head {
            div {
                h1 { @if stat.name.is_empty() { "Files" } @else { (shown(&stat.name)) } }
                p.lede {
                    @match (&stat.workspace, &stat.scope) {
                        (Some(workspace), Some(word)) => { "Workspace " span.path { (workspace) } " " (scope(word)) },
                        _ => "What the agent perceives",
                    }
                }
            }
            div.actions { (actions) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_any_name() {
        assert_eq!(address("main", "/w/a b?#%\"<é>"), "/files/w/a%20b%3F%23%25%22%3C%C3%A9%3E?agent=main");
        assert_eq!(address("main", "/"), "/files?agent=main");
        assert_eq!(raw("a b", "/w/x"), "/api/v1/files/a%20b/w/x");
    }
}
