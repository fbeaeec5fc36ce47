//! Putting new content in place of a file, atomically, and only over what was looked at.
//!
//! The content goes into a temporary file beside the old one, which is then exchanged with it in one
//! step (`renameat2`). What came out is compared with what was looked at before; if it is something
//! else, somebody outside was faster: it is swapped back and the caller looks again. The old inode is
//! never written to, so a hard link elsewhere keeps its content.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use paddock_core::{ErrorKind, StoreError};
use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::host::{create_beneath, same_content, store_error};
use super::{Durability, TEMP_PREFIX};

/// What putting new content in place came to.
pub(super) enum Placed {
    /// It is there; this is its stat.
    Done(Stat),
    /// Somebody else changed the file meanwhile; nothing was done.
    Raced,
}

/// A directory and a name in it, under the directory's lock.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) dir: &'a OwnedFd,
    pub(super) name: &'a str,
}

impl Spot<'_> {
    /// What is there now; a link is reported, not followed.
    pub(super) fn look(self) -> Result<Option<Stat>, StoreError> {
        match rustix::fs::statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(store_error(e)),
        }
    }
}

/// Replaces `old`, or creates the file where `old` is nothing.
pub(super) fn place(
    spot: Spot<'_>,
    old: Option<&Stat>,
    content: &[u8],
    mode: Option<u32>,
    durability: Durability,
) -> Result<Placed, StoreError> {
    if old.is_some() {
        // A person who took away the write bit meant it; a rename alone would not ask.
        rustix::fs::accessat(spot.dir, spot.name, Access::WRITE_OK, AtFlags::EACCESS).map_err(store_error)?;
    }
    let temp = Temp::create(spot.dir, old, mode)?;
    temp.fill(content, durability)?;
    let placed = match old {
        Some(old) => temp.exchange(spot, old)?,
        None => temp.settle(spot)?,
    };
    if !placed {
        return Ok(Placed::Raced);
    }
    if durability == Durability::Disk {
        rustix::fs::fsync(spot.dir).map_err(store_error)?;
    }
    rustix::fs::fstat(&temp.file).map(Placed::Done).map_err(store_error)
}

/// A temporary file, removed when dropped.
struct Temp<'a> {
    dir: &'a OwnedFd,
    name: String,
    file: OwnedFd,
    /// Nothing is left under the temporary name.
    gone: std::cell::Cell<bool>,
}

impl<'a> Temp<'a> {
    fn create(dir: &'a OwnedFd, old: Option<&Stat>, mode: Option<u32>) -> Result<Self, StoreError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        // A new file gets what the process's umask leaves; content that replaces something is
        // readable by nobody else until it has the old file's mode.
        let first =
            if old.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(mode.unwrap_or(0o666) & 0o777) };
        loop {
            let name = next_name();
            match create_beneath(dir, &name, flags, first) {
                Ok(file) => {
                    let temp = Self { dir, name, file, gone: std::cell::Cell::new(false) };
                    if let Some(old) = old {
                        temp.take_after(old)?;
                    }
                    return Ok(temp);
                }
                Err(Errno::EXIST) => {}
                Err(e) => return Err(store_error(e)),
            }
        }
    }

    /// Owner and mode of the file that is replaced. The mode comes last: a change of owner clears
    /// bits of it. Bits that raise privileges are not kept with new content.
    fn take_after(&self, old: &Stat) -> Result<(), StoreError> {
        let mut mode = old.st_mode & 0o777;
        let mine = rustix::fs::fstat(&self.file).map_err(store_error)?;
        if mine.st_gid != old.st_gid {
            let group = rustix::fs::Gid::from_raw(old.st_gid);
            if rustix::fs::fchown(&self.file, None, Some(group)).is_err() {
                // What the old group was allowed is not for the new one.
                mode &= !0o070;
            }
        }
        if mine.st_uid != old.st_uid {
            let owner = rustix::fs::Uid::from_raw(old.st_uid);
            // Only root may give files away; for others the new file is simply theirs.
            let _ = rustix::fs::fchown(&self.file, Some(owner), None);
        }
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode)).map_err(store_error)
    }

    fn fill(&self, content: &[u8], durability: Durability) -> Result<(), StoreError> {
        write_all(&self.file, content)?;
        stamp(&self.file)?;
        if durability == Durability::Disk {
            rustix::fs::fsync(&self.file).map_err(store_error)?;
        }
        Ok(())
    }

    /// Swaps places with the old file. False when what came out is not what was looked at.
    fn exchange(&self, spot: Spot<'_>, old: &Stat) -> Result<bool, StoreError> {
        match self.rename(spot, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return self.overwrite(spot, Some(old)),
            Err(e) => return Err(store_error(e)),
        }
        let out = rustix::fs::statat(self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW).map_err(store_error)?;
        if same_content(&out, old) {
            return Ok(true);
        }
        self.rename(spot, RenameFlags::EXCHANGE).map_err(store_error)?;
        if !self.is_ours_again()? {
            // Somebody replaced our file between the two swaps: theirs is the newest, so it goes back.
            self.rename(spot, RenameFlags::EXCHANGE).map_err(store_error)?;
        }
        Ok(false)
    }

    /// Is our own file under the temporary name?
    fn is_ours_again(&self) -> Result<bool, StoreError> {
        let ours = rustix::fs::fstat(&self.file).map_err(store_error)?;
        let there = rustix::fs::statat(self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW).map_err(store_error)?;
        Ok((ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino))
    }

    /// Takes the name if nobody has it. False when somebody does.
    fn settle(&self, spot: Spot<'_>) -> Result<bool, StoreError> {
        match self.rename(spot, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.gone.set(true);
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.overwrite(spot, None),
            Err(e) => Err(store_error(e)),
        }
    }

    /// For file systems that know neither exchange nor no-replace: looked at, then renamed over.
    fn overwrite(&self, spot: Spot<'_>, old: Option<&Stat>) -> Result<bool, StoreError> {
        let unchanged = match (spot.look()?, old) {
            (None, None) => true,
            (Some(now), Some(old)) => same_content(&now, old),
            _ => false,
        };
        if unchanged {
            self.rename(spot, RenameFlags::empty()).map_err(store_error)?;
            self.gone.set(true);
        }
        Ok(unchanged)
    }

    fn rename(&self, spot: Spot<'_>, flags: RenameFlags) -> Result<(), Errno> {
        rustix::fs::renameat_with(self.dir, &self.name, spot.dir, spot.name, flags)
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.gone.get() {
            let _ = rustix::fs::unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// Writes everything, however many calls that takes.
pub(super) fn write_all(file: impl AsFd, mut content: &[u8]) -> Result<(), StoreError> {
    while !content.is_empty() {
        match rustix::io::write(&file, content) {
            Ok(0) => return Err(ErrorKind::Full.into()),
            Ok(n) => content = &content[n..],
            Err(Errno::INTR) => {}
            Err(e) => return Err(store_error(e)),
        }
    }
    Ok(())
}

/// Gives a file a modification time of full precision. The kernel's own clock for files may tick
/// only every few milliseconds, and two writes within a tick must not look like one.
pub(super) fn stamp(file: impl AsFd) -> Result<(), StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let precise =
        Timespec { tv_sec: i64::try_from(now.as_secs()).unwrap_or(0), tv_nsec: i64::from(now.subsec_nanos()) };
    let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = Timestamps { last_access: unchanged, last_modification: precise };
    rustix::fs::futimens(file, &times).map_err(store_error)
}

fn next_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    format!("{TEMP_PREFIX}{}-{n}-{nanos:x}", std::process::id())
}
