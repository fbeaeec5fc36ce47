//! Replacing text inside a file: exact, all or nothing, and blind to nothing.
//!
//! Works on bytes where the file is UTF-8, so that everything outside a match stays as it was, and
//! on decoded text where it is not, but only when encoding it again gives the same bytes. An old
//! text that is missing or stands in several places is an error that says where.

use memchr::memmem;
use thiserror::Error;

use crate::text::{TextKind, all_crlf, decode_exactly, encode, to_crlf};

/// How many places an error names.
const SHOWN: usize = 10;

/// The largest content an edit may make.
pub const MAX_EDITED: usize = 64 * 1024 * 1024;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text that is there.
    pub old: String,
    /// The text that takes its place.
    pub new: String,
    /// Replace every occurrence, not the only one.
    pub all: bool,
}

/// Why an edit does not apply. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// There is nothing to look for, or nothing to do.
    #[error("{0}")]
    Pointless(&'static str),
    /// The old text is not there.
    #[error("old_string is not in the file{}", nth(*.index))]
    Absent {
        /// Which replacement, counted from 0; nothing when there is only one.
        index: Option<usize>,
    },
    /// The old text is there more than once.
    #[error("old_string is in the file {count} times{}, on lines {}", nth(*.index), listed(.lines, *.count))]
    Ambiguous {
        /// Which replacement, counted from 0; nothing when there is only one.
        index: Option<usize>,
        /// How often it occurs.
        count: usize,
        /// The lines of the first occurrences.
        lines: Vec<usize>,
    },
    /// The result would be over [`MAX_EDITED`].
    #[error("the edit would make the file larger than 64 MiB")]
    TooLarge,
    /// The file is no text.
    #[error("the file is not text")]
    NotText,
    /// The file's encoding cannot hold the new text, or cannot be written back exactly.
    #[error("the file is encoded as {0}, and this edit cannot be written in it without changing other bytes")]
    Encoding(&'static str),
}

fn nth(index: Option<usize>) -> String {
    index.map(|i| format!(" (edit {})", i + 1)).unwrap_or_default()
}

fn listed(lines: &[usize], count: usize) -> String {
    let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let more = if count > lines.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// The new content and the number of replacements made.
///
/// ```
/// use paddock_core::{Replacement, edit};
/// let swap = Replacement { old: "b".into(), new: "B".into(), all: false };
/// assert_eq!(edit(b"a b c", &[swap]).unwrap(), (b"a B c".to_vec(), 1));
/// ```
pub fn edit(content: &[u8], edits: &[Replacement]) -> Result<(Vec<u8>, usize), EditError> {
    if edits.is_empty() {
        return Err(EditError::Pointless("there is no replacement to make"));
    }
    match TextKind::of(content) {
        TextKind::Binary => Err(EditError::NotText),
        TextKind::Utf8 => replace_all(content.to_vec(), edits),
        TextKind::Encoded(encoding) => {
            let refused = || EditError::Encoding(encoding.name());
            let text = decode_exactly(content, encoding).ok_or_else(refused)?;
            let (text, count) = replace_all(text.into_bytes(), edits)?;
            let text = String::from_utf8(text).map_err(|_| refused())?;
            Ok((encode(&text, encoding).ok_or_else(refused)?, count))
        }
    }
}

fn replace_all(mut content: Vec<u8>, edits: &[Replacement]) -> Result<(Vec<u8>, usize), EditError> {
    let mut total = 0;
    for (i, edit) in edits.iter().enumerate() {
        let index = (edits.len() > 1).then_some(i);
        let (next, count) = replace(&content, edit, index)?;
        content = next;
        total += count;
    }
    Ok((content, total))
}

fn replace(content: &[u8], edit: &Replacement, index: Option<usize>) -> Result<(Vec<u8>, usize), EditError> {
    if edit.old.is_empty() {
        return Err(EditError::Pointless("old_string is empty"));
    }
    if edit.old == edit.new {
        return Err(EditError::Pointless("old_string and new_string are the same"));
    }
    let (old, new) = in_line_endings_of(content, edit);
    let found: Vec<usize> = memmem::find_iter(content, old.as_bytes()).collect();
    match found.len() {
        0 => return Err(EditError::Absent { index }),
        1 if edit.all || !overlaps_itself(content, found[0], old.as_bytes()) => {}
        _ if edit.all => {}
        _ => return Err(ambiguous(content, old.as_bytes(), index)),
    }
    let grown = found.len().checked_mul(new.len()).and_then(|added| added.checked_add(content.len()));
    let kept = grown.map(|size| size - found.len() * old.len());
    let size = kept.filter(|size| *size <= MAX_EDITED).ok_or(EditError::TooLarge)?;
    let mut out = Vec::with_capacity(size);
    let mut from = 0;
    for at in &found {
        out.extend_from_slice(&content[from..*at]);
        out.extend_from_slice(new.as_bytes());
        from = at + old.len();
    }
    out.extend_from_slice(&content[from..]);
    Ok((out, found.len()))
}

/// Agents write `\n`. In a file whose every line ends in CRLF both texts are meant that way; in a
/// mixed one they are taken as written if that occurs, and as CRLF if only that does.
fn in_line_endings_of(content: &[u8], edit: &Replacement) -> (String, String) {
    let as_crlf = || (to_crlf(&edit.old), to_crlf(&edit.new));
    let as_written = || (edit.old.clone(), edit.new.clone());
    if all_crlf(content) {
        return as_crlf();
    }
    if !edit.old.contains('\n') || memmem::find(content, edit.old.as_bytes()).is_some() {
        return as_written();
    }
    let crlf = as_crlf();
    if memmem::find(content, crlf.0.as_bytes()).is_some() { crlf } else { as_written() }
}

/// "aa" stands in "aaa" twice, although a search that skips over what it found sees it once.
fn overlaps_itself(content: &[u8], at: usize, old: &[u8]) -> bool {
    memmem::find(&content[at + 1..], old).is_some()
}

fn ambiguous(content: &[u8], old: &[u8], index: Option<usize>) -> EditError {
    let mut count = 0;
    let mut lines = Vec::new();
    let (mut from, mut line, mut counted) = (0, 1, 0);
    while let Some(found) = memmem::find(&content[from..], old) {
        let at = from + found;
        count += 1;
        if lines.len() < SHOWN {
            line += memchr::memchr_iter(b'\n', &content[counted..at]).count();
            counted = at;
            lines.push(line);
        }
        from = at + 1;
    }
    EditError::Ambiguous { index, count, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(old: &str, new: &str, all: bool) -> Replacement {
        Replacement { old: old.to_owned(), new: new.to_owned(), all }
    }

    fn one(content: &[u8], old: &str, new: &str) -> Result<Vec<u8>, EditError> {
        edit(content, &[swap(old, new, false)]).map(|(bytes, _)| bytes)
    }

    #[test]
    fn the_only_match_is_replaced_and_nothing_else() {
        assert_eq!(one(b"a\xffb\nkeep\xfe", "keep", "kept").unwrap(), b"a\xffb\nkept\xfe");
        assert_eq!(edit(b"x x x", &[swap("x", "yy", true)]).unwrap(), (b"yy yy yy".to_vec(), 3));
    }

    #[test]
    fn several_matches_are_counted_and_placed_and_none_is_taken() {
        let error = one(b"a\nb a\n\na", "a", "z").unwrap_err();
        assert_eq!(error, EditError::Ambiguous { index: None, count: 3, lines: vec![1, 2, 4] });
        assert_eq!(error.to_string(), "old_string is in the file 3 times, on lines 1, 2, 4");
        assert!(matches!(one(b"aaa", "aa", "b"), Err(EditError::Ambiguous { count: 2, .. })));
    }

    #[test]
    fn line_endings_are_kept() {
        assert_eq!(one(b"a\r\nb\r\n", "a\nb", "x\ny").unwrap(), b"x\r\ny\r\n");
        assert_eq!(one(b"a\r\nb\r\n", "b", "x\ny").unwrap(), b"a\r\nx\r\ny\r\n");
        assert_eq!(one(b"a\r\nb\r\n", "a\r\nb", "x\r\ny").unwrap(), b"x\r\ny\r\n");
        assert_eq!(one(b"a\nb\r\nc\r\n", "b\nc", "x\ny").unwrap(), b"a\nx\r\ny\r\n");
        assert_eq!(one(b"a\nb\r\n", "a\nb", "x\ny").unwrap(), b"x\ny\r\n");
    }

    #[test]
    fn encodings_are_kept_or_the_edit_is_refused() {
        let latin = b"Stra\xdfe \xfcber Gr\xf6\xdfe, m\xf6glich";
        assert_eq!(one(latin, "über", "öber").unwrap(), b"Stra\xdfe \xf6ber Gr\xf6\xdfe, m\xf6glich");
        assert!(matches!(one(latin, "über", "日本"), Err(EditError::Encoding("windows-1252"))));
        let utf16: Vec<u8> = "\u{feff}añb\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let expected: Vec<u8> = "\u{feff}a日b\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(one(&utf16, "ñ", "日").unwrap(), expected);
        assert_eq!(one(b"\x7fELF\0", "ELF", "x"), Err(EditError::NotText));
    }

    #[test]
    fn an_edit_that_would_grow_without_bound_is_refused() {
        let content = vec![b'a'; 1 << 20];
        assert_eq!(edit(&content, &[swap("a", &"b".repeat(1 << 10), true)]), Err(EditError::TooLarge));
        assert_eq!(edit(&content, &[swap("a", "bc", true)]).unwrap().1, 1 << 20);
    }

    #[test]
    fn many_edits_apply_in_turn_or_not_at_all() {
        let edits = [swap("a", "b", false), swap("b", "c", false)];
        assert_eq!(edit(b"a", &edits).unwrap(), (b"c".to_vec(), 2));
        let error = edit(b"a", &[swap("a", "b", false), swap("z", "c", false)]).unwrap_err();
        assert_eq!(error, EditError::Absent { index: Some(1) });
        assert!(matches!(one(b"a", "", "b"), Err(EditError::Pointless(_))));
        assert!(matches!(one(b"a", "a", "a"), Err(EditError::Pointless(_))));
    }
}
