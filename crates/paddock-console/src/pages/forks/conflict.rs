//! Both sides of a conflict, side by side.

use maud::{Markup, html};
use paddock_desk::diff::{Diff, Line, LineKind};
use paddock_desk::forks::ConflictShown;

use crate::pages::parts::{Question, counted, shown};

/// A path that both sides changed, with the choice between them.
pub(super) fn card(conflict: &ConflictShown, resolve: &str) -> Markup {
    let sides = conflict.sides.as_ref();
    let diff = sides.map(|sides| {
        let bytes = |side: &Option<String>| side.clone().unwrap_or_default().into_bytes();
        Diff::of(Some(&bytes(&sides.below)), Some(&bytes(&sides.here)))
    });
    html! {
        div.diff-file {
            header { h3.path { (shown(&conflict.path)) } span.outcome.waiting { "conflict" } }
            p { (conflict.why) }
            div.actions {
                (choice(conflict, resolve, "below", "Keep the Workspace's", "Keep what the Workspace holds? What is here is replaced by it, and stays in the history."))
                (choice(conflict, resolve, "here", "Keep this one's", "Keep what is here? What the Workspace holds is replaced by it now, and stays in the history."))
            }
            @if let Some(why) = &conflict.unread {
                p.muted { (shown(why)) }
            } @else if let Some(diff) = diff.filter(|diff| !diff.hunks.is_empty()) {
                (side_by_side(&conflict.path, &diff))
            } @else {
                p.muted { "Its content cannot be shown here." }
            }
        }
    }
}

fn choice(conflict: &ConflictShown, resolve: &str, side: &str, label: &str, question: &str) -> Markup {
    let fields = html! {
        input type="hidden" name="path" value=(conflict.path);
        input type="hidden" name="keep" value=(side);
    };
    let id = format!("keep-{side}-{}", conflict.path);
    let question = Question { id, action: resolve, question: html! { (question) }, yes: "Keep" };
    question.behind("small", &html! { (label) span.sr { " " (shown(&conflict.path)) } }, &fields)
}

fn side_by_side(path: &str, diff: &Diff) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Both sides of " (path) } {
            table.diff.sides {
                caption.sr { "Both sides of " (shown(path)) }
                thead { tr { th scope="col" colspan="2" { "Workspace now" } th scope="col" colspan="2" { "Here" } } }
                tbody { @for hunk in &diff.hunks {
                    tr.hunk { td colspan="4" { (hunk.header) } }
                    @for (left, right) in pairs(&hunk.lines) { (row(left, right)) }
                } }
            }
        }
        @if diff.more > 0 { p.muted { (counted(diff.more, "more line")) " not shown." } }
    }
}

fn row(left: Option<&Line>, right: Option<&Line>) -> Markup {
    let is_same = left.is_some_and(|line| line.kind == LineKind::Same);
    html! {
        tr.conflict[!is_same] {
            td { @if let Some(number) = left.and_then(|line| line.old) { (number) } }
            td { @if let Some(line) = left { @if is_same { (shown(&line.text)) } @else { del { (shown(&line.text)) } } } }
            td { @if let Some(number) = right.and_then(|line| line.new) { (number) } }
            td { @if let Some(line) = right { @if is_same { (shown(&line.text)) } @else { ins { (shown(&line.text)) } } } }
        }
    }
}

/// The lines of both sides beside one another: what goes beside what comes in its place.
fn pairs(lines: &[Line]) -> Vec<(Option<&Line>, Option<&Line>)> {
    let mut found = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.first() {
        if first.kind == LineKind::Same {
            found.push((Some(first), Some(first)));
            rest = &rest[1..];
            continue;
        }
        let run = rest.iter().take_while(|line| line.kind != LineKind::Same).count();
        let (changed, others) = rest.split_at(run);
        let left: Vec<&Line> = changed.iter().filter(|line| line.kind == LineKind::Removed).collect();
        let right: Vec<&Line> = changed.iter().filter(|line| line.kind == LineKind::Added).collect();
        found.extend((0..left.len().max(right.len())).map(|n| (left.get(n).copied(), right.get(n).copied())));
        rest = others;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_is_beside_what_comes() {
        let diff = Diff::of(Some(b"a\nb\nc\nd\n"), Some(b"a\nB\nd\n"));
        let texts: Vec<(Option<&str>, Option<&str>)> = pairs(&diff.hunks[0].lines)
            .into_iter()
            .map(|(left, right)| (left.map(|line| line.text.as_str()), right.map(|line| line.text.as_str())))
            .collect();
        let expected = [(Some("a"), Some("a")), (Some("b"), Some("B")), (Some("c"), None), (Some("d"), Some("d"))];
        assert_eq!(texts, expected);
    }
}
