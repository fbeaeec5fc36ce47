//! The npm package beside what JavaScript programs have instead: measured by scripts of `crates/paddock-bench/node`.
//!
//! Owns the place where all contenders are installed side by side, ours built for release, and where the result goes: a section of
//! its own on the page, replaced as a whole. It stands for itself, so it may be measured alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::PAGE;
use crate::node;
use crate::process;
use crate::repo::Repo;

/// The name of the part.
pub(super) const PART: &str = "node";
const SCRIPTS: &str = "crates/paddock-bench/node";
const TITLE: &str = "## The npm package";
/// The section goes before what is said about all of them.
const BEFORE: &str = "## Method";
/// What of the package is installed beside its addon.
const OURS: &str = "node_modules/@paddock/langchain";

/// Measures, prints the section and, unless it is a short run, writes it into the page.
pub(super) fn run(repo: &Repo, quick: bool) -> Result<bool> {
    let place = repo.build_directory().join("peers/npm-package");
    install(repo, &place)?;
    node::build_for_release(repo, &place.join(OURS))?;
    let mut command = Command::new("node");
    command.current_dir(&place).arg("main.mjs").args(quick.then_some("--quick"));
    command.env("PADDOCK_BENCH_RIPGREP", ripgrep(repo)).stdin(Stdio::null()).stderr(Stdio::inherit());
    println!("$ {}", process::shown(&command));
    let said = command.output().context("node does not start")?;
    if !said.status.success() {
        return Ok(false);
    }
    let section = String::from_utf8(said.stdout)?;
    print!("{section}");
    if !quick {
        fs::write(repo.path(PAGE), with_section(&repo.read(PAGE)?, &section))?;
    }
    Ok(true)
}

/// The peers from npm, and our scripts beside them, where they find all of them by name.
fn install(repo: &Repo, place: &Path) -> Result<()> {
    fs::create_dir_all(place)?;
    for entry in fs::read_dir(repo.path(SCRIPTS))? {
        let path = entry?.path();
        fs::copy(&path, place.join(path.file_name().unwrap_or_default()))?;
    }
    let (stamp, wanted) = (place.join("installed-from"), fs::read_to_string(place.join("package.json"))?);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.current_dir(place).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    ensure!(process::stream(&mut npm, |_| {})?.success(), "npm could not install the peers");
    Ok(fs::write(stamp, wanted)?)
}

/// The ripgrep among the other peers, or the system's.
fn ripgrep(repo: &Repo) -> PathBuf {
    let ours = repo.build_directory().join("peers/bin/rg");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_path = std::env::split_paths(&path).map(|directory| directory.join("rg"));
    std::iter::once(ours).chain(of_path).find(|path| path.is_file()).unwrap_or_default()
}

/// The page with this section in the place of the old one, or before what is said about the method.
fn with_section(page: &str, section: &str) -> String {
    let begins = |title: &str| page.find(&format!("\n{title}\n")).map(|at| at + 1);
    let (from, to) = match begins(TITLE) {
        Some(from) => {
            let rest = from + TITLE.len();
            (from, page[rest..].find("\n## ").map_or(page.len(), |at| rest + at + 1))
        }
        None => {
            let at = begins(BEFORE).unwrap_or(page.len());
            (at, at)
        }
    };
    format!("{}{}\n\n{}", &page[..from], section.trim_end(), &page[to..]).trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_goes_before_the_method() {
        let page = "# B\n\n## Calls\n\nx\n\n## Method\n\ny\n";
        let found = with_section(page, "## The npm package\n\n1\n");
        assert_eq!(found, "# B\n\n## Calls\n\nx\n\n## The npm package\n\n1\n\n## Method\n\ny\n");
    }

    #[test]
    fn an_older_section_is_replaced_whole_and_nothing_else() {
        let page = "# B\n\n## The npm package\n\n1\n\n2\n\n## Method\n\ny\n";
        let found = with_section(page, "## The npm package\n\n3\n");
        assert_eq!(found, "# B\n\n## The npm package\n\n3\n\n## Method\n\ny\n");
        assert_eq!(with_section(&found, "## The npm package\n\n3\n"), found);
    }

    #[test]
    fn without_a_method_it_goes_to_the_end() {
        assert_eq!(with_section("# B\n", "## The npm package\n\n1\n"), "# B\n## The npm package\n\n1\n");
    }
}
