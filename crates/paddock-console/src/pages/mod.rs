//! The console's pages: server-rendered, one module per page, all inside one frame.
//!
//! A page is a function of the desk, run on a thread of the pool, that answers markup. What agents wrote reaches it as text only: maud escapes it,
//! and [`parts::shown`] shows what could deceive a reader. Forms post to the page's own address and come back to it.

mod activity;
mod approvals;
mod difference;
mod files;
mod forks;
mod frame;
mod instances;
mod overview;
pub(crate) mod parts;
mod projects;
mod seal;
mod search;
mod settings;
mod threads;
mod why;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};
use paddock_desk::{Failure, Result};

use crate::endpoint::{self, Part, Unread};
use crate::guard;
use crate::problem::{self, Problem};
use crate::shared::{Shared, Who, on_a_thread};

pub(crate) use frame::Page;

/// Every page.
pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/", get(|shared, request| show(shared, request, overview::page)))
        .merge(activity::router())
        .merge(approvals::router())
        .merge(files::router())
        .merge(forks::router())
        .merge(instances::router())
        .merge(projects::router())
        .merge(search::router())
        .merge(settings::router())
        .merge(threads::router())
        .merge(why::router())
        .fallback(|shared, request| show(shared, request, nowhere))
}

/// What a page is asked with.
pub(crate) struct Visit<P = crate::endpoint::Nothing, Q = OfAgent> {
    pub(crate) shared: Shared,
    pub(crate) who: Who,
    pub(crate) path: P,
    pub(crate) query: Q,
    /// The agent that the person looks at.
    pub(crate) agent: Option<String>,
    /// How this browser wants it to look, and times to be told.
    pub(crate) taste: Taste,
    /// The page's own address.
    pub(crate) address: String,
    /// The page of this console from which it was asked.
    pub(crate) came_from: Option<String>,
    /// How far the events went before anything was read for the page: it hears of everything later.
    mark: String,
}

impl<P, Q> Visit<P, Q> {
    /// Before a page is made of it. Waits while somebody looks for events, so only on a thread that may.
    fn marked(mut self) -> Self {
        self.mark = self.shared.hub.mark();
        self
    }
}

/// What every page can be asked with.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct OfAgent {
    /// The agent.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// What was just done, to be told once.
    #[serde(default)]
    pub(crate) told: Option<String>,
    /// That it was the console itself who says so.
    #[serde(default)]
    seal: Option<String>,
}

impl OfAgent {
    /// What was just done, where the console itself says so.
    fn said(self) -> Option<String> {
        let seal = self.seal.unwrap_or_default();
        self.told.filter(|told| !told.is_empty() && seal::is_ours(told, &seal))
    }
}

impl OfAgent {
    /// What an address says of it.
    fn in_address(address: &str) -> Self {
        let uri = address.parse().unwrap_or_default();
        axum::extract::Query::<Self>::try_from_uri(&uri).map(|query| query.0).unwrap_or_default()
    }
}

/// The cookie of the agent that is looked at.
const CHOSEN: &str = "paddock_agent";

/// How a browser wants pages.
#[derive(Debug, Clone)]
pub(crate) struct Taste {
    pub(crate) theme: &'static str,
    pub(crate) time: &'static str,
}

impl Taste {
    fn of(headers: &axum::http::HeaderMap) -> Self {
        let theme = match guard::cookie(headers, "paddock_theme") {
            Some("light") => "light",
            Some("dark") => "dark",
            _ => "auto",
        };
        let time = match guard::cookie(headers, "paddock_time") {
            Some("local") => "local",
            Some("utc") => "utc",
            _ => "relative",
        };
        Self { theme, time }
    }
}

/// Shows a page.
pub(crate) async fn show<P: Part, Q: Part>(
    State(shared): State<Shared>,
    request: Request,
    page: fn(&Visit<P, Q>) -> Result<Page>,
) -> Response {
    let visit = match visit::<P, Q>(shared, request).await {
        Ok((visit, _)) => visit,
        Err(response) => return *response,
    };
    let rendered = on_a_thread(move || {
        let visit = visit.marked();
        let page = page(&visit).unwrap_or_else(|failure| failed_page(&visit, &failure));
        Ok((page.status, held_choice(&visit), frame::framed(&visit, &page)))
    });
    match rendered.await {
        Ok((status, held, markup)) => (status, held, as_html(&markup)).into_response(),
        Err(failure) => failed(&failure),
    }
}

