//! `cargo xtask supply`: the crates that others wrote and we build on. Where they come from, under which licences, and whether
//! something is known against them.
//!
//! Owns what is accepted. Licences and origins are a check of `cargo xtask tidy`, so that every run of the tests asks; advisories
//! need a database that somebody brings up to date, and are asked by whoever has one. It reads only, and asks no network itself.

mod advisories;
mod licences;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::process;
use crate::repo::Repo;
use advisories::{Finding, Known};

/// Shown by `cargo xtask supply --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask supply [--advisories DIRECTORY]

Checks the licences and the origin of every crate in Cargo.lock.

  --advisories DIRECTORY  also look each of them up in a checkout of the RustSec advisory database
                          (a vulnerability fails; a crate that is unmaintained or unsound is told)
";

/// The one place that crates of others come from.
const ORIGIN: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// One crate as it is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// None for those of this repository.
    origin: Option<String>,
}

impl Package {
    fn told(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// Runs the chore; true when nothing speaks against what we build on.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    let database = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => None,
        ["--advisories", directory] => Some(Known::at(Path::new(directory))?),
        ["--advisories"] => bail!("--advisories needs the directory of a database\nhint: `cargo xtask supply --help`"),
        [other, ..] => bail!("\"{other}\" is not an option of supply\nhint: `cargo xtask supply --help`"),
    };
    let packages = locked(repo)?;
    let mut refused = of_packages(&packages);
    if let Some(known) = database {
        let found = known.about(&packages)?;
        println!("{} advisories looked at, {} of them about versions that are locked here", known.count(), found.len());
        let (severe, notable): (Vec<Finding>, Vec<Finding>) = found.into_iter().partition(|finding| finding.severe);
        notable.iter().for_each(|finding| println!("note    {}", finding.told));
        refused.extend(severe.into_iter().map(|finding| finding.told));
    }
    refused.iter().for_each(|complaint| println!("FAILED  {complaint}"));
    println!("{} crates, {} complaints", packages.len(), refused.len());
    Ok(refused.is_empty())
}

/// What the licences and origins give reason for, for the table of checks.
pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    Ok(of_packages(&locked(repo)?))
}

fn of_packages(packages: &[Package]) -> Vec<String> {
    packages.iter().filter(|package| package.origin.is_some()).flat_map(of_package).collect()
}

fn of_package(package: &Package) -> Vec<String> {
    let mut found = Vec::new();
    if package.origin.as_deref() != Some(ORIGIN) {
        found.push(format!("{} comes from \"{}\"", package.told(), package.origin.as_deref().unwrap_or_default()));
    }
    if let Err(why) = licences::accepted(package.licence.as_deref()) {
        found.push(format!(
            "{}: {why}; use another crate, or accept it in xtask/src/supply/licences.rs",
            package.told()
        ));
    }
    found
}

/// Every crate that Cargo.lock names, for every platform.
fn locked(repo: &Repo) -> Result<Vec<Package>> {
    let mut command = process::cargo(repo.top());
    command.args(["metadata", "--format-version=1", "--locked"]);
    let said = process::captured(&mut command, Duration::from_secs(600))?;
    ensure!(said.status.success(), "`cargo metadata` failed:\n{}", said.stderr.trim_end());
    parse(&said.stdout)
}

fn parse(metadata: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(metadata).context("`cargo metadata` answered no JSON")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` names no packages")?;
    let text = |package: &Value, field: &str| package[field].as_str().map(str::to_owned);
    let parsed = packages.iter().map(|package| {
        Some(Package {
            name: text(package, "name")?,
            version: text(package, "version")?,
            licence: text(package, "license"),
            origin: text(package, "source"),
        })
    });
    parsed.collect::<Option<Vec<_>>>().context("`cargo metadata` names a package without name or version")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: Some("MIT".to_owned()),
            origin: Some(ORIGIN.to_owned()),
        }
    }

    #[test]
    fn ours_are_not_asked_and_others_are() {
        let metadata = r#"{"packages": [
            {"name": "ours", "version": "0.1.0", "license": null, "source": null},
            {"name": "theirs", "version": "1.2.3", "license": "GPL-3.0-only", "source": "git+https://example.org/x"}]}"#;
        let complaints = of_packages(&parse(metadata).unwrap());
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints.iter().all(|complaint| complaint.starts_with("theirs 1.2.3")), "{complaints:?}");
    }

    #[test]
    fn a_usual_crate_passes() {
        assert!(of_packages(&[package("serde", "1.0.0")]).is_empty());
    }

    #[test]
    fn a_wrong_option_or_database_is_an_error_with_a_way_out() {
        let told = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            run(&Repo::here(), &args).unwrap_err().to_string()
        };
        assert!(told(&["--advisory"]).contains("hint:"));
        assert!(told(&["--advisories"]).contains("hint:"));
        assert!(told(&["--advisories", "/nowhere/at/all"]).contains("/nowhere/at/all"));
    }

    #[test]
    fn an_advisory_is_about_the_versions_it_names() {
        let place = tempfile::tempdir().unwrap();
        let known = advisories::samples(place.path());
        let about = |version: &str| known.about(&[package("leaky", version)]).unwrap();
        assert!(about("1.2.0")[0].severe && about("1.2.0")[0].told.contains("RUSTSEC-2026-0001"));
        assert!(about("1.2.3").is_empty(), "patched");
        assert!(about("0.9.0").is_empty(), "before it came in");
        let unmaintained = known.about(&[package("old", "3.0.0")]).unwrap();
        assert!(!unmaintained[0].severe && unmaintained[0].told.contains("unmaintained"), "{unmaintained:?}");
        assert!(known.about(&[package("forgiven", "1.0.0")]).unwrap().is_empty(), "withdrawn");
        assert!(known.about(&[package("unknown", "1.0.0")]).unwrap().is_empty());
    }
}
