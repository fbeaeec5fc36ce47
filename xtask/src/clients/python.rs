//! The clients in Python: the package `mcp`, in each era and by each way, with a person who answers its prompts, and `langchain-mcp-adapters`, over HTTP.
//!
//! Owns starting the scripts in `tests/clients` and counting their lines. A script that dies without telling of a
//! failure has failed, and one that told of no case has failed too.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::cases::Cases;
use super::site::{Site, TOKEN_VARIABLE};
use super::{ERAS, HOME, Programs, Served, Way, judge_host};
use crate::process;
use crate::repo::Repo;
use crate::test::Outcome;

/// Plays every case in both eras, both ways, those in which its person is asked too.
pub(crate) fn play(
    outcome: &mut Outcome,
    repo: &Repo,
    cases: &Cases,
    python: &Path,
    programs: &Programs,
) -> Result<()> {
    for (way, era) in Way::ALL.into_iter().flat_map(|way| ERAS.map(|era| (way, era))) {
        let client = format!("Python mcp, {}, {era}", way.named());
        let served = Served::new(cases, programs, way)?;
        let mut command = script(repo, python, "mcp_client.py", &served);
        command.arg(era).arg(repo.path(&format!("{HOME}/cases.json")));
        match served.site() {
            Some(site) => command.arg(site.url()),
            None => command.arg("--").args(served.command_line()),
        };
        run(outcome, &client, &mut command)?;
        judge_host(outcome, cases, &served, &client);
        let left = cases.host_complaints_after_asking(&served.project());
        outcome.case(&format!("{client}: the host's files after its person was asked"), &left);
    }
    Ok(())
}

/// Plays every case with `langchain-mcp-adapters`, which knows the older era only.
pub(crate) fn play_langchain(
    outcome: &mut Outcome,
    repo: &Repo,
    cases: &Cases,
    python: &Path,
    programs: &Programs,
) -> Result<()> {
    let client = "langchain-mcp-adapters, HTTP";
    let served = Served::new(cases, programs, Way::Http)?;
    let mut command = script(repo, python, "langchain_client.py", &served);
    command.arg(repo.path(&format!("{HOME}/cases.json"))).args(served.site().map(Site::url));
    run(outcome, client, &mut command)?;
    judge_host(outcome, cases, &served, client);
    Ok(())
}

fn script(repo: &Repo, python: &Path, name: &str, served: &Served) -> Command {
    let mut command = Command::new(python);
    command.arg(repo.path(&format!("{HOME}/{name}")));
    command.env("HOME", served.home()).env_remove("PADDOCK_HOME").env("PYTHONUNBUFFERED", "1");
    command.env(TOKEN_VARIABLE, served.site().map(Site::token).unwrap_or_default());
    command
}

fn run(outcome: &mut Outcome, client: &str, command: &mut Command) -> Result<()> {
    let mut told = Told::default();
    let status = process::stream(command, |line| told.line(line))?;
    told.add_to(outcome, client, status.success());
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
