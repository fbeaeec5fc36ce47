//! The protocol's own conformance suite, against `paddock serve` and against the fixtures, for two versions of the protocol.
//!
//! Owns starting it and judging its results by the table of what does not apply. A scenario that was announced and left no result
//! has failed, and so has a row of the table that no scenario was seen for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Programs;
use super::cases::Cases;
use super::forwarder::Forwarder;
use super::install::NodeClients;
use super::not_applying::{Asked, TABLE, reason};
use super::site::Site;
use crate::process;
use crate::test::Outcome;

/// What the suite calls a message that the protocol's schema does not allow; no reason excuses one.
const WIRE: &str = "wire-schema-valid";
const VERSIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
/// Nothing here takes long; past this it hangs.
const HANG: Duration = Duration::from_secs(180);

/// Plays every scenario that a version has.
pub(crate) fn play(outcome: &mut Outcome, cases: &Cases, node: &NodeClients, programs: &Programs) -> Result<()> {
    for (asked, name) in [(Asked::Serve, "paddock serve"), (Asked::Fixtures, "the fixtures")] {
        let mut seen = BTreeSet::new();
        for version in VERSIONS {
            let place = tempfile::Builder::new().prefix("paddock-conformance-").tempdir()?;
            let server = Server::of(asked, cases, programs, place.path())?;
            for (scenario, checks) in scenarios(node, &server.url(), version, place.path())? {
                let complaints = checks.map_or_else(|why| vec![why], |checks| complaints(asked, &scenario, &checks));
                outcome.case(&format!("conformance {version}, {name}: {scenario}"), &complaints);
                seen.insert(scenario);
            }
        }
        outcome.case(&format!("conformance, {name}: every row of the table was met"), &unmet(asked, &seen));
    }
    Ok(())
}

/// What is asked. The suite has no way to send a token, so that one is added on the way to what wants it.
enum Server {
    Serve(Forwarder),
    Fixtures(Site),
}

impl Server {
    fn of(asked: Asked, cases: &Cases, programs: &Programs, place: &Path) -> Result<Self> {
        if asked == Asked::Fixtures {
            return Ok(Self::Fixtures(Site::of_fixtures(&programs.http)?));
        }
        let project = place.join("project");
        cases.lay_out(&project)?;
        let site = Site::of_project(&programs.paddock, &project, &place.join("system"))?;
        Ok(Self::Serve(Forwarder::before(site)?))
    }

    fn url(&self) -> String {
        match self {
            Self::Serve(forwarder) => forwarder.url(),
            Self::Fixtures(site) => site.url().to_owned(),
        }
    }
}

/// One check of a scenario: what it is called, and whether it passed.
#[derive(Debug)]
struct Check {
    id: String,
    passed: bool,
    why: String,
}

type Checks = Result<Vec<Check>, String>;

/// Runs the suite, and gives what came of each scenario it announced.
fn scenarios(node: &NodeClients, url: &str, version: &str, place: &Path) -> Result<Vec<(String, Checks)>> {
    let results = place.join("results");
    let mut command = Command::new(&node.node);
    command.arg(&node.conformance).args(["server", "--url", url, "--requirements", version, "-o"]);
    command.arg(&results).env("HOME", place);
    println!("$ {}", process::shown(&command));
    // It ends with 1 where anything fails, which the table decides about.
    let said = process::captured(&mut command, HANG)?;
    let announced = announced(&said.stdout);
    anyhow::ensure!(!announced.is_empty(), "the conformance suite ran nothing: {}{}", said.stdout, said.stderr);
    Ok(announced.into_iter().map(|scenario| (scenario.clone(), of_scenario(&results, &scenario))).collect())
}

fn announced(stdout: &str) -> Vec<String> {
    let names = stdout.lines().filter_map(|line| line.strip_prefix("=== Running scenario: ")?.strip_suffix(" ==="));
    names.map(str::to_owned).collect()
}

fn of_scenario(results: &Path, scenario: &str) -> Checks {
    let read = || -> Result<Vec<Check>> {
        let prefix = format!("server-{scenario}-2");
        let mut entries = fs::read_dir(results)?.filter_map(Result::ok);
        let place = entries.find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
        let file = place.context("it left no result")?.path().join("checks.json");
        let checks: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        Ok(checks.as_array().into_iter().flatten().map(Check::of).collect())
    };
    read().map_err(|error| format!("{error:#}"))
}

