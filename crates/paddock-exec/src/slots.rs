//! Slots: the threads that clone, each with a control group that its sandboxes are born into.
//!
//! Two facts of the kernel shape this. The death signal of a child comes when the *thread* that cloned it ends, not the
//! process, so a sandbox is cloned by a thread that outlives it. And moving a process into a version 1 control group
//! waits for every processor, for milliseconds; a child of a thread that is in the group is in it for nothing. So a
//! thread with its group is kept between runs, and goes when nothing has been asked of it for a while.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::cgroup::Group;
use crate::error::Error;
use crate::sys;

/// So many slots are made, rather than waiting for one whose last sandbox is still going.
const SPARE: usize = 4;

/// How long a slot waits for its next run.
const IDLE: Duration = Duration::from_secs(3);

type Job = Box<dyn FnOnce() + Send>;

/// Slots with no command, the last used one last.
static FREE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// A slot that runs nothing: its thread, and the group that its sandboxes are born into.
struct Idle {
    jobs: Sender<Job>,
    group: Option<Arc<Group>>,
    number: u64,
    thread: JoinHandle<()>,
    /// Its last sandbox is still going.
    busy: Arc<AtomicBool>,
}

fn free() -> MutexGuard<'static, Vec<Idle>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A slot in use: it goes back to the free ones when it is dropped, so it must outlive what was cloned in it.
pub(crate) struct Slot {
    idle: Option<Idle>,
}

impl Slot {
    /// Takes a free slot, or makes one.
    pub(crate) fn take() -> Result<Slot, Error> {
        let idle = {
            let mut free = free();
            let ready = free.iter().position(|idle| !idle.busy.load(Ordering::Acquire));
            let any = ready.or_else(|| (free.len() >= SPARE).then_some(0));
            any.map(|index| free.remove(index))
        };
        let idle = idle.map_or_else(start, Ok)?;
        Ok(Slot { idle: Some(idle) })
    }

    /// The control group, where there can be one.
    pub(crate) fn group(&self) -> Option<&Arc<Group>> {
        self.idle.as_ref()?.group.as_ref()
    }

    /// Runs `job` on the slot's thread and waits for its answer.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (answer, wait) = channel();
        let job: Job = Box::new(move || {
            let _ = answer.send(job());
        });
        self.idle.as_ref().ok_or_else(gone)?.jobs.send(job).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())
    }
}

impl Slot {
    /// Gives the slot back and has its thread do `last` meanwhile.
    pub(crate) fn leave(mut self, last: impl FnOnce() + Send + 'static) {
        let Some(idle) = self.idle.take() else { return last() };
        idle.busy.store(true, Ordering::Release);
        let busy = Arc::clone(&idle.busy);
        let job: Job = Box::new(move || {
            last();
            busy.store(false, Ordering::Release);
        });
        match idle.jobs.send(job) {
            Ok(()) => free().push(idle),
            Err(unsent) => (unsent.0)(),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        free().extend(self.idle.take());
    }
}

fn gone() -> Error {
    Error::launcher("reaching the thread that starts commands")(std::io::Error::other("it has ended"))
}

/// Ends the free slots and removes their control groups, now.
///
/// They also go three seconds after their last run, and when the program ends by itself. What a killed program leaves is
/// removed by the next one.
pub fn tidy_up() {
    let idle = std::mem::take(&mut *free());
    for Idle { jobs, thread, .. } in idle {
        drop(jobs);
        let _ = thread.join();
    }
}

/// Has this process give large pieces of memory back as soon as they are free: what it keeps makes each start slower.
///
/// The first command does this too; whoever serves file systems before that asks for it earlier.
pub fn keep_no_large_memory() {
    sys::keep_no_large_memory();
}

extern "C" fn tidy_at_exit() {
    tidy_up();
}

fn start() -> Result<Idle, Error> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        sys::at_exit(tidy_at_exit);
        keep_no_large_memory();
    });
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (jobs, receiver) = channel();
    let (made, wait) = channel();
    let thread = thread::Builder::new().name("paddock-slot".to_owned());
    let live = move || {
        let group = Group::make(number).map(Arc::new);
        if made.send(group.clone()).is_ok() {
            live(&receiver, number);
        }
        if let Some(group) = group {
            group.remove();
        }
    };
    let thread = thread.spawn(live).map_err(Error::launcher("starting the thread that starts commands"))?;
    let group = wait.recv().map_err(|_| gone())?;
    Ok(Idle { jobs, group, number, thread, busy: Arc::default() })
}

fn live(jobs: &Receiver<Job>, number: u64) {
    loop {
        match jobs.recv_timeout(IDLE) {
            Ok(job) => job(),
            Err(RecvTimeoutError::Disconnected) => return,
            // Only a slot that is still free may go: one that was taken meanwhile is about to get a job.
            Err(RecvTimeoutError::Timeout) => {
                let mut free = free();
                let Some(index) = free.iter().position(|idle| idle.number == number) else { continue };
                free.remove(index);
                return;
            }
        }
    }
}
