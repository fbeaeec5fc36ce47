//! Forks: how each stands beside its source, what it changes, applying and discarding it.

mod conflict;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::diff::Diff;
use paddock_desk::forks::{
    self, Applying, Compared, Comparing, Detail, ForkShown, NewForkAsked, OverlayShown, PathDiff, ResolveAsked,
    ResolvedPath, Side,
};
use paddock_desk::{Result, moment, past, workspaces};
use schemars::JsonSchema;
use serde::Deserialize;

use super::difference;
use super::parts::{icon, in_url, path_in_url, shown, time};
use super::{Done, OfAgent, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route(
            "/forks",
            get(|shared, request| show(shared, request, list))
                .post(|shared, request| act::<Nothing, _>(shared, request, make)),
        )
        .route("/forks/{name}", get(|shared, request| show(shared, request, one)))
        .route("/forks/{name}/apply", post(|shared, request| act::<Name, Nothing>(shared, request, apply)))
        .route("/forks/{name}/resolve", post(|shared, request| act::<Name, _>(shared, request, resolve)))
        .route("/forks/{name}/discard", post(|shared, request| act::<Name, _>(shared, request, discard)))
}

/// A fork by its name, or an overlay by its prefix.
#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn list(visit: &Visit) -> Result<Page> {
    let desk = &visit.shared.desk;
    let (forks, overlays) = (forks::list(desk)?, forks::overlays(desk)?);
    let workspaces = workspaces::of_agent(desk, visit.agent.as_deref())?;
    let sources = workspaces.iter().filter(|one| one.scope != "WRITE_ONLY" && !one.prefix.starts_with("/forks/"));
    // What can be written is what somebody wants to try something on.
    let writable = sources.clone().filter(|one| one.scope == "READ_WRITE");
    let usual = writable.min_by_key(|one| one.store != "physical");
    let agents = desk.agents()?;
    let chosen = workspaces::agent_named(desk, visit.agent.as_deref())?;
    Ok(Page::new(
        "Forks",
        html! {
            header.page-head { div { h1 { "Forks" } p.lede { "Copies in which an agent works freely, until you take its work over." } } }
            section.card #forks aria-labelledby="h-forks" data-live="forks" {
                header { h2 #h-forks { "Forks" } }
                @if forks.is_empty() { (none()) } @else { (table(&forks)) }
            }
            @if !overlays.is_empty() { (overlays_card(&overlays)) }
            section.card aria-labelledby="h-make" {
                header { h2 #h-make { "Make a fork" } }
                div.card-body { form.row method="post" action="/forks" {
                    div.field { label for="k-source" { "Workspace" } select #k-source name="workspace" {
                        @for one in sources { option value=(one.prefix) selected[usual.is_some_and(|usual| usual.prefix == one.prefix)] { (one.prefix) } }
                    } }
                    input type="hidden" name="from" value=(chosen.as_str());
                    div.field { label for="k-name" { "Name" } input #k-name name="name" required maxlength="64" aria-describedby="k-hint"; p.hint #k-hint { "Letters, digits and dashes: the agent has it at /forks/NAME." } }
                    div.field { label for="k-agent" { "For agent" } select #k-agent name="agent" {
                        @for agent in &agents { option value=(agent.as_str()) selected[*agent == chosen] { (agent.as_str()) } }
                    } }
                    button.button.primary { (icon("forks")) "Make it" }
                } }
            }
        },
    ))
}

fn none() -> Markup {
    html! {
        div.empty {
            (icon("forks")) h3 { "There are no forks" }
            p { "Let an agent try something on a copy, and look at what became of it before it counts." }
            pre.terminal { "paddock fork /project/workspace try" }
        }
    }
}

