//! Making the changes of a [`ChangeSet`] on the host's disk.
//!
//! Nothing is changed in a directory but under its lock, and only while its path still leads to it: a
//! path is what was judged, and a directory that moved meanwhile has another. A change that finds
//! this out starts again from its path.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use paddock_core::{
    Act, Applied, AppliedChange, Before, Call, Change, ChangeSet, ErrorKind, Expect, Kind, Looks, Own, PLAIN_MODE,
    RelPath, StoreError, Version,
};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::aside::Aside;
use super::history::{Keeper, Taken, name_for};
use super::host::{changed, kind_of, meta_of, open_beneath, open_dir, same_inode, store_error, sync};
use super::lock::{DirLock, lock_dirs, outlast_writers};
use super::meter::Meter;
use super::outside::{Step, may_act};
use super::replace::{Spot, Terms};
use super::{Durability, HardLinks, PhysicalStore, TEMP_PREFIX};
use crate::quota::UsageDelta;

/// How often a change starts again because somebody was faster.
const TRIES: usize = 32;

/// What came of one try; nothing when somebody was faster and it has to start again from the path.
pub(super) type Try<T> = Result<Option<T>, StoreError>;

/// Makes every change, in order.
pub(super) fn apply(store: &PhysicalStore, call: &Call<'_>, set: &ChangeSet) -> Result<Applied, StoreError> {
    let keeper =
        store.history.as_ref().filter(|_| set.keeps()).map(|place| place.ready(store.durability)).transpose()?;
    let mut work = Work {
        store,
        call,
        mount: store.mount_for_change()?,
        keeps: set.keeps(),
        keeper,
        meter: Meter::new(store.usage_counter(), set.quota(), call.deadline),
        own: set.own(),
        several: set.changes().len() > 1,
        made: RefCell::default(),
        trouble: RefCell::default(),
    };
    let mut applied = Applied::default();
    for change in set.changes() {
        match call.tick(1).and_then(|()| work.make(change)) {
            Ok(done) => {
                applied.changes.push(done);
                if let Some(trouble) = work.trouble.take() {
                    applied.stopped = Some(trouble.kind().clone());
                    break;
                }
            }
            // One of many doomed paths that went away by itself is no reason to stop half-way.
            Err(e) if work.several && *change.act() == Act::Delete && *e.kind() == ErrorKind::NotFound => {
                applied.changes.push(AppliedChange { before: Before::Absent, ..AppliedChange::default() });
            }
            Err(e) if applied.changes.is_empty() => return Err(e),
            // What was changed so far is told, so that it can be taken back.
            Err(e) => {
                applied.stopped = Some(e.kind().clone());
                break;
            }
        }
    }
    Ok(applied)
}

/// A file that has other names, and the state in which it was found.
pub(super) struct Shared {
    file: OwnedFd,
    found: Version,
}

pub(super) struct Work<'a> {
    pub(super) store: &'a PhysicalStore,
    pub(super) call: &'a Call<'a>,
    mount: Arc<OwnedFd>,
    pub(super) keeps: bool,
    /// Where what is replaced goes, if it is kept.
    pub(super) keeper: Option<Keeper>,
    pub(super) meter: Meter<'a>,
    /// What the same run did to files that have other names.
    own: &'a Own,
    /// Is the change at hand one of several?
    several: bool,
    /// How deep the directories lie that were made for the change at hand.
    made: RefCell<Vec<usize>>,
    /// What went wrong after the change at hand was made.
    trouble: RefCell<Option<StoreError>>,
}

