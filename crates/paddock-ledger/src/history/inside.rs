//! What a directory holds today, beside what a call left in it.
//!
//! A directory has no version, so what is in it is looked at path by path. What came or changed through Paddock is in the
//! history. What somebody else did shows by its time: it is later than the move that brought the directory here. Directories that
//! are to go are listed once from the uppermost, not once for each.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use paddock_core::{Before, Call, Kind, LogicalPath, Meta, Refused, RelPath, RelPathBuf, Vfs, View, Walk};

use super::place::{Place, logical};
use super::row::millis;
use super::since::Since;
use super::undo::{Now, find, version_now};
use super::way::{Back, Step};
use super::{Conflict, Result};

/// What the steps that are taken so far take away.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// What is removed; directories with everything in them.
    removed: HashSet<Place>,
    /// What is removed as a file.
    files: HashSet<Place>,
    moved: HashSet<Place>,
}

impl Taken {
    /// A step is taken. `whole`: everything in it goes too.
    pub(super) fn add(&mut self, step: &Step, whole: bool) {
        let place = step.place.clone();
        match step.back {
            Back::Remove => {
                self.files.insert(place.clone());
                self.removed.insert(place);
            }
            Back::RemoveDir | Back::RemoveParent if whole => drop(self.removed.insert(place)),
            Back::MoveTo(_) => drop(self.moved.insert(place)),
            _ => {}
        }
    }

    /// Does nothing of it stay?
    fn takes(&self, place: &Place) -> bool {
        self.removed.contains(place) || self.moves(place)
    }

    fn moves(&self, place: &Place) -> bool {
        let moved = |place: &Place| self.moved.contains(place);
        !self.moved.is_empty() && (moved(place) || place.above().any(|above| moved(&above)))
    }

    /// Is nothing left that stands at a place itself?
    pub(super) fn frees(&self, place: &Place) -> bool {
        self.removed.contains(place) || self.moved.contains(place)
    }

    /// Does a file above the place go, or the one that is there?
    pub(super) fn clears_the_way_to(&self, place: &Place) -> bool {
        self.files.contains(place) || self.clears_above(place)
    }

    /// Does a file, or a link, above the place go?
    pub(super) fn clears_above(&self, place: &Place) -> bool {
        !self.files.is_empty() && place.above().any(|above| self.files.contains(&above))
    }
}

/// What the directories that are to go hold.
#[derive(Debug, Default)]
pub(super) struct Listing {
    seen: HashSet<Place>,
    held: HashMap<Place, Vec<Place>>,
}

impl Listing {
    /// Lists every directory that one of the steps removes. One of which not everything can be seen is left out.
    pub(super) fn of(vfs: &Vfs, call: &Call<'_>, steps: &[Step]) -> Self {
        let mut dirs: Vec<&Step> =
            steps.iter().filter(|step| matches!(step.back, Back::RemoveDir | Back::RemoveParent)).collect();
        // The uppermost first: it shows what is in the others.
        dirs.sort_by_key(|step| step.place.as_str().len());
        let mut listing = Self::default();
        for step in dirs {
            if !listing.seen.contains(&step.place) {
                listing.list(vfs, call, step);
            }
        }
        listing
    }

    fn list(&mut self, vfs: &Vfs, call: &Call<'_>, step: &Step) {
        let Some((top, _)) = logical(vfs, &step.place, &step.row.spot.territory) else { return };
        let Ok(all) = vfs.all_at(call, &top) else { return };
        for path in all {
            let Some(rest) = path.below(&top) else { continue };
            let place = step.place.join(rest.as_str());
            if place != step.place
                && let Some(parent) = place.parent()
            {
                self.held.entry(parent).or_default().push(place.clone());
            }
            self.seen.insert(place);
        }
    }

    /// Does the directory hold nothing but what is taken away?
    pub(super) fn is_emptied(&self, place: &Place, taken: &Taken) -> bool {
        let held = self.held.get(place).map_or(&[][..], Vec::as_slice);
        self.seen.contains(place) && held.iter().all(|held| taken.takes(held))
    }
}

