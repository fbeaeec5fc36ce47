//! Counting what the runtimes report.
//!
//! It must never decide by the counts alone: a run that died before its last lines, or that ran nothing, has failed.

use std::process::Command;

use anyhow::Result;

use super::runtimes::Runtime;
use crate::process;
use crate::test::Outcome;

/// One number of a closing line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Passed(u64),
    Failed(u64),
    Ignored(u64),
}

impl Counted {
    /// What a word of any of the runtimes counts.
    pub(super) fn of(word: &str, number: &str) -> Option<Self> {
        let number = number.parse().ok()?;
        match word {
            "pass" | "passed" => Some(Self::Passed(number)),
            "fail" | "failed" | "cancelled" => Some(Self::Failed(number)),
            "skip" | "skipped" | "todo" | "ignored" => Some(Self::Ignored(number)),
            _ => None,
        }
    }
}

/// Runs the tests, passing through what they print and counting what they report.
pub(super) fn run(runtime: &Runtime, command: &mut Command) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let status = process::stream_beside(runtime.name, command, |line| add(&mut outcome, &(runtime.counted)(line)))?;
    Ok(settle(outcome, runtime.name, status.success()))
}

fn add(outcome: &mut Outcome, counts: &[Counted]) {
    for counted in counts {
        match counted {
            Counted::Passed(number) => outcome.passed += number,
            Counted::Failed(number) => outcome.failed += number,
            Counted::Ignored(number) => outcome.ignored += number,
        }
    }
}

fn settle(mut outcome: Outcome, name: &str, success: bool) -> Outcome {
    if outcome.failed > 0 {
        outcome.failures.push(format!("{name}: {} tests failed, see above", outcome.failed));
    } else if !success {
        outcome.fail(name, "it ended before it told how its tests went, or hung");
    } else if outcome.passed == 0 {
        outcome.fail(name, "no test ran");
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(counts: &[Counted], success: bool) -> (u64, u64, u64) {
        let mut outcome = Outcome::default();
        add(&mut outcome, counts);
        let outcome = settle(outcome, "Node", success);
        (outcome.passed, outcome.failed, outcome.ignored)
    }

    #[test]
    fn counts_add_up() {
        let counts = [Counted::Passed(3), Counted::Failed(1), Counted::Ignored(2), Counted::Passed(1)];
        assert_eq!(settled(&counts, false), (4, 1, 2));
    }

    #[test]
    fn a_run_that_died_or_ran_nothing_has_failed() {
        assert_eq!(settled(&[Counted::Passed(3)], false), (3, 1, 0));
        assert_eq!(settled(&[], true), (0, 1, 0));
        assert_eq!(settled(&[Counted::Passed(3)], true), (3, 0, 0));
    }
}
