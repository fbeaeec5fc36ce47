//! Files that are no text: what they are, and which are shown.

use paddock_core::TextKind;

/// The largest image that is shown.
pub(crate) const MAX_IMAGE: u64 = 4 * 1024 * 1024;

const UNKNOWN: &str = "application/octet-stream";

/// The media type of a file that is no text, from its first bytes. Nothing for text.
pub(crate) fn binary_type(kind: TextKind, head: &[u8]) -> Option<&'static str> {
    match kind {
        TextKind::Utf8 => None,
        TextKind::Binary => Some(known(head).unwrap_or(UNKNOWN)),
        // A guess, because the bytes are not UTF-8: a small archive or image may hold no NUL.
        TextKind::Encoded(_) if kind.unit() == 1 && holds_controls(head) => known(head),
        TextKind::Encoded(_) => None,
    }
}

/// The media type as image content, for images that models can see.
pub(crate) fn image_type(mime: &str) -> Option<&'static str> {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].into_iter().find(|known| *known == mime)
}

fn known(head: &[u8]) -> Option<&'static str> {
    infer::get(head).filter(|found| found.matcher_type() != infer::MatcherType::Text).map(|found| found.mime_type())
}

fn holds_controls(head: &[u8]) -> bool {
    head.iter().any(|byte| matches!(byte, 1..=8 | 14..=26 | 28..=31))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: &[u8]) -> Option<&'static str> {
        binary_type(TextKind::of(head), head)
    }

    #[test]
    fn text_is_text_and_the_rest_is_named() {
        assert_eq!(of(b"plain"), None);
        assert_eq!(of(b"BM Gr\xf6\xdfe und Stra\xdfe"), None, "text that begins like a bitmap");
        assert_eq!(of(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Some("image/png"));
        assert_eq!(of(b"PK\x03\x04\x14\0\0\0"), Some("application/zip"));
        assert_eq!(of(b"\x1f\x8b\x08\x01\xff\xfe\xfd"), Some("application/gzip"));
        assert_eq!(of(b"\0\x01\x02\x03"), Some(UNKNOWN));
        assert_eq!(of(b"\xff\xfea\0"), None, "UTF-16");
    }
}
