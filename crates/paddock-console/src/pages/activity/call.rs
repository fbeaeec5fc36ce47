//! One call: its verdict, why, what it changed, and the way back.

use maud::{Markup, html};
use paddock_desk::activity::{self, Act, CallStory, StoryApproval};
use paddock_desk::history::{self, CallChanges, ChangeDiff};
use paddock_desk::{Result, past};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::endpoint::Nothing;
use crate::pages::parts::{Question, actor, icon, in_url, outcome, path_in_url, shown, time};
use crate::pages::{Done, OfAgent, Page, Visit, difference, why};

/// Which call.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Id {
    call: String,
}

pub(super) fn page(visit: &Visit<Id>) -> Result<Page> {
    let story = activity::call(&visit.shared.desk, &visit.path.call)?;
    // What became of it; while it runs, that it began.
    let told = story.acts.iter().rev().find(|act| act.kind == "outcome").or(story.acts.last());
    let call = told.map(|act| act.call.clone()).or_else(|| story.changes.as_ref().map(|one| one.call.call.clone()));
    let call = call.unwrap_or_else(|| visit.path.call.clone());
    let (tool, path) = match (told, &story.changes) {
        (Some(act), _) => (act.tool.as_str(), act.path.as_str()),
        (None, Some(changes)) => (changes.call.operation.as_str(), changes.call.path.as_str()),
        (None, None) => ("", ""),
    };
    Ok(Page::new(
        format!("Call {call}"),
        html! {
            header.page-head {
                div { h1 { code { (shown(tool)) } " " span.path { (shown(path)) } } p.lede { "Call " code { (shown(&call)) } } }
                @if let Some(changes) = &story.changes { div.actions { (way_back(changes)) } }
            }
            div.stack #call data-live="activity" {
                @if let Some(act) = told { (facts(act, &story)) }
                @if let Some(told) = &story.why { (why::answer(told)) }
                @if let Some(changes) = &story.changes { (changed(changes)) }
                @if story.acts.len() > 1 { (rows(&story.acts)) }
            }
        },
    ))
}

fn facts(act: &Act, story: &CallStory) -> Markup {
    html! {
        section.card aria-labelledby="h-facts" {
            header { h2 #h-facts { "What became of it" } @if act.outcome.is_empty() { span.outcome.running { "running" } } @else { (outcome(&act.outcome)) } }
            div.card-body { dl.facts {
                div { dt { "When" } dd { (time(&act.time)) } }
                @if let Some(by) = &act.by { div { dt { "By" } dd { (shown(by)) } } }
                div { dt { "Agent" } dd { (shown(&act.agent)) } }
                @if let Some(workspace) = &act.workspace { div { dt { "Workspace" } dd { a.path href={ "/files" (path_in_url(workspace)) "?agent=" (in_url(&act.agent)) } { (shown(workspace)) } } } }
                @if !act.reason.is_empty() { div { dt { "Reason" } dd { (shown(&act.reason)) } } }
                @if let Some(risk) = &act.risk { div { dt { "Risk" } dd { span class={ "risk " (risk) } { (risk) } } } }
                @if act.bytes > 0 { div { dt { "Content" } dd { (past::size(act.bytes)) } } }
                div { dt { "Took" } dd { (took(act.took_us)) } }
                @if let Some(approval) = &story.approval { (decided(approval, &act.call)) }
                @if let Some(note) = story.changes.as_ref().and_then(|one| one.call.note.as_ref()) { div { dt { "Note" } dd { (shown(note)) } } }
            } }
        }
    }
}

/// Who decided, and which call made the change then.
fn decided(approval: &StoryApproval, this: &str) -> Markup {
    let made = approval.used_by.as_ref().filter(|call| *call != this);
    html! {
        div { dt { "Approval" } dd {
            a href={ "/approvals/" (in_url(&approval.id)) } { (shown(&approval.id)) } " " (outcome(&approval.status))
            @if let Some(by) = &approval.decided_by { " by " (shown(by)) }
        } }
        @if let Some(call) = made { div { dt { "Made by" } dd { "call " a href={ "/activity/" (in_url(call)) } { (shown(call)) } } } }
    }
}

fn took(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..1_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

fn way_back(changes: &CallChanges) -> Markup {
    let call = &changes.call;
    html! {
        @if let Some(undone) = &call.undone_by { a.button href={ "/activity/" (in_url(undone)) } { (icon("undo")) "Was undone" } }
        @else if !changes.changed.is_empty() {
            (undo_button(&call.call))
        }
        @if let Some(undoes) = &call.undoes { a.button href={ "/activity/" (in_url(undoes)) } { "What it undid" } }
    }
}

fn undo_button(call: &str) -> Markup {
    let question = Question {
        id: format!("undo-{call}"),
        action: &format!("/activity/{}/undo", in_url(call)),
        question: html! { "Take back everything that this call changed? That is a call, too, and can be undone." },
        yes: "Undo",
    };
    question.behind("", &html! { (icon("undo")) "Undo" }, &html! {})
}

fn changed(changes: &CallChanges) -> Markup {
    html! {
        section.stack aria-labelledby="h-changed" {
            h2 #h-changed { "What it changed" }
            @if changes.changed.is_empty() { p.muted { "Nothing, in the end." } }
            @for one in &changes.changed { (change(one)) }
            @if !changes.call.may_have_changed.is_empty() {
                div.note.warn { p { "It has not ended, and may have changed:" } ul { @for path in &changes.call.may_have_changed { li.path { (shown(path)) } } } }
            }
        }
    }
}

fn change(one: &ChangeDiff) -> Markup {
    let change = &one.change;
    let name = match &change.to {
        Some(to) => format!("{} → {to}", change.path),
        None => change.path.clone(),
    };
    html! {
        (difference::of_file(&name, &one.diff))
        @if let Some(now) = &one.path_now {
            p.small { span.label { (change.what) } " " a href={ "/files" (path_in_url(now)) "?agent=" (in_url(&change.agent)) } { "As it is now" } " · " a href={ "/files" (path_in_url(now)) "?agent=" (in_url(&change.agent)) "&view=history" } { "Its history" } }
        }
    }
}

fn rows(acts: &[Act]) -> Markup {
    html! {
        section.card aria-labelledby="h-rows" {
            header { h2 #h-rows { "In the audit" } }
            div.card-body { ol.timeline { @for act in acts {
                li class=(class(act)) { (time(&act.time)) div { strong { (actor(&act.agent, act.by.as_deref())) } " " code { (shown(&act.tool)) } " " span.path { (shown(&act.path)) } " " @if act.outcome.is_empty() { span.muted { "begun" } } @else { (outcome(&act.outcome)) } } }
            } } }
        }
    }
}

fn class(act: &Act) -> &'static str {
    match act.outcome.as_str() {
        "done" => "done",
        "denied" | "rejected" => "denied",
        "" | "parked" | "waiting" => "waiting",
        _ => "failed",
    }
}

pub(super) fn undo(visit: &Visit<Id, OfAgent>, _: Nothing) -> Result<Done> {
    let done = history::undo(&visit.shared.desk, Some(&visit.path.call), None, false)?;
    let to = done.call.as_deref().unwrap_or(&visit.path.call);
    Ok(Done::Back { to: format!("/activity/{}", in_url(to)), told: format!("Call {} is undone.", done.undoes) })
}
