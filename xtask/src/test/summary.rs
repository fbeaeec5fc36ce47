//! The table at the end of `cargo xtask test`, and the list of suites.
//!
//! Owns how results read. The last line stands alone and is plain, so that scripts can take it.

use std::time::Duration;

use super::Outcome;
use super::suites::Suite;

/// One suite that ran, or could not.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) suite: &'static Suite,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

/// The table, what could not run, and the closing line.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut text = format!("{:<18}{:>8} / {:<8}{:>8}{:>8}\n", "suite", "minutes", "budget", "passed", "failed");
    for row in rows {
        text.push_str(&line(row));
    }
    text.push_str(&ran_with(rows));
    text.push_str(&could_not_run(rows));
    text.push_str(&failed(rows));
    text.push_str(&closing(rows));
    text
}

/// What `--list` prints.
pub(crate) fn list(suites: &[Suite]) -> String {
    let mut text = format!("{:<18}{:<9}{:<38}{}\n", "suite", "minutes", "needs", "what");
    for suite in suites {
        text.push_str(&format!("{:<18}{:<9}{:<38}{}\n", suite.name, suite.budget_minutes, suite.needs, suite.about));
    }
    text
}

fn line(row: &Row) -> String {
    let Row { suite, took, outcome } = row;
    let minutes = took.as_secs_f64() / 60.0;
    let over = minutes > suite.budget_minutes;
    let counts = match (outcome.passed + outcome.failed, outcome.could_not.is_empty()) {
        (0, false) => format!("{:>16}", "could not run"),
        _ => format!("{:>8}{:>8}", outcome.passed, outcome.failed),
    };
    let mark = if over { "  ! over budget" } else { "" };
    format!("{:<18}{minutes:>8.1} / {:<8}{counts}{mark}\n", suite.name, suite.budget_minutes)
}

fn ran_with(rows: &[Row]) -> String {
    let told = rows.iter().filter(|row| !row.outcome.ran_with.is_empty());
    told.map(|row| format!("\n{} ran with {}\n", row.suite.name, row.outcome.ran_with.join(", "))).collect()
}

fn could_not_run(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        for reason in &row.outcome.could_not {
            text.push_str(&format!("  {}: {reason}\n", row.suite.name));
        }
        if row.outcome.ignored > 0 {
            text.push_str(&format!("  {}: {} tests are marked as ignored\n", row.suite.name, row.outcome.ignored));
        }
    }
    if text.is_empty() { text } else { format!("\ncould not run:\n{text}") }
}

/// Repeated here, for whoever sees only the end of a long log.
fn failed(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        for failure in &row.outcome.failures {
            text.push_str(&format!("  {}: {}\n", row.suite.name, failure.trim_end().replace('\n', "\n    ")));
        }
    }
    if text.is_empty() { text } else { format!("\nfailed:\n{text}") }
}

fn closing(rows: &[Row]) -> String {
    let sum = |count: fn(&Outcome) -> u64| rows.iter().map(|row| count(&row.outcome)).sum::<u64>();
    let (passed, failed, skipped) = (sum(|o| o.passed), sum(|o| o.failed), sum(Outcome::skipped));
    match skipped {
        0 => format!("\n{passed} passed, {failed} failed\n"),
        _ => format!("\n{passed} passed, {failed} failed, {skipped} skipped\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::suites::SUITES;

    fn row(outcome: Outcome, seconds: u64) -> Row {
        Row { suite: &SUITES[0], took: Duration::from_secs(seconds), outcome }
    }

    #[test]
    fn the_last_line_stands_alone() {
        let text = render(&[
            row(Outcome { passed: 5, ..Outcome::default() }, 1),
            row(Outcome { passed: 2, failed: 1, ..Outcome::default() }, 1),
        ]);
        assert_eq!(text.lines().last(), Some("7 passed, 1 failed"));
        assert!(!text.contains("could not run"));
    }

    #[test]
    fn what_could_not_run_is_told_and_not_shown_as_passed() {
        let text = render(&[row(Outcome::could_not_run("no node here"), 1)]);
        assert!(text.contains("could not run:\n  format: no node here\n"), "{text}");
        assert_eq!(text.lines().last(), Some("0 passed, 0 failed, 1 skipped"));
    }

    #[test]
    fn what_failed_is_repeated_at_the_end() {
        let failures = vec!["cargo test: a::b\npanicked at 3".to_owned()];
        let text = render(&[row(Outcome { failed: 1, failures, ..Outcome::default() }, 1)]);
        assert!(text.contains("\nfailed:\n  format: cargo test: a::b\n    panicked at 3\n"), "{text}");
    }

    #[test]
    fn what_a_suite_ran_with_is_named() {
        let ran_with = vec!["postgres 15.1".to_owned(), "strace 6.1".to_owned()];
        let text = render(&[row(Outcome { passed: 1, ran_with, ..Outcome::default() }, 1)]);
        assert!(text.contains("\nformat ran with postgres 15.1, strace 6.1\n"), "{text}");
    }

    #[test]
    fn a_suite_over_its_budget_is_marked() {
        let budget = Duration::from_secs_f64(SUITES[0].budget_minutes * 60.0).as_secs();
        assert!(render(&[row(Outcome::of_check(true), budget + 1)]).contains("! over budget"));
        assert!(!render(&[row(Outcome::of_check(true), budget)]).contains("! over budget"));
    }

    #[test]
    fn the_list_names_every_suite() {
        let text = list(SUITES);
        assert!(SUITES.iter().all(|suite| text.contains(suite.name)));
    }
}
