//! Reading what test programs print: how many of their tests passed, and what the failed ones said.
//!
//! Owns the counting, for every kind of program, and the excerpts that the summary repeats: whoever has only the end of a long
//! log must still see what failed. It must never decide by the counts alone: a program that crashed, or did not compile, prints
//! no closing line, so the exit status has the last word.

use std::process::Command;

use anyhow::Result;

use super::Outcome;
use crate::process;

/// How many lines of a failed test are repeated in the summary.
const EXCERPT: usize = 14;

/// How a kind of program reports.
#[derive(Debug)]
pub(crate) struct Report {
    /// What a closing line says, if it is one.
    pub(crate) counts: fn(&str) -> Vec<Counted>,
    /// The name in a line that tells of a failed test, if it is one.
    pub(crate) failed: fn(&str) -> Option<&str>,
    /// On which side of that line the test's own words are.
    pub(crate) words: Words,
}

/// Where a failed test's own words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    Before,
    After,
}

/// One number of a closing line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Passed(u64),
    Failed(u64),
    Ignored(u64),
}

impl Counted {
    /// What a word of any of the programs counts.
    fn of(word: &str, number: &str) -> Option<Self> {
        let number = number.parse().ok()?;
        match word {
            "pass" | "passed" => Some(Self::Passed(number)),
            "fail" | "failed" | "cancelled" => Some(Self::Failed(number)),
            "skip" | "skipped" | "todo" | "ignored" => Some(Self::Ignored(number)),
            _ => None,
        }
    }
}

/// Test binaries of Rust.
pub(crate) const LIBTEST: Report = Report { counts: of_libtest, failed: failed_in_libtest, words: Words::After };
/// Node's own runner, with its reporter `spec`.
pub(crate) const NODE: Report = Report { counts: of_node, failed: failed_in_node, words: Words::After };
pub(crate) const BUN: Report = Report { counts: of_bun, failed: failed_in_bun, words: Words::Before };
pub(crate) const DENO: Report = Report { counts: of_deno, failed: failed_in_deno, words: Words::After };

/// Runs the tests, passing through what they print and reading it.
pub(crate) fn run(report: &'static Report, command: &mut Command) -> Result<Outcome> {
    let mut reader = Reader::of(report);
    let status = process::stream(command, |line| reader.read(line))?;
    Ok(reader.settle(&process::shown(command), status.success()))
}

