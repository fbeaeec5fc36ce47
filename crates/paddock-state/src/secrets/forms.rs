//! The forms in which a value may turn up in a text: as it is, escaped, percent-encoded, in base64, in hexadecimal digits.
//!
//! Each form is made from the value beforehand, so that one pass over a text finds them all. A form that an agent thinks up
//! itself (reversed, a letter per line) is none of these: a redactor keeps accidents from happening, and is no boundary.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// A line of a value is looked for by itself from this length on.
const LINE: usize = 12;
/// The fewest bytes of a form: shorter ones stand in a text by chance.
const LEAST: usize = 8;
/// Where programs break long lines of base64.
const WRAPPED_AT: [usize; 2] = [76, 64];

/// A form, wiped when it is let go of.
pub(super) type Form = Zeroizing<Vec<u8>>;

/// Every form of a value.
pub(super) fn of(value: &str) -> Vec<Form> {
    let mut forms = Vec::new();
    for part in parts(value) {
        one(part, &mut forms);
    }
    if let Some(decoded) = percent_decoded(password(value).unwrap_or_default()) {
        one(&decoded, &mut forms);
    }
    forms.retain(|form| form.len() >= LEAST);
    forms.sort_unstable_by(|a, b| a.as_slice().cmp(b));
    forms.dedup();
    forms
}

/// The value, what is seen of it, its lines, and the password of an address.
fn parts(value: &str) -> Vec<&str> {
    let mut parts = vec![value, value.trim()];
    if value.contains('\n') {
        parts.extend(value.lines().map(str::trim).filter(|line| line.chars().count() >= LINE && !is_plain(line)));
    }
    parts.extend(password(value).filter(|password| password.len() >= LEAST));
    parts.dedup();
    parts
}

/// The frame around a key in PEM is no secret, and stands in many files.
fn is_plain(line: &str) -> bool {
    line.starts_with("-----BEGIN ") || line.starts_with("-----END ")
}

/// What stands between the user and the host of an address.
fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

fn percent_decoded(text: &str) -> Option<Zeroizing<String>> {
    if !text.contains('%') {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(Zeroizing::new)
}

/// The forms of one part.
fn one(text: &str, forms: &mut Vec<Form>) {
    let mut add = |form: String| forms.push(Zeroizing::new(form.into_bytes()));
    add(text.to_owned());
    let json = serde_json::Value::from(text).to_string();
    let inside = json.trim_start_matches('"').get(..json.len().saturating_sub(2)).unwrap_or_default();
    // A text that itself begins with a quote lost too much: then count by hand.
    let inside = if text.starts_with('"') { &json[1..json.len() - 1] } else { inside };
    add(inside.to_owned());
    add(inside.replace('/', "\\/"));
    add(ascii_json(inside));
    add(text.escape_debug().to_string());
    for keeps in ["", "/", "!'()*", "!'()*/"] {
        let encoded = percent(text, keeps);
        add(encoded.replace("%20", "+"));
        add(lower_escapes(&encoded));
        add(encoded);
    }
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    add(hex.to_uppercase());
    add(hex);
    for before in 0..3 {
        base64(text.as_bytes(), before, &mut add);
    }
}

/// As some programs write JSON: nothing but ASCII.
fn ascii_json(escaped: &str) -> String {
    let mut out = String::with_capacity(escaped.len());
    for c in escaped.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Percent-encoded, but for letters, digits, `-._~` and what is kept.
fn percent(text: &str, keeps: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || keeps.as_bytes().contains(byte);
    text.bytes().map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn lower_escapes(encoded: &str) -> String {
    let mut left = 0;
    let lower = encoded.chars().map(|c| {
        if c == '%' {
            left = 3;
        }
        let c = if left > 0 { c.to_ascii_lowercase() } else { c };
        left -= i32::from(left > 0);
        c
    });
    lower.collect()
}

/// What of its base64 depends on the text alone, when so many bytes (of three) stand before it.
fn base64(bytes: &[u8], before: usize, add: &mut impl FnMut(String)) {
    let shifted = Zeroizing::new([&[0; 2][..before], bytes].concat());
    let first = (before * 8).div_ceil(6);
    let end = shifted.len() * 8 / 6;
    for encoded in [STANDARD_NO_PAD.encode(&*shifted), URL_SAFE_NO_PAD.encode(&*shifted)] {
        let sure = &encoded[first..end];
        add(sure.to_owned());
        if before == 0 {
            for width in WRAPPED_AT.into_iter().filter(|width| sure.len() > *width) {
                let lines = sure.as_bytes().chunks(width).filter(|line| line.len() >= LEAST);
                lines.for_each(|line| add(String::from_utf8_lossy(line).into_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use proptest::prelude::*;

    fn has(value: &str, text: &str) -> bool {
        of(value).iter().any(|form| text.as_bytes().windows(form.len()).any(|window| window == &***form))
    }

    #[test]
    fn every_form_is_found() {
        let value = "pa/ss \"w\\ö+rd~";
        for text in [
            value,
            r#"pa/ss \"w\\ö+rd~"#,
            r#"pa\/ss \"w\\ö+rd~"#,
            r#"pa/ss \"w\\\u00f6+rd~"#,
            "pa%2Fss%20%22w%5C%C3%B6%2Brd~",
            "pa%2fss%20%22w%5c%c3%b6%2brd~",
            "pa/ss%20%22w%5C%C3%B6%2Brd~",
            "pa%2Fss+%22w%5C%C3%B6%2Brd~",
        ] {
            assert!(has(value, text), "{text}");
        }
        assert!(!has(value, "pa/ss"));
    }

    #[test]
    fn a_value_that_begins_and_ends_with_a_quote_is_found_in_json() {
        let value = "\"quoted-value\"";
        assert!(has(value, &serde_json::json!({ "a": value }).to_string()));
    }

    #[test]
    fn lines_of_a_key_are_found_and_its_frame_is_not() {
        let value = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nshort\n-----END KEY-----";
        assert!(has(value, "1: MIIEvQIBADANBg"));
        assert!(!has(value, "-----BEGIN KEY-----") && !has(value, "short"));
    }

    #[test]
    fn the_password_of_an_address_is_found_alone() {
        let value = "postgres://me:s3cr%40t-pass@db.example:5432/app";
        assert!(has(value, "password s3cr%40t-pass was refused"));
        assert!(has(value, "password s3cr@t-pass was refused"));
        assert!(!has(value, "db.example:5432/app"));
    }

    #[test]
    fn long_base64_is_found_where_programs_break_it() {
        let value: String = (0..120).map(|n| char::from(b'a' + n % 26)).collect();
        let encoded = STANDARD.encode(&value);
        for line in encoded.as_bytes().chunks(76) {
            assert!(has(&value, std::str::from_utf8(line).unwrap()));
        }
    }

    proptest! {
        #[test]
        fn base64_is_found_wherever_the_value_stands(
            value in "[ -~]{8,40}", before in proptest::collection::vec(any::<u8>(), 0..7),
            after in proptest::collection::vec(any::<u8>(), 0..7),
        ) {
            prop_assume!(value.trim().len() >= 8);
            let bytes = [&before[..], value.as_bytes(), &after[..]].concat();
            prop_assert!(has(&value, &STANDARD.encode(&bytes)));
            prop_assert!(has(&value, &URL_SAFE.encode(&bytes)));
        }

        #[test]
        fn json_holds_a_form_of_every_value(value in "(?s).{8,30}") {
            let json = serde_json::json!({ "k": [format!("a{value}b")] }).to_string();
            prop_assert!(has(&value, &json), "{json}");
        }
    }
}
