//! What a command printed, made readable: escapes for terminals taken out, broken text marked, its middle set aside.
//!
//! An agent reads the beginning and the end. All of it goes into an anonymous file, from which it can be kept where
//! the agent reads it by pages. Memory stays bounded however much a command prints. Values of secrets are taken out before
//! anything is kept, also where one comes in two pieces or on two streams.

use std::fs::File;
use std::io::Write as _;

use anstyle_parse::{Params, Parser, Perform, Utf8Parser};
use paddock_core::Output;
use paddock_state::{RedactedStream, Redactor};

/// What was printed so far, cleaned.
#[derive(Debug)]
pub(crate) struct Captured {
    limit: usize,
    head: Vec<u8>,
    /// The last bytes, at most twice as many as are shown.
    tail: Vec<u8>,
    all: Room,
    kept: u64,
    total: u64,
    streams: [PlainText; 2],
    /// Both of them, in the order in which they come.
    redacted: RedactedStream,
}

/// Where all of an output goes.
#[derive(Debug)]
pub(crate) struct Room {
    /// Nothing where there is no place for it.
    pub(crate) file: Option<File>,
    /// So much of it, from its beginning.
    pub(crate) bytes: u64,
}

impl Room {
    /// How much of a text still fits behind what is there already; no letter is cut in two.
    fn for_more(&self, kept: u64, text: &[u8]) -> usize {
        let left = usize::try_from(self.bytes.saturating_sub(kept)).unwrap_or(usize::MAX);
        if text.len() <= left {
            return text.len();
        }
        let begins_letter = |at: &usize| text[*at] & 0xc0 != 0x80;
        (0..=left).rev().find(begins_letter).unwrap_or(0)
    }
}

/// What is shown of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The beginning and the end, or all.
    pub(crate) text: String,
    /// Was something left out?
    pub(crate) cut: bool,
    /// How many bytes there are in all.
    pub(crate) total: u64,
    /// How many of them are kept, from the first.
    pub(crate) kept: u64,
    /// How many bytes were no text.
    pub(crate) broken: u64,
}

impl Captured {
    /// Shows at most so many bytes. `all` takes everything, as far as there is room.
    pub(crate) fn new(limit: u64, all: Room, redactor: Redactor) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (streams, redacted) = (<[PlainText; 2]>::default(), RedactedStream::new(redactor));
        Self { limit, head: Vec::new(), tail: Vec::new(), all, kept: 0, total: 0, streams, redacted }
    }

    /// Takes a piece, as it comes.
    pub(crate) fn take(&mut self, piece: Output<'_>) {
        let mut clean = Vec::new();
        match piece {
            Output::Out(bytes) => self.streams[0].clean(bytes, &mut clean),
            Output::Err(bytes) => self.streams[1].clean(bytes, &mut clean),
        }
        let mut sure = Vec::with_capacity(clean.len());
        self.redacted.push(&clean, &mut sure);
        self.add(&sure);
    }

    fn add(&mut self, clean: &[u8]) {
        self.keep(clean);
        self.total += clean.len() as u64;
        let half = self.limit / 2;
        let fits = half.saturating_sub(self.head.len()).min(clean.len());
        let (first, rest) = clean.split_at(fits);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * half.max(4096) {
            self.tail.drain(..self.tail.len() - half.max(4096));
        }
    }

    fn keep(&mut self, clean: &[u8]) {
        // What came before did not fit: a piece that does would stand in its place.
        if self.kept < self.total {
            return;
        }
        let fits = self.all.for_more(self.kept, clean);
        let Some(file) = &mut self.all.file else { return };
        match file.write_all(&clean[..fits]) {
            Ok(()) => self.kept += fits as u64,
            // No room for it: then the beginning and the end are what there is.
            Err(_) => self.all.file = None,
        }
    }

    /// What there is to show, and the file with everything that was kept.
    pub(crate) fn finish(mut self) -> (Shown, Option<File>) {
        let mut rest = Vec::new();
        for stream in &mut self.streams {
            stream.end(&mut rest);
        }
        let mut sure = Vec::new();
        self.redacted.push(&rest, &mut sure);
        self.redacted.end(&mut sure);
        self.add(&sure);
        let broken = self.streams.iter().map(|stream| stream.broken).sum();
        let held = self.head.len() + self.tail.len();
        let cut = self.total > self.limit as u64;
        let text = if cut { self.ends(held) } else { joined(&self.head, &self.tail) };
        (Shown { text, cut, total: self.total, kept: self.kept, broken }, self.all.file)
    }

    fn ends(&self, held: usize) -> String {
        let half = self.limit - self.limit / 2;
        let tail = &self.tail[self.tail.len().saturating_sub(half)..];
        debug_assert!(held >= tail.len());
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
    }
}

