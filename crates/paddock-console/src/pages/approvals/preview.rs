//! The text of a preview as diffs: one part per file, each with its counts, its lines numbered as the hunks say.

use maud::{Markup, html};

use crate::pages::difference::folded;
use crate::pages::parts::{counted, shown};

/// What a diff calls the side on which nothing is.
const NOWHERE: &str = "/dev/null";

/// One part of a preview: the lines of a file's diff, or what stands between.
#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    /// A file, what becomes of it, and its lines behind the two names.
    File { name: &'t str, fate: Fate, lines: Vec<&'t str> },
    /// Paths that come, go or move; remarks.
    Said(Vec<&'t str>),
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Made,
    Changed,
    Deleted,
}

impl Fate {
    fn of(before: &str, after: &str) -> Self {
        match (before, after) {
            (NOWHERE, _) => Self::Made,
            (_, NOWHERE) => Self::Deleted,
            _ => Self::Changed,
        }
    }

    fn badge(self) -> Markup {
        match self {
            Self::Made => html! { span class="outcome done" { "new file" } },
            Self::Changed => html! {},
            Self::Deleted => html! { span class="outcome denied" { "deleted" } },
        }
    }
}

/// The preview as the page shows it.
pub(super) fn files(id: &str, preview: &str) -> Markup {
    html! {
        @for (at, part) in parts(preview).iter().enumerate() {
            @match part {
                Part::File { name, fate, lines } => (file(&format!("Changes of {name}, {at} of {id}"), name, *fate, lines)),
                Part::Said(lines) => pre.terminal.scroll tabindex="0" role="region" aria-label={ "Paths, " (at) " of " (id) } { (shown(&lines.join("\n"))) },
            }
        }
    }
}

fn parts(preview: &str) -> Vec<Part<'_>> {
    let mut found: Vec<Part<'_>> = Vec::new();
    let mut lines = preview.split_terminator('\n').peekable();
    // How many lines of the hunk at hand are still to come, old and new: a line of content can look like anything.
    let (mut old, mut new) = (0usize, 0usize);
    while let Some(line) = lines.next() {
        let inside = old > 0 || new > 0;
        if !inside
            && let Some(before) = line.strip_prefix("--- ")
            && let Some(after) = lines.peek().and_then(|next| next.strip_prefix("+++ "))
        {
            lines.next();
            let fate = Fate::of(before, after);
            let name = if fate == Fate::Deleted { before } else { after };
            if fate == Fate::Deleted {
                forget_said(&mut found, name);
            }
            found.push(Part::File { name, fate, lines: Vec::new() });
            continue;
        }
        if !inside
            && let Some(Part::File { lines, .. }) = found.last_mut()
            && let Some(hunk) = Hunk::read(line)
        {
            lines.push(line);
            (old, new) = (hunk.old_lines, hunk.new_lines);
            continue;
        }
        let belongs = inside || line.starts_with('\\');
        match line.chars().next() {
            Some('+') => new = new.saturating_sub(1),
            Some('-') => old = old.saturating_sub(1),
            Some('\\') => {}
            _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
        }
        match found.last_mut() {
            Some(Part::File { lines, .. }) if belongs => lines.push(line),
            Some(Part::Said(said)) => said.push(line),
            _ => found.push(Part::Said(vec![line])),
        }
    }
    found.retain(|part| !matches!(part, Part::Said(lines) if lines.iter().all(|line| line.is_empty())));
    found
}

