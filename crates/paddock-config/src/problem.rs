//! What is wrong with a configuration, where, and what to do about it.
//!
//! All problems that can be found are reported together, each as `error:`, the place, the line with a caret
//! and `hint:`. These messages are for the person who wrote the file. They must never show the text of a
//! secret, and never put a character on a terminal that could steer it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use paddock_core::visible;

use crate::fault::Fault;
use crate::source::{Position, Source};

/// The most problems that are printed; the rest are counted.
const MOST_SHOWN: usize = 20;
/// The widest part of a line that is printed, in characters.
const WIDEST: usize = 160;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    fault: Fault,
    span: Option<Range<usize>>,
    related: Vec<(&'static str, Range<usize>)>,
}

impl Problem {
    pub(crate) fn new(fault: Fault, span: Range<usize>) -> Self {
        Self { fault, span: Some(span), related: Vec::new() }
    }

    /// A problem with the file as a whole.
    pub(crate) fn of_file(fault: Fault) -> Self {
        Self { fault, span: None, related: Vec::new() }
    }

    /// Also shows another place, after `note`.
    pub(crate) fn beside(mut self, note: &'static str, span: Range<usize>) -> Self {
        self.related.push((note, span));
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    fn start(&self) -> usize {
        self.span.as_ref().map_or(0, |span| span.start)
    }
}

/// Everything that is wrong with a configuration; displays as the text a person reads.
#[derive(Debug, Clone)]
pub struct ConfigError {
    source: Arc<Source>,
    problems: Vec<Problem>,
}

impl ConfigError {
    pub(crate) fn new(source: Arc<Source>, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::start);
        Self { source, problems }
    }

    pub(crate) fn one(source: &Arc<Source>, problem: Problem) -> Self {
        Self::new(Arc::clone(source), vec![problem])
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Each problem, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Where a problem is, unless it is about the file as a whole.
    #[must_use]
    pub fn position(&self, problem: &Problem) -> Option<Position> {
        let span = problem.span.as_ref()?;
        Some(self.source.position(span.start))
    }

    /// The name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        self.source.name()
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().take(MOST_SHOWN).enumerate() {
            if n > 0 {
                f.write_str("\n\n")?;
            }
            self.render(f, problem)?;
        }
        match self.problems.len().checked_sub(MOST_SHOWN) {
            Some(more) if more > 0 => write!(f, "\n\n… and {more} more"),
            _ => Ok(()),
        }
    }
}

impl ConfigError {
    fn render(&self, f: &mut fmt::Formatter<'_>, problem: &Problem) -> fmt::Result {
        write!(f, "error: {}", problem.fault)?;
        let secret = problem.fault.is_about_a_secret();
        match &problem.span {
            Some(span) if secret => self.place(f, span).map(|_| ())?,
            Some(span) => self.snippet(f, span)?,
            None => write!(f, "\n --> {}", self.source.name())?,
        }
        for (note, span) in &problem.related {
            write!(f, "\nnote: {note}")?;
            self.snippet(f, span)?;
        }
        write!(f, "\nhint: {}", problem.fault.hint())
    }

    fn place(&self, f: &mut fmt::Formatter<'_>, span: &Range<usize>) -> Result<Position, fmt::Error> {
        let start = self.source.position(span.start);
        write!(f, "\n --> {}:{}:{}", self.source.name(), start.line, start.column)?;
        Ok(start)
    }

    fn snippet(&self, f: &mut fmt::Formatter<'_>, span: &Range<usize>) -> fmt::Result {
        let start = self.place(f, span)?;
        let line = self.source.line(start.line);
        if may_hold_a_secret(line) {
            return Ok(());
        }
        let shown = Shown::new(line, start, self.source.position(span.end));
        let gutter = start.line.to_string();
        let blank = " ".repeat(gutter.len());
        write!(f, "\n{blank} |\n{gutter} | {}", shown.text)?;
        write!(f, "\n{blank} | {}{}", " ".repeat(shown.indent), "^".repeat(shown.carets))
    }
}

