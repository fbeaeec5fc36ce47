//! What changes replaced, kept so that it can be had again.
//!
//! A directory of the System Root holds it: the old inode itself, moved there on the same file system, or a
//! copy of it up to a size. A name is told to nobody before what it names is whole. What a call first takes away from a path has a name that
//! follows from both, so that it is found when the process died before it could tell; everything else has a fresh
//! one, and [`KeptPlace::entries`] finds it.
//!
//! No agent can name this place: a Mount that reaches into the System Root is refused when the configuration is loaded. What is here is
//! still opened as inside a Mount: beneath the directory's descriptor, following nothing. It must never be written to again, and a kept
//! file comes back as a copy, so that it stays for the next time.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paddock_core::{Before, CallId, ErrorKind, Kept, Kind, Result, StoreError};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::aside::{rename_back, rename_to_fresh};
use super::host::{create_beneath, kind_of, meta_of, open_beneath, open_file, same_content, store_error};
use super::outside::{Step, may_act};
use super::replace::{Spot, copy_bytes, next_name, take_after};
use super::{Durability, TEMP_PREFIX, Way, make_dirs, open_without_links};

/// The largest file that is copied, where it cannot be moved.
const COPY_CAP: u64 = 64 * 1024 * 1024;

/// How often something is copied that changes meanwhile.
const COPIES: usize = 4;

/// No copy takes longer. What is older and unfinished was left by a process that died.
const LONGEST_COPY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many bits of an id say nothing about its time.
const RANDOM: u32 = 80;

/// Only for the owner, whatever the modes of what is in it.
const PRIVATE: u32 = 0o700;

/// A directory for what changes replaced. Cheap to clone; it is made when something is first kept.
#[derive(Debug, Clone)]
pub struct KeptPlace {
    /// Without any link in it, as far as it exists.
    host: PathBuf,
    copy_cap: u64,
}

/// The file system that a path is on, or will be once it is made.
pub(super) fn device(path: &Path) -> Option<u64> {
    path.ancestors().find_map(|at| rustix::fs::stat(at).ok()).map(|stat| stat.st_dev)
}

/// Something that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptEntry {
    /// The name by which a Store knows it.
    pub kept: Kept,
    /// A file, a link, or something else that is no directory.
    pub kind: Kind,
    /// Its length in bytes.
    pub len: u64,
    /// When the call began that it was kept for, to the millisecond.
    pub since: SystemTime,
}

impl KeptEntry {
    /// How long it has been kept.
    pub fn age(&self) -> Duration {
        SystemTime::now().duration_since(self.since).unwrap_or_default()
    }
}

/// Something kept, opened.
pub(super) enum Opened {
    File(OwnedFd, Stat),
    Link(CString),
    /// A pipe, a socket or a device, which has no content to copy and is never opened: the directory and its name there.
    Special {
        dir: OwnedFd,
        name: String,
    },
}

impl KeptPlace {
    /// In this host directory, which need not exist yet. It has to lie in the System Root, where no Mount reaches.
    pub fn new(dir: &Path) -> Result<Self> {
        let way = Way::to(dir).map_err(|e| StoreError::caused_by(ErrorKind::Io, e))?;
        Ok(Self { host: way.end, copy_cap: COPY_CAP })
    }

    /// Copies files up to this size where they cannot be moved, instead of 64 MiB.
    #[must_use]
    pub fn with_copy_cap(mut self, bytes: u64) -> Self {
        self.copy_cap = bytes;
        self
    }

    pub(super) fn host(&self) -> &Path {
        &self.host
    }

    pub(super) fn copy_cap(&self) -> u64 {
        self.copy_cap
    }

    /// Everything that is kept, by the time of the calls, to the millisecond. Also what nobody was ever told of, because a process died
    /// on the way: what no history names and is older than any call takes can be released. A copy that was never finished
    /// is nothing to anybody, and goes here.
    pub fn entries(&self) -> Result<Vec<KeptEntry>> {
        let Some(dir) = self.existing()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut buffer = Vec::with_capacity(32 * 1024);
        let mut raw = RawDir::new(&dir, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry.map_err(store_error)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if is_left_unfinished(name) {
                let _ = rustix::fs::unlinkat(&dir, name, AtFlags::empty());
            }
            let Some((kept, since)) = read_name(name) else { continue };
            let Ok(stat) = rustix::fs::statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let meta = meta_of(&stat);
            if meta.kind != Kind::Dir {
                found.push(KeptEntry { kept, kind: meta.kind, len: meta.len, since });
            }
        }
        found.sort_by(|a, b| a.kept.0.cmp(&b.kept.0));
        Ok(found)
    }