/// The same for one of several programs at once.
pub(crate) fn run_beside(report: &'static Report, name: &str, command: &mut Command) -> Result<Outcome> {
    let mut reader = Reader::of(report);
    let status = process::stream_beside(name, command, |line| reader.read(line))?;
    Ok(reader.settle(name, status.success()))
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; …`
fn of_libtest(line: &str) -> Vec<Counted> {
    let Some(counts) = line.strip_prefix("test result: ") else { return Vec::new() };
    let pairs = counts.split(['.', ';']).filter_map(|part| part.trim().split_once(' '));
    pairs.filter_map(|(number, word)| Counted::of(word, number)).collect()
}

/// `ℹ pass 12`
fn of_node(line: &str) -> Vec<Counted> {
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["ℹ", word, number] => Counted::of(word, number).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// ` 12 pass`
fn of_bun(line: &str) -> Vec<Counted> {
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [number, word] => Counted::of(word, number).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// `ok | 12 passed | 0 failed | 1 ignored (3s)`
fn of_deno(line: &str) -> Vec<Counted> {
    let Some(parts) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) else {
        return Vec::new();
    };
    let words = parts.split('|').map(|part| part.split_whitespace().take(2).collect::<Vec<_>>());
    words.filter_map(|words| Counted::of(words.get(1)?, words.first()?)).collect()
}

/// `---- module::name stdout ----`
fn failed_in_libtest(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// `test at tests/stores.test.js:12:1`, of the closing list: the name comes with the words.
fn failed_in_node(line: &str) -> Option<&str> {
    line.strip_prefix("test at ")
}

/// `(fail) name [12.00ms]`
fn failed_in_bun(line: &str) -> Option<&str> {
    line.strip_prefix("(fail) ")
}

/// `name => ./tests/stores.test.js:12:1`, of the closing lists: the words come with the first.
fn failed_in_deno(line: &str) -> Option<&str> {
    line.contains(" => ./").then_some(line)
}

/// What was read so far.
struct Reader {
    report: &'static Report,
    outcome: Outcome,
    failed: Vec<FailedTest>,
    /// The last lines, for programs whose tests speak before they are named.
    last: Vec<String>,
}

struct FailedTest {
    name: String,
    words: Vec<String>,
}

impl Reader {
    fn of(report: &'static Report) -> Self {
        Self { report, outcome: Outcome::default(), failed: Vec::new(), last: Vec::new() }
    }

    fn read(&mut self, line: &str) {
        self.count(line);
        match (self.report.failed)(line) {
            Some(name) if self.failed.iter().all(|known| known.name != name) => self.begin(name),
            Some(_) => {}
            None => self.keep(line),
        }
    }

    fn count(&mut self, line: &str) {
        for counted in (self.report.counts)(line) {
            match counted {
                Counted::Passed(number) => self.outcome.passed += number,
                Counted::Failed(number) => self.outcome.failed += number,
                Counted::Ignored(number) => self.outcome.ignored += number,
            }
        }
    }

    fn begin(&mut self, name: &str) {
        self.failed.push(FailedTest { name: name.to_owned(), words: std::mem::take(&mut self.last) });
    }

    fn keep(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match self.report.words {
            Words::After => {
                if let Some(test) = self.failed.last_mut().filter(|test| test.words.len() < EXCERPT) {
                    test.words.push(line.to_owned());
                }
            }
            Words::Before => {
                self.last.push(line.to_owned());
                let surplus = self.last.len().saturating_sub(EXCERPT);
                self.last.drain(..surplus);
            }
        }
    }

    fn settle(mut self, what: &str, success: bool) -> Outcome {
        let told = self.failed.iter().map(|test| format!("{what}: {}\n{}", test.name, test.words.join("\n")));
        self.outcome.failures.extend(told);
        if self.outcome.failed == 0 && !success {
            self.outcome.fail(what, "it did not build, died before it told how its tests went, or hung");
        }
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Counted::{Failed, Ignored, Passed};

    fn read(report: &'static Report, lines: &[&str], success: bool) -> Outcome {
        let mut reader = Reader::of(report);
        lines.iter().for_each(|line| reader.read(line));
        reader.settle("tests", success)
    }

    #[test]
    fn closing_lines_add_up() {
        let lines = [
            "running 12 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ];
        let outcome = read(&LIBTEST, &lines, false);
        assert_eq!((outcome.passed, outcome.failed, outcome.ignored), (15, 2, 1));
    }

    #[test]
    fn the_closing_lines_of_each_are_read() {
        assert_eq!(of_node("ℹ pass 6"), [Passed(6)]);
        assert_eq!(of_node("ℹ cancelled 1"), [Failed(1)]);
        assert_eq!(of_bun(" 12 pass"), [Passed(12)]);
        assert_eq!(of_bun(" 1 fail"), [Failed(1)]);
        let deno = "FAILED | 10 passed (3 steps) | 2 failed | 1 ignored (4s)";
        assert_eq!(of_deno(deno), [Passed(10), Failed(2), Ignored(1)]);
    }

    #[test]
    fn what_a_test_prints_is_no_count() {
        let lines = [
            "12",
            "it can pass",
            "ℹ pass 3 more",
            "ℹ duration_ms 12.5",
            "running 2 tests from ./a.js",
            "",
            "test a ... ok",
        ];
        for report in [&LIBTEST, &NODE, &BUN, &DENO] {
            assert_eq!(read(report, &lines, true), Outcome::default(), "{report:?}");
        }
    }

    #[test]
    fn a_program_that_died_has_failed() {
        for report in [&LIBTEST, &NODE, &BUN, &DENO] {
            assert_eq!(read(report, &[], false).failed, 1);
            assert_eq!(read(report, &[], true).failed, 0);
        }
    }

    #[test]
    fn what_a_failed_test_said_is_kept() {
        let told = [
            (&LIBTEST, &["---- a::b stdout ----", "", "panicked at 3", "failures:", "    a::b"][..]),
            (&NODE, &["✖ b (1ms)", "✖ failing tests:", "test at a::b", "✖ b (1ms)", "  panicked at 3"]),
            (&BUN, &["(pass) a", "panicked at 3", "(fail) a::b [1ms]"]),
            (
                &DENO,
                &["a::b ... FAILED (1ms)", "a::b => ./x.js:1:2", "panicked at 3", " FAILURES ", "a::b => ./x.js:1:2"],
            ),
        ];
        for (report, lines) in told {
            let failures = read(report, lines, false).failures;
            assert!(failures[0].starts_with("tests: a::b") && failures[0].contains("panicked at 3"), "{failures:?}");
            // The second is that no closing line came.
            assert_eq!(failures.len(), 2, "{failures:?}");
        }
    }

    #[test]
    fn a_talkative_test_does_not_fill_the_summary() {
        let lines: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
        let mut said: Vec<&str> = vec!["---- a stdout ----"];
        said.extend(lines.iter().map(String::as_str));
        assert_eq!(read(&LIBTEST, &said, false).failures[0].lines().count(), 1 + EXCERPT);
    }
}
