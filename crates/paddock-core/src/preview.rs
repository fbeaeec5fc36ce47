//! What a call would change, as a person is shown it before they decide.
//!
//! It stays in parts from where it is made to where it is shown: what a file holds, or a link says, is a line of its own part, and can
//! never be taken for another part. Nobody reads the text of a preview again. Whoever makes one leaves no character in it that
//! steers or deceives.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What would change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preview {
    /// All that there is to say, where no path is known; of what was asked long ago, all that was kept.
    pub words: String,
    /// Over all paths.
    pub totals: Totals,
    /// Every path; the first of them where they are too many to be named.
    pub paths: Vec<Changed>,
    /// Where all of them lie, if not every one is named.
    pub spots: Vec<Spot>,
    /// Is all of it there? Nobody can agree for good to what they did not see.
    pub whole: bool,
}

/// What a preview comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// How many paths, by what becomes of them.
    pub fates: BTreeMap<Fate, u64>,
    /// Lines that come.
    pub added: u64,
    /// Lines that go.
    pub removed: u64,
    /// The paths whose lines nobody counted: no text, or too long.
    pub uncounted: u64,
}

/// What becomes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It goes.
    Deleted,
    /// It goes elsewhere.
    MovedAway,
    /// Something else is in it.
    Changed,
    /// It is new.
    New,
    /// It comes from elsewhere.
    MovedHere,
    /// It is handed in where nobody sees what was there.
    Delivered,
    /// Only its mode or its time are others.
    Dressed,
}

impl Fate {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::MovedAway => "moved away",
            Self::Changed => "changed",
            Self::New => "new",
            Self::MovedHere => "moved here",
            Self::Delivered => "delivered",
            Self::Dressed => "mode or time",
        }
    }
}

/// A path with what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The path.
    pub path: String,
    /// What becomes of it.
    pub fate: Fate,
    /// Is it a directory?
    pub is_directory: bool,
    /// Where a link would lead, as it is written.
    pub leads_to: Option<String>,
    /// What becomes of its mode, where that is worth a look.
    pub mode: Option<String>,
    /// Lines that come.
    pub added: u64,
    /// Lines that go.
    pub removed: u64,
    /// The lines, with some around them that stay.
    pub hunks: Vec<DiffHunk>,
    /// Why they are not there.
    pub not_shown: Option<String>,
}

/// Lines that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffHunk {
    /// How many lines are before it.
    pub old_start: u64,
    /// How many lines it has now.
    pub old_lines: u64,
    /// How many lines will be before it.
    pub new_start: u64,
    /// How many lines it will have.
    pub new_lines: u64,
    /// The lines.
    pub lines: Vec<DiffLine>,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct DiffLine {
    /// What becomes of it.
    pub fate: LineFate,
    /// What it says.
    pub text: String,
    /// Does it end with a line feed? Only the last one of a file may not.
    pub is_ended: bool,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFate {
    /// It stays.
    Same,
    /// It comes.
    Added,
    /// It goes.
    Removed,
}

impl LineFate {
    /// The sign before it.
    pub fn sign(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

/// Kept as one text: the sign, what it says, and the line feed that it ends with.
impl From<DiffLine> for String {
    fn from(line: DiffLine) -> Self {
        format!("{}{}{}", line.fate.sign(), line.text, if line.is_ended { "\n" } else { "" })
    }
}

impl From<String> for DiffLine {
    fn from(text: String) -> Self {
        let fate = match text.chars().next() {
            Some('+') => LineFate::Added,
            Some('-') => LineFate::Removed,
            _ => LineFate::Same,
        };
        let said = text.get(1..).unwrap_or_default();
        let (said, is_ended) = said.strip_suffix('\n').map_or((said, false), |said| (said, true));
        Self { fate, text: said.to_owned(), is_ended }
    }
}

/// A directory with how many of the paths lie in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The directory.
    pub directory: String,
    /// How many paths, by what becomes of them.
    pub fates: BTreeMap<Fate, u64>,
}

impl Preview {
    /// One that has nothing but words, and says so.
    pub fn in_words(words: impl Into<String>) -> Self {
        Self { words: words.into(), ..Self::default() }
    }

    /// Does anything in it move?
    pub fn has_moves(&self) -> bool {
        self.paths.iter().any(|changed| matches!(changed.fate, Fate::MovedAway | Fate::MovedHere))
    }

    /// Is it made of parts?
    pub fn has_parts(&self) -> bool {
        !self.totals.fates.is_empty()
    }

    /// What it comes to, in a line; nothing where nothing is known of paths.
    pub fn summary(&self) -> String {
        let Totals { fates, added, removed, uncounted } = &self.totals;
        let lines = match uncounted {
            0 => String::new(),
            1 => ", not counting the lines of 1 path".to_owned(),
            many => format!(", not counting the lines of {many} paths"),
        };
        if self.has_parts() { format!("{}, +{added} −{removed}{lines}", by_fate(fates)) } else { String::new() }
    }

    /// How many paths there are, named or not.
    pub fn count(&self) -> u64 {
        self.totals.fates.values().sum()
    }
}

/// `5 paths: 4 deleted, 1 new`.
fn by_fate(fates: &BTreeMap<Fate, u64>) -> String {
    let count: u64 = fates.values().sum();
    let each: Vec<String> = fates.iter().map(|(fate, count)| format!("{count} {}", fate.name())).collect();
    format!("{count} {}: {}", if count == 1 { "path" } else { "paths" }, each.join(", "))
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.directory, by_fate(&self.fates))
    }
}

