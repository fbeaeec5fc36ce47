//! The calls of one agent: so many run at once, and the others wait in their order without a thread.
//!
//! A Store in JavaScript that never answers keeps a thread until the time is up. Without a bound one such Store could take every
//! thread that there is, and other agents' calls would wait for it too. So the lane belongs to the JavaScript Stores that calls
//! may wait for, also where the Workspaces are made anew for each call.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::spawn_blocking;
use paddock_config::{ProgramMount, ProgramStore};
use paddock_core::Territory;

use crate::common::Common;

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

/// The lanes of those who stand on Stores in JavaScript.
static LANES: Common<Lane> = Common::new();

impl Lane {
    /// The lane of everybody who stands on the same Stores in JavaScript; one of its own where there are none.
    pub(crate) fn of(mounts: &[ProgramMount]) -> Arc<Self> {
        let places = mounts.iter().filter_map(|mount| in_javascript(&mount.store));
        let mut places: Vec<String> = places.map(ToString::to_string).collect();
        places.sort();
        if places.is_empty() { Arc::default() } else { LANES.named(places.join("\n")) }
    }

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

/// The place of the JavaScript Store that is read or written, if there is one.
fn in_javascript(store: &ProgramStore) -> Option<&Territory> {
    match store {
        ProgramStore::Other { territory, .. } => Some(territory),
        ProgramStore::Overlay { lower, .. } => in_javascript(lower),
        ProgramStore::Physical { .. } | ProgramStore::Virtual { .. } => None,
    }
}
