//! What a call would change: how much, every path with what becomes of it, then the lines of each file under its own heading. Beside other
//! calls these are the first lines, and where the others are is said.

use maud::{Markup, html};
use paddock_desk::approvals::{ApprovalShown, ChangeShown};

use crate::pages::difference;
use crate::pages::parts::{counted, in_url, shown};

/// All of it that is told. What has no parts is words, or was kept as one text before there were any: it is shown as it is.
pub(super) fn changes(approval: &ApprovalShown) -> Markup {
    let id = &approval.id;
    if approval.changes.is_empty() {
        return html! { (listed(&format!("What would change, of {id}"), &approval.preview)) };
    }
    let more = approval.more();
    let paths: Vec<&str> = approval.changes.iter().map(|change| change.words.as_str()).collect();
    html! {
        p { (approval.summary) }
        @if !approval.spots.is_empty() {
            p.note.warn { "Not every path can be named. All of them lie here; the first " (paths.len()) " are named below." }
            (listed(&format!("Directories of {id}"), &approval.spots.join("\n")))
        }
        (listed(&format!("Paths of {id}"), &paths.join("\n")))
        @if more > 0 {
            p.note.warn { (counted(more, "line")) " not shown here: " a href={ "/approvals/" (in_url(id)) } { "look at all of it" } "." }
        }
        @for (at, change) in approval.changes.iter().enumerate().filter(|(_, change)| !change.diff.hunks.is_empty()) {
            (difference::of_change(&format!("Changes of {}, {at} of {id}", change.path), &change.path, &badge(change), &change.diff))
        }
    }
}

fn listed(label: &str, text: &str) -> Markup {
    html! { pre.terminal.scroll tabindex="0" role="region" aria-label=(label) { (shown(text)) } }
}

fn badge(change: &ChangeShown) -> Markup {
    match change.fate.as_str() {
        "new" => html! { span class="outcome done" { "new file" } },
        "deleted" => html! { span class="outcome denied" { "deleted" } },
        _ => html! {},
    }
}