/// A key in plain text, or an address with a password in it. Such a line is named and not printed: the
/// message may end in a log.
fn may_hold_a_secret(line: &str) -> bool {
    let plain_key = line.match_indices("key").any(|(at, word)| {
        let value = line[at + word.len()..].trim_start().strip_prefix('=');
        value.is_some_and(|value| value.trim_start().starts_with(['"', '\'']))
    });
    let password = line.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    plain_key || password
}

/// The part of a line that is printed, and where its carets go.
struct Shown {
    text: String,
    indent: usize,
    carets: usize,
}

impl Shown {
    fn new(line: &str, start: Position, end: Position) -> Self {
        let characters: Vec<char> = line.chars().collect();
        let from = (start.column as usize - 1).min(characters.len());
        let to = if end.line == start.line { end.column as usize - 1 } else { characters.len() };
        let to = to.clamp(from, characters.len());
        // A line longer than a screen is cut so that the place is in it.
        let first = if from < WIDEST / 2 { 0 } else { from - WIDEST / 4 };
        let last = characters.len().min(first + WIDEST);
        let part = |range: Range<usize>| printable(&characters[range]);
        let width = |text: &str| text.chars().count();
        Self {
            text: part(first..last),
            indent: width(&part(first..from)),
            carets: width(&part(from..to.min(last).max(from))).max(1),
        }
    }
}

fn printable(characters: &[char]) -> String {
    let text: String = characters.iter().collect();
    visible(&text.replace('\t', "    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, problem: Problem) -> String {
        ConfigError::one(&Arc::new(Source::new("paddock.toml", text)), problem).to_string()
    }

    fn fault() -> Fault {
        Fault::Syntax("odd".into())
    }

    #[test]
    fn the_caret_stands_below_what_is_wrong() {
        assert_eq!(
            rendered("a = 1\n\tñb = 2\n", Problem::new(fault(), 7..10)),
            "error: odd\n --> paddock.toml:2:2\n  |\n2 |     ñb = 2\n  |     ^^\nhint: correct the TOML syntax at this place"
        );
    }

    #[test]
    fn the_end_of_the_file_can_be_wrong() {
        let text = rendered("a", Problem::new(fault(), 1..1));
        assert!(text.contains("--> paddock.toml:1:2\n  |\n1 | a\n  |  ^\n"), "{text}");
    }

    #[test]
    fn characters_that_steer_a_terminal_are_shown_escaped() {
        let text = rendered("a = \"\u{1b}[2J\u{202e}\" x", Problem::new(fault(), 15..16));
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(text.contains("1 | a = \"\\u{1b}[2J\\u{202e}\" x"), "{text}");
    }

    #[test]
    fn a_line_that_may_hold_a_secret_is_not_printed() {
        for line in ["key = \"sk-1234", "m = { key='sk-1234' } x", "url = \"postgres://me:sk-1234@host"] {
            let text = rendered(line, Problem::new(fault(), 0..3));
            assert!(!text.contains("sk-1234"), "{text}");
            assert!(text.contains("--> paddock.toml:1:1\nhint"), "{text}");
        }
        let reference = rendered("key = { secret = \"openai\" } x", Problem::new(fault(), 0..3));
        assert!(reference.contains("openai"), "{reference}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}HERE{}", "a".repeat(5000), "b".repeat(5000));
        let text = rendered(&line, Problem::new(fault(), 5000..5004));
        let lines: Vec<&str> = text.lines().collect();
        let column = lines[4].find('^').unwrap();
        assert_eq!(&lines[3][column..column + 4], "HERE");
        assert!(lines.iter().all(|line| line.len() < 200));
    }

    #[test]
    fn many_problems_are_counted() {
        let source = Arc::new(Source::new("paddock.toml", "x"));
        let error = ConfigError::new(source, vec![Problem::new(fault(), 0..1); 23]);
        assert!(error.to_string().ends_with("\n\n… and 3 more"));
        assert_eq!(error.to_string().matches("error:").count(), 20);
    }
}
