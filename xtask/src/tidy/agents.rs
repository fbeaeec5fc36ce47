//! Check: the `AGENTS.md` pages are there and name only files that are there.
//!
//! Owns the rule that the top and every crate have one, and what counts as the name of a file: in backticks,
//! with a source file's ending, or starting with a directory that exists beside the page or at the top.
//! Names that begin with `/` are logical paths, not files of ours.

use anyhow::Result;

use super::manifest;
use crate::repo::{Repo, SourceFile};

const PAGE: &str = "AGENTS.md";

/// Endings by which even a bare name is a file of the repository.
const SOURCES: &[&str] = &[".rs", ".md", ".py", ".sh", ".ts", ".mjs"];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let all = repo.paths("")?;
    let mut found = missing_pages(repo)?;
    for page in repo.files("", |path| path == PAGE || path.ends_with("/AGENTS.md"))? {
        found.extend(gone(&page, &all));
    }
    Ok(found)
}

fn missing_pages(repo: &Repo) -> Result<Vec<String>> {
    let mut wanted = vec![PAGE.to_owned()];
    wanted.extend(manifest::directories(repo)?.iter().map(|directory| format!("{directory}/{PAGE}")));
    wanted.retain(|page| !repo.has(page));
    Ok(wanted.iter().map(|page| format!("{page}: is missing; say what is here and what to keep true")).collect())
}

fn gone(page: &SourceFile, all: &[String]) -> Vec<String> {
    let beside = page.path.strip_suffix(PAGE).unwrap_or_default();
    let names = page.text.lines().enumerate().flat_map(|(at, line)| code_spans(line).map(move |span| (at + 1, span)));
    names
        .filter(|(_, name)| looks_like_a_path(name, beside, all) && !exists(name, beside, all))
        .map(|(line, name)| format!("{}:{line}: names `{name}`, which is not there", page.path))
        .collect()
}

fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn looks_like_a_path(name: &str, beside: &str, all: &[String]) -> bool {
    let plain = |found: char| found.is_alphanumeric() || "/._-".contains(found);
    if name.starts_with('/') || name.is_empty() || !name.chars().all(plain) {
        return false;
    }
    if SOURCES.iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    let first = name.split_once('/').map(|(first, _)| format!("{first}/"));
    first.is_some_and(|first| {
        all.iter().any(|path| path.starts_with(&first) || path.starts_with(&format!("{beside}{first}")))
    })
}

/// A bare name may be anywhere below the page; a path is relative to the page, its `src`, or the top.
fn exists(name: &str, beside: &str, all: &[String]) -> bool {
    let name = name.trim_end_matches('/');
    let is = |path: &String, place: &str| {
        let rest = path.strip_prefix(place).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let bare = |path: &String| {
        !name.contains('/') && path.strip_prefix(beside).is_some_and(|rest| rest.ends_with(&format!("/{name}")))
    };
    let src = format!("{beside}src/");
    all.iter().any(|path| is(path, "") || is(path, beside) || is(path, &src) || bare(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    fn judged(page: &str) -> Vec<String> {
        let sample = Sample::of(&[
            ("AGENTS.md", "See `crates/a/AGENTS.md`."),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/AGENTS.md", page),
            ("crates/a/src/deep/lib.rs", ""),
            ("docs/x.md", ""),
        ]);
        complaints(&sample.repo()).unwrap()
    }

    #[test]
    fn files_that_are_there_pass() {
        let page =
            "`src/deep/lib.rs`, `deep/lib.rs`, `lib.rs`, `src/`, `docs/x.md`, `crates/a/src`, `crates/a/Cargo.toml`";
        assert!(judged(page).is_empty());
    }

    #[test]
    fn what_is_not_a_path_is_left_alone() {
        let page =
            "`/project/src/App.tsx`, `tools/list`, `Vfs::plan`, `paddock.toml`, `crates/*/src`, `cargo xtask test`";
        assert!(judged(page).is_empty());
    }

    #[test]
    fn files_that_are_gone_are_named_with_the_line() {
        for name in ["src/old.rs", "old.rs", "docs/y.md", "crates/b", "src/old/"] {
            let found = judged(&format!("a\n`{name}`"));
            assert_eq!(found, [format!("crates/a/AGENTS.md:2: names `{name}`, which is not there")]);
        }
    }

    #[test]
    fn every_crate_and_the_top_have_a_page() {
        let sample = Sample::of(&[("crates/a/Cargo.toml", ""), ("xtask/Cargo.toml", "")]);
        let found = complaints(&sample.repo()).unwrap();
        let pages: Vec<&str> = found.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(pages, ["AGENTS.md", "crates/a/AGENTS.md", "xtask/AGENTS.md"]);
    }
}
