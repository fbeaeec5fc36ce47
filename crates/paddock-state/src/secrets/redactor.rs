//! The Redactor: puts `[secret NAME]` where a value of a secret stands, in any of its forms.
//!
//! Everything that Paddock writes or answers passes one: audit, answers of tools, outputs of commands, logs, errors,
//! conversations. Cheap to clone; where no secrets are known it looks at nothing.
//!
//! What files hold is not its business: a file is as it was written.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use super::forms::{self, Form};
use super::{SecretName, SecretValue};

/// Knows values, and keeps them out of what is written.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Known>>);

/// What is known now. Grows while the process lives.
#[derive(Default)]
struct Known {
    /// Anything at all? Asked first, as mostly there is nothing.
    any: AtomicBool,
    patterns: RwLock<Arc<Patterns>>,
}

/// All forms of all values.
#[derive(Default)]
pub(super) struct Patterns {
    values: Vec<(SecretName, SecretValue)>,
    /// In order, so that one can be found by its beginning.
    pub(super) forms: Vec<Form>,
    /// The longest form.
    pub(super) longest: usize,
    /// For each form as the automaton has them, what stands in its place.
    marks: Vec<Arc<str>>,
    automaton: Option<AhoCorasick>,
}

impl Redactor {
    /// One that knows nothing, and never will: for programs without secrets, and for tests.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// One that knows these values.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = (SecretName, SecretValue)>) -> Self {
        let redactor = Self::changing();
        redactor.learn(values);
        redactor
    }

    /// One that knows nothing yet.
    pub(super) fn changing() -> Self {
        Self(Some(Arc::default()))
    }

    /// From now on it knows these too.
    pub(super) fn learn(&self, values: impl IntoIterator<Item = (SecretName, SecretValue)>) {
        let Some(known) = &self.0 else { return };
        let mut patterns = known.patterns.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = patterns.values.clone();
        for value in values {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        if all.len() != patterns.values.len() {
            *patterns = Arc::new(Patterns::of(all));
            known.any.store(true, Ordering::Release);
        }
    }

    /// Does it know any value? Where not, everything passes as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns().is_none()
    }

    /// A text without values.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Forms are whole characters, so that what is left is text; should it ever not be, it is made one.
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
        }
    }

    /// The same for a text that is one's own.
    pub fn text_in_place(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.text(text) {
            *text = redacted;
        }
    }

    /// Bytes without values.
    #[must_use]
    pub fn bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let Some(patterns) = self.patterns() else { return Cow::Borrowed(bytes) };
        patterns.redacted(bytes)
    }

    /// A JSON value without values of secrets, in its texts and in its keys.
    pub fn json(&self, value: &mut Value) {
        if let Some(patterns) = self.patterns() {
            patterns.json(value);
        }
    }

    /// Which secret the bytes hold, if any.
    #[must_use]
    pub fn found_in(&self, bytes: &[u8]) -> Option<SecretName> {
        self.patterns()?.found_in(bytes)
    }

    pub(super) fn patterns(&self) -> Option<Arc<Patterns>> {
        let known = self.0.as_ref().filter(|known| known.any.load(Ordering::Acquire))?;
        Some(Arc::clone(&known.patterns.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Patterns {
    fn of(values: Vec<(SecretName, SecretValue)>) -> Self {
        let mut all: Vec<(Form, Arc<str>)> = Vec::new();
        for (name, value) in &values {
            let mark: Arc<str> = format!("[secret {name}]").into();
            all.extend(forms::of(value.expose()).into_iter().map(|form| (form, Arc::clone(&mark))));
        }
        all.sort_by(|a, b| a.0.as_slice().cmp(&b.0));
        all.dedup_by(|a, b| a.0 == b.0);
        let (forms, marks): (Vec<Form>, Vec<Arc<str>>) = all.into_iter().unzip();
        let longest = forms.iter().map(|form| form.len()).max().unwrap_or(0);
        let built =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms.iter().map(|form| &***form));
        // Only far more forms than a vault can hold would not fit.
        let automaton = built.ok();
        Self { values, forms, longest, marks, automaton }
    }

    fn redacted<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut out = Vec::new();
        let done = self.redact_until(bytes, bytes.len(), &mut out);
        if done == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[done..]);
        Cow::Owned(out)
    }

    /// Adds to `out` what comes of the matches that begin before `end`, and all between them; answers where the last one
    /// ends, 0 where there was none.
    pub(super) fn redact_until(&self, bytes: &[u8], end: usize, out: &mut Vec<u8>) -> usize {
        let Some(automaton) = &self.automaton else {
            // Rather nothing than a secret.
            out.extend_from_slice(b"[not shown: the secrets cannot be looked for]");
            return bytes.len();
        };
        let mut done = 0;
        for found in automaton.find_iter(bytes).take_while(|found| found.start() < end) {
            out.extend_from_slice(&bytes[done..found.start()]);
            out.extend_from_slice(self.marks[found.pattern().as_usize()].as_bytes());
            done = found.end();
        }
        done
    }

    fn found_in(&self, bytes: &[u8]) -> Option<SecretName> {
        let found = self.automaton.as_ref()?.find(bytes)?;
        let mark = &self.marks[found.pattern().as_usize()];
        self.values.iter().map(|(name, _)| name).find(|name| **mark == *format!("[secret {name}]")).cloned()
    }

    fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.redacted(text.as_bytes()) {
                    *text = String::from_utf8_lossy(&redacted).into_owned();
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.json(item)),
            Value::Object(map) => {
                if map.keys().any(|key| self.found_in(key.as_bytes()).is_some()) {
                    let renamed = std::mem::take(map).into_iter();
                    map.extend(renamed.map(|(key, value)| {
                        (String::from_utf8_lossy(&self.redacted(key.as_bytes())).into_owned(), value)
                    }));
                }
                map.values_mut().for_each(|item| self.json(item));
            }
            // A secret may be all digits.
            Value::Number(number) => {
                let digits = number.to_string();
                if let Cow::Owned(redacted) = self.redacted(digits.as_bytes()) {
                    *value = Value::String(String::from_utf8_lossy(&redacted).into_owned());
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.patterns().map_or(0, |patterns| patterns.values.len());
        f.debug_struct("Redactor").field("known", &known).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redactor(values: &[(&str, &str)]) -> Redactor {
        Redactor::of(values.iter().map(|(name, value)| {
            (SecretName::parse(name).unwrap(), SecretValue::to_store(value.as_bytes().to_vec()).unwrap())
        }))
    }

    #[test]
    fn values_go_and_the_rest_stays() {
        let redactor = redactor(&[("a", "alpha-secret"), ("b", "beta-secret")]);
        assert_eq!(redactor.text("x alpha-secret y beta-secret z"), "x [secret a] y [secret b] z");
        assert!(matches!(redactor.text("nothing to see"), Cow::Borrowed("nothing to see")));
        assert_eq!(redactor.bytes(b"\xff alpha-secret"), &b"\xff [secret a]"[..]);
        assert_eq!(redactor.found_in(b"..beta-secret.."), SecretName::parse("b").ok());
        assert_eq!(format!("{redactor:?}"), "Redactor { known: 2 }");
    }

    #[test]
    fn the_longer_of_two_values_wins() {
        let redactor = redactor(&[("short", "prefix-of"), ("long", "prefix-of-another")]);
        assert_eq!(redactor.text("prefix-of-another, prefix-of"), "[secret long], [secret short]");
    }

    #[test]
    fn texts_keys_and_numbers_of_json_are_looked_at() {
        let redactor = redactor(&[("a", "alpha-secret"), ("n", "1234567890")]);
        let mut value = json!({ "k": ["alpha-secret", { "alpha-secret": 1234567890 }], "n": 5 });
        redactor.json(&mut value);
        assert_eq!(value, json!({ "k": ["[secret a]", { "[secret a]": "[secret n]" }], "n": 5 }));
    }

    #[test]
    fn one_without_secrets_touches_nothing() {
        for redactor in [Redactor::none(), Redactor::changing(), Redactor::of([])] {
            assert!(redactor.is_empty());
            assert!(matches!(redactor.text("alpha-secret"), Cow::Borrowed(_)));
        }
    }
}