fn table(forks: &[ForkShown]) -> Markup {
    html! {
        table.table {
            caption.sr { "Forks" }
            thead { tr { th scope="col" { "Fork" } th scope="col" { "Of" } th scope="col" { "For" } th scope="col" { "Made" } th scope="col" { "Stands" } } }
            tbody data-key-list { @for fork in forks {
                tr data-key-item tabindex="-1" {
                    th scope="row" data-label="Fork" { a href={ "/forks/" (in_url(&fork.name)) } data-key="Enter" { (shown(&fork.name)) } }
                    td data-label="Of" { span.path { (shown(&fork.source)) } span.muted { " of " (fork.from) } }
                    td data-label="For" { (fork.agents.join(", ")) }
                    td data-label="Made" { (time(&made(fork))) }
                    td data-label="Stands" { (standing(fork)) }
                }
            } }
        }
    }
}

fn made(fork: &ForkShown) -> String {
    moment::exact(moment::of_millis(i64::try_from(fork.created).unwrap_or(i64::MAX)))
}

fn standing(fork: &ForkShown) -> Markup {
    html! {
        @match (fork.differs, fork.conflicts) {
            _ if fork.source_is_gone => span.outcome.failed { "its source is gone" },
            (Some(0), _) => span.muted { "nothing differs" },
            (Some(paths), Some(0)) => { (counted(paths, "path")) " to apply" },
            (Some(paths), Some(conflicts)) => { (counted(paths, "path")) " " span.outcome.waiting { (conflicts) " in conflict" } },
            _ => span.outcome.failed { (shown(fork.problem.as_deref().unwrap_or("it cannot be compared"))) },
        }
    }
}

fn overlays_card(overlays: &[OverlayShown]) -> Markup {
    html! {
        section.card aria-labelledby="h-over" {
            header { h2 #h-over { "Overlays" } }
            table.table {
                caption.sr { "Overlays of the configuration" }
                thead { tr { th scope="col" { "Overlay" } th scope="col" { "Over" } th scope="col" { "Agent" } } }
                tbody data-key-list { @for one in overlays {
                    tr data-key-item tabindex="-1" {
                        th scope="row" data-label="Overlay" { a.path href={ "/forks/" (in_url(&one.prefix)) "?agent=" (in_url(&one.agent)) } { (shown(&one.prefix)) } }
                        td.path data-label="Over" { (shown(&one.source)) }
                        td data-label="Agent" { (one.agent) }
                    }
                } }
            }
        }
    }
}

fn one(visit: &Visit<Name>) -> Result<Page> {
    let agent = workspaces::agent_named(&visit.shared.desk, visit.agent.as_deref())?;
    let compared = forks::compare(&visit.shared.desk, &visit.path.name, &agent, &Comparing::default())?;
    Ok(shown_whole(&compared, agent.as_str(), &html! {}))
}

/// What it changes, with a note before it.
fn shown_whole(compared: &Compared, agent: &str, note: &Markup) -> Page {
    let conflicts = compared.differences.iter().filter(|one| one.conflict).count();
    let address = format!("/forks/{}", in_url(&compared.name));
    let of_agent = format!("?agent={}", in_url(agent));
    let total = compared.differences.len();
    Page::new(
        compared.called.clone(),
        html! {
            header.page-head #fork-head data-live="forks files" {
                div {
                    h1 { (shown(&compared.called)) }
                    p.lede { "Stands on " a.path href={ "/files" (path_in_url(&compared.source)) "?agent=" (in_url(&compared.agent)) } { (shown(&compared.source)) } " of " (compared.agent) "." }
                }
                div.actions {
                    @if total > 0 && conflicts == 0 {
                        form method="post" action={ (address) "/apply" (of_agent) } { button.button.primary { (icon("check")) "Apply " (counted(total, "change")) } }
                    }
                    form method="post" action={ (address) "/discard" (of_agent) } { button.button.danger { (icon("trash")) "Discard" } }
                }
            }
            (note)
            @if conflicts > 0 {
                div.note.warn { p { (counted(conflicts, "path")) " changed on both sides, so nothing can be applied. Choose a side for each, then apply." } }
            }
            div.stack #changes data-live="forks files" {
                h2.sr { "What it changes" }
                @if total == 0 { div.empty { (icon("check")) h2 { "Nothing differs" } p { "It holds nothing that its source does not." } } }
                @for one in &compared.differences { (path_card(one, &format!("{address}/resolve{of_agent}"))) }
                @if !compared.left_out.is_empty() { (left_out(compared)) }
                @if !compared.ignored.is_empty() { (by_the_way(compared)) }
            }
        },
    )
}

