//! Check: the host's files and processes are reached only from the crates that own them.
//!
//! Clippy does the watching; this check sees to it that clippy is told what to watch, that every crate listens,
//! and that only the owners listed here switch the rule off, each with a reason beside it.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::manifest;
use super::rust_text::RustText;
use crate::repo::{Repo, SourceFile};

const LINT: &str = "clippy::disallowed_methods";

/// Crates that own I/O: the lint is off in all of them.
const OWNERS: &[&str] = &[
    "crates/paddock-stores",
    "crates/paddock-state",
    "crates/paddock-db",
    "crates/paddock-config",
    "crates/paddock-exec",
    // Measures: it starts the peers and lays out the trees they read.
    "crates/paddock-bench",
    "xtask",
];

/// Single files elsewhere that must touch the host, and what for.
const FILES: &[(&str, &str)] = &[
    ("bindings/node/src/databases.rs", "the directory of a database that a program names is looked for"),
    ("crates/paddock/build.rs", "how this machine's linker can lay out the program is tried with the compiler"),
    ("crates/paddock/src/host.rs", "the doctor looks, the demo lays out a sample and starts the server"),
    ("crates/paddock-console/src/assets.rs", "in a debug build the derived code reads the assets from the disk"),
    ("crates/paddock-desk/src/host.rs", "the configuration is looked for and read"),
    ("crates/paddock-tools/src/notifying.rs", "the program that a person wants to be told by is started"),
    (
        "crates/paddock-projects/src/host.rs",
        "what comes in waits in files, repositories are written, packages are read and git is started",
    ),
    ("crates/paddock-ledger/src/audit/host.rs", "the key and the outside head of the audit are not in the database"),
];

/// A sample of what clippy.toml must name; were one gone, the rule would have a hole.
const WATCHED: &[&str] = &[
    "std::fs::canonicalize",
    "std::fs::metadata",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_to_string",
    "std::fs::remove_dir_all",
    "std::fs::remove_file",
    "std::fs::rename",
    "std::fs::write",
    "std::fs::File::create",
    "std::fs::File::open",
    "std::fs::OpenOptions::open",
    "std::path::Path::canonicalize",
    "std::path::Path::exists",
    "std::path::Path::is_dir",
    "std::path::Path::is_file",
    "std::path::Path::metadata",
    "std::path::Path::read_dir",
    "std::path::Path::read_link",
    "std::path::Path::symlink_metadata",
    "std::process::Command::new",
    "tokio::fs::read",
    "tokio::fs::write",
    "tokio::fs::File::open",
    "tokio::process::Command::new",
];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let mut found = clippy_complaints(&repo.read("clippy.toml").unwrap_or_default())?;
    found.extend(lint_complaints(&repo.read("Cargo.toml")?)?);
    for member in manifest::crates(repo)?.iter().filter(|member| !member.inherits_lints) {
        found.push(format!("{}/Cargo.toml: lacks `[lints] workspace = true`", member.directory));
    }
    for directory in manifest::directories(repo)? {
        for file in programs(repo, &directory)? {
            found.extend(allow_complaints(&file, OWNERS.contains(&directory.as_str()), FILES));
        }
    }
    let gone = FILES.iter().filter(|(path, _)| !repo.has(path));
    found.extend(gone.map(|(path, _)| format!("{path}: is in FILES of host_access.rs, and is gone")));
    Ok(found)
}

/// What a crate is made of, and what runs while it is built; tests may touch the host.
fn programs(repo: &Repo, directory: &str) -> Result<Vec<SourceFile>> {
    let mut files = repo.files(&format!("{directory}/src"), |path| path.ends_with(".rs"))?;
    let path = format!("{directory}/build.rs");
    if repo.has(&path) {
        files.push(SourceFile { text: repo.read(&path)?, path });
    }
    Ok(files)
}

fn clippy_complaints(text: &str) -> Result<Vec<String>> {
    let settings: Table = text.parse().context("clippy.toml is not TOML")?;
    let rows = settings.get("disallowed-methods").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = |path: &str| {
        let row = rows.iter().find(|row| row.get("path").and_then(Value::as_str) == Some(path));
        row.is_some_and(|row| row.get("reason").and_then(Value::as_str).is_some_and(|reason| !reason.is_empty()))
    };
    let missing = WATCHED.iter().filter(|path| !named(path));
    Ok(missing.map(|path| format!("clippy.toml: `{path}` is not disallowed with a reason")).collect())
}

fn lint_complaints(text: &str) -> Result<Vec<String>> {
    let manifest: Table = text.parse().context("Cargo.toml is not TOML")?;
    let mut lint = manifest.get("workspace");
    for key in ["lints", "clippy", "disallowed_methods"] {
        lint = lint.and_then(|table| table.get(key));
    }
    let denied = lint.and_then(Value::as_str) == Some("deny");
    Ok(if denied { Vec::new() } else { vec![format!("Cargo.toml: `{LINT}` must be \"deny\" for the workspace")] })
}

