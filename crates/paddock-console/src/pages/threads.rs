//! Runs: the plan, every checkpoint, what was said, what each waits for; resumed, cancelled, forked from a step.

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use paddock_desk::approvals::{self, ApprovalShown};
use paddock_desk::threads::{
    self, CheckpointShown, ForkAsked, ItWas, ReplayShown, ResumeAsked, StepShown, ThreadShown, UsedShown,
};
use paddock_desk::{Desk, Result, instances};
use schemars::JsonSchema;
use serde::Deserialize;

use super::instances::talk;
use super::parts::{Question, counted, icon, in_url, outcome, shown, time};
use super::{Done, Page, Visit, act, show};
use crate::endpoint::Nothing;
use crate::shared::Shared;

/// As many as a page shows.
const A_PAGE: usize = 50;
/// The messages that are shown with a run.
const SAID: u64 = 30;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/threads", get(|shared, request| show(shared, request, list)))
        .route("/threads/{id}", get(|shared, request| show(shared, request, one)))
        .route("/threads/{id}/resume", post(|shared, request| act(shared, request, resume)))
        .route("/threads/{id}/cancel", post(|shared, request| act::<Id, Nothing>(shared, request, cancel)))
        .route("/threads/{id}/fork", post(|shared, request| act(shared, request, fork)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    id: String,
}

/// Which part of the list.
#[derive(Debug, Deserialize, JsonSchema)]
struct Behind {
    #[serde(default)]
    after: Option<String>,
}

/// Which part of a run.
#[derive(Debug, Deserialize, JsonSchema)]
struct Looked {
    /// The checkpoints behind this one.
    #[serde(default)]
    after: Option<u64>,
    /// Go through it again?
    #[serde(default)]
    replay: Option<String>,
}

fn list(visit: &Visit<Nothing, Behind>) -> Result<Page> {
    let found = threads::list(&visit.shared.desk, visit.query.after.as_deref(), Some(A_PAGE))?;
    let next = found.last().filter(|_| found.len() == A_PAGE).map(|last| in_url(&last.thread_id));
    Ok(Page::new(
        "Threads",
        html! {
            header.page-head { div { h1 { "Threads" } p.lede { "Runs of agents: each can be resumed exactly where it stopped." } } }
            section.card #threads data-live="threads approvals" aria-labelledby="h-threads" {
                header { h2 #h-threads { "Runs" } }
                @if found.is_empty() {
                    div.empty { (icon("threads")) h2 { "No run yet" } p { "An agent plans, works step by step, and asks before what is risky." } pre.terminal { "paddock run \"…\"" } }
                } @else { (rows(&found)) }
            }
            @if visit.query.after.is_some() || next.is_some() {
                nav.pager aria-label="Pages" {
                    @if visit.query.after.is_some() { a.button.small rel="prev" href="/threads" { "Newest" } }
                    @if let Some(next) = &next { a.button.small rel="next" href={ "/threads?after=" (next) } { "Older" } }
                }
            }
        },
    ))
}

fn rows(found: &[ThreadShown]) -> Markup {
    html! {
        table.table {
            caption.sr { "Runs" }
            thead { tr { th scope="col" { "Task" } th scope="col" { "Thread" } th scope="col" { "Agent" } th scope="col" { "Status" } th scope="col" { "Went on" } } }
            tbody data-key-list { @for row in found {
                tr data-key-item tabindex="-1" {
                    th scope="row" data-label="Task" { a href={ "/threads/" (in_url(&row.thread_id)) } { (shown(&first_line(&row.prompt))) } }
                    td data-label="Thread" { code { (shown(&row.thread_id)) } }
                    td data-label="Agent" { (shown(&row.agent)) }
                    td data-label="Status" { (status(row)) }
                    td data-label="Went on" { (time(&row.updated_at)) }
                }
            } }
        }
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 120 { line.to_owned() } else { line.chars().take(120).chain(['…']).collect() }
}

fn status(thread: &ThreadShown) -> Markup {
    let word = match thread.status.as_str() {
        _ if thread.working => "running",
        "stopped" | "frozen" | "blocked" | "asking" => "waiting",
        "running" => "running",
        "cancelled" => "denied",
        other => other,
    };
    html! {
        @if word == thread.status { (outcome(word)) } @else { span class={ "outcome " (word) } { @if thread.working { "running" } @else { (thread.status) } } }
        @if thread.trouble.is_some() { " " span.outcome.failed { "failed" } }
    }
}

fn one(visit: &Visit<Id, Looked>) -> Result<Page> {
    let desk = &visit.shared.desk;
    let detail = threads::show(desk, &visit.path.id, Some(1))?;
    let thread = &detail.thread;
    let at = in_url(&thread.thread_id);
    let after = visit.query.after.unwrap_or_else(|| thread.checkpoints.saturating_sub(A_PAGE as u64));
    let checkpoints = threads::steps(desk, &thread.thread_id, after, A_PAGE)?;
    let replayed = match &visit.query.replay {
        Some(_) => Some(threads::replay(desk, &thread.thread_id)?),
        None => None,
    };
    let decision = asked_about(desk, thread);
    // A run whose conversation was removed is still shown.
    let count = instances::show(desk, &thread.thread_id).map_or(0, |instance| instance.messages);
    let said = instances::messages(desk, &thread.thread_id, count.saturating_sub(SAID), A_PAGE).unwrap_or_default();
    Ok(Page::new(
        format!("Thread {}", thread.thread_id),
        html! {
            header.page-head {
                div { h1 { (shown(&first_line(&thread.prompt))) } p.lede { "Thread " code { (shown(&thread.thread_id)) } " of " (shown(&thread.agent)) } }
                div.actions { a.button href={ "/instances/" (at) } { "Conversation" } a.button href={ "/threads/" (at) "?replay=1" } { "Replay" } }
            }
            @if let Some(replayed) = &replayed { (replay_told(replayed)) }
            div.split {
                div.stack {
                    (waits(thread, decision.as_ref(), &at))
                    (plan(&detail.steps))
                    section.card #conversation data-live="threads instances" aria-labelledby="h-talk" {
                        header { h2 #h-talk { "Conversation" } a.button.small href={ "/instances/" (at) } { "All of " (counted(count, "message")) } }
                        div.card-body { (talk::conversation(&said)) }
                    }
                    (steps(&checkpoints, thread, &at, after))
                }
                (about(thread, detail.used.as_ref()))
            }
        },
    ))
}

fn replay_told(replayed: &ReplayShown) -> Markup {
    html! {
        @match replayed.differs_at {
            None => div.note.ok role="status" { (counted(replayed.checkpoints, "checkpoint")) ", each comes to the same again." },
            Some(n) => div.note.bad role="status" { "Checkpoint " (n) " does not come to the same again" @if let Some(why) = &replayed.why { " (" (shown(why)) ")" } "." },
        }
    }
}

/// The call that a run was stopped at, to be decided or decided since.
fn asked_about(desk: &Desk, thread: &ThreadShown) -> Option<ApprovalShown> {
    approvals::show(desk, thread.approval.as_deref()?).ok()
}

/// What it waits for, and how it goes on.
fn waits(thread: &ThreadShown, decision: Option<&ApprovalShown>, at: &str) -> Markup {
    let decided = decision.filter(|approval| approval.status != "pending");
    let over = matches!(thread.status.as_str(), "done" | "asking" | "cancelled");
    let cancel = Question {
        id: "cancel".into(),
        action: &format!("/threads/{at}/cancel"),
        question: html! { "Cancel this run? What it did stays." },
        yes: "Cancel the run",
    };
    html! {
        section.card #waits data-live="threads approvals" aria-labelledby="h-waits" {
            header { h2 #h-waits { "Now" } (status(thread)) }
            div.card-body.stack {
                @if let Some(trouble) = &thread.trouble { div.note.bad { "It could not go on: " (shown(trouble)) } }
                @if thread.working { p { "It goes on in the background of this server." } }
                @match (&thread.approval, &thread.told) {
                    (Some(approval), _) if decided.is_some() => p {
                        "Decided: " (decided.map_or("", |one| &one.status)) " (" a href={ "/approvals/" (in_url(approval)) } { (shown(approval)) } ")."
                        @if !thread.working { " Resume it." }
                    },
                    (Some(approval), _) => p { "It waits for a decision: " a href={ "/approvals/" (in_url(approval)) } { (shown(approval)) } "." },
                    (None, Some(told)) => pre.terminal.scroll tabindex="0" role="region" aria-label="What it says" { (shown(told)) },
                    (None, None) => {},
                }
            }
            @if !over {
                footer { div.actions {
                    @if !thread.working { form.row method="post" action={ "/threads/" (at) "/resume" } {
                        @if thread.status == "blocked" {
                            div.field { label for="it-was" { "The call that was cut off" } select #it-was name="it_was" { option value="" { "not looked at" } option value="done" { "took effect" } option value="not-done" { "did not" } } }
                        }
                        button.button.primary { (icon("play")) "Resume" }
                    } }
                    (cancel.behind("danger", &html! { (icon("stop")) "Cancel" }, &html! {}))
                } }
            }
        }
    }
}

fn plan(steps: &[StepShown]) -> Markup {
    let class = |step: &StepShown| match step.status.as_str() {
        "done" => Some("done"),
        "running" => Some("active"),
        "failed" | "blocked" => Some("failed"),
        _ => None,
    };
    html! {
        section.card #plan data-live="threads" aria-labelledby="h-plan" {
            header { h2 #h-plan { "Plan" } }
            div.card-body {
                @if steps.is_empty() { p.muted { "No plan yet." } } @else {
                    ol.plan { @for step in steps {
                        li class=[class(step)] { (shown(&step.description)) @if let Some(error) = &step.last_error { " " small.muted { (shown(&first_line(error))) } } }
                    } }
                }
            }
        }
    }
}

fn steps(found: &[CheckpointShown], thread: &ThreadShown, at: &str, after: u64) -> Markup {
    let to = found.last().map_or(after, |last| last.n);
    html! {
        section.card #steps data-live="threads" aria-labelledby="h-steps" {
            header { h2 #h-steps { "Steps" } span.muted { (counted(thread.checkpoints, "checkpoint")) } }
            table.table {
                caption.sr { "Checkpoints of the run" }
                thead { tr { th scope="col" class="number" { "Step" } th scope="col" { "Node" } th scope="col" { "What" } th scope="col" { span.sr { "Acts" } } } }
                tbody data-key-list { @for row in found {
                    tr data-key-item tabindex="-1" {
                        th.number scope="row" data-label="Step" { (row.n) }
                        td data-label="Node" { span.label { (row.node) } }
                        td data-label="What" { (what(row)) }
                        td.actions { form method="post" action={ "/threads/" (at) "/fork" } { input type="hidden" name="at" value=(row.n); button.button.small { "Fork" span.sr { " from step " (row.n) } } } }
                    }
                } }
            }
            footer { nav.pager aria-label="Steps" {
                @if after > 0 { a.button.small rel="prev" href={ "/threads/" (at) "?after=" (after.saturating_sub(A_PAGE as u64)) } { "Earlier" } }
                @if to < thread.checkpoints { a.button.small rel="next" href={ "/threads/" (at) "?after=" (to) } { "Later" } }
            } }
        }
    }
}

/// What a node did, in a line, with what the model said and the tool answered behind it.
fn what(row: &CheckpointShown) -> Markup {
    let calls = row.answer["tool_calls"].as_array().into_iter().flatten();
    let calls: Vec<String> = calls.filter_map(|call| call["name"].as_str()).map(str::to_owned).collect();
    let said = row.answer["content"].as_str().unwrap_or_default();
    html! {
        @if !calls.is_empty() { code { (shown(&calls.join(", "))) } }
        @else if !said.is_empty() { (shown(&first_line(said))) }
        @else if row.node == "tools" { code { (shown(row.tool["tool_name"].as_str().unwrap_or_default())) } " " (shown(&first_line(row.tool["output"].as_str().unwrap_or_default()))) }
        @if !row.answer.is_null() { details.more { summary { "Answer of the model" } pre.terminal.scroll tabindex="0" role="region" aria-label={ "Answer at step " (row.n) } { (shown(&format!("{:#}", row.answer))) } } }
    }
}

fn about(thread: &ThreadShown, used: Option<&UsedShown>) -> Markup {
    html! {
        section.card #about data-live="threads" aria-labelledby="h-about" {
            header { h2 #h-about { "About" } }
            div.card-body {
                dl.facts {
                    div { dt { "For" } dd { (shown(&thread.user_id)) } }
                    div { dt { "Model" } dd { code { (shown(&thread.model)) } } }
                    div { dt { "Mode" } dd { (thread.bounds.mode) ", trusted as " (thread.bounds.level) } }
                    @if let Some(tools) = &thread.bounds.tools { div { dt { "Tools" } dd { (shown(&tools.join(", "))) } } }
                    @if let Some(used) = used { div { dt { "Used" } dd { (used.words()) } } }
                    div { dt { "Began" } dd { (time(&thread.created_at)) } }
                    div { dt { "Went on" } dd { (time(&thread.updated_at)) } }
                    @if let Some(parent) = &thread.parent { div { dt { "Forked from" } dd { a href={ "/threads/" (in_url(&parent.thread_id)) } { (shown(&parent.thread_id)) } " at step " (parent.at) } } }
                }
            }
            div.card-body { details.more { summary { "Task" } pre.terminal { (shown(&thread.prompt)) } } }
        }
    }
}

/// How a run goes on, as the form says it.
#[derive(Debug, Deserialize)]
struct Resume {
    #[serde(default)]
    it_was: String,
}

/// Where another run begins, as the form says it.
#[derive(Debug, Deserialize)]
struct Fork {
    at: u64,
}

fn resume(visit: &Visit<Id>, Resume { it_was }: Resume) -> Result<Done> {
    let it_was = match it_was.as_str() {
        "done" => Some(ItWas::Done),
        "not-done" => Some(ItWas::NotDone),
        _ => None,
    };
    let thread = threads::show(&visit.shared.desk, &visit.path.id, Some(1))?.thread;
    if let Some(waiting) = asked_about(&visit.shared.desk, &thread).filter(|one| one.status == "pending") {
        return Ok(back(&thread, &format!("It waits for approval {}: decide that first.", waiting.id)));
    }
    let resumed = threads::resume(&visit.shared.desk, &visit.path.id, &ResumeAsked { it_was, model: None })?;
    Ok(back(&resumed.thread, "It goes on in the background."))
}

fn cancel(visit: &Visit<Id>, _: Nothing) -> Result<Done> {
    let cancelled = threads::cancel(&visit.shared.desk, &visit.path.id)?;
    Ok(back(&cancelled, "The run is cancelled. What it did stays."))
}

fn fork(visit: &Visit<Id>, Fork { at }: Fork) -> Result<Done> {
    let forked = threads::fork(&visit.shared.desk, &visit.path.id, &ForkAsked { at, name: None })?;
    Ok(back(&forked, "Another run begins here. Resume lets it go on."))
}

fn back(thread: &ThreadShown, told: &str) -> Done {
    Done::Back { to: format!("/threads/{}", in_url(&thread.thread_id)), told: told.to_owned() }
}
