//! What is known against crates: a checkout of the RustSec advisory database, read as it lies there.
//!
//! Owns which advisory is about which version. An entry that cannot be read is an error and not the same as none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use semver::{Version, VersionReq};
use toml::Table;

use super::Package;

/// Where the database keeps advisories about crates, one directory for each.
const CRATES: &str = "crates";

/// An advisory that is about a version we use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) told: String,
    /// A vulnerability, and not only something to know.
    pub(super) severe: bool,
}

/// The database.
#[derive(Debug)]
pub(super) struct Known {
    top: PathBuf,
}

impl Known {
    pub(super) fn at(directory: &Path) -> Result<Self> {
        let top = directory.join(CRATES);
        let shown = directory.display();
        ensure!(
            top.is_dir(),
            "\"{shown}\" is no advisory database\nhint: a checkout of https://github.com/rustsec/advisory-db is one"
        );
        let known = Self { top };
        ensure!(known.count() > 0, "the advisory database in \"{shown}\" is empty");
        Ok(known)
    }

    /// How many advisories it has.
    pub(super) fn count(&self) -> usize {
        entries(&self.top).iter().map(|directory| entries(directory).len()).sum()
    }

    /// Those that are about one of the packages.
    pub(super) fn about(&self, packages: &[Package]) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        for package in packages.iter().filter(|package| package.origin.is_some()) {
            let version = Version::parse(&package.version).with_context(|| package.told())?;
            for path in entries(&self.top.join(&package.name)) {
                let told = || format!("the advisory \"{}\" cannot be read", path.display());
                let entry = front_matter(&fs::read_to_string(&path).with_context(told)?).with_context(told)?;
                found.extend(judged(package, &version, &entry).with_context(told)?);
            }
        }
        Ok(found)
    }
}

/// What is in a directory, in order; nothing where there is none.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        listed.filter(|path| path.is_dir() || path.extension().is_some_and(|e| e == "md")).collect();
    paths.sort();
    paths
}

/// The facts of an advisory stand in front of its text, between two fences.
fn front_matter(text: &str) -> Result<Table> {
    let facts = text.trim_start().strip_prefix("```toml").and_then(|rest| rest.split_once("\n```"));
    Ok(facts.context("it does not begin with its facts")?.0.parse()?)
}

fn judged(package: &Package, version: &Version, entry: &Table) -> Result<Option<Finding>> {
    let advisory = entry.get("advisory").and_then(|value| value.as_table()).context("it has no [advisory]")?;
    if advisory.contains_key("withdrawn") || !is_affected(version, entry)? {
        return Ok(None);
    }
    let text = |field: &str| advisory.get(field).and_then(|value| value.as_str());
    let id = text("id").context("it has no id")?;
    let kind = text("informational");
    let why = kind.or(text("url")).unwrap_or("a vulnerability");
    let told = format!("{}: {id}, {why}: https://rustsec.org/advisories/{id}.html", package.told());
    Ok(Some(Finding { told, severe: kind.is_none() }))
}

/// Neither patched nor from before it came in.
fn is_affected(version: &Version, entry: &Table) -> Result<bool> {
    let Some(versions) = entry.get("versions").and_then(|value| value.as_table()) else { return Ok(true) };
    for field in ["patched", "unaffected"] {
        let ranges = versions.get(field).and_then(|value| value.as_array());
        for range in ranges.into_iter().flatten() {
            let range = range.as_str().context("a range of versions is no text")?;
            if VersionReq::parse(range)?.matches(version) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// A small database for tests.
#[cfg(test)]
pub(super) fn samples(directory: &Path) -> Known {
    for (name, facts) in [
        (
            "leaky",
            "[advisory]\nid = \"RUSTSEC-2026-0001\"\n[versions]\npatched = [\">= 1.2.3\"]\nunaffected = [\"< 1.0.0\"]",
        ),
        ("old", "[advisory]\nid = \"RUSTSEC-2026-0002\"\ninformational = \"unmaintained\"\n[versions]\npatched = []"),
        ("forgiven", "[advisory]\nid = \"RUSTSEC-2026-0003\"\nwithdrawn = \"2026-02-03\"\n[versions]\npatched = []"),
    ] {
        let place = directory.join(CRATES).join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("RUSTSEC.md"), format!("```toml\n{facts}\n```\n\n# It leaks\n")).unwrap();
    }
    Known::at(directory).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_torn_database_is_an_error_and_not_no_finding() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(CRATES)).unwrap();
        assert!(Known::at(place.path()).unwrap_err().to_string().contains("empty"));
        let known = samples(place.path());
        fs::write(place.path().join("crates/leaky/RUSTSEC.md"), "# It leaks\n").unwrap();
        let leaky = Package {
            name: "leaky".to_owned(),
            version: "1.2.0".to_owned(),
            licence: None,
            origin: Some("somewhere".to_owned()),
        };
        assert!(known.about(&[leaky]).is_err());
    }
}
