//! What happened to a path, with the lines of each change, and the way back.

use maud::{Markup, html};
use paddock_desk::files::FileShown;
use paddock_desk::history::{self, Change, Part};
use paddock_desk::{Result, past};

use super::file::tabs;
use super::{Here, head, is_writable};
use crate::pages::difference;
use crate::pages::parts::{Question, actor, icon, in_url, shown, time};

/// The changes of one page.
const PAGE: usize = 50;

pub(super) fn page(here: &Here<'_>, stat: &FileShown) -> Result<Markup> {
    let path = here.spot.path.as_str();
    let desk = &here.visit.shared.desk;
    let after = here.visit.query.after.as_deref().and_then(|after| after.parse().ok());
    let changes = history::changes(desk, &here.spot.agent, path, Part { after, limit: PAGE })?;
    let chosen = here.visit.query.change.as_deref();
    let diff = chosen.map(|change| history::diff(desk, &here.spot.agent, change)).transpose()?;
    let own = format!("{}&view=history", here.address(path));
    let more = (changes.len() == PAGE).then(|| changes.last()).flatten();
    Ok(html! {
        (head(here, stat, &html! {}))
        (tabs(here, stat, None))
        @if let Some(diff) = &diff {
            section.card #difference aria-labelledby="h-diff" {
                header { h2 #h-diff { (diff.change.what) " by " (shown(diff.change.by.as_ref().unwrap_or(&diff.change.agent))) } (time(&diff.change.at)) }
                div.card-body { (difference::of_file(&diff.change.path, &diff.diff)) }
                footer { a.button.small href={ "/activity/" (diff.change.call) } { "The whole call" } }
            }
        }
        section.card #changes data-live="files" aria-labelledby="h-changes" {
            header { h2 #h-changes { "Changes" } }
            @if changes.is_empty() {
                div.empty { (icon("history")) h3 { "Nothing has changed here" } p { "The history begins with the first call that changes it." } }
            } @else {
                table.table {
                    caption.sr { "Changes of " (shown(path)) ", newest first" }
                    thead { tr { th scope="col" { "When" } th scope="col" { "Change" } th scope="col" { "Who" } th.number scope="col" { "Bytes" } th scope="col" { span.sr { "Acts" } } } }
                    tbody data-key-list { @for change in &changes { (row(here, stat, &own, change)) } }
                }
                @if let Some(last) = more {
                    nav.pager aria-label="Pages" { span {} a.button.small rel="next" href={ (own) "&after=" (last.seq) } { "Older" } }
                }
            }
        }
    })
}

fn row(here: &Here<'_>, stat: &FileShown, own: &str, change: &Change) -> Markup {
    let lines = format!("{own}&change={}#difference", in_url(&change.id));
    let is_this = change.path == here.spot.path.as_str();
    html! {
        tr data-key-item tabindex="-1" {
            td data-label="When" { (time(&change.at)) }
            th scope="row" data-label="Change" {
                a href=(lines) data-key="Enter" { (change.what) }
                @if !is_this || change.to.is_some() {
                    " " span.path { (shown(&change.path)) }
                    @if let Some(to) = &change.to { " to " span.path { (shown(to)) } }
                }
                @if change.new { " " span.label { "new" } }
            }
            td data-label="Who" { (actor(&change.agent, change.by.as_deref())) }
            td.number data-label="Bytes" { @if change.carries() { (past::size(change.bytes)) } @else { "–" } }
            td.actions { @if let Some(version) = change.version.as_ref().filter(|_| is_this && is_writable(stat)) {
                @if stat.version.as_ref() == Some(version) { span.label { "now" } } @else { (restore(here, version)) }
            } }
        }
    }
}

fn restore(here: &Here<'_>, version: &str) -> Markup {
    let question = Question {
        id: format!("restore-{version}"),
        action: &here.address(here.spot.path.as_str()),
        question: html! { "Restore this version? What is there now stays in the history." },
        yes: "Restore",
    };
    let fields = html! {
        input type="hidden" name="act" value="restore";
        input type="hidden" name="version" value=(version);
    };
    question.behind("small", &html! { (icon("restore")) "Restore" }, &fields)
}
