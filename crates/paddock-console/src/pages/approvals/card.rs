//! One call that a person is asked about: everything that it is, and the ways to decide it.

use maud::{Markup, html};
use paddock_desk::approvals::{ApprovalShown, Offer, ReachWord};

use super::preview;
use crate::pages::parts::{counted, in_url, outcome, shown, time};

/// The call with what can be decided about it, or what was.
pub(super) fn card(approval: &ApprovalShown) -> Markup {
    let (id, heading) = (&approval.id, format!("{}-h", approval.id));
    let pending = approval.status == "pending";
    html! {
        article.approval.card id=(id) data-key-item tabindex="-1" aria-labelledby=(heading) {
            header {
                h2 id=(heading) { a href={ "/approvals/" (in_url(id)) } { code { (approval.tool) } } " " span.path { (shown(approval.command.as_deref().unwrap_or(&approval.path))) } }
                span class={ "risk " (approval.risk) } { (approval.risk) }
                @if !pending { (outcome(&approval.status)) }
                (time(&approval.requested_at))
            }
            div.card-body.stack {
                (facts(approval))
                (arguments(approval))
                (changes(approval))
            }
            @if pending { footer { (agree(approval)) (refuse(approval)) } }
        }
    }
}

fn facts(approval: &ApprovalShown) -> Markup {
    html! {
        dl.facts {
            div { dt { "Requester" } dd { (shown(&approval.agent)) " " span.muted { "session " (shown(&approval.session)) } } }
            @if let Some(thread) = &approval.thread_id {
                div { dt { "Thread" } dd { a href={ "/threads/" (in_url(thread)) } { (shown(thread)) } @if let Some(user) = &approval.user_id { " for " (shown(user)) } } }
            }
            div { dt { "Destination" } dd { span.path { (shown(&approval.path)) } } }
            div { dt { "Rule" } dd { @match &approval.rule { Some(rule) => code { (shown(rule)) }, None => "the risk of what the call does" } } }
            div { dt { "Expires" } dd { (time(&approval.expires_at)) } }
            @if let Some(by) = &approval.decided_by {
                div { dt { "Decided" } dd { "by " strong { (shown(by)) } @if let Some(at) = &approval.decided_at { ", " (time(at)) } @if let Some(reach) = &approval.reach { ", " span.label { (reach) } } } }
            }
            @if let Some(reason) = &approval.reason { div { dt { "Reason" } dd { (shown(reason)) } } }
            @if let Some(call) = &approval.used_by { div { dt { "Used by" } dd { a href={ "/activity/" (in_url(call)) } { (call) } } } }
        }
    }
}

fn arguments(approval: &ApprovalShown) -> Markup {
    let text = format!("{:#}", approval.arguments);
    let odd = invisible(&text);
    html! {
        @if odd > 0 {
            p.note.warn { "These arguments hold " (counted(odd, "invisible or misleading character")) ", shown as " span.char { "U+200B" } "." }
        }
        @if !approval.arguments_whole && !approval.held {
            p.note.warn { "Values of secrets were taken out of these arguments." }
        }
        details.more open { summary { "Arguments" } pre.terminal.scroll tabindex="0" role="region" aria-label={ "Arguments of " (approval.id) } { (shown(&text)) } }
        @if let Some(edited) = &approval.edited {
            details.more open { summary { "Edited to" } pre.terminal.scroll tabindex="0" role="region" aria-label={ "Edited arguments of " (approval.id) } { (shown(&format!("{edited:#}"))) } }
        }
    }
}

fn changes(approval: &ApprovalShown) -> Markup {
    let what = if approval.held { "What the command changed" } else { "What it would change" };
    html! {
        p.row {
            strong { (what) }
            @if !approval.summary.is_empty() { span.delta { span.plus { "+" (approval.added) } " " span.less { "−" (approval.removed) } } }
            @if !approval.whole { span.label { "not all of it can be shown" } }
        }
        @if approval.held && approval.status == "pending" {
            p.note { "The command has run already, and nothing of this is in the files yet. Approving makes exactly this change, without running it again." }
        }
        (preview::changes(approval))
    }
}

/// How many characters a reader would not see, or not as what they are.
fn invisible(text: &str) -> usize {
    let mut buffer = [0; 4];
    let is_odd = |letter: &char| {
        let alone: &str = letter.encode_utf8(&mut buffer);
        !matches!(letter, '\n' | '\t') && paddock_core::visible(alone) != alone
    };
    text.chars()
        .filter({
            let mut is_odd = is_odd;
            move |letter| is_odd(letter)
        })
        .count()
}

fn agree(approval: &ApprovalShown) -> Markup {
    let id = &approval.id;
    html! {
        form.decide method="post" action={ "/approvals/" (in_url(id)) "/approve" } {
            input type="hidden" name="hash" value=(approval.shown);
            fieldset.reaches {
                legend { "Approve for" }
                @for offer in &approval.reaches { (reach(offer)) }
            }
            div.actions {
                button.button.primary data-key="a" data-key-label="Approve" { "Approve " kbd { "a" } }
                @if !approval.held {
                    a.button data-key="e" data-key-label="Edit the arguments" href={ "/approvals/" (in_url(id)) "/edit" } { "Edit " kbd { "e" } }
                }
            }
        }
    }
}

fn reach(offer: &Offer) -> Markup {
    let (name, further) = match offer.reach {
        ReachWord::Once => ("Once", ""),
        ReachWord::Exact => ("This exact call", ""),
        ReachWord::Session => ("This session", ""),
        ReachWord::Always => ("Always", " Written to the grants of this project, not to paddock.toml."),
    };
    html! {
        label.reach {
            input type="radio" name="reach" value=(offer.reach.name()) checked[offer.reach == ReachWord::Once] disabled[offer.withheld.is_some()];
            span {
                strong { (name) }
                small { @match &offer.withheld {
                    Some(why) => { "Withheld: " (why) "." },
                    None => { (shown(&sentence(&offer.words))) (further) },
                } }
            }
        }
    }
}

/// The words as a sentence.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn refuse(approval: &ApprovalShown) -> Markup {
    let (id, field) = (&approval.id, format!("{}-why", approval.id));
    html! {
        details.reject {
            summary.button.danger data-key="r" data-key-label="Reject" { "Reject " kbd { "r" } }
            form method="post" action={ "/approvals/" (in_url(id)) "/reject" } {
                input type="hidden" name="hash" value=(approval.shown);
                div.field { label for=(field) { "Reason, for the agent" } textarea id=(field) name="reason" rows="2" {} }
                button.button.danger { "Reject the call" }
            }
        }
    }
}
