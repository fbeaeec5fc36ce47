//! One writer at a time per directory, within this process and across processes.
//!
//! The lock is an advisory `flock` on the directory that holds the file: the file itself is replaced
//! by every write, so its inode is no place for a lock, and a lock file would be litter in people's
//! projects. Threads of this process queue on a mutex first, so that at most one of them polls.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paddock_core::{Call, ErrorKind, StoreError};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::host::store_error;

const STRIPES: usize = 64;
static QUEUES: [Mutex<()>; STRIPES] = [const { Mutex::new(()) }; STRIPES];

/// Locked directories; released when dropped.
pub(super) struct DirLock<'a> {
    dirs: Vec<&'a OwnedFd>,
    _queues: Vec<MutexGuard<'static, ()>>,
}

impl Drop for DirLock<'_> {
    fn drop(&mut self) {
        for dir in &self.dirs {
            // Closing the descriptor releases it in any case; this only does so earlier.
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
    let queues = stripes.into_iter().map(|i| QUEUES[i].lock().unwrap_or_else(PoisonError::into_inner)).collect();
    let mut lock = DirLock { dirs: Vec::with_capacity(places.len()), _queues: queues };
    for (_, dir) in places {
        wait_for(call, dir)?;
        lock.dirs.push(dir);
    }
    Ok(lock)
}

fn stripe(dev: u64, ino: u64) -> usize {
    let mixed = (dev ^ ino).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 58) as usize % STRIPES
}

fn wait_for(call: &Call<'_>, dir: impl AsFd) -> Result<(), StoreError> {
    let mut pause = Duration::from_micros(20);
    loop {
        match rustix::fs::flock(dir.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            // A file system without locks: the queue of this process has to do.
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(()),
            Err(e) => return Err(store_error(e)),
        }
        if let Err(e) = call.tick(0) {
            let held = *e.kind() == ErrorKind::TimedOut;
            return Err(if held { ErrorKind::Busy.into() } else { e });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_micros(500));
    }
}
