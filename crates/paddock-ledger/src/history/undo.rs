//! Taking a call back: its rows turned round, and looked at beside what is there today.
//!
//! A path is taken back only from the state that the call left it in; a person then loses nothing that came later. The answer
//! is whole or an error: nothing is ever taken back half-way.

use std::collections::{HashMap, HashSet};

use paddock_core::{
    Alter, Alteration, Call, CallId, EffectKind, ErrorKind, Expect, Kept, Kind, LogicalPath, Operation, Refused,
    Version, Vfs, Workspace,
};

use super::inside::{Listing, Moved, Taken};
use super::place::{Place, logical};
use super::row::{CallRow, ChangeRow};
use super::since::Since;
use super::way::{Back, Left, Step, Way};
use super::{Conflict, History, HistoryError, Result};

/// What takes a call back. To be run by the call for which it was asked.
#[derive(Debug, Clone)]
pub struct Undo {
    /// The call that is undone.
    pub call: CallRow,
    /// The changes, in the order in which they are made.
    pub alterations: Vec<Alteration>,
    /// Which of them only tidy away directories that the call made on the way.
    tidying: HashSet<usize>,
}

impl Undo {
    /// All of it as one operation.
    pub fn operation(&self) -> Operation {
        self.as_operation(self.alterations.clone())
    }

    /// As [`Self::operation`], with directories left that the call made on the way: for when something came into one meanwhile.
    pub fn keeping_directories(&self) -> Operation {
        let kept = self.alterations.iter().enumerate().filter(|(at, _)| !self.tidying.contains(at));
        self.as_operation(kept.map(|(_, alteration)| alteration.clone()).collect())
    }

    /// The paths that change.
    pub fn paths(&self) -> impl Iterator<Item = &LogicalPath> {
        self.alterations.iter().map(|alteration| &alteration.path)
    }

    /// What it does, a line for each path.
    pub fn says(&self) -> Vec<String> {
        say_all(&self.alterations)
    }

    fn as_operation(&self, alterations: Vec<Alteration>) -> Operation {
        let path = self.alterations.first().map_or_else(LogicalPath::top, |first| first.path.clone());
        Operation::Alter { path, alterations }
    }
}

/// A line for each path; that a directory which is made again gets its mode again goes without saying.
pub(crate) fn say_all(alterations: &[Alteration]) -> Vec<String> {
    let makes = |alteration: &&Alteration| alteration.how == Alter::MakeDir;
    let made: HashSet<&LogicalPath> = alterations.iter().filter(makes).map(|made| &made.path).collect();
    let is_plain = |one: &&Alteration| matches!(one.how, Alter::Dress(_)) && made.contains(&one.path);
    alterations.iter().filter(|one| !is_plain(one)).map(say).collect()
}

fn say(alteration: &Alteration) -> String {
    let path = &alteration.path;
    match &alteration.how {
        Alter::Write { .. } => format!("writes {path}"),
        Alter::Restore(_) => format!("restores {path}"),
        Alter::Truncate(len) => format!("cuts {path} back to {len} bytes"),
        Alter::MakeDir => format!("makes the directory {path} again"),
        Alter::Take(_) => format!("writes {path}"),
        Alter::Link { leads_to } => format!("links {path} to {leads_to}"),
        Alter::Dress(_) => format!("gives {path} its mode and time again"),
        Alter::Delete => format!("removes {path}"),
        Alter::Move { to } => format!("moves {path} back to {to}"),
    }
}

