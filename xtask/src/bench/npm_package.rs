//! The npm package beside what JavaScript programs have instead: installed side by side, ours built for release.
//!
//! Owns the place where the scripts of `crates/paddock-bench/node` find all contenders by name. It measures nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::node;
use crate::process;
use crate::repo::Repo;

/// The name of the part.
pub(super) const PART: &str = "node";
const SCRIPTS: &str = "crates/paddock-bench/node";
/// What of the package is installed beside its addon.
const OURS: &str = "node_modules/@paddock/langchain";

/// Installs what is missing and builds ours; the place where everything is then.
pub(super) fn prepare(repo: &Repo) -> Result<PathBuf> {
    let place = repo.build_directory().join("peers/npm-package");
    ensure!(process::answers("node", "--version"), "node is not installed");
    install(repo, &place)?;
    node::build_for_release(repo, &place.join(OURS))?;
    Ok(place)
}

/// The peers from npm, and our scripts beside them, where they find all of them by name.
fn install(repo: &Repo, place: &Path) -> Result<()> {
    fs::create_dir_all(place)?;
    for entry in fs::read_dir(repo.path(SCRIPTS))? {
        let path = entry?.path();
        fs::copy(&path, place.join(path.file_name().unwrap_or_default()))?;
    }
    let (stamp, wanted) = (place.join("installed-from"), fs::read_to_string(place.join("package-lock.json"))?);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    // What the lock names: with a free choice, a new release of any dependency can leave none that fits.
    npm.current_dir(place).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    ensure!(process::stream(&mut npm, |_| {})?.success(), "npm could not install the peers");
    Ok(fs::write(stamp, wanted)?)
}
