//! The suite of real clients: MCP clients that others wrote, against the built binary, in both protocol eras.
//!
//! Owns the order of things: build the binary, install the clients once, play the same cases with each on a
//! fresh sample project. It must never speak the protocol itself: a client of our own would share our mistakes.

mod cases;
mod inspector;
mod install;
mod python;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::repo::Repo;
use crate::test::Outcome;
use cases::Cases;

/// Where the scripts, the cases and the pinned versions are.
const HOME: &str = "tests/clients";

/// The two ways a client may open the conversation.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// A sample project on the host's disk and the server command that serves it.
struct Served {
    directory: tempfile::TempDir,
    binary: PathBuf,
}

impl Served {
    fn new(cases: &Cases, binary: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("paddock-clients-").tempdir()?;
        cases.lay_out(&directory.path().join("project"))?;
        Ok(Self { directory, binary: binary.to_owned() })
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// A home directory of its own, so that no client finds or leaves settings of the person who runs this.
    fn home(&self) -> &Path {
        self.directory.path()
    }

    fn command_line(&self) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let project = self.project();
        vec![
            text(&self.binary),
            "--home".to_owned(),
            text(&self.directory.path().join("system")),
            "mcp".to_owned(),
            "--config".to_owned(),
            text(&project.join("paddock.toml")),
        ]
    }
}

/// Runs both clients; what this machine cannot install is told as such.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let binary = build(repo)?;
    let cases = Cases::parse(&repo.read(&format!("{HOME}/cases.json"))?)?;
    let mut outcome = Outcome::default();
    match install::node_clients(repo) {
        Ok(node) => inspector::play(&mut outcome, &cases, &node, &binary)?,
        Err(reason) => outcome.could_not.push(format!("MCP Inspector: {reason:#}")),
    }
    match install::python_client(repo) {
        Ok(python) => python::play(&mut outcome, repo, &cases, &python, &binary)?,
        Err(reason) => outcome.could_not.push(format!("the Python client: {reason:#}")),
    }
    Ok(outcome)
}

fn build(repo: &Repo) -> Result<PathBuf> {
    let mut command = process::cargo(repo.top());
    command.args(["build", "--package", "paddock"]);
    ensure!(process::stream(&mut command, |_| {})?.success(), "the binary did not build");
    let binary = repo.build_directory().join("debug/paddock");
    binary.canonicalize().with_context(|| format!("\"{}\" is not there after the build", binary.display()))
}

/// Judges the host's files once the calls are over, as one more case.
fn judge_host(outcome: &mut Outcome, cases: &Cases, served: &Served, client: &str) {
    outcome.case(&format!("{client}: the host's files afterwards"), &cases.host_complaints(&served.project()));
}
