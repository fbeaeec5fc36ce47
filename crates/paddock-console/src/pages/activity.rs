//! Activity: the audit as it grows, by filter and page by page; one call with all that is known about it; checking and export.

mod call;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::activity::{self, Act, Verified, Wanted};
use paddock_desk::{Result, past};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{actor, counted, hinted, icon, in_url, outcome, shown, time};
use super::{Done, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

/// Rows of one page.
const ROWS: usize = 50;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/activity", get(|shared, request| show(shared, request, page)))
        .route("/activity/verify", post(|shared, request| act::<Nothing, Nothing>(shared, request, verify)))
        .route("/activity/{call}", get(|shared, request| show(shared, request, call::page)))
        .route("/activity/{call}/undo", post(|shared, request| act::<call::Id, Nothing>(shared, request, call::undo)))
}

/// What the page is asked with. A form sends what is not filled in as an empty text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Asked {
    #[serde(default)]
    of: Option<String>,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    until: Option<String>,
    #[serde(default)]
    after: Option<String>,
}

impl Asked {
    fn wanted(&self) -> Wanted {
        let given =
            |text: &Option<String>| text.clone().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Wanted {
            agent: given(&self.of),
            by: given(&self.by),
            tool: given(&self.tool),
            path: given(&self.path),
            outcome: given(&self.outcome),
            since: given(&self.since),
            until: given(&self.until),
            after: given(&self.after),
            newest_first: true,
            ended: true,
            limit: Some(ROWS),
            ..Wanted::default()
        }
    }

    /// The same filter as an address, from another place on.
    fn address(&self, after: Option<&str>) -> String {
        let fields = [
            ("of", self.of.as_deref()),
            ("by", self.by.as_deref()),
            ("tool", self.tool.as_deref()),
            ("path", self.path.as_deref()),
            ("outcome", self.outcome.as_deref()),
            ("since", self.since.as_deref()),
            ("until", self.until.as_deref()),
            ("after", after),
        ];
        let given =
            fields.into_iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
        let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", in_url(value))).collect();
        if query.is_empty() { "/activity".to_owned() } else { format!("/activity?{}", query.join("&")) }
    }
}

