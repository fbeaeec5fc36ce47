//! What is around every page: the top bar, the navigation, the place for messages.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use paddock_desk::workspaces;

use super::Visit;
use super::parts::{hinted, icon, shown};

/// The stylesheets of every page.
pub(super) const SHEETS: [&str; 4] = ["/assets/base.css", "/assets/shell.css", "/assets/parts.css", "/assets/code.css"];

/// The pages of the navigation: where, what, which icon, which key.
const PAGES: [(&str, &str, &str, &str); 10] = [
    ("/", "Overview", "overview", "o"),
    ("/files", "Files", "files", "f"),
    ("/approvals", "Approvals", "approvals", "a"),
    ("/forks", "Forks", "forks", "k"),
    ("/activity", "Activity", "activity", "y"),
    ("/why", "Why", "why", "w"),
    ("/threads", "Threads", "threads", "t"),
    ("/instances", "Instances", "instances", "i"),
    ("/projects", "Projects", "projects", "p"),
    ("/settings", "Settings", "settings", "s"),
];

/// Those that a phone shows at the bottom.
const DOCK: [usize; 4] = [0, 1, 2, 4];

/// A page, before it is framed.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) title: String,
    pub(crate) body: Markup,
}

impl Page {
    pub(crate) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { status: StatusCode::OK, title: title.into(), body }
    }
}

/// The page as the browser gets it. What is around a page never fails: it is there to say what did.
pub(super) fn framed<P, Q>(visit: &Visit<P, Q>, page: &Page) -> Markup {
    let desk = &visit.shared.desk;
    let project = desk
        .project()
        .config
        .parent()
        .and_then(std::path::Path::file_name)
        .map_or_else(|| "project".into(), |name| name.to_string_lossy().into_owned());
    let agents = desk.agents().unwrap_or_default();
    let chosen = workspaces::agent_named(desk, visit.agent.as_deref()).ok();
    let waiting = waiting(visit);
    let path = visit.address.split('?').next().unwrap_or("/");
    let here = |at: &str| at == path || (at != "/" && path.starts_with(at) && path[at.len()..].starts_with('/'));
    let current = |at: &str| here(at).then_some("page");
    let told = told(visit);
    html! {
        (DOCTYPE)
        html lang="en" data-theme=(visit.taste.theme) data-time=(visit.taste.time) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · " (project) " · Paddock" }
                link rel="icon" href="/assets/mark.svg" type="image/svg+xml";
                @for sheet in SHEETS { link rel="stylesheet" href=(sheet); }
                script type="module" src="/assets/console.js" {}
            }
            body data-events="/api/v1/events" data-event-id=(visit.mark) {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    a.brand href="/" { (icon("paddock")) span { (project) } }
                    @if let Some(chosen) = &chosen {
                        details.picker data-menu {
                            summary { span.picker-label { "Agent" } " " (chosen.as_str()) }
                            ul { @for agent in &agents {
                                li { a href={ (path) "?agent=" (agent.as_str()) } aria-current=[(agent == chosen).then_some("true")] { (agent.as_str()) } }
                            } }
                        }
                    }
                    form.search role="search" action="/search" {
                        label.sr for="q" { "Search files" }
                        input #q type="search" name="q" placeholder="Search files" data-key="/" data-key-label="Search files";
                        kbd aria-hidden="true" { "/" }
                    }
                    div.top-tools {
                        button.button.quiet.icon-only type="button" data-time-switch hidden { (icon("clock")) span.sr { "Times: " (visit.taste.time) } }
                        button.button.quiet.icon-only type="button" data-theme-switch hidden { (icon("theme")) span.sr { "Theme: " (visit.taste.theme) } }
                        button.button.quiet.icon-only type="button" data-keys-help hidden { (icon("help")) span.sr { "Keys" } }
                    }
                }
                nav.side #nav popover aria-label="Console" {
                    ul { @for (at, name, picture, key) in PAGES {
                        li { a href=(at) data-go=(key) aria-current=[current(at)] {
                            (icon(picture)) (name)
                            @if at == "/approvals" { " " (count("waiting", waiting, true)) }
                        } }
                    } }
                    p.side-foot { "Paddock " (env!("CARGO_PKG_VERSION")) " · " span data-live-state { "not live" } }
                }
                main #main tabindex="-1" {
                    (trouble(visit))
                    @if let Some(told) = told { div.note.ok role="status" { (hinted(&told)) } }
                    (page.body)
                }
                nav.dock aria-label="Main pages" {
                    @for (at, name, picture, _) in DOCK.map(|at| PAGES[at]) {
                        a href=(at) aria-current=[current(at)] {
                            (icon(picture)) span { (name) }
                            @if at == "/approvals" { (count("waiting-dock", waiting, false)) }
                        }
                    }
                    button type="button" popovertarget="nav" { (icon("menu")) span { "Menu" } }
                }
                div #toasts role="status" aria-live="polite" {}
            }
        }
    }
}

/// What is wrong with the configuration, as the command line prints it, while an older one holds.
fn trouble<P, Q>(visit: &Visit<P, Q>) -> Markup {
    let Some(failure) = visit.shared.desk.config_trouble() else { return html! {} };
    let holds = visit.shared.desk.config_in_effect().is_ok();
    html! {
        div.note.bad role="alert" {
            p { "The configuration has a problem. " @if holds { "What it said before goes on to hold." } @else { "No agent has a Workspace until it is there again." } }
            pre.terminal.scroll tabindex="0" role="region" aria-label="The problem of the configuration" { (shown(failure.text())) }
            p { a href="/settings/doctor" { "Doctor" } " · " a href="/settings/config" { "Configuration" } }
        }
    }
}

/// The page of the navigation that an address belongs to.
pub(super) fn nearest(address: &str) -> &'static str {
    let first = address.split(['?', '/']).find(|part| !part.is_empty()).unwrap_or_default();
    PAGES.iter().map(|(at, ..)| *at).find(|at| at.trim_start_matches('/') == first).unwrap_or("/")
}

/// How many calls wait for a person.
fn waiting<P, Q>(visit: &Visit<P, Q>) -> u64 {
    paddock_desk::approvals::waiting(&visit.shared.desk).unwrap_or(0)
}

fn count(id: &str, number: u64, badge: bool) -> Markup {
    html! {
        span.count #(id) data-live="approvals" data-badge[badge] {
            @if number > 0 { (number) span.sr { " waiting" } }
        }
    }
}

/// What was just done, as the address says.
fn told<P, Q>(visit: &Visit<P, Q>) -> Option<String> {
    super::OfAgent::in_address(&visit.address).said()
}
