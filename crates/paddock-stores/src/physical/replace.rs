//! Putting new content in place of a file, atomically, and only over what was looked at.
//!
//! The content goes into a temporary file beside the old one, which is then exchanged with it in one
//! step (`renameat2`). What came out is compared with what was looked at before; if it is something
//! else, somebody outside was faster: it is swapped back and the caller looks again. The old inode is
//! never written to, so a hard link elsewhere keeps its content.
//!
//! Where what is replaced is to be kept, it gets a second name there first. On a file system that gives it none, it moves
//! on from the temporary name to where it is kept; a process that dies in between leaves it whole under the temporary
//! name.

use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use paddock_core::{Before, Call, ErrorKind, Kind, Looks, PLAIN_MODE, Staged, StoreError};
use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::history::{Keeper, Taken};
use super::host::{create_beneath, kind_of, open_beneath, read_into, same_content, store_error, sync};
use super::{Durability, TEMP_PREFIX};

/// How often what is put back may be replaced by somebody outside in that very moment.
const SWAPS: usize = 1000;

/// How much is copied between two looks at the call's bounds.
const COPY_STEP: u64 = 8 * 1024 * 1024;

/// What is in place now.
pub(super) struct Placed {
    pub(super) stat: Stat,
    /// What there is of what it replaced.
    pub(super) before: Before,
    /// It is there, but may not last as it was promised.
    pub(super) lasts: Result<(), StoreError>,
}

/// What is put in place.
#[derive(Clone, Copy)]
pub(super) enum NewContent<'a> {
    /// These bytes. Only a new file takes the mode; one that replaces another keeps that one's.
    Bytes(&'a [u8], Option<u32>),
    /// The first bytes of another file, with the mode and the owner that it had.
    Copy { of: &'a OwnedFd, like: &'a Stat, len: u64, call: &'a Call<'a> },
    /// A symbolic link with this text.
    Link(&'a CStr),
    /// A pipe, a socket or a device that is kept: itself, by another name.
    Special { dir: &'a OwnedFd, name: &'a str },
    /// A file that waits elsewhere, with the mode and time that it has there.
    Staged { staged: &'a Staged, call: &'a Call<'a> },
}

impl NewContent<'_> {
    /// How many bytes a Mount holds for it.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Bytes(content, _) => content.len() as u64,
            Self::Copy { len, .. } => *len,
            Self::Link(text) => text.to_bytes().len() as u64,
            Self::Special { .. } => 0,
            Self::Staged { staged, .. } => staged.len(),
        }
    }
}

/// How something is put in place.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) durability: Durability,
    /// Where what is replaced goes, if it is to be kept.
    pub(super) keeper: Option<&'a Keeper>,
    /// May it have a second name for a moment? Where files with several are refused, a reader would meet one.
    pub(super) links: bool,
}

impl Terms<'_> {
    /// Makes a change of a directory last as it was promised. What it took away lasts where it is kept before it is gone
    /// from here.
    pub(super) fn settle(self, dir: &OwnedFd, before: &Before) -> Result<(), StoreError> {
        if self.durability == Durability::Process {
            return Ok(());
        }
        if let (Some(keeper), Before::Kept(_)) = (self.keeper, before) {
            keeper.settle()?;
        }
        sync(dir)
    }
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

/// Replaces `old`, or creates the file where `old` is nothing. Nothing is done when somebody else changed it meanwhile.
pub(super) fn place(
    spot: Spot<'_>,
    old: Option<&Stat>,
    new: NewContent<'_>,
    terms: Terms<'_>,
) -> Result<Option<Placed>, StoreError> {
    if old.is_some_and(|old| kind_of(old) == Kind::File) {
        // A person who took away the write bit meant it; a rename alone would not ask.
        rustix::fs::accessat(spot.dir, spot.name, Access::WRITE_OK, AtFlags::EACCESS).map_err(store_error)?;
    }
    let temp = Temp::make(spot.dir, old, new, terms.durability)?;
    let before = match old {
        Some(old) => temp.exchange(spot, old, terms)?,
        None => temp.settle(spot)?.then_some(Before::Absent),
    };
    let Some(before) = before else { return Ok(None) };
    if let (NewContent::Staged { staged, .. }, true) = (new, temp.is_adopted) {
        leave_home(staged);
    }
    let lasts = terms.settle(spot.dir, &before);
    let stat = rustix::fs::fstat(&temp.file).map_err(store_error)?;
    Ok(Some(Placed { stat, before, lasts }))
}

