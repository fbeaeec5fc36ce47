//! Reading the manifests of the crates.
//!
//! Owns which directories hold a crate of ours and what a manifest says that the checks ask for.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::repo::Repo;

/// Whose dependencies each table of a manifest holds: `true` for tests only.
const TABLES: [(&str, bool); 3] = [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)];

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    /// Its directory, relative to the top.
    pub(crate) directory: String,
    pub(crate) name: String,
    /// What it needs to be built.
    pub(crate) normal: BTreeSet<String>,
    /// What only its tests need.
    pub(crate) dev: BTreeSet<String>,
    pub(crate) inherits_lints: bool,
}

/// Every crate of the checkout.
pub(crate) fn crates(repo: &Repo) -> Result<Vec<Crate>> {
    let mut found = Vec::new();
    for directory in directories(repo)? {
        found.push(Crate::parse(&directory, &repo.read(&format!("{directory}/Cargo.toml"))?)?);
    }
    Ok(found)
}

/// The directories that hold a crate.
pub(crate) fn directories(repo: &Repo) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for parent in ["crates", "bindings"] {
        found.extend(repo.directories(parent)?.into_iter().map(|name| format!("{parent}/{name}")));
    }
    found.push("xtask".to_owned());
    found.retain(|directory| repo.has(&format!("{directory}/Cargo.toml")));
    Ok(found)
}

impl Crate {
    pub(crate) fn parse(directory: &str, text: &str) -> Result<Self> {
        let manifest: Table = text.parse().with_context(|| format!("the manifest of \"{directory}\" is not TOML"))?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let name = name.with_context(|| format!("the manifest of \"{directory}\" names no package"))?;
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
        let mut member = Self {
            directory: directory.to_owned(),
            name: name.to_owned(),
            normal: BTreeSet::new(),
            dev: BTreeSet::new(),
            inherits_lints: lints == Some(true),
        };
        member.take(&manifest);
        for (_, platform) in manifest.get("target").and_then(Value::as_table).into_iter().flatten() {
            platform.as_table().into_iter().for_each(|table| member.take(table));
        }
        Ok(member)
    }

    /// What it depends on in any way.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.normal.union(&self.dev)
    }

    fn take(&mut self, manifest: &Table) {
        for (key, tests_only) in TABLES {
            for (alias, value) in manifest.get(key).and_then(Value::as_table).into_iter().flatten() {
                let real = value.get("package").and_then(Value::as_str).unwrap_or(alias);
                let set = if tests_only { &mut self.dev } else { &mut self.normal };
                set.insert(real.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_renames_are_read() {
        let text = "[package]\nname = \"x\"\n[lints]\nworkspace = true\n[dependencies]\na = \"1\"\n\
             b = { package = \"real-b\", version = \"1\" }\n[build-dependencies]\nc = \"1\"\n\
             [dev-dependencies]\nd = \"1\"\n[target.'cfg(unix)'.dependencies]\ne.workspace = true\n";
        let member = Crate::parse("crates/x", text).unwrap();
        assert_eq!(member.normal.iter().collect::<Vec<_>>(), ["a", "c", "e", "real-b"]);
        assert_eq!(member.dev.iter().collect::<Vec<_>>(), ["d"]);
        assert!(member.inherits_lints);
    }

    #[test]
    fn a_manifest_without_a_package_is_an_error() {
        assert!(Crate::parse("crates/x", "[workspace]\n").is_err());
    }
}