/// The agent that an address names is looked at until another is chosen.
fn held_choice<P, Q>(visit: &Visit<P, Q>) -> axum::http::HeaderMap {
    let mut headers = axum::http::HeaderMap::new();
    let known = visit.shared.desk.agents().unwrap_or_default();
    let named = OfAgent::in_address(&visit.address).agent;
    let cookie = named.filter(|name| known.iter().any(|agent| agent.as_str() == name)).and_then(|name| {
        let text = format!("{CHOSEN}={name}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax");
        axum::http::HeaderValue::try_from(text).ok()
    });
    if let Some(cookie) = cookie {
        headers.insert(header::SET_COOKIE, cookie);
    }
    headers
}

/// Says what failed, on a page with everything around it that pages have.
pub(crate) async fn refused<P: Part, Q: Part>(visit: Visit<P, Q>, failure: Failure) -> Response {
    framed(move || {
        let visit = visit.marked();
        let page = failed_page(&visit, &failure);
        (page.status, frame::framed(&visit, &page))
    })
    .await
}

async fn framed(work: impl FnOnce() -> (StatusCode, Markup) + Send + 'static) -> Response {
    match on_a_thread(move || Ok(work())).await {
        Ok((status, markup)) => (status, as_html(&markup)).into_response(),
        Err(failure) => failed(&failure),
    }
}

/// What became of a form.
pub(crate) enum Done {
    /// Back to a page, which tells this.
    Back { to: String, told: String },
    /// A page of its own.
    Page(Box<Page>),
}

/// Takes a form, does what it says, and shows what came of it.
pub(crate) async fn act<P: Part, F: serde::de::DeserializeOwned + Send + 'static>(
    State(shared): State<Shared>,
    request: Request,
    deed: fn(&Visit<P, OfAgent>, F) -> Result<Done>,
) -> Response {
    const LARGEST: usize = 4 * 1024 * 1024;
    let (visit, body) = match visit::<P, OfAgent>(shared, request).await {
        Ok(visit) => visit,
        Err(response) => return *response,
    };
    let bytes = match endpoint::whole(body, LARGEST).await {
        Ok(bytes) => bytes,
        Err(Unread::TooLarge) => {
            return refused(visit, Failure::misused("the form is too large", "send less at once")).await;
        }
        Err(slow) => return slow.problem(LARGEST).into_response(),
    };
    let form = match read_form::<F>(&bytes) {
        Ok(form) => form,
        Err(error) => {
            let text = format!("the form is not what this page takes: {error}");
            return refused(visit, Failure::misused(text, "load the page again")).await;
        }
    };
    let done = on_a_thread(move || {
        let visit = visit.marked();
        let page = match deed(&visit, form) {
            Ok(Done::Back { to, told }) => return Ok(Err(back(&to, &told))),
            Ok(Done::Page(page)) => *page,
            Err(failure) => failed_page(&visit, &failure),
        };
        Ok(Ok((page.status, frame::framed(&visit, &page))))
    });
    match done.await {
        Ok(Ok((status, markup))) => (status, as_html(&markup)).into_response(),
        Ok(Err(redirect)) => redirect.into_response(),
        Err(failure) => failed(&failure),
    }
}

/// The fields of a form.
fn read_form<F: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<F, String> {
    serde_urlencoded::from_bytes(bytes).map_err(|error| error.to_string())
}

fn back(to: &str, told: &str) -> Redirect {
    let mark = if to.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{to}{mark}{}", seal::parameters(told)))
}

async fn visit<P: Part, Q: Part>(
    shared: Shared,
    request: Request,
) -> Result<(Visit<P, Q>, axum::body::Body), Box<Response>> {
    let (mut parts, body) = request.into_parts();
    let bad = |problem: Problem| Box::new(problem.into_response());
    let who = endpoint::who(&parts).map_err(bad)?;
    let shared = shared.acted_by(&who);
    let path = endpoint::path_of::<P>(&mut parts).await.map_err(bad)?;
    let query = endpoint::query_of::<Q>(&parts).map_err(bad)?;
    let of_agent: OfAgent = endpoint::query_of(&parts).unwrap_or_default();
    let taste = Taste::of(&parts.headers);
    let held = guard::cookie(&parts.headers, CHOSEN).map(str::to_owned);
    let chosen = match (of_agent.agent, held) {
        (None, Some(held)) => still_there(&shared, held).await,
        (named, _) => named,
    };
    let address = parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let came_from = came_from(&parts.headers).filter(|from| *from != address);
    let mark = String::new();
    Ok((Visit { shared, who, path, query, agent: chosen, taste, address, came_from, mark }, body))
}

