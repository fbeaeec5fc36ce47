//! Standard input and output as a server wants them: without a thread hop per message.
//!
//! A pipe is opened a second time, so that making it non-blocking concerns us alone. A socket (what Node gives
//! its children) has no second opening: the end that is ours becomes non-blocking. Anything else, such as a
//! terminal or a file, falls back to tokio's own handles, which read and write on a thread.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdSocket;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fs::{FileType, Mode, OFlags};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
#[derive(Debug)]
pub(crate) enum Input {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    /// Through tokio's pool of threads.
    Slow(tokio::io::Stdin),
}

/// Standard output.
#[derive(Debug)]
pub(crate) enum Output {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    /// Through tokio's pool of threads.
    Slow(tokio::io::Stdout),
}

/// Both ends. Must be called inside a runtime with I/O.
pub(crate) fn stdio() -> (Input, Output) {
    (
        input(io::stdin().as_fd()).unwrap_or_else(|| Input::Slow(tokio::io::stdin())),
        output(io::stdout().as_fd()).unwrap_or_else(|| Output::Slow(tokio::io::stdout())),
    )
}

fn input(stream: BorrowedFd<'_>) -> Option<Input> {
    match kind(stream)? {
        FileType::Fifo => pipe::Receiver::from_owned_fd(again(stream, OFlags::RDONLY)?).ok().map(Input::Pipe),
        FileType::Socket => socket(stream).map(Input::Socket),
        _ => None,
    }
}

fn output(stream: BorrowedFd<'_>) -> Option<Output> {
    match kind(stream)? {
        FileType::Fifo => pipe::Sender::from_owned_fd(again(stream, OFlags::WRONLY)?).ok().map(Output::Pipe),
        FileType::Socket => socket(stream).map(Output::Socket),
        _ => None,
    }
}

fn kind(stream: BorrowedFd<'_>) -> Option<FileType> {
    Some(FileType::from_raw_mode(rustix::fs::fstat(stream).ok()?.st_mode))
}

/// The same pipe with flags of its own.
fn again(stream: BorrowedFd<'_>, access: OFlags) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
    rustix::fs::open(path, access | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn socket(stream: BorrowedFd<'_>) -> Option<UnixStream> {
    let socket = StdSocket::from(stream.try_clone_to_owned().ok()?);
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, out),
            Self::Socket(socket) => Pin::new(socket).poll_read(cx, out),
            Self::Slow(slow) => Pin::new(slow).poll_read(cx, out),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            Self::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Slow(slow) => Pin::new(slow).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Slow(slow) => Pin::new(slow).poll_flush(cx),
            Self::Pipe(_) | Self::Socket(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn is_blocking(fd: &OwnedFd) -> bool {
        !rustix::fs::fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
    }

    /// More than any kernel buffer, so that either end has to wait.
    async fn carries_a_lot(mut from: Input, mut to: Output) {
        let sent: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut got = Vec::new();
        let writing = async {
            to.write_all(&sent).await.unwrap();
            drop(to);
        };
        let reading = async { from.read_to_end(&mut got).await.unwrap() };
        tokio::join!(writing, reading);
        assert!(got == sent, "what arrived differs");
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap().block_on(test);
    }

    #[test]
    fn a_pipe_carries_a_lot_and_keeps_its_flags() {
        run(async {
            let (read, write) = rustix::pipe::pipe().unwrap();
            let (from, to) = (input(read.as_fd()).unwrap(), output(write.as_fd()).unwrap());
            assert!(matches!((&from, &to), (Input::Pipe(_), Output::Pipe(_))));
            assert!(is_blocking(&read) && is_blocking(&write));
            drop((read, write));
            carries_a_lot(from, to).await;
        });
    }

    #[test]
    fn a_socket_carries_a_lot() {
        run(async {
            let (one, other) = StdSocket::pair().unwrap();
            let (from, to) = (input(one.as_fd()).unwrap(), output(other.as_fd()).unwrap());
            assert!(matches!((&from, &to), (Input::Socket(_), Output::Socket(_))));
            drop((one, other));
            carries_a_lot(from, to).await;
        });
    }

    #[test]
    fn anything_else_falls_back() {
        run(async {
            let file = tempfile::tempfile().unwrap();
            assert!(input(file.as_fd()).is_none() && output(file.as_fd()).is_none());
        });
    }

    #[test]
    fn writing_to_nobody_is_an_error() {
        run(async {
            let (read, write) = rustix::pipe::pipe().unwrap();
            let mut to = output(write.as_fd()).unwrap();
            drop(read);
            assert_eq!(to.write_all(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        });
    }
}