    /// Forgets what was kept. What is gone already is fine.
    pub fn release(&self, kept: &[Kept]) -> Result<()> {
        let Some(dir) = self.existing()? else { return Ok(()) };
        for kept in kept {
            match rustix::fs::unlinkat(&dir, checked(kept)?, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(store_error(e)),
            }
        }
        Ok(())
    }

    /// Opens what was kept.
    pub(super) fn open(&self, kept: &Kept) -> Result<Opened> {
        let name = checked(kept)?;
        let dir = self.existing()?.ok_or(ErrorKind::NotKept)?;
        match open_file(&dir, name) {
            Ok((file, stat)) => Ok(Opened::File(file, stat)),
            Err(e) if *e.kind() == ErrorKind::Link => {
                let link = open_beneath(&dir, name, OFlags::PATH | OFlags::NOFOLLOW).map_err(store_error)?;
                rustix::fs::readlinkat(&link, "", Vec::new()).map(Opened::Link).map_err(store_error)
            }
            Err(e) if *e.kind() == ErrorKind::HostRefuses => Err(e),
            Err(_) if is_special(&dir, name) => Ok(Opened::Special { dir, name: name.to_owned() }),
            Err(_) => Err(ErrorKind::NotKept.into()),
        }
    }

    /// The directory, made if it is not there. Asked before a change is made, so that none is made that could not be kept
    /// for want of a directory.
    pub(super) fn ready(&self, durability: Durability) -> Result<Keeper> {
        let dir = match self.existing()? {
            Some(dir) => dir,
            None => {
                make_dirs(&self.host, Mode::from_raw_mode(PRIVATE), durability).map_err(store_error)?;
                self.existing()?.ok_or(ErrorKind::Io)?
            }
        };
        Ok(Keeper { dir, copy_cap: self.copy_cap, next: String::new() })
    }

    /// What is kept under this name, if anything is.
    pub(super) fn kept_as(&self, name: &str) -> Result<Option<Kept>> {
        let Some(dir) = self.existing()? else { return Ok(None) };
        match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(Some(Kept(name.to_owned()))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(store_error(e)),
        }
    }

    /// Opened anew for every set of changes: one that was moved away or put back from a backup is not written to by mistake.
    fn existing(&self) -> Result<Option<OwnedFd>> {
        let dir = match open_without_links(&self.host) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(store_error)?,
        };
        let mode = rustix::fs::fstat(&dir).map_err(store_error)?.st_mode & 0o777;
        if mode != PRIVATE {
            rustix::fs::fchmod(&dir, Mode::from_raw_mode(PRIVATE)).map_err(store_error)?;
        }
        Ok(Some(dir))
    }
}

/// The opened directory of a [`KeptPlace`], for one set of changes.
pub(super) struct Keeper {
    dir: OwnedFd,
    copy_cap: u64,
    /// The name for what the change at hand takes away; see [`name_for`].
    next: String,
}

/// What came of taking something away from where it was.
pub(super) enum Taken {
    /// It is gone from there, and kept.
    Kept(Kept),
    /// It is still there: it cannot be moved to where things are kept, and is to be copied.
    Stays,
    /// It is not what was looked at. It is still there.
    Raced,
}

impl Keeper {
    /// The largest file that is worth a copy.
    pub(super) fn copy_cap(&self) -> u64 {
        self.copy_cap
    }

    /// What is taken away next is kept under this name, if nothing is yet.
    pub(super) fn change_begins(&mut self, name: String) {
        self.next = name;
    }

