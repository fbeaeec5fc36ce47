//! `cargo xtask node`: the npm package over the Rust core, built, tested in every runtime it names, and packed.
//!
//! Owns the order of its npm scripts and that all of it is counted. How it is compiled and what it tests is said in
//! `bindings/node`, never here.

mod install;
mod runtimes;

use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::linter;
use crate::postgres;
use crate::process;
use crate::repo::Repo;
use crate::test::{self, Fetch, Outcome, reports};
use install::Npm;
use runtimes::{RUNTIMES, Runtime};

/// Shown by `cargo xtask node --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask node [build [--release] | test | pack]

  build  install what it needs, build the addon and the JavaScript around it
  test   build it, run its suite in Node, Bun and Deno, and the packed package in an empty project;
         the same as `cargo xtask test --only node`
  pack   build it for release, pack it, and try what was packed in an empty project

Without a word it builds.
";

/// Where the package is.
const HOME: &str = "bindings/node";
/// Where the compiled tests are; they run the README's example and those in `examples` too.
const TESTS: &str = ".tests";
/// What `npm run pack:check` runs once all is compiled.
const PACK: &str = "scripts/pack-check.mjs";
/// What the addon offers, which the JavaScript is compiled against.
const TYPES: &str = "native.d.cts";
const COMPILED: &str = "esm";
/// What makes the addon share what was compiled for the tests of the workspace: an example takes their features.
const AS_TESTS_ARE: [&str; 5] = ["--", "--", "--workspace", "--lib", "--example=http"];

/// What is installed for it.
pub(crate) const FETCH: &[Fetch] = &[|repo| install::npm(repo).map(drop)];

/// Runs the chore; true when nothing failed.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["build"] => build(&install::npm(repo)?, &["run", "build:native"]),
        ["build", "--release"] => build(&install::npm(repo)?, &["run", "build:native:release"]),
        ["test"] => test::run(repo, &["--only".to_owned(), "node".to_owned()]),
        ["pack"] => {
            let npm = install::npm(repo)?;
            Ok(build(&npm, &["run", "build:native:release"])? && npm.succeeds(&["run", "pack:check"])?)
        }
        _ => bail!("node does not take \"{}\"\nhint: `cargo xtask node --help`", words.join(" ")),
    }
}

fn build(npm: &Npm, native: &[&str]) -> Result<bool> {
    Ok(npm.succeeds(native)? && npm.succeeds(&["run", "build"])?)
}

