//! What carries an Overlay's changes down: a list of changes for the guard, or the conflicts that stand in the way.
//!
//! Every change says what it expects to find, as it was seen here, so that one made below in the meantime refuses the
//! whole. Deletions come first, the deepest before what holds it; then directories and files from the top down. The
//! Overlay itself stays as it is; [`Merge::applied`] tells it that its rows are below now.

use std::ops::Range;

use paddock_core::{
    Alter, Alteration, Call, ErrorKind, Expect, Kind, LogicalPath, Looks, RelPathBuf, Result, Version, View, visible,
};
use serde::{Serialize, Serializer};

use super::compare::{Compare, Finding, Verdict, plain_mode};
use super::difference::USUAL_DIR;
use crate::virtual_store::{OwnRow, Thing, VirtualStore};

/// The most content that one merge carries.
const MAX_APPLIED: u64 = 1024 * 1024 * 1024;

/// What applying an Overlay would do.
#[derive(Debug)]
pub struct Merge {
    /// The changes, in the order in which they are to be made. With a conflict they are only there to be shown.
    pub alterations: Vec<Alteration>,
    /// What stands in the way. With any, nothing is to be applied.
    pub conflicts: Vec<Conflict>,
    /// What the Overlay holds at names that the Workspace below keeps out of sight: it stays where it is.
    pub left_out: Vec<RelPathBuf>,
    /// What a `.gitignore` names, the uppermost of each, where it is left apart: it stays where it is.
    pub ignored: Vec<RelPathBuf>,
    /// What was named to be left, the uppermost of each: it stays where it is.
    pub excepted: Vec<RelPathBuf>,
    rows: Vec<OwnRow>,
    /// The paths that the changes are about, relative to the Workspace.
    changed: Vec<RelPathBuf>,
}

impl Merge {
    /// The changes, if nothing stands in the way.
    pub fn ready(&self) -> Result<&[Alteration], &[Conflict]> {
        if self.conflicts.is_empty() { Ok(&self.alterations) } else { Err(&self.conflicts) }
    }

    /// This call made the changes: what the Overlay held at the time of the merge is what later changes of it are compared
    /// with. Without this a second apply would take its own first one for somebody else's. Answers no, and changes
    /// nothing, when the Overlay has changed since: then the next merge is as careful as this one was. When the call is
    /// undone later, [`VirtualStore::without`] makes it as if it had not been applied.
    pub fn applied(&self, call: &Call<'_>, upper: &VirtualStore) -> Result<bool> {
        let apart: Vec<RelPathBuf> = self.ignored.iter().chain(&self.excepted).cloned().collect();
        upper.acknowledge(call, &self.rows, &self.changed, &apart)
    }
}

/// Two changes that cannot both be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Where, relative to the Workspace.
    #[serde(serialize_with = "as_text")]
    pub path: RelPathBuf,
    /// What kind.
    pub kind: ConflictKind,
    /// Which lines, for texts.
    pub lines: Vec<Lines>,
}

/// How two changes contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both sides changed a text, in the same place.
    BothChanged,
    /// Both sides changed something that is no text, or not in one encoding.
    BothChangedBinary,
    /// Deleted below, and changed here.
    DeletedBelowChangedHere,
    /// Deleted here, and changed below.
    DeletedHereChangedBelow,
    /// Added on both sides, differently.
    AddedOnBothSides,
    /// A file, a directory or a link on one side, and another of these on the other.
    KindClash,
    /// Added below, in a directory that was deleted here.
    AddedInDeletedDirectory,
    /// A link that was made here, or a name that no path can hold: a person has to do it.
    CannotBeApplied,
}

impl ConflictKind {
    /// What happened, for people.
    pub fn why(self) -> &'static str {
        match self {
            Self::BothChanged => "changed on both sides, in the same place",
            Self::BothChangedBinary => "changed on both sides, and it cannot be merged as text",
            Self::DeletedBelowChangedHere => "deleted below, and changed here",
            Self::DeletedHereChangedBelow => "deleted here, and changed below",
            Self::AddedOnBothSides => "added on both sides, differently",
            Self::KindClash => "a file on one side, and a directory or a link on the other",
            Self::AddedInDeletedDirectory => "added below, in a directory that was deleted here",
            Self::CannotBeApplied => "a link, or a name that cannot be written as a path: a person has to do it",
        }
    }
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", visible(self.path.as_str()), self.kind.why())?;
        for (index, lines) in self.lines.iter().enumerate() {
            let before = if index == 0 { " (" } else { "; " };
            write!(f, "{before}{} here, {} below", named(&lines.here), named(&lines.below))?;
        }
        if self.lines.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// Lines of the three sides that contradict each other, counted from 0, the end not included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Of the common ancestor.
    pub base: Range<usize>,
    /// Of the Overlay.
    pub here: Range<usize>,
    /// Of the layer below.
    pub below: Range<usize>,
}

