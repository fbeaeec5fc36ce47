//! A file's bytes, read piece by piece while they are sent: memory does not grow with the file, and no thread waits for a slow reader.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use futures_core::Stream;
use paddock_desk::Result;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::shared::on_a_thread;

/// How much is read at once.
const PIECE: u64 = 64 * 1024;
/// How many pieces are read ahead of the reader.
const AHEAD: usize = 2;

/// The bytes of this range. What changes meanwhile breaks the answer off: parts of two versions are never one file.
pub(crate) fn pieces(
    range: Range<u64>,
    read: impl Fn(Range<u64>) -> Result<Vec<u8>> + Send + Sync + 'static,
) -> Pieces {
    let (to, from) = mpsc::channel(AHEAD);
    let read = Arc::new(read);
    tokio::spawn(async move {
        let mut at = range.start;
        while at < range.end {
            let next = at..range.end.min(at + PIECE);
            at = next.end;
            let reading = Arc::clone(&read);
            let piece = on_a_thread(move || reading(next)).await;
            let broken = piece.is_err();
            let piece = piece.map(Bytes::from).map_err(|failure| std::io::Error::other(failure.message().to_owned()));
            if to.send(piece).await.is_err() || broken {
                return;
            }
        }
    });
    Pieces { from, _place: None }
}

/// What comes, as the stream that axum sends.
pub(crate) struct Pieces {
    from: mpsc::Receiver<std::io::Result<Bytes>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Pieces {
    /// The same, with a place that is free again when all is sent or the reader has gone.
    pub(crate) fn taking(self, place: OwnedSemaphorePermit) -> Self {
        Self { _place: Some(place), ..self }
    }
}

impl Stream for Pieces {
    type Item = std::io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.from.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn for_whoever_takes_nothing_little_is_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let read = Arc::new(AtomicUsize::new(0));
            let counting = Arc::clone(&read);
            let mut sent = pieces(0..100 * PIECE, move |part| {
                counting.fetch_add(1, Ordering::SeqCst);
                Ok(vec![0; usize::try_from(part.end - part.start).unwrap()])
            });
            // One in hand when there is no more room: it comes to rest there.
            while read.load(Ordering::SeqCst) <= AHEAD {
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            assert_eq!(read.load(Ordering::SeqCst), AHEAD + 1);
            let mut len = 0;
            while let Some(piece) = std::future::poll_fn(|context| Pin::new(&mut sent).poll_next(context)).await {
                len += piece.unwrap().len() as u64;
            }
            assert_eq!((len, read.load(Ordering::SeqCst)), (100 * PIECE, 100));
        });
    }
}
