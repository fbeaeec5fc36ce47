//! Check: nothing half-done is left in the crates.
//!
//! Owns the list of marks: stubs that panic, tests that do not run, examples that are not compiled. Long tests
//! are not ignored tests: they are the same tests with larger counts, which `cargo xtask soak` sets.

use anyhow::Result;

use super::rust_text::{Kind, RustText};
use crate::repo::{Repo, SourceFile};

const IN_CODE: &[(&str, &str)] = &[
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("#[ignore", "a test that does not run proves nothing; large counts belong to `cargo xtask soak`"),
];

const IN_DOCS: &[(&str, &str)] = &[("```ignore", "an example that is not compiled stops being true; make it run")];

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let files = repo.sources(|path| path.ends_with(".rs"))?;
    Ok(files.iter().flat_map(of_file).collect())
}

fn of_file(file: &SourceFile) -> Vec<String> {
    let parsed = RustText::parse(&file.text);
    let told = |line: usize, mark: &str, way_out: &str| format!("{}:{line}: `{mark}`: {way_out}", file.path);
    let mut found = Vec::new();
    for (number, line) in parsed.code_lines() {
        let marks = IN_CODE.iter().filter(|(mark, _)| line.contains(mark));
        found.extend(marks.map(|(mark, way_out)| told(number, mark, way_out)));
    }
    for piece in parsed.pieces.iter().filter(|piece| piece.kind == Kind::Comment) {
        let marks = IN_DOCS.iter().filter(|(mark, _)| piece.text.contains(mark));
        found.extend(marks.map(|(mark, way_out)| told(piece.line, mark, way_out)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Vec<String> {
        of_file(&SourceFile { path: "crates/a/src/lib.rs".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn finished_code_passes() {
        assert!(judged("/// Not todo!().\n#[test]\nfn a() { let _ = \"#[ignore]\"; }\n").is_empty());
    }

    #[test]
    fn each_mark_is_found_with_its_line() {
        assert!(judged("fn a() {\n    todo!()\n}\n")[0].starts_with("crates/a/src/lib.rs:2:"));
        assert_eq!(judged("fn a() { unimplemented!(\"later\") }").len(), 1);
        assert_eq!(judged("#[test]\n#[ignore = \"slow\"]\nfn a() {}").len(), 1);
        assert_eq!(judged("/// ```ignore\n/// a();\n/// ```\nfn a() {}").len(), 1);
    }
}
