//! `cargo xtask bench`: the measurements, taken by the crate that owns them.
//!
//! Owns only what comes before: the peers installed, Paddock and `crates/paddock-bench` built in release mode. The
//! latter measures the same work in one run for Paddock and its peers and writes ratios to `docs/benchmarks.md`. A number
//! must never be asserted here: absolute figures depend on the machine.

mod npm_package;
mod peers;

use anyhow::{Result, ensure};

use crate::postgres;
use crate::process;
use crate::repo::Repo;

const CRATE: &str = "crates/paddock-bench";
const PAGE: &str = "docs/benchmarks.md";

/// Shown by `cargo xtask bench --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask bench [ARGS…]

Installs the peers under target/peers and bubblewrap (the first time, which takes minutes), builds Paddock in release mode, measures the
same work side by side and writes docs/benchmarks.md. Run it while the machine does nothing else.

  --only PART   measure only this part: in-process, virtual, layers, large, writers, mounted, commands,
                conversation, calls, search, start or memory; nothing is written. Or node: the npm package beside
                deepagents and fs/promises, which has a section of its own on the page
  --quick       a fifth of the rounds, to see that it runs; nothing is written
";

/// Builds and runs the benchmarks.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    ensure!(
        repo.has(&format!("{CRATE}/Cargo.toml")),
        "there is nothing to measure with: \"{CRATE}\" is not in this checkout\nhint: the benchmarks live in that crate"
    );
    let quick = args.iter().any(|arg| arg == "--quick");
    if only(args) == Some(npm_package::PART) {
        return npm_package::run(repo, quick);
    }
    // One at a time: built together, one could switch on features in what the other is made of.
    for package in ["paddock", "paddock-bench"] {
        let mut build = process::cargo(repo.top());
        build.args(["build", "--release", "--package", package]);
        ensure!(process::stream(&mut build, |_| {})?.success(), "the release build of {package} failed");
    }
    if let Err(error) = postgres::program(repo, "bwrap", "bubblewrap") {
        eprintln!("bubblewrap is left out: {error:#}");
    }
    let built = repo.build_directory().join("release");
    let mut measure = std::process::Command::new(built.join("paddock-bench"));
    measure.current_dir(repo.top()).args(peers::arguments(repo));
    let server = server(repo);
    if let Some((server, version)) = &server {
        measure.args(["--postgres", &server.url(), "--postgres-version", version]);
    }
    measure.arg("--paddock").arg(built.join("paddock")).arg("--page").arg(repo.path(PAGE)).args(args);
    let measured = process::stream(&mut measure, |_| {})?.success();
    // A whole run writes the page anew.
    Ok(measured && (only(args).is_some() || npm_package::run(repo, quick)?))
}

/// The one part that is asked for.
fn only(args: &[String]) -> Option<&str> {
    let spelled = args.iter().find_map(|arg| arg.strip_prefix("--only="));
    let after = args.iter().position(|arg| arg == "--only").and_then(|at| args.get(at + 1));
    spelled.or(after.map(String::as_str))
}

/// A PostgreSQL for the writers, gone when dropped, and its version. Without one they are measured on SQLite alone.
fn server(repo: &Repo) -> Option<(postgres::Server, String)> {
    let start = || {
        let programs = postgres::programs(repo)?;
        let version = programs.into_iter().find(|program| program.contains("ostgre")).unwrap_or_default();
        Ok::<_, anyhow::Error>((postgres::Server::start()?, version))
    };
    start().inspect_err(|error| eprintln!("PostgreSQL is left out: {error:#}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn the_part_that_is_asked_for_is_known() {
        let args = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(only(&args(&["--quick", "--only", "node"])), Some("node"));
        assert_eq!(only(&args(&["--only=calls"])), Some("calls"));
        assert_eq!(only(&args(&["--quick"])), None);
    }

    #[test]
    fn without_the_crate_it_says_so() {
        let error = run(&Sample::of(&[]).repo(), &[]).unwrap_err().to_string();
        assert!(error.contains(CRATE), "{error}");
    }
}
