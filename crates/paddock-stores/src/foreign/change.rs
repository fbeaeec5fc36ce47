//! Making the changes of a [`ChangeSet`] in a foreign store, one key after the other.
//!
//! A change is computed here, under a claim on its paths, and written whole. What moves is first copied and then taken
//! away: whatever stops it, nothing is nowhere. A removal that failed may still happen, as nobody can stop what another
//! program was asked to do; so what was copied is taken back only as long as no removal was asked for.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{
    Act, Applied, AppliedChange, Before, Call, Cancel, Change, ChangeSet, EditError, ErrorKind, Expect, Looks,
    MAX_EXPANSION, MAX_PATH, RelPath, RelPathBuf, Replacement, Result, SNIFF, TextKind, edit, suited_to,
};

use super::ForeignStore;
use super::keeper::{Content, KeyKind};
use super::locks::Held;
use super::shelf::{Node, Shelf, bad_answer, too_large, version_of};
use super::walk::below;
use crate::staged::whole_staged;

/// How long taking back a copy may last, whatever became of the call.
const WAY_BACK: Duration = Duration::from_secs(10);

/// Makes every change, in order.
pub(super) fn apply(store: &ForeignStore, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
    if !set.quota().is_unbounded() {
        return Err(ErrorKind::Unsupported("keeping to a quota").into());
    }
    // All at once: what is known about the paths holds until the last of them is done.
    let held = store.locks.claim(call, &store.namespace, &claimed(set))?;
    let mut shelf = shelf_for(store, call, set, &held);
    let mut work = Work { store, several: set.changes().len() > 1, lasting: HashSet::new() };
    let mut applied = Applied::default();
    for change in set.changes() {
        match call.tick(1).and_then(|()| work.make(&shelf, change)) {
            Ok(done) => {
                shelf.made(change);
                applied.changes.push(done);
            }
            Err(e) if *e.kind() == ErrorKind::NotFound && work.may_be_gone(change) => {
                shelf.made(change);
                applied.changes.push(AppliedChange { before: Before::Absent, ..AppliedChange::default() });
            }
            Err(e) if applied.changes.is_empty() => return Err(e),
            // What was changed so far is told, so that it is known.
            Err(e) => {
                applied.stopped = Some(e.kind().clone());
                break;
            }
        }
    }
    Ok(applied)
}

/// Every path that a set changes, and where something of it goes.
fn claimed(set: &ChangeSet) -> Vec<RelPath<'_>> {
    let paths = set.changes().iter().flat_map(|change| {
        let goes_to = match change.act() {
            Act::Move { to } => Some(to.as_rel()),
            _ => None,
        };
        [Some(change.path()), goes_to]
    });
    paths.flatten().collect()
}

/// A set of one change asks about one path, and any other about many.
fn shelf_for<'a>(store: &'a ForeignStore, call: &'a Call<'a>, set: &'a ChangeSet, held: &Held<'_>) -> Shelf<'a> {
    let shelf = store.shelf(call).for_changes();
    match claimed(set)[..] {
        [only] => shelf.about(only).knowing(store.seen_before(call, only, held)),
        _ => shelf,
    }
}

struct Work<'a> {
    store: &'a ForeignStore,
    /// Is the change at hand one of several?
    several: bool,
    /// Directories that are known to be there by themselves.
    lasting: HashSet<RelPathBuf>,
}

