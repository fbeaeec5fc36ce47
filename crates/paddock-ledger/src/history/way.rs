//! The way back: rows of the history turned round into steps, newest first.
//!
//! Each row becomes the step that takes it back. Of several on one path only what the oldest says stays, at the place and
//! under the condition of the newest: what lay between need not be made again, nor be kept any more. A move ends that,
//! because from there on names mean something else.

use std::collections::{HashMap, HashSet};

use paddock_core::{Before, Kept, Looks, Version};

use super::place::Place;
use super::row::{ChangeRow, What};

/// What takes a change back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Back {
    /// It goes.
    Remove,
    /// The directory goes.
    RemoveDir,
    /// A directory that was made on the way goes, if nothing else is in it.
    RemoveParent,
    /// What was kept is there again.
    Restore(Kept),
    /// Only so much of it stays.
    Truncate(u64),
    /// The directory is there again.
    MakeDir,
    /// It looks as before.
    Dress(Looks),
    /// It goes back.
    MoveTo(Place),
    /// Nobody has what was there.
    Lost,
}

impl Back {
    /// Is it about a file's content, and says all of it?
    fn decides_content(&self) -> bool {
        matches!(self, Self::Remove | Self::Restore(_) | Self::Lost)
    }

    fn is_about_content(&self) -> bool {
        self.decides_content() || matches!(self, Self::Truncate(_))
    }
}

/// What a change left at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing.
    Nothing,
    /// A directory.
    Dir,
    /// A file or a link, of this version where it is known.
    File(Option<Version>),
}

/// One step of the way back.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Where, as it is called when the step is taken.
    pub(crate) place: Place,
    /// What is done.
    pub(crate) back: Back,
    /// What has to be there for it.
    pub(crate) left: Left,
    /// Has no earlier step been here?
    pub(crate) first: bool,
    /// Where that is called so now, before the first step.
    pub(crate) now: Place,
    /// The row that asks for it.
    pub(crate) row: ChangeRow,
}

/// Steps in the order in which they are taken.
#[derive(Debug, Default)]
pub(crate) struct Way {
    steps: Vec<Option<Step>>,
    /// Steps about the content of a path, since the last move.
    about: HashMap<Place, Vec<usize>>,
    touched: HashSet<Place>,
    moves: Vec<(Place, Place)>,
}

