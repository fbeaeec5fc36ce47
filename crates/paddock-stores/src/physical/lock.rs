//! One writer at a time per directory, within this process and across processes.
//!
//! The lock is an advisory `flock` on the directory that holds the file: the file itself is replaced
//! by every write, so its inode is no place for a lock, and a lock file would be litter in people's
//! projects. Threads of this process queue on a mutex first, so that at most one of them polls.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use paddock_core::{Call, ErrorKind, StoreError};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::host::store_error;

/// How long a lock is waited for. Anybody who may read a directory can hold one for ever, and must not
/// keep more than one call, for a moment.
const PATIENCE: Duration = Duration::from_secs(5);

const STRIPES: usize = 64;
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

fn stripe(dev: u64, ino: u64) -> usize {
    let mixed = (dev ^ ino).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 58) as usize % STRIPES
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
