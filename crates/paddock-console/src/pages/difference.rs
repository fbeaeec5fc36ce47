//! What is different between two contents, as the pages show it.

use maud::{Markup, Render, html};
use paddock_desk::diff::{Diff, Line, LineKind};

use super::parts::{counted, shown};

/// More lines than this are folded: a page stays as long as a person scrolls.
const UNFOLDED: usize = 200;

/// The lines of a diff; folded where they are many, with how many they are.
pub(crate) fn folded(lines: usize, (added, removed): (impl Render, impl Render), table: &Markup) -> Markup {
    if lines <= UNFOLDED {
        return table.clone();
    }
    html! { details.more { summary { (lines) " lines: " span.delta { span.plus { "+" (added) } " " span.less { "−" (removed) } } } (table) } }
}

/// The changes of one file, under a heading of the third level.
pub(crate) fn of_file(name: &str, diff: &Diff) -> Markup {
    of_change(&format!("Changes of {name}"), name, &html! {}, diff)
}

/// The same with what becomes of the file beside its name, and a label that no other part of the page has.
pub(crate) fn of_change(label: &str, name: &str, badge: &Markup, diff: &Diff) -> Markup {
    let (added, removed) = (diff.added, diff.removed);
    let lines = diff.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    html! {
        div.diff-file data-diff {
            header { h3.path { (shown(name)) } (badge) span.delta { span.plus { "+" (added) } " " span.less { "−" (removed) } } }
            @if let Some(why) = &diff.not_shown { p.muted { "No lines are shown: " (shown(why)) } }
            @if !diff.hunks.is_empty() { (folded(lines, (added, removed), &html! {
                div.scroll tabindex="0" role="region" aria-label=(label) {
                    table.diff {
                        caption.sr { "Changes of " (shown(name)) ": " (counted(added, "line")) " added, " (removed) " removed" }
                        thead.sr { tr { th scope="col" { "Old line" } th scope="col" { "New line" } th scope="col" { "Text" } } }
                        tbody { @for hunk in &diff.hunks {
                            tr.hunk { td colspan="3" { (hunk.header) } }
                            @for line in &hunk.lines { (row(line)) }
                        } }
                    }
                }
            })) }
            @if diff.more > 0 { p.muted { (counted(diff.more, "more line")) " not shown." } }
        }
    }
}

fn row(line: &Line) -> Markup {
    let Line { kind, old, new, text, is_ended } = line;
    let text = shown(text.trim_end_matches(['\n', '\r']));
    let text = html! { (text) @if !is_ended { " " span.muted { "(no line feed at the end)" } } };
    let number = |line: &Option<u64>| html! { td { @if let Some(line) = line { (line) } } };
    match kind {
        LineKind::Same => html! { tr { (number(old)) (number(new)) td { (text) } } },
        LineKind::Added => html! { tr.add { (number(old)) (number(new)) td { ins { (text) } } } },
        LineKind::Removed => html! { tr.del { (number(old)) (number(new)) td { del { (text) } } } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_are_folded() {
        let many: String = (0..=UNFOLDED).map(|line| format!("{line}\n")).collect();
        let made = of_file("/w/a", &Diff::of(Some(b""), Some(many.as_bytes()))).into_string();
        assert!(
            made.contains(
                "<details class=\"more\"><summary>201 lines: <span class=\"delta\"><span class=\"plus\">+201"
            ),
            "{made}"
        );
        assert!(!of_file("/w/a", &Diff::of(Some(b""), Some(b"one\n"))).into_string().contains("<details"));
    }

    #[test]
    fn lines_are_text_with_what_deceives_shown() {
        let diff = Diff::of(Some(b"one\n<b>\n"), Some("one\n\u{202e}two\n".as_bytes()));
        let made = of_file("/w/<a>", &diff).into_string();
        assert!(made.contains("<del>&lt;b&gt;</del>") && made.contains("U+202E") && !made.contains("<a>"), "{made}");
        assert!(made.contains("1 line added, 1 removed"), "{made}");
    }
}
