//! The Python `mcp` client: one script, one conversation per era.
//!
//! Owns starting `tests/clients/mcp_client.py` and counting its lines. A script that dies without telling of a
//! failure has failed, and one that told of no case has failed too.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::cases::Cases;
use super::{ERAS, HOME, Served, judge_host};
use crate::process;
use crate::repo::Repo;
use crate::test::Outcome;

/// Plays every case in both eras.
pub(crate) fn play(outcome: &mut Outcome, repo: &Repo, cases: &Cases, python: &Path, binary: &Path) -> Result<()> {
    for era in ERAS {
        let client = format!("Python mcp, {era}");
        let served = Served::new(cases, binary)?;
        let mut command = Command::new(python);
        command.arg(repo.path(&format!("{HOME}/mcp_client.py")));
        command.arg(era).arg(repo.path(&format!("{HOME}/cases.json"))).arg("--").args(served.command_line());
        command.env("HOME", served.home()).env_remove("PADDOCK_HOME").env("PYTHONUNBUFFERED", "1");
        let mut told = Told::default();
        let status = process::stream(&mut command, |line| told.line(line))?;
        told.add_to(outcome, &client, status.success());
        judge_host(outcome, cases, &served, &client);
    }
    Ok(())
}

/// What the script's lines say.
#[derive(Debug, Default)]
struct Told {
    passed: u64,
    failed: Vec<String>,
}

impl Told {
    fn line(&mut self, line: &str) {
        if line.starts_with("ok ") {
            self.passed += 1;
        } else if let Some(failure) = line.strip_prefix("FAILED ") {
            self.failed.push(failure.to_owned());
        }
    }

    fn add_to(self, outcome: &mut Outcome, client: &str, success: bool) {
        let silent = self.failed.is_empty() && (!success || self.passed == 0);
        outcome.passed += self.passed;
        for failure in self.failed {
            outcome.fail(client, &failure);
        }
        if silent {
            outcome.fail(client, "the script ended without telling how its cases went");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[&str], success: bool) -> (u64, u64) {
        let mut told = Told::default();
        lines.iter().for_each(|line| told.line(line));
        let mut outcome = Outcome::default();
        told.add_to(&mut outcome, "x", success);
        (outcome.passed, outcome.failed)
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(counted(&["ok a", "noise", "FAILED b: why"], false), (1, 1));
        assert_eq!(counted(&["ok a", "ok b"], true), (2, 0));
    }

    #[test]
    fn a_silent_death_is_a_failure() {
        assert_eq!(counted(&["ok a"], false), (1, 1));
        assert_eq!(counted(&[], true), (0, 1));
    }
}