impl Work<'_> {
    /// One of many doomed paths that went away by itself is no reason to stop half-way; and where no directory is there
    /// without a file in it, one goes with its last.
    fn may_be_gone(&self, change: &Change) -> bool {
        let goes_by_itself = !self.store.abilities.make_dir && change.expect() == Expect::Any;
        *change.act() == Act::Delete && (self.several || goes_by_itself)
    }

    fn make(&mut self, shelf: &Shelf<'_>, change: &Change) -> Result<AppliedChange> {
        let path = change.path();
        let there = shelf.find_any(path)?;
        // What is gone is no other version of what was meant.
        if there.is_some() || !self.may_be_gone(change) {
            check(there.as_ref(), change.expect())?;
        }
        let kind = there.as_ref().map(Node::kind);
        let met = there.as_ref().filter(|_| kind == Some(KeyKind::File)).map(|node| node.meta().version);
        let done = match change.act() {
            Act::Write { content, .. } => self.write(shelf, path, kind, content, None),
            Act::Take { staged } => {
                let content = whole_staged(staged)?;
                self.write(shelf, path, kind, &content, Some(staged.modified()))
            }
            Act::Append { content } => self.append(shelf, path, there, content),
            Act::Edit { edits } => self.edit(shelf, path, there, edits),
            Act::Truncate { len } => {
                let Content { mut bytes, .. } = file(there)?;
                bytes.truncate(usize::try_from(*len).unwrap_or(usize::MAX));
                self.write(shelf, path, Some(KeyKind::File), &bytes, None)
            }
            Act::MakeDir => self.make_dir(shelf, path, kind),
            Act::Move { to } => self.move_to(shelf, path, there, to.as_rel()),
            Act::Delete => self.delete(shelf, path, kind),
            Act::Restore { .. } => Err(ErrorKind::NotKept.into()),
            Act::Link { .. } => Err(ErrorKind::Unsupported("a link").into()),
            Act::Dress { .. } => Err(ErrorKind::Unsupported("changing a mode or a time").into()),
        };
        Ok(AppliedChange { met, ..done? })
    }

    fn write(
        &mut self,
        shelf: &Shelf<'_>,
        path: RelPath<'_>,
        there: Option<KeyKind>,
        content: &[u8],
        dated: Option<SystemTime>,
    ) -> Result<AppliedChange> {
        if there == Some(KeyKind::Dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if !shelf.abilities.bytes && std::str::from_utf8(content).is_err() {
            return Err(ErrorKind::Unsupported("holding what is not UTF-8 text").into());
        }
        let parents = if there.is_none() { self.make_parents(shelf, path)? } else { 0 };
        shelf.keeper.write(shelf.call, path, content, dated)?;
        let before = if there.is_none() { Before::Absent } else { Before::Lost };
        let version = Some(version_of(content));
        Ok(AppliedChange { version, created: there.is_none(), before, parents, ..AppliedChange::default() })
    }

    fn append(
        &mut self,
        shelf: &Shelf<'_>,
        path: RelPath<'_>,
        there: Option<Node>,
        addition: &[u8],
    ) -> Result<AppliedChange> {
        let Some(node) = there else { return self.write(shelf, path, None, addition, None) };
        let Content { bytes: old, .. } = file(Some(node))?;
        let head = &old[..old.len().min(SNIFF)];
        let refused = || EditError::Encoding(TextKind::of(head).name());
        let content = [old.as_slice(), &suited_to(head, addition).ok_or_else(refused)?].concat();
        let done = self.write(shelf, path, Some(KeyKind::File), &content, None)?;
        Ok(AppliedChange { before: Before::Prefix(old.len() as u64), ..done })
    }

    fn edit(
        &mut self,
        shelf: &Shelf<'_>,
        path: RelPath<'_>,
        there: Option<Node>,
        edits: &[Replacement],
    ) -> Result<AppliedChange> {
        let Content { bytes: old, .. } = file(there)?;
        let (content, replacements) = edit(&old, edits)?;
        if let [only] = edits
            && is_plain(only, &old, &content)
            && let Some(count) = shelf.keeper.edit(shelf.call, path, &only.old, &only.new)?
        {
            match count {
                1 => {}
                // Somebody outside of this process was faster.
                0 => return Err(ErrorKind::Stale.into()),
                more => return Err(bad_answer("an edit of one place that changed several", &more.to_string())),
            }
            // What somebody outside changed elsewhere in it is there too.
            let now = shelf.content(path)?.map_or(content, |content| content.bytes);
            return Ok(AppliedChange { version: Some(version_of(&now)), replacements, ..AppliedChange::default() });
        }
        let done = self.write(shelf, path, Some(KeyKind::File), &content, None)?;
        Ok(AppliedChange { replacements, ..done })
    }

    fn make_dir(&mut self, shelf: &Shelf<'_>, path: RelPath<'_>, there: Option<KeyKind>) -> Result<AppliedChange> {
        let dir = Before::Dir(Looks::default());
        match there {
            Some(KeyKind::File) => Err(ErrorKind::AlreadyExists.into()),
            Some(KeyKind::Dir) => Ok(AppliedChange { before: dir, ..AppliedChange::default() }),
            None if !shelf.abilities.make_dir => Err(ErrorKind::Unsupported("making a directory").into()),
            None => {
                let parents = self.make_parents(shelf, path)?;
                shelf.keeper.make_dir(shelf.call, path)?;
                Ok(AppliedChange { created: true, before: Before::Absent, parents, ..AppliedChange::default() })
            }
        }
    }

    fn delete(&mut self, shelf: &Shelf<'_>, path: RelPath<'_>, there: Option<KeyKind>) -> Result<AppliedChange> {
        if path.is_here() {
            return Err(ErrorKind::Unsupported("deleting a whole Mount").into());
        }
        let kind = there.ok_or(ErrorKind::NotFound)?;
        let before = match kind {
            KeyKind::File => Before::Lost,
            KeyKind::Dir if !shelf.is_empty(path)? => return Err(ErrorKind::NotEmpty.into()),
            KeyKind::Dir => Before::Dir(Looks::default()),
        };
        self.remove(shelf, path, kind)?;
        Ok(AppliedChange { before, ..AppliedChange::default() })
    }

    fn move_to(
        &mut self,
        shelf: &Shelf<'_>,
        from: RelPath<'_>,
        there: Option<Node>,
        to: RelPath<'_>,
    ) -> Result<AppliedChange> {
        if from.is_here() {
            return Err(ErrorKind::Unsupported("moving a whole Mount").into());
        }
        let node = there.ok_or(ErrorKind::NotFound)?;
        if to.is_here() || shelf.find_any(to)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if to.is_within(from) {
            return Err(ErrorKind::Unsupported("moving a directory into itself").into());
        }
        if !shelf.abilities.remove {
            return Err(ErrorKind::Unsupported("moving").into());
        }
        let version = node.meta().version;
        let (moved, before) = match node {
            Node::File(_) => (vec![(from.to_buf(), KeyKind::File)], Before::Absent),
            Node::Dir => (everything_at(shelf, from)?, Before::Dir(Looks::default())),
        };
        let parents = self.make_parents(shelf, to)?;
        copy(shelf, from, to, &moved)?;
        for (path, kind) in moved.iter().rev() {
            self.remove(shelf, path.as_rel(), *kind)?;
        }
        Ok(AppliedChange { version: Some(version), created: true, before, parents, ..AppliedChange::default() })
    }

    /// Takes one thing away. The directory it was in stays, also where only its files made it one.
    fn remove(&mut self, shelf: &Shelf<'_>, path: RelPath<'_>, kind: KeyKind) -> Result<()> {
        shelf.call.tick(0)?;
        if let Some((dir, _)) = path.split_last()
            && shelf.abilities.make_dir
            && !dir.is_here()
            && self.lasting.insert(dir.to_buf())
        {
            shelf.keeper.make_dir(shelf.call, dir)?;
        }
        self.lasting.remove(&path.to_buf());
        shelf.keeper.remove(shelf.call, path, kind)
    }

    /// Makes the directories above a path that are not there, and counts them. Where none can be made they come with
    /// the file.
    fn make_parents(&mut self, shelf: &Shelf<'_>, path: RelPath<'_>) -> Result<usize> {
        let mut missing = Vec::new();
        for dir in path.ancestors().skip(1) {
            match shelf.look(dir)? {
                Some(KeyKind::Dir) => break,
                Some(KeyKind::File) => return Err(ErrorKind::NotADirectory.into()),
                None => missing.push(dir),
            }
        }
        if !shelf.abilities.make_dir {
            return Ok(0);
        }
        for dir in missing.iter().rev() {
            shelf.keeper.make_dir(shelf.call, *dir)?;
            self.lasting.insert(dir.to_buf());
        }
        Ok(missing.len())
    }
}