impl Way {
    /// Turns round rows that come newest first.
    pub(crate) fn back<'r>(rows: impl IntoIterator<Item = &'r ChangeRow>) -> Self {
        let mut way = Self::default();
        for row in rows {
            way.take_back(row, row.place(), row.to_place());
        }
        way
    }

    /// Adds what takes back a row, whose paths are called so.
    pub(crate) fn take_back(&mut self, row: &ChangeRow, place: Place, to: Option<Place>) {
        let before = row.before.clone();
        match (row.what, to) {
            (What::Move, Some(to)) => self.move_back(row, &place, &to),
            (What::Move, None) => self.push(row, place, Back::Lost, Left::Dir),
            (What::MakeDir, _) => {
                self.push(row, place.clone(), Back::RemoveDir, Left::Dir);
                self.remove_parents(row, &place);
            }
            (What::Dress, _) => {
                let back = if let Before::Looks(looks) = before { Back::Dress(looks) } else { Back::Lost };
                let left = if row.version.is_some() { Left::File(row.version) } else { Left::Dir };
                self.push(row, place, back, left);
            }
            (What::Delete, _) => match before {
                Before::Absent => {}
                Before::Dir(_) => self.push(row, place, Back::MakeDir, Left::Nothing),
                Before::Kept(kept) => self.push(row, place, Back::Restore(kept), Left::Nothing),
                Before::Prefix(_) | Before::Looks(_) | Before::Lost => {
                    self.push(row, place, Back::Lost, Left::Nothing);
                }
            },
            _ => {
                let back = match before {
                    Before::Kept(kept) => Back::Restore(kept),
                    Before::Prefix(len) => Back::Truncate(len),
                    Before::Absent => Back::Remove,
                    Before::Lost if row.created => Back::Remove,
                    Before::Dir(_) | Before::Looks(_) | Before::Lost => Back::Lost,
                };
                let made = back == Back::Remove;
                self.push(row, place.clone(), back, Left::File(row.version));
                if made {
                    self.remove_parents(row, &place);
                }
            }
        }
    }

    /// The steps, and where nobody has what was there.
    pub(crate) fn steps(self) -> (Vec<Step>, Vec<Step>) {
        // A directory gets its mode when it is filled; where it moves on, it is called otherwise by then.
        let settled = self.moves.is_empty();
        let dressed: Vec<Step> = self.steps.iter().flatten().filter(|_| settled).filter_map(dressing).collect();
        // What is in it first: a directory may be closed to its owner.
        let steps = self.steps.into_iter().flatten().chain(dressed.into_iter().rev());
        steps.partition(|step| step.back != Back::Lost)
    }

    fn move_back(&mut self, row: &ChangeRow, from: &Place, to: &Place) {
        if let Some(made) = self.made_by_steps(to) {
            // It comes back where it began, and never was where it went.
            for step in made {
                let place = step.place.moved(to, from).unwrap_or_else(|| step.place.clone());
                self.push(&step.row, place, step.back, step.left);
            }
        } else {
            let left = if row.version.is_some() { Left::File(row.version) } else { Left::Dir };
            self.push(row, to.clone(), Back::MoveTo(from.clone()), left);
            self.about.clear();
            self.touched.insert(from.clone());
            self.moves.push((to.clone(), from.clone()));
        }
        self.remove_parents(row, to);
    }

    /// Takes out the steps that make what is at a place, with everything below it, where earlier steps do.
    fn made_by_steps(&mut self, place: &Place) -> Option<Vec<Step>> {
        let makes = |step: &Step| {
            step.place == *place && step.left == Left::Nothing && matches!(step.back, Back::Restore(_) | Back::MakeDir)
        };
        let since = self.steps.iter().rposition(|step| matches!(step, Some(Step { back: Back::MoveTo(_), .. })));
        let from = since.map_or(0, |at| at + 1);
        let first = from + self.steps[from..].iter().rposition(|step| step.as_ref().is_some_and(makes))?;
        let mut made = Vec::new();
        for slot in &mut self.steps[first..] {
            made.extend(slot.take_if(|step| step.place.is_within(place)));
        }
        self.about.retain(|about, _| !about.is_within(place));
        for step in made.iter().filter(|step| step.first) {
            self.touched.remove(&step.place);
        }
        Some(made)
    }

    fn remove_parents(&mut self, row: &ChangeRow, place: &Place) {
        let count = usize::try_from(row.parents).unwrap_or(usize::MAX);
        let parents: Vec<Place> = place.above().take(count).collect();
        for parent in parents {
            self.push(row, parent, Back::RemoveParent, Left::Dir);
        }
    }

    fn push(&mut self, row: &ChangeRow, place: Place, back: Back, left: Left) {
        if !back.is_about_content() {
            self.about.remove(&place);
            self.add(row, place, back, left);
            return;
        }
        let earlier = self.about.remove(&place).unwrap_or_default();
        let first = earlier.first().and_then(|at| self.steps[*at].clone().map(|step| (*at, step)));
        let replaces = match (&back, &first) {
            (_, None) => None,
            (Back::Truncate(_), Some((_, step))) if !matches!(step.back, Back::Truncate(_)) => None,
            (_, Some(first)) => Some(first),
        };
        let Some((at, step)) = replaces else {
            let added = self.add(row, place.clone(), back, left);
            self.about.insert(place, earlier.into_iter().chain([added]).collect());
            return;
        };
        for at in &earlier {
            self.steps[*at] = None;
        }
        // It came and went: nothing is left to do.
        if back == Back::Remove && step.left == Left::Nothing {
            if step.first {
                self.touched.remove(&place);
            }
            return;
        }
        self.steps[*at] = Some(Step { back, ..step.clone() });
        self.about.insert(place, vec![*at]);
    }

    fn add(&mut self, row: &ChangeRow, place: Place, back: Back, left: Left) -> usize {
        let first = self.touched.insert(place.clone());
        let now = self.moves.iter().rev().fold(place.clone(), |at, (to, from)| at.moved(from, to).unwrap_or(at));
        self.steps.push(Some(Step { place, back, left, first, now, row: row.clone() }));
        self.steps.len() - 1
    }
}

/// What gives a directory that is made again the mode it had.
fn dressing(made: &Step) -> Option<Step> {
    match (&made.back, made.row.what, &made.row.before) {
        (Back::MakeDir, What::Delete, Before::Dir(looks)) if looks.mode.is_some() => {
            Some(Step { back: Back::Dress(*looks), left: Left::Dir, first: false, ..made.clone() })
        }
        _ => None,
    }
}
