//! How much comes in from outside at once: runs of git, and archives that are kept until they are whole.
//!
//! Each holds a thread or disk of this machine for as long as somebody else likes. So there are few of them, for the whole process; one more is
//! asked to come later, and never waits here.

use std::sync::atomic::{AtomicU64, Ordering};

use paddock_desk::{Failure, FailureKind, Result};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The most runs of git at once.
const MOST_RUNS: usize = 4;
/// The most archives at once.
const MOST_ARCHIVES: usize = 4;
/// The most bytes of all archives that are kept now.
const MOST_BYTES: u64 = 8 << 30;

static RUNS: Semaphore = Semaphore::const_new(MOST_RUNS);
static ARCHIVES: Semaphore = Semaphore::const_new(MOST_ARCHIVES);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// A place among the runs of git, until it is let go of.
pub(super) fn run() -> Result<SemaphorePermit<'static>> {
    let busy = |_| busy(format!("{MOST_RUNS} imports and pushes with git are under way already"));
    RUNS.try_acquire().map_err(busy)
}

/// A place among the archives, with what it keeps, until it is let go of.
pub(super) struct Kept {
    _place: SemaphorePermit<'static>,
    bytes: u64,
}

impl Kept {
    /// Nothing yet.
    pub(super) fn begin() -> Result<Self> {
        let busy = |_| busy(format!("{MOST_ARCHIVES} archives are on their way in already"));
        Ok(Self { _place: ARCHIVES.try_acquire().map_err(busy)?, bytes: 0 })
    }

    /// So many bytes more.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<()> {
        let grown = |all: u64| all.checked_add(bytes).filter(|all| *all <= MOST_BYTES);
        if BYTES.fetch_update(Ordering::AcqRel, Ordering::Acquire, grown).is_err() {
            return Err(busy("the archives that are on their way in are too large together"));
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

fn busy(text: impl std::fmt::Display) -> Failure {
    Failure::of(FailureKind::Busy, text, "try again when one of them has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since the bounds are those of the process.
    #[test]
    fn archives_are_few_and_bounded_together() {
        let mut kept: Vec<Kept> = (0..MOST_ARCHIVES).map(|_| Kept::begin().unwrap()).collect();
        assert_eq!(Kept::begin().err().map(|failure| failure.kind()), Some(FailureKind::Busy));
        kept[0].grow(MOST_BYTES - 1).unwrap();
        kept[1].grow(1).unwrap();
        assert_eq!(kept[2].grow(1).map_err(|failure| failure.kind()), Err(FailureKind::Busy));
        kept.remove(0);
        kept[1].grow(MOST_BYTES - 1).unwrap();
        drop(kept);
        assert_eq!(BYTES.load(Ordering::Acquire), 0);
        Kept::begin().unwrap();
    }
}