/// The package as it is published, without what is optional of it, in a place of its own: the addon beside the package is left as
/// it is, and may be one for tests.
pub(crate) fn build_for_release(repo: &Repo, place: &Path) -> Result<()> {
    let npm = install::npm(repo)?;
    std::fs::create_dir_all(place)?;
    let place_name = place.display().to_string();
    let native = ["run", "build:native:release", "--", "--output-dir", &place_name];
    ensure!(npm.succeeds(&native)?, "the release build of the addon failed");
    let home = repo.path(HOME);
    if !home.join(TYPES).exists() {
        std::fs::copy(place.join(TYPES), home.join(TYPES))?;
    }
    ensure!(npm.succeeds(&["run", "build"])?, "the JavaScript around the addon did not compile");
    std::fs::copy(home.join("package.json"), place.join("package.json"))?;
    let compiled = place.join(COMPILED);
    std::fs::create_dir_all(&compiled)?;
    for entry in std::fs::read_dir(home.join(COMPILED))? {
        let path = entry?.path();
        std::fs::copy(&path, compiled.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Builds it as the tests are built, and tries it in every way; what this machine cannot run is told as such.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let npm = match install::npm(repo) {
        Ok(npm) => npm,
        Err(reason) => return Ok(Outcome::could_not_run(format!("the npm package: {reason:#}"))),
    };
    let mut outcome = Outcome::default();
    outcome.ran_with.push(format!("node {}", npm.node_version()));
    let mut native = npm.command();
    native.args(["run", "build:native"]).args(AS_TESTS_ARE).envs(linter::variables());
    let built = process::stream(&mut native, |_| {})?.success();
    if !case(&mut outcome, "the addon builds", built) {
        return Ok(outcome);
    }
    let compiled = npm.succeeds(&["run", "build:tests"])?;
    if !case(&mut outcome, "the JavaScript, its tests and its examples compile", compiled) {
        return Ok(outcome);
    }
    let checked = npm.succeeds(&["run", "lint:types"])?;
    case(&mut outcome, "no `any`, no assertion", checked);
    in_every_runtime(&mut outcome, repo, &npm)?;
    let packed = process::stream(npm.node().arg(PACK), |_| {})?.success();
    case(&mut outcome, "packed, and installed into an empty project, the README's example runs", packed);
    Ok(outcome)
}

fn case(outcome: &mut Outcome, what: &str, success: bool) -> bool {
    let complaints = if success { Vec::new() } else { vec!["see above".to_owned()] };
    outcome.case(what, &complaints);
    success
}

fn in_every_runtime(outcome: &mut Outcome, repo: &Repo, npm: &Npm) -> Result<()> {
    let files = tests(&repo.path(HOME).join(TESTS))?;
    // The server ends with this suite, whatever comes of it.
    let server = postgres::programs(repo).and_then(|_| postgres::Server::start());
    if let Err(error) = &server {
        outcome.could_not.push(format!("what needs PostgreSQL: {error:#}"));
    }
    // At once: each runs its tests one after the other, on one core.
    let told: Vec<Result<Outcome>> = thread::scope(|scope| {
        let of_server = server.as_ref().ok();
        let (files, npm) = (&files, npm);
        let running: Vec<_> =
            RUNTIMES.iter().map(|runtime| scope.spawn(move || in_one(runtime, npm, files, of_server))).collect();
        let broke = |_| Err(anyhow!("what runs a runtime broke"));
        running.into_iter().map(|runtime| runtime.join().unwrap_or_else(broke)).collect()
    });
    for one in told {
        outcome.add(one?);
    }
    Ok(())
}

fn in_one(runtime: &Runtime, npm: &Npm, files: &[String], server: Option<&postgres::Server>) -> Result<Outcome> {
    let Some(mut command) = (runtime.command)(npm) else {
        let why = format!("{}: npm has no program of it for this processor", runtime.name);
        return Ok(Outcome::could_not_run(why));
    };
    command.args(files);
    if let Some(server) = server.filter(|_| runtime.asks_server) {
        command.env(postgres::VARIABLE, server.url());
    }
    let home = tempfile::tempdir()?;
    if !runtime.names_home {
        command.env("PADDOCK_HOME", home.path());
    }
    Ok(reports::run_beside(runtime.report, runtime.name, &mut command)?.checked(true))
}

/// The compiled files of tests, relative to the package.
fn tests(place: &Path) -> Result<Vec<String>> {
    let shown = place.display();
    let mut found = Vec::new();
    let mut directories = vec![place.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).with_context(|| format!("no tests in \"{shown}\""))? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.to_string_lossy().ends_with(".test.js") {
                found.push(format!("./{TESTS}/{}", path.strip_prefix(place)?.display()));
            }
        }
    }
    ensure!(!found.is_empty(), "no tests in \"{shown}\"");
    found.sort();
    Ok(found)
}

/// A program that is ended when it hangs: an addon may keep its runtime from ending.
fn with_a_limit(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "1200"]).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn an_unknown_word_is_an_error_with_a_way_out() {
        let error = run(&Repo::here(), &["bulid".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("\"bulid\"") && error.contains("hint:"), "{error}");
    }

    #[test]
    fn tests_are_found_at_any_depth_and_none_is_an_error() {
        let sample = Sample::of(&[(".tests/tests/a.test.js", ""), (".tests/b.test.js", ""), (".tests/support.js", "")]);
        let place = sample.repo().path(TESTS);
        assert_eq!(super::tests(&place).unwrap(), ["./.tests/b.test.js", "./.tests/tests/a.test.js"]);
        assert!(super::tests(&sample.repo().path("elsewhere")).is_err());
        assert!(super::tests(&Sample::of(&[(".tests/x.js", "")]).repo().path(TESTS)).is_err());
    }
}
