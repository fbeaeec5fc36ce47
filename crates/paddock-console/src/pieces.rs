//! A file's bytes, read piece by piece while they are sent: memory does not grow with the file, and no thread waits for a slow reader.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use futures_core::Stream;
use paddock_desk::Result;
use tokio::sync::mpsc;

use crate::shared::on_a_thread;

/// How much is read at once.
const PIECE: u64 = 256 * 1024;
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
    Pieces(from)
}

/// What comes, as the stream that axum sends.
pub(crate) struct Pieces(mpsc::Receiver<std::io::Result<Bytes>>);

impl Stream for Pieces {
    type Item = std::io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
