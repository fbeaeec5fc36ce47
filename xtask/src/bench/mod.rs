//! `cargo xtask bench`: the measurements, taken by the crate that owns them.
//!
//! Owns only what comes before: the peers installed, Paddock and `crates/paddock-bench` built in release mode. The
//! latter measures the same work in one run for Paddock and its peers and writes ratios to `docs/benchmarks.md`. A number
//! must never be asserted here: absolute figures depend on the machine.

mod npm_package;
mod peers;

use std::process::Command;

use anyhow::{Result, anyhow, ensure};

use crate::order;
use crate::postgres;
use crate::process;
use crate::repo::Repo;

const CRATE: &str = "crates/paddock-bench";
const PAGE: &str = "docs/benchmarks.md";
/// Where a short or partial run writes its page, below the build directory.
const DRAFT: &str = "bench/benchmarks.md";

/// Shown by `cargo xtask bench --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask bench [ARGS…]

Installs the peers under target/peers and bubblewrap (the first time, which takes minutes), builds Paddock in release mode, measures the
same work side by side and writes docs/benchmarks.md with its plots in docs/benchmarks/. Run it while the machine does nothing else: a
whole run takes about a quarter of an hour after the builds. A peer that cannot be had and a part that breaks are told on the
page; the other parts are measured, and only a broken part makes the command fail.

  --only PART   measure only this part; may be given several times: in-process, virtual, layers, large, writers, mounted, commands,
                conversation, runs, calls, search, start, memory, served, node; the page of such a run is target/bench/benchmarks.md
  --quick       a fifth of the rounds and smaller trees, to see that it runs; its page is there, too
";

/// Builds and runs the benchmarks.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    ensure!(
        repo.has(&format!("{CRATE}/Cargo.toml")),
        "there is nothing to measure with: \"{CRATE}\" is not in this checkout\nhint: the benchmarks live in that crate"
    );
    // One at a time: built together, one could switch on features in what the other is made of.
    for package in ["paddock", "paddock-bench"] {
        let mut build = process::cargo(repo.top());
        build.args(["build", "--release", "--package", package]);
        ensure!(process::stream(&mut build, |_| {})?.success(), "the release build of {package} failed");
    }
    let built = repo.build_directory().join("release");
    if let Some(complaint) = order::complaint(repo, &built.join("paddock"))? {
        println!("warning: {complaint}");
    }
    let only = only(args);
    let wants = |part: &str| only.is_empty() || only.contains(&part);
    let mut had = peers::all(repo);
    if wants("commands") {
        had.add("bubblewrap", postgres::program(repo, "bwrap", "bubblewrap").map(|()| Vec::new()));
    }
    if wants(npm_package::PART) {
        let place = npm_package::prepare(repo);
        had.add("the npm package", place.map(|place| vec![("--npm-package", place.display().to_string())]));
    }
    // It is there as long as the run.
    let server = if wants("writers") { Some(server(repo)) } else { None };
    if let Some(server) = &server {
        let told = server
            .as_ref()
            .map(|(server, version)| vec![("--postgres", server.url()), ("--postgres-version", version.clone())]);
        had.add("PostgreSQL", told.map_err(|error| anyhow!("{error:#}")));
    }
    let draft = repo.build_directory().join(DRAFT);
    let mut measure = Command::new(built.join("paddock-bench"));
    measure.current_dir(repo.top()).args(had.arguments).arg("--paddock").arg(built.join("paddock"));
    measure.arg("--page").arg(repo.path(PAGE)).arg("--draft").arg(draft).args(args);
    Ok(process::stream(&mut measure, |_| {})?.success())
}

/// The parts that are asked for; none where all are.
fn only(args: &[String]) -> Vec<&str> {
    let spelled = args.iter().filter_map(|arg| arg.strip_prefix("--only="));
    let after = args.windows(2).filter(|pair| pair[0] == "--only").map(|pair| pair[1].as_str());
    spelled.chain(after).collect()
}

/// A PostgreSQL for the writers, gone when dropped, and its version.
fn server(repo: &Repo) -> Result<(postgres::Server, String)> {
    let programs = postgres::programs(repo)?;
    let version = programs.into_iter().find(|program| program.contains("ostgre")).unwrap_or_default();
    Ok((postgres::Server::start()?, version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn the_parts_that_are_asked_for_are_known() {
        let args = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(only(&args(&["--quick", "--only", "node"])), ["node"]);
        assert_eq!(only(&args(&["--only=calls", "--only", "node"])), ["calls", "node"]);
        assert_eq!(only(&args(&["--quick"])), [""; 0]);
    }

    #[test]
    fn without_the_crate_it_says_so() {
        let error = run(&Sample::of(&[]).repo(), &[]).unwrap_err().to_string();
        assert!(error.contains(CRATE), "{error}");
    }
}
