//! Making the changes of a [`ChangeSet`] on the host's disk.

use std::os::fd::{AsFd, OwnedFd};

use paddock_core::{
    Act, Applied, AppliedChange, Call, Change, ChangeSet, ErrorKind, Expect, Kind, MAX_EDITED, RelPath, Replacement,
    SNIFF, StoreError, edit, suited_to,
};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::host::{kind_of, meta_of, open_beneath, open_dir, open_file, read_into, same_content, store_error};
use super::lock::lock_dirs;
use super::replace::{Placed, Spot, place, stamp, write_all};
use super::{Durability, HardLinks, PhysicalStore};

/// How often a change starts again because somebody outside Paddock was faster.
const TRIES: usize = 32;

/// Makes every change, in order.
pub(super) fn apply(store: &PhysicalStore, call: &Call<'_>, set: &ChangeSet) -> Result<Applied, StoreError> {
    let mount = store.mount_for_change()?;
    let work = Work { store, call, mount: &mount };
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
    mount: &'a OwnedFd,
}

impl Work<'_> {
    fn make(&self, change: &Change) -> Result<AppliedChange, StoreError> {
        let path = change.path();
        match change.act() {
            Act::Write { content, mode } => self.write(path, content, *mode, change.expect()),
            Act::Append { content } => self.append(path, content),
            Act::Edit { edits } => self.edit(path, edits, change.expect()),
            Act::MakeDir => self.make_dir(path),
            Act::Move { to } => self.rename(path, to.as_rel()),
            Act::Delete => self.delete(path),
        }
    }

    fn write(
        &self,
        path: RelPath<'_>,
        content: &[u8],
        mode: Option<u32>,
        expect: Expect,
    ) -> Result<AppliedChange, StoreError> {
        self.change_file(path, Parents::Create, |spot| {
            let old = expected_file(spot, expect)?;
            let placed = place(spot, old.as_ref(), content, mode, self.store.durability)?;
            Ok(placed_change(&placed, old.is_none(), 0))
        })
    }

    fn edit(&self, path: RelPath<'_>, edits: &[Replacement], expect: Expect) -> Result<AppliedChange, StoreError> {
        self.change_file(path, Parents::MustExist, |spot| {
            let old = expected_file(spot, expect)?.ok_or(ErrorKind::NotFound)?;
            let Some(content) = self.whole_content(spot, &old)? else { return Ok(None) };
            let (content, replacements) = edit(&content, edits)?;
            let placed = place(spot, Some(&old), &content, None, self.store.durability)?;
            Ok(placed_change(&placed, false, replacements))
        })
    }

    fn append(&self, path: RelPath<'_>, content: &[u8]) -> Result<AppliedChange, StoreError> {
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

    fn append_to_copy(&self, spot: Spot<'_>, old: &Stat, addition: &[u8]) -> Result<Option<AppliedChange>, StoreError> {
        let Some(mut content) = self.whole_content(spot, old)? else { return Ok(None) };
        let addition = suited(&content, addition)?;
        content.extend_from_slice(&addition);
        let placed = place(spot, Some(old), &content, None, self.store.durability)?;
        Ok(placed_change(&placed, false, 0))
    }

    /// All of a file's content; nothing when it is not the file that was looked at.
    fn whole_content(&self, spot: Spot<'_>, old: &Stat) -> Result<Option<Vec<u8>>, StoreError> {
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

    /// Runs a change of one file under its directory's lock, again when somebody outside was faster
    /// (the change then answers nothing).
    fn change_file(
        &self,
        path: RelPath<'_>,
        parents: Parents,
        mut act: impl FnMut(Spot<'_>) -> Result<Option<AppliedChange>, StoreError>,
    ) -> Result<AppliedChange, StoreError> {
        let (dir, name) = path.split_last().ok_or(ErrorKind::IsADirectory)?;
        for _ in 0..TRIES {
            let dir = self.dir(dir, parents)?;
            let _lock = lock_dirs(self.call, &[&dir])?;
            if let Some(done) = act(Spot { dir: &dir, name })? {
                return Ok(done);
            }
            self.call.tick(0)?;
        }
        Err(ErrorKind::Stale.into())
    }

    fn make_dir(&self, path: RelPath<'_>) -> Result<AppliedChange, StoreError> {
        let created = match open_dir(self.mount, path.as_str()) {
            Ok(_) => false,
            Err(Errno::NOENT) => {
                self.dir(path, Parents::Create)?;
                true
            }
            Err(Errno::NOTDIR) => return Err(ErrorKind::AlreadyExists.into()),
            Err(e) => return Err(raced_link(store_error(e))),
        };
        Ok(AppliedChange { created, ..AppliedChange::default() })
    }

    fn rename(&self, from: RelPath<'_>, to: RelPath<'_>) -> Result<AppliedChange, StoreError> {
        let (from_dir, from_name) = from.split_last().ok_or(ErrorKind::IsADirectory)?;
        let (to_dir, to_name) = to.split_last().ok_or(ErrorKind::AlreadyExists)?;
        let from_dir = self.dir(from_dir, Parents::MustExist)?;
        let to_dir = self.dir(to_dir, Parents::Create)?;
        let _lock = lock_dirs(self.call, &[&from_dir, &to_dir])?;
        let rename = |flags| rustix::fs::renameat_with(&from_dir, from_name, &to_dir, to_name, flags);
        let moved = match rename(RenameFlags::NOREPLACE) {
            // A file system that cannot refuse to replace: looked at first, under the lock.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                if (Spot { dir: &to_dir, name: to_name }).look()?.is_some() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                rename(RenameFlags::empty())
            }
            other => other,
        };
        match moved {
            Ok(()) => self.settle_dirs(&[&from_dir, &to_dir])?,
            Err(Errno::XDEV) => {
                return Err(ErrorKind::Unsupported("moving from one disk of the host to another").into());
            }
            Err(e) => return Err(store_error(e)),
        }
        let stat = (Spot { dir: &to_dir, name: to_name }).look()?;
        Ok(AppliedChange { version: stat.map(|s| meta_of(&s).version), created: true, replacements: 0 })
    }

    fn delete(&self, path: RelPath<'_>) -> Result<AppliedChange, StoreError> {
        let (dir, name) = path.split_last().ok_or(ErrorKind::IsADirectory)?;
        let dir = self.dir(dir, Parents::MustExist)?;
        let _lock = lock_dirs(self.call, &[&dir])?;
        let stat = (Spot { dir: &dir, name }).look()?.ok_or(ErrorKind::NotFound)?;
        let flags = if kind_of(&stat) == Kind::Dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&dir, name, flags).map_err(store_error)?;
        self.settle_dirs(&[&dir])?;
        Ok(AppliedChange::default())
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
    fn dir(&self, path: RelPath<'_>, parents: Parents) -> Result<OwnedFd, StoreError> {
        match open_dir(self.mount, path.as_str()) {
            Err(Errno::NOENT) if parents == Parents::Create => {}
            opened => return opened.map_err(store_error).map_err(raced_link),
        }
        let mut dir = open_dir(self.mount, "").map_err(store_error)?;
        for name in path.names() {
            dir = match open_dir(&dir, name) {
                Err(Errno::NOENT) => self.make_and_open(&dir, name)?,
                opened => opened.map_err(store_error).map_err(raced_link)?,
            };
        }
        Ok(dir)
    }

    fn make_and_open(&self, dir: &OwnedFd, name: &str) -> Result<OwnedFd, StoreError> {
        match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.settle_dirs(&[dir])?,
            Err(Errno::EXIST) => {}
            Err(e) => return Err(store_error(e)),
        }
        open_dir(dir, name).map_err(store_error).map_err(raced_link)
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
fn append_in_place(
    spot: Spot<'_>,
    addition: &[u8],
    durability: Durability,
) -> Result<Option<AppliedChange>, StoreError> {
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
    Ok(there.then(|| AppliedChange { version: Some(meta_of(&after).version), created: false, replacements: 0 }))
}

fn suited(head: &[u8], addition: &[u8]) -> Result<Vec<u8>, StoreError> {
    suited_to(head, addition).ok_or_else(|| {
        let name = paddock_core::TextKind::of(head).name();
        paddock_core::EditError::Encoding(name).into()
    })
}

fn placed_change(placed: &Placed, created: bool, replacements: usize) -> Option<AppliedChange> {
    match placed {
        Placed::Done(stat) => Some(AppliedChange { version: Some(meta_of(stat).version), created, replacements }),
        Placed::Raced => None,
    }
}

/// The plan resolved every link. One that is met now was put there since.
fn raced_link(error: StoreError) -> StoreError {
    if *error.kind() == ErrorKind::Link { ErrorKind::Stale.into() } else { error }
}
