//! The quota while a set of changes is made.
//!
//! What grows is reserved before it is made and given back when it was not. What shrinks needs no leave: it is gathered and told
//! to the counter together, so that deleting ten thousand files does not wait for ten thousand transactions.

use std::cell::Cell;
use std::time::Instant;

use paddock_core::{ErrorKind, Quota, Result};

use crate::quota::{UsageCounter, UsageDelta};

/// How many changes that shrink are told together at most.
const TOGETHER: u32 = 512;

/// The counter of a Store for one set of changes.
pub(super) struct Meter<'a> {
    counter: Option<&'a dyn UsageCounter>,
    quota: Quota,
    until: Instant,
    /// Made already and not told yet; it never grows.
    freed: Cell<UsageDelta>,
    untold: Cell<u32>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(counter: Option<&'a dyn UsageCounter>, quota: Quota, until: Instant) -> Self {
        Self { counter, quota, until, freed: Cell::default(), untold: Cell::new(0) }
    }

    /// Is there room, as far as can be told without reserving it? Asked before directories are made for something
    /// that would be refused then.
    pub(super) fn room_for(&self, delta: UsageDelta) -> Result<()> {
        let Some(counter) = self.counter.filter(|_| !self.quota.is_unbounded()) else { return Ok(()) };
        if let Some(now) = counter.current()? {
            let now = self.freed.get().onto(now);
            self.quota.allow(now, delta.onto(now))?;
        }
        Ok(())
    }

    /// Takes the room for a change that is about to be made.
    pub(super) fn reserve(&self, delta: UsageDelta) -> Result<Reserved<'_>> {
        if let Some(counter) = self.counter.filter(|_| delta.grows()) {
            self.tell();
            counter.reserve(delta, self.quota, self.until).map_err(|e| match e.kind() {
                // The call's own time is up, and nothing but the counter was waited for.
                ErrorKind::Busy if Instant::now() >= self.until => ErrorKind::TimedOut.into(),
                _ => e,
            })?;
        }
        Ok(Reserved { meter: self, delta, made: false })
    }

    fn gather(&self, delta: UsageDelta) {
        self.freed.set(self.freed.get().and(delta));
        self.untold.set(self.untold.get() + 1);
        if self.untold.get() >= TOGETHER {
            self.tell();
        }
    }

    /// What goes wrong here is put right by the next count.
    fn tell(&self) {
        let freed = self.freed.take();
        self.untold.set(0);
        if let Some(counter) = self.counter.filter(|_| freed != UsageDelta::default()) {
            let _ = counter.add(freed);
        }
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Room that was taken; given back when dropped, unless the change was made.
pub(super) struct Reserved<'a> {
    meter: &'a Meter<'a>,
    delta: UsageDelta,
    made: bool,
}

impl Reserved<'_> {
    /// The change was made.
    pub(super) fn used(mut self) {
        self.made = true;
        if !self.delta.grows() {
            self.meter.gather(self.delta);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.meter.counter.filter(|_| !self.made && self.delta.grows()) {
            let _ = counter.add(self.delta.reversed());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use paddock_core::Usage;

    use super::*;
    use crate::quota::MemoryUsage;

    fn counted() -> MemoryUsage {
        let counter = MemoryUsage::new();
        let count = counter.begin_count().unwrap().unwrap();
        counter.end_count(count, Usage { bytes: 5, files: 1 }).unwrap();
        counter
    }

    fn holds(counter: &MemoryUsage) -> (u64, u64) {
        let usage = counter.current().unwrap().unwrap();
        (usage.bytes, usage.files)
    }

    #[test]
    fn what_was_reserved_and_not_used_is_given_back() {
        let counter = counted();
        let quota = Quota { bytes: Some(10), files: None };
        let meter = Meter::new(Some(&counter), quota, Instant::now() + Duration::from_secs(60));
        let grown = UsageDelta { bytes: 5, files: 1 };
        let room = meter.reserve(grown).unwrap();
        assert_eq!(holds(&counter), (10, 2), "taken at once");
        assert!(meter.reserve(grown).is_err() && meter.room_for(grown).is_err());
        drop(room);
        assert_eq!(holds(&counter), (5, 1));
        meter.reserve(grown).unwrap().used();
        assert_eq!(holds(&counter), (10, 2));
    }

    #[test]
    fn what_shrinks_is_told_together_and_at_the_latest_in_the_end() {
        let counter = counted();
        let meter = Meter::new(Some(&counter), Quota::default(), Instant::now() + Duration::from_secs(60));
        let gone = UsageDelta { bytes: -2, files: 0 };
        drop(meter.reserve(gone).unwrap());
        meter.reserve(gone).unwrap().used();
        assert_eq!(holds(&counter), (5, 1), "not told yet, and what was not done never");
        meter.reserve(UsageDelta { bytes: 1, files: 0 }).unwrap().used();
        assert_eq!(holds(&counter), (4, 1), "told before what grows is");
        meter.reserve(gone).unwrap().used();
        drop(meter);
        assert_eq!(holds(&counter), (2, 1));
    }
}
