//! The same for a text that comes in pieces: a value that is cut in two does not slip through.
//!
//! Held back is only what may be the beginning of a value, so that what a command prints is seen as it comes.

use super::Redactor;
use super::redactor::Patterns;

/// One stream on its way.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Redactor,
    /// What may be the beginning of a value.
    held: Vec<u8>,
}

impl RedactedStream {
    /// A stream whose values this one knows.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// Adds to `out` what can be said of the stream after these bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(patterns) = self.redactor.patterns() else {
            out.append(&mut self.held);
            out.extend_from_slice(bytes);
            return;
        };
        self.held.extend_from_slice(bytes);
        let begins = patterns.beginning_in(&self.held);
        let done = patterns.redact_until(&self.held, begins, out);
        let sure = done.max(begins);
        out.extend_from_slice(&self.held[done..sure]);
        self.held.drain(..sure);
    }

    /// Adds what was held back; nothing more comes.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        out.extend_from_slice(&self.redactor.bytes(&held));
    }
}

impl Patterns {
    /// Where the first end of the bytes begins that is the beginning of a form, and not the whole of it.
    fn beginning_in(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let is_beginning = |end: &[u8]| {
            let at = self.forms.partition_point(|form| form.as_slice() <= end);
            self.forms.get(at).is_some_and(|form| form.starts_with(end))
        };
        (first..bytes.len()).find(|start| is_beginning(&bytes[*start..])).unwrap_or(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretName, SecretValue};
    use proptest::prelude::*;

    fn redactor() -> Redactor {
        let values =
            [("a", "alpha-secret"), ("b", "alpha-secret-longer"), ("m", "first line of it\nsecond line of it\n")];
        Redactor::of(values.map(|(name, value)| {
            (SecretName::parse(name).unwrap(), SecretValue::to_store(value.as_bytes().to_vec()).unwrap())
        }))
    }

    fn streamed(text: &[u8], pieces: &[usize]) -> Vec<u8> {
        let mut stream = RedactedStream::new(redactor());
        let (mut out, mut rest) = (Vec::new(), text);
        for len in pieces {
            let (piece, after) = rest.split_at((*len).min(rest.len()));
            stream.push(piece, &mut out);
            rest = after;
        }
        stream.push(rest, &mut out);
        stream.end(&mut out);
        out
    }

    #[test]
    fn a_value_cut_anywhere_is_found() {
        let text = b"x alpha-secret y";
        for cut in 0..text.len() {
            assert_eq!(streamed(text, &[cut]), b"x [secret a] y", "{cut}");
        }
        assert_eq!(streamed(text, &[1; 20]), b"x [secret a] y");
    }

    #[test]
    fn what_is_no_beginning_is_not_held_back() {
        let mut stream = RedactedStream::new(redactor());
        let mut out = Vec::new();
        stream.push(b"name? ", &mut out);
        assert_eq!(out, b"name? ");
        stream.push(b"alp", &mut out);
        assert_eq!(out, b"name? ");
        stream.push(b"!", &mut out);
        assert_eq!(out, b"name? alp!");
        let mut plain = RedactedStream::new(Redactor::none());
        plain.push(b"alpha-secret", &mut out);
        assert_eq!(out, b"name? alp!alpha-secret");
    }

    proptest! {
        #[test]
        fn pieces_come_to_what_the_whole_comes_to(
            parts in proptest::collection::vec(prop_oneof![
                Just("alpha-secret"), Just("alpha-secret-longer"), Just("alpha-"), Just("first line of it"), Just("\n"),
                Just("second line of it\n"), Just("x"), Just("YWxwaGEtc2VjcmV0"), Just("YWxw"),
            ], 0..12),
            pieces in proptest::collection::vec(0usize..9, 0..40),
        ) {
            let text = parts.concat();
            prop_assert_eq!(streamed(text.as_bytes(), &pieces), redactor().bytes(text.as_bytes()).into_owned());
        }
    }
}