/// `resolve` is where the choice of a side goes.
fn path_card(one: &PathDiff, resolve: &str) -> Markup {
    if let Some(contradiction) = &one.contradiction {
        return conflict::card(contradiction, resolve);
    }
    match &one.detail {
        Detail::Text { hunks, .. } => {
            let mode = one.mode_told.as_ref().map(|mode| html! { span.label { (mode) } });
            let label = format!("Changes of {}", one.path);
            difference::of_change(&label, &one.path, &mode.unwrap_or_default(), &Diff::of_unified(hunks))
        }
        detail => html! {
            div.diff-file {
                header {
                    h3.path { (shown(&one.path)) } span.label { (one.change.replace('_', " ")) }
                    @if let Some(mode) = &one.mode_told { span.label { (mode) } }
                }
                p.muted { (said(one, detail)) }
            }
        },
    }
}

/// A change without lines, in words.
fn said(one: &PathDiff, detail: &Detail) -> Markup {
    html! {
        @match detail {
            Detail::Nothing if one.after.as_deref() == Some("file") => "its content stays",
            Detail::Nothing | Detail::Text { .. } => "a directory",
            Detail::Binary { before, after } => { "no text: " (past::size(*before)) " before, " (past::size(*after)) " after" },
            Detail::Large { before, after } => { "too large to be compared: " (past::size(*before)) " before, " (past::size(*after)) " after" },
            Detail::Link { before, after } => { "a link: " (shown(before)) " becomes " (shown(after)) },
        }
    }
}

