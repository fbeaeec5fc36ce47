//! `cargo xtask bench`: the measurements, taken by the crate that owns them.
//!
//! Owns only the way to start them: a release build of `crates/paddock-bench`, which measures the same
//! work in one run for Paddock and its peers and writes ratios to `docs/benchmarks.md`. A number must never
//! be asserted here: absolute figures depend on the machine.

use anyhow::{Result, ensure};

use crate::process;
use crate::repo::Repo;

const CRATE: &str = "crates/paddock-bench";

/// Shown by `cargo xtask bench --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask bench [ARGS…]

Builds crates/paddock-bench in release mode and runs it; ARGS are passed on to it.
";

/// Builds and runs the benchmarks.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    ensure!(
        repo.has(&format!("{CRATE}/Cargo.toml")),
        "there is nothing to measure with: \"{CRATE}\" is not in this checkout\nhint: the benchmarks live in that crate"
    );
    let mut command = process::cargo(repo.top());
    command.args(["run", "--release", "--package", "paddock-bench", "--"]).args(args);
    Ok(process::stream(&mut command, |_| {})?.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn without_the_crate_it_says_so() {
        let error = run(&Sample::of(&[]).repo(), &[]).unwrap_err().to_string();
        assert!(error.contains(CRATE), "{error}");
    }
}
