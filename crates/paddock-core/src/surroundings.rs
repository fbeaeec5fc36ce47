//! What the other Workspaces of an agent mean for one of them.
//!
//! Others may be nested in it, logically: what its Store holds there is shadowed. Others may have their
//! Mount inside its Mount, physically: the way to that place has to stay as it is, or an agent could put
//! something else in the place of a Workspace.

use std::collections::{HashMap, HashSet};

use crate::names::fold;
use crate::path::RelPath;
use crate::workspace::Workspace;

/// What surrounds one Workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// Where others are nested, relative to the Mount, in the spelling that a file system which folds
    /// case would take for the same.
    nested: HashSet<String>,
    /// Where the Mounts of others lie, relative to this one, in that spelling too.
    mounts: Vec<String>,
}

impl Surroundings {
    /// For each Workspace, in the order given, which is tree order.
    pub(crate) fn of(workspaces: &[Workspace]) -> Vec<Self> {
        let mut all = vec![Self::default(); workspaces.len()];
        find_nested(workspaces, &mut all);
        find_mounts(workspaces, &mut all);
        all
    }

    /// Is this a place that a nested Workspace shadows, in whatever spelling?
    pub(crate) fn shadow(&self, rel: RelPath<'_>) -> bool {
        !self.nested.is_empty() && {
            let folded = fold(rel.as_str());
            RelPath(&folded).ancestors().any(|path| self.nested.contains(path.as_str()))
        }
    }

    /// As [`Self::shadow`], for an entry whose directory is visible.
    pub(crate) fn shadow_entry(&self, entry: &str) -> bool {
        // Asked for every entry of a listing, and few Workspaces are nested in one, mostly none.
        const FEW: usize = 8;
        match self.nested.len() {
            0 => false,
            1..=FEW if entry.is_ascii() => self.nested.iter().any(|nested| nested.eq_ignore_ascii_case(entry)),
            _ => self.nested.contains(&fold(entry)),
        }
    }

    /// Is this on the way to another Workspace's Mount, in whatever spelling?
    pub(crate) fn lead_through(&self, rel: RelPath<'_>) -> bool {
        !self.mounts.is_empty() && {
            let folded = fold(rel.as_str());
            self.mounts.iter().any(|mount| RelPath(mount).is_within(RelPath(&folded)))
        }
    }
}

fn find_nested(workspaces: &[Workspace], all: &mut [Surroundings]) {
    let mut enclosing: Vec<usize> = Vec::new();
    for (index, workspace) in workspaces.iter().enumerate() {
        while enclosing.last().is_some_and(|&outer| workspace.prefix.below(&workspaces[outer].prefix).is_none()) {
            enclosing.pop();
        }
        if let Some(&outer) = enclosing.last()
            && let Some(rel) = workspace.prefix.below(&workspaces[outer].prefix)
        {
            all[outer].nested.insert(fold(rel.as_str()));
        }
        enclosing.push(index);
    }
}

fn find_mounts(workspaces: &[Workspace], all: &mut [Surroundings]) {
    let mut by_place: HashMap<(&str, &[String]), Vec<usize>> = HashMap::new();
    for (index, workspace) in workspaces.iter().enumerate() {
        if let Some(territory) = &workspace.mount.territory {
            by_place.entry(territory.key()).or_default().push(index);
        }
    }
    for inner in workspaces.iter().filter_map(|workspace| workspace.mount.territory.as_ref()) {
        // Innermost first, and the first is the place itself.
        for place in inner.and_above().skip(1) {
            for &outer in by_place.get(&place).into_iter().flatten() {
                all[outer].mounts.push(fold(&inner.names()[place.1.len()..].join("/")));
            }
        }
    }
}