fn joined(head: &[u8], tail: &[u8]) -> String {
    String::from_utf8_lossy(&[head, tail].concat()).into_owned()
}

/// One stream's text on its way: without what would steer a terminal, and what is cut off between two pieces is put
/// together again.
#[derive(Default)]
pub struct PlainText {
    parser: Parser<Utf8Parser>,
    keeps_colours: bool,
    pending: Vec<u8>,
    broken: u64,
}

impl std::fmt::Debug for PlainText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainText").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl PlainText {
    /// For a person's terminal: colours stay.
    pub fn with_colours() -> Self {
        Self { keeps_colours: true, ..Self::default() }
    }

    /// Adds to `out` what of the next bytes is text, in UTF-8.
    pub fn clean(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.push(text, out),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.push(&String::from_utf8_lossy(valid), out);
                    // The beginning of a letter whose end is still to come waits.
                    let Some(bad) = error.error_len() else {
                        self.pending = after.to_vec();
                        return;
                    };
                    self.broken += bad as u64;
                    self.push("\u{fffd}", out);
                    rest = &after[bad..];
                }
            }
        }
    }

    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        let left = std::mem::take(&mut self.pending);
        if !left.is_empty() {
            self.broken += left.len() as u64;
            self.push("\u{fffd}", out);
        }
    }

    fn push(&mut self, text: &str, out: &mut Vec<u8>) {
        let mut shown = Text { out, keeps_colours: self.keeps_colours };
        for byte in text.bytes() {
            self.parser.advance(&mut shown, byte);
        }
    }
}

/// What is left of what a terminal would be told.
struct Text<'a> {
    out: &'a mut Vec<u8>,
    keeps_colours: bool,
}

