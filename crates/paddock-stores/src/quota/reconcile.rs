//! Counting a Mount again, beside the calls.
//!
//! The [`Reconciler`] is one thread for all Stores that it is given. It only ever reads the host's disk; what it finds goes
//! into the counter. A count that fails leaves the counter as it was, and is tried again at the next turn.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{AgentName, Call, CallId, Cancel, ErrorKind, Result};

use super::{CountId, Counted, UsageCounter};
use crate::PhysicalStore;

/// How long a count may take.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How often a count says that it goes on.
const RENEWAL: Duration = Duration::from_secs(10);

/// How often it is looked whether somebody else has counted.
const LOOK: Duration = Duration::from_millis(20);

/// How often it is counted again because changes were made meanwhile.
const RECOUNTS: usize = 3;

/// Counts what a Store's Mount holds and puts it into the Store's counter, whenever it was last counted. Counts again,
/// a few times, where changes were made meanwhile. Nothing comes back where there is no counter, or where somebody else is
/// counting.
pub fn reconcile(store: &PhysicalStore, cancel: &Cancel) -> Result<Option<Counted>> {
    reconcile_until(store, cancel, Instant::now() + LONGEST)
}

/// Counts a Store's Mount if nobody ever did, for whoever waits for it: not past `until`. Answers whether it is counted
/// now; who finds somebody else at it waits for that.
pub fn count_first(store: &PhysicalStore, until: Instant) -> Result<bool> {
    let Some(counter) = store.usage_counter() else { return Ok(true) };
    while counter.counted_at()?.is_none() {
        if Instant::now() >= until {
            return Ok(false);
        }
        match reconcile_until(store, &Cancel::default(), until) {
            Ok(None) => std::thread::sleep(LOOK),
            Ok(Some(_)) => {}
            Err(e) if *e.kind() == ErrorKind::TimedOut => return Ok(false),
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}

fn reconcile_until(store: &PhysicalStore, cancel: &Cancel, until: Instant) -> Result<Option<Counted>> {
    let Some(counter) = store.usage_counter() else { return Ok(None) };
    let mut last = None;
    for _ in 0..RECOUNTS {
        let Some(count) = counter.begin_count()? else { return Ok(last) };
        last = Some(count_once(store, counter, count, cancel, until)?);
        if last != Some(Counted::WithChanges) {
            break;
        }
    }
    Ok(last)
}

fn count_once(
    store: &PhysicalStore,
    counter: &dyn UsageCounter,
    count: CountId,
    cancel: &Cancel,
    deadline: Instant,
) -> Result<Counted> {
    let agent = AgentName::main();
    let call = Call { id: CallId::next(), agent: &agent, cancel, deadline };
    let mut renewed = Instant::now();
    let seen = store.count_while(&call, &mut || {
        if renewed.elapsed() >= RENEWAL {
            renewed = Instant::now();
            // One that was taken over finds it out at the end.
            let _ = counter.renew_count(count);
        }
    });
    match seen {
        Ok(seen) => counter.end_count(count, seen),
        Err(e) => {
            counter.abandon_count(count)?;
            Err(e)
        }
    }
}

/// A thread that counts Mounts when nobody ever did or when that is long ago. Dropping it stops it.
#[derive(Debug)]
pub struct Reconciler {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    cancel: Cancel,
    asked: Mutex<bool>,
    bell: Condvar,
}

impl Stop {
    fn asked(&self) -> MutexGuard<'_, bool> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits. True when it is to stop.
    fn within(&self, pause: Duration) -> bool {
        let waited = self.bell.wait_timeout_while(self.asked(), pause, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Reconciler {
    /// Looks after these Stores from now on: each is counted at once when it never was, and whenever its last count is
    /// older than `every`.
    pub fn start(stores: Vec<Arc<PhysicalStore>>, every: Duration) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let seen = Arc::clone(&stop);
        let work = move || {
            loop {
                for store in stores.iter().filter(|store| is_due(store, every)) {
                    // What went wrong is met by the next call too; the next turn tries again.
                    let _ = reconcile(store, &seen.cancel);
                }
                if seen.within(every) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("paddock-usage".to_owned()).spawn(work)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Reconciler {
    fn drop(&mut self) {
        self.stop.cancel.stop();
        *self.stop.asked() = true;
        self.stop.bell.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_due(store: &PhysicalStore, every: Duration) -> bool {
    let Some(counter) = store.usage_counter() else { return false };
    match counter.counted_at() {
        Ok(Some(at)) => SystemTime::now().duration_since(at).map_or(true, |age| age >= every),
        Ok(None) => true,
        Err(_) => false,
    }
}
