//! The value of a secret: text that is wiped when it is let go of, and that nothing prints.
//!
//! There is one way to its text, [`SecretValue::expose`], so that every place that uses it can be found by that name.

use std::fmt;

use zeroize::Zeroizing;

/// The fewest bytes of a value. A shorter one stands in ordinary text by chance, and could not be told from it.
const LEAST: usize = 8;
/// The most bytes: more than any key, and little enough to look for in every answer.
const MOST: usize = 64 * 1024;

/// The text of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<String>);

/// Why a text cannot be stored as a secret. Never says the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSecretValue {
    /// It would be found everywhere.
    #[error(
        "a value of {0} bytes is too short for a secret: it takes {LEAST}, as a shorter one cannot be recognised in text"
    )]
    TooShort(usize),
    /// Nothing uses so much.
    #[error("a value of {0} bytes is too long for a secret: the most is {MOST}")]
    TooLong(usize),
    /// It could not be used anywhere.
    #[error("the value is not text: it is no UTF-8, or holds a NUL")]
    NotText,
    /// Every line of dashes would be taken for it.
    #[error("the value has only one kind of character, and cannot be recognised in text")]
    Uniform,
}

impl BadSecretValue {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooShort(_) | Self::Uniform => "use a longer key or password",
            Self::TooLong(_) => "store the key alone, not the file around it",
            Self::NotText => "store it in a form that is text, such as base64",
        }
    }
}

impl SecretValue {
    /// A text, of whatever length: for passphrases, and for what is already stored.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// A value to be stored, as it was read: one line break at its end does not belong to it.
    ///
    /// # Errors
    /// When it is not text, or so short that it could not be recognised.
    pub fn to_store(bytes: Vec<u8>) -> Result<Self, BadSecretValue> {
        let bytes = Zeroizing::new(bytes);
        let text = std::str::from_utf8(&bytes).map_err(|_| BadSecretValue::NotText)?;
        let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        if text.contains('\0') {
            return Err(BadSecretValue::NotText);
        }
        // Space around it may be left out where it is printed, and is nothing to recognise it by.
        let seen = text.trim();
        if seen.len() < LEAST {
            return Err(BadSecretValue::TooShort(seen.len()));
        }
        if text.len() > MOST {
            return Err(BadSecretValue::TooLong(text.len()));
        }
        let first = seen.chars().next();
        if seen.chars().all(|c| Some(c) == first) {
            return Err(BadSecretValue::Uniform);
        }
        Ok(Self::new(text.to_owned()))
    }

    /// The text itself. Whoever asks must neither print nor store it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: &[u8]) -> Result<String, BadSecretValue> {
        SecretValue::to_store(bytes.to_vec()).map(|value| value.expose().to_owned())
    }

    #[test]
    fn one_line_break_at_the_end_is_not_the_secrets() {
        for text in ["12345678", "12345678\n", "12345678\r\n"] {
            assert_eq!(stored(text.as_bytes()).unwrap(), "12345678");
        }
        assert_eq!(stored(b"two\nlines!\n\n").unwrap(), "two\nlines!\n");
    }

    #[test]
    fn what_cannot_be_recognised_is_refused_without_saying_it() {
        assert_eq!(stored(b"hunter2\n"), Err(BadSecretValue::TooShort(7)));
        assert_eq!(stored(b""), Err(BadSecretValue::TooShort(0)));
        assert_eq!(stored(b"      a      "), Err(BadSecretValue::TooShort(1)));
        assert_eq!(stored(b"----------"), Err(BadSecretValue::Uniform));
        assert_eq!(stored(b"12345678\xff"), Err(BadSecretValue::NotText));
        assert_eq!(stored(b"1234\x005678"), Err(BadSecretValue::NotText));
        assert_eq!(stored(&[b'a', b'b'].repeat(MOST)), Err(BadSecretValue::TooLong(2 * MOST)));
    }

    #[test]
    fn nothing_prints_a_value() {
        let value = SecretValue::new("hunter2hunter2".to_owned());
        assert_eq!(format!("{value:?} {:?}", Some(&value)), "SecretValue(…) Some(SecretValue(…))");
    }
}