fn allow_complaints(file: &SourceFile, owner: bool, files: &[(&str, &str)]) -> Vec<String> {
    let parsed = RustText::parse(&file.text);
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (at, _) in parsed.code.match_indices(LINT) {
        let start = parsed.code[..at].rfind('#').unwrap_or(at);
        let line = 1 + parsed.code[..start].matches('\n').count();
        let attribute: String = parsed.code[start..at].split_whitespace().collect();
        if attribute.contains("cfg_attr(test,") || parsed.is_test(line) {
            continue;
        }
        if !owner && !files.iter().any(|(path, _)| *path == file.path) {
            found.push(format!(
                "{}:{line}: switches `{LINT}` off; go through a crate that owns I/O, or list it in host_access.rs",
                file.path
            ));
        } else if !is_explained(&lines, line) {
            found.push(format!("{}:{line}: switches `{LINT}` off with no reason in a comment above", file.path));
        }
    }
    found
}

/// A comment on the line above the attribute, or a `reason = …` within the next lines of it.
fn is_explained(lines: &[&str], line: usize) -> bool {
    let above = line >= 2 && lines.get(line - 2).is_some_and(|text| is_plain_comment(text));
    let inside = lines.iter().skip(line - 1).take(6).take_while(|text| !text.trim_end().ends_with(']'));
    above || inside.chain(lines.get(line - 1)).any(|text| text.contains("reason = "))
}

fn is_plain_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("//") && !text.starts_with("//!")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    const ALLOW: &str = "// It owns the disk.\n#![allow(clippy::disallowed_methods)]\n";

    fn judged(text: &str, owner: bool) -> Vec<String> {
        let file = SourceFile { path: "crates/a/src/lib.rs".to_owned(), text: text.to_owned() };
        allow_complaints(&file, owner, &[("crates/b/src/demo.rs", "starts the server")])
    }

    #[test]
    fn an_owner_with_a_reason_passes() {
        assert!(judged(ALLOW, true).is_empty());
        assert!(judged("#![allow(clippy::disallowed_methods, reason = \"it owns the disk\")]", true).is_empty());
    }

    #[test]
    fn an_owner_must_say_why() {
        assert_eq!(judged("//! Doc.\n#![allow(clippy::disallowed_methods)]", true).len(), 1);
    }

    #[test]
    fn nobody_else_may_at_any_level() {
        assert_eq!(judged(ALLOW, false).len(), 1);
        assert_eq!(judged("// Just here.\n#[expect(clippy::disallowed_methods)]\nfn a() {}", false).len(), 1);
    }

    #[test]
    fn a_listed_file_may() {
        let file = SourceFile { path: "crates/b/src/demo.rs".to_owned(), text: ALLOW.to_owned() };
        assert!(allow_complaints(&file, false, &[("crates/b/src/demo.rs", "why")]).is_empty());
    }

    #[test]
    fn what_builds_a_crate_is_looked_at_and_its_tests_are_not() {
        let manifest = "[package]\nname = \"a\"\n";
        let sample = Sample::of(&[
            ("Cargo.toml", ""),
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/build.rs", ALLOW),
            ("crates/a/tests/a.rs", ALLOW),
            ("crates/paddock/Cargo.toml", manifest),
            ("crates/paddock/build.rs", ALLOW),
        ]);
        let found = complaints(&sample.repo()).unwrap();
        let off: Vec<&String> = found.iter().filter(|text| text.contains("switches")).collect();
        assert!(off.len() == 1 && off[0].starts_with("crates/a/build.rs:2:"), "{off:?}");
    }

    #[test]
    fn tests_may() {
        assert!(judged("#![cfg_attr(test, allow(clippy::unwrap_used, clippy::disallowed_methods))]", false).is_empty());
        assert!(judged("#[cfg(test)]\nmod tests {\n#![allow(clippy::disallowed_methods)]\n}", false).is_empty());
    }

    #[test]
    fn clippy_must_be_told_everything() {
        let row = |path: &&str| format!("{{ path = \"{path}\", reason = \"r\" }}");
        let full =
            |rows: &[&str]| format!("disallowed-methods = [{}]", rows.iter().map(row).collect::<Vec<_>>().join(","));
        assert!(clippy_complaints(&full(WATCHED)).unwrap().is_empty());
        assert_eq!(clippy_complaints(&full(&WATCHED[1..])).unwrap().len(), 1);
        assert_eq!(clippy_complaints("").unwrap().len(), WATCHED.len());
        let unexplained = full(WATCHED).replacen("reason = \"r\"", "reason = \"\"", 1);
        assert_eq!(clippy_complaints(&unexplained).unwrap().len(), 1);
    }

    #[test]
    fn the_lint_must_be_denied() {
        assert!(lint_complaints("[workspace.lints.clippy]\ndisallowed_methods = \"deny\"\n").unwrap().is_empty());
        assert_eq!(lint_complaints("[workspace.lints.clippy]\ndisallowed_methods = \"warn\"\n").unwrap().len(), 1);
        assert_eq!(lint_complaints("").unwrap().len(), 1);
    }
}
