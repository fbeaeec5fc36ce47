//! The thread that clones: one for the whole process, and it never ends.
//!
//! The kernel sends the death signal of a child when the *thread* that made it ends, not the process. Were a sandbox
//! cloned from a worker thread, it would die with that worker; cloned from here it dies with the process.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::error::Error;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` on the thread that lives on, and waits for its answer.
pub(crate) fn on_lasting_thread<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let gone = || Error::launcher("reaching the thread that starts commands")(std::io::Error::other("it has ended"));
    let (answer, wait) = channel();
    let job: Job = Box::new(move || {
        let _ = answer.send(job());
    });
    jobs().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
    wait.recv().map_err(|_| gone())
}

fn jobs() -> Option<Sender<Job>> {
    static JOBS: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    JOBS.get_or_init(|| {
        let (sender, receiver) = channel::<Job>();
        let thread = thread::Builder::new().name("paddock-spawner".to_owned());
        let started = thread.spawn(move || {
            for job in receiver {
                job();
            }
        });
        started.ok().map(|_| sender)
    })
    .clone()
}
