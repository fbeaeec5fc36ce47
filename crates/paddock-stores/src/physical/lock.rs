//! One writer at a time per directory, within this process and across processes.
//!
//! The lock is an advisory `flock` on the directory that holds the file: the file itself is replaced
//! by every write, so its inode is no place for a lock, and a lock file would be litter in people's
//! projects. Threads of this process queue on a mutex first, so that at most one of them polls.
//!
//! A directory that moves is not locked as a whole: nobody waits for a lock while holding others but in
//! the one order of [`lock_dirs`]. It moves first, and then its writers are outlasted one directory
//! after the other, see [`outlast_writers`].

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use paddock_core::{Call, ErrorKind, Kind, MAX_EXPANSION, RelPath, StoreError};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::host::{open_dir, store_error};
use super::listing::Listing;

/// How long a lock is waited for. Anybody who may read a directory can hold one for ever, and must not
/// keep more than one call, for a moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// So many that two directories hardly ever share a queue: whoever waits for one that somebody else holds would keep those who want
/// the other.
const STRIPES: usize = 4096;
static QUEUES: [Mutex<()>; STRIPES] = [const { Mutex::new(()) }; STRIPES];

/// Locked directories; released when dropped.
pub(super) struct DirLock<'a> {
    dirs: Vec<&'a OwnedFd>,
    queues: Vec<MutexGuard<'static, ()>>,
}

impl Drop for DirLock<'_> {
    fn drop(&mut self) {
        for dir in &self.dirs {
            // Before the queue moves on. Closing the descriptor releases it in any case; this only does so earlier.
            let _ = rustix::fs::flock(dir, FlockOperation::Unlock);
        }
    }
}

/// Locks one or two directories, always in the same order, so that two calls never wait for each
/// other in a circle. Each descriptor has to be an open of the caller's own: locks belong to opens.
pub(super) fn lock_dirs<'a>(call: &Call<'_>, dirs: &[&'a OwnedFd]) -> Result<DirLock<'a>, StoreError> {
    let mut places = Vec::with_capacity(dirs.len());
    for dir in dirs {
        let stat = rustix::fs::fstat(dir).map_err(store_error)?;
        places.push(((stat.st_dev, stat.st_ino), *dir));
    }
    places.sort_by_key(|(place, _)| *place);
    places.dedup_by_key(|(place, _)| *place);
    let mut stripes: Vec<usize> = places.iter().map(|((dev, ino), _)| stripe(*dev, *ino)).collect();
    stripes.sort_unstable();
    stripes.dedup();
    let until = Instant::now() + PATIENCE;
    let mut lock = DirLock { dirs: Vec::with_capacity(places.len()), queues: Vec::with_capacity(stripes.len()) };
    for i in stripes {
        let queue = patiently(call, until, || match QUEUES[i].try_lock() {
            Ok(held) => Ok(Some(held)),
            Err(TryLockError::Poisoned(held)) => Ok(Some(held.into_inner())),
            Err(TryLockError::WouldBlock) => Ok(None),
        })?;
        lock.queues.push(queue);
    }
    for (_, dir) in places {
        patiently(call, until, || try_flock(dir))?;
        lock.dirs.push(dir);
    }
    Ok(lock)
}

/// Would a lock of this directory be had now? Somebody else may take it a moment later.
pub(super) fn is_free(dir: &OwnedFd) -> bool {
    let Ok(stat) = rustix::fs::fstat(dir) else { return false };
    let Ok(_queue) = QUEUES[stripe(stat.st_dev, stat.st_ino)].try_lock() else { return false };
    let is_ours = matches!(try_flock(dir), Ok(Some(())));
    if is_ours {
        let _ = rustix::fs::flock(dir, FlockOperation::Unlock);
    }
    is_ours
}

/// Waits until every change that was under way below a directory, when it got the path it has now, is over.
///
/// Why nothing changes there afterwards, by the rule that every change of a directory's entries is made
/// under its lock, and only if the path it was judged by led to it *after* the lock was taken: a change
/// whose path was asked before the directory moved had the lock by then, and keeps it until it is
/// over, so taking that lock here waits for it. One that asks later is led elsewhere and does nothing.
/// A directory is listed once its lock was ours, so that one made or moved in by the last change is gone
/// through too. No lock is held while another is waited for, and the caller must hold none.
pub(super) fn outlast_writers(call: &Call<'_>, mount: &OwnedFd, top: RelPath<'_>) -> Result<(), StoreError> {
    let mut left = vec![top.as_str().to_owned()];
    let mut found = 1;
    while let Some(path) = left.pop() {
        let inside = match dirs_once_free(call, mount, &path) {
            // Paddock changes nothing in what it cannot open, and removes nothing from here any more.
            Err(e) if path != top.as_str() && unreachable(&e) => continue,
            listed => listed?,
        };
        found += inside.len();
        if found > MAX_EXPANSION {
            let limit = MAX_EXPANSION as u64;
            return Err(ErrorKind::TooLarge { what: "the number of directories in it", limit }.into());
        }
        left.extend(inside);
    }
    Ok(())
}

/// The directories in a directory, as its last writer left them.
fn dirs_once_free(call: &Call<'_>, mount: &OwnedFd, path: &str) -> Result<Vec<String>, StoreError> {
    let dir = open_dir(mount, path).map_err(store_error)?;
    let _lock = lock_dirs(call, &[&dir])?;
    let listing = Listing::read(call, &dir)?;
    // What is not plain cannot be named by a path, so no change is ever made in it.
    let dirs = listing.iter().filter(|entry| entry.kind == Kind::Dir && entry.plain);
    Ok(dirs.map(|entry| format!("{path}/{}", entry.name)).collect())
}

fn unreachable(error: &StoreError) -> bool {
    use ErrorKind::{HostRefuses, Link, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | Link | HostRefuses)
}

fn stripe(dev: u64, ino: u64) -> usize {
    let mixed = (dev ^ ino).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 52) as usize % STRIPES
}

/// Locks unless somebody else holds it.
fn try_flock(dir: impl AsFd) -> Result<Option<()>, StoreError> {
    match rustix::fs::flock(dir.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(())),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        // A file system without locks: the queue of this process has to do.
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(Some(())),
        Err(e) => Err(store_error(e)),
    }
}

/// Tries until it works, the call is over, or patience is.
fn patiently<T>(
    call: &Call<'_>,
    until: Instant,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
) -> Result<T, StoreError> {
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        match call.tick(0) {
            Err(e) if *e.kind() == ErrorKind::TimedOut => return Err(ErrorKind::Busy.into()),
            other => other?,
        }
        if Instant::now() >= until {
            return Err(ErrorKind::Busy.into());
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_micros(500));
    }
}
