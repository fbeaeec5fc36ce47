//! The name of a secret: what a configuration says, what is listed, and what stands where its value was.
//!
//! Names are no secrets. They are short and plain, so that they can be printed and typed anywhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest name.
const LONGEST: usize = 64;

/// The name that a secret is stored under: 1 to 64 letters, digits, `.`, `_` or `-`, with no dot in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

/// Why a text cannot name a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot name a secret")]
pub struct BadSecretName(pub String);

impl BadSecretName {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "use 1 to 64 letters, digits, \".\", \"_\" or \"-\", with no dot in front"
    }
}

impl SecretName {
    /// What a name looks like, as a regular expression.
    pub const PATTERN: &str = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$";

    /// The name that this text is.
    ///
    /// # Errors
    /// When it has other characters than letters, digits, `.`, `_` and `-`, begins with a dot, or is too long.
    pub fn parse(text: &str) -> Result<Self, BadSecretName> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if (1..=LONGEST).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('.') {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadSecretName(text.to_owned()))
        }
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SecretName {
    type Err = BadSecretName;

    fn from_str(text: &str) -> Result<Self, BadSecretName> {
        Self::parse(text)
    }
}

impl Serialize for SecretName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SecretName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for text in ["a", "openai", "A.b_c-9", "-", "_", &"x".repeat(64)] {
            assert_eq!(SecretName::parse(text).unwrap().as_str(), text);
        }
        for text in ["", ".", "..", ".a", "a b", "a/b", "a\n", "é", "a\0", &"x".repeat(65)] {
            assert_eq!(SecretName::parse(text), Err(BadSecretName(text.to_owned())));
        }
    }
}