/// A path in a line.
impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12} {}{}", self.fate.name(), self.path, if self.is_directory { "/" } else { "" })?;
        if let Some(leads_to) = &self.leads_to {
            write!(f, " -> {leads_to}")?;
        }
        let about: Vec<&str> = [&self.mode, &self.not_shown].into_iter().flatten().map(String::as_str).collect();
        if !about.is_empty() {
            write!(f, " ({})", about.join("; "))?;
        }
        Ok(())
    }
}

impl fmt::Display for DiffHunk {
    /// Where it is, as unified diffs write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |before: u64, lines: u64| match lines {
            0 => format!("{before},0"),
            1 => (before + 1).to_string(),
            _ => format!("{},{lines}", before + 1),
        };
        let (old, new) = (side(self.old_start, self.old_lines), side(self.new_start, self.new_lines));
        write!(f, "@@ -{old} +{new} @@")
    }
}

/// As text, for people alone: what it comes to, every path, then the lines of each. A line of a file begins with its sign, so none can look
/// like the heading of another file.
impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.words.is_empty() {
            writeln!(f, "{}", self.words.trim_end_matches('\n'))?;
        }
        if !self.has_parts() {
            return Ok(());
        }
        writeln!(f, "{}", self.summary())?;
        if !self.spots.is_empty() {
            writeln!(f, "Not every path can be named; all of them lie in:")?;
            self.spots.iter().try_for_each(|spot| writeln!(f, "  {spot}"))?;
            writeln!(f, "The first {}:", self.paths.len())?;
        }
        self.paths.iter().try_for_each(|path| writeln!(f, "  {path}"))?;
        self.paths.iter().filter(|path| !path.hunks.is_empty()).try_for_each(|path| write_lines(f, path))
    }
}

fn write_lines(f: &mut fmt::Formatter<'_>, changed: &Changed) -> fmt::Result {
    writeln!(f, "== {} ({}, +{} −{})", changed.path, changed.fate.name(), changed.added, changed.removed)?;
    for hunk in &changed.hunks {
        writeln!(f, "{hunk}")?;
        for line in &hunk.lines {
            writeln!(f, "{}{}", line.fate.sign(), line.text)?;
            if !line.is_ended {
                writeln!(f, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fate: LineFate, text: &str, is_ended: bool) -> DiffLine {
        DiffLine { fate, text: text.to_owned(), is_ended }
    }

    fn deleted(path: &str, lines: &[&str]) -> Changed {
        let removed = lines.len() as u64;
        let lines = lines.iter().map(|text| line(LineFate::Removed, text, true)).collect();
        let hunk = DiffHunk { old_start: 0, old_lines: removed, new_start: 0, new_lines: 0, lines };
        let fate = Fate::Deleted;
        let (leads_to, mode, not_shown) = (None, None, None);
        Changed {
            path: path.into(),
            fate,
            is_directory: false,
            leads_to,
            mode,
            added: 0,
            removed,
            hunks: vec![hunk],
            not_shown,
        }
    }

    #[test]
    fn a_line_is_kept_as_it_is() {
        for line in [
            line(LineFate::Added, "a", true),
            line(LineFate::Same, "", true),
            line(LineFate::Removed, "- x", false),
            line(LineFate::Added, "", false),
            line(LineFate::Same, "ü", false),
        ] {
            assert_eq!(DiffLine::from(String::from(line.clone())), line);
        }
    }

    #[test]
    fn as_text_every_path_comes_before_any_line_and_no_line_looks_like_a_heading() {
        let paths = vec![deleted("/w/a", &["== /w/b (new, +9 −0)", "- /w/c"]), deleted("/w/d", &["x"])];
        let totals =
            Totals { fates: BTreeMap::from([(Fate::Deleted, 2)]), removed: 3, uncounted: 1, ..Totals::default() };
        let text = Preview { totals, paths, whole: true, ..Preview::default() }.to_string();
        let expected = "2 paths: 2 deleted, +0 −3, not counting the lines of 1 path\n  deleted      /w/a\n  deleted      /w/d\n\
                        == /w/a (deleted, +0 −2)\n@@ -1,2 +0,0 @@\n-== /w/b (new, +9 −0)\n-- /w/c\n\
                        == /w/d (deleted, +0 −1)\n@@ -1 +0,0 @@\n-x\n";
        assert_eq!(text, expected);
    }
}
