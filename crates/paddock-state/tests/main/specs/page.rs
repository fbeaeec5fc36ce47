//! A specification as text: its fenced blocks by heading, its tables.

use std::fs;
use std::path::{Path, PathBuf};

pub(super) struct Page {
    pub(super) text: String,
}

/// The fenced blocks under one heading.
pub(super) struct Example {
    pub(super) heading: String,
    pub(super) blocks: Vec<Block>,
}

pub(super) struct Block {
    /// The word after the language.
    pub(super) kind: String,
    /// With a line break after each line.
    pub(super) text: String,
}

impl Example {
    pub(super) fn find(&self, kind: &str) -> Option<&str> {
        let mut found = self.blocks.iter().filter(|block| block.kind == kind);
        let first = found.next().map(|block| block.text.as_str());
        assert!(found.next().is_none(), "two blocks \"{kind}\" under \"{}\"", self.heading);
        first
    }

    pub(super) fn block(&self, kind: &str) -> &str {
        self.find(kind).unwrap_or_else(|| panic!("no block \"{kind}\" under \"{}\"", self.heading))
    }
}

impl Page {
    pub(super) fn named(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/specs").join(name);
        Self { text: fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) }
    }

    pub(super) fn examples(&self) -> Vec<Example> {
        let mut examples: Vec<Example> = Vec::new();
        let mut heading = "";
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with('#') {
                heading = line.trim_start_matches('#').trim();
            }
            let Some(info) = line.strip_prefix("```") else { continue };
            let text = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            let block = Block { kind: info.split_once(' ').map_or("", |(_, kind)| kind).to_owned(), text };
            match examples.last_mut() {
                Some(last) if last.heading == heading => last.blocks.push(block),
                _ => examples.push(Example { heading: heading.to_owned(), blocks: vec![block] }),
            }
        }
        examples
    }

    /// Everything from a heading up to the next one.
    pub(super) fn section(&self, heading: &str) -> &str {
        let is_heading = |line: &str| line.starts_with('#') && line.trim_start_matches('#').trim() == heading;
        let (mut at, mut from) = (0, None);
        for line in self.text.split_inclusive('\n') {
            match from {
                None if is_heading(line.trim_end()) => from = Some(at),
                Some(start) if line.starts_with('#') => return &self.text[start..at],
                _ => {}
            }
            at += line.len();
        }
        &self.text[from.unwrap_or_else(|| panic!("there is no heading \"{heading}\""))..]
    }

    /// The cells of every table row under a heading, without heads; quotes around a whole cell are taken off.
    pub(super) fn rows_under(&self, heading: &str) -> Vec<Vec<String>> {
        let lines: Vec<&str> = self.section(heading).lines().filter(|line| line.starts_with('|')).collect();
        let is_rule = |line: &str| line.starts_with("| ---");
        let body = |at: usize| !is_rule(lines[at]) && !lines.get(at + 1).is_some_and(|next| is_rule(next));
        let rows: Vec<Vec<String>> = (0..lines.len()).filter(|at| body(*at)).map(|at| cells(lines[at])).collect();
        assert!(!rows.is_empty(), "there is no table under \"{heading}\"");
        rows
    }
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.strip_prefix('|').and_then(|line| line.trim_end().strip_suffix('|')).unwrap();
    let plain = |cell: &str| match cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`')) {
        Some(quoted) if !quoted.contains('`') => quoted.to_owned(),
        _ => cell.to_owned(),
    };
    inner.split('|').map(|cell| plain(cell.trim())).collect()
}

/// The text of every Rust file below a directory.
pub(super) fn rust_sources(top: &Path) -> Vec<String> {
    let mut sources = Vec::new();
    let mut waiting: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                sources.push(fs::read_to_string(path).unwrap_or_default());
            }
        }
    }
    sources
}
