//! Installing what the package is built and tested with, into its own `node_modules`, once.
//!
//! Owns the stamp that says which pins are installed: a second run installs nothing, a changed pin installs again. Only the two
//! packages that put a runtime in place may run a script for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{HOME, with_a_limit};
use crate::repo::Repo;
use crate::{alone, process};

/// It pins everything.
const PINS: &str = "package-lock.json";
/// What the package needs at least, and what it promises to run with.
const NODE_MAJOR: u64 = 20;
const OF_RUNTIMES: [&str; 2] = ["bun", "deno"];

/// npm in the directory of the package.
#[derive(Debug)]
pub(super) struct Npm {
    home: PathBuf,
    node_version: String,
}

/// Installs what is missing.
pub(super) fn npm(repo: &Repo) -> Result<Npm> {
    let home = repo.path(HOME);
    let _alone = alone::with(home.display().to_string());
    let node_version = new_enough(&said(Command::new("node").arg("--version")).unwrap_or_default())?;
    ensure!(process::answers("npm", "--version"), "npm is not installed, and it fetches what the package needs");
    let npm = Npm { home, node_version };
    let (stamp, wanted) = (npm.packages().join(".installed-from"), repo.read(&format!("{HOME}/{PINS}"))?);
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        let log = repo.build_directory().join("node-package.log");
        fs::create_dir_all(repo.build_directory())?;
        println!("installing what the npm package needs; the log is \"{}\"", log.display());
        // Not `npm ci`: it refuses pins that leave out packages of other platforms, as npm itself writes them where a registry
        // does not have those.
        let install = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
        process::logged(npm.command().args(install), &log)?;
        process::logged(npm.command().arg("rebuild").args(OF_RUNTIMES), &log)?;
        fs::write(&stamp, wanted)?;
    }
    Ok(npm)
}

impl Npm {
    /// Runs npm with these arguments to the end.
    pub(super) fn succeeds(&self, arguments: &[&str]) -> Result<bool> {
        Ok(process::stream(self.command().args(arguments), |_| {})?.success())
    }

    /// Node, in the directory of the package.
    pub(super) fn node(&self) -> Command {
        self.program(Path::new("node"))
    }

    pub(super) fn node_version(&self) -> &str {
        &self.node_version
    }

    /// A program, in the directory of the package, ended when it hangs.
    pub(super) fn program(&self, path: &Path) -> Command {
        let mut command = with_a_limit(path);
        command.current_dir(&self.home).env("NO_COLOR", "1").env_remove("PADDOCK_HOME");
        command
    }

    pub(super) fn packages(&self) -> PathBuf {
        self.home.join("node_modules")
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("npm");
        command.current_dir(&self.home).env("NO_COLOR", "1");
        command
    }
}

fn said(command: &mut Command) -> Option<String> {
    Some(String::from_utf8_lossy(&command.output().ok()?.stdout).trim().to_owned())
}

/// The version without its letter, when it is one that the package runs with.
fn new_enough(version: &str) -> Result<String> {
    let version = version.strip_prefix('v').context("node is not installed")?;
    let major: Option<u64> = version.split('.').next().and_then(|major| major.parse().ok());
    ensure!(major.is_some_and(|major| major >= NODE_MAJOR), "node is {version}, and {NODE_MAJOR} or later is needed");
    Ok(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_node_and_none_are_told() {
        assert_eq!(new_enough("v20.20.2").unwrap(), "20.20.2");
        assert!(new_enough("v18.19.0").unwrap_err().to_string().contains("18.19.0"));
        assert!(new_enough("").unwrap_err().to_string().contains("not installed"));
    }
}
