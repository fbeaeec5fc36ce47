//! The suite of the browser: the console of a real `paddock serve`, in a real Chromium.
//!
//! Owns what the tests in `tests/browser` need: the binary, the browser, a Node and the packages that drive it. The tests
//! themselves are JavaScript, as what they drive is. It must never pass when the browser did not start.

mod install;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::built;
use crate::process;
use crate::repo::Repo;
use crate::test::{Fetch, Outcome, reports};
use install::Driver;

/// Where the tests and the pinned versions are.
const HOME: &str = "tests/browser";
const ENTRY: &str = "main.test.mjs";
/// Debian calls the program and the package alike.
const CHROMIUM: &str = "chromium";

/// What is installed for it.
pub(crate) const FETCH: &[Fetch] = &[|repo| install::driver(repo).map(drop)];

/// Runs every test of the browser; what this machine cannot install is told as such.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let driver = match install::driver(repo) {
        Ok(driver) => driver,
        Err(reason) => return Ok(Outcome::could_not_run(format!("the browser: {reason:#}"))),
    };
    let mut outcome = reports::run(&reports::NODE, &mut command(repo, &driver, &built::programs(repo)?.paddock))?;
    outcome.ran_with.extend(version());
    Ok(outcome)
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
