//! Making the changes of a [`ChangeSet`] on the host's disk.
//!
//! Nothing is changed in a directory but under its lock, and only while its path still leads to it: a
//! path is what was judged, and a directory that moved meanwhile has another. A change that finds
//! this out starts again from its path.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use paddock_core::{
    Act, Applied, AppliedChange, Call, Change, ChangeSet, ErrorKind, Expect, Kind, MAX_EDITED, RelPath, Replacement,
    SNIFF, StoreError, edit, suited_to,
};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::host::{
    kind_of, meta_of, open_beneath, open_dir, open_file, read_into, same_content, same_inode, store_error,
};
use super::lock::{DirLock, lock_dirs, outlast_writers};
use super::replace::{Placed, Spot, place, stamp, write_all};
use super::{Durability, HardLinks, PhysicalStore, TEMP_PREFIX};

/// How often a change starts again because somebody was faster.
const TRIES: usize = 32;

/// What came of one try; nothing when somebody was faster and it has to start again from the path.
type Try<T> = Result<Option<T>, StoreError>;

/// Makes every change, in order.
pub(super) fn apply(store: &PhysicalStore, call: &Call<'_>, set: &ChangeSet) -> Result<Applied, StoreError> {
    let mut work = Work { store, call, mount: store.mount_for_change()? };
    let several = set.changes().len() > 1;
    let mut applied = Applied::default();
    for change in set.changes() {
        call.tick(1)?;
        match work.make(change) {
            Ok(done) => applied.changes.push(done),
            // One of many doomed paths that went away by itself is no reason to stop half-way.
            Err(e) if several && *change.act() == Act::Delete && *e.kind() == ErrorKind::NotFound => {
                applied.changes.push(AppliedChange::default());
            }
            Err(e) => return Err(e),
        }
    }
    Ok(applied)
}

struct Work<'a> {
    store: &'a PhysicalStore,
    call: &'a Call<'a>,
    mount: Arc<OwnedFd>,
}

