//! The Physical Store: a Mount on the host's disk.
//!
//! It holds a descriptor of the Mount's directory and never opens anything but beneath it, following
//! no link. It decides nothing: hidden and shadowed names are the Place's business.

mod append;
mod apply;
mod aside;
mod at_hand;
mod content;
mod count;
mod history;
mod host;
mod listing;
mod lock;
mod meter;
mod outside;
#[cfg(test)]
mod outside_tests;
mod past;
mod replace;
mod resolve;
mod search;
mod walk;
mod way;

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

pub use paddock_core::TEMP_PREFIX;
use paddock_core::{
    Applied, Call, ChangeSet, EntrySink, ErrorKind, Expect, Hit, LastName, Meta, OpKind, Place, Query, RelPath,
    RelPathBuf, Result, Sink, Store, StoreError, Territory, Versioned, Walk,
};
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use at_hand::Disk;
pub use history::{KeptEntry, KeptPlace};
use host::{look, meta_of, open_file, read_into, store_error};
use walk::Tree;
pub(crate) use walk::passed_over;
pub use way::Way;

use crate::quota::UsageCounter;

/// How long a read may trust that the Mount's path still leads to the directory it has open.
const TRUST: Duration = Duration::from_millis(50);

/// What happens to files with several hard links, one of which may lie outside. Writing never goes
/// through any of them: a write makes a new inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HardLinks {
    /// They can be read; package managers and git need that.
    #[default]
    Read,
    /// They are refused.
    Deny,
}

impl HardLinks {
    fn check(self, stat: &Stat) -> Result<()> {
        if self == Self::Deny && stat.st_nlink > 1 {
            return Err(ErrorKind::HardLinked.into());
        }
        Ok(())
    }
}

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, however sudden.
    #[default]
    Process,
    /// The loss of power.
    Disk,
}

/// A Mount on the host's disk.
pub struct PhysicalStore {
    /// Without any link in it, as far as it exists.
    host: PathBuf,
    links: Vec<PathBuf>,
    hard_links: HardLinks,
    durability: Durability,
    history: Option<KeptPlace>,
    /// Does what is kept lie on another file system? Looked at once.
    kept_elsewhere: OnceLock<bool>,
    usage: Option<Arc<dyn UsageCounter>>,
    open: RwLock<Option<OpenMount>>,
}

impl std::fmt::Debug for PhysicalStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PhysicalStore").field("host", &self.host).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct OpenMount {
    dir: Arc<OwnedFd>,
    checked: Moment,
    /// What it lies on, once somebody asked.
    disk: Option<Disk>,
}

impl PhysicalStore {
    /// A Store on this host directory, which need not exist yet: the first write makes it.
    /// Links in the path are resolved now, once, and never followed again.
    pub fn new(host: &Path) -> Result<Self> {
        let Way { end, links, .. } = Way::to(host).map_err(|e| StoreError::caused_by(ErrorKind::Io, e))?;
        Ok(Self {
            host: end,
            links,
            hard_links: HardLinks::default(),
            durability: Durability::default(),
            history: None,
            kept_elsewhere: OnceLock::new(),
            usage: None,
            open: RwLock::new(None),
        })
    }

    /// With this treatment of hard links.
    #[must_use]
    pub fn with_hard_links(mut self, hard_links: HardLinks) -> Self {
        self.hard_links = hard_links;
        self
    }

    /// With this durability.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// With a place for what changes replace; only changes that ask for it are kept.
    #[must_use]
    pub fn with_history(mut self, place: KeptPlace) -> Self {
        self.history = Some(place);
        self
    }

    /// With a counter of what the Mount holds. Without one a quota does not hold anything back.
    #[must_use]
    pub fn with_usage(mut self, counter: Arc<dyn UsageCounter>) -> Self {
        self.usage = Some(counter);
        self
    }

    /// The counter it was given.
    pub(crate) fn usage_counter(&self) -> Option<&dyn UsageCounter> {
        self.usage.as_deref()
    }

    /// The host directory, for whoever looks after the host. Never for an agent.
    pub fn host(&self) -> &Path {
        &self.host
    }