/// A directory that a call moved, and what is newer in it than the move.
pub(super) struct Moved<'a> {
    pub(super) vfs: &'a Vfs,
    pub(super) call: &'a Call<'a>,
    pub(super) step: &'a Step,
    pub(super) since: &'a Since,
}

impl Moved<'_> {
    /// What changed in it since, each path by itself.
    pub(super) fn newer(&self) -> Result<Vec<Conflict>> {
        if self.since.standing.is_empty() { self.changed_by_others() } else { Ok(self.changed_by_calls()) }
    }

    /// Changes of calls that still stand. The oldest of a path knows what was there before.
    fn changed_by_calls(&self) -> Vec<Conflict> {
        let mut found: Vec<Conflict> = Vec::new();
        for row in self.since.rows.iter().filter(|row| self.since.standing.contains(&row.call)) {
            let Some(path) = self.named(&row.result_place()) else { continue };
            let before = if let Before::Kept(kept) = &row.before { Some(kept.clone()) } else { None };
            match found.iter_mut().find(|conflict| conflict.path == path) {
                Some(known) => {
                    known.before = before;
                    if !known.newer.contains(&row.call) {
                        known.newer.push(row.call);
                    }
                }
                None => {
                    let now = match version_now(self.vfs, self.call, &path) {
                        Ok(Now::There(version)) => Some(version),
                        _ => None,
                    };
                    found.push(Conflict { path, after: None, now, before, newer: vec![row.call] });
                }
            }
        }
        found
    }

    /// What has a later time than the move, and was not brought back to what it was by calls that cancel out.
    fn changed_by_others(&self) -> Result<Vec<Conflict>> {
        let (top, workspace) = find(self.vfs, &self.step.now, &self.step.row)?;
        let all = self.vfs.workspaces();
        let (Some(view), Some(rel)) = (View::of(workspace, all), top.below(workspace.prefix())) else {
            return Ok(Vec::new());
        };
        let mut names = vec![rel.to_buf()];
        let walked = view.walk(self.call, rel, &Walk::default(), &mut |entry| {
            names.extend(RelPathBuf::parse(entry.path).ok().filter(|_| entry.plain));
            ControlFlow::Continue(())
        });
        walked.map_err(|source| Refused::Store { path: top.clone(), source })?;
        let mut found = Vec::new();
        for name in &names {
            // What went while we looked is not in the way.
            let Ok(meta) = view.stat(self.call, name.as_rel()) else { continue };
            let path = workspace.prefix().join(name.as_rel());
            let place = self.step.now.join(path.below(&top).map_or("", RelPath::as_str));
            if self.is_later(&meta) && !self.is_accounted_for(&place, &meta) {
                let (after, before, newer) = (None, None, Vec::new());
                found.push(Conflict { path, after, now: Some(meta.version), before, newer });
            }
        }
        // A directory is later because of what is later in it: that one says more.
        let holding: HashSet<LogicalPath> = found.iter().filter_map(|conflict| conflict.path.parent()).collect();
        found.retain(|conflict| !holding.contains(&conflict.path));
        Ok(found)
    }

    fn is_later(&self, meta: &Meta) -> bool {
        meta.modified.is_some_and(|modified| millis(modified) > millis(self.step.row.at))
    }

    /// Is it as calls left it that cancel each other out?
    fn is_accounted_for(&self, place: &Place, meta: &Meta) -> bool {
        let mut rows = self.since.rows.iter();
        if meta.kind == Kind::Dir {
            let in_it = |touched: Place| touched.parent().as_ref() == Some(place);
            return rows.any(|row| in_it(row.place()) || row.to_place().is_some_and(in_it));
        }
        rows.find(|row| row.result_place() == *place).is_some_and(|row| row.version == Some(meta.version))
    }

    fn named(&self, place: &Place) -> Option<LogicalPath> {
        logical(self.vfs, place, &self.step.row.spot.territory).map(|(path, _)| path)
    }
}
