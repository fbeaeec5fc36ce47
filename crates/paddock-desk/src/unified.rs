//! Two contents as a unified diff for a person's terminal.
//!
//! What agents wrote is in the lines, so every character that could steer a terminal or deceive a reader is shown as
//! an escape. Long diffs are cut, and said to be.

use std::fmt::Write as _;

use paddock_core::{TextKind, visible};
use similar::TextDiff;

/// The largest content that is compared line by line.
pub const LARGEST: u64 = 4 * 1024 * 1024;

/// The most lines that are shown of one diff.
const SHOWN: usize = 200;

/// What is different, with a name for each side.
pub fn diff(old: (&str, &[u8]), new: (&str, &[u8])) -> String {
    let ((old_name, old), (new_name, new)) = (old, new);
    let names = format!("--- {}\n+++ {}\n", visible(old_name), visible(new_name));
    let (Some(old_text), Some(new_text)) = (TextKind::of(old).decode(old), TextKind::of(new).decode(new)) else {
        return format!("{names}no text: {} bytes and {} bytes\n", old.len(), new.len());
    };
    let hunks = TextDiff::from_lines(old_text.as_str(), new_text.as_str()).unified_diff().to_string();
    let mut out = names;
    // Not `lines`: it would keep quiet about a carriage return at the end of one.
    for line in hunks.split_terminator('\n').take(SHOWN) {
        let _ = writeln!(out, "{}", harmless(line));
    }
    let more = hunks.split_terminator('\n').count().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(out, "… and {more} more lines");
    }
    out
}

/// A line that others wrote, with everything that could steer a terminal or deceive who reads it written as an escape. Tabs
/// steer nothing, and code is full of them.
pub fn harmless(line: &str) -> String {
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_escaped() {
        let told = diff(("a", b"one\n"), ("b", "\u{1b}[2Jtwo\t\u{202e}x\n".as_bytes()));
        assert_eq!(told, "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+\\u{1b}[2Jtwo\t\\u{202e}x\n");
        let ends = diff(("a", b"one\n"), ("b", b"one\r\n"));
        assert_eq!(ends, "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+one\\u{d}\n");
    }

    #[test]
    fn long_ones_are_cut_and_binary_ones_are_counted() {
        let many: String = (0..500).map(|n| format!("{n}\n")).collect();
        let told = diff(("a", b""), ("b", many.as_bytes()));
        assert!(told.ends_with("… and 301 more lines\n"), "{told}");
        assert_eq!(told.lines().count(), 203);
        assert!(diff(("a", b"\0\x01"), ("b", b"x")).ends_with("no text: 2 bytes and 1 bytes\n"));
    }
}
