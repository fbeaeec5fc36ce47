//! The documents as text: their fences, tables, headings and links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One Markdown file of the checkout.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) path: PathBuf,
    /// Relative to the top of the checkout.
    pub(super) name: String,
    pub(super) text: String,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The README and the other pages at the top that are for everybody, and everything in `docs/`, `docs/guides/` and `docs/specs/`.
pub(super) fn all() -> Vec<Page> {
    let places = ["docs", "docs/guides", "docs/specs"].map(|place| fs::read_dir(top().join(place)).unwrap());
    let docs = places.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.sort();
    paths.splice(0..0, ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| top().join(name)));
    paths.iter().map(|path| Page::read(path)).collect()
}

/// The text of every Rust file of the crates.
pub(super) fn rust_sources() -> Vec<String> {
    let mut sources = Vec::new();
    let mut waiting = vec![top().join("crates")];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                sources.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

impl Page {
    pub(super) fn read(path: &Path) -> Self {
        let path = path.canonicalize().unwrap();
        let name = path.strip_prefix(top()).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { path, name, text }
    }

    pub(super) fn named(name: &str) -> Self {
        Self::read(&top().join(name))
    }

    /// What stands in fences: the words behind the opening one, and the lines up to the closing one.
    pub(super) fn fences(&self) -> Vec<(&str, Vec<&str>)> {
        let mut fences: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut open = false;
        for line in self.text.lines() {
            match line.strip_prefix("```") {
                Some(words) => {
                    open = !open;
                    if open {
                        fences.push((words, Vec::new()));
                    }
                }
                None if open => fences.last_mut().unwrap().1.push(line),
                None => {}
            }
        }
        fences
    }

    /// The lines outside fences.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut fenced = false;
        self.text.lines().filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        })
    }

    /// Links to files of the checkout, as written.
    pub(super) fn links(&self) -> Vec<String> {
        let found = self.prose().flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        found.filter(|link| !link.contains("://")).map(str::to_owned).collect()
    }

    /// The names that a link may give to the headings, as GitHub makes them.
    pub(super) fn anchors(&self) -> BTreeSet<String> {
        let headings =
            self.prose().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
        let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor =
            |heading: &str| heading.to_lowercase().chars().filter(|c| plain(*c)).collect::<String>().replace(' ', "-");
        headings.map(anchor).collect()
    }

    /// Everything from a heading up to the next one.
    pub(super) fn section(&self, heading: &str) -> &str {
        let mut from = None;
        let (mut at, mut fenced) = (0, false);
        for line in self.text.split_inclusive('\n') {
            fenced ^= line.trim_start().starts_with("```");
            if !fenced && line.starts_with('#') {
                match from {
                    None if line.trim_start_matches('#').trim() == heading => from = Some(at),
                    Some(start) => return &self.text[start..at],
                    None => {}
                }
            }
            at += line.len();
        }
        let start = from.unwrap_or_else(|| panic!("{} has no heading \"{heading}\"", self.name));
        &self.text[start..]
    }

    /// The cells of every table row under a heading, without the head of each table.
    pub(super) fn rows_under(&self, heading: &str) -> Vec<Vec<String>> {
        rows(self.section(heading))
    }
}

/// The cells of every table row in a text, without the head of each table.
pub(super) fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let is_rule = |line: &&str| line.starts_with("| ---");
        let heads_a_table = lines.get(at + 1).is_some_and(is_rule);
        if line.starts_with('|') && !is_rule(line) && !heads_a_table {
            rows.push(cells(line));
        }
    }
    rows
}

/// A `|` that belongs to a cell is written `\|`.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\0");
    line.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}
