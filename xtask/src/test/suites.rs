//! The table of suites: one row each, from which `--list`, the run and the summary derive.
//!
//! Owns what "tested" means for this repository. A suite must never pass by not running.

use anyhow::Result;

use super::unrun::{self, Unrun};
use super::{Fetch, Outcome, mounts, reports};
use crate::browser;
use crate::clients;
use crate::linter;
use crate::node;
use crate::postgres;
use crate::process;
use crate::repo::Repo;
use crate::tidy;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Minutes it may take on two cores from a clean clone; past it the summary marks the suite.
    pub(crate) budget_minutes: f64,
    pub(crate) needs: &'static str,
    /// Whether a run that counted nothing is a failure.
    pub(crate) runs_tests: bool,
    /// What it installs, begun while suites before it run.
    pub(crate) fetch: &'static [Fetch],
    pub(crate) run: fn(&Repo) -> Result<Outcome>,
}

/// Cheap suites first, so that a slip is seen early; those that drive what was built for the tests come after them.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "format",
        about: "the code is formatted",
        budget_minutes: 0.1,
        needs: "rustfmt",
        runs_tests: true,
        fetch: &[],
        run: format,
    },
    Suite {
        name: "tidy",
        about: "the architecture has not rotted",
        budget_minutes: 0.1,
        needs: "nothing",
        runs_tests: true,
        fetch: &[],
        run: tidy::suite,
    },
    Suite {
        name: "clippy",
        about: "everything compiles and no lint speaks up; what is published compiles without the tests' features",
        budget_minutes: 12.75,
        needs: "clippy",
        runs_tests: true,
        fetch: &[],
        run: clippy,
    },
    Suite {
        name: "unit+integration",
        about: "tests beside the code and the integration binaries of every crate",
        budget_minutes: 9.9,
        needs: "PostgreSQL, PgBouncer, strace, fuse3, git, gcc, python3, sqlite3",
        runs_tests: true,
        fetch: postgres::FETCH,
        run: unit_and_integration,
    },
    Suite {
        name: "doc",
        about: "the examples in the documentation compile and run",
        budget_minutes: 0.2,
        needs: "nothing",
        runs_tests: true,
        fetch: &[],
        run: doc,
    },
    Suite {
        name: "clients",
        about: "MCP clients that others wrote and the protocol's conformance suite, over stdio and HTTP, in both eras",
        budget_minutes: 1.2,
        needs: "npm, python3 with venv, the network",
        runs_tests: true,
        fetch: clients::FETCH,
        run: clients::suite,
    },
    Suite {
        name: "browser",
        about: "the console in a real browser: every page, both themes, a phone, the keyboard, eight tabs, attacks",
        budget_minutes: 2.9,
        needs: "chromium, npm, git, the network",
        runs_tests: true,
        fetch: browser::FETCH,
        run: browser::suite,
    },
    Suite {
        name: "node",
        about: "the npm package: its suite in Node, Bun and Deno, and what is packed in an empty project",
        budget_minutes: 2.8,
        needs: "node, npm, PostgreSQL, the network",
        runs_tests: true,
        fetch: node::FETCH,
        run: node::suite,
    },
];

fn format(repo: &Repo) -> Result<Outcome> {
    add_component("fmt", "rustfmt");
    if !has("fmt") {
        return Ok(Outcome::could_not_run(lacking("fmt", "rustfmt")));
    }
    let mut command = process::cargo(repo.top());
    command.args(["fmt", "--all", "--check", "--", "--color", "never"]);
    Ok(Outcome::of_check(process::stream(&mut command, |_| {})?.success()))
}

/// Compiles all that is tested, which the suites after it then find compiled.
fn clippy(repo: &Repo) -> Result<Outcome> {
    add_component("clippy", "clippy");
    let mut outcome = linter::compile_tests(repo)?.outcome;
    if linter::program().is_none() {
        outcome.could_not.push(lacking("clippy", "clippy"));
    }
    outcome.add(alone(repo)?);
    Ok(outcome)
}

/// Do the things we publish compile with the features they ask for themselves? Everywhere else they are built together with tests,
/// which ask for more.
fn alone(repo: &Repo) -> Result<Outcome> {
    let mut command = linter::cargo(repo);
    command.args(["check", "--package", "paddock", "--package", "paddock-node"]);
    Ok(Outcome::of_check(process::stream(&mut command, |_| {})?.success()))
}

fn unit_and_integration(repo: &Repo) -> Result<Outcome> {
    let mut command = linter::cargo(repo);
    command.args(["test", "--no-fail-fast"]).args(linter::TESTED);
    // The server ends with this suite, whatever comes of it.
    let started = postgres::programs(repo).and_then(|found| Ok((found, postgres::Server::start()?)));
    let mut left_out: Vec<(&str, String)> = mounts::left_out();
    command.arg("--");
    let programs = match &started {
        Ok((programs, server)) => {
            command.env(postgres::VARIABLE, server.url());
            programs.clone()
        }
        Err(error) => {
            left_out.push(("postgres", format!("what needs PostgreSQL: {error:#}")));
            Vec::new()
        }
    };
    for (tests, _) in &left_out {
        command.args(["--skip", tests]);
    }
    let unrun = Unrun::begin(repo)?;
    command.env(unrun::VARIABLE, unrun.path());
    let mut outcome = reports::run(&reports::LIBTEST, &mut command)?;
    outcome.could_not.extend(left_out.into_iter().map(|(_, why)| why));
    outcome.could_not.extend(unrun.lines()?);
    outcome.ran_with = programs;
    Ok(outcome)
}

fn doc(repo: &Repo) -> Result<Outcome> {
    let mut command = linter::cargo(repo);
    command.args(["test", "--workspace", "--doc", "--no-fail-fast"]);
    reports::run(&reports::LIBTEST, &mut command)
}

/// Adds a component of the toolchain that is lacking, where it can be added.
fn add_component(subcommand: &str, component: &str) {
    if !has(subcommand) && process::answers("rustup", "--version") {
        let mut add = std::process::Command::new("rustup");
        // Whether it worked is looked at afterwards.
        let _ = process::stream(add.args(["component", "add", component]), |_| {});
    }
}

fn has(subcommand: &str) -> bool {
    process::answers(format!("cargo-{subcommand}"), "--version")
}

fn lacking(subcommand: &str, component: &str) -> String {
    format!(
        "`cargo {subcommand}` is not installed and rustup could not add it; `rustup component add {component}` does"
    )
}
