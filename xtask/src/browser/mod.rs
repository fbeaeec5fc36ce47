//! The suite of the browser: the console of a real `paddock serve`, in a real Chromium.
//!
//! Owns what the tests in `tests/browser` need: the binary, the browser, a Node and the packages that drive it; and reading their
//! counts. The tests themselves are JavaScript, as what they drive is. It must never pass when the browser did not start.

mod counts;
mod install;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::repo::Repo;
use crate::test::Outcome;
use install::Driver;

/// Where the tests and the pinned versions are.
const HOME: &str = "tests/browser";
const ENTRY: &str = "main.test.mjs";
/// Debian calls the program and the package alike.
const CHROMIUM: &str = "chromium";

/// Runs every test of the browser; what this machine cannot install is told as such.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let driver = match install::driver(repo) {
        Ok(driver) => driver,
        Err(reason) => return Ok(Outcome::could_not_run(format!("the browser: {reason:#}"))),
    };
    let mut outcome = counts::run(&mut command(repo, &driver, &build(repo)?))?;
    outcome.ran_with.extend(version());
    Ok(outcome)
}

fn build(repo: &Repo) -> Result<PathBuf> {
    let mut command = process::cargo(repo.top());
    command.args(["build", "--package", "paddock"]);
    ensure!(process::stream(&mut command, |_| {})?.success(), "the binary did not build");
    let binary = repo.build_directory().join("debug/paddock");
    binary.canonicalize().with_context(|| format!("\"{}\" is not there after the build", binary.display()))
}

fn command(repo: &Repo, driver: &Driver, binary: &Path) -> Command {
    let mut command = Command::new(&driver.node);
    command.current_dir(repo.path(HOME));
    command.args(["--test", "--test-reporter=spec", "--test-reporter-destination=stdout", ENTRY]);
    command.env("PADDOCK_BINARY", binary).env("PADDOCK_BROWSER_PACKAGES", &driver.packages).env("NO_COLOR", "1");
    command.env("PADDOCK_CHROMIUM", format!("/usr/bin/{CHROMIUM}")).env_remove("PADDOCK_HOME");
    command
}

/// What the tests ran in.
fn version() -> Option<String> {
    let said = process::captured(Command::new(CHROMIUM).arg("--version"), Duration::from_secs(30)).ok()?;
    let number = said.stdout.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(format!("{CHROMIUM} {number}"))
}
