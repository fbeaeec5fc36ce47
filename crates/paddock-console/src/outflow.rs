//! What is sent while it is read, at the pace of whoever takes it: exports.
//!
//! A slow reader holds the thread that feeds it. So each has a thread of its own, never one of the pool that answers everybody else; there are few
//! of them, one more is asked to come later, and a reader that takes nothing is let go with its connection.

use std::io;
use std::sync::Arc;
use std::thread;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, mpsc};

use crate::problem::Problem;

/// The most exports at once.
const AT_ONCE: usize = 16;
/// The stack of a thread: a path can be two thousand directories deep.
const DEEP: usize = 16 * 1024 * 1024;

/// The exports of a server.
pub(crate) struct Outflow {
    places: Arc<Semaphore>,
}

impl Default for Outflow {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Outflow {
    /// Lets `feed` write to a reader on a thread of its own; what it writes comes out of the receiver, so many pieces ahead.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        ahead: usize,
        feed: impl FnOnce(Outlet<T>) + Send + 'static,
    ) -> Result<mpsc::Receiver<T>, TooMany> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| TooMany)?;
        let (to, from) = mpsc::channel(ahead);
        let fed = thread::Builder::new().name("paddock-export".to_owned()).stack_size(DEEP).spawn(move || {
            let _place = place;
            feed(Outlet { to });
        });
        fed.map(|_| from).map_err(|error| {
            tracing::warn!(%error, "an export could not be begun");
            TooMany
        })
    }
}

/// There are as many as there may be.
pub(crate) struct TooMany;

impl IntoResponse for TooMany {
    fn into_response(self) -> Response {
        let text = format!("{AT_ONCE} exports are under way already");
        let hint = "try again when one of them has ended";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many", &text, Some(hint));
        let mut response = problem.into_response();
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
        response
    }
}

/// Where what is written goes.
pub(crate) struct Outlet<T> {
    to: mpsc::Sender<T>,
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Self {
        Self { to: self.to.clone() }
    }
}

impl<T> Outlet<T> {
    /// Hands a piece on; an error where the reader is gone, or was let go.
    pub(crate) fn send(&self, piece: T) -> io::Result<()> {
        self.to.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Has the reader gone away?
    pub(crate) fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feeder_waits_for_its_reader_and_hears_that_it_is_gone() {
        let (to, mut from) = mpsc::channel(1);
        let outlet = Outlet { to };
        outlet.send(1).unwrap();
        let taking = thread::spawn(move || [from.blocking_recv(), from.blocking_recv()]);
        outlet.send(2).unwrap();
        assert_eq!(taking.join().unwrap(), [Some(1), Some(2)]);
        assert_eq!(outlet.send(3).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_place_is_free_again_when_its_feeder_ends() {
        let outflow = Outflow::default();
        let (end, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let begin = || {
            let held = Arc::clone(&held);
            outflow.begin::<()>(1, move |_| {
                let _ = held.lock().unwrap().recv();
            })
        };
        let taken: Vec<_> = (0..AT_ONCE).map(|_| begin().map_err(|_| "full").unwrap()).collect();
        assert!(begin().is_err());
        drop(end);
        for mut one in taken {
            assert_eq!(one.blocking_recv(), None);
        }
        while outflow.places.available_permits() < AT_ONCE {
            thread::yield_now();
        }
        assert!(begin().is_ok());
    }
}
