//! Check: a crate depends on nothing that its sources do not name.
//!
//! Owns how a dependency is looked for: its name as Rust writes it, as a word. What only tests name is a dependency of tests;
//! what the crate itself depends on need not be said again for them, unless with other features.

use std::collections::BTreeSet;

use anyhow::Result;

use super::manifest::{self, Crate};
use crate::repo::{Repo, SourceFile};

/// Crates that no source names, and why they are there.
const UNNAMED: &[(&str, &str)] = &[];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for member in manifest::crates(repo)? {
        let files = repo.files(&member.directory, |path| path.ends_with(".rs"))?;
        let place = format!("{}/Cargo.toml", member.directory);
        found.extend(unneeded(&member, &files).into_iter().map(|complaint| format!("{place}: {complaint}")));
    }
    Ok(found)
}

fn unneeded(member: &Crate, files: &[SourceFile]) -> Vec<String> {
    let is_test = |file: &&SourceFile| file.path.starts_with(&format!("{}/tests/", member.directory));
    let own = words(files.iter().filter(|file| !is_test(file)));
    let all = words(files.iter());
    let mut found = Vec::new();
    for name in member.all() {
        let (word, only_for_tests) = (name.replace('-', "_"), !member.normal.contains(name));
        if UNNAMED.iter().any(|(unnamed, _)| unnamed == name) || *name == member.name {
            continue;
        }
        if !all.contains(word.as_str()) {
            found.push(format!("no source names `{word}`; leave `{name}` out"));
        } else if !only_for_tests && !own.contains(word.as_str()) {
            found.push(format!("only its tests name `{word}`; `{name}` belongs to their dependencies"));
        }
    }
    found
}

/// Every word of some sources, as Rust divides them.
fn words<'f>(files: impl Iterator<Item = &'f SourceFile>) -> BTreeSet<&'f str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    files.flat_map(|file| file.text.split(move |letter| !is_word(letter))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    fn judged(manifest: &str, source: &str, test: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"x\"\n{manifest}");
        let sample = Sample::of(&[
            ("crates/x/Cargo.toml", manifest.as_str()),
            ("crates/x/src/lib.rs", source),
            ("crates/x/tests/main/main.rs", test),
        ]);
        complaints(&sample.repo()).unwrap()
    }

    #[test]
    fn what_is_named_is_needed() {
        let manifest = "[dependencies]\na-b = \"1\"\n[dev-dependencies]\nc = \"1\"\n";
        assert_eq!(judged(manifest, "use a_b::x;\n", "use c::y;\n"), Vec::<String>::new());
    }

    #[test]
    fn what_nobody_names_is_refused_and_so_is_what_only_tests_do() {
        let found = judged("[dependencies]\na-b = \"1\"\n", "use a_bc::x;\n", "");
        assert!(found.len() == 1 && found[0].contains("leave `a-b` out"), "{found:?}");
        let found = judged("[dependencies]\nc = \"1\"\n", "", "use c::y;\n");
        assert!(found.len() == 1 && found[0].contains("only its tests"), "{found:?}");
    }
}
