//! The API, asked by schemathesis: everything that its OpenAPI document allows, and much that it does not.
//!
//! Owns which checks there are: no answer of the server may be a 5xx, of a status or content type that is not documented, or of another shape. Streams that
//! never end are left out.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::cases::Cases;
use super::site::Site;
use super::{Programs, Served, Way};
use crate::process;
use crate::test::Outcome;

const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth";

/// Asks the API of a fresh project.
pub(crate) fn play(outcome: &mut Outcome, cases: &Cases, python: &Path, programs: &Programs) -> Result<()> {
    let served = Served::new(cases, programs, Way::Http)?;
    let Some(site) = served.site() else { return Ok(()) };
    let token = Site::token_of_api(&programs.paddock, &served.project(), &served.home().join("system"))?;
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command.arg("run").arg(format!("{}/api/v1/openapi.json", site.address()));
    command.arg("--header").arg(format!("Authorization: Bearer {token}"));
    // The stream never ends; a token that is revoked would end the run.
    command.args(["--exclude-path", "/api/v1/events", "--exclude-path", "/api/v1/tokens/{id}"]);
    command.args(["--phases", "coverage,fuzzing", "--max-examples", "15", "--checks", CHECKS]);
    command.args(["--continue-on-failure", "--request-timeout", "30", "--warnings", "off"]);
    command.current_dir(served.home()).env("HOME", served.home()).env("PYTHONUNBUFFERED", "1");
    let mut told = Told::default();
    let status = process::stream(&mut command, |line| told.line(line))?;
    told.add_to(outcome, status.success());
    Ok(())
}

/// What its last lines say.
#[derive(Debug, Default)]
struct Told {
    cases: u64,
    failures: Vec<String>,
}

impl Told {
    fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(generated) = line.split(" generated").next().filter(|_| line.contains(" generated")) {
            self.cases = generated.trim().replace(',', "").parse().unwrap_or(self.cases);
        } else if let Some(failure) = line.strip_prefix("❌ ST") {
            self.failures.push(format!("ST{failure}"));
        }
    }

    fn add_to(self, outcome: &mut Outcome, success: bool) {
        let client = "schemathesis";
        for failure in &self.failures {
            outcome.fail(client, failure);
        }
        if success && self.cases > 0 {
            println!("ok      {client}: {} requests", self.cases);
            outcome.passed += 1;
        } else if self.failures.is_empty() {
            outcome.fail(client, "it ended without telling how its cases went");
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
        told.add_to(&mut outcome, success);
        (outcome.passed, outcome.failed)
    }

    #[test]
    fn its_summary_is_read() {
        assert_eq!(counted(&["  2591 generated, 2591 passed"], true), (1, 0));
        assert_eq!(counted(&["  ❌ ST108 Response violates schema: 1", "  10 generated, 1 found 1"], false), (0, 1));
        assert_eq!(counted(&["noise"], true), (0, 1));
        assert_eq!(counted(&["  10 generated"], false), (0, 1));
    }
}
