//! What kind of text a file holds, so that it is shown readably and changed without damage.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How much of a file is looked at to tell what it holds.
pub const SNIFF: usize = 64 * 1024;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// UTF-8, or something so close to it that its bytes are best left alone.
    Utf8,
    /// Another encoding, by its byte order mark or by guess.
    Encoded(&'static Encoding),
    /// No text.
    Binary,
}

impl TextKind {
    /// Looks at the first bytes of a file, or at all of it.
    pub fn of(head: &[u8]) -> Self {
        let head = &head[..head.len().min(SNIFF)];
        match Encoding::for_bom(head) {
            Some((encoding, _)) if encoding == UTF_8 => return Self::Utf8,
            Some((encoding, _)) => return Self::Encoded(encoding),
            None => {}
        }
        if head.contains(&0) {
            return Self::Binary;
        }
        if mostly_utf8(head) { Self::Utf8 } else { Self::Encoded(guess(head)) }
    }

    /// The name of the encoding, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Encoded(encoding) => encoding.name(),
            Self::Binary => "binary",
        }
    }

    /// The bytes as text for reading; what does not fit shows as U+FFFD. Nothing for binary content.
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Binary => None,
            Self::Utf8 => Some(String::from_utf8_lossy(strip_bom(bytes)).into_owned()),
            Self::Encoded(encoding) => Some(encoding.decode_with_bom_removal(bytes).0.into_owned()),
        }
    }

    /// As [`Self::decode`], where the text says all that the bytes hold, a mark in front of them too, and a program that takes them
    /// for another encoding finds the same words; else nothing.
    pub fn decode_faithfully(self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Binary => None,
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
            Self::Encoded(encoding) => decode_exactly(bytes, encoding).filter(|_| encoding.is_single_byte()),
        }
    }

    /// How many bytes one line feed takes.
    pub fn unit(self) -> usize {
        if matches!(self, Self::Encoded(e) if e == UTF_16LE || e == UTF_16BE) { 2 } else { 1 }
    }
}

/// Decodes exactly: nothing when encoding the text again would not give the same bytes.
pub(crate) fn decode_exactly(bytes: &[u8], encoding: &'static Encoding) -> Option<String> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    (encode(&text, encoding)? == bytes).then(|| text.into_owned())
}

/// Encodes exactly: nothing when a character does not exist in the encoding.
pub(crate) fn encode(text: &str, encoding: &'static Encoding) -> Option<Vec<u8>> {
    if encoding == UTF_16LE {
        return Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == UTF_16BE {
        return Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let (bytes, _, unmappable) = encoding.encode(text);
    (!unmappable).then(|| bytes.into_owned())
}

/// Do the lines of this text end in CRLF, every one of them?
pub(crate) fn all_crlf(text: &[u8]) -> bool {
    let mut any = false;
    for at in memchr::memchr_iter(b'\n', text) {
        if at == 0 || text[at - 1] != b'\r' {
            return false;
        }
        any = true;
    }
    any
}

/// The text with each lone line feed turned into CRLF.
pub(crate) fn to_crlf(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut last = '\0';
    for c in text.chars() {
        if c == '\n' && last != '\r' {
            out.push('\r');
        }
        out.push(c);
        last = c;
    }
    out
}

/// What to add to a file that starts with `head` so that its encoding and line endings hold.
/// Nothing when the text cannot be written in that encoding.
pub fn suited_to(head: &[u8], addition: &[u8]) -> Option<Vec<u8>> {
    let kind = TextKind::of(head);
    let Ok(text) = std::str::from_utf8(addition) else {
        return Some(addition.to_vec());
    };
    match kind {
        TextKind::Binary => Some(addition.to_vec()),
        TextKind::Utf8 if all_crlf(head) => Some(to_crlf(text).into_bytes()),
        TextKind::Utf8 => Some(addition.to_vec()),
        TextKind::Encoded(encoding) => {
            let crlf = encoding.decode_without_bom_handling(head).0;
            let text = if all_crlf(crlf.as_bytes()) { to_crlf(text) } else { text.to_owned() };
            encode(&text, encoding)
        }
    }
}

fn strip_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Valid UTF-8, or UTF-8 in which single bytes are broken: more whole sequences than broken ones.
fn mostly_utf8(head: &[u8]) -> bool {
    let (mut whole, mut broken) = (0usize, 0usize);
    let mut rest = head;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                whole += multibyte(text);
                break;
            }
            Err(error) => {
                let (valid, tail) = rest.split_at(error.valid_up_to());
                whole += multibyte(std::str::from_utf8(valid).unwrap_or_default());
                // No length: the last character is cut off by the end of what we look at.
                let Some(bad) = error.error_len() else { break };
                broken += 1;
                rest = &tail[bad..];
            }
        }
    }
    broken == 0 || whole > 4 * broken
}

fn multibyte(text: &str) -> usize {
    text.chars().filter(|c| !c.is_ascii()).count()
}

fn guess(head: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(TextKind::of(b"plain"), TextKind::Utf8);
        assert_eq!(TextKind::of("größe".as_bytes()), TextKind::Utf8);
        assert_eq!(TextKind::of(b"\xef\xbb\xbfbom"), TextKind::Utf8);
        assert_eq!(TextKind::of(b"\xff\xfea\0"), TextKind::Encoded(UTF_16LE));
        assert_eq!(TextKind::of(b"\xfe\xff\0a"), TextKind::Encoded(UTF_16BE));
        assert_eq!(TextKind::of(b"\x7fELF\0\0"), TextKind::Binary);
        assert_eq!(TextKind::of(b""), TextKind::Utf8);
        let latin = b"Gr\xf6\xdfe und Stra\xdfe, \xfcber allem";
        assert!(matches!(TextKind::of(latin), TextKind::Encoded(e) if e.name() == "windows-1252"));
    }

    #[test]
    fn one_broken_byte_does_not_turn_utf8_into_something_else() {
        let mut bytes = "äöüäöü".as_bytes().to_vec();
        bytes.push(0xff);
        assert_eq!(TextKind::of(&bytes), TextKind::Utf8);
        // A character cut in two by the end of what was read is not broken.
        assert_eq!(TextKind::of(&"ä".as_bytes()[..1]), TextKind::Utf8);
    }

    #[test]
    fn additions_take_the_form_of_what_is_there() {
        assert_eq!(suited_to(b"a\r\nb\r\n", b"c\nd\n").unwrap(), b"c\r\nd\r\n");
        assert_eq!(suited_to(b"a\nb\r\n", b"c\n").unwrap(), b"c\n");
        assert_eq!(suited_to(b"", b"c\n").unwrap(), b"c\n");
        assert_eq!(suited_to(b"\xff\xfea\0", "é".as_bytes()).unwrap(), b"\xe9\0");
        assert_eq!(suited_to(b"Stra\xdfe \xfcber Gr\xf6\xdfe", "日".as_bytes()), None);
        assert_eq!(suited_to(b"\0\x01", b"x\n").unwrap(), b"x\n");
    }
}