impl Work<'_> {
    fn make(&mut self, change: &Change) -> Result<AppliedChange, StoreError> {
        for _ in 0..TRIES {
            if let Some(done) = self.try_to_make(change)? {
                return Ok(done);
            }
            self.call.tick(0)?;
            // The Mount's own directory may be what is gone.
            self.mount = self.store.mount_for_change()?;
        }
        Err(ErrorKind::Stale.into())
    }

    fn try_to_make(&self, change: &Change) -> Try<AppliedChange> {
        let path = change.path();
        match change.act() {
            Act::Write { content, mode } => self.write(path, content, *mode, change.expect()),
            Act::Append { content } => self.append(path, content),
            Act::Edit { edits } => self.edit(path, edits, change.expect()),
            Act::MakeDir => self.make_dir(path),
            Act::Move { to } => self.rename(path, to.as_rel()),
            Act::Delete => self.delete(path),
            Act::Restore { .. } | Act::Truncate { .. } => Err(ErrorKind::NotKept.into()),
        }
    }

    fn write(&self, path: RelPath<'_>, content: &[u8], mode: Option<u32>, expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, Parents::Create, |spot| {
            let old = expected_file(spot, expect)?;
            let placed = place(spot, old.as_ref(), content, mode, self.store.durability)?;
            Ok(placed_change(&placed, old.is_none(), 0))
        })
    }

    fn edit(&self, path: RelPath<'_>, edits: &[Replacement], expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, Parents::MustExist, |spot| {
            let old = expected_file(spot, expect)?.ok_or(ErrorKind::NotFound)?;
            let Some(content) = self.whole_content(spot, &old)? else { return Ok(None) };
            let (content, replacements) = edit(&content, edits)?;
            let placed = place(spot, Some(&old), &content, None, self.store.durability)?;
            Ok(placed_change(&placed, false, replacements))
        })
    }

    fn append(&self, path: RelPath<'_>, content: &[u8]) -> Try<AppliedChange> {
        self.change_file(path, Parents::Create, |spot| {
            let Some(old) = expected_file(spot, Expect::Any)? else {
                let placed = place(spot, None, content, None, self.store.durability)?;
                return Ok(placed_change(&placed, true, 0));
            };
            if old.st_nlink > 1 {
                // Writing in place would write through the other names too.
                return self.append_to_copy(spot, &old, content);
            }
            append_in_place(spot, content, self.store.durability)
        })
    }

    fn append_to_copy(&self, spot: Spot<'_>, old: &Stat, addition: &[u8]) -> Try<AppliedChange> {
        let Some(mut content) = self.whole_content(spot, old)? else { return Ok(None) };
        let addition = suited(&content, addition)?;
        content.extend_from_slice(&addition);
        let placed = place(spot, Some(old), &content, None, self.store.durability)?;
        Ok(placed_change(&placed, false, 0))
    }

    /// All of a file's content; nothing when it is not the file that was looked at.
    fn whole_content(&self, spot: Spot<'_>, old: &Stat) -> Try<Vec<u8>> {
        let (file, stat) = open_file(spot.dir, spot.name).map_err(raced_link)?;
        if self.store.hard_links == HardLinks::Deny && stat.st_nlink > 1 {
            return Err(ErrorKind::HardLinked.into());
        }
        let len = meta_of(&stat).len;
        if len > MAX_EDITED as u64 {
            return Err(ErrorKind::TooLarge { what: "the size of a file to edit", limit: MAX_EDITED as u64 }.into());
        }
        let mut content = Vec::new();
        read_into(file.as_fd(), 0, len, &mut content)?;
        Ok((same_content(&stat, old) && content.len() as u64 == len).then_some(content))
    }

    /// Changes one file under its directory's lock.
    fn change_file(
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

    fn make_dir(&self, path: RelPath<'_>) -> Try<AppliedChange> {
        let created = match open_dir(&self.mount, path.as_str()) {
            Ok(_) => false,
            Err(Errno::NOENT) => {
                let Some(_) = self.dir(path, Parents::Create)? else { return Ok(None) };
                true
            }
            Err(Errno::NOTDIR) => return Err(ErrorKind::AlreadyExists.into()),
            Err(e) => return Err(raced_link(store_error(e))),
        };
        Ok(Some(AppliedChange { created, ..AppliedChange::default() }))
    }

    fn rename(&self, from: RelPath<'_>, to: RelPath<'_>) -> Try<AppliedChange> {
        let (from_path, from_name) = from.split_last().ok_or(ErrorKind::IsADirectory)?;
        let (to_path, to_name) = to.split_last().ok_or(ErrorKind::AlreadyExists)?;
        let Some(from_dir) = self.dir(from_path, Parents::MustExist)? else { return Ok(None) };
        let Some(to_dir) = self.dir(to_path, Parents::Create)? else { return Ok(None) };
        let Some(lock) = self.hold(&[(from_path, &from_dir), (to_path, &to_dir)])? else { return Ok(None) };
        let (from_spot, to_spot) = (Spot { dir: &from_dir, name: from_name }, Spot { dir: &to_dir, name: to_name });
        rename_to_free_name(from_spot, to_spot)?;
        self.settle_dirs(&[&from_dir, &to_dir])?;
        let stat = to_spot.look()?;
        drop(lock);
        // A directory goes aside to be judged where nobody reaches it. Whoever did has to be done by then.
        if to_name.starts_with(TEMP_PREFIX) && stat.as_ref().map(kind_of) == Some(Kind::Dir) {
            outlast_writers(self.call, &self.mount, to)?;
        }
        Ok(Some(AppliedChange {
            version: stat.map(|s| meta_of(&s).version),
            created: true,
            ..AppliedChange::default()
        }))
    }

    fn delete(&self, path: RelPath<'_>) -> Try<AppliedChange> {
        let (dir_path, name) = path.split_last().ok_or(ErrorKind::IsADirectory)?;
        let Some(dir) = self.dir(dir_path, Parents::MustExist)? else { return Ok(None) };
        let Some(_lock) = self.hold(&[(dir_path, &dir)])? else { return Ok(None) };
        let stat = (Spot { dir: &dir, name }).look()?.ok_or(ErrorKind::NotFound)?;
        let flags = if kind_of(&stat) == Kind::Dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&dir, name, flags).map_err(store_error)?;
        self.settle_dirs(&[&dir])?;
        Ok(Some(AppliedChange::default()))
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
                rustix::fs::fsync(dir).map_err(store_error)?;
            }
        }
        Ok(())
    }

    /// Opens a directory, making it and those above it where that is asked for. Each step is one
    /// name below a descriptor, and no link is ever followed.
    fn dir(&self, path: RelPath<'_>, parents: Parents) -> Try<OwnedFd> {
        match open_dir(&self.mount, path.as_str()) {
            Err(Errno::NOENT) if parents == Parents::Create => {}
            opened => return opened.map(Some).map_err(store_error).map_err(raced_link),
        }
        let mut above: Vec<RelPath<'_>> = path.ancestors().collect();
        let mut dir = open_dir(&self.mount, "").map_err(store_error)?;
        while let Some((dir_path, name)) = above.pop().and_then(RelPath::split_last) {
            dir = match open_dir(&dir, name) {
                Err(Errno::NOENT) => match self.make_and_open(dir_path, &dir, name)? {
                    Some(made) => made,
                    None => return Ok(None),
                },
                opened => opened.map_err(store_error).map_err(raced_link)?,
            };
        }
        Ok(Some(dir))
    }

    fn make_and_open(&self, dir_path: RelPath<'_>, dir: &OwnedFd, name: &str) -> Try<OwnedFd> {
        let Some(_lock) = self.hold(&[(dir_path, dir)])? else { return Ok(None) };
        match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.settle_dirs(&[dir])?,
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
enum Parents {
    Create,
    MustExist,
}

/// The file at a spot, if it is what the change expects. Only a regular file is ever replaced.
fn expected_file(spot: Spot<'_>, expect: Expect) -> Result<Option<Stat>, StoreError> {
    let found = spot.look()?;
    match (&found, expect) {
        (Some(_), Expect::Absent) => return Err(ErrorKind::AlreadyExists.into()),
        (None, Expect::Is(_)) => return Err(ErrorKind::Stale.into()),
        (Some(stat), Expect::Is(version)) if meta_of(stat).version != version => return Err(ErrorKind::Stale.into()),
        _ => {}
    }
    match found.as_ref().map(kind_of) {
        None | Some(Kind::File) => Ok(found),
        Some(Kind::Dir) => Err(ErrorKind::IsADirectory.into()),
        Some(Kind::Special) => Err(ErrorKind::NotAFile.into()),
        // Links were resolved when the change was planned, so this one is new.
        Some(Kind::Link) => Err(ErrorKind::Stale.into()),
    }
}

/// Adds to the end of a file that has only this name. What was there is never moved, so that a log
/// of any size can grow; a write that fails half-way is taken back.
fn append_in_place(spot: Spot<'_>, addition: &[u8], durability: Durability) -> Try<AppliedChange> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open_beneath(spot.dir, spot.name, flags).map_err(store_error).map_err(raced_link)?;
    let before = rustix::fs::fstat(&file).map_err(store_error)?;
    if kind_of(&before) != Kind::File || before.st_nlink != 1 {
        return Ok(None);
    }
    let len = meta_of(&before).len;
    let mut head = Vec::new();
    read_into(file.as_fd(), 0, len.min(SNIFF as u64), &mut head)?;
    let addition = suited(&head, addition)?;
    if let Err(e) = write_all(&file, &addition) {
        rustix::fs::ftruncate(&file, len).map_err(store_error)?;
        return Err(e);
    }
    stamp(&file)?;
    if durability == Durability::Disk {
        rustix::fs::fsync(&file).map_err(store_error)?;
    }
    let after = rustix::fs::fstat(&file).map_err(store_error)?;
    // Replaced by somebody outside while we wrote: what we added went with the old file.
    let there = spot.look()?.is_some_and(|now| now.st_ino == after.st_ino && now.st_dev == after.st_dev);
    Ok(there.then(|| AppliedChange {
        version: Some(meta_of(&after).version),
        created: false,
        ..AppliedChange::default()
    }))
}

fn suited(head: &[u8], addition: &[u8]) -> Result<Vec<u8>, StoreError> {
    suited_to(head, addition).ok_or_else(|| {
        let name = paddock_core::TextKind::of(head).name();
        paddock_core::EditError::Encoding(name).into()
    })
}

fn placed_change(placed: &Placed, created: bool, replacements: usize) -> Option<AppliedChange> {
    match placed {
        Placed::Done(stat) => Some(AppliedChange {
            version: Some(meta_of(stat).version),
            created,
            replacements,
            ..AppliedChange::default()
        }),
        Placed::Raced => None,
    }
}

/// The plan resolved every link. One that is met now was put there since.
fn raced_link(error: StoreError) -> StoreError {
    if *error.kind() == ErrorKind::Link { ErrorKind::Stale.into() } else { error }
}
