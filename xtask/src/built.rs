//! The programs that suites drive from outside: the command, and the example that serves MCP over HTTP.
//!
//! Owns how they are built: with the features that the tests of the whole workspace have, so that nearly everything is there
//! already. Built by its package alone, the command wants other features of what it depends on, and all of that once more; that it
//! builds so too is a check of its own in the suite `clippy`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::linter;
use crate::process;
use crate::repo::Repo;

/// What was built.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) paddock: PathBuf,
    /// Serves MCP over HTTP to the conformance suite.
    pub(crate) http: PathBuf,
}

/// Builds what is not built yet.
pub(crate) fn programs(repo: &Repo) -> Result<Programs> {
    let mut command = linter::cargo(repo);
    // An example takes the features that tests have.
    command.args(["build", "--workspace", "--bin", "paddock", "--example", "http"]);
    ensure!(process::stream(&mut command, |_| {})?.success(), "the programs did not build");
    let built = |file: &str| {
        let path = linter::built(repo).join(file);
        path.canonicalize().with_context(|| format!("\"{}\" is not there after the build", path.display()))
    };
    Ok(Programs { paddock: built("paddock")?, http: built("examples/http")? })
}