/// A directory and everything in it, what holds something before what it holds.
fn everything_at(shelf: &Shelf<'_>, dir: RelPath<'_>) -> Result<Vec<(RelPathBuf, KeyKind)>> {
    let mut all = vec![(dir.to_buf(), KeyKind::Dir)];
    below(shelf, dir, &mut |path, kind| {
        if all.len() > MAX_EXPANSION {
            return Err(too_large("the number of paths in it", MAX_EXPANSION));
        }
        all.push((path.to_buf(), kind));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}

/// Makes a second one of everything that moves, or of nothing.
fn copy(shelf: &Shelf<'_>, from: RelPath<'_>, to: RelPath<'_>, moved: &[(RelPathBuf, KeyKind)]) -> Result<()> {
    let mut made = Vec::with_capacity(moved.len());
    let copied = moved.iter().try_for_each(|(path, kind)| {
        shelf.call.tick(0)?;
        let arrives = moved_path(path.as_rel(), from, to)?;
        made.push((arrives.clone(), *kind));
        match kind {
            KeyKind::Dir if shelf.abilities.make_dir => shelf.keeper.make_dir(shelf.call, arrives.as_rel()),
            KeyKind::Dir => Ok(()),
            KeyKind::File => {
                let content = shelf.content(path.as_rel())?.ok_or(ErrorKind::Stale)?;
                shelf.keeper.write(shelf.call, arrives.as_rel(), &content.bytes, content.modified)
            }
        }
    });
    if copied.is_err() {
        let cancel = Cancel::default();
        let call = Call { cancel: &cancel, deadline: Instant::now() + WAY_BACK, ..*shelf.call };
        for (path, kind) in made.iter().rev() {
            // What cannot be taken back is a copy too many, and the call has failed already.
            let _ = shelf.keeper.remove(&call, path.as_rel(), *kind);
        }
    }
    copied
}

/// Where a path arrives when a directory above it moves.
fn moved_path(path: RelPath<'_>, from: RelPath<'_>, to: RelPath<'_>) -> Result<RelPathBuf> {
    let arrives = format!("{to}{}", &path.as_str()[from.as_str().len()..]);
    let parsed = RelPathBuf::parse(&arrives).ok().filter(|_| arrives.len() <= MAX_PATH);
    parsed.ok_or_else(|| too_large("the length of a path in it", MAX_PATH))
}

/// Would anybody who replaces the one text by the other make exactly this of the content?
fn is_plain(only: &Replacement, old: &[u8], new: &[u8]) -> bool {
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else { return false };
    !only.all && old.matches(&only.old).count() == 1 && old.replacen(&only.old, &only.new, 1) == new
}

fn file(there: Option<Node>) -> Result<Content> {
    match there {
        Some(Node::File(content)) => Ok(content),
        Some(Node::Dir) => Err(ErrorKind::IsADirectory.into()),
        None => Err(ErrorKind::NotFound.into()),
    }
}

fn check(there: Option<&Node>, expect: Expect) -> Result<()> {
    match (expect, there) {
        (Expect::Any, _) | (Expect::Absent | Expect::UnchangedSince(_), None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(ErrorKind::AlreadyExists.into()),
        (Expect::Is(_), None) => Err(ErrorKind::Stale.into()),
        (Expect::Is(version), Some(node)) if node.meta().version == version => Ok(()),
        (Expect::Is(_), Some(_)) => Err(ErrorKind::Stale.into()),
        (Expect::UnchangedSince(time), Some(node)) => match node.meta().modified {
            Some(modified) if modified <= time => Ok(()),
            Some(_) => Err(ErrorKind::Stale.into()),
            None => Err(ErrorKind::Unsupported("telling when something changed").into()),
        },
    }
}