impl Perform for Text<'_> {
    fn print(&mut self, c: char) {
        // The second half of Latin-1's control characters comes as text.
        if c.is_control() {
            return;
        }
        // A person reads what is shown, and must not be shown it in another order.
        if self.keeps_colours && turns_text(c) {
            self.out.extend_from_slice(c.escape_unicode().to_string().as_bytes());
            return;
        }
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn execute(&mut self, byte: u8) {
        // A person sees a line being written over; an agent reads it all.
        if matches!(byte, b'\n' | b'\t') || (self.keeps_colours && byte == b'\r') {
            self.out.push(byte);
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: u8) {
        if !self.keeps_colours || action != b'm' || !intermediates.is_empty() || ignore {
            return;
        }
        let told: Vec<String> = without_concealment(params)
            .map(|part| part.iter().map(u16::to_string).collect::<Vec<_>>().join(":"))
            .collect();
        // Of nothing but concealment nothing is left; an empty list would mean something else.
        if !told.is_empty() {
            self.out.extend_from_slice(format!("\x1b[{}m", told.join(";")).as_bytes());
        }
    }
}

/// Does it change the direction of text?
fn turns_text(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Colours and the like without what makes text invisible. An 8 that belongs to a colour is another one.
fn without_concealment(params: &Params) -> impl Iterator<Item = &[u16]> {
    const CONCEALED: u16 = 8;
    let (mut in_colour, mut of_colour) = (false, 0);
    params.iter().filter(move |part| {
        if of_colour > 0 {
            of_colour -= 1;
            return true;
        }
        if std::mem::take(&mut in_colour) {
            of_colour = match part {
                [5] => 1,
                [2] => 3,
                _ => 0,
            };
            return true;
        }
        in_colour = matches!(part, [38 | 48 | 58]);
        part.first() != Some(&CONCEALED)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;

    fn shown(limit: u64, pieces: &[&[u8]]) -> Shown {
        let mut captured = Captured::new(limit, Room { file: None, bytes: 0 }, Redactor::none());
        for piece in pieces {
            captured.take(Output::Out(piece));
        }
        captured.finish().0
    }

    #[test]
    fn escapes_go_and_text_stays() {
        let colours = b"\x1b[31mred\x1b[0m \x1b]0;title\x07plain\x1b[2J\r\n\x07\tend\n";
        assert_eq!(shown(1000, &[colours]).text, "red plain\n\tend\n");
        // Also when they come in pieces.
        let pieces: Vec<&[u8]> = colours.chunks(1).collect();
        assert_eq!(shown(1000, &pieces).text, "red plain\n\tend\n");
    }

    #[test]
    fn letters_that_are_cut_in_two_are_put_together_and_broken_ones_are_counted() {
        let text = "añ日".as_bytes();
        let pieces: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(shown(1000, &pieces), Shown { text: "añ日".into(), cut: false, total: 6, kept: 0, broken: 0 });
        let broken = shown(1000, &[b"a\xffb", b"\xe6\x97"]);
        assert_eq!((broken.text.as_str(), broken.broken), ("a\u{fffd}b\u{fffd}", 3));
    }

    #[test]
    fn of_a_long_output_both_ends_are_shown_and_all_is_kept() {
        let path = std::env::temp_dir().join(format!("paddock-output-{}", std::process::id()));
        #[expect(clippy::disallowed_methods, reason = "a test's own file")]
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let mut captured = Captured::new(20, Room { file: Some(file), bytes: 25_000 }, Redactor::none());
        for n in 0..5000 {
            captured.take(Output::Out(format!("{n:04}\n").as_bytes()));
        }
        let (shown, all) = captured.finish();
        assert_eq!(shown.text, "0000\n0001\n\n[… 24980 bytes left out …]\n4998\n4999\n");
        assert!(shown.cut && shown.total == 25_000 && shown.kept == 25_000);
        assert_eq!(all.unwrap().metadata().unwrap().len(), 25_000);
        #[expect(clippy::disallowed_methods, reason = "a test's own file")]
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_beyond_the_room_is_dropped_and_no_letter_is_cut_in_two() {
        let mut captured = Captured::new(4, room(8), Redactor::none());
        for piece in ["abc", "d日本", "e"] {
            captured.take(Output::Out(piece.as_bytes()));
        }
        let (shown, all) = captured.finish();
        assert_eq!((shown.total, shown.kept), (11, 7));
        let mut kept = Vec::new();
        let mut all = all.unwrap();
        all.rewind().unwrap();
        all.read_to_end(&mut kept).unwrap();
        assert_eq!(String::from_utf8(kept).unwrap(), "abcd日", "what comes later is not put behind a gap");
    }

    fn room(bytes: u64) -> Room {
        Room { file: crate::evicted::anonymous_file(), bytes }
    }

    fn for_a_terminal(bytes: &[u8]) -> String {
        let (mut text, mut out) = (PlainText::with_colours(), Vec::new());
        text.clean(bytes, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn for_a_person_colours_stay_and_commands_to_the_terminal_go() {
        assert_eq!(for_a_terminal(b"\x1b[1;31mred\x1b[0m\n"), "\x1b[1;31mred\x1b[0m\n");
        assert_eq!(for_a_terminal(b"\x1b[38:2:1:2:3mx"), "\x1b[38:2:1:2:3mx");
        // Nothing is written so that nobody sees it, or reads it in another order.
        assert_eq!(for_a_terminal(b"\x1b[8mhidden\x1b[0m\x1b[1;8;31mred"), "hidden\x1b[0m\x1b[1;31mred");
        assert_eq!(for_a_terminal(b"\x1b[38;5;8mgrey\x1b[48;2;8;8;8;8mx"), "\x1b[38;5;8mgrey\x1b[48;2;8;8;8mx");
        assert_eq!(for_a_terminal("a\u{202e}b".as_bytes()), "a\\u{202e}b");
        for harmful in [
            &b"\x1b[2J"[..],
            b"\x1b]0;title\x07",
            b"\x1b]52;c;ZXZpbA==\x07",
            b"\x1b[6n",
            b"\x1b[?1049h",
            b"\x1bP+q544e\x1b\\",
            b"\x1bc",
            b"\x07\x08",
            "\u{9b}2J".as_bytes(),
        ] {
            assert!(!for_a_terminal(harmful).contains(['\x1b', '\x07', '\x08', '\u{9b}']), "{harmful:?}");
        }
    }
}
