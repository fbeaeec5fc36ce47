//! A counter in memory: for one process, and to compare others with.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use paddock_core::{Quota, Result, Usage};

use super::{CountId, Counted, UsageCounter, UsageDelta};

/// Counts in memory. The one count that can be under way is never taken over: it ends with the process at the latest.
#[derive(Debug, Default)]
pub struct MemoryUsage {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    usage: Usage,
    counted_at: Option<SystemTime>,
    generation: u64,
    counting: Option<SystemTime>,
    /// Since the count that is under way began.
    added: UsageDelta,
    changes: u64,
}

impl MemoryUsage {
    /// Of a Mount that nobody has counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, delta: UsageDelta) {
        self.usage = delta.onto(self.usage);
        self.added = self.added.and(delta);
        self.changes += 1;
    }
}

impl UsageCounter for MemoryUsage {
    fn current(&self) -> Result<Option<Usage>> {
        let state = self.state();
        Ok(state.counted_at.map(|_| state.usage))
    }

    fn reserve(&self, delta: UsageDelta, quota: Quota, _: Instant) -> Result<()> {
        let mut state = self.state();
        if state.counted_at.is_some() {
            quota.allow(state.usage, delta.onto(state.usage))?;
        }
        state.add(delta);
        Ok(())
    }

    fn add(&self, delta: UsageDelta) -> Result<()> {
        self.state().add(delta);
        Ok(())
    }

    fn counted_at(&self) -> Result<Option<SystemTime>> {
        Ok(self.state().counted_at)
    }

    fn begin_count(&self) -> Result<Option<CountId>> {
        let mut state = self.state();
        if state.counting.is_some() {
            return Ok(None);
        }
        state.counting = Some(SystemTime::now());
        state.generation += 1;
        (state.added, state.changes) = (UsageDelta::default(), 0);
        Ok(Some(CountId(state.generation)))
    }

    fn renew_count(&self, count: CountId) -> Result<bool> {
        Ok(self.state().generation == count.0)
    }

    fn end_count(&self, count: CountId, seen: Usage) -> Result<Counted> {
        let mut state = self.state();
        if state.generation != count.0 || state.counting.is_none() {
            return Ok(Counted::Overtaken);
        }
        state.usage = state.added.onto(seen);
        state.counted_at = state.counting.take();
        Ok(if state.changes == 0 { Counted::Exact } else { Counted::WithChanges })
    }

    fn abandon_count(&self, count: CountId) -> Result<()> {
        let mut state = self.state();
        if state.generation == count.0 {
            state.counting = None;
        }
        Ok(())
    }
}
