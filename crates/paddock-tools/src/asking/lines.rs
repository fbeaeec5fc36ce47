//! Two texts line by line. A line ends with a line feed and with nothing else, so a file of old line ends is one long line and no
//! place for forged headings; every character that a reader would not see is shown.

use paddock_core::{DiffHunk, DiffLine, LineFate, visible};
use similar::{ChangeTag, DiffOp, TextDiff};

/// Lines around a change that stay.
const AROUND: usize = 3;

/// What is different between two texts.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) hunks: Vec<DiffHunk>,
    pub(super) added: u64,
    pub(super) removed: u64,
}

impl Lines {
    pub(super) fn between(old: &str, new: &str) -> Self {
        let (old, new) = (lines(old), lines(new));
        let diff = TextDiff::from_slices(&old, &new);
        let mut found = Self::default();
        for ops in diff.grouped_ops(AROUND) {
            let lines = ops.iter().flat_map(|op| diff.iter_changes(op));
            let lines = lines.map(|change| found.add(change.tag(), change.value())).collect();
            if let Some(hunk) = hunk(&ops, lines) {
                found.hunks.push(hunk);
            }
        }
        found
    }

    /// How much room it takes to be kept.
    pub(super) fn bytes(&self) -> usize {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text.len() + 1).sum()
    }

    /// How many lines are shown.
    pub(super) fn count(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len()).sum()
    }

    fn add(&mut self, tag: ChangeTag, line: &str) -> DiffLine {
        let fate = match tag {
            ChangeTag::Equal => LineFate::Same,
            ChangeTag::Insert => LineFate::Added,
            ChangeTag::Delete => LineFate::Removed,
        };
        self.added += u64::from(fate == LineFate::Added);
        self.removed += u64::from(fate == LineFate::Removed);
        let text = line.strip_suffix('\n');
        DiffLine { fate, text: seen(text.unwrap_or(line)), is_ended: text.is_some() }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn hunk(ops: &[DiffOp], lines: Vec<DiffLine>) -> Option<DiffHunk> {
    let (first, last) = (ops.first()?, ops.last()?);
    let (old, new) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
    Some(DiffHunk {
        old_start: old.start as u64,
        old_lines: old.len() as u64,
        new_start: new.start as u64,
        new_lines: new.len() as u64,
        lines,
    })
}

/// A line with every character shown that a reader would not see, or that would make them read something else. Tabs steer
/// nothing, and code is full of them.
fn seen(line: &str) -> String {
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> Vec<String> {
        let found = Lines::between(old, new);
        let lines = |hunk: &DiffHunk| hunk.lines.iter().cloned().map(String::from).collect::<Vec<_>>();
        found.hunks.iter().flat_map(|hunk| [vec![hunk.to_string()], lines(hunk)].concat()).collect()
    }

    #[test]
    fn lines_are_found_as_unified_diffs_find_them() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n2\n", "\ntwo\n").replace("\n19\n", "\n");
        let expected = [
            "@@ -1,5 +1,5 @@",
            " 1\n",
            "-2\n",
            "+two\n",
            " 3\n",
            " 4\n",
            " 5\n",
            "@@ -16,5 +16,4 @@",
            " 16\n",
            " 17\n",
            " 18\n",
            "-19\n",
            " 20\n",
        ];
        assert_eq!(told(&old, &new), expected);
        assert_eq!(told("", "a\nb"), ["@@ -0,0 +1,2 @@", "+a\n", "+b"]);
        assert_eq!(told("a\n", ""), ["@@ -1 +0,0 @@", "-a\n"]);
    }

    #[test]
    fn only_a_line_feed_ends_a_line_and_every_control_character_is_shown() {
        assert_eq!(told("", "a\rb\r"), ["@@ -0,0 +1 @@", "+a\\u{d}b\\u{d}"]);
        assert_eq!(told("a\n", "a\r\n"), ["@@ -1 +1 @@", "-a\n", "+a\\u{d}\n"]);
        assert_eq!(
            told("", "\u{2028}\u{85}\u{b}\u{c}\t\u{1b}[2J\n"),
            ["@@ -0,0 +1 @@", "+\\u{2028}\\u{85}\\u{b}\\u{c}\t\\u{1b}[2J\n"]
        );
    }
}
