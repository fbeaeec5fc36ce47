//! The API, asked by schemathesis: everything that its OpenAPI document allows, and much that it does not.
//!
//! Owns which checks there are: no answer of the server may be a 5xx, of a status or content type that is not documented, or of another shape. Streams that
//! never end are left out.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::cases::Cases;
use super::site::Site;
use super::{Programs, Served, Way};
use crate::process;
use crate::test::Outcome;

const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth";

/// Where it finds the document.
const DOCUMENT: &str = "openapi.json";

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// A program, with a token.
    Program,
    /// A person who signed in, from a page of the console: may also change the configuration and make tokens.
    Person,
}

/// Asks the API, each of them that of a fresh project.
pub(crate) fn play(outcome: &mut Outcome, cases: &Cases, python: &Path, programs: &Programs) -> Result<()> {
    [Who::Program, Who::Person].into_iter().try_for_each(|who| ask(outcome, cases, python, programs, who))
}

fn ask(outcome: &mut Outcome, cases: &Cases, python: &Path, programs: &Programs, who: Who) -> Result<()> {
    let served = Served::new(cases, programs, Way::Http)?;
    let Some(site) = served.site() else { return Ok(()) };
    who.sign_in(&served, site)?;
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command.args(["run", DOCUMENT, "--url", site.address()]);
    // As a browser says of what a page of the console sends.
    command.args(["--header", "Sec-Fetch-Site: same-origin"]);
    // The stream never ends.
    command.args(["--exclude-path", "/api/v1/events"]);
    command.args(["--phases", "coverage,fuzzing", "--max-examples", "15", "--checks", CHECKS]);
    command.args(["--continue-on-failure", "--request-timeout", "30", "--warnings", "off"]);
    command.current_dir(served.home()).env("HOME", served.home()).env("PYTHONUNBUFFERED", "1");
    let mut told = Told::default();
    let status = process::stream(&mut command, |line| told.line(line))?;
    told.add_to(outcome, who, status.success());
    Ok(())
}

impl Who {
    fn named(self) -> &'static str {
        match self {
            Self::Program => "schemathesis, with a token",
            Self::Person => "schemathesis, signed in",
        }
    }

    /// Lays out what it reads: the document, and how it proves who it is. Of a header that it is told to send it would not know that one, and
    /// could not see what happens without it.
    fn sign_in(self, served: &Served, site: &Site) -> Result<()> {
        let (project, system) = (served.project(), served.home().join("system"));
        let (line, proof) = match self {
            Self::Program => {
                let token = Site::token_of_api(&served.paddock, &project, &system)?;
                (format!("authorization: Bearer {token}"), format!("[auth.openapi.token]\nbearer = \"{token}\"\n"))
            }
            Self::Person => {
                let cookie = site.session(&served.paddock, &project, &system)?;
                let secret = cookie.split_once('=').map_or("", |(_, secret)| secret);
                let proof = format!("[auth.openapi.session]\napi_key = \"{secret}\"\n");
                (format!("cookie: {cookie}"), proof)
            }
        };
        let answer = site.get("/api/v1/openapi.json", &line)?;
        let (_, document) = answer.split_once("\r\n\r\n").context("the OpenAPI document is not there")?;
        fs::write(served.home().join(DOCUMENT), document)?;
        Ok(fs::write(served.home().join("schemathesis.toml"), proof)?)
    }
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

    fn add_to(self, outcome: &mut Outcome, who: Who, success: bool) {
        let client = who.named();
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
        told.add_to(&mut outcome, Who::Program, success);
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