impl Work<'_> {
    fn make(&mut self, change: &Change) -> Result<AppliedChange, StoreError> {
        self.made.get_mut().clear();
        self.trouble.get_mut().take();
        if let Some(keeper) = &mut self.keeper {
            keeper.change_begins(name_for(&self.store.host, self.call.id, change.path().as_str()));
        }
        for _ in 0..TRIES {
            if let Some(mut done) = self.try_to_make(change)? {
                done.parents = self.parents_made(change);
                return Ok(done);
            }
            self.call.tick(0)?;
            // The Mount's own directory may be what is gone.
            self.mount = self.store.mount_for_change()?;
        }
        Err(ErrorKind::Stale.into())
    }

    fn try_to_make(&self, change: &Change) -> Try<AppliedChange> {
        let (path, expect) = (change.path(), change.expect());
        match change.act() {
            Act::Write { content, mode } => self.write(path, content, *mode, expect),
            Act::Append { content } => self.append(path, content, expect),
            Act::Edit { edits } => self.edit(path, edits, expect),
            Act::MakeDir => self.make_dir(path, expect),
            Act::Move { to } => self.rename(path, to.as_rel(), expect),
            Act::Delete => self.delete(path, expect),
            Act::Restore { kept } => self.restore(path, kept, expect),
            Act::Truncate { len } => self.truncate(path, *len, expect),
            Act::Take { staged } => self.take(path, staged, expect),
            Act::Link { leads_to } => self.link(path, leads_to, expect),
            Act::Dress { looks } => self.dress(path, *looks, expect),
        }
    }

    /// How many directories right above the path were made for this change. Those of an earlier try that went elsewhere
    /// are not counted a second time.
    fn parents_made(&self, change: &Change) -> usize {
        let made = self.made.borrow();
        let path = match change.act() {
            Act::Move { to } => to.as_rel(),
            _ => change.path(),
        };
        let depth = path.names().count();
        (1..depth).rev().take_while(|above| made.contains(above)).count()
    }

    /// Something failed that came after the change was made. That is told first, so that it can be taken back.
    pub(super) fn made_but(&self, after: Result<(), StoreError>) {
        if let Err(trouble) = after {
            self.trouble.borrow_mut().get_or_insert(trouble);
        }
    }

    /// How a file is put in place or taken away.
    pub(super) fn terms(&self) -> Terms<'_> {
        let links = self.store.hard_links == HardLinks::Read;
        Terms { durability: self.store.durability, keeper: self.keeper.as_ref(), links }
    }

    /// Changes one file under its directory's lock.
    pub(super) fn change_file(
        &self,
        path: RelPath<'_>,
        parents: Parents,
        act: impl FnOnce(Spot<'_>) -> Try<AppliedChange>,
    ) -> Try<AppliedChange> {
        let (dir_path, name) = path.split_last().ok_or(ErrorKind::IsADirectory)?;
        let Some(dir) = self.dir(dir_path, parents)? else { return Ok(None) };
        let Some(_lock) = self.hold(&[(dir_path, &dir)])? else { return Ok(None) };
        act(Spot { dir: &dir, name })
    }

    fn make_dir(&self, path: RelPath<'_>, expect: Expect) -> Try<AppliedChange> {
        match open_dir(&self.mount, path.as_str()) {
            Ok(dir) => {
                let stat = rustix::fs::fstat(&dir).map_err(store_error)?;
                self.check(Some(&stat), expect)?;
                return Ok(Some(AppliedChange { before: dir_before(&stat), ..AppliedChange::default() }));
            }
            Err(Errno::NOENT) => self.check(None, expect)?,
            Err(Errno::NOTDIR) => return Err(ErrorKind::AlreadyExists.into()),
            Err(e) => return Err(raced_link(store_error(e))),
        }
        let Some(_) = self.dir(path, Parents::Create { bytes: 0, files: 0 })? else { return Ok(None) };
        // Somebody else may have made it in the meantime, and those above it not.
        let created = self.made.borrow().contains(&path.names().count());
        let before = if created { Before::Absent } else { Before::Dir(Looks::default()) };
        Ok(Some(AppliedChange { created, before, ..AppliedChange::default() }))
    }

    fn rename(&self, from: RelPath<'_>, to: RelPath<'_>, expect: Expect) -> Try<AppliedChange> {
        let (from_path, from_name) = from.split_last().ok_or(ErrorKind::IsADirectory)?;
        let (to_path, to_name) = to.split_last().ok_or(ErrorKind::AlreadyExists)?;
        let Some(from_dir) = self.dir(from_path, Parents::MustExist)? else { return Ok(None) };
        let Some(to_dir) = self.dir(to_path, Parents::Create { bytes: 0, files: 0 })? else { return Ok(None) };
        let Some(lock) = self.hold(&[(from_path, &from_dir), (to_path, &to_dir)])? else { return Ok(None) };
        let (from_spot, to_spot) = (Spot { dir: &from_dir, name: from_name }, Spot { dir: &to_dir, name: to_name });
        let found = from_spot.look()?;
        self.check(found.as_ref(), expect)?;
        rename_to_free_name(from_spot, to_spot)?;
        // First where it is now: it is never lost on the way.
        self.made_but(self.settle_dirs(&[&to_dir, &from_dir]));
        let stat = to_spot.look()?;
        drop(lock);
        let kind = stat.as_ref().map(kind_of);
        // A directory goes aside to be judged where nobody reaches it. Whoever did has to be done by then.
        if to_name.starts_with(TEMP_PREFIX) && kind == Some(Kind::Dir) {
            outlast_writers(self.call, &self.mount, to)?;
        }
        Ok(Some(AppliedChange {
            version: stat.map(|s| meta_of(&s).version),
            met: met(found.as_ref()),
            created: true,
            before: if kind == Some(Kind::Dir) { Before::Dir(Looks::default()) } else { Before::Absent },
            ..AppliedChange::default()
        }))
    }

    fn delete(&self, path: RelPath<'_>, expect: Expect) -> Try<AppliedChange> {
        let (dir_path, name) = path.split_last().ok_or(ErrorKind::IsADirectory)?;
        let Some(dir) = self.dir(dir_path, Parents::MustExist)? else { return Ok(None) };
        let Some(_lock) = self.hold(&[(dir_path, &dir)])? else { return Ok(None) };
        let spot = Spot { dir: &dir, name };
        let found = spot.look()?;
        // What is gone is no other version of what was meant; only where it is all that was meant, that has to be told.
        if found.is_some() || !self.several {
            self.check(found.as_ref(), expect)?;
        }
        let stat = found.ok_or(ErrorKind::NotFound)?;
        let room = self.meter.reserve(UsageDelta::between(Some(counted_len(&stat)), None))?;
        let others = self.other_names(spot, Some(&stat));
        let Some(before) = self.take_away(spot, &stat)? else { return Ok(None) };
        room.used();
        self.note(others);
        self.made_but(self.terms().settle(&dir, &before));
        Ok(Some(AppliedChange { met: met(Some(&stat)), before, ..AppliedChange::default() }))
    }

    /// Removes what was looked at, and tells what is left of it.
    fn take_away(&self, spot: Spot<'_>, stat: &Stat) -> Try<Before> {
        may_act(Step::Judged);
        if kind_of(stat) == Kind::Dir {
            rustix::fs::unlinkat(spot.dir, spot.name, AtFlags::REMOVEDIR).map_err(store_error)?;
            return Ok(Some(dir_before(stat)));
        }
        match self.keeper.as_ref().map_or(Ok(Taken::Stays), |keeper| keeper.take(spot, stat))? {
            Taken::Kept(kept) => return Ok(Some(Before::Kept(kept))),
            Taken::Raced => return Ok(None),
            Taken::Stays => {}
        }
        let Some(aside) = Aside::take(spot, stat)? else { return Ok(None) };
        match self.copy_and_remove(&aside, stat) {
            Ok(before) => Ok(Some(before)),
            Err(e) => aside.put_back().and(Err(e)),
        }
    }

    /// Removes what stands aside, once there is all that will be left of it.
    fn copy_and_remove(&self, aside: &Aside<'_>, stat: &Stat) -> Result<Before, StoreError> {
        let Some(keeper) = &self.keeper else { return aside.remove().map(|()| Before::Lost) };
        let before = keeper.copy_aside(aside.spot(), stat, self.store.durability)?;
        let lasts = if self.store.durability == Durability::Disk { keeper.settle() } else { Ok(()) };
        lasts.and_then(|()| aside.remove()).inspect_err(|_| keeper.forget(&before))?;
        Ok(before)
    }

    /// Is what is there what the change expects?
    pub(super) fn check(&self, found: Option<&Stat>, expect: Expect) -> Result<(), StoreError> {
        match (check(found, expect), found) {
            // What this very run did to the file, by another of its names, is nobody else's doing.
            (Err(_), Some(stat)) if self.is_own_doing(stat, expect) => Ok(()),
            (checked, _) => checked,
        }
    }

    fn is_own_doing(&self, stat: &Stat, expect: Expect) -> bool {
        let (file, now) = (number(stat), meta_of(stat).version);
        match expect {
            Expect::UnchangedSince(_) => self.own.left(file, now),
            Expect::Is(version) => self.own.led(file, version, now),
            Expect::Any | Expect::Absent => false,
        }
    }

    /// A file that has other names than the one at which it changes. What is done to it shows in all of them.
    pub(super) fn other_names(&self, spot: Spot<'_>, stat: Option<&Stat>) -> Option<Shared> {
        let stat = stat.filter(|stat| stat.st_nlink > 1 && kind_of(stat) != Kind::Dir)?;
        let file = open_beneath(spot.dir, spot.name, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
        let opened = rustix::fs::fstat(&file).ok()?;
        let found = meta_of(stat).version;
        (number(&opened) == number(stat) && meta_of(&opened).version == found).then_some(Shared { file, found })
    }

    /// Notes in which state such a file was left.
    pub(super) fn note(&self, shared: Option<Shared>) {
        let Some(Shared { file, found }) = shared else { return };
        if let Ok(stat) = rustix::fs::fstat(file) {
            self.own.note(number(&stat), found, meta_of(&stat).version);
        }
    }

    /// Locks directories that were opened by these paths; nothing when a path leads elsewhere by now.
    /// Asked after the lock is held, so that a directory that goes aside later waits for its release.
    fn hold<'d>(&self, dirs: &[(RelPath<'_>, &'d OwnedFd)]) -> Try<DirLock<'d>> {
        let opened: Vec<&OwnedFd> = dirs.iter().map(|(_, dir)| *dir).collect();
        let lock = lock_dirs(self.call, &opened)?;
        for (path, dir) in dirs {
            if !self.leads_to(*path, dir)? {
                return Ok(None);
            }
        }
        Ok(Some(lock))
    }

    /// Does this path lead to this directory, from the host's own root down?
    fn leads_to(&self, path: RelPath<'_>, dir: &OwnedFd) -> Result<bool, StoreError> {
        match self.store.open_host().and_then(|mount| open_dir(mount, path.as_str())) {
            Ok(now) => same_inode(&now, dir),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(e) => Err(store_error(e)),
        }
    }

    fn settle_dirs(&self, dirs: &[&OwnedFd]) -> Result<(), StoreError> {
        if self.store.durability == Durability::Disk {
            for dir in dirs {
                sync(dir)?;
            }
        }
        Ok(())
    }

    /// Opens a directory, making it and those above it where that is asked for. Each step is one
    /// name below a descriptor, and no link is ever followed.
    fn dir(&self, path: RelPath<'_>, parents: Parents) -> Try<OwnedFd> {
        match open_dir(&self.mount, path.as_str()) {
            Err(Errno::NOENT) if parents != Parents::MustExist => {}
            opened => return opened.map(Some).map_err(store_error).map_err(raced_link),
        }
        let mut above: Vec<RelPath<'_>> = path.ancestors().collect();
        let mut dir = open_dir(&self.mount, "").map_err(store_error)?;
        let mut first = true;
        while let Some((dir_path, name)) = above.pop().and_then(RelPath::split_last) {
            dir = match open_dir(&dir, name) {
                Err(Errno::NOENT) => {
                    if std::mem::take(&mut first) {
                        self.meter.room_for(parents.room(above.len() + 1))?;
                    }
                    match self.make_and_open(dir_path, &dir, name)? {
                        Some(made) => made,
                        None => return Ok(None),
                    }
                }
                opened => opened.map_err(store_error).map_err(raced_link)?,
            };
        }
        Ok(Some(dir))
    }

    fn make_and_open(&self, dir_path: RelPath<'_>, dir: &OwnedFd, name: &str) -> Try<OwnedFd> {
        let Some(_lock) = self.hold(&[(dir_path, dir)])? else { return Ok(None) };
        let room = self.meter.reserve(UsageDelta::between(None, Some(0)))?;
        match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                room.used();
                self.made.borrow_mut().push(dir_path.names().count() + 1);
                self.made_but(self.settle_dirs(&[dir]));
            }
            Err(Errno::EXIST) => {}
            Err(e) => return Err(store_error(e)),
        }
        open_dir(dir, name).map(Some).map_err(store_error).map_err(raced_link)
    }
}

