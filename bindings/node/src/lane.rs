//! The calls of one agent: so many run at once, and the others wait in their order without a thread.
//!
//! A Store in JavaScript that never answers keeps a thread until the time is up. Without a bound one such Store could take every
//! thread that there is, and other agents' calls would wait for it too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::spawn_blocking;

/// How many calls of one agent run at once.
const MOST: usize = 128;

/// Something to be done on a thread.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// What runs and what waits.
#[derive(Default)]
pub(crate) struct Lane {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: VecDeque<Job>,
}

impl Lane {
    /// Runs a job on a thread, now or when others are done.
    pub(crate) fn run(self: Arc<Self>, job: Job) {
        {
            let mut state = self.lock();
            if state.running == MOST {
                state.waiting.push_back(job);
                return;
            }
            state.running += 1;
        }
        spawn_blocking(move || {
            let mut job = Some(job);
            while let Some(next) = job {
                // A place that a defect took would never come back.
                let _ = catch_unwind(AssertUnwindSafe(next));
                job = self.next();
            }
        });
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.running -= 1;
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