/// A temporary file or link, removed when dropped.
struct Temp<'a> {
    dir: &'a OwnedFd,
    name: String,
    file: OwnedFd,
    /// Nothing of ours is left under the temporary name: nothing at all, or what is not known to be ours.
    gone: Cell<bool>,
    /// It is a staged file itself, which has another name elsewhere.
    is_adopted: bool,
}

impl<'a> Temp<'a> {
    fn make(
        dir: &'a OwnedFd,
        old: Option<&Stat>,
        new: NewContent<'_>,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let temp = match new {
            NewContent::Bytes(content, mode) => {
                let temp = Self::create(dir, old, mode)?;
                write_all(&temp.file, content)?;
                temp
            }
            NewContent::Copy { of, like, len, call } => {
                let temp = Self::create(dir, Some(like), None)?;
                if copy_bytes(of, &temp.file, len, &mut || call.tick(0))? != len {
                    return Err(ErrorKind::Stale.into());
                }
                temp
            }
            NewContent::Link(text) => return Self::link(dir, text),
            NewContent::Special { dir: home, name } => return Self::special(dir, home, name),
            NewContent::Staged { staged, call } => return Self::staged(dir, old, staged, call, durability),
        };
        stamp(&temp.file)?;
        if durability == Durability::Disk {
            sync(&temp.file)?;
        }
        Ok(temp)
    }

    /// An empty file, with the owner and mode of the one that it is like.
    fn create(dir: &'a OwnedFd, like: Option<&Stat>, mode: Option<u32>) -> Result<Self, StoreError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        // A new file gets what the process's umask leaves; content that replaces something is
        // readable by nobody else until it has the old file's mode.
        let first =
            if like.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(mode.unwrap_or(0o666) & 0o777) };
        loop {
            let name = next_name();
            match create_beneath(dir, &name, flags, first) {
                Ok(file) => {
                    let temp = Self { dir, name, file, gone: Cell::new(false), is_adopted: false };
                    if let Some(like) = like {
                        take_after(&temp.file, like)?;
                    }
                    return Ok(temp);
                }
                Err(Errno::EXIST) => {}
                Err(e) => return Err(store_error(e)),
            }
        }
    }

    fn link(dir: &'a OwnedFd, text: &CStr) -> Result<Self, StoreError> {
        loop {
            let name = next_name();
            match rustix::fs::symlinkat(text, dir, &name) {
                Ok(()) => {
                    let file = open_beneath(dir, &name, OFlags::PATH | OFlags::NOFOLLOW).map_err(store_error)?;
                    return Ok(Self { dir, name, file, gone: Cell::new(false), is_adopted: false });
                }
                Err(Errno::EXIST) => {}
                Err(e) => return Err(store_error(e)),
            }
        }
    }

    /// What is kept and has no content, under a temporary name.
    fn special(dir: &'a OwnedFd, home: &OwnedFd, kept: &str) -> Result<Self, StoreError> {
        loop {
            let name = next_name();
            match rustix::fs::linkat(home, kept, dir, &name, AtFlags::empty()) {
                Ok(()) => {
                    let file = open_beneath(dir, &name, OFlags::PATH | OFlags::NOFOLLOW).map_err(store_error)?;
                    return Ok(Self { dir, name, file, gone: Cell::new(false), is_adopted: false });
                }
                Err(Errno::EXIST) => {}
                Err(e) => return Err(store_error(e)),
            }
        }
    }

    /// A staged file under a temporary name: the file itself, or a copy where it cannot be linked.
    fn staged(
        dir: &'a OwnedFd,
        old: Option<&Stat>,
        staged: &Staged,
        call: &Call<'_>,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let temp = match Self::adopt(dir, staged)? {
            Some(temp) => temp,
            None => {
                let temp = Self::create(dir, old.filter(|old| kind_of(old) == Kind::File), Some(staged.mode()))?;
                if copy_bytes(staged.file(), &temp.file, staged.len(), &mut || call.tick(0))? != staged.len() {
                    return Err(ErrorKind::Stale.into());
                }
                temp
            }
        };
        put_on(&temp.file, Looks { mode: Some(staged.mode()), modified: Some(staged.modified()) })?;
        if durability == Durability::Disk {
            sync(&temp.file)?;
        }
        Ok(temp)
    }

    /// Gives a staged file a temporary name here. Nothing where it has several names, lies on another file system, or cannot
    /// leave where it waits.
    fn adopt(dir: &'a OwnedFd, staged: &Staged) -> Result<Option<Self>, StoreError> {
        let Some((home, home_name)) = staged.home() else { return Ok(None) };
        let waits = rustix::fs::fstat(staged.file()).map_err(store_error)?;
        if waits.st_nlink != 1 || !may_leave(home) {
            return Ok(None);
        }
        // Open already: its mode may let nobody open it by its name.
        let file = staged.file().try_clone().map_err(|e| StoreError::caused_by(ErrorKind::Io, e))?;
        loop {
            let name = next_name();
            match rustix::fs::linkat(home, home_name, dir, &name, AtFlags::empty()) {
                Ok(()) => {
                    let temp = Self { dir, name, file: file.into(), gone: Cell::new(false), is_adopted: true };
                    let linked = temp.look()?;
                    // Whoever took the name meanwhile put something else there.
                    if (linked.st_dev, linked.st_ino) != (waits.st_dev, waits.st_ino) {
                        return Err(ErrorKind::Stale.into());
                    }
                    return Ok(Some(temp));
                }
                Err(Errno::EXIST) => {}
                Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP | Errno::NOENT) => return Ok(None),
                Err(e) => return Err(store_error(e)),
            }
        }
    }

    /// Swaps places with the old file. Nothing when what came out is not what was looked at.
    fn exchange(&self, spot: Spot<'_>, old: &Stat, terms: Terms<'_>) -> Result<Option<Before>, StoreError> {
        let linked = terms
            .keeper
            .filter(|_| terms.links)
            .and_then(|keeper| Some((keeper, Before::Kept(keeper.link(spot, old)?))));
        let unlink = || linked.iter().for_each(|(keeper, kept)| keeper.forget(kept));
        let given = rustix::fs::fstat(&self.file).map_err(store_error)?;
        match self.swap(spot) {
            Ok(()) => {}
            Err(errno) => {
                unlink();
                return match errno {
                    Errno::NOENT => Ok(None),
                    Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => self.overwrite_kept(spot, old, terms),
                    errno => Err(store_error(errno)),
                };
            }
        }
        let out = self.look()?;
        if same_content(&out, old) {
            self.gone.set(false);
            return Ok(Some(match linked {
                // Its temporary name goes with this one.
                Some((_, kept)) => kept,
                None => self.keep(&out, terms),
            }));
        }
        unlink();
        self.give_way(spot, &given, terms)?;
        Ok(None)
    }

    /// Puts back what came out, which somebody outside had put there meanwhile. Whoever of them is fastest may replace that, too,
    /// while it is put back, or save into what stands there: so what comes out has to be what went in the time before, as it
    /// went in, or it is the newest and goes in again.
    fn give_way(&self, spot: Spot<'_>, given: &Stat, terms: Terms<'_>) -> Result<(), StoreError> {
        let mut there = *given;
        // Open until the next time: else another file could have its number by then.
        let mut _goes_in;
        for _ in 0..SWAPS {
            let opened = self.open()?;
            let went_in = rustix::fs::fstat(&opened).map_err(store_error)?;
            match self.swap(spot) {
                // Somebody deleted or moved it, and takes what was there before for what that was. It is left for them to find.
                Err(Errno::NOENT) => return Ok(()),
                swapped => swapped.map_err(store_error)?,
            }
            let out = self.look()?;
            if same_content(&out, &there) {
                self.let_go(&out, given, terms);
                return Ok(());
            }
            (there, _goes_in) = (went_in, opened);
        }
        // Theirs, and perhaps the newest: it is left for a person to find.
        Err(ErrorKind::Stale.into())
    }

    /// What came out is what went in, so nothing newer is lost with it. What they had there before would go with the temporary
    /// name, and is kept; a directory stays under it.
    fn let_go(&self, out: &Stat, given: &Stat, terms: Terms<'_>) {
        if kind_of(out) == Kind::Dir {
            return;
        }
        self.gone.set(false);
        if !same_content(out, given) {
            self.keep(out, terms);
        }
    }

    /// Swaps places with what is at the spot. That is somebody's, and stays until it is known for what may go.
    fn swap(&self, spot: Spot<'_>) -> Result<(), Errno> {
        self.rename(spot, RenameFlags::EXCHANGE)?;
        self.gone.set(true);
        Ok(())
    }

    /// What is under the temporary name, whatever that is.
    fn open(&self) -> Result<OwnedFd, StoreError> {
        open_beneath(self.dir, &self.name, OFlags::PATH | OFlags::NOFOLLOW).map_err(store_error)
    }

    fn look(&self) -> Result<Stat, StoreError> {
        rustix::fs::statat(self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW).map_err(store_error)
    }

    /// Moves the old file on from the temporary name. What cannot be kept goes when this is dropped; but what somebody goes on
    /// writing to, or put there, stays under that name for a person to find.
    fn keep(&self, out: &Stat, terms: Terms<'_>) -> Before {
        let Some(keeper) = terms.keeper else { return Before::Lost };
        let there = Spot { dir: self.dir, name: &self.name };
        let kept = match keeper.take(there, out) {
            Ok(Taken::Kept(kept)) => Some(Before::Kept(kept)),
            Ok(Taken::Stays) => match keeper.copy_aside(there, out, terms.durability) {
                Ok(before) => return before,
                Err(_) => None,
            },
            Ok(Taken::Raced) | Err(_) => None,
        };
        self.gone.set(true);
        kept.unwrap_or(Before::Lost)
    }

    /// For file systems that know no exchange: what a rename would destroy is copied first.
    fn overwrite_kept(&self, spot: Spot<'_>, old: &Stat, terms: Terms<'_>) -> Result<Option<Before>, StoreError> {
        let Some(keeper) = terms.keeper else {
            return Ok(self.overwrite(spot, Some(old))?.then_some(Before::Lost));
        };
        let before = match keeper.copy(spot, old, terms.durability) {
            Err(e) if *e.kind() == ErrorKind::Stale => return Ok(None),
            copied => copied?,
        };
        let placed = self.overwrite(spot, Some(old));
        if !matches!(placed, Ok(true)) {
            keeper.forget(&before);
        }
        Ok(placed?.then_some(before))
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

/// Owner and mode of the file that is replaced. The mode comes last: a change of owner clears
/// bits of it. Bits that raise privileges are not kept with new content.
pub(super) fn take_after(file: &OwnedFd, old: &Stat) -> Result<(), StoreError> {
    let mut mode = old.st_mode & 0o777;
    let mine = rustix::fs::fstat(file).map_err(store_error)?;
    if mine.st_gid != old.st_gid {
        let group = rustix::fs::Gid::from_raw(old.st_gid);
        if rustix::fs::fchown(file, None, Some(group)).is_err() {
            // What the old group was allowed is not for the new one.
            mode &= !0o070;
        }
    }
    if mine.st_uid != old.st_uid {
        let owner = rustix::fs::Uid::from_raw(old.st_uid);
        // Only root may give files away; for others the new file is simply theirs.
        let _ = rustix::fs::fchown(file, Some(owner), None);
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).map_err(store_error)
}

/// Can a staged file leave where it waits? Its name there would go later, and the file then be another version.
fn may_leave(home: &OwnedFd) -> bool {
    rustix::fs::accessat(home, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// A staged file that was taken goes from where it waited, so that it has one name again. It was taken already: where this
/// fails, whoever staged it cleans up after itself.
fn leave_home(staged: &Staged) {
    if let Some((home, name)) = staged.home() {
        let _ = rustix::fs::unlinkat(home, name, AtFlags::empty());
    }
}

/// Gives a file or directory a mode and a time, where they are told. Bits that raise privileges are never given.
pub(super) fn put_on(file: impl AsFd, looks: Looks) -> Result<(), StoreError> {
    if let Some(mode) = looks.mode {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & PLAIN_MODE)).map_err(store_error)?;
    }
    match looks.modified {
        Some(modified) => set_time(file, modified),
        None => Ok(()),
    }
}

/// Copies the first bytes of a file into an empty one, without a detour through this process where the kernel can: some
/// file systems then share the blocks. Answers how many there were.
pub(super) fn copy_bytes(
    from: impl AsFd,
    to: &OwnedFd,
    len: u64,
    between: &mut dyn FnMut() -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let (mut read, mut written) = (0, 0);
    while read < len {
        between()?;
        let step = usize::try_from((len - read).min(COPY_STEP)).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(&from, Some(&mut read), to, Some(&mut written), step) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                read = copy_by_hand(from.as_fd(), to, read, len, between)?;
                break;
            }
            Err(e) => return Err(store_error(e)),
        }
    }
    Ok(read)
}