/// A choice of before holds while there is such an agent.
async fn still_there(shared: &Shared, held: String) -> Option<String> {
    let shared = shared.clone();
    let is_there =
        on_a_thread(move || Ok(shared.desk.agents()?.iter().any(|agent| agent.as_str() == held).then_some(held)));
    is_there.await.ok().flatten()
}

/// The page of this console that a browser says it came from, without what it was told there.
fn came_from(headers: &axum::http::HeaderMap) -> Option<String> {
    let text = |name: header::HeaderName| headers.get(name)?.to_str().ok();
    let from: axum::http::Uri = text(header::REFERER)?.parse().ok()?;
    let is_ours = from.authority().map(axum::http::uri::Authority::as_str) == text(header::HOST);
    // Two slashes would lead to another host.
    let is_path = from.path().starts_with('/') && !from.path().starts_with("//");
    if !is_ours || !is_path {
        return None;
    }
    let fields = from.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = fields
        .filter(|field| !field.is_empty() && !field.starts_with("told=") && !field.starts_with("seal="))
        .collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    Some(format!("{}{mark}{}", from.path(), kept.join("&")))
}

/// What failed, what to do about it, and the way back.
fn failed_page<P, Q>(visit: &Visit<P, Q>, failure: &Failure) -> Page {
    let back = visit.came_from.clone().unwrap_or_else(|| frame::nearest(&visit.address).to_owned());
    let mut page = Page::new(
        "It was not done",
        html! {
            header.page-head { div { h1 { "It was not done" } } }
            (what_failed(failure))
            div.actions { a.button href=(back) { "Back" } }
        },
    );
    page.status = problem::status(failure.kind());
    page
}

fn what_failed(failure: &Failure) -> Markup {
    let message = failure.message();
    html! {
        div.note.bad role="alert" {
            @if message.contains('\n') { pre.terminal.scroll tabindex="0" role="region" aria-label="What is wrong" { (parts::shown(message)) } }
            @else { p { (parts::hinted(message)) } }
        }
        @if let Some(hint) = failure.hint() { p { (parts::hinted(hint)) } }
    }
}

fn nowhere(_: &Visit) -> Result<Page> {
    let mut page = Page::new(
        "Not found",
        html! {
            div.empty { h1 { "There is no such page" } p { "It may have been moved or deleted." } a.button href="/" { "Overview" } }
        },
    );
    page.status = StatusCode::NOT_FOUND;
    Ok(page)
}

/// A page outside the frame.
fn sheet(title: &str, inside: &Markup) -> Response {
    let markup = html! {
        (DOCTYPE)
        html lang="en" data-theme="auto" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Paddock" }
                link rel="icon" href="/assets/mark.svg" type="image/svg+xml";
                @for sheet in frame::SHEETS { link rel="stylesheet" href=(sheet); }
            }
            body.plain { main #main.sheet { (parts::icon("paddock")) h1 { (title) } (inside) } }
        }
    };
    as_html(&markup)
}

fn as_html(markup: &Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], markup.0.clone()).into_response()
}

/// For whoever is not signed in.
pub(crate) fn sign_in() -> Response {
    sheet(
        "Sign in",
        &html! {
            p { "This console is for the person who runs it. Print a new link in the project's directory, and open it:" }
            pre.terminal { "paddock login" }
        },
    )
}

/// For a link that was used before.
pub(crate) fn used_link() -> Response {
    sheet(
        "This link is used up",
        &html! {
            p { "A sign-in link opens the console of its own project once, within 15 minutes. Print a new one in the directory of the project that is served here:" }
            pre.terminal { "paddock login" }
        },
    )
}

/// For a form that another page sent.
pub(crate) fn other_page() -> Response {
    sheet(
        "Not from here",
        &html! {
            p { "This was sent by another page, not by the console. Nothing was done." }
            a.button href="/" { "To the console" }
        },
    )
}

/// For what failed.
pub(crate) fn failed(failure: &Failure) -> Response {
    let inside = html! {
        (what_failed(failure))
        a.button href="/" { "Overview" }
    };
    (problem::status(failure.kind()), sheet("It was not done", &inside)).into_response()
}
