//! `cargo xtask tidy`: the checks that keep the architecture from rotting.
//!
//! Owns the table of checks; each check is a module of its own with a sample it accepts and one it refuses.
//! A check must only read, and must name the file and the way out in every complaint.

mod agents;
mod anyhow_use;
mod dependencies;
mod file_length;
mod glossary;
mod host_access;
mod leftovers;
mod manifest;
mod module_docs;
mod needed;
mod rust_text;
mod script_text;
mod unsafe_use;

use anyhow::Result;

use crate::repo::Repo;
use crate::supply;
use crate::test::Outcome;

/// Shown by `cargo xtask tidy --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask tidy

Runs every check and prints each complaint with its file. Takes no options.
";

/// One check: a row per rule.
struct Check {
    name: &'static str,
    rule: &'static str,
    complaints: fn(&Repo) -> Result<Vec<String>>,
}

const CHECKS: &[Check] = &[
    Check {
        name: "dependencies",
        rule: "crates depend only downwards, and only on what their row allows",
        complaints: dependencies::complaints,
    },
    Check {
        name: "needed",
        rule: "a crate depends on nothing that its sources do not name",
        complaints: needed::complaints,
    },
    Check {
        name: "anyhow",
        rule: "libraries have error enums; only the programs use `anyhow`",
        complaints: anyhow_use::complaints,
    },
    Check {
        name: "host access",
        rule: "files and processes of the host are reached only from the crates that own them",
        complaints: host_access::complaints,
    },
    Check {
        name: "unsafe",
        rule: "`unsafe` stands only in the module that makes raw system calls, each block with its reason",
        complaints: unsafe_use::complaints,
    },
    Check {
        name: "module docs",
        rule: "every module opens with `//!` lines, every script with a comment, that say what it owns",
        complaints: module_docs::complaints,
    },
    Check {
        name: "glossary",
        rule: "the words of the glossary are used, and not their synonyms",
        complaints: glossary::complaints,
    },
    Check {
        name: "file length",
        rule: "no file passes 800 lines unless it is listed with a reason",
        complaints: file_length::complaints,
    },
    Check {
        name: "leftovers",
        rule: "no stubs, no ignored tests, no examples that are not compiled",
        complaints: leftovers::complaints,
    },
    Check {
        name: "agents",
        rule: "the top and every crate have an AGENTS.md that names only files that are there",
        complaints: agents::complaints,
    },
    Check {
        name: "supply",
        rule: "crates of others come from the one registry, under licences that we accept",
        complaints: supply::complaints,
    },
];

/// Runs every check; true when none complains.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    anyhow::ensure!(args.is_empty(), "tidy takes no options, got \"{}\"", args.join(" "));
    let outcome = suite(repo)?;
    println!("\n{} passed, {} failed", outcome.passed, outcome.failed);
    Ok(outcome.failed == 0)
}

/// The same, for the table of suites.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for check in CHECKS {
        let complaints = (check.complaints)(repo)?;
        if complaints.is_empty() {
            outcome.pass(check.name);
            continue;
        }
        println!("FAILED  {}: {}", check.name, check.rule);
        for complaint in &complaints {
            println!("        {complaint}");
        }
        outcome.fail(check.name, check.rule);
    }
    Ok(outcome)
}