impl History {
    /// What takes `undone` back, in the Workspaces of today. `call` is the one that will run it.
    ///
    /// The Vfs is that of a person ([`Vfs::for_person`]); the answer holds for what is there now.
    pub fn undo(&self, vfs: &Vfs, call: &Call<'_>, undone: CallId) -> Result<Undo> {
        let (row, mut rows) =
            self.read(|session| Ok((self.call_in(session, undone)?, self.changes_in(session, undone)?)))?;
        let row = row.ok_or_else(|| HistoryError::NoSuchCall(undone.to_string()))?;
        if let Some(by) = row.undone_by {
            return Err(HistoryError::AlreadyUndone { call: undone, by });
        }
        rows.extend(self.unwritten(vfs, call, &row)?);
        if rows.is_empty() {
            return Err(HistoryError::ChangedNothing(undone));
        }
        let (steps, lost) = Way::back(rows.iter().rev()).steps();
        if !lost.is_empty() {
            return Err(HistoryError::Lost(lost.iter().map(|step| name_of(vfs, &step.place, &step.row)).collect()));
        }
        let steps = without_objects(steps);
        let listing = Listing::of(vfs, call, &steps);
        let mut today =
            Today { history: self, vfs, call, moved_above: HashMap::new(), listing, taken: Taken::default() };
        let mut conflicts = Vec::new();
        let mut alterations = Vec::new();
        let mut tidying = HashSet::new();
        for step in &steps {
            match today.look(step)? {
                Sight::Fit(expect) => {
                    today.take(step);
                    if step.back == Back::RemoveParent {
                        tidying.insert(alterations.len());
                    }
                    alterations.push(alteration(vfs, step, expect)?);
                }
                Sight::Needless => {}
                Sight::Conflicts(more) => conflicts.extend(more),
            }
        }
        if !conflicts.is_empty() {
            return Err(HistoryError::Newer(conflicts));
        }
        self.undoing().insert(call.id, undone);
        Ok(Undo { call: row, alterations, tidying })
    }
}

/// The steps without those that remove contents from a repository that stays: a commit that was made since may need them, and
/// they harm nobody. Where nothing else is to be done they are what is meant.
fn without_objects(steps: Vec<Step>) -> Vec<Step> {
    let removes = |step: &Step| matches!(step.back, Back::Remove | Back::RemoveDir | Back::RemoveParent);
    let going: HashSet<String> = steps
        .iter()
        .filter(|step| removes(step))
        .filter_map(|step| step.place.as_str().strip_suffix("/.git/HEAD").map(str::to_owned))
        .collect();
    let stays = |step: &Step| {
        let repository = step.place.as_str().split_once("/.git/objects/").map(|(above, _)| above);
        removes(step) && repository.is_some_and(|repository| !going.contains(repository))
    };
    if steps.iter().all(stays) {
        return steps;
    }
    steps.into_iter().filter(|step| !stays(step)).collect()
}

/// A step beside what is there today.
enum Sight {
    /// It can be taken under this condition.
    Fit(Expect),
    /// There is nothing to do for it.
    Needless,
    /// Something newer is in the way.
    Conflicts(Vec<Conflict>),
}

/// A directory beside what a call left of it.
enum Fits {
    Yes,
    No,
    /// These in it are newer.
    Holds(Vec<Conflict>),
}

/// What is there today.
struct Today<'a> {
    history: &'a History,
    vfs: &'a Vfs,
    call: &'a Call<'a>,
    /// Directories, and whether one above was moved since and stays so.
    moved_above: HashMap<Place, bool>,
    /// What the directories hold that are to go.
    listing: Listing,
    /// What the steps before take away.
    taken: Taken,
}