    fn name(&self) -> String {
        let free = matches!(rustix::fs::statat(&self.dir, &self.next, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
        if free && !self.next.is_empty() { self.next.clone() } else { fresh_name() }
    }

    /// What was kept need not be: it did not go after all.
    pub(super) fn forget(&self, before: &Before) {
        if let Before::Kept(kept) = before {
            let _ = rustix::fs::unlinkat(&self.dir, &kept.0, AtFlags::empty());
        }
    }

    /// Keeps a file that is about to be replaced by giving it a second name: whoever dies on the way leaves it kept, and
    /// nobody has to guess what was there. Nothing where the host does not let it have one.
    pub(super) fn link(&self, from: Spot<'_>, looked_at: &Stat) -> Option<Kept> {
        let name = self.name();
        rustix::fs::linkat(from.dir, from.name, &self.dir, &name, AtFlags::empty()).ok()?;
        let kept = Kept(name);
        let linked = rustix::fs::statat(&self.dir, &kept.0, AtFlags::SYMLINK_NOFOLLOW).ok();
        if linked.is_some_and(|linked| same_content(&linked, looked_at)) {
            return Some(kept);
        }
        self.forget(&Before::Kept(kept));
        None
    }

    /// Takes what was looked at away and keeps it: the inode itself.
    pub(super) fn take(&self, from: Spot<'_>, looked_at: &Stat) -> Result<Taken> {
        let name = self.name();
        if rename_to_fresh(from, &self.dir, &name).is_err() {
            return Ok(Taken::Stays);
        }
        let out = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(store_error)?;
        if (out.st_dev, out.st_ino) == (looked_at.st_dev, looked_at.st_ino) {
            return Ok(Taken::Kept(Kept(name)));
        }
        self.give_back(&name, from, kind_of(&out))?;
        Ok(Taken::Raced)
    }

    /// Puts back what was taken by mistake: somebody outside had put it there in that very moment. Where they were
    /// as fast once more, it stays kept, as what a change replaced; but a directory, with all it holds, goes beside.
    fn give_back(&self, name: &str, from: Spot<'_>, kind: Kind) -> Result<()> {
        let taken = Spot { dir: &self.dir, name };
        match rename_back(taken, from) {
            Err(_) if kind == Kind::Dir => rename_back(taken, Spot { name: &next_name(), ..from }).map_err(store_error),
            Err(Errno::EXIST) => Ok(()),
            back => back.map_err(store_error),
        }
    }

    /// Keeps a copy of what stands under a temporary name, as it is in the end: whoever still has it open may write to it
    /// meanwhile. Stale where they do so all the time.
    pub(super) fn copy_aside(&self, from: Spot<'_>, taken: &Stat, durability: Durability) -> Result<Before> {
        for _ in 0..COPIES {
            let now = from.look()?.filter(|now| (now.st_dev, now.st_ino) == (taken.st_dev, taken.st_ino));
            match self.copy(from, &now.ok_or(ErrorKind::Stale)?, durability) {
                Err(e) if *e.kind() == ErrorKind::Stale => {}
                copied => return copied,
            }
        }
        Err(ErrorKind::Stale.into())
    }

    /// Keeps a copy of what was looked at; stale where it changed since. Nothing is promised beyond that: what is too large,
    /// or does not fit any more, is lost.
    pub(super) fn copy(&self, from: Spot<'_>, looked_at: &Stat, durability: Durability) -> Result<Before> {
        let name = self.name();
        let copied = match kind_of(looked_at) {
            Kind::File => self.copy_file(from, looked_at, &name, durability),
            Kind::Link => self.copy_link(from, &name),
            Kind::Dir | Kind::Special => Err(ErrorKind::NotAFile.into()),
        };
        match copied {
            Ok(()) => Ok(Before::Kept(Kept(name))),
            Err(e) if *e.kind() == ErrorKind::Stale => Err(e),
            Err(_) => Ok(Before::Lost),
        }
    }

    /// The copy has a name that is nobody's until it is whole: what is kept under a name is believed.
    fn copy_file(&self, from: Spot<'_>, looked_at: &Stat, name: &str, durability: Durability) -> Result<()> {
        let unfinished = unfinished_name();
        let there = Spot { dir: &self.dir, name: &unfinished };
        let copied = self.fill(there, from, looked_at, durability);
        let named = copied.and_then(|()| rename_to_fresh(there, &self.dir, name).map_err(store_error));
        named.inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&self.dir, &unfinished, AtFlags::empty());
        })
    }

    fn fill(&self, to: Spot<'_>, from: Spot<'_>, looked_at: &Stat, durability: Durability) -> Result<()> {
        let len = meta_of(looked_at).len;
        if len > self.copy_cap {
            return Err(ErrorKind::TooLarge { what: "the size of a file to keep", limit: self.copy_cap }.into());
        }
        let (file, _) = open_file(from.dir, from.name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let copy = create_beneath(to.dir, to.name, flags, Mode::RUSR | Mode::WUSR).map_err(store_error)?;
        take_after(&copy, looked_at)?;
        let copied = copy_bytes(&file, &copy, len, &mut || {
            may_act(Step::Copying);
            Ok(())
        })?;
        let nanos = i64::try_from(looked_at.st_mtime_nsec).unwrap_or(0);
        let modified = Timespec { tv_sec: looked_at.st_mtime, tv_nsec: nanos };
        let times = Timestamps { last_access: modified, last_modification: modified };
        rustix::fs::futimens(&copy, &times).map_err(store_error)?;
        if durability == Durability::Disk {
            rustix::fs::fsync(&copy).map_err(store_error)?;
        }
        // Asked last: what is saved from here on is no longer noticed.
        let now = rustix::fs::fstat(&file).map_err(store_error)?;
        if copied == len && same_content(&now, looked_at) { Ok(()) } else { Err(ErrorKind::Stale.into()) }
    }

    fn copy_link(&self, from: Spot<'_>, name: &str) -> Result<()> {
        let target = rustix::fs::readlinkat(from.dir, from.name, Vec::new()).map_err(store_error)?;
        rustix::fs::symlinkat(target, &self.dir, name).map_err(store_error)
    }

    /// Makes the names of what was kept survive the loss of power.
    pub(super) fn settle(&self) -> Result<()> {
        rustix::fs::fsync(self.dir.as_fd()).map_err(store_error)
    }
}

