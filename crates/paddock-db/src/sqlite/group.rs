//! One sync of the write-ahead log for all who wait for one.
//!
//! Who comes while a sync runs waits for the next, which is begun by one of them for all. A failed sync fails every commit
//! that it was for, and none is acknowledged afterwards until [`GroupSync::healed`]: the kernel reports a failure
//! once and may then call the same bytes clean, so asking it a second time proves nothing.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

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

    /// Returns when the commit of `ticket` is on the disk. `sync` is asked of those who do it for all.
    pub(super) fn wait(&self, ticket: Ticket, sync: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
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
            // Before the sync: what is committed while it runs may not be in it.
            let upto = self.committed.load(Ordering::SeqCst);
            let outcome = sync();
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

    /// Whether every commit so far is on the disk.
    pub(super) fn is_synced(&self) -> bool {
        lock(&self.state).synced >= self.committed.load(Ordering::SeqCst)
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

/// Brings the content of the log to the disk.
pub(super) fn sync(log: &File) -> Result<(), Errno> {
    loop {
        match rustix::fs::fdatasync(log) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn who_comes_during_a_sync_shares_the_next_one() {
        let group = GroupSync::default();
        let syncs = AtomicUsize::new(0);
        let count = || {
            syncs.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let first = group.committed();
        let (group, count) = (&group, &count);
        std::thread::scope(|scope| {
            let during = || {
                for _ in 0..7 {
                    let ticket = group.committed();
                    scope.spawn(move || group.wait(ticket, count).unwrap());
                }
                count()
            };
            group.wait(first, during).unwrap();
        });
        assert_eq!(syncs.load(Ordering::SeqCst), 2, "one for the first, one for the seven");
    }

    #[test]
    fn a_failed_sync_fails_all_it_was_for_until_healed() {
        let group = GroupSync::default();
        let (first, second) = (group.committed(), group.committed());
        assert_eq!(group.wait(first, || Err(Errno::IO)), Err(Errno::IO));
        assert_eq!(group.wait(second, || panic!("not asked again")), Err(Errno::IO));
        let third = group.committed();
        assert_eq!(group.wait(third, || Ok(())), Err(Errno::IO), "a sync that works now proves nothing");
        assert!(group.is_suspect());
        group.healed();
        assert!(!group.is_suspect());
        assert_eq!(group.wait(third, || panic!("on the disk already")), Ok(()));
        assert_eq!(group.wait(group.committed(), || Ok(())), Ok(()));
    }
}
