//! Taking a window of lines out of a file that arrives in chunks, without ever holding the file.
//!
//! Works on bytes, so that characters cut in two by the border of a chunk never matter: what was
//! taken is decoded whole. In every encoding that is recognised the byte (or, in UTF-16, the unit)
//! of a line feed stands for nothing else.

use paddock_core::TextKind;

/// How a line feed is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFeed {
    Byte,
    Unit([u8; 2]),
}

impl LineFeed {
    pub(crate) fn of(kind: TextKind) -> Self {
        match (kind.unit(), kind.name()) {
            (2, "UTF-16BE") => Self::Unit([0, b'\n']),
            (2, _) => Self::Unit([b'\n', 0]),
            _ => Self::Byte,
        }
    }

    /// How many bytes it takes.
    pub(crate) fn width(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Unit(_) => 2,
        }
    }

    /// Where the first line of these bytes ends, its line feed included.
    pub(crate) fn end_of_line(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Byte => memchr::memchr(b'\n', bytes).map(|at| at + 1),
            Self::Unit(unit) => bytes.chunks_exact(2).position(|found| found == unit).map(|at| 2 * at + 2),
        }
    }
}

/// Why a window takes nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has all the lines that were asked for.
    Taken,
    /// It has no more room.
    Full,
}

/// A window of lines.
#[derive(Debug)]
pub(crate) struct Window {
    feed: LineFeed,
    to_skip: u64,
    to_take: u64,
    room: usize,
    skipped: u64,
    /// Did the skipping end inside a line?
    loose: bool,
    bytes: Vec<u8>,
    consumed: u64,
    stop: Option<Stop>,
}

impl Window {
    /// Skips lines, then takes lines until there is no room.
    pub(crate) fn new(feed: LineFeed, to_skip: u64, to_take: u64, room: usize) -> Self {
        Self { feed, to_skip, to_take, room, skipped: 0, loose: false, bytes: Vec::new(), consumed: 0, stop: None }
    }

    /// Takes what it wants of a chunk. Answers whether it wants another.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> bool {
        let from = self.skip(chunk);
        let to = from + self.take(&chunk[from..]);
        self.consumed += to as u64;
        if self.to_take == 0 {
            self.stop = Some(Stop::Taken);
        } else if self.bytes.len() >= self.room {
            self.stop = Some(Stop::Full);
        }
        self.stop.is_none()
    }

    fn skip(&mut self, chunk: &[u8]) -> usize {
        let mut at = 0;
        while self.skipped < self.to_skip {
            match self.feed.end_of_line(&chunk[at..]) {
                Some(end) => {
                    at += end;
                    self.skipped += 1;
                    self.loose = false;
                }
                None => {
                    self.loose |= at < chunk.len();
                    return chunk.len();
                }
            }
        }
        at
    }

    fn take(&mut self, rest: &[u8]) -> usize {
        let mut at = 0;
        while self.to_take > 0 {
            match self.feed.end_of_line(&rest[at..]) {
                Some(end) => {
                    at += end;
                    self.to_take -= 1;
                }
                None => {
                    at = rest.len();
                    break;
                }
            }
        }
        self.bytes.extend_from_slice(&rest[..at]);
        at
    }

    /// The bytes taken.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How far into the file the window reaches.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Did it run out of room before it had every line?
    pub(crate) fn is_full(&self) -> bool {
        self.stop == Some(Stop::Full)
    }

    /// How many lines the file has, where it ended before the window began.
    pub(crate) fn lines_skipped(&self) -> u64 {
        self.skipped + u64::from(self.loose)
    }
}

/// How much of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// So many bytes of it.
    pub(crate) keep: usize,
    /// Which are so many lines.
    pub(crate) lines: u64,
    /// Is the first line alone longer than a page?
    pub(crate) inside_a_line: bool,
}

/// Fits a text into a page, at the end of a line where there is one. `whole`: the text ends where a
/// line, or the file, does.
pub(crate) fn fit(text: &str, page: usize, whole: bool) -> Cut {
    if whole && text.len() <= page {
        return Cut { keep: text.len(), lines: count(text), inside_a_line: false };
    }
    let keep = text.floor_char_boundary(page);
    match text[..keep].rfind('\n') {
        Some(at) => Cut { keep: at + 1, lines: count(&text[..=at]), inside_a_line: false },
        None => Cut { keep, lines: 1, inside_a_line: true },
    }
}

fn count(text: &str) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    feeds + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(chunks: &[&[u8]], skip: u64, take: u64) -> Window {
        let mut window = Window::new(LineFeed::Byte, skip, take, 1000);
        for chunk in chunks {
            if !window.push(chunk) {
                break;
            }
        }
        window
    }

    #[test]
    fn lines_are_skipped_and_taken_across_chunks() {
        let chunks: &[&[u8]] = &[b"one\ntw", b"o\nthr", b"ee\nfour"];
        assert_eq!(window(chunks, 0, 9).bytes(), b"one\ntwo\nthree\nfour");
        assert_eq!(window(chunks, 1, 1).bytes(), b"two\n");
        assert_eq!(window(chunks, 1, 1).consumed(), 8);
        assert_eq!(window(chunks, 3, 1).bytes(), b"four");
        assert_eq!(window(chunks, 2, 2).bytes(), b"three\nfour");
    }

    #[test]
    fn past_the_end_the_lines_are_counted() {
        for (text, lines) in [("a\nb\n", 2), ("a\nb", 2), ("\n", 1), ("a", 1)] {
            let window = window(&[text.as_bytes()], 9, 9);
            assert_eq!((window.bytes(), window.lines_skipped()), (&b""[..], lines), "{text:?}");
        }
    }

    #[test]
    fn a_line_feed_in_utf_16_is_a_unit_and_not_a_byte() {
        // U+0A41 and U+410A hold the byte of a line feed.
        for (feed, unit) in [
            (LineFeed::Unit([b'\n', 0]), u16::to_le_bytes as fn(u16) -> [u8; 2]),
            (LineFeed::Unit([0, b'\n']), u16::to_be_bytes),
        ] {
            let text: Vec<u8> = "\u{0a41}\u{410a}\nx".encode_utf16().flat_map(unit).collect();
            assert_eq!(feed.end_of_line(&text), Some(6));
        }
    }

    #[test]
    fn a_text_is_cut_at_a_line_and_only_else_inside_one() {
        assert_eq!(fit("ab\ncd\n", 9, true), Cut { keep: 6, lines: 2, inside_a_line: false });
        assert_eq!(fit("ab\ncd\n", 4, true), Cut { keep: 3, lines: 1, inside_a_line: false });
        assert_eq!(fit("ab\ncd", 9, false), Cut { keep: 3, lines: 1, inside_a_line: false });
        assert_eq!(fit("äääää", 5, true), Cut { keep: 4, lines: 1, inside_a_line: true });
    }
}
