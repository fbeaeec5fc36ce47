//! What a command reads, moved into a pipe of its own.
//!
//! A command never gets the caller's descriptor: through a terminal it could type, a file it could open again for writing, a
//! socket it could answer. It gets the reading end of a pipe, and a thread here moves bytes into it. That thread must not
//! outlive the run, nor take more from the caller once the command reads no more.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use crate::error::Error;

/// Moves the bytes until this is dropped, the caller has none left, or the command reads no more.
#[derive(Debug)]
pub(super) struct Relay {
    /// The thread is woken by the end of this one.
    awake: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// A relay from `source`, and what the command reads.
    pub(super) fn from(source: BorrowedFd<'_>) -> Result<(Self, OwnedFd), Error> {
        Self::begin(source).map_err(Error::launcher("passing on the input"))
    }

    fn begin(source: BorrowedFd<'_>) -> io::Result<(Self, OwnedFd)> {
        let source = source.try_clone_to_owned()?;
        let (read, into) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&into, true)?;
        let (over, awake) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let ends = Ends { source, into, over };
        let thread = std::thread::Builder::new().name("input".to_owned()).spawn(move || ends.move_all())?;
        Ok((Self { awake: Some(awake), thread: Some(thread) }, read))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.awake.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Ends {
    source: OwnedFd,
    into: OwnedFd,
    over: OwnedFd,
}

impl Ends {
    fn move_all(self) {
        let mut buffer = [0; 16 * 1024];
        while let Some(bytes) = self.next(&mut buffer) {
            if !self.pass_on(bytes) {
                return;
            }
        }
    }

    /// The next bytes of the caller; nothing when there are no more, or nobody wants them.
    fn next<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        loop {
            // An end without readers is told of without being asked about.
            let [_, unread, over] = ready([
                (self.source.as_fd(), PollFlags::IN),
                (self.into.as_fd(), PollFlags::empty()),
                (self.over.as_fd(), PollFlags::IN),
            ])?;
            if unread || over {
                return None;
            }
            match rustix::io::read(&self.source, &mut *buffer) {
                Ok(0) => return None,
                Ok(count) => return buffer.get(..count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => {
                    tracing::warn!(%error, "the input of a command cannot be read any further");
                    return None;
                }
            }
        }
    }

    /// Gives the command these bytes, as it takes them; false when it takes no more.
    fn pass_on(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match ready([(self.into.as_fd(), PollFlags::OUT), (self.over.as_fd(), PollFlags::IN)]) {
                Some([_, false]) => {}
                _ => return false,
            }
            match rustix::io::write(&self.into, bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// Waits until one of them is ready, and tells which are.
fn ready<const N: usize>(watched: [(BorrowedFd<'_>, PollFlags); N]) -> Option<[bool; N]> {
    let mut fds = watched.map(|(fd, events)| PollFd::from_borrowed_fd(fd, events));
    loop {
        match poll(&mut fds, None) {
            Err(Errno::INTR) => {}
            Err(_) => return None,
            Ok(_) => return Some(fds.map(|fd| !fd.revents().is_empty())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use super::*;

    fn pipe() -> (File, File) {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
        (read.into(), write.into())
    }

    #[test]
    fn bytes_arrive_as_they_come_and_then_their_end() {
        let (source, mut caller) = pipe();
        let (_relay, read) = Relay::from(source.as_fd()).unwrap();
        let mut command = File::from(read);
        for word in ["first", "second"] {
            caller.write_all(word.as_bytes()).unwrap();
            let mut got = vec![0; word.len()];
            command.read_exact(&mut got).unwrap();
            assert_eq!(got, word.as_bytes());
        }
        drop(caller);
        assert_eq!(command.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn more_than_a_pipe_holds_arrives_whole() {
        let mut source = tempfile::tempfile().unwrap();
        let all: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        source.write_all(&all).unwrap();
        std::io::Seek::rewind(&mut source).unwrap();
        let (_relay, read) = Relay::from(source.as_fd()).unwrap();
        let mut got = Vec::new();
        File::from(read).read_to_end(&mut got).unwrap();
        assert!(got == all, "{} bytes arrived", got.len());
    }

    #[test]
    fn nothing_more_is_taken_from_the_caller_once_nobody_reads() {
        let (source, mut caller) = pipe();
        let (mut relay, read) = Relay::from(source.as_fd()).unwrap();
        drop(read);
        relay.thread.take().unwrap().join().unwrap();
        caller.write_all(b"for the next").unwrap();
        let (mut source, mut got) = (source, [0; 12]);
        source.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"for the next");
    }

    #[test]
    fn it_ends_with_the_run_while_the_caller_says_nothing_and_the_command_takes_nothing() {
        let (source, mut caller) = pipe();
        let (relay, read) = Relay::from(source.as_fd()).unwrap();
        drop(relay);
        let endless = std::fs::File::open("/dev/zero").unwrap();
        let (full, unread) = Relay::from(endless.as_fd()).unwrap();
        drop(full);
        drop((read, unread));
        // It has left the caller's descriptor: nothing reads this one any more.
        drop(source);
        assert_eq!(caller.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
