//! Lines of at most a given length from a stream of bytes: one line is one message.
//!
//! A longer line is not kept and not dropped without a word either: it is walked in bounded memory, and what
//! comes back at its end is the id to answer. Reading can be given up at any await and goes on where it was.

use std::io;
use std::ops::Range;

use rmcp::model::RequestId;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::id_finder::IdFinder;

/// What one read asks for; also what the buffer goes back to after a large message.
const USUAL: usize = 16 * 1024;
/// A buffer that grew past this is given back.
const KEPT: usize = 1024 * 1024;

/// What came next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// A line, without its end, at this place of [`Lines::bytes`].
    Line(Range<usize>),
    /// A line over the limit ended; this is the id of the request it held.
    TooLong(Option<RequestId>),
    /// The stream ended. What stood after the last line end was never a whole message.
    End,
}

/// A buffered reader of lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    limit: usize,
    buffer: Vec<u8>,
    /// The bytes read and not yet given out.
    start: usize,
    end: usize,
    /// Up to here there is no line end.
    scanned: usize,
    /// Set while a line over the limit is being walked.
    too_long: Option<IdFinder>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source, limit, buffer: vec![0; USUAL], start: 0, end: 0, scanned: 0, too_long: None }
    }

    /// The bytes of the line that [`Self::next`] just gave.
    pub(crate) fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// The next line.
    pub(crate) async fn next(&mut self) -> io::Result<Next> {
        loop {
            if let Some(found) = self.take_line() {
                return Ok(found);
            }
            self.make_room();
            match self.source.read(&mut self.buffer[self.end..]).await? {
                0 => return Ok(Next::End),
                read => self.end += read,
            }
        }
    }

    fn take_line(&mut self) -> Option<Next> {
        let found = memchr::memchr(b'\n', &self.buffer[self.scanned..self.end]);
        let Some(length) = found else {
            self.scanned = self.end;
            self.skip_if_too_long();
            return None;
        };
        let line = self.start..self.scanned + length;
        self.start = line.end + 1;
        self.scanned = self.start;
        if let Some(mut finder) = self.too_long.take() {
            finder.feed(&self.buffer[line]);
            return Some(Next::TooLong(finder.id()));
        }
        if line.len() > self.limit {
            return Some(Next::TooLong(IdFinder::in_message(&self.buffer[line])));
        }
        Some(Next::Line(line))
    }

    /// Once a line is known to be over the limit, only its id is looked for.
    fn skip_if_too_long(&mut self) {
        if self.end - self.start > self.limit {
            self.too_long.get_or_insert_default();
        }
        if let Some(finder) = &mut self.too_long {
            finder.feed(&self.buffer[self.start..self.end]);
            (self.start, self.end, self.scanned) = (0, 0, 0);
        }
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end, self.scanned) = (0, 0, 0);
            if self.buffer.len() > KEPT {
                self.buffer = vec![0; USUAL];
            }
        }
        if self.buffer.len() - self.end >= USUAL / 2 {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < USUAL / 2 {
            let doubled = self.buffer.len().saturating_mul(2);
            self.buffer.resize(doubled.min(self.limit.saturating_add(2 * USUAL)).max(self.end + USUAL), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::ReadBuf;

    /// Gives its bytes in pieces of a given size.
    struct Pieces {
        bytes: Vec<u8>,
        size: usize,
    }

    impl AsyncRead for Pieces {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let length = self.size.min(self.bytes.len()).min(out.remaining());
            let piece: Vec<u8> = self.bytes.drain(..length).collect();
            out.put_slice(&piece);
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Debug, PartialEq)]
    enum Seen {
        Line(Vec<u8>),
        TooLong(Option<RequestId>),
    }

    fn read_all(bytes: &[u8], size: usize, limit: usize) -> (Vec<Seen>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Lines::new(Pieces { bytes: bytes.to_vec(), size }, limit);
            let (mut seen, mut largest) = (Vec::new(), 0);
            loop {
                let next = lines.next().await.unwrap();
                largest = largest.max(lines.buffer.capacity());
                match next {
                    Next::Line(line) => seen.push(Seen::Line(lines.bytes(line).to_vec())),
                    Next::TooLong(id) => seen.push(Seen::TooLong(id)),
                    Next::End => return (seen, largest),
                }
            }
        })
    }

    fn line(text: &[u8]) -> Seen {
        Seen::Line(text.to_vec())
    }

    #[test]
    fn lines_come_whole_however_they_arrive() {
        let long = vec![b'x'; 70_000];
        let mut bytes = b"one\n\ntwo\r\n".to_vec();
        bytes.extend_from_slice(&long);
        bytes.extend_from_slice(b"\nno end");
        for size in [1, 3, 1000, 1_000_000] {
            let (seen, _) = read_all(&bytes, size, 100_000);
            assert_eq!(seen, [line(b"one"), line(b""), line(b"two\r"), line(&long)], "{size}");
        }
    }

    #[test]
    fn the_limit_itself_passes_and_one_more_is_too_long() {
        for size in [1, 7, 100_000] {
            let (seen, _) = read_all(b"12345\n123456\n1\n", size, 5);
            assert_eq!(seen, [line(b"12345"), Seen::TooLong(None), line(b"1")], "{size}");
        }
    }

    #[test]
    fn a_line_of_a_hundred_limits_takes_one_limit_of_memory_and_gives_its_id() {
        let limit = 100_000;
        let mut bytes = b"{\"method\":\"tools/call\",\"params\":\"".to_vec();
        bytes.resize(100 * limit, b'x');
        bytes.extend_from_slice(b"\",\"id\":5}\nafter\n");
        let (seen, largest) = read_all(&bytes, 10_000, limit);
        assert_eq!(seen, [Seen::TooLong(Some(RequestId::Number(5))), line(b"after")]);
        assert!(largest <= limit + 4 * USUAL, "{largest}");
    }

    #[test]
    fn a_large_message_does_not_keep_its_memory() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut bytes = vec![b'x'; 3 * KEPT];
            bytes.extend_from_slice(b"\nsmall\n");
            let mut lines = Lines::new(Pieces { bytes, size: 1_000_000 }, 4 * KEPT);
            assert!(matches!(lines.next().await.unwrap(), Next::Line(line) if line.len() == 3 * KEPT));
            assert!(matches!(lines.next().await.unwrap(), Next::Line(_)));
            assert_eq!(lines.next().await.unwrap(), Next::End);
            assert!(lines.buffer.capacity() <= KEPT, "{}", lines.buffer.capacity());
        });
    }
}