impl Today<'_> {
    fn take(&mut self, step: &Step) {
        // Of one that was not looked at nobody knows what else is in it.
        let whole = step.first || step.back == Back::RemoveParent || self.empties(step);
        self.taken.add(step, whole);
    }

    fn look(&mut self, step: &Step) -> Result<Sight> {
        if step.back == Back::RemoveParent {
            let empties = step.now == step.place && self.empties(step);
            return Ok(if empties { Sight::Fit(Expect::Any) } else { Sight::Needless });
        }
        if !step.first {
            return Ok(Sight::Fit(Expect::Any));
        }
        let (path, _) = find(self.vfs, &step.now, &step.row)?;
        // Where a link goes first, what is seen through it today is something else.
        let unseen = step.left == Left::Nothing && self.taken.clears_above(&step.place);
        let now = if unseen { Now::Nothing } else { version_now(self.vfs, self.call, &path)? };
        let fit = match step.left {
            Left::Nothing => self.look_at_nothing(step, now, &path)?,
            Left::Dir => match self.look_at_directory(step, now, &path)? {
                Fits::Yes => true,
                Fits::No => false,
                Fits::Holds(newer) => return Ok(Sight::Conflicts(newer)),
            },
            Left::File(version) => self.look_at_file(step, version, now)?,
        };
        if fit && let Some((home, there)) = self.in_the_way(step)? {
            return Ok(Sight::Conflicts(vec![self.taken_conflict(step, home, there)?]));
        }
        if fit {
            // What moved along has, in some Stores, another version where it arrives.
            let expect = match (step.left, now) {
                (Left::File(_), Now::There(version)) if step.now == step.place => Expect::Is(version),
                (Left::Nothing, Now::Nothing) if step.now == step.place => Expect::Absent,
                _ => Expect::Any,
            };
            return Ok(Sight::Fit(expect));
        }
        Ok(Sight::Conflicts(vec![self.conflict(step, path, now)?]))
    }

    fn look_at_nothing(&mut self, step: &Step, now: Now, path: &LogicalPath) -> Result<bool> {
        if self.is_moved_above(step)? {
            return Ok(false);
        }
        Ok(match now {
            Now::Nothing => true,
            // What stands above it goes first.
            Now::Blocked => self.taken.clears_the_way_to(&step.place),
            // A directory that is there again is what is wanted, whoever made it.
            Now::There(_) => step.back == Back::MakeDir && self.is_directory(path),
        })
    }

    fn look_at_directory(&self, step: &Step, now: Now, path: &LogicalPath) -> Result<Fits> {
        if !matches!(now, Now::There(_)) || !self.is_directory(path) {
            return Ok(Fits::No);
        }
        // What is in it does not matter to its mode.
        if matches!(step.back, Back::Dress(_)) {
            return Ok(Fits::Yes);
        }
        if step.back == Back::RemoveDir {
            return Ok(if self.empties(step) { Fits::Yes } else { Fits::No });
        }
        let since = self.since(step, true)?;
        let newer = Moved { vfs: self.vfs, call: self.call, step, since: &since }.newer()?;
        Ok(match (newer.is_empty(), since.standing.is_empty()) {
            (true, true) => Fits::Yes,
            (true, false) => Fits::No,
            (false, _) => Fits::Holds(newer),
        })
    }

    fn look_at_file(&self, step: &Step, left: Option<Version>, now: Now) -> Result<bool> {
        match (left, now) {
            (_, Now::Nothing | Now::Blocked) => Ok(false),
            (None, Now::There(_)) => Ok(true),
            (Some(left), Now::There(version)) if left == version => Ok(true),
            (Some(_), Now::There(version)) => Ok(self.since(step, false)?.version == Some(version)),
        }
    }

    /// What stands where a move goes back to.
    fn in_the_way<'s>(&self, step: &'s Step) -> Result<Option<(&'s Place, Now)>> {
        let Back::MoveTo(home) = &step.back else { return Ok(None) };
        if self.taken.frees(home) {
            return Ok(None);
        }
        let (path, _) = find(self.vfs, home, &step.row)?;
        let now = version_now(self.vfs, self.call, &path)?;
        Ok((now != Now::Nothing).then_some((home, now)))
    }

    /// Does the directory hold nothing but what the earlier steps take away?
    fn empties(&self, step: &Step) -> bool {
        // A file that stands there by now is not ours to remove.
        let named = logical(self.vfs, &step.place, &step.row.spot.territory);
        self.listing.is_emptied(&step.place, &self.taken) && named.is_some_and(|(path, _)| self.is_directory(&path))
    }

    /// Is a directory there? Asked of something that is there: only then a directory can be made that is no other.
    fn is_directory(&self, path: &LogicalPath) -> bool {
        self.vfs.facts(self.call, path).is_ok_and(|meta| meta.kind == Kind::Dir)
    }

    /// Was a directory above moved since, and stays so? Then the path means something else today.
    fn is_moved_above(&mut self, step: &Step) -> Result<bool> {
        let Some(parent) = step.now.parent() else { return Ok(false) };
        if let Some(known) = self.moved_above.get(&parent) {
            return Ok(*known);
        }
        let moved = self.history.read(|session| self.history.moved_since(session, &parent, &step.row))?;
        self.moved_above.insert(parent, moved);
        Ok(moved)
    }

    fn since(&self, step: &Step, below: bool) -> Result<Since> {
        self.history.read(|session| self.history.since(session, &step.now, &step.row, below))
    }

    /// The place that something left is taken.
    fn taken_conflict(&self, step: &Step, home: &Place, there: Now) -> Result<Conflict> {
        let (path, _) = find(self.vfs, home, &step.row)?;
        let since = self.history.read(|session| self.history.since(session, home, &step.row, true))?;
        let now = if let Now::There(version) = there { Some(version) } else { None };
        Ok(Conflict { path, after: None, now, before: None, newer: since.standing })
    }

    fn conflict(&self, step: &Step, path: LogicalPath, now: Now) -> Result<Conflict> {
        let below = step.left == Left::Dir;
        let after = if let Left::File(version) = step.left { version } else { None };
        let before = if let Back::Restore(kept) = &step.back { Some(kept.clone()) } else { None::<Kept> };
        let now = if let Now::There(version) = now { Some(version) } else { None };
        Ok(Conflict { path, after, now, before, newer: self.since(step, below)?.standing })
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    /// Nothing.
    Nothing,
    /// Something of this version.
    There(Version),
    /// Something that is no directory stands above it.
    Blocked,
}

