//! What applying an Overlay would do to the layer below, for people and for programs.
//!
//! A path where both sides changed a text shows what the merged text would change; one in conflict shows what the
//! Overlay holds against what is below, and says so. Contents of binary and very large files are not shown.

use std::fmt::{self, Write as _};

use paddock_core::{Call, Kind, RelPathBuf, Result, View, visible};
use serde::Serialize;

use super::compare::{Compare, Finding, Verdict, plain_mode};
use super::merge::as_text;
use super::text;
use crate::physical::passed_over;
use crate::virtual_store::{Thing, VirtualStore};

/// The largest file whose lines are shown.
const MAX_SHOWN: u64 = 4 * 1024 * 1024;
/// The mode of a file that nobody gave another.
const USUAL_FILE: u32 = 0o644;
/// The mode of a directory that nobody gave another.
pub(super) const USUAL_DIR: u32 = 0o755;

/// One path that an Overlay changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Where, relative to the Workspace.
    #[serde(serialize_with = "as_text")]
    pub path: RelPathBuf,
    /// How.
    pub change: DifferenceKind,
    /// What is below now.
    pub before: Option<Shape>,
    /// What it becomes.
    pub after: Option<Shape>,
    /// The modes of both.
    #[serde(flatten)]
    pub modes: Modes,
    /// What can be shown of it.
    pub detail: Detail,
    /// Does it contradict a change that was made below?
    pub conflict: bool,
}

/// The mode bits of a path; nothing where nothing is there, or a link, which has none of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Modes {
    /// Of what is below now.
    pub mode_before: Option<u32>,
    /// Of what it becomes.
    pub mode_after: Option<u32>,
}

impl Modes {
    /// In words, where it changes or a new one is not the usual one: "mode 644 to 755", "mode 755".
    fn told(self, before: Option<Shape>, after: Option<Shape>) -> Option<String> {
        let usual = if after == Some(Shape::Directory) { USUAL_DIR } else { USUAL_FILE };
        let mode = self.mode_after?;
        match self.mode_before {
            Some(old) if before == after => (old != mode).then(|| format!("mode {old:o} to {mode:o}")),
            _ => (mode != usual).then(|| format!("mode {mode:o}")),
        }
    }
}

impl Difference {
    /// What is worth a word of its modes.
    #[must_use]
    pub fn mode_told(&self) -> Option<String> {
        self.modes.told(self.before, self.after)
    }
}

/// How a path changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// It is new.
    Added,
    /// Its content or its mode changes.
    Changed,
    /// It goes.
    Removed,
    /// It becomes something else: a directory instead of a file.
    KindChanged,
}

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket.
    Special,
}

impl Shape {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::File => Self::File,
            Kind::Dir => Self::Directory,
            Kind::Link => Self::Link,
            Kind::Special => Self::Special,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Link => "link",
            Self::Special => "special file",
        }
    }
}

/// What can be shown of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Detail {
    /// There is no content, or it stays: directories, and what only gets another mode.
    Nothing,
    /// Lines.
    Text {
        /// How many are new.
        added: u64,
        /// How many go.
        removed: u64,
        /// The hunks of a unified diff, without its header.
        hunks: String,
    },
    /// No text.
    Binary {
        /// Bytes before.
        before: u64,
        /// Bytes after.
        after: u64,
    },
    /// Too large for being compared line by line.
    Large {
        /// Bytes before.
        before: u64,
        /// Bytes after.
        after: u64,
    },
    /// Where a link leads, as it is written in it; nothing for what is no link.
    Link {
        /// Before.
        before: String,
        /// After.
        after: String,
    },
}

/// What an Overlay changes of the layer below, in tree order.
pub fn differences(call: &Call<'_>, upper: &VirtualStore, below: &View) -> Result<Vec<Difference>> {
    compared(call, upper, below).map(|holdings| holdings.differences)
}

/// Everything that an Overlay holds and the layer below does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holdings {
    /// What applying it would change.
    pub differences: Vec<Difference>,
    /// What it holds at names that the Workspace below keeps out of sight, the uppermost of each: no apply takes it along,
    /// and with the Overlay it would go.
    pub left_out: Vec<RelPathBuf>,
    /// What a `.gitignore` names, and each index of Git that changed alone, the uppermost of each, where that is left apart. With the
    /// Overlay it would go, too.
    pub ignored: Vec<RelPathBuf>,
}

