//! Check: `unsafe` stands in one module, and every block of it says why it holds.
//!
//! The compiler denies `unsafe` everywhere; this check sees to it that only the listed files switch that off.

use anyhow::Result;

use super::rust_text::RustText;
use crate::repo::{Repo, SourceFile};

/// Files that make system calls with no safe wrapper.
const FILES: &[&str] = &["crates/paddock-exec/src/sys.rs"];

const LINT: &str = "unsafe_code";

pub(crate) fn complaints(repo: &Repo) -> Result<Vec<String>> {
    let files = repo.sources(|path| path.ends_with(".rs"))?;
    let gone = FILES.iter().filter(|path| !repo.has(path));
    let mut found: Vec<String> =
        gone.map(|path| format!("{path}: is in FILES of unsafe_use.rs, and is gone")).collect();
    found.extend(files.iter().flat_map(of_file));
    Ok(found)
}

fn of_file(file: &SourceFile) -> Vec<String> {
    let parsed = RustText::parse(&file.text);
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in parsed.code_lines() {
        if !FILES.contains(&file.path.as_str()) {
            if line.contains(LINT) {
                found.push(format!("{}:{number}: only the files in unsafe_use.rs may switch `{LINT}` off", file.path));
            }
        } else if (line.contains("unsafe {") || line.contains("unsafe impl")) && !is_explained(&lines, number) {
            found.push(format!("{}:{number}: `unsafe` with no `SAFETY:` comment above it", file.path));
        }
    }
    found
}

/// A `SAFETY:` comment within the few lines above: a call may begin before its block.
fn is_explained(lines: &[&str], number: usize) -> bool {
    let above = lines.iter().take(number).rev().take(5);
    above.clone().any(|line| line.trim_start().starts_with("// SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(path: &str, text: &str) -> Vec<String> {
        of_file(&SourceFile { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn the_listed_file_may_with_a_reason() {
        assert!(judged(FILES[0], "#![allow(unsafe_code)]\n// SAFETY: plain.\nlet a = unsafe { b() };\n").is_empty());
        assert_eq!(judged(FILES[0], "let a = unsafe { b() };\n").len(), 1);
    }

    #[test]
    fn nobody_else_may() {
        assert_eq!(judged("crates/a/src/lib.rs", "#![allow(unsafe_code)]\n").len(), 1);
        assert!(judged("crates/a/src/lib.rs", "// unsafe_code is denied.\nfn a() {}\n").is_empty());
    }
}