/// Renames, and never over anything.
fn rename_to_free_name(from: Spot<'_>, to: Spot<'_>) -> Result<(), StoreError> {
    let rename = |flags| rustix::fs::renameat_with(from.dir, from.name, to.dir, to.name, flags);
    let renamed = match rename(RenameFlags::NOREPLACE) {
        // A file system that cannot refuse to replace: looked at first, under the lock.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if to.look()?.is_some() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            rename(RenameFlags::empty())
        }
        other => other,
    };
    match renamed {
        Err(Errno::XDEV) => Err(ErrorKind::Unsupported("moving from one disk of the host to another").into()),
        other => other.map_err(store_error),
    }
}

/// What to do about missing directories.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    /// They are made, for something of this size.
    Create {
        bytes: u64,
        files: i64,
    },
    MustExist,
}

impl Parents {
    fn room(self, missing: usize) -> UsageDelta {
        let dirs = UsageDelta { bytes: 0, files: i64::try_from(missing).unwrap_or(i64::MAX) };
        match self {
            Self::Create { bytes, files } => {
                dirs.and(UsageDelta { bytes: i64::try_from(bytes).unwrap_or(i64::MAX), files })
            }
            Self::MustExist => dirs,
        }
    }
}

/// Is what is there what the change expects?
pub(super) fn check(found: Option<&Stat>, expect: Expect) -> Result<(), StoreError> {
    match (found, expect) {
        (Some(_), Expect::Absent) => Err(ErrorKind::AlreadyExists.into()),
        (None, Expect::Is(_)) => Err(ErrorKind::Stale.into()),
        (Some(stat), Expect::UnchangedSince(time)) if changed(stat).is_none_or(|at| at > time) => {
            Err(ErrorKind::Stale.into())
        }
        (Some(stat), Expect::Is(version)) if meta_of(stat).version != version => Err(ErrorKind::Stale.into()),
        _ => Ok(()),
    }
}

