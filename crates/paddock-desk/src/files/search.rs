//! Searching contents, with the machinery that an agent's own search has.
//!
//! A page holds whole files: one that would be cut is left for the next page. Only a file that fills a page by itself is cut, and says so.

use paddock_core::{Browse, Hit, LogicalPath, Operation, Outcome, PathGlob, Search};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Spot, refused};
use crate::at_once::at_once;
use crate::failure::{Failure, Result};

const USUAL: usize = 100;
const MOST: usize = 1000;
const LONGEST: usize = 4096;
/// The longest line that is shown whole.
const LINE: usize = 1000;

/// What to look for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sought {
    /// The text, or the regular expression.
    pub q: String,
    /// Is it a regular expression?
    #[serde(default)]
    pub regex: bool,
    /// Without regard to case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Only in files whose path matches this pattern, such as `**/*.rs`.
    #[serde(default)]
    pub glob: Option<String>,
    /// Also in what `.gitignore` leaves out.
    #[serde(default)]
    pub include_ignored: bool,
    /// Behind this file: the `next` of the page before.
    #[serde(default)]
    pub after: Option<String>,
    /// At most so many lines.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// A page of what was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Found {
    /// Where it was looked for.
    pub path: String,
    /// The files, by their paths.
    pub files: Vec<FileHits>,
    /// How many lines.
    pub matches: usize,
    /// Where the next page begins: `after` takes it.
    pub next: Option<String>,
    /// Workspaces that could not be searched.
    pub unreachable: Vec<String>,
}

/// A file with lines that match.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileHits {
    /// The file.
    pub path: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// Has it more of them?
    pub cut: bool,
}

/// A line that matches.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    /// Its number, counted from 1.
    pub line: u64,
    /// Its text, cut where it is very long.
    pub text: String,
}

/// Looks for a text below a path.
///
/// # Errors
/// When it is denied, or the pattern is none.
pub fn search(spot: &Spot, sought: &Sought) -> Result<Found> {
    if sought.q.is_empty() || sought.q.len() > LONGEST {
        let hint = format!("say what to look for, in at most {LONGEST} bytes");
        return Err(Failure::misused("that would match every line, or is too long to look for", hint));
    }
    let limit = at_once(sought.limit, USUAL, MOST)?;
    let search = Search {
        pattern: if sought.regex { sought.q.clone() } else { literally(&sought.q) },
        ignore_case: sought.ignore_case,
        glob: sought.glob.as_deref().filter(|glob| !glob.is_empty()).map(glob).transpose()?,
        context: 0,
        limit,
        skip_ignored: !sought.include_ignored,
        after: sought.after.as_deref().map(|after| Ok::<LogicalPath, Failure>(spot.at(after)?.path)).transpose()?,
    };
    let hits = match spot.person().look(Operation::Search { path: spot.path.clone(), search }) {
        Ok(Outcome::Hits(hits)) => hits,
        Ok(_) => return Err(Failure::failed("the search answered something else", "please report this")),
        Err(error) => return Err(refused(&error)),
    };
    let mut files = by_file(hits.found);
    let next = hits.more.then(|| cut_last(&mut files)).flatten();
    Ok(Found {
        path: spot.path.to_string(),
        matches: files.iter().map(|file| file.lines.len()).sum(),
        files,
        next,
        unreachable: hits.unreachable.iter().map(ToString::to_string).collect(),
    })
}

/// Files by their names.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Named {
    /// Their paths.
    pub paths: Vec<String>,
    /// Are there more of them?
    pub more: bool,
}

/// Looks below a path for files whose name has a text in it, in any case. A text with a slash is looked for in their paths.
///
/// # Errors
/// When the policy does not allow it, or the text is too long to look for.
pub fn named(spot: &Spot, text: &str, include_ignored: bool, limit: usize) -> Result<Named> {
    let browse = Browse {
        path: spot.path.clone(),
        depth: None,
        skip_ignored: !include_ignored,
        after: None,
        limit: limit.clamp(1, MOST),
    };
    let glob = glob(&holding(text))?;
    match spot.person().look(Operation::Find { browse, glob }) {
        Ok(Outcome::Entries(entries)) => Ok(Named {
            paths: entries.found.iter().filter(|one| one.plain).map(|one| one.path.to_owned()).collect(),
            more: entries.more,
        }),
        Ok(_) => Err(Failure::failed("the search answered something else", "please report this")),
        Err(error) => Err(refused(&error)),
    }
}

/// The pattern of paths that have the text in them. What means something in a pattern stands for any one character.
fn holding(text: &str) -> String {
    let text = text.trim_start_matches('/');
    let lead = if text.contains('/') { "**/" } else { "" };
    let middle: String = text
        .chars()
        .map(|letter| match letter {
            '*' | '?' | '[' | ']' | '{' | '}' | ',' | '\\' => "?".to_owned(),
            letter if letter.is_ascii_alphabetic() => {
                format!("[{}{}]", letter.to_ascii_lowercase(), letter.to_ascii_uppercase())
            }
            letter => letter.to_string(),
        })
        .collect();
    format!("{lead}*{middle}*")
}

fn glob(text: &str) -> Result<PathGlob> {
    PathGlob::parse(text).map_err(|error| {
        let text = format!("\"{}\" is no pattern for paths: {error}", paddock_core::visible(text));
        Failure::misused(text, "such as **/*.rs")
    })
}

fn by_file(hits: Vec<Hit>) -> Vec<FileHits> {
    let mut files: Vec<FileHits> = Vec::new();
    for hit in hits {
        let line = Line { line: hit.line, text: shortened(hit.text) };
        match files.last_mut() {
            Some(last) if last.path == hit.path => last.lines.push(line),
            _ => files.push(FileHits { path: hit.path, lines: vec![line], cut: false }),
        }
    }
    files
}

/// Leaves the last file to the next page, or cuts it where it is the only one; answers where to go on.
fn cut_last(files: &mut Vec<FileHits>) -> Option<String> {
    if files.len() > 1 {
        files.pop();
    } else if let Some(only) = files.last_mut() {
        only.cut = true;
    }
    files.last().map(|file| file.path.clone())
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A text as the regular expression that matches just it.
fn literally(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(counts: &[(&str, u64)]) -> Vec<FileHits> {
        let hit = |path: &str, line| Hit { path: path.to_owned(), line, text: String::new(), matched: true };
        by_file(counts.iter().flat_map(|(path, lines)| (1..=*lines).map(move |line| hit(path, line))).collect())
    }

    #[test]
    fn a_page_ends_behind_a_whole_file() {
        let mut files = hits(&[("/a", 2), ("/b", 1), ("/c", 3)]);
        assert_eq!(cut_last(&mut files).as_deref(), Some("/b"));
        assert_eq!(files.len(), 2);
        let mut only = hits(&[("/a", 5)]);
        assert_eq!(cut_last(&mut only).as_deref(), Some("/a"));
        assert!(only[0].cut);
    }

    #[test]
    fn a_text_is_looked_for_as_it_is() {
        assert_eq!(literally("a.b(c) é"), "a\\.b\\(c\\) é");
    }

    #[test]
    fn long_lines_are_cut_at_a_character() {
        assert_eq!(shortened("é".repeat(LINE)).chars().count(), LINE);
        assert_eq!(shortened("é".repeat(LINE + 1)).chars().count(), LINE + 1);
        assert!(shortened("é".repeat(LINE + 1)).ends_with('…'));
    }
}
