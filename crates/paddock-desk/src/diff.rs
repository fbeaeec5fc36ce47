//! Two contents side by side, for programs and pages: hunks of numbered lines.
//!
//! The lines are what agents wrote, as they are: whoever shows them sees to it that nothing in them deceives. Long diffs are
//! cut, and say so. It must never compare what is too large to be compared in time.

use paddock_core::TextKind;
use schemars::JsonSchema;
use serde::Serialize;
use similar::TextDiff;

use crate::unified::LARGEST;

/// The most lines of one diff.
pub(crate) const MOST_LINES: usize = 2000;
/// The most bytes of one line.
const LONGEST_LINE: usize = 4000;

/// What is different between two contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diff {
    /// How many lines are new.
    pub added: u64,
    /// How many lines go.
    pub removed: u64,
    /// The lines, with some around them that stay.
    pub hunks: Vec<Hunk>,
    /// How many lines more there are than are shown.
    pub more: u64,
    /// Why no lines are shown, where none are.
    pub not_shown: Option<String>,
}

/// Lines that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hunk {
    /// Where they are, as unified diffs write it.
    pub header: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// What becomes of it.
    pub kind: LineKind,
    /// Its number before.
    pub old: Option<u64>,
    /// Its number after.
    pub new: Option<u64>,
    /// What it says.
    pub text: String,
    /// Does it end with a line feed? Only the last one of a file may not.
    pub is_ended: bool,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// It stays.
    Same,
    /// It is new.
    Added,
    /// It goes.
    Removed,
}

impl Diff {
    /// Of two contents; what is not known cannot be compared.
    #[must_use]
    pub fn of(old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let (Some(old), Some(new)) = (old, new) else {
            return Self::without("it is not kept any more, or too large to be shown");
        };
        if old.len().max(new.len()) as u64 > LARGEST {
            return Self::without(format!("too large to be compared: {} bytes and {} bytes", old.len(), new.len()));
        }
        match (TextKind::of(old).decode(old), TextKind::of(new).decode(new)) {
            (Some(old), Some(new)) => {
                Self::of_unified(&TextDiff::from_lines(old.as_str(), new.as_str()).unified_diff().to_string())
            }
            _ => Self::without(format!("no text: {} bytes and {} bytes", old.len(), new.len())),
        }
    }

    /// One that shows nothing, and why.
    #[must_use]
    pub fn without(why: impl Into<String>) -> Self {
        Self { not_shown: Some(why.into()), ..Self::default() }
    }

    /// Of the hunks of a unified diff, without its header.
    #[must_use]
    pub fn of_unified(text: &str) -> Self {
        let mut diff = Self::default();
        let (mut old, mut new, mut shown) = (1, 1, 0);
        for line in lines(text) {
            if let Some((from, to)) = begins(line) {
                (old, new) = (from, to);
                if shown < MOST_LINES {
                    diff.hunks.push(Hunk { header: line.trim_end().to_owned(), lines: Vec::new() });
                }
                continue;
            }
            let Some((kind, said)) = kind_of(line) else {
                // It is said of the line before.
                let last = diff.hunks.last_mut().and_then(|hunk| hunk.lines.last_mut());
                last.filter(|_| diff.more == 0).into_iter().for_each(|last| last.is_ended = false);
                continue;
            };
            let numbers = match kind {
                LineKind::Same => (Some(old), Some(new)),
                LineKind::Removed => (Some(old), None),
                LineKind::Added => (None, Some(new)),
            };
            old += u64::from(numbers.0.is_some());
            new += u64::from(numbers.1.is_some());
            diff.added += u64::from(kind == LineKind::Added);
            diff.removed += u64::from(kind == LineKind::Removed);
            if shown >= MOST_LINES {
                diff.more += 1;
                continue;
            }
            shown += 1;
            if let Some(hunk) = diff.hunks.last_mut() {
                hunk.lines.push(Line { kind, old: numbers.0, new: numbers.1, text: cut(said), is_ended: true });
            }
        }
        diff.leave_out_common_returns();
        diff
    }

