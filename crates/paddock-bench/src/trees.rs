//! The files that every contender works on: one project, laid out once, the same for all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The size of a file that is read or written.
pub(crate) const SIZE: usize = 4096;
/// How many files are read.
pub(crate) const READ: usize = 1000;
/// How many entries the listed directory has.
pub(crate) const LISTED: usize = 1000;
/// How many files are looked through by name.
pub(crate) const NAMED: usize = 2000;
/// What is searched for, as a regular expression.
pub(crate) const PATTERN: &str = "hidden_marker_[0-9]+";
/// A part of the names that are found by name.
pub(crate) const NEEDLE: &str = "needle";

const WORDS: [&str; 24] = [
    "workspace",
    "scope",
    "let",
    "return",
    "value",
    "struct",
    "match",
    "path",
    "of",
    "the",
    "agent",
    "reads",
    "fn",
    "state",
    "writes",
    "config",
    "store",
    "mount",
    "result",
    "error",
    "index",
    "while",
    "count",
    "parse",
];

/// A file and its content.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// Relative to the project.
    pub(crate) path: String,
    pub(crate) content: String,
}

/// A tree in which contents are searched.
#[derive(Debug, Clone)]
pub(crate) struct Searched {
    /// Relative to the project.
    pub(crate) path: String,
    pub(crate) files: usize,
    /// The lines that match, as `file:line`, relative to the tree, sorted. What `.gitignore` leaves out is not there.
    pub(crate) matches: Vec<String>,
}

/// The project and what is in it.
#[derive(Debug)]
pub(crate) struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// An empty one in a new directory at this place.
    pub(crate) fn new(place: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("paddock-bench-").tempdir_in(place)?;
        fs::create_dir(directory.path().join("project"))?;
        Ok(Self { directory })
    }

    /// What every server serves.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Where Paddock keeps its state: beside the project.
    pub(crate) fn system_root(&self) -> PathBuf {
        self.directory.path().join("system")
    }

    /// A new directory beside the project, for files that no server serves.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let path = self.directory.path().join(name);
        fs::create_dir(&path).with_context(|| format!("cannot make \"{}\"", path.display()))?;
        Ok(path)
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String> {
        fs::read_to_string(self.path().join(relative)).with_context(|| format!("cannot read \"{relative}\""))
    }

    pub(crate) fn write(&self, relative: &str, content: &str) -> Result<()> {
        let path = self.path().join(relative);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(&path, content).with_context(|| format!("cannot write \"{relative}\""))
    }

    /// Files of 4 KiB of text.
    pub(crate) fn read_tree(&self) -> Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for i in 0..READ {
            let sample = Sample { path: format!("read/part-{}/file-{i}.txt", i % 20), content: text(i, SIZE) };
            self.write(&sample.path, &sample.content)?;
            samples.push(sample);
        }
        Ok(samples)
    }

    /// One directory with many entries; gives back their names.
    pub(crate) fn listed_directory(&self) -> Result<Vec<String>> {
        let names: Vec<String> = (0..LISTED).map(|i| format!("entry-{i:04}.txt")).collect();
        for name in &names {
            self.write(&format!("listed/{name}"), "an entry\n")?;
        }
        Ok(names)
    }

    /// Files in directories, of which one in fifty has the needle in its name; gives back those, sorted.
    pub(crate) fn named_tree(&self) -> Result<Vec<String>> {
        let mut wanted = Vec::new();
        for i in 0..NAMED {
            let is_wanted = i % 50 == 7;
            let name = if is_wanted { format!("item-{i:04}-{NEEDLE}.txt") } else { format!("item-{i:04}.txt") };
            self.write(&format!("named/part-{}/{name}", i % 40), "an item\n")?;
            wanted.extend(is_wanted.then_some(name));
        }
        wanted.sort();
        Ok(wanted)
    }

    /// Text files of a few KiB, twenty-five in a directory, of which some match; beside them files that match and that
    /// `.gitignore` leaves out.
    pub(crate) fn searched_tree(&self, path: &str, files: usize) -> Result<Searched> {
        const IN_A_DIRECTORY: usize = 25;
        const MATCHES: usize = 40;
        let line = |i: usize| format!("    let hidden_marker_{i} = found;\n");
        self.write(&format!("{path}/.gitignore"), "*.log\nbuild/\n")?;
        let step = files.div_ceil(MATCHES);
        let mut matches = Vec::new();
        for i in 0..files {
            let name = format!("module-{}/file-{i}.rs", i / IN_A_DIRECTORY);
            let mut content = text(i, 1024 << (i % 4));
            if i % step == step / 2 {
                matches.push(format!("{name}:{}", content.lines().count() + 1));
                content.push_str(&line(i));
                content.push_str(&text(i + 1, 1024));
            }
            self.write(&format!("{path}/{name}"), &content)?;
        }
        for i in 0..files / 20 {
            self.write(&format!("{path}/build/out-{i}.rs"), &line(i))?;
            self.write(&format!("{path}/module-{}/run.log", i % (files / IN_A_DIRECTORY)), &line(i))?;
        }
        matches.sort();
        Ok(Searched { path: path.to_owned(), files, matches })
    }
}

/// So many bytes of lines of words, the same for the same seed.
pub(crate) fn text(seed: usize, bytes: usize) -> String {
    let mut state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(bytes + 16);
    let mut column = 0;
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = WORDS[(state % WORDS.len() as u64) as usize];
        out.push_str(word);
        column += word.len() + 1;
        let is_line_full = column > 70;
        out.push(if is_line_full { '\n' } else { ' ' });
        column = if is_line_full { 0 } else { column };
    }
    out.truncate(bytes - 1);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_its_size_lines_and_no_match() {
        let sample = text(7, SIZE);
        assert_eq!(sample.len(), SIZE);
        assert!(sample.lines().count() > 40 && sample.lines().all(|line| line.len() < 90));
        assert_eq!(sample, text(7, SIZE));
        assert_ne!(sample, text(8, SIZE));
        assert!(!sample.contains("hidden_marker"));
    }

    #[test]
    fn matches_are_where_they_are_said_to_be() {
        let project = Project::new(&std::env::temp_dir()).unwrap();
        let tree = project.searched_tree("t", 100).unwrap();
        assert!(!tree.matches.is_empty());
        for place in &tree.matches {
            let (file, line) = place.rsplit_once(':').unwrap();
            let content = project.read(&format!("t/{file}")).unwrap();
            assert!(content.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().contains("hidden_marker_"));
        }
        assert!(project.read("t/build/out-0.rs").unwrap().contains("hidden_marker_"));
    }
}
