//! Check: the words of the glossary are the words of the code, the documentation and the messages.
//!
//! Owns where the check looks: names of public items, comments and string literals of the crates and of the npm
//! package, and every Markdown page. What is forbidden, and what is excepted with its reason, is in `words`. Tests may say what
//! they like: they play people and attackers who do not know the glossary.

mod names;
mod prose;
mod words;

use anyhow::Result;

use super::rust_text::RustText;
use super::script_text::ScriptText;
use crate::repo::{Repo, SourceFile};
use words::{EXCEPTIONS, Exception};

/// One place where a forbidden word stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    line: usize,
    word: String,
    instead: &'static str,
    /// The text around it, by which an exception can know it.
    context: String,
}

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let mut files = repo.sources(|path| is_checked_rust(path) || is_script(path))?;
    files.extend(repo.files("", |path| path.ends_with(".md"))?);
    Ok(judge(&files, EXCEPTIONS))
}

/// The list of words itself must be able to name them.
fn is_checked_rust(path: &str) -> bool {
    path.ends_with(".rs") && path.contains("/src/") && !path.starts_with("xtask/src/tidy/glossary/")
}

/// The package's own TypeScript; its tests may say what they like, as others may.
fn is_script(path: &str) -> bool {
    path.ends_with(".ts") && !path.split('/').any(|part| part == "tests")
}

fn judge(files: &[SourceFile], exceptions: &[Exception]) -> Vec<String> {
    let mut used = vec![false; exceptions.len()];
    let mut complaints = Vec::new();
    for file in files {
        for finding in findings(file) {
            match exceptions.iter().position(|exception| exception.covers(&file.path, &finding.context)) {
                Some(at) => used[at] = true,
                None => complaints.push(told(&file.path, &finding)),
            }
        }
    }
    let stale = exceptions.iter().zip(used).filter(|(_, used)| !used);
    complaints.extend(stale.map(|(exception, _)| {
        format!("{}: the exception for \"{}\" excepts nothing any more", exception.path, exception.context)
    }));
    complaints
}

fn findings(file: &SourceFile) -> Vec<Finding> {
    if file.path.ends_with(".md") {
        return prose::in_markdown(&file.text);
    }
    if is_script(&file.path) {
        let script = ScriptText::parse(&file.text);
        let mut found = names::in_script(&script);
        found.extend(prose::in_pieces(&script.pieces));
        return found;
    }
    let parsed = RustText::parse(&file.text);
    let mut found = names::in_code(&parsed);
    found.extend(prose::in_rust(&parsed));
    found
}

fn told(path: &str, finding: &Finding) -> String {
    let Finding { line, word, instead, context } = finding;
    format!("{path}:{line}: \"{word}\" in \"{context}\"; the glossary says {instead}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn names_comments_messages_and_pages_are_all_looked_at() {
        let source = "/// Talks to the adapter.\npub struct FsBackend;\nconst A: &str = \"no such folder\";\n";
        let found = judge(&[file("crates/a/src/lib.rs", source), file("docs/a.md", "Grant rights.\n")], &[]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("crates/a/src/lib.rs:2:")), "{found:?}");
        assert!(
            found.iter().any(|line| line.starts_with("docs/a.md:1:") && line.contains("Access Scope")),
            "{found:?}"
        );
    }

    #[test]
    fn scripts_are_looked_at_and_their_tests_are_not() {
        let source =
            "/** Talks to the adapter. */\nexport class FsBackend {}\nthrow new Error(`no ${folder}, no folder`);\n";
        let found = judge(&[file("bindings/node/ts/a.ts", source)], &[]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("bindings/node/ts/a.ts:3:")), "{found:?}");
        assert!(is_script("bindings/node/ts/a.ts") && !is_script("bindings/node/tests/a.test.ts"));
    }

    #[test]
    fn the_glossary_s_own_words_pass() {
        let source = "/// A Store that a Mount leads to; its Access Scope is fixed.\npub struct PhysicalStore;\n";
        assert!(judge(&[file("crates/a/src/lib.rs", source)], &[]).is_empty());
    }

    #[test]
    fn tests_may_say_what_they_like() {
        let source = "#[cfg(test)]\nmod tests {\n    // the folder\n    pub fn backend() {}\n}\n";
        assert!(judge(&[file("crates/a/src/lib.rs", source)], &[]).is_empty());
    }

    #[test]
    fn an_exception_holds_for_its_place_and_must_be_used() {
        let rule = [Exception { path: "docs/a.md", context: "grant rights", reason: "quoted" }];
        assert!(judge(&[file("docs/a.md", "Grant rights.\n")], &rule).is_empty());
        assert_eq!(judge(&[file("docs/b.md", "Grant rights.\n"), file("docs/a.md", "")], &rule).len(), 2);
    }

    #[test]
    fn every_exception_has_a_reason() {
        assert!(EXCEPTIONS.iter().all(|exception| exception.reason.len() > 5));
    }
}
