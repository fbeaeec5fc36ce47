//! Prose: Markdown pages, comments and string literals.
//!
//! Owns what in them is prose: code in backticks and fenced blocks is not (its names are judged where they are
//! declared), nor is the table that lists the forbidden words themselves, known by its column `Not`.

use super::super::rust_text::{Piece, RustText};
use super::Finding;
use super::words::{IN_PROSE, ORDINARY, Synonym};

const CONTEXT: usize = 30;

pub(super) fn in_rust(parsed: &RustText) -> Vec<Finding> {
    in_pieces(parsed.pieces.iter().filter(|piece| !parsed.is_test(piece.line)))
}

pub(super) fn in_pieces<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> Vec<Finding> {
    let lines = pieces.into_iter().flat_map(|piece| numbered(&piece.text, piece.line));
    lines.flat_map(|(line, text)| in_line(line, text)).collect()
}

pub(super) fn in_markdown(page: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut fenced, mut glossary) = (false, false);
    for (line, text) in numbered(page, 1) {
        let fence = text.trim_start().starts_with("```");
        fenced ^= fence;
        glossary = text.starts_with('|') && (glossary || is_glossary_head(text));
        if !fence && !fenced && !glossary {
            found.extend(in_line(line, text));
        }
    }
    found
}

fn numbered(text: &str, first: usize) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(move |(at, line)| (first + at, line))
}

fn is_glossary_head(line: &str) -> bool {
    line.split('|').any(|cell| cell.trim() == "Not")
}

fn in_line(line: usize, text: &str) -> Vec<Finding> {
    let mut prose = without_placeholders(&without_code(text)).to_lowercase();
    for ordinary in ORDINARY {
        prose = prose.replace(ordinary, &" ".repeat(ordinary.len()));
    }
    let hits = IN_PROSE.iter().filter_map(|synonym| place_of(&prose, synonym).map(|at| (at, synonym)));
    hits.map(|(at, synonym)| Finding {
        line,
        word: synonym.word.to_owned(),
        instead: synonym.instead,
        context: around(&prose, at, synonym.word.len()),
    })
    .collect()
}

/// Blanks what stands between backticks; a lone backtick opens nothing.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let last = parts.len() - 1;
    let kept = parts.iter().enumerate().map(|(at, part)| if at % 2 == 1 && at < last { " " } else { part });
    kept.collect::<Vec<_>>().join("`")
}

/// Blanks the names between the braces of a format string.
fn without_placeholders(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let name = after.find(|found: char| !found.is_alphanumeric() && found != '_').unwrap_or(after.len());
        kept.push_str(before);
        kept.push('{');
        rest = if after[name..].starts_with(['}', ':']) { &after[name..] } else { after };
    }
    kept + rest
}

fn place_of(prose: &str, synonym: &Synonym) -> Option<usize> {
    let is_letter = |found: char| found.is_alphanumeric() || found == '_';
    prose.match_indices(synonym.word).map(|(at, _)| at).find(|at| {
        let before = prose[..*at].chars().next_back();
        let after = prose[at + synonym.word.len()..].chars().next();
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

fn around(prose: &str, at: usize, length: usize) -> String {
    let from = prose[..at].char_indices().rev().take(CONTEXT).last().map_or(at, |(start, _)| start);
    let rest = &prose[at + length..];
    let to = at + length + rest.char_indices().nth(CONTEXT).map_or(rest.len(), |(end, _)| end);
    prose[from..to].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(page: &str) -> Vec<String> {
        in_markdown(page).into_iter().map(|finding| finding.word).collect()
    }

    #[test]
    fn synonyms_are_found_whatever_their_case() {
        assert_eq!(words("A Folder, its Backend and the\nmount target"), ["folder", "backend", "mount target"]);
    }

    #[test]
    fn ordinary_english_passes() {
        for line in [
            "Run as root, with environment variables; the build target is `target/`.",
            "File permissions are kept. Permission denied. All rights reserved.",
            "A link's target; the Project Root; right away.",
        ] {
            assert!(words(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn code_is_not_prose() {
        assert!(words("Call `backend()`.\n\n```rust\nlet folder = 1;\n```\n").is_empty());
        assert_eq!(words("```text\nx\n```\nThe folder."), ["folder"]);
    }

    #[test]
    fn the_table_of_forbidden_words_may_name_them() {
        let table = "| Term | Means | Not |\n| --- | --- | --- |\n| Store | x | backend |\n\nThe backend.\n";
        assert_eq!(words(table).len(), 1);
    }

    #[test]
    fn names_in_a_format_string_are_code_and_the_words_between_are_not() {
        assert!(words("\"{folder}__{binding:?}\"").is_empty());
        assert_eq!(words("{x} folder {y}, a { folder"), ["folder"]);
    }

    #[test]
    fn messages_over_several_lines_know_their_line() {
        let source = "const A: &str = \"one\ntwo folder\";\n";
        assert_eq!(in_rust(&RustText::parse(source))[0].line, 2);
    }

    #[test]
    fn the_context_never_splits_a_letter() {
        let line = format!("{} folder {}", "é".repeat(50), "ü".repeat(50));
        assert!(in_line(1, &line)[0].context.contains(" folder "));
    }
}