impl Holdings {
    /// Would nothing be lost with the Overlay?
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty() && self.left_out.is_empty() && self.ignored.is_empty()
    }
}

/// As [`differences`], with what no apply takes along.
pub fn compared(call: &Call<'_>, upper: &VirtualStore, below: &View) -> Result<Holdings> {
    upper.overlaid(call, |seen| {
        let compare = Compare { call, seen, below };
        let compared = compare.run(&seen.own_rows()?)?;
        let differences = compared.findings.iter().map(|finding| difference(&compare, finding));
        let differences = differences.collect::<Result<_>>()?;
        Ok(Holdings { differences, left_out: compared.left_out, ignored: compared.ignored })
    })
}

fn difference(compare: &Compare<'_>, finding: &Finding<'_>) -> Result<Difference> {
    let Finding { path, ours, theirs, mode, verdict } = finding;
    let change = match (theirs.kind(), ours.kind()) {
        (None, _) => DifferenceKind::Added,
        (_, None) => DifferenceKind::Removed,
        (before, after) if before == after => DifferenceKind::Changed,
        _ => DifferenceKind::KindChanged,
    };
    Ok(Difference {
        path: path.clone(),
        change,
        before: theirs.kind().map(Shape::of),
        after: ours.kind().map(Shape::of),
        modes: Modes { mode_before: plain_mode(theirs), mode_after: *mode },
        detail: detail(compare, finding)?,
        conflict: matches!(verdict, Verdict::Clash(..)),
    })
}

fn detail(compare: &Compare<'_>, finding: &Finding<'_>) -> Result<Detail> {
    let Finding { path, ours, theirs, verdict, .. } = finding;
    let at = path.as_rel();
    if matches!(verdict, Verdict::Dress) {
        return Ok(Detail::Nothing);
    }
    let kinds = [theirs.kind(), ours.kind()];
    if kinds.contains(&Some(Kind::Link)) {
        let target = |thing: &Thing<'_>| match thing.kind() {
            Some(Kind::Link) => compare.seen.link_text(at, thing),
            _ => Ok(String::new()),
        };
        return Ok(Detail::Link { before: target(theirs)?, after: target(ours)? });
    }
    if !kinds.contains(&Some(Kind::File)) {
        return Ok(Detail::Nothing);
    }
    let len = |thing: &Thing<'_>| if thing.kind() == Some(Kind::File) { thing.len() } else { 0 };
    let merged = match verdict {
        Verdict::Merged(bytes) => Some(bytes),
        _ => None,
    };
    let (before, after) = (len(theirs), merged.map_or(len(ours), |bytes| bytes.len() as u64));
    if before.max(after) > MAX_SHOWN {
        return Ok(Detail::Large { before, after });
    }
    let content = |thing: &Thing<'_>| match thing.kind() {
        Some(Kind::File) => compare.content(at, thing),
        _ => Ok(Vec::new()),
    };
    let old = match content(theirs) {
        // What nobody may read is not shown.
        Err(error) if passed_over(&error) => return Ok(Detail::Binary { before, after }),
        old => old?,
    };
    let until = text::limit(compare.call.deadline);
    let shown = match merged {
        Some(bytes) => text::show(&old, bytes, until),
        None => text::show(&old, &content(ours)?, until),
    };
    Ok(match shown {
        Some(shown) => Detail::Text { added: shown.added, removed: shown.removed, hunks: shown.hunks },
        None => Detail::Binary { before, after },
    })
}

/// All of them as one unified diff. Names are escaped; what has no lines is told in a line of its own.
pub fn unified(differences: &[Difference]) -> String {
    let mut out = String::new();
    for difference in differences {
        // Writing into a text cannot fail.
        let _ = write_unified(&mut out, difference);
    }
    out
}

