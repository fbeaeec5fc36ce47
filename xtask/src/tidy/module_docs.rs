//! Check: every module file opens with a `//!` line.
//!
//! Owns nothing but that rule. It looks at the first line only: a licence header or an attribute before the
//! text would push what the module owns out of sight.

use anyhow::Result;

use crate::repo::Repo;

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let mut sources = repo.files("crates", is_module)?;
    sources.extend(repo.files("xtask", is_module)?);
    let bare = sources.iter().filter(|file| !opens_with_doc(&file.text));
    Ok(bare
        .map(|file| format!("{}: the first line is not `//! …` that says what the module owns", file.path))
        .collect())
}

fn is_module(path: &str) -> bool {
    path.ends_with(".rs") && path.split('/').any(|part| part == "src")
}

fn opens_with_doc(text: &str) -> bool {
    text.lines().next().and_then(|line| line.strip_prefix("//!")).is_some_and(|said| !said.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn a_module_that_says_what_it_owns_passes() {
        let sample = Sample::of(&[("crates/a/src/lib.rs", "//! The a.\n"), ("crates/a/tests/main.rs", "mod x;\n")]);
        assert!(complaints(&sample.repo()).unwrap().is_empty());
    }

    #[test]
    fn a_silent_module_is_named() {
        let sample = Sample::of(&[
            ("crates/a/src/deep/b.rs", "pub fn b() {}\n"),
            ("crates/a/src/c.rs", "//!\npub fn c() {}\n"),
            ("xtask/src/d.rs", "#![allow(x)]\n//! late\n"),
        ]);
        let found = complaints(&sample.repo()).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/c.rs:") && found[2].starts_with("xtask/src/d.rs:"), "{found:?}");
    }
}