fn page(visit: &Visit<Nothing, Asked>) -> Result<Page> {
    let desk = &visit.shared.desk;
    let asked = &visit.query;
    let found = activity::query(desk, &asked.wanted());
    let agents = desk.agents()?;
    let is_first = asked.after.as_deref().is_none_or(str::is_empty);
    Ok(Page::new(
        "Activity",
        html! {
            header.page-head {
                div { h1 { "Activity" } p.lede { "What every call asked for, and what became of it." } }
                div.actions {
                    form method="post" action="/activity/verify" { button.button { (icon("lock")) "Verify" } }
                    a.button href="/api/v1/audit/export" download="paddock-audit.jsonl" { (icon("export")) "Export" }
                }
            }
            form.filters action="/activity" {
                div.field { label for="a-of" { "Agent" } select #a-of name="of" {
                    option value="" { "any" }
                    @for agent in &agents { option value=(agent.as_str()) selected[asked.of.as_deref() == Some(agent.as_str())] { (agent.as_str()) } }
                } }
                div.field { label for="a-by" { "Person" } input #a-by name="by" value=[asked.by.as_deref()] placeholder="alice"; }
                div.field { label for="a-outcome" { "Outcome" } select #a-outcome name="outcome" {
                    option value="" { "any" }
                    @for one in activity::OUTCOMES { option value=(one) selected[asked.outcome.as_deref() == Some(one)] { (one) } }
                } }
                div.field { label for="a-tool" { "Tool" } input #a-tool name="tool" value=[asked.tool.as_deref()] placeholder="write_file"; }
                div.field { label for="a-path" { "Path" } input #a-path name="path" value=[asked.path.as_deref()] placeholder="/project"; }
                div.field { label for="a-since" { "Since" } input #a-since name="since" value=[asked.since.as_deref()] placeholder="10 min ago"; }
                div.field { label for="a-until" { "Until" } input #a-until name="until" value=[asked.until.as_deref()] placeholder="2026-11-15 12:30"; }
                button.button { "Filter" }
            }
            @match &found {
                // Who reads an older page is not disturbed by what comes.
                Ok(rows) if is_first => section.card #acts aria-label="Acts" data-live="activity" { (table(rows)) (pager(asked, rows)) },
                Ok(rows) => section.card #acts aria-label="Acts" { (table(rows)) (pager(asked, rows)) },
                Err(failure) => div.note.bad role="alert" { p { (shown(failure.message())) } @if let Some(hint) = failure.hint() { p { (hinted(hint)) } } },
            }
        },
    ))
}

fn table(rows: &[Act]) -> Markup {
    if rows.is_empty() {
        return html! { div.empty { (icon("activity")) h2 { "Nothing fits" } p { "No call that ended fits these filters." } div.actions { a.button href="/activity" { "Show everything" } } } };
    }
    html! {
        table.table {
            caption.sr { "Acts, the newest first" }
            thead { tr { th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "Act" } th scope="col" { "Outcome" } th scope="col" class="number wide-only" { "Size" } } }
            tbody data-key-list { @for row in rows { (line(row)) } }
        }
    }
}

fn line(row: &Act) -> Markup {
    if row.kind == "gap" {
        return html! { tr { td data-label="When" { (time(&row.time)) } td colspan="4" { (counted(row.bytes, "row")) " could not be kept here." } } };
    }
    html! {
        tr data-key-item tabindex="-1" {
            td data-label="When" { (time(&row.time)) }
            td data-label="Who" { (actor(&row.agent, row.by.as_deref())) }
            th scope="row" data-label="Act" { a href={ "/activity/" (in_url(&row.call)) } data-key="Enter" { (shown(&row.tool)) " " span.path { (shown(&row.path)) } }
                // Which call was decided, and how.
                @if row.tool.starts_with("approvals ") && !row.reason.is_empty() { " " small { (shown(&row.reason)) } }
            }
            td data-label="Outcome" {
                (outcome(&row.outcome))
                // What is hidden answers as if it were not there: a person is told better.
                @if row.outcome == "denied" || row.reason == "hidden" { " " a.small href=(why(row)) { "why?" } }
            }
            td class="number wide-only" data-label="Size" { @if row.bytes > 0 { (past::size(row.bytes)) } }
        }
    }
}

/// Where the question about a denied call is answered.
fn why(row: &Act) -> String {
    format!("/why?agent={}&operation={}&path={}", in_url(&row.agent), in_url(&row.tool), in_url(&row.path))
}

fn pager(asked: &Asked, rows: &[Act]) -> Markup {
    let older = rows.last().filter(|_| rows.len() == ROWS);
    let is_first = asked.after.as_deref().is_none_or(str::is_empty);
    html! {
        @if !is_first || older.is_some() {
            nav.pager aria-label="Pages" {
                @if !is_first { a.button.small rel="first" href=(asked.address(None)) { "Newest" } }
                span { (counted(rows.len(), "row")) }
                @if let Some(last) = older { a.button.small rel="next" href=(asked.address(Some(&last.cursor))) { "Older" } }
            }
        }
    }
}

fn verify(visit: &Visit, _: Nothing) -> Result<Done> {
    let found = activity::verify(&visit.shared.desk)?;
    Ok(Done::Page(Box::new(Page::new(
        "Verify",
        html! {
            header.page-head { div { h1 { "Is the audit as it was written?" } } div.actions { a.button href="/activity" { "Back to the activity" } } }
            (verdict(&found))
        },
    ))))
}

fn verdict(found: &Verified) -> Markup {
    html! {
        @if found.ok {
            div.note.ok role="status" { p { (counted(found.rows, "row")) " in " (counted(found.chains, "chain")) ", as they were written." } }
        } @else {
            div.note.bad role="alert" { p { "It is not: " (counted(found.said.len() as u64 + found.more, "finding")) ". Find out who can write the System Root." } }
            section.card aria-labelledby="h-found" {
                header { h2 #h-found { "Findings" } }
                div.card-body { ul { @for one in &found.said { li { (shown(one)) } } @if found.more > 0 { li { "and " (found.more) " more" } } } }
            }
        }
        dl.facts {
            div { dt { "Rows" } dd { (found.rows) } }
            div { dt { "Could not be kept" } dd { (found.lost) } }
            div { dt { "Taken as it was" } dd { (counted(found.accepted, "time")) } }
            div { dt { "Removed by a person" } dd { (counted(found.pruned_rows, "row")) } }
        }
    }
}
