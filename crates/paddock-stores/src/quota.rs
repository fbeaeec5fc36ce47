//! What a Mount on the host's disk holds, as a counter: never a scan on a call.
//!
//! A change reserves what it adds before it is made, in one step with the look at the quota, so that many at once never
//! exceed it together; what it did not use is given back. Others write to the host's disk too, so that a counter is only as
//! good as its last count: the [`Reconciler`] counts the whole tree in the background, when nobody ever did or when that is long ago.
//! A program that makes one change and ends has no background: it counts first ([`count_first`]).
//!
//! A count takes its time, and changes go on. What they add from its beginning on is put on top of what was seen,
//! so that none is lost. One that the count had seen as well is then in it twice, until a count during which nothing
//! changed; whoever ends a count is told which of the two it was.
//!
//! Nothing here decides how much a Mount may hold: the quota comes with each change.

mod memory;
mod reconcile;
mod sqlite;

use std::time::{Instant, SystemTime};

use paddock_core::{Quota, Result, Usage};

pub use memory::MemoryUsage;
pub use reconcile::{Reconciler, count_first, reconcile};
pub use sqlite::SqliteUsage;

/// Counts what one Mount holds, for every Store and process that changes it.
pub trait UsageCounter: Send + Sync {
    /// What the Mount holds; nothing while it was never counted.
    fn current(&self) -> Result<Option<Usage>>;

    /// Adds a change that is about to be made, if the quota allows it, in one step. While the Mount was never counted,
    /// everything is allowed. Waits for other writers, not past `until`.
    fn reserve(&self, delta: UsageDelta, quota: Quota, until: Instant) -> Result<()>;

    /// Adds a change that was made already, or takes one back.
    fn add(&self, delta: UsageDelta) -> Result<()>;

    /// When the last count began that is in it; nothing while there is none.
    fn counted_at(&self) -> Result<Option<SystemTime>>;

    /// Begins a count; nothing while somebody else is at it.
    fn begin_count(&self) -> Result<Option<CountId>>;

    /// Says that the count goes on. False when somebody else has taken over.
    fn renew_count(&self, count: CountId) -> Result<bool>;

    /// Ends a count with what it saw.
    fn end_count(&self, count: CountId, seen: Usage) -> Result<Counted>;

    /// Ends a count that saw nothing.
    fn abandon_count(&self, count: CountId) -> Result<()>;
}

/// One count among those of a Mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountId(u64);

/// What a count was worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Nothing changed meanwhile, as far as Paddock knows.
    Exact,
    /// Changes were made meanwhile: they are on top, and some of them may be in it twice.
    WithChanges,
    /// Somebody else took over; what was seen does not count.
    Overtaken,
}

/// How much more, or less, a Mount holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageDelta {
    /// Bytes of content.
    pub bytes: i64,
    /// Files, links and directories.
    pub files: i64,
}

impl UsageDelta {
    /// From what was there, if anything, to what will be.
    pub fn between(old: Option<u64>, new: Option<u64>) -> Self {
        let bytes = |len: Option<u64>| signed(len.unwrap_or(0));
        let files = |len: Option<u64>| i64::from(len.is_some());
        Self { bytes: bytes(new).saturating_sub(bytes(old)), files: files(new) - files(old) }
    }

    /// One after the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), files: self.files.saturating_add(other.files) }
    }

    /// The way back.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { bytes: self.bytes.saturating_neg(), files: self.files.saturating_neg() }
    }

    /// Does it make a Mount larger in any respect?
    pub fn grows(self) -> bool {
        self.bytes > 0 || self.files > 0
    }

    /// What a Mount holds afterwards. Never less than nothing: others may have taken away what was counted.
    pub fn onto(self, usage: Usage) -> Usage {
        Usage {
            bytes: usage.bytes.saturating_add_signed(self.bytes),
            files: usage.files.saturating_add_signed(self.files),
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_tells_what_came_and_what_went() {
        let delta = |bytes, files| UsageDelta { bytes, files };
        assert_eq!(UsageDelta::between(None, Some(5)), delta(5, 1));
        assert_eq!(UsageDelta::between(Some(7), Some(5)), delta(-2, 0));
        assert_eq!(UsageDelta::between(Some(7), None), delta(-7, -1));
        assert_eq!(UsageDelta::between(Some(u64::MAX), None), delta(-i64::MAX, -1));
        assert!(delta(-5, 1).grows() && delta(1, -1).grows() && !delta(0, 0).grows() && !delta(-1, 0).grows());
        assert_eq!(delta(-9, -9).onto(Usage { bytes: 3, files: 3 }), Usage { bytes: 0, files: 0 });
        assert_eq!(delta(3, -2).and(delta(3, -2).reversed()), delta(0, 0));
    }
}