fn left_out(compared: &Compared) -> Markup {
    html! {
        section.card aria-labelledby="h-left" {
            header { h2 #h-left { "Stays behind" } }
            div.card-body.stack {
                p { "The source keeps such names out of sight, so no apply takes them over:" }
                ul { @for path in &compared.left_out { li.path { (shown(path)) } } }
            }
        }
    }
}

/// What a `.gitignore` names: not shown, and not taken over from here.
fn by_the_way(compared: &Compared) -> Markup {
    html! {
        section.card aria-labelledby="h-ignored" {
            header { h2 #h-ignored { "By the way" } }
            div.card-body.stack {
                p { "A .gitignore names these, so they stay here; `paddock apply " (shown(&compared.name)) " --ignored` takes them over, too:" }
                ul { @for path in &compared.ignored { li.path { (shown(path)) } } }
            }
        }
    }
}

/// What the form sends.
#[derive(Debug, Deserialize)]
struct NewFork {
    workspace: String,
    name: String,
    agent: String,
    from: String,
}

fn make(visit: &Visit, form: NewFork) -> Result<Done> {
    let asked = NewForkAsked {
        workspace: form.workspace,
        name: form.name,
        agents: vec![form.agent],
        from: Some(form.from).filter(|from| !from.is_empty()),
    };
    let made = forks::make(&visit.shared.desk, &asked)?;
    let told = format!("Forked {} as {}.", made.source, made.prefix);
    Ok(Done::Back { to: format!("/forks/{}", in_url(&made.name)), told })
}

fn apply(visit: &Visit<Name, OfAgent>, _: Nothing) -> Result<Done> {
    let desk = &visit.shared.desk;
    let agent = workspaces::agent_named(desk, visit.agent.as_deref())?;
    let applied = forks::apply(desk, &visit.path.name, &agent, &Applying::default())?;
    if !applied.conflicts.is_empty() {
        let note = html! { div.note.bad role="alert" { p { "Nothing was applied: both sides changed the same." } } };
        let mut page =
            shown_whole(&forks::compare(desk, &visit.path.name, &agent, &Comparing::default())?, agent.as_str(), &note);
        page.status = StatusCode::CONFLICT;
        return Ok(Done::Page(Box::new(page)));
    }
    let told = match applied.done {
        true => format!("Applied {} to {}.", counted(applied.changes.len(), "change"), applied.source),
        false => "There was nothing to apply.".to_owned(),
    };
    let to = applied.call.map_or_else(|| "/forks".to_owned(), |call| format!("/activity/{}", in_url(&call)));
    Ok(Done::Back { to, told })
}

/// What the form of a conflict sends.
#[derive(Debug, Deserialize)]
struct Resolve {
    path: String,
    keep: Side,
}

/// Makes both sides of one conflict agree, and comes back to the others.
fn resolve(visit: &Visit<Name, OfAgent>, Resolve { path, keep }: Resolve) -> Result<Done> {
    let desk = &visit.shared.desk;
    let agent = workspaces::agent_named(desk, visit.agent.as_deref())?;
    let done = forks::resolve(desk, &visit.path.name, &agent, &ResolveAsked { paths: vec![path], keep })?;
    let what = |one: &ResolvedPath| if one.removed { "is removed" } else { "is as the other side has it" };
    let told: String = done.changed.iter().map(|one| format!("{} {}. ", one.path, what(one))).collect();
    let told = format!("{told}`paddock undo {}` takes it back.", done.call);
    Ok(Done::Back { to: format!("/forks/{}?agent={}", in_url(&visit.path.name), in_url(agent.as_str())), told })
}

/// What the form of discarding sends.
#[derive(Debug, Deserialize)]
struct Sure {
    /// Was what would be lost seen?
    #[serde(default)]
    sure: Option<String>,
}

fn discard(visit: &Visit<Name, OfAgent>, Sure { sure }: Sure) -> Result<Done> {
    let desk = &visit.shared.desk;
    let name = &visit.path.name;
    let agent = workspaces::agent_named(desk, visit.agent.as_deref())?;
    if sure.is_none()
        && let Some(lost) = forks::lost(desk, name, &agent)?
    {
        return Ok(Done::Page(Box::new(ask(visit, &lost))));
    }
    let done = forks::discard(desk, name, &agent)?;
    let told = if done.is_overlay { format!("{name} is empty now.") } else { format!("Fork {name} is gone.") };
    Ok(Done::Back { to: "/forks".to_owned(), told })
}

/// What would be lost, and the question.
fn ask(visit: &Visit<Name, OfAgent>, lost: &str) -> Page {
    let back = visit.address.replace("/discard", "");
    Page::new(
        "Discard?",
        html! {
            header.page-head { div { h1 { "Discard it with all of this?" } p.lede { "It cannot be had again." } } }
            section.card aria-label="What would be lost" { div.card-body.stack {
                pre.terminal.scroll tabindex="0" role="region" aria-label="What would be lost: the list" { (shown(lost)) }
                form.actions method="post" action=(visit.address) {
                    input type="hidden" name="sure" value="yes";
                    button.button.danger { (icon("trash")) "Discard" }
                    a.button href=(back) { "Keep it" }
                }
            } }
        },
    )
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(detail: Detail) -> String {
        let one = PathDiff {
            path: "run.sh".to_owned(),
            change: "changed".to_owned(),
            before: Some("file".to_owned()),
            after: Some("file".to_owned()),
            mode_before: Some(0o644),
            mode_after: Some(0o755),
            mode_told: Some("mode 644 to 755".to_owned()),
            detail,
            conflict: false,
            contradiction: None,
        };
        path_card(&one, "").into_string()
    }

    #[test]
    fn a_mode_is_shown_beside_lines_and_alone() {
        let hunks = "@@ -1 +1 @@\n-a\n+b\n".to_owned();
        let lines = changed(Detail::Text { added: 1, removed: 1, hunks });
        assert!(lines.contains("mode 644 to 755") && lines.contains("<ins>b</ins>"), "{lines}");
        let alone = changed(Detail::Nothing);
        assert!(alone.contains("mode 644 to 755") && alone.contains("its content stays"), "{alone}");
    }
}
