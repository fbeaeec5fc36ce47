//! Reading the result lines that Rust test binaries print.
//!
//! Owns the counting. It must never decide by the counts alone: a binary that crashed, or did not compile,
//! prints no result line, so the exit status has the last word.

use std::process::Command;

use anyhow::Result;

use super::Outcome;
use crate::process;

/// Runs a `cargo test` command, counting what its binaries report.
pub(crate) fn run(command: &mut Command) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let status = process::stream(command, |line| add_line(&mut outcome, line))?;
    Ok(settle(outcome, status.success(), &process::shown(command)))
}

fn settle(mut outcome: Outcome, success: bool, command: &str) -> Outcome {
    if !success && outcome.failed == 0 {
        outcome.fail(command, "it did not build, or a test binary died");
    }
    outcome
}

fn add_line(outcome: &mut Outcome, line: &str) {
    let Some(counts) = line.strip_prefix("test result: ") else {
        return;
    };
    let number_before = |word: &str| {
        let parts = counts.split(['.', ';']).map(str::trim);
        parts.filter_map(|part| part.strip_suffix(word)).find_map(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    outcome.passed += number_before("passed");
    outcome.failed += number_before("failed");
    outcome.ignored += number_before("ignored");
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
    fn result_lines_add_up() {
        let outcome = counted(&[
            "running 12 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ]);
        assert_eq!((outcome.passed, outcome.failed, outcome.ignored), (15, 2, 1));
    }

    #[test]
    fn other_lines_do_not_count() {
        assert_eq!(counted(&["test a::b ... ok", "9 passed; 9 failed"]), Outcome::default());
    }

    #[test]
    fn a_crash_without_a_result_line_is_a_failure() {
        assert_eq!(settle(Outcome::default(), false, "cargo test").failed, 1);
        assert_eq!(settle(Outcome::default(), true, "cargo test").failed, 0);
    }
}