fn is_special(dir: &OwnedFd, name: &str) -> bool {
    let there = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    there.is_ok_and(|stat| kind_of(&stat) == Kind::Special)
}

/// A name that no other process comes up with, and that says when it was made.
fn fresh_name() -> String {
    CallId::next().to_string()
}

/// The name for what a call first takes away from a path of a Mount: of the call's time, and for nothing else.
pub(super) fn name_for(mount: &Path, call: CallId, path: &str) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [mount.as_os_str().as_encoded_bytes(), &call.0.to_le_bytes(), path.as_bytes()] {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let mut random = [0; 16];
    random[..10].copy_from_slice(&hash.finalize().as_bytes()[..10]);
    CallId(call.0 >> RANDOM << RANDOM | u128::from_le_bytes(random)).to_string()
}

/// A name for what is not whole yet, which nobody takes for something kept. It too says when it was made.
fn unfinished_name() -> String {
    format!("{TEMP_PREFIX}{}", fresh_name())
}

/// Is this what a process left that died while it copied?
fn is_left_unfinished(name: &str) -> bool {
    let made = name.strip_prefix(TEMP_PREFIX).and_then(read_name);
    made.is_some_and(|(_, since)| SystemTime::now().duration_since(since).unwrap_or_default() > LONGEST_COPY)
}

fn read_name(name: &str) -> Option<(Kept, SystemTime)> {
    let id = CallId::parse(name)?;
    let millis = u64::try_from(id.0 >> RANDOM).ok()?;
    Some((Kept(name.to_owned()), UNIX_EPOCH + Duration::from_millis(millis)))
}