fn write_unified(out: &mut String, difference: &Difference) -> fmt::Result {
    let path = visible(difference.path.as_str());
    if difference.conflict {
        writeln!(out, "conflict {path}")?;
    }
    let what = match (difference.change, difference.before, difference.after) {
        (DifferenceKind::KindChanged, Some(before), Some(after)) => {
            format!("{} {path} becomes a {}", before.name(), after.name())
        }
        (DifferenceKind::Removed, Some(shape), _) => format!("removed {} {path}", shape.name()),
        (DifferenceKind::Added, _, Some(shape)) => format!("added {} {path}", shape.name()),
        _ => format!("changed {path}"),
    };
    let mode = difference.mode_told();
    let told: Vec<String> = in_brackets(&difference.detail).into_iter().chain(mode.clone()).collect();
    let line = if told.is_empty() { what } else { format!("{what} ({})", told.join(", ")) };
    match &difference.detail {
        Detail::Text { hunks, .. } if !hunks.is_empty() => {
            if difference.change == DifferenceKind::KindChanged || mode.is_some() {
                writeln!(out, "{line}")?;
            }
            let side = |shape, letter: &str| match shape {
                Some(Shape::File) => format!("{letter}/{path}"),
                _ => "/dev/null".to_owned(),
            };
            writeln!(out, "--- {}\n+++ {}", side(difference.before, "a"), side(difference.after, "b"))?;
            out.push_str(hunks);
            if !hunks.ends_with('\n') {
                out.push('\n');
            }
            Ok(())
        }
        _ => writeln!(out, "{line}"),
    }
}

/// What is told of a change that has no lines.
fn in_brackets(detail: &Detail) -> Option<String> {
    match detail {
        Detail::Nothing | Detail::Text { .. } => None,
        Detail::Binary { before, after } => Some(format!("binary, {before} to {after} bytes")),
        Detail::Large { before, after } => Some(format!("too large to show, {before} to {after} bytes")),
        Detail::Link { before, after } => Some(format!("{} to {}", leads(before), leads(after))),
    }
}

fn leads(place: &str) -> String {
    if place.is_empty() { "nothing".to_owned() } else { visible(place) }
}

/// The numbers of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Stat {
    /// One for each path.
    pub rows: Vec<StatRow>,
    /// Lines that are new.
    pub added: u64,
    /// Lines that go.
    pub removed: u64,
}

/// The numbers of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatRow {
    /// Where, relative to the Workspace.
    pub path: String,
    /// How it changes.
    pub change: DifferenceKind,
    /// Lines that are new; nothing where lines are not counted.
    pub added: Option<u64>,
    /// Lines that go; nothing where lines are not counted.
    pub removed: Option<u64>,
    /// The modes before and after.
    #[serde(flatten)]
    pub modes: Modes,
    /// What of them is worth a word.
    #[serde(skip)]
    pub mode_told: Option<String>,
    /// Does it contradict a change that was made below?
    pub conflict: bool,
}

/// Counts a diff.
pub fn stat(differences: &[Difference]) -> Stat {
    let mut stat = Stat::default();
    for difference in differences {
        let (added, removed) = match difference.detail {
            Detail::Text { added, removed, .. } => (Some(added), Some(removed)),
            _ => (None, None),
        };
        stat.added += added.unwrap_or(0);
        stat.removed += removed.unwrap_or(0);
        let &Difference { change, modes, conflict, .. } = difference;
        let (path, mode_told) = (difference.path.as_str().to_owned(), difference.mode_told());
        stat.rows.push(StatRow { path, change, added, removed, modes, mode_told, conflict });
    }
    stat
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let sign = match row.change {
                DifferenceKind::Added => 'A',
                DifferenceKind::Changed => 'M',
                DifferenceKind::Removed => 'D',
                DifferenceKind::KindChanged => 'T',
            };
            write!(f, "{sign} {}", visible(&row.path))?;
            if let (Some(added), Some(removed)) = (row.added, row.removed) {
                write!(f, " | +{added} -{removed}")?;
            }
            if let Some(mode) = &row.mode_told {
                write!(f, " ({mode})")?;
            }
            writeln!(f, "{}", if row.conflict { " (conflict)" } else { "" })?;
        }
        let paths = self.rows.len();
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let (paths_s, lines_s) = (s(paths as u64), s(self.added));
        writeln!(f, "{paths} path{paths_s} changed, {} line{lines_s} added, {} removed", self.added, self.removed)
    }
}
