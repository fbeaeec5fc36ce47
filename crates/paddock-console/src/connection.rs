//! A connection that is let go when nobody takes what it sends: what waits for its reader holds memory, and perhaps a thread.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long the other end may take nothing of an answer, or leave a request half said.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// A stream whose writes fail once none of them got on for so long.
pub(crate) struct Patient<S> {
    stream: S,
    silence: Duration,
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, silence: Duration) -> Self {
        Self { stream, silence, waits: None }
    }

    fn in_time(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let silence = self.silence;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(silence)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    fn running<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    #[test]
    fn whoever_takes_nothing_is_let_go() {
        running(async {
            let (ours, _theirs) = duplex(4);
            let mut ours = Patient::new(ours, Duration::from_millis(20));
            ours.write_all(b"fits").await.unwrap();
            assert_eq!(ours.write(b"too much").await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn each_byte_that_is_taken_gives_as_long_again() {
        running(async {
            let (ours, mut theirs) = duplex(4);
            let mut ours = Patient::new(ours, SILENCE);
            ours.write_all(b"fits").await.unwrap();
            {
                let mut writing = std::pin::pin!(ours.write_all(b"more"));
                let waits = std::future::poll_fn(|context| Poll::Ready(writing.as_mut().poll(context).is_pending()));
                assert!(waits.await);
                theirs.read_exact(&mut [0; 4]).await.unwrap();
                writing.await.unwrap();
            }
            assert!(ours.waits.is_none());
        });
    }
}