/// Looks at a path, by a plan that is never run.
pub(crate) fn version_now(vfs: &Vfs, call: &Call<'_>, path: &LogicalPath) -> Result<Now> {
    let look = Alteration { path: path.clone(), how: Alter::Truncate(0), expect: Expect::Any };
    match vfs.plan(call, Operation::Alter { path: path.clone(), alterations: vec![look] }) {
        Ok(plan) => {
            let seen = plan.effects().iter().find(|effect| effect.what == EffectKind::Replace);
            Ok(seen.and_then(|effect| effect.before).map_or(Now::Nothing, Now::There))
        }
        Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::NotADirectory => Ok(Now::Blocked),
        Err(refused) => Err(refused.into()),
    }
}

pub(crate) fn alteration(vfs: &Vfs, step: &Step, expect: Expect) -> Result<Alteration> {
    let (path, _) = find(vfs, &step.place, &step.row)?;
    let how = match &step.back {
        Back::Remove | Back::RemoveDir | Back::RemoveParent => Alter::Delete,
        Back::Restore(kept) => Alter::Restore(kept.clone()),
        Back::Truncate(len) => Alter::Truncate(*len),
        Back::MakeDir => Alter::MakeDir,
        Back::Dress(looks) => Alter::Dress(*looks),
        Back::MoveTo(home) => Alter::Move { to: find(vfs, home, &step.row)?.0 },
        Back::Lost => return Err(HistoryError::Lost(vec![path.to_string()])),
    };
    Ok(Alteration { path, how, expect })
}

pub(crate) fn find<'v>(vfs: &'v Vfs, place: &Place, row: &ChangeRow) -> Result<(LogicalPath, &'v Workspace)> {
    let found = logical(vfs, place, &row.spot.territory);
    found.ok_or_else(|| HistoryError::NoWorkspace { path: row.path_then() })
}

/// What a place is called today, or was then.
pub(crate) fn name_of(vfs: &Vfs, place: &Place, row: &ChangeRow) -> String {
    logical(vfs, place, &row.spot.territory).map_or_else(|| row.path_then(), |(path, _)| path.to_string())
}
