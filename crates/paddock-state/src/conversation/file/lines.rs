//! Reading the lines of a file: all of them in order, or only the last, each checked against its frame.
//!
//! A line at the end of the file that was not written whole is told apart from damage: the first is what a crash leaves.

use std::io;

use super::layer::OneFile;
use crate::conversation::line::{self, Frame};

/// How much is read at once.
const BLOCK: usize = 256 * 1024;
/// How much is read at once from the end: the last line is short as a rule.
const TAIL_BLOCK: usize = 4096;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    /// Which line, from 1.
    pub(super) line: u64,
    pub(super) reason: String,
    /// Where it begins.
    pub(super) at: u64,
    /// Whether it is what a crash leaves: the last line, with its end or a piece of it never written. Any other flaw is damage.
    pub(super) is_torn: bool,
    /// Whether a piece of it was never written, wherever it stands.
    pub(super) has_hole: bool,
}

/// What to say of lines that were written and are not there: from `wanted` on, and before `found`.
pub(super) fn missing(wanted: u64, found: u64) -> Option<String> {
    match found.checked_sub(wanted)? {
        0 => None,
        1 => Some("it is not there".to_owned()),
        _ => Some(format!("it and those up to line {} are not there", found - 1)),
    }
}

/// What reading a line came to.
pub(super) enum Read<'a> {
    Line(&'a str, Frame),
    Flaw(Flaw),
    End,
}

/// The lines of the first `len` bytes of a file.
pub(super) struct Lines<'f, F> {
    file: &'f F,
    /// What is read next, and where reading ends.
    next: u64,
    len: u64,
    buffer: Vec<u8>,
    /// How much of the buffer was given out.
    used: usize,
    /// How many lines were given out, and what the last of them said.
    line: u64,
    seq: u64,
    /// Whether a flawed line is given out and reading goes on behind it.
    pub(super) tolerant: bool,
}

impl<'f, F: OneFile> Lines<'f, F> {
    pub(super) fn new(file: &'f F, len: u64) -> Self {
        Self { file, next: 0, len, buffer: Vec::new(), used: 0, line: 0, seq: 0, tolerant: false }
    }

    /// How many bytes were given out as lines.
    pub(super) fn given(&self) -> u64 {
        self.next - (self.buffer.len() - self.used) as u64
    }

    pub(super) fn read(&mut self) -> io::Result<Read<'_>> {
        let at = self.given();
        let Some((start, end)) = self.find_line()? else {
            if self.used == self.buffer.len() {
                return Ok(Read::End);
            }
            self.used = self.buffer.len();
            let reason = "it is cut off".to_owned();
            return Ok(Read::Flaw(Flaw { line: self.line + 1, reason, at, is_torn: true, has_hole: false }));
        };
        self.used = end + 1;
        self.line += 1;
        match self.checked(start, end) {
            Ok(frame) => {
                self.seq = frame.seq;
                if self.tolerant {
                    self.line = frame.line;
                }
                // It is text: that was checked.
                let text = std::str::from_utf8(&self.buffer[start..end]).unwrap_or_default();
                Ok(Read::Line(text, frame))
            }
            Err(reason) => {
                let has_hole = has_hole(&self.buffer[start..end]);
                let is_torn = self.given() == self.len && has_hole;
                Ok(Read::Flaw(Flaw { line: self.line, reason, at, is_torn, has_hole }))
            }
        }
    }

    fn checked(&self, start: usize, end: usize) -> Result<Frame, String> {
        let (_, frame) = line::open(&self.buffer[start..end])?;
        if !self.tolerant && frame.line != self.line {
            return Err(format!("it was written as line {}", frame.line));
        }
        if !self.tolerant && frame.seq <= self.seq {
            return Err(format!("it holds event {} after event {}", frame.seq, self.seq));
        }
        Ok(frame)
    }

    /// Where the next whole line is in the buffer, read on as far as needed.
    fn find_line(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut searched = self.used;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                return Ok(Some((self.used, searched + found)));
            }
            searched = self.buffer.len();
            if self.next == self.len {
                return Ok(None);
            }
            searched -= self.used;
            self.refill()?;
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let held = self.buffer.len();
        let wanted = usize::try_from(self.len - self.next).unwrap_or(usize::MAX).min(BLOCK);
        self.buffer.resize(held + wanted, 0);
        let read = self.file.read_at(&mut self.buffer[held..], self.next)?;
        if read < wanted {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        self.next += read as u64;
        Ok(())
    }
}

/// Whether a piece of a line was never written: after a loss of power zeros stand there, which no line holds. One zero alone inside of
/// it would be a flipped bit.
fn has_hole(line: &[u8]) -> bool {
    line.first() == Some(&0) || line.windows(2).any(|pair| pair == [0, 0])
}

/// A line found from the end of a file.
pub(super) struct FromEnd {
    /// Where the next one begins.
    pub(super) ends: u64,
    /// Without its line break; what follows the last line break of the file is a line too, unless it is nothing.
    pub(super) bytes: Vec<u8>,
    /// Whether a line break ends it.
    pub(super) is_whole: bool,
}

impl FromEnd {
    /// What it says, if it is a line as it was written.
    pub(super) fn opened(&self) -> Option<(&str, Frame)> {
        line::open(&self.bytes).ok().filter(|_| self.is_whole)
    }
}

/// The lines of a file, last one first: what matters for adding to it, however long it is.
pub(super) struct Backwards<'f, F> {
    file: &'f F,
    /// What was read and not given out, and where in the file it begins.
    buffer: Vec<u8>,
    from: u64,
}

impl<'f, F: OneFile> Backwards<'f, F> {
    pub(super) fn new(file: &'f F) -> io::Result<Self> {
        Ok(Self { file, buffer: Vec::new(), from: file.len()? })
    }

    pub(super) fn read(&mut self) -> io::Result<Option<FromEnd>> {
        loop {
            // The line break at the very end belongs to the line before it.
            let inner = self.buffer.len().saturating_sub(1);
            let start = memchr::memrchr(b'\n', &self.buffer[..inner]).map(|at| at + 1);
            match start {
                None if self.from > 0 => self.read_earlier()?,
                None if self.buffer.is_empty() => return Ok(None),
                start => return Ok(Some(self.cut(start.unwrap_or(0)))),
            }
        }
    }

    fn cut(&mut self, start: usize) -> FromEnd {
        let mut bytes = self.buffer.split_off(start);
        let ends = self.from + (start + bytes.len()) as u64;
        let is_whole = bytes.last() == Some(&b'\n');
        if is_whole {
            bytes.pop();
        }
        FromEnd { ends, bytes, is_whole }
    }

    fn read_earlier(&mut self) -> io::Result<()> {
        // As much again as there is, so that a long line is not copied over and over.
        let earlier = self.from.saturating_sub(TAIL_BLOCK.max(self.buffer.len()) as u64);
        let mut block = vec![0; usize::try_from(self.from - earlier).unwrap_or(usize::MAX)];
        if self.file.read_at(&mut block, earlier)? < block.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        block.append(&mut self.buffer);
        (self.buffer, self.from) = (block, earlier);
        Ok(())
    }
}
