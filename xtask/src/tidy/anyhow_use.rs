//! Check: `anyhow` stays in the programs.
//!
//! Owns the list of crates that may lose the type of an error: the ones nobody builds upon. A library's
//! errors are enums that carry the bad value; its tests may be careless.

use anyhow::Result;

use super::manifest::{self, Crate};
use crate::repo::Repo;

const PROGRAMS: &[&str] = &["paddock", "paddock-bench", "xtask"];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    Ok(manifest::crates(repo)?.iter().filter_map(complaint).collect())
}

fn complaint(member: &Crate) -> Option<String> {
    let wrong = member.normal.contains("anyhow") && !PROGRAMS.contains(&member.name.as_str());
    wrong.then(|| {
        format!(
            "{}/Cargo.toml: `anyhow` is for the binary and xtask; give this library an error enum",
            member.directory
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(name: &str, table: &str) -> Option<String> {
        let text = format!("[package]\nname = \"{name}\"\n[{table}]\nanyhow = \"1\"\n");
        complaint(&Crate::parse("crates/x", &text).unwrap())
    }

    #[test]
    fn the_programs_may() {
        assert_eq!(judged("paddock", "dependencies"), None);
        assert_eq!(judged("xtask", "dependencies"), None);
    }

    #[test]
    fn a_library_may_not_but_its_tests_may() {
        assert!(judged("paddock-config", "dependencies").is_some());
        assert_eq!(judged("paddock-config", "dev-dependencies"), None);
    }
}