/// Lines as people count them.
fn named(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("before line {}", lines.start + 1),
        1 => format!("line {}", lines.end),
        _ => format!("lines {} to {}", lines.start + 1, lines.end),
    }
}

/// What applying an Overlay to the layer below, as it is now, takes. The changes are those of the Workspace at
/// `prefix`.
pub fn merge(call: &Call<'_>, upper: &VirtualStore, below: &View, prefix: &LogicalPath) -> Result<Merge> {
    upper.overlaid(call, |seen| {
        let compare = Compare { call, seen, below };
        let rows = seen.own_rows()?;
        let compared = compare.run(&rows)?;
        let mut made = Made { deletions: Vec::new(), rest: Vec::new(), bytes: 0 };
        let mut conflicts = Vec::new();
        for (index, finding) in compared.findings.iter().enumerate() {
            if let Verdict::Clash(kind, lines) = &finding.verdict {
                conflicts.push(Conflict { path: finding.path.clone(), kind: *kind, lines: lines.clone() });
                continue;
            }
            let after = compared.findings.get(index + 1);
            made.delete(prefix, finding, after);
            made.create(&compare, prefix, finding)?;
        }
        made.deletions.reverse();
        made.deletions.append(&mut made.rest);
        let changed = compared.findings.iter().map(|finding| finding.path.clone()).collect();
        let (left_out, ignored, excepted) = (compared.left_out, compared.ignored, compared.excepted);
        Ok(Merge { alterations: made.deletions, conflicts, left_out, ignored, excepted, rows, changed })
    })
}

/// Changes while they are listed.
struct Made {
    deletions: Vec<Alteration>,
    rest: Vec<Alteration>,
    bytes: u64,
}

impl Made {
    /// What is below goes, where it is not replaced by something of its kind.
    fn delete(&mut self, prefix: &LogicalPath, finding: &Finding<'_>, after: Option<&Finding<'_>>) {
        let Finding { path, ours, theirs, .. } = finding;
        if theirs.kind().is_none() || theirs.kind() == ours.kind() {
            return;
        }
        // What a directory holds goes before it, which changes it: those deletions expect what they found, and it
        // has to be empty.
        let holds = after.is_some_and(|after| after.path.as_rel().is_within(path.as_rel()));
        let expect = if theirs.kind() == Some(Kind::Dir) && holds { Expect::Any } else { is(theirs) };
        self.deletions.push(Alteration { path: prefix.join(path.as_rel()), how: Alter::Delete, expect });
    }

    fn create(&mut self, compare: &Compare<'_>, prefix: &LogicalPath, finding: &Finding<'_>) -> Result<()> {
        let Finding { path, ours, theirs, mode, verdict } = finding;
        let replaces = ours.kind() == theirs.kind();
        let expect = if replaces { is(theirs) } else { Expect::Absent };
        let how = match (ours.kind(), verdict) {
            (_, Verdict::Merged(content)) => Alter::Write { content: content.clone(), mode: None },
            (_, Verdict::Dress) => Alter::Dress(Looks { mode: *mode, modified: None }),
            (Some(Kind::Link), _) => Alter::Link { leads_to: compare.seen.link_text(path.as_rel(), ours)? },
            (Some(Kind::File), _) => {
                self.bytes += ours.len();
                if self.bytes > MAX_APPLIED {
                    let what = "the size of what is applied";
                    return Err(ErrorKind::TooLarge { what, limit: MAX_APPLIED }.into());
                }
                Alter::Write { content: compare.content(path.as_rel(), ours)?, mode: ours.mode() }
            }
            (Some(Kind::Dir), _) if !replaces => Alter::MakeDir,
            _ => return Ok(()),
        };
        let path = prefix.join(path.as_rel());
        self.rest.push(Alteration { path: path.clone(), how, expect });
        // A file that is replaced keeps its mode, and a directory is made with a plain one.
        let kept = match replaces {
            true => plain_mode(theirs),
            false => Some(USUAL_DIR).filter(|_| ours.kind() == Some(Kind::Dir)),
        };
        if !matches!(verdict, Verdict::Dress) && kept.is_some() && kept != *mode {
            let how = Alter::Dress(Looks { mode: *mode, modified: None });
            self.rest.push(Alteration { path, how, expect: Expect::Any });
        }
        Ok(())
    }
}

fn is(thing: &Thing<'_>) -> Expect {
    thing.version().map_or(Expect::Absent, |version: Version| Expect::Is(version))
}

pub(super) fn as_text<S: Serializer>(path: &RelPathBuf, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(path.as_str())
}
