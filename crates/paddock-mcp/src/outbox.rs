//! What goes out: whole messages, one after the other, each in one write.
//!
//! Messages are written in the order in which they were handed over. A message is serialized once, straight
//! into a buffer that is used again. Once begun, a line is always finished: nothing here may be given up in
//! the middle, or the next message would begin inside a broken one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

/// A buffer that grew past this is given back.
const KEPT: usize = 256 * 1024;
/// With so many messages waiting, no further request is read.
const BEHIND: usize = 64;

/// The way out.
#[derive(Debug)]
pub(crate) struct Outbox<W> {
    pen: Mutex<Pen<W>>,
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct Pen<W> {
    /// Nothing once the connection is closed.
    out: Option<W>,
    buffer: Vec<u8>,
    /// The client has gone; what would be told it is nobody's loss.
    gone: bool,
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { pen: Mutex::new(Pen { out: Some(out), buffer: Vec::new(), gone: false }), waiting: AtomicUsize::new(0) }
    }

    /// Writes one message. Poll it to its end.
    pub(crate) fn post(self: Arc<Self>, message: impl Serialize) -> impl Future<Output = io::Result<()>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        async move {
            let done = self.pen.lock().await.write(message).await;
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            done
        }
    }

    /// Waits while the client takes nothing, so that answers do not pile up in memory.
    pub(crate) async fn not_behind(&self) {
        if self.waiting.load(Ordering::Relaxed) >= BEHIND {
            // The lock is fair: it comes to us after everything that waits now was written.
            drop(self.pen.lock().await);
        }
    }

    /// Lets go of the way out, after what is being written.
    pub(crate) async fn close(&self) {
        self.pen.lock().await.out = None;
    }
}

impl<W: AsyncWrite + Unpin> Pen<W> {
    async fn write(&mut self, message: impl Serialize) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let written = self.write_line(message).await;
        self.gone = written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        if self.gone { Ok(()) } else { written }
    }

    async fn write_line(&mut self, message: impl Serialize) -> io::Result<()> {
        let closed = || io::Error::new(io::ErrorKind::NotConnected, "the connection is closed");
        let out = self.out.as_mut().ok_or_else(closed)?;
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, &message)?;
        self.buffer.push(b'\n');
        out.write_all(&self.buffer).await?;
        out.flush().await?;
        if self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn messages_stay_whole_and_in_order() {
        let (ours, mut theirs) = tokio::io::duplex(7);
        let outbox = Arc::new(Outbox::new(ours));
        let posts: Vec<_> = (0..100).map(|n| tokio::spawn(Arc::clone(&outbox).post(n))).collect();
        let mut text = String::new();
        let reading = theirs.read_to_string(&mut text);
        let closing = async {
            for post in posts {
                post.await.unwrap().unwrap();
            }
            outbox.close().await;
        };
        let (read, ()) = tokio::join!(reading, closing);
        read.unwrap();
        assert_eq!(text, (0..100).map(|n| format!("{n}\n")).collect::<String>());
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_waited_for() {
        let (ours, theirs) = tokio::io::duplex(1);
        let outbox = Arc::new(Outbox::new(ours));
        outbox.not_behind().await;
        for n in 0..BEHIND {
            tokio::spawn(Arc::clone(&outbox).post(n));
        }
        tokio::task::yield_now().await;
        let mut waiting = Box::pin(outbox.not_behind());
        assert!(futures_now(&mut waiting).await.is_none(), "it does not wait");
        let mut theirs = theirs;
        let reader = tokio::spawn(async move { theirs.read_to_end(&mut Vec::new()).await });
        waiting.await;
        reader.abort();
    }

    #[tokio::test]
    async fn a_client_that_has_gone_is_no_error() {
        let (ours, theirs) = tokio::io::duplex(100);
        drop(theirs);
        let outbox = Arc::new(Outbox::new(ours));
        for n in 0..3 {
            Arc::clone(&outbox).post(n).await.unwrap();
        }
    }

    #[tokio::test]
    async fn after_closing_nothing_goes_out() {
        let (ours, _theirs) = tokio::io::duplex(100);
        let outbox = Arc::new(Outbox::new(ours));
        outbox.close().await;
        assert_eq!(outbox.post(1).await.unwrap_err().kind(), io::ErrorKind::NotConnected);
    }

    async fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|cx| match std::pin::Pin::new(&mut *future).poll(cx) {
            std::task::Poll::Ready(done) => std::task::Poll::Ready(Some(done)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }
}
