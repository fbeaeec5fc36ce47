//! What came of one suite: how many tests passed and failed, and what could not run.
//!
//! Owns the rules that keep a count honest: an unsuccessful run always counts at least one failure, and a
//! suite that should run tests but ran none has failed.

/// The counts of one suite.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Tests that were there and were not run.
    pub(crate) ignored: u64,
    /// A line for each failure that the suite itself does not print.
    pub(crate) failures: Vec<String>,
    /// What this machine could not run, with the reason.
    pub(crate) could_not: Vec<String>,
    /// What of this machine it ran with, by name and version.
    pub(crate) ran_with: Vec<String>,
}

impl Outcome {
    /// One check, from whether its program succeeded.
    pub(crate) fn of_check(success: bool) -> Self {
        Self { passed: u64::from(success), failed: u64::from(!success), ..Self::default() }
    }

    /// The suite itself broke before it could count.
    pub(crate) fn broken(reason: String) -> Self {
        Self { failed: 1, failures: vec![reason], ..Self::default() }
    }

    /// Nothing of it could run here.
    pub(crate) fn could_not_run(reason: impl Into<String>) -> Self {
        Self { could_not: vec![reason.into()], ..Self::default() }
    }

    pub(crate) fn pass(&mut self, what: &str) {
        self.passed += 1;
        println!("ok      {what}");
    }

    pub(crate) fn fail(&mut self, what: &str, why: &str) {
        self.failed += 1;
        self.failures.push(format!("{what}: {why}"));
    }

    /// One case: passed when nobody complains.
    pub(crate) fn case(&mut self, what: &str, complaints: &[String]) {
        match complaints {
            [] => self.pass(what),
            _ => {
                println!("FAILED  {what}");
                self.fail(what, &complaints.join("; "));
            }
        }
    }

    /// Takes in what came of another part of the same suite.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.failures.extend(other.failures);
        self.could_not.extend(other.could_not);
        self.ran_with.extend(other.ran_with);
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.ignored + self.could_not.len() as u64
    }

    /// Makes silence visible: a run that counted nothing and explained nothing has failed.
    pub(crate) fn checked(mut self, runs_tests: bool) -> Self {
        if runs_tests && self.passed + self.failed == 0 && self.could_not.is_empty() {
            self.fail("no test ran", "this suite is expected to run some");
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_ran_nothing_has_failed() {
        assert_eq!(Outcome::default().checked(true).failed, 1);
        assert_eq!(Outcome { ignored: 4, ..Outcome::default() }.checked(true).failed, 1);
        assert_eq!(Outcome::default().checked(false).failed, 0);
    }

    #[test]
    fn parts_of_a_suite_add_up_and_none_is_forgotten() {
        let part = |name: &str| Outcome {
            passed: 1,
            failed: 2,
            ignored: 3,
            failures: vec![format!("{name} failed")],
            could_not: vec![format!("{name} could not")],
            ran_with: vec![format!("{name} 1.0")],
        };
        let mut whole = part("a");
        whole.add(part("b"));
        assert_eq!((whole.passed, whole.failed, whole.ignored), (2, 4, 6));
        assert_eq!(whole.failures, ["a failed", "b failed"]);
        assert_eq!(whole.could_not, ["a could not", "b could not"]);
        assert_eq!(whole.ran_with, ["a 1.0", "b 1.0"]);
    }

    #[test]
    fn what_could_not_run_is_skipped_neither_passed_nor_failed() {
        let outcome = Outcome::could_not_run("no network").checked(true);
        assert_eq!((outcome.passed, outcome.failed, outcome.skipped()), (0, 0, 1));
    }
}
