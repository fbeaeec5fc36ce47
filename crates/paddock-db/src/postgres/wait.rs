//! Waiting for the driver: one thread of its own moves the bytes of every connection, callers wait like for a lock.
//!
//! Callers are synchronous and may themselves stand on a thread of an asynchronous runtime, where blocking on a
//! runtime panics. So nothing here enters a runtime from a caller's thread: a future is polled where the caller stands
//! and the thread is parked until the driver wakes it. No wait is without an end.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use tokio::runtime::{Builder, Handle};

/// The runtime that moves the bytes; started when the first connection is opened, and never ended.
pub(super) fn driver() -> io::Result<&'static Handle> {
    static DRIVER: OnceLock<Result<Handle, io::ErrorKind>> = OnceLock::new();
    DRIVER.get_or_init(|| start().map_err(|error| error.kind())).as_ref().map_err(|kind| io::Error::from(*kind))
}

fn start() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let handle = runtime.handle().clone();
    let forever = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("paddock-postgres".to_owned()).spawn(forever)?;
    Ok(handle)
}

/// What the future comes to; none when `deadline` passes first.
pub(super) fn until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

/// Polls once, which hands a request to the driver; the answer is taken later, or by nobody.
pub(super) fn begin<F: Future + ?Sized>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_the_driver_computes_arrives_at_a_parked_thread() {
        let task = driver().unwrap().spawn(async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            7
        });
        assert_eq!(until(Instant::now() + Duration::from_secs(60), task).unwrap().unwrap(), 7);
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        assert!(until(Instant::now() + Duration::from_millis(5), std::future::pending::<()>()).is_none());
    }

    #[test]
    fn a_thread_of_a_runtime_may_wait_too() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let waited = runtime.block_on(async {
            let task = driver().unwrap().spawn(async { 7 });
            until(Instant::now() + Duration::from_secs(60), task).unwrap().unwrap()
        });
        assert_eq!(waited, 7);
    }
}