fn copy_by_hand(
    from: BorrowedFd<'_>,
    to: &OwnedFd,
    mut at: u64,
    len: u64,
    between: &mut dyn FnMut() -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    rustix::fs::seek(to, rustix::fs::SeekFrom::Start(at)).map_err(store_error)?;
    let mut buffer = Vec::new();
    while at < len {
        between()?;
        buffer.clear();
        read_into(from, at, (len - at).min(COPY_STEP), &mut buffer)?;
        if buffer.is_empty() {
            break;
        }
        write_all(to, &buffer)?;
        at += buffer.len() as u64;
    }
    Ok(at)
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
    set_time(file, SystemTime::now())
}

fn set_time(file: impl AsFd, time: SystemTime) -> Result<(), StoreError> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let precise =
        Timespec { tv_sec: i64::try_from(since.as_secs()).unwrap_or(0), tv_nsec: i64::from(since.subsec_nanos()) };
    let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = Timestamps { last_access: unchanged, last_modification: precise };
    rustix::fs::futimens(file, &times).map_err(store_error)
}

pub(super) fn next_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    format!("{TEMP_PREFIX}{}-{n}-{nanos:x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::history::KeptPlace;
    use super::super::open_without_links;
    use super::*;

    /// A file system that knows no exchange is met by going past the exchange.
    #[test]
    fn what_is_renamed_over_is_copied_first() {
        let home = TempDir::new().unwrap();
        let path = fs::canonicalize(home.path()).unwrap();
        fs::create_dir(path.join("dir")).unwrap();
        fs::write(path.join("dir/f"), "old").unwrap();
        let dir = open_without_links(&path.join("dir")).unwrap();
        let keeper = KeptPlace::new(&path.join("history")).unwrap().ready(Durability::Process).unwrap();
        let terms = Terms { durability: Durability::Process, keeper: Some(&keeper), links: true };
        let spot = Spot { dir: &dir, name: "f" };
        let old = spot.look().unwrap().unwrap();
        let kept = || fs::read_dir(path.join("history")).unwrap().map(|entry| entry.unwrap().path());
        let temp = || Temp::make(&dir, Some(&old), NewContent::Bytes(b"new", None), Durability::Process).unwrap();
        fs::write(path.join("dir/f"), "changed meanwhile").unwrap();
        assert_eq!(temp().overwrite_kept(spot, &old, terms).unwrap(), None);
        assert_eq!((kept().count(), fs::read_to_string(path.join("dir/f")).unwrap()), (0, "changed meanwhile".into()));
        let old = spot.look().unwrap().unwrap();
        assert!(matches!(temp().overwrite_kept(spot, &old, terms).unwrap(), Some(Before::Kept(_))));
        assert_eq!(fs::read_to_string(path.join("dir/f")).unwrap(), "new");
        assert_eq!(fs::read_to_string(kept().next().unwrap()).unwrap(), "changed meanwhile");
        assert_eq!(fs::read_dir(path.join("dir")).unwrap().count(), 1);
    }

    /// Whoever dies on the way leaves the old content where an undo finds it.
    #[test]
    fn what_is_exchanged_is_kept_before_its_last_name_here_goes() {
        let home = TempDir::new().unwrap();
        let path = fs::canonicalize(home.path()).unwrap();
        fs::create_dir(path.join("dir")).unwrap();
        let dir = open_without_links(&path.join("dir")).unwrap();
        let keeper = KeptPlace::new(&path.join("history")).unwrap().ready(Durability::Process).unwrap();
        let spot = Spot { dir: &dir, name: "f" };
        for (links, names) in [(true, 2), (false, 1)] {
            fs::write(path.join("dir/f"), "old").unwrap();
            let old = spot.look().unwrap().unwrap();
            let terms = Terms { durability: Durability::Process, keeper: Some(&keeper), links };
            let temp = Temp::make(&dir, Some(&old), NewContent::Bytes(b"new", None), Durability::Process).unwrap();
            let Some(Before::Kept(kept)) = temp.exchange(spot, &old, terms).unwrap() else { panic!("not kept") };
            assert_eq!(fs::read_to_string(path.join("history").join(&kept.0)).unwrap(), "old");
            assert_eq!(fs::read_dir(path.join("dir")).unwrap().count(), names);
            drop(temp);
            assert_eq!(fs::read_dir(path.join("dir")).unwrap().count(), 1);
        }
    }

    /// A file, and new content that has been swapped with what somebody saved there in the last moment.
    fn while_swapped(then: impl FnOnce(Temp<'_>, Spot<'_>, &Stat)) -> Vec<(bool, String)> {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("f"), "theirs").unwrap();
        let dir = open_without_links(&fs::canonicalize(home.path()).unwrap()).unwrap();
        let spot = Spot { dir: &dir, name: "f" };
        let temp = Temp::make(&dir, None, NewContent::Bytes(b"ours", None), Durability::Process).unwrap();
        let given = rustix::fs::fstat(&temp.file).unwrap();
        temp.swap(spot).unwrap();
        then(temp, spot, &given);
        let paths = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path());
        paths.map(|path| (path.ends_with("f"), fs::read_to_string(path).unwrap())).collect()
    }

    const UNKEPT: Terms<'_> = Terms { durability: Durability::Process, keeper: None, links: true };

    /// Whatever fails after the swap, for want of descriptors or room, drops what was made.
    #[test]
    fn what_came_out_stays_until_it_is_known_for_what_may_go() {
        let mut left = while_swapped(|temp, _, _| drop(temp));
        left.sort();
        assert_eq!(left, [(false, "theirs".to_owned()), (true, "ours".to_owned())]);
        let left = while_swapped(|temp, spot, given| temp.give_way(spot, given, UNKEPT).unwrap());
        assert_eq!(left, [(true, "theirs".to_owned())], "what is ours goes");
        let left = while_swapped(|temp, spot, given| {
            rustix::fs::unlinkat(spot.dir, spot.name, AtFlags::empty()).unwrap();
            temp.give_way(spot, given, UNKEPT).unwrap();
        });
        assert_eq!(left, [(false, "theirs".to_owned())], "perhaps it was only moved");
    }

    /// An editor that writes in place writes into what it finds.
    #[test]
    fn what_was_saved_into_new_content_that_gives_way_is_the_newest() {
        let left = while_swapped(|temp, spot, given| {
            let saved = create_beneath(spot.dir, spot.name, OFlags::WRONLY | OFlags::TRUNC, Mode::empty()).unwrap();
            write_all(&saved, b"saved in place").unwrap();
            temp.give_way(spot, given, UNKEPT).unwrap();
        });
        assert_eq!(left, [(true, "saved in place".to_owned())]);
    }
}
