//! What an approval would change, path by path, for pages and programs.

use paddock_core::{Changed, DiffHunk, LineFate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::{Diff, Hunk, Line, LineKind};

/// A path with what would become of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeShown {
    /// The path.
    pub path: String,
    /// `deleted`, `moved away`, `changed`, `new`, `moved here`, `delivered` or `mode or time`.
    pub fate: String,
    /// Is it a directory?
    pub is_directory: bool,
    /// Where a link would lead, as it is written.
    pub leads_to: Option<String>,
    /// What becomes of its mode, where that is worth a look.
    pub mode: Option<String>,
    /// The lines that would change.
    pub diff: Diff,
    /// The path with all that becomes of it but the lines, for people.
    pub words: String,
}

pub(super) fn shown(changed: &Changed) -> ChangeShown {
    let Changed { path, fate, is_directory, leads_to, mode, added, removed, hunks, not_shown } = changed;
    let hunks = hunks.iter().map(hunk).collect();
    ChangeShown {
        path: path.clone(),
        fate: fate.name().to_owned(),
        is_directory: *is_directory,
        leads_to: leads_to.clone(),
        mode: mode.clone(),
        diff: Diff { added: *added, removed: *removed, hunks, more: 0, not_shown: not_shown.clone() },
        words: changed.to_string(),
    }
}

fn hunk(hunk: &DiffHunk) -> Hunk {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let line = |line: &paddock_core::DiffLine| {
        let kind = match line.fate {
            LineFate::Same => LineKind::Same,
            LineFate::Added => LineKind::Added,
            LineFate::Removed => LineKind::Removed,
        };
        old += u64::from(kind != LineKind::Added);
        new += u64::from(kind != LineKind::Removed);
        Line {
            kind,
            old: (kind != LineKind::Added).then_some(old),
            new: (kind != LineKind::Removed).then_some(new),
            text: line.text.clone(),
            is_ended: line.is_ended,
        }
    };
    Hunk { header: hunk.to_string(), lines: hunk.lines.iter().map(line).collect() }
}