    /// The links by which its path led to the host directory, each in the directory that holds it.
    pub fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// The place it reaches, for finding two Mounts of one place.
    pub fn territory(&self) -> Territory {
        let names = self.host.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        });
        Territory::new("host", names)
    }

    /// The Mount's directory. A path that meanwhile leads to another directory (the old one was
    /// deleted or moved away) is noticed: at once for a change, within moments for a read.
    fn mount(&self, trust: Duration) -> Result<Arc<OwnedFd>> {
        self.open_mount(trust).map(|open| open.dir)
    }

    fn open_mount(&self, trust: Duration) -> Result<OpenMount> {
        let last = match self.last_open() {
            Some(open) if moment().saturating_sub(open.checked) < trust => return Ok(open),
            last => last,
        };
        let dir = Arc::new(self.open_host().map_err(store_error)?);
        // The old directory is still open, so that its device is nobody else's yet.
        let disk = last.as_ref().and_then(|open| open.disk).filter(|disk| disk.holds(&dir));
        let opened = OpenMount { dir, checked: moment(), disk };
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(opened.clone());
        Ok(opened)
    }

    fn last_open(&self) -> Option<OpenMount> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn mount_for_reading(&self) -> Result<Arc<OwnedFd>> {
        self.mount(TRUST)
    }

    /// The Mount's directory, made if it is not there.
    fn mount_for_change(&self) -> Result<Arc<OwnedFd>> {
        match self.mount(Duration::ZERO) {
            Err(e) if *e.kind() == ErrorKind::NotFound => {
                make_dirs(&self.host, Mode::from_raw_mode(0o777), self.durability).map_err(store_error)?;
                self.mount(Duration::ZERO)
            }
            opened => opened,
        }
    }

    fn open_host(&self) -> rustix::io::Result<OwnedFd> {
        open_without_links(&self.host)
    }

    /// Reads again with a fresh descriptor when the Mount's directory itself is gone.
    fn reading<T>(&self, mut act: impl FnMut(&OwnedFd) -> Result<T>) -> Result<T> {
        let mount = self.mount_for_reading()?;
        match act(&mount) {
            Err(e) if *e.kind() == ErrorKind::NotFound && is_deleted(&mount) => act(&*self.mount(Duration::ZERO)?),
            done => done,
        }
    }
}

impl Store for PhysicalStore {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        resolve::resolve(call, &*self.mount_for_reading()?, &self.host, path, last)
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        call.tick(1)?;
        self.reading(|mount| look(mount, at.rel().as_str()).map(|stat| meta_of(&stat)).map_err(store_error))
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        call.tick(1)?;
        self.reading(|mount| {
            let (file, stat) = open_file(mount, at.rel().as_str())?;
            self.hard_links.check(&stat)?;
            let meta = meta_of(&stat);
            let end = range.end.min(meta.len);
            read_into(file.as_fd(), range.start, end.saturating_sub(range.start), out)?;
            Ok(meta)
        })
    }

    fn leads_to(&self, call: &Call<'_>, at: &Place<'_>) -> Result<String> {
        call.tick(1)?;
        self.reading(|mount| resolve::leads_to(mount, at.rel()))
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, query: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        self.reading(|mount| {
            let tree = Tree { call, mount, place: at, skip_ignored: query.skip_ignored };
            walk::walk(&tree, query, sink)
        })
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        self.reading(|mount| {
            let tree = Tree { call, mount, place: at, skip_ignored: query.skip_ignored };
            search::search(&tree, self.hard_links, query, sink)
        })
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        apply::apply(self, call, set)
    }

    fn holds(&self, call: &Call<'_>, at: &Place<'_>, expect: Expect) -> Result<bool> {
        if expect == Expect::Any {
            return Ok(true);
        }
        call.tick(1)?;
        match self.reading(|mount| look(mount, at.rel().as_str()).map_err(store_error)) {
            Ok(stat) => Ok(apply::check(Some(&stat), expect).is_ok()),
            Err(e) => match e.kind() {
                // Also where the Mount's own directory is not there yet.
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(apply::check(None, expect).is_ok()),
                // A link on the way was put there since.
                ErrorKind::Link => Ok(false),
                _ => Err(e),
            },
        }
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn is_at_hand(&self, op: OpKind, path: RelPath<'_>) -> bool {
        at_hand::is_at_hand(self, op, path)
    }

    fn keeps_up_to(&self) -> Option<u64> {
        let place = self.history.as_ref()?;
        let elsewhere =
            self.kept_elsewhere.get_or_init(|| history::device(&self.host) != history::device(place.host()));
        elsewhere.then(|| place.copy_cap())
    }

    fn versioned(&self) -> Option<&dyn Versioned> {
        let has_past = self.history.is_some() || self.usage.is_some();
        has_past.then_some(self as &dyn Versioned)
    }
}

/// Opens a host directory; no name on the way may be a link.
fn open_without_links(dir: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(rustix::fs::CWD, dir, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Makes a host directory and those above it, following no link: somebody may have put one where a
/// directory used to be. What is acknowledged in it lasts no longer than its own name.
fn make_dirs(dir: &Path, mode: Mode, durability: Durability) -> rustix::io::Result<()> {
    let Some((parent, name)) = dir.parent().zip(dir.file_name()) else { return Err(Errno::NOENT) };
    let above = match open_without_links(parent) {
        Err(Errno::NOENT) => {
            make_dirs(parent, mode, durability)?;
            open_without_links(parent)?
        }
        opened => opened?,
    };
    match rustix::fs::mkdirat(&above, name, mode) {
        Err(Errno::EXIST) => {}
        made => made?,
    }
    match durability {
        Durability::Disk => rustix::fs::fsync(&above),
        Durability::Process => Ok(()),
    }
}

/// A point in time since the host started.
type Moment = Duration;

/// The time to within a few milliseconds, at a third of the cost of the exact one: this is asked on
/// every read.
fn moment() -> Moment {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    Duration::try_from(now).unwrap_or_default()
}

fn is_deleted(dir: &OwnedFd) -> bool {
    rustix::fs::fstat(dir).is_ok_and(|stat| stat.st_nlink == 0)
}
