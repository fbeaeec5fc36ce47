//! One sync of the write-ahead log for all who wait for one.
//!
//! Who comes while a sync runs waits for the next, which is begun by one of them for all. A failed sync fails every commit
//! that it was for, and none is acknowledged afterwards until [`GroupSync::healed`]: the kernel reports a failure
//! once and may then call the same bytes clean, so asking it a second time proves nothing.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::io::Errno;

use crate::sync::lock;

/// How far commits are on the disk.
#[derive(Debug, Default)]
pub(super) struct GroupSync {
    committed: AtomicU64,
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    synced: u64,
    failed: Option<(u64, Errno)>,
}

/// The number of a commit, in the order of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

impl GroupSync {
    /// Counts a commit that has just been made. Called inside the turn to write.
    pub(super) fn committed(&self) -> Ticket {
        Ticket(self.committed.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Returns when the commit of `ticket` is on the disk.
    pub(super) fn wait(&self, ticket: Ticket, log: &Arc<File>) -> Result<(), Errno> {
        let mut state = lock(&self.state);
        loop {
            if state.synced >= ticket.0 {
                return Ok(());
            }
            if let Some((upto, errno)) = state.failed
                && ticket.0 <= upto
            {
                return Err(errno);
            }
            if state.running {
                state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.running = true;
            drop(state);
            let upto = self.committed.load(Ordering::SeqCst);
            let outcome = sync(log);
            state = lock(&self.state);
            state.running = false;
            match outcome {
                Ok(()) if state.failed.is_none() => state.synced = state.synced.max(upto),
                Ok(()) => state.failed = state.failed.map(|(before, errno)| (before.max(upto), errno)),
                Err(errno) => state.failed = Some((upto, errno)),
            }
            self.done.notify_all();
        }
    }

    /// Whether a sync has failed since all was known to be on the disk.
    pub(super) fn is_suspect(&self) -> bool {
        lock(&self.state).failed.is_some()
    }

    /// Everything committed so far has reached the disk by another way. Called inside the turn to write.
    pub(super) fn healed(&self) {
        let mut state = lock(&self.state);
        state.failed = None;
        state.synced = self.committed.load(Ordering::SeqCst);
    }
}

fn sync(log: &File) -> Result<(), Errno> {
    loop {
        match rustix::fs::fdatasync(log) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
