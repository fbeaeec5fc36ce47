//! As what a file is sent. Whatever it holds, nothing of it may run in the console's origin.
//!
//! Only images and text are called what they are; the rest is bytes to be kept. Together with `nosniff` and a content security policy
//! of its own, an HTML page or an SVG that an agent wrote is never a page of ours.

use paddock_core::TextKind;

/// What a browser that opens a file by itself may do with it: look at it.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// The images that pages show, by the end of the name.
const IMAGES: [(&str, &str); 7] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("svg", "image/svg+xml"),
];

/// The content type, and whether a browser may show it.
pub(super) fn sent_as(name: &str, text: TextKind) -> (String, bool) {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    if let Some((_, kind)) = IMAGES.iter().find(|(known, _)| end.as_deref() == Some(*known)) {
        return ((*kind).to_owned(), true);
    }
    match text {
        TextKind::Binary => ("application/octet-stream".to_owned(), false),
        text => (format!("text/plain; charset={}", text.name().to_ascii_lowercase()), true),
    }
}

/// How a browser calls what it keeps.
pub(super) fn disposition(name: &str, shown: bool) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_. ".contains(c) { c } else { '_' }).collect();
    let how = if shown { "inline" } else { "attachment" };
    format!("{how}; filename=\"{plain}\"; filename*=UTF-8''{}", crate::pages::parts::in_url(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_as_something_that_runs() {
        let html = TextKind::of(b"<script>alert(1)</script>");
        for name in ["a.html", "a.htm", "a.xhtml", "a.js", "a.css", "a.xml", "a", "a.svg.html", "a.pdf"] {
            assert_eq!(sent_as(name, html).0, "text/plain; charset=utf-8", "{name}");
        }
        assert_eq!(sent_as("a.html", TextKind::Binary), ("application/octet-stream".to_owned(), false));
        assert_eq!(sent_as("A.PNG", TextKind::Binary).0, "image/png");
    }

    #[test]
    fn a_name_cannot_leave_its_header() {
        let made = disposition("a\"; x=\r\ny/é.txt", false);
        assert_eq!(
            made,
            "attachment; filename=\"a__ x___y__.txt\"; filename*=UTF-8''a%22%3B%20x%3D%0D%0Ay%2F%C3%A9.txt"
        );
    }
}
