//! Reading the closing lines of Node's own test runner.
//!
//! Owns the counting. It must never decide by the counts alone: a run that died before its summary has failed.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::test::Outcome;

/// Runs the tests, passing through what they print and counting what they report.
pub(crate) fn run(command: &mut Command) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let status = process::stream(command, |line| add_line(&mut outcome, line))?;
    Ok(settle(outcome, status.success()))
}

fn settle(mut outcome: Outcome, success: bool) -> Outcome {
    if !success && outcome.failed == 0 {
        outcome.fail("the browser tests", "they ended without a summary");
    }
    outcome
}

fn add_line(outcome: &mut Outcome, line: &str) {
    let mut words = line.split_whitespace();
    let (Some("ℹ"), Some(what), Some(number), None) = (words.next(), words.next(), words.next(), words.next()) else {
        return;
    };
    let Ok(number) = number.parse::<u64>() else { return };
    match what {
        "pass" => outcome.passed += number,
        "fail" | "cancelled" => outcome.failed += number,
        "skipped" | "todo" => outcome.ignored += number,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[&str]) -> Outcome {
        let mut outcome = Outcome::default();
        lines.iter().for_each(|line| add_line(&mut outcome, line));
        outcome
    }

    #[test]
    fn the_summary_is_read() {
        let outcome =
            counted(&["✔ a page (12ms)", "ℹ tests 9", "ℹ pass 6", "ℹ fail 1", "ℹ cancelled 1", "ℹ skipped 1"]);
        assert_eq!((outcome.passed, outcome.failed, outcome.ignored), (6, 2, 1));
    }

    #[test]
    fn what_a_test_prints_is_no_summary() {
        assert_eq!(counted(&["ℹ pass 3 more", "pass 3", "ℹ duration_ms 12.5"]), Outcome::default());
    }

    #[test]
    fn a_run_that_died_has_failed() {
        assert_eq!(settle(Outcome::default(), false).failed, 1);
        assert_eq!(settle(Outcome::default(), true).failed, 0);
    }
}