/// Only names that [`fresh_name`] makes are ever looked for.
fn checked(kept: &Kept) -> Result<&str> {
    CallId::parse(&kept.0).map(|_| kept.0.as_str()).ok_or_else(|| ErrorKind::NotKept.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::outside::without_no_replace;
    use super::*;

    /// A directory to take from, opened, and a place to keep things in.
    struct Two {
        temp: TempDir,
        dir: OwnedFd,
        place: KeptPlace,
    }

    impl Two {
        fn new() -> Self {
            let temp = TempDir::new().unwrap();
            fs::create_dir(temp.path().join("dir")).unwrap();
            let dir = open_without_links(&fs::canonicalize(temp.path().join("dir")).unwrap()).unwrap();
            let place = KeptPlace::new(&temp.path().join("history")).unwrap();
            Self { temp, dir, place }
        }

        fn host(&self, name: &str) -> PathBuf {
            self.temp.path().join("dir").join(name)
        }

        fn spot<'a>(&'a self, name: &'a str) -> Spot<'a> {
            Spot { dir: &self.dir, name }
        }

        fn kept_names(&self) -> Vec<String> {
            let names = fs::read_dir(self.temp.path().join("history")).unwrap();
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    #[test]
    fn what_somebody_put_there_in_the_last_moment_goes_back() {
        puts_back_what_is_theirs();
    }

    /// As NFS is, and some file systems of FUSE.
    #[test]
    fn it_goes_back_where_a_rename_cannot_refuse_to_replace() {
        without_no_replace(puts_back_what_is_theirs);
    }

    fn puts_back_what_is_theirs() {
        let two = Two::new();
        fs::write(two.host("f"), "looked at").unwrap();
        let looked_at = two.spot("f").look().unwrap().unwrap();
        fs::rename(two.host("f"), two.host("old")).unwrap();
        fs::write(two.host("f"), "theirs").unwrap();
        let keeper = two.place.ready(Durability::Process).unwrap();
        let taken = |name| keeper.take(two.spot(name), &looked_at).unwrap();
        assert!(matches!(taken("f"), Taken::Raced));
        assert_eq!(fs::read_to_string(two.host("f")).unwrap(), "theirs");
        // A directory, with everything in it, most of all.
        fs::create_dir(two.host("d")).unwrap();
        fs::write(two.host("d/inner"), "kept").unwrap();
        assert!(matches!(taken("d"), Taken::Raced));
        assert_eq!(fs::read_to_string(two.host("d/inner")).unwrap(), "kept");
        assert!(two.kept_names().is_empty());
        assert!(matches!(taken("old"), Taken::Kept(_)), "what was looked at goes, by whatever name");
    }

    /// Nothing is put over what they have there by then, and where it cannot go back at all, that is told.
    #[test]
    fn what_cannot_go_back_stays_kept() {
        for run in [without_no_replace, |run: fn()| run()] {
            run(|| {
                let two = Two::new();
                let keeper = two.place.ready(Durability::Process).unwrap();
                let give_back = || keeper.give_back("f", two.spot("f"), Kind::File);
                fs::write(two.temp.path().join("history/f"), "theirs").unwrap();
                fs::write(two.host("f"), "and theirs once more").unwrap();
                give_back().unwrap();
                assert_eq!(fs::read_to_string(two.host("f")).unwrap(), "and theirs once more");
                fs::remove_dir_all(two.host("")).unwrap();
                assert_eq!(*give_back().unwrap_err().kind(), ErrorKind::NotFound);
                assert_eq!(two.kept_names(), ["f"]);
            });
        }
    }

    #[test]
    fn a_directory_that_cannot_go_back_goes_beside() {
        puts_a_directory_beside();
        without_no_replace(puts_a_directory_beside);
    }

    fn puts_a_directory_beside() {
        let two = Two::new();
        let keeper = two.place.ready(Durability::Process).unwrap();
        fs::create_dir(two.temp.path().join("history/d")).unwrap();
        fs::write(two.temp.path().join("history/d/inner"), "kept").unwrap();
        fs::write(two.host("d"), "taken meanwhile").unwrap();
        keeper.give_back("d", two.spot("d"), Kind::Dir).unwrap();
        let mut names: Vec<_> = fs::read_dir(two.host("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert!(names.len() == 2 && names[0].to_str().unwrap().starts_with(TEMP_PREFIX), "{names:?}");
        assert!(two.host(names[0].to_str().unwrap()).join("inner").exists() && two.kept_names().is_empty());
    }

    #[test]
    fn a_copy_of_what_is_no_longer_there_is_not_kept() {
        let two = Two::new();
        fs::write(two.host("f"), "looked at").unwrap();
        let looked_at = two.spot("f").look().unwrap().unwrap();
        let keeper = two.place.ready(Durability::Process).unwrap();
        let copy = || keeper.copy(two.spot("f"), &looked_at, Durability::Disk);
        assert!(matches!(copy(), Ok(Before::Kept(_))));
        fs::write(two.host("f"), "grew since then").unwrap();
        assert_eq!(*copy().unwrap_err().kind(), ErrorKind::Stale);
        assert_eq!(two.kept_names().len(), 1, "and leaves nothing behind");
    }

    #[test]
    fn only_names_that_it_made_itself_are_looked_for() {
        assert!(checked(&Kept(fresh_name())).is_ok());
        for bad in ["", ".", "..", "../x", "a/b", "/etc/passwd", "0", "0000000000000000000000000/"] {
            assert_eq!(*checked(&Kept(bad.to_owned())).unwrap_err().kind(), ErrorKind::NotKept, "{bad:?}");
        }
    }

    #[test]
    fn a_name_says_when_it_was_made() {
        let before = SystemTime::now() - Duration::from_millis(1);
        let (_, since) = read_name(&fresh_name()).unwrap();
        assert!(since >= before && since <= SystemTime::now());
    }
}
