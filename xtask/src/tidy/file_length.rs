//! Check: no file grows past what one sitting can hold.
//!
//! Owns the limit and the list of files that may pass it, each with its reason. A row whose file has become
//! short, or is gone, is itself a complaint, so that the list only holds what is true.

use anyhow::Result;

use crate::repo::{Repo, SourceFile};

const LIMIT: usize = 800;

/// A file that may be longer, and why.
struct Exception {
    path: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader of the table; a test wants it filled"))]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let files = repo.sources(|path| !is_generated(path))?;
    Ok(judge(&files, EXCEPTIONS))
}

fn judge(files: &[SourceFile], exceptions: &[Exception]) -> Vec<String> {
    let excepted = |path: &str| exceptions.iter().any(|exception| exception.path == path);
    let long: Vec<(&str, usize)> = files
        .iter()
        .map(|file| (file.path.as_str(), file.text.lines().count()))
        .filter(|(_, lines)| *lines > LIMIT)
        .collect();
    let mut found: Vec<String> = long
        .iter()
        .filter(|(path, _)| !excepted(path))
        .map(|(path, lines)| {
            format!("{path}: {lines} lines, over {LIMIT}; part it, or list it with a reason in file_length.rs")
        })
        .collect();
    let stale = exceptions.iter().filter(|exception| !long.iter().any(|(path, _)| *path == exception.path));
    found.extend(stale.map(|exception| format!("{}: listed as long, and is not", exception.path)));
    found
}

/// Snapshots, lock files, lists for the linker and dumps of databases are as long as what they record.
fn is_generated(path: &str) -> bool {
    [".snap", ".lock", "package-lock.json", "/dump.sql", "/link-order.txt"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: usize) -> SourceFile {
        SourceFile { path: path.to_owned(), text: "x\n".repeat(lines) }
    }

    #[test]
    fn the_limit_itself_passes_and_one_more_does_not() {
        assert!(judge(&[file("a.rs", LIMIT)], &[]).is_empty());
        assert_eq!(judge(&[file("a.rs", LIMIT + 1)], &[]).len(), 1);
    }

    #[test]
    fn a_listed_file_may_be_long_but_must_be() {
        let listed = [Exception { path: "a.rs", reason: "a table" }];
        assert!(judge(&[file("a.rs", LIMIT + 1)], &listed).is_empty());
        assert_eq!(judge(&[file("a.rs", 10)], &listed), ["a.rs: listed as long, and is not"]);
        assert_eq!(judge(&[], &listed).len(), 1);
    }

    #[test]
    fn every_exception_has_a_reason() {
        assert!(EXCEPTIONS.iter().all(|exception| !exception.reason.is_empty()));
    }
}