/// The number by which the host knows a file, whatever its names.
fn number(stat: &Stat) -> u128 {
    u128::from(stat.st_dev) << 64 | u128::from(stat.st_ino)
}

/// The version of what a change met. A directory's is that of what it holds.
pub(super) fn met(found: Option<&Stat>) -> Option<Version> {
    found.filter(|stat| kind_of(stat) != Kind::Dir).map(|stat| meta_of(stat).version)
}

/// What is left of a directory that goes.
fn dir_before(stat: &Stat) -> Before {
    Before::Dir(Looks { mode: Some(stat.st_mode & PLAIN_MODE), modified: None })
}

/// How many bytes something counts for.
pub(super) fn counted_len(stat: &Stat) -> u64 {
    let meta = meta_of(stat);
    if matches!(meta.kind, Kind::File | Kind::Link) { meta.len } else { 0 }
}

/// The plan resolved every link. One that is met now was put there since.
pub(super) fn raced_link(error: StoreError) -> StoreError {
    if *error.kind() == ErrorKind::Link { ErrorKind::Stale.into() } else { error }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use paddock_core::{
        AccessScope, Alter, Alteration, Journal, LogicalPath, Mount, Operation, PartDone, Plan, Refused, Vfs, Workspace,
    };
    use tempfile::TempDir;

    use super::super::host::faults::sync_fails_after;
    use super::*;
    use crate::conformance::world::{self, Open, delete, path_of, rename, with_call, write};

    /// Counts the changes that it is told of.
    #[derive(Default)]
    struct Told(Mutex<usize>);

    impl Journal for Told {
        fn keeps(&self) -> bool {
            false
        }

        fn begin(&self, _: &Call<'_>, _: &Plan) -> paddock_core::Result<()> {
            Ok(())
        }

        fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> paddock_core::Result<()> {
            *self.0.lock().unwrap() += done.applied.changes.len();
            Ok(())
        }

        fn end(&self, _: &Call<'_>, _: bool) {}
    }

    /// Makes a change on a disk that fails after so many syncs. Answers how many changes were told, and what is there then.
    fn on_a_failing_disk(syncs: usize, operation: Operation) -> (usize, Vec<String>) {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("f"), "old").unwrap();
        fs::create_dir(home.path().join("d")).unwrap();
        let store = PhysicalStore::new(home.path()).unwrap().with_durability(Durability::Disk);
        let workspace = Workspace::new(path_of("/w"), AccessScope::ReadWrite, Mount::new(Arc::new(store), None));
        let told = Arc::new(Told::default());
        let journal: Arc<dyn Journal> = Arc::<Told>::clone(&told);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), journal).unwrap();
        sync_fails_after(syncs);
        let answer = with_call(|call| world::run(&vfs, call, operation));
        sync_fails_after(usize::MAX);
        assert!(matches!(&answer, Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::Io), "{answer:?}");
        let mut there: Vec<_> =
            fs::read_dir(home.path()).unwrap().map(|entry| told_of(&entry.unwrap().path())).collect();
        there.sort();
        (*told.0.lock().unwrap(), there)
    }

    fn told_of(path: &std::path::Path) -> String {
        let content = fs::read_to_string(path).unwrap_or_else(|_| "directory".to_owned());
        format!("{} {content}", path.file_name().unwrap().to_str().unwrap())
    }

    /// One that is not told could never be taken back.
    #[test]
    fn a_change_that_was_made_is_told_though_the_disk_fails_then() {
        let alter = |path: &str, how| {
            let path: LogicalPath = path_of(path);
            let alterations = vec![Alteration { path: path.clone(), how, expect: Expect::Any }];
            Operation::Alter { path, alterations }
        };
        let add = Operation::Append { path: path_of("/w/f"), content: b"er".to_vec() };
        let cases = [
            (1, write("/w/new", b"new", Expect::Any), ["d directory", "f old", "new new"].as_slice()),
            (1, write("/w/f", b"new", Expect::Any), &["d directory", "f new"]),
            (0, add, &["d directory", "f older"]),
            (0, alter("/w/f", Alter::Truncate(1)), &["d directory", "f o"]),
            (0, alter("/w/f", Alter::Dress(Looks { mode: Some(0o600), modified: None })), &["d directory", "f old"]),
            (0, Operation::MakeDir { path: path_of("/w/e") }, &["d directory", "e directory", "f old"]),
            (0, delete("/w/f", false), &["d directory"]),
            (0, rename("/w/f", "/w/g"), &["d directory", "g old"]),
            // Aside, and then where it arrives.
            (2, rename("/w/d", "/w/e"), &["e directory", "f old"]),
        ];
        for (syncs, operation, there) in cases {
            let what = format!("{operation:?}");
            assert_eq!(
                on_a_failing_disk(syncs, operation),
                (1, there.iter().map(|&s| s.to_owned()).collect()),
                "{what}"
            );
        }
    }

    #[test]
    fn what_was_not_made_is_not_told() {
        let as_before = (0, vec!["d directory".to_owned(), "f old".to_owned()]);
        assert_eq!(on_a_failing_disk(0, write("/w/f", b"new", Expect::Any)), as_before);
        assert_eq!(on_a_failing_disk(0, rename("/w/d", "/w/e")), as_before, "it goes back");
    }
}
