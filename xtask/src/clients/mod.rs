//! The suite of real clients: MCP clients that others wrote, and the protocol's own conformance suite, in both protocol eras, over
//! stdio and over HTTP.
//!
//! Owns the order of things: build what is asked, install the clients once, play the same cases with each on a
//! fresh sample project. It must never speak the protocol itself: a client of our own would share our mistakes.

mod cases;
mod conformance;
mod connect;
mod forwarder;
mod inspector;
mod install;
mod not_applying;
mod python;
mod schemathesis;
mod site;

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, anyhow};

use crate::built::{self, Programs};
use crate::repo::Repo;
use crate::test::{Fetch, Outcome};
use cases::Cases;
use site::Site;

/// Where the scripts, the cases and the pinned versions are.
const HOME: &str = "tests/clients";

/// What is installed for it.
pub(crate) const FETCH: &[Fetch] = &[
    |repo| install::node_clients(repo).map(drop),
    |repo| install::python_client(repo).map(drop),
    |repo| connect::installed(repo).map(drop),
    |repo| install::langchain_client(repo).map(drop),
    |repo| install::schemathesis(repo).map(drop),
];

/// The two ways a client may open the conversation.
const ERAS: [&str; 2] = ["legacy", "modern"];

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

/// Runs every client; what this machine cannot install is told as such. Those of Node and the others go side by side: each
/// starts a program per case and waits for it.
pub(crate) fn suite(repo: &Repo) -> Result<Outcome> {
    let programs = built::programs(repo)?;
    let cases = Cases::parse(&repo.read(&format!("{HOME}/cases.json"))?)?;
    let (of_node, of_others) = thread::scope(|scope| {
        let of_node = scope.spawn(|| of_node(repo, &cases, &programs));
        let of_others = of_others(repo, &cases, &programs);
        (of_node.join(), of_others)
    });
    let mut outcome = of_node.map_err(|_| anyhow!("what plays the clients of Node broke"))??;
    outcome.add(of_others?);
    Ok(outcome)
}

fn of_node(repo: &Repo, cases: &Cases, programs: &Programs) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    match install::node_clients(repo) {
        Ok(node) => {
            inspector::play(&mut outcome, cases, &node, programs)?;
            conformance::play(&mut outcome, cases, &node, programs)?;
        }
        Err(reason) => outcome.could_not.push(format!("MCP Inspector and the conformance suite: {reason:#}")),
    }
    Ok(outcome)
}

fn of_others(repo: &Repo, cases: &Cases, programs: &Programs) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    match install::python_client(repo) {
        Ok(python) => python::play(&mut outcome, repo, cases, &python, programs)?,
        Err(reason) => outcome.could_not.push(format!("the Python client: {reason:#}")),
    }
    connect::play(&mut outcome, repo, &programs.paddock)?;
    match install::langchain_client(repo) {
        Ok(python) => python::play_langchain(&mut outcome, repo, cases, &python, programs)?,
        Err(reason) => outcome.could_not.push(format!("langchain-mcp-adapters: {reason:#}")),
    }
    match install::schemathesis(repo) {
        Ok(python) => schemathesis::play(&mut outcome, cases, &python, programs)?,
        Err(reason) => outcome.could_not.push(format!("schemathesis: {reason:#}")),
    }
    Ok(outcome)
}

/// Judges the host's files once the calls are over, as one more case.
fn judge_host(outcome: &mut Outcome, cases: &Cases, served: &Served, client: &str) {
    outcome.case(&format!("{client}: the host's files afterwards"), &cases.host_complaints(&served.project()));
}
