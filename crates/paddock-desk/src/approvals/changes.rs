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

/// A path with the lines that there is room for, which it takes up.
pub(super) fn shown(changed: &Changed, room: &mut usize) -> ChangeShown {
    let Changed { path, fate, is_directory, leads_to, mode, added, removed, hunks, not_shown } = changed;
    let all: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
    let more = all.saturating_sub(*room) as u64;
    let hunks = hunks.iter().map_while(|one| hunk(one, room)).collect();
    ChangeShown {
        path: path.clone(),
        fate: fate.name().to_owned(),
        is_directory: *is_directory,
        leads_to: leads_to.clone(),
        mode: mode.clone(),
        diff: Diff { added: *added, removed: *removed, hunks, more, not_shown: not_shown.clone() },
        words: changed.to_string(),
    }
}

/// The lines of a hunk that there is room for; nothing where there is none.
fn hunk(hunk: &DiffHunk, room: &mut usize) -> Option<Hunk> {
    let shown = hunk.lines.len().min(*room);
    *room -= shown;
    if shown == 0 {
        return None;
    }
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
    Some(Hunk { header: hunk.to_string(), lines: hunk.lines[..shown].iter().map(line).collect() })
}