    /// A carriage return that ends every line says nothing.
    fn leave_out_common_returns(&mut self) {
        let all = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        if all().any(|line| !line.text.ends_with('\r')) {
            return;
        }
        for line in self.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
            line.text.pop();
        }
    }
}

/// The lines as they were compared: a carriage return alone ends one, too. Without the line feed.
fn lines(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let end = text
            .find(['\n', '\r'])
            .map_or(text.len(), |at| if text[at..].starts_with("\r\n") { at + 2 } else { at + 1 });
        let (line, rest) = text.split_at(end);
        text = rest;
        Some(line.strip_suffix('\n').unwrap_or(line))
    })
}

/// Where a hunk begins, on both sides.
fn begins(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let first = |range: &str| range.split(',').next()?.parse::<u64>().ok();
    Some((first(old)?, first(new)?))
}

fn kind_of(line: &str) -> Option<(LineKind, &str)> {
    let kind = match line.as_bytes().first()? {
        b' ' => LineKind::Same,
        b'+' => LineKind::Added,
        b'-' => LineKind::Removed,
        // That there is no line feed at the end.
        _ => return None,
    };
    Some((kind, &line[1..]))
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST_LINE {
        return text.to_owned();
    }
    format!("{}… ({} bytes)", &text[..text.floor_char_boundary(LONGEST_LINE)], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_on_both_sides() {
        let diff = Diff::of(Some(b"one\ntwo\nthree"), Some(b"one\n2\nthree\nfour\n"));
        let told: Vec<(LineKind, Option<u64>, Option<u64>, &str)> =
            diff.hunks[0].lines.iter().map(|line| (line.kind, line.old, line.new, line.text.as_str())).collect();
        use LineKind::{Added, Removed, Same};
        let expected = [
            (Same, Some(1), Some(1), "one"),
            (Removed, Some(2), None, "two"),
            (Removed, Some(3), None, "three"),
            (Added, None, Some(2), "2"),
            (Added, None, Some(3), "three"),
            (Added, None, Some(4), "four"),
        ];
        assert_eq!(told, expected);
        assert_eq!((diff.added, diff.removed, diff.more), (3, 2, 0));
        let unended: Vec<&str> =
            diff.hunks[0].lines.iter().filter(|line| !line.is_ended).map(|line| line.text.as_str()).collect();
        assert_eq!(unended, ["three"]);
        assert_eq!(diff.hunks[0].header, "@@ -1,3 +1,4 @@");
    }

    #[test]
    fn line_ends_are_told_where_they_differ() {
        let texts = |diff: &Diff| diff.hunks[0].lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&Diff::of(Some(b"a\r\n"), Some(b"b\r\n"))), ["a", "b"]);
        assert_eq!(texts(&Diff::of(Some(b"a\n"), Some(b"a\r\n"))), ["a", "a\r"]);
        assert_eq!(texts(&Diff::of(Some(b"a\rb\r"), Some(b"a\rc\r"))), ["a", "b", "c"]);
        assert_eq!(
            texts(&Diff::of(Some(b"--- a\n"), Some(b"+++ b\n@@ -1 +1 @@\n"))),
            ["--- a", "+++ b", "@@ -1 +1 @@"]
        );
    }

    #[test]
    fn what_is_long_or_no_text_is_not_shown_whole() {
        let many: String = (0..5000).map(|n| format!("{n}\n")).collect();
        let diff = Diff::of(Some(b""), Some(many.as_bytes()));
        assert_eq!((diff.added, diff.more), (5000, 3000));
        let long = Diff::of(Some(b""), Some("ü".repeat(9000).as_bytes()));
        assert!(long.hunks[0].lines[0].text.ends_with("… (18000 bytes)"));
        assert!(Diff::of(Some(b"\0\x01"), Some(b"x")).not_shown.unwrap().starts_with("no text"));
        assert!(Diff::of(None, Some(b"x")).not_shown.is_some());
    }
}