/// The line before the diff of a file that goes says the same.
fn forget_said(found: &mut [Part<'_>], name: &str) {
    if let Some(Part::Said(said)) = found.last_mut()
        && said.last().and_then(|line| line.strip_prefix("- ")?.strip_suffix(" (deleted)")) == Some(name)
    {
        said.pop();
    }
}

/// Where a hunk stands, as `@@ -1,3 +1,4 @@` says.
struct Hunk {
    old: usize,
    new: usize,
    old_lines: usize,
    new_lines: usize,
}

impl Hunk {
    fn read(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let span = |text: &str| -> Option<(usize, usize)> {
            let (at, lines) = text.split_once(',').unwrap_or((text, "1"));
            Some((at.parse().ok()?, lines.parse().ok()?))
        };
        let ((old, old_lines), (new, new_lines)) = (span(old)?, span(new)?);
        Some(Self { old, new, old_lines, new_lines })
    }
}

fn file(label: &str, name: &str, fate: Fate, lines: &[&str]) -> Markup {
    let of_sign = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count();
    let (added, removed) = (of_sign('+'), of_sign('-'));
    html! {
        div.diff-file data-diff {
            header { h3.path { (shown(name)) } (fate.badge()) span.delta { span.plus { "+" (added) } " " span.less { "−" (removed) } } }
            (folded(lines.len(), (added, removed), &html! {
                div.scroll tabindex="0" role="region" aria-label=(label) {
                    table.diff {
                        caption.sr { "Changes of " (name) ": " (counted(added, "line")) " added, " (removed) " removed" }
                        thead.sr { tr { th scope="col" { "Old line" } th scope="col" { "New line" } th scope="col" { "Text" } } }
                        tbody { (rows(lines)) }
                    }
                }
            }))
        }
    }
}

fn rows(lines: &[&str]) -> Markup {
    let (mut old, mut new) = (1, 1);
    let mut row = |line: &str| {
        if let Some(hunk) = Hunk::read(line).filter(|_| line.starts_with("@@")) {
            (old, new) = (hunk.old, hunk.new);
            return html! { tr.hunk { td colspan="3" { (line) } } };
        }
        let text = line.get(1..).unwrap_or_default();
        match line.chars().next() {
            Some('+') => {
                new += 1;
                html! { tr.add { td {} td { (new - 1) } td { ins { (shown(text)) } } } }
            }
            Some('-') => {
                old += 1;
                html! { tr.del { td { (old - 1) } td {} td { del { (shown(text)) } } } }
            }
            Some('\\') => html! { tr { td {} td {} td { span.muted { (shown(line)) } } } },
            _ => {
                (old, new) = (old + 1, new + 1);
                html! { tr { td { (old - 1) } td { (new - 1) } td { (shown(text)) } } }
            }
        }
    };
    html! { @for line in lines { (row(line)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_falls_into_its_files() {
        let text = "+ /w/new/\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n--- /w/b\n+++ /w/b\n@@ -1 +0,0 @@\n-x\n\n… and more that is not shown\n";
        let found = parts(text);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], Part::Said(vec!["+ /w/new/"]));
        let lines = vec!["@@ -1,2 +1,2 @@", " one", "-two", "+three"];
        assert_eq!(found[1], Part::File { name: "/w/a", fate: Fate::Changed, lines });
        assert_eq!(found[2], Part::File { name: "/w/b", fate: Fate::Changed, lines: vec!["@@ -1 +0,0 @@", "-x"] });
        let html = files("ap-1", text).into_string();
        assert!(html.contains("<tr class=\"del\"><td>2</td><td></td><td><del>two</del>"), "{html}");
    }

    #[test]
    fn what_goes_and_what_is_new_says_so_also_where_it_is_empty() {
        let text = "- /w/a (deleted)\n--- /w/a\n+++ /dev/null\n- /w/b (deleted)\n--- /w/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- /dev/null\n+++ /w/c\n";
        let found = parts(text);
        let is = |part: &Part<'_>, path: &str, end: Fate| matches!(part, Part::File { name, fate, .. } if *name == path && *fate == end);
        assert!(is(&found[0], "/w/a", Fate::Deleted), "{found:?}");
        assert!(is(&found[1], "/w/b", Fate::Deleted) && is(&found[2], "/w/c", Fate::Made), "{found:?}");
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(files("ap-1", text).into_string().matches("deleted</span>").count(), 2);
    }

    /// A file's own lines cannot pretend to be another file, or a hunk with nothing bad in it.
    #[test]
    fn content_that_looks_like_a_diff_stays_content() {
        let text = "--- /w/a\n+++ /w/a\n@@ -1,2 +1,3 @@\n--- /w/innocent\n+++ /w/innocent\n+@@ -9 +9 @@\n same\n";
        let found = parts(text);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
