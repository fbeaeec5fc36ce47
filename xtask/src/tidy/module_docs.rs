//! Check: every module file opens with a `//!` line, and every script of the npm package with a comment.
//!
//! Owns nothing but that rule. It looks at the first line only: a licence header or an attribute before the
//! text would push what the module owns out of sight.

use anyhow::Result;

use crate::repo::Repo;

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let modules = repo.sources(is_module)?;
    let mut found: Vec<String> = modules
        .iter()
        .filter(|file| !opens_with_doc(&file.text))
        .map(|file| format!("{}: the first line is not `//! …` that says what the module owns", file.path))
        .collect();
    let scripts = repo.sources(is_script)?;
    let bare = scripts.iter().filter(|file| !opens_with_comment(&file.text));
    found.extend(bare.map(|file| format!("{}: does not open with a comment that says what it owns", file.path)));
    Ok(found)
}

fn is_module(path: &str) -> bool {
    path.ends_with(".rs") && path.split('/').any(|part| part == "src")
}

fn is_script(path: &str) -> bool {
    path.ends_with(".ts") && path.split('/').any(|part| part == "ts")
}

/// A comment of either kind that says something, on the first line or the next.
fn opens_with_comment(text: &str) -> bool {
    let opens = text.starts_with("/**") || text.starts_with("//");
    let said =
        text.lines().take(2).any(|line| line.trim_matches(['/', '*', ' ', '`']).starts_with(char::is_alphanumeric));
    opens && said
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
    fn a_script_opens_with_a_comment_of_either_kind() {
        for (text, fine) in [
            ("/** The a. */\nexport {};\n", true),
            ("/**\n * The a.\n */\n", true),
            ("// The a.\n", true),
            ("/** `a`: the a. */\n", true),
            ("/**\n * `a`: the a.\n */\n", true),
            ("export {};\n// The a.\n", false),
            ("//\n", false),
            ("", false),
        ] {
            let sample = Sample::of(&[("bindings/node/ts/a.ts", text), ("bindings/node/tests/a.test.ts", "")]);
            assert_eq!(complaints(&sample.repo()).unwrap().is_empty(), fine, "{text:?}");
        }
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
