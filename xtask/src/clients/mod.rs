//! The suite of real clients: MCP clients that others wrote, and the protocol's own conformance suite, in both protocol eras, over
//! stdio and over HTTP.
//!
//! Owns the order of things: build what is asked, install the clients once, play the same cases with each on a
//! fresh sample project. It must never speak the protocol itself: a client of our own would share our mistakes.

mod cases;
mod conformance;
mod connect;
mod inspector;
mod install;
mod not_applying;
mod python;
mod schemathesis;
mod site;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::repo::Repo;
use crate::test::Outcome;
use cases::Cases;
use site::Site;

/// Where the scripts, the cases and the pinned versions are.
const HOME: &str = "tests/clients";

/// The two ways a client may open the conversation.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// What was built: the command, and the program that serves MCP over HTTP to the conformance suite.
struct Programs {
    paddock: PathBuf,
    http: PathBuf,
}

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Http,
}

impl Way {
    const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    fn named(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

/// A sample project on the host's disk, and the way to what serves it.
struct Served {
    directory: tempfile::TempDir,
    paddock: PathBuf,
    site: Option<Site>,
}

impl Served {
    fn new(cases: &Cases, programs: &Programs, way: Way) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("paddock-clients-").tempdir()?;
        let project = directory.path().join("project");
        cases.lay_out(&project)?;
        let site = match way {
            Way::Stdio => None,
            Way::Http => Some(Site::of_project(&programs.paddock, &project, &directory.path().join("system"))?),
        };
        Ok(Self { directory, paddock: programs.paddock.clone(), site })
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// A home directory of its own, so that no client finds or leaves settings of the person who runs this.
    fn home(&self) -> &Path {
        self.directory.path()
    }

    /// Where it is over HTTP, and the token for it.
    fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    fn command_line(&self) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let project = self.project();
        vec![
            text(&self.paddock),
            "--home".to_owned(),
            text(&self.directory.path().join("system")),
            "mcp".to_owned(),
            "--config".to_owned(),
            text(&project.join("paddock.toml")),
        ]
    }
}

/// Runs every client; what this machine cannot install is told as such.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let programs = build(repo)?;
    let cases = Cases::parse(&repo.read(&format!("{HOME}/cases.json"))?)?;
    let mut outcome = Outcome::default();
    match install::node_clients(repo) {
        Ok(node) => {
            inspector::play(&mut outcome, &cases, &node, &programs)?;
            conformance::play(&mut outcome, &cases, &node, &programs)?;
        }
        Err(reason) => outcome.could_not.push(format!("MCP Inspector and the conformance suite: {reason:#}")),
    }
    match install::python_client(repo) {
        Ok(python) => python::play(&mut outcome, repo, &cases, &python, &programs)?,
        Err(reason) => outcome.could_not.push(format!("the Python client: {reason:#}")),
    }
    connect::play(&mut outcome, repo, &programs.paddock)?;
    match install::langchain_client(repo) {
        Ok(python) => python::play_langchain(&mut outcome, repo, &cases, &python, &programs)?,
        Err(reason) => outcome.could_not.push(format!("langchain-mcp-adapters: {reason:#}")),
    }
    match install::schemathesis(repo) {
        Ok(python) => schemathesis::play(&mut outcome, &cases, &python, &programs)?,
        Err(reason) => outcome.could_not.push(format!("schemathesis: {reason:#}")),
    }
    Ok(outcome)
}

fn build(repo: &Repo) -> Result<Programs> {
    let one = |arguments: &[&str], file: &str| {
        let mut command = process::cargo(repo.top());
        command.arg("build").args(arguments);
        ensure!(process::stream(&mut command, |_| {})?.success(), "\"{file}\" did not build");
        let built = repo.build_directory().join("debug").join(file);
        built.canonicalize().with_context(|| format!("\"{}\" is not there after the build", built.display()))
    };
    Ok(Programs {
        paddock: one(&["--package", "paddock"], "paddock")?,
        http: one(&["--package", "paddock-mcp", "--example", "http"], "examples/http")?,
    })
}

/// Judges the host's files once the calls are over, as one more case.
fn judge_host(outcome: &mut Outcome, cases: &Cases, served: &Served, client: &str) {
    outcome.case(&format!("{client}: the host's files afterwards"), &cases.host_complaints(&served.project()));
}
