//! The changes of a file's content and looks: write, edit, append, restore, truncate, take, link, dress.
//!
//! Each is made under the directory's lock. All but an append, and a truncation that nobody wants to have kept, put a
//! new inode in the place of the old one and never write to that.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use paddock_core::{
    AppliedChange, Before, ErrorKind, Expect, Kept, Kind, Looks, MAX_EDITED, PLAIN_MODE, RelPath, Replacement, SNIFF,
    Staged, StoreError, edit, suited_to,
};
use rustix::fs::{OFlags, Stat};

use super::append::add;
use super::apply::{Parents, Try, Work, counted_len, met, raced_link};
use super::history::Opened;
use super::host::{kind_of, meta_of, open_beneath, open_file, read_into, same_content, store_error, sync};
use super::replace::{NewContent, Placed, Spot, place, put_on, stamp};
use super::{Durability, HardLinks};
use crate::quota::UsageDelta;

impl Work<'_> {
    pub(super) fn write(
        &self,
        path: RelPath<'_>,
        content: &[u8],
        mode: Option<u32>,
        expect: Expect,
    ) -> Try<AppliedChange> {
        self.change_file(path, for_file(content.len() as u64), |spot| {
            let old = self.expected_file(spot, expect)?;
            self.put(spot, old.as_ref(), NewContent::Bytes(content, mode))
        })
    }

    pub(super) fn edit(&self, path: RelPath<'_>, edits: &[Replacement], expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, Parents::MustExist, |spot| {
            let old = self.expected_file(spot, expect)?.ok_or(ErrorKind::NotFound)?;
            // Open until it is replaced: else somebody could save twice, and the second file have its number.
            let Some((content, _read)) = self.whole_content(spot, &old)? else { return Ok(None) };
            let (content, replacements) = edit(&content, edits)?;
            let done = self.put(spot, Some(&old), NewContent::Bytes(&content, None))?;
            Ok(done.map(|done| AppliedChange { replacements, ..done }))
        })
    }

    pub(super) fn append(&self, path: RelPath<'_>, content: &[u8], expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, for_file(content.len() as u64), |spot| {
            let Some(old) = self.expected_file(spot, expect)? else {
                return self.put(spot, None, NewContent::Bytes(content, None));
            };
            if old.st_nlink > 1 {
                // Writing in place would write through the other names too.
                return self.append_to_copy(spot, &old, content);
            }
            self.append_in_place(spot, content)
        })
    }

    fn append_to_copy(&self, spot: Spot<'_>, old: &Stat, addition: &[u8]) -> Try<AppliedChange> {
        let Some((mut content, _read)) = self.whole_content(spot, old)? else { return Ok(None) };
        let addition = suited(&content, addition)?;
        content.extend_from_slice(&addition);
        self.put(spot, Some(old), NewContent::Bytes(&content, None))
    }

    /// Adds to the end of a file that has only this name. What was there is never moved, so that a log
    /// of any size can grow; a write that fails half-way is taken back. Others may add to it meanwhile.
    fn append_in_place(&self, spot: Spot<'_>, addition: &[u8]) -> Try<AppliedChange> {
        let Some((file, before)) = open_for_change(spot, OFlags::APPEND)? else { return Ok(None) };
        let (met, mut head) = (met(Some(&before)), Vec::new());
        read_into(file.as_fd(), 0, meta_of(&before).len.min(SNIFF as u64), &mut head)?;
        let addition = suited(&head, addition)?;
        let room = self.meter.reserve(UsageDelta { bytes: grown(addition.len()), files: 0 })?;
        let (added, written) = add(&file, &addition);
        if written.is_err() && added.take_back(&file) {
            return written.map(|()| None);
        }
        let (after, before) = match self.settle_in_place(spot, &file)? {
            Some(after) => (after, added.before(&after)),
            None => match added.carried_over(spot, &addition)? {
                Some(theirs) => (theirs, Before::Lost),
                None => return Ok(None),
            },
        };
        self.made_but(written);
        room.used();
        let before = if self.keeps { before } else { Before::Lost };
        Ok(Some(AppliedChange { version: Some(meta_of(&after).version), met, before, ..AppliedChange::default() }))
    }

    /// What was kept is there again. It comes as a copy: what is kept stays, for the next time.
    pub(super) fn restore(&self, path: RelPath<'_>, kept: &Kept, expect: Expect) -> Try<AppliedChange> {
        let kept = self.store.history.as_ref().ok_or(ErrorKind::NotKept)?.open(kept)?;
        let new = match &kept {
            Opened::File(of, like) => {
                self.store.hard_links.check(like)?;
                NewContent::Copy { of, like, len: meta_of(like).len, call: self.call }
            }
            Opened::Link(text) => NewContent::Link(text),
            Opened::Special { dir, name } => NewContent::Special { dir, name },
        };
        self.change_file(path, for_file(new.len()), |spot| {
            let old = self.expected_content(spot, expect)?;
            self.put(spot, old.as_ref(), new)
        })
    }

    /// A staged file is there: itself, where it lies on the same file system, or a copy.
    pub(super) fn take(&self, path: RelPath<'_>, staged: &Staged, expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, for_file(staged.len()), |spot| {
            let old = self.expected_content(spot, expect)?;
            self.put(spot, old.as_ref(), NewContent::Staged { staged, call: self.call })
        })
    }

    pub(super) fn link(&self, path: RelPath<'_>, leads_to: &str, expect: Expect) -> Try<AppliedChange> {
        let text = CString::new(leads_to).map_err(|_| ErrorKind::Unsupported("a link with a NUL in it"))?;
        self.change_file(path, for_file(text.as_bytes().len() as u64), |spot| {
            let old = self.expected_content(spot, expect)?;
            self.put(spot, old.as_ref(), NewContent::Link(&text))
        })
    }

    /// Changes the mode and the time of what is there, and tells what they were.
    pub(super) fn dress(&self, path: RelPath<'_>, looks: Looks, expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, Parents::MustExist, |spot| {
            let found = spot.look()?;
            self.check(found.as_ref(), expect)?;
            let old = found.ok_or(ErrorKind::NotFound)?;
            match kind_of(&old) {
                Kind::Link => return Err(ErrorKind::Stale.into()),
                Kind::Special => return Err(ErrorKind::NotAFile.into()),
                Kind::File => self.store.hard_links.check(&old)?,
                Kind::Dir => {}
            }
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let there = open_beneath(spot.dir, spot.name, flags).map_err(store_error).map_err(raced_link)?;
            let now = rustix::fs::fstat(&there).map_err(store_error)?;
            if (now.st_dev, now.st_ino) != (old.st_dev, old.st_ino) {
                return Ok(None);
            }
            let others = self.other_names(spot, Some(&old));
            put_on(&there, looks)?;
            self.note(others);
            if self.store.durability == Durability::Disk {
                self.made_but(sync(&there));
            }
            let Some(after) = spot.look()? else { return Ok(None) };
            let was = meta_of(&old);
            let before = Before::Looks(Looks { mode: was.mode.map(|mode| mode & PLAIN_MODE), modified: was.modified });
            // A directory's version is that of what it holds.
            let version = (was.kind == Kind::File).then(|| meta_of(&after).version);
            Ok(Some(AppliedChange { version, met: met(Some(&old)), before, ..AppliedChange::default() }))
        })
    }

    pub(super) fn truncate(&self, path: RelPath<'_>, len: u64, expect: Expect) -> Try<AppliedChange> {
        self.change_file(path, Parents::MustExist, |spot| {
            let old = self.expected_file(spot, expect)?.ok_or(ErrorKind::NotFound)?;
            let now = meta_of(&old).len;
            if len >= now {
                let version = Some(meta_of(&old).version);
                let before = Before::Prefix(now);
                return Ok(Some(AppliedChange { version, met: version, before, ..AppliedChange::default() }));
            }
            // What goes can only be kept with the old inode; so can what another name of it still shows.
            let keeps = self.keeper.as_ref().is_some_and(|keeper| len <= keeper.copy_cap());
            if keeps || old.st_nlink > 1 {
                self.shorten_copy(spot, &old, len)
            } else {
                self.shorten_in_place(spot, &old, len)
            }
        })
    }

    fn shorten_copy(&self, spot: Spot<'_>, old: &Stat, len: u64) -> Try<AppliedChange> {
        let (file, stat) = open_file(spot.dir, spot.name).map_err(raced_link)?;
        self.store.hard_links.check(&stat)?;
        if !same_content(&stat, old) {
            return Ok(None);
        }
        self.put(spot, Some(old), NewContent::Copy { of: &file, like: old, len, call: self.call })
    }

    fn shorten_in_place(&self, spot: Spot<'_>, old: &Stat, len: u64) -> Try<AppliedChange> {
        let Some((file, before)) = open_for_change(spot, OFlags::empty())? else { return Ok(None) };
        if !same_content(&before, old) {
            return Ok(None);
        }
        let room = self.meter.reserve(UsageDelta::between(Some(counted_len(&before)), Some(len)))?;
        rustix::fs::ftruncate(&file, len).map_err(store_error)?;
        let Some(after) = self.settle_in_place(spot, &file)? else { return Ok(None) };
        room.used();
        let met = met(Some(old));
        Ok(Some(AppliedChange { version: Some(meta_of(&after).version), met, ..AppliedChange::default() }))
    }

    /// The stat of a file that was changed in place. Nothing when somebody outside replaced it meanwhile: what was
    /// done went with the old file.
    fn settle_in_place(&self, spot: Spot<'_>, file: &OwnedFd) -> Try<Stat> {
        match stamp(file) {
            // Only its owner may say when a file changed; whoever may write to it has it set to now by that.
            Err(e) if *e.kind() == ErrorKind::HostRefuses => {}
            stamped => self.made_but(stamped),
        }
        if self.store.durability == Durability::Disk {
            self.made_but(sync(file));
        }
        let after = rustix::fs::fstat(file).map_err(store_error)?;
        let there = spot.look()?.is_some_and(|now| now.st_ino == after.st_ino && now.st_dev == after.st_dev);
        Ok(there.then_some(after))
    }

    /// Puts new content in place of what was looked at, within the quota, and keeps that where it is asked for.
    fn put(&self, spot: Spot<'_>, old: Option<&Stat>, new: NewContent<'_>) -> Try<AppliedChange> {
        let room = self.meter.reserve(UsageDelta::between(old.map(counted_len), Some(new.len())))?;
        let others = self.other_names(spot, old);
        let Some(Placed { stat, before, lasts }) = place(spot, old, new, self.terms())? else { return Ok(None) };
        self.made_but(lasts);
        room.used();
        self.note(others);
        let version = Some(meta_of(&stat).version);
        Ok(Some(AppliedChange { version, met: met(old), created: old.is_none(), before, ..AppliedChange::default() }))
    }

    /// The file at a spot, if it is what the change expects. Only a regular file is ever replaced.
    fn expected_file(&self, spot: Spot<'_>, expect: Expect) -> Result<Option<Stat>, StoreError> {
        let found = self.expected_content(spot, expect)?;
        match found.as_ref().map(kind_of) {
            // Links were resolved when the change was planned, so this one is new.
            Some(Kind::Link) => Err(ErrorKind::Stale.into()),
            _ => Ok(found),
        }
    }

    /// As [`Self::expected_file`]; a link is fine.
    fn expected_content(&self, spot: Spot<'_>, expect: Expect) -> Result<Option<Stat>, StoreError> {
        let found = spot.look()?;
        self.check(found.as_ref(), expect)?;
        match found.as_ref().map(kind_of) {
            None | Some(Kind::File | Kind::Link) => Ok(found),
            Some(Kind::Dir) => Err(ErrorKind::IsADirectory.into()),
            Some(Kind::Special) => Err(ErrorKind::NotAFile.into()),
        }
    }

    /// All of a file's content, and the file, whose number is nobody else's while it is open; nothing when it is not the one that was
    /// looked at.
    fn whole_content(&self, spot: Spot<'_>, old: &Stat) -> Try<(Vec<u8>, OwnedFd)> {
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
        Ok((same_content(&stat, old) && content.len() as u64 == len).then_some((content, file)))
    }
}

/// Directories on the way to a file of this size.
fn for_file(bytes: u64) -> Parents {
    Parents::Create { bytes, files: 1 }
}

/// Opens a file that has only this name, to change it in place; nothing when it has become something else.
fn open_for_change(spot: Spot<'_>, more: OFlags) -> Try<(OwnedFd, Stat)> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = open_beneath(spot.dir, spot.name, flags).map_err(store_error).map_err(raced_link)?;
    let stat = rustix::fs::fstat(&file).map_err(store_error)?;
    Ok((kind_of(&stat) == Kind::File && stat.st_nlink == 1).then_some((file, stat)))
}

fn grown(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn suited(head: &[u8], addition: &[u8]) -> Result<Vec<u8>, StoreError> {
    suited_to(head, addition).ok_or_else(|| {
        let name = paddock_core::TextKind::of(head).name();
        paddock_core::EditError::Encoding(name).into()
    })
}