impl Check {
    fn of(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self { id: text("id"), passed: !matches!(&*text("status"), "FAILURE" | "WARNING"), why: text("errorMessage") }
    }
}

/// What is wrong with a scenario, as the table has it.
fn complaints(asked: Asked, scenario: &str, checks: &[Check]) -> Vec<String> {
    let failed: Vec<&Check> = checks.iter().filter(|check| !check.passed).collect();
    let told = |check: &&Check| format!("{}: {}", check.id, check.why);
    let Some((row, listed)) = reason(asked, scenario) else {
        return failed.iter().map(told).collect();
    };
    if failed.is_empty() {
        return vec![format!("it passes, although listed as not applying: {}", row.why)];
    }
    let is_excused = |check: &&&Check| check.id != WIRE && (listed.is_empty() || listed.contains(&&*check.id));
    let mut found: Vec<String> = failed.iter().filter(|check| !is_excused(check)).map(told).collect();
    let passes = |id: &&&str| !failed.iter().any(|check| check.id == ***id);
    found.extend(listed.iter().filter(passes).map(|id| format!("{id} passes, although listed: {}", row.why)));
    found
}

fn unmet(asked: Asked, seen: &BTreeSet<String>) -> Vec<String> {
    let rows = TABLE.iter().filter(|row| row.asked == asked).flat_map(|row| row.scenarios);
    rows.filter(|(name, _)| !seen.contains(*name)).map(|(name, _)| format!("no scenario \"{name}\" was run")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, passed: bool) -> Check {
        Check { id: id.to_owned(), passed, why: "why".to_owned() }
    }

    fn count(scenario: &str, checks: &[Check]) -> usize {
        complaints(Asked::Serve, scenario, checks).len()
    }

    #[test]
    fn what_is_not_listed_must_pass() {
        assert_eq!(count("tools-list", &[check("a", true)]), 0);
        assert_eq!(count("tools-list", &[check("a", true), check("b", false)]), 1);
    }

    #[test]
    fn what_is_listed_must_not_pass() {
        assert_eq!(count("prompts-list", &[check("a", false), check(WIRE, true)]), 0);
        assert_eq!(count("prompts-list", &[check("a", true)]), 1);
    }

    #[test]
    fn a_message_against_the_schema_is_never_excused() {
        assert_eq!(count("prompts-list", &[check("a", false), check(WIRE, false)]), 1);
    }

    #[test]
    fn of_a_scenario_listed_in_part_exactly_that_part_fails() {
        let listed = ["sep-2164-error-code", "sep-2164-data-uri"].map(|id| check(id, false));
        assert_eq!(count("sep-2164-resource-not-found", &listed), 0);
        assert_eq!(count("sep-2164-resource-not-found", &listed[..1]), 1);
        let more = ["sep-2164-error-code", "sep-2164-data-uri", "another"].map(|id| check(id, false));
        assert_eq!(count("sep-2164-resource-not-found", &more), 1);
    }

    #[test]
    fn a_warning_counts_as_a_failure_and_what_was_skipped_does_not() {
        let of = |status: &str| Check::of(&serde_json::json!({"id": "x", "status": status})).passed;
        assert_eq!(["SUCCESS", "INFO", "SKIPPED", "WARNING", "FAILURE"].map(of), [true, true, true, false, false]);
    }

    #[test]
    fn announced_scenarios_are_found_and_one_without_a_result_has_failed() {
        let stdout = "Running\n=== Running scenario: ping ===\nx\n=== SUMMARY ===\n";
        assert_eq!(announced(stdout), ["ping"]);
        let place = tempfile::tempdir().unwrap();
        assert!(of_scenario(place.path(), "ping").is_err());
        let result = place.path().join("server-ping-2026-01-01");
        fs::create_dir(&result).unwrap();
        fs::write(result.join("checks.json"), "[{\"id\": \"a\", \"status\": \"SUCCESS\"}]").unwrap();
        assert_eq!(of_scenario(place.path(), "ping").unwrap().len(), 1);
    }
}
