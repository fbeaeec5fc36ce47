//! The names that come from outside and become parts of paths: instances, extensions, turns.
//!
//! Each is a type of its own that can only be made from a text that passed its rule, so that no call can name a
//! neighbour's directory, the directory above, or everything. The rule is about the text alone.

use std::fmt;
use std::str::FromStr;

/// The longest name, in bytes: one component of a path, with room for an ending.
const LONGEST: usize = 200;
/// What a turn may be called by, besides letters and digits of ASCII.
const IN_TURNS: &str = "._:-";

/// Why a text cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot be the {of}: {why}")]
pub struct BadName {
    /// What it was to name.
    pub of: &'static str,
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl BadName {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "use letters, digits, \"-\" and \"_\"; a dot may stand inside"
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $of:literal, $rule:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name that `text` is.
            ///
            /// # Errors
            /// When it breaks the rule of such names.
            pub fn new(text: impl Into<String>) -> Result<Self, BadName> {
                let text = text.into();
                match $rule(&text) {
                    Some(why) => Err(BadName { of: $of, text, why }),
                    None => Ok(Self(text)),
                }
            }

            /// As text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                Self::new(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }

        impl AsRef<std::path::Path> for $name {
            fn as_ref(&self) -> &std::path::Path {
                self.0.as_ref()
            }
        }
    };
}

name! {
    /// Which instance of an agent: the name of its directory.
    InstanceKey, "key of an instance", wrong_in_paths
}
name! {
    /// Which extension a state belongs to: the name of its file, without the ending.
    ExtensionName, "name of an extension", wrong_in_paths
}
name! {
    /// Which turn an event belongs to: one message of a user and everything until the answer to it is whole.
    TurnId, "id of a turn", wrong_in_turns
}

/// What is wrong with a text as one component of a path. A dot in front is kept for what is being made or removed.
fn wrong_in_paths(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text == "." || text == ".." {
        return Some("it means another directory");
    }
    if text.starts_with('.') {
        return Some("it begins with a dot");
    }
    if text.len() > LONGEST {
        return Some("it is longer than 200 bytes");
    }
    if text.contains(['/', '\\']) {
        return Some("it holds a separator of paths");
    }
    text.chars().any(is_invisible).then_some("it holds a character that cannot be seen")
}

/// Control characters, and those that turn the direction of what is printed after them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// What is wrong with a text as the id of a turn: it stands in every line, and never needs quoting there.
fn wrong_in_turns(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > LONGEST {
        return Some("it is longer than 200 bytes");
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || IN_TURNS.contains(c);
    (!text.chars().all(allowed)).then_some("only ASCII letters, digits, \".\", \"_\", \":\" and \"-\" can be in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_names() {
        for text in ["main", "agent-1", "user:42", "한국어", "a..b", "x.json", "two words"] {
            assert_eq!(InstanceKey::new(text).unwrap().as_str(), text);
            assert_eq!(ExtensionName::new(text).unwrap().as_str(), text);
        }
        TurnId::new("turn:2026-11-15_1.a").unwrap();
    }

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        let long = "x".repeat(201);
        let hostile =
            ["", ".", "..", "../x", "a/b", "a\\b", "/", ".hidden", "a\0b", "a\nb", "a\u{202e}b", long.as_str()];
        for text in hostile {
            assert!(InstanceKey::new(text).is_err(), "{text:?}");
            assert!(ExtensionName::new(text).is_err(), "{text:?}");
        }
        for text in ["", "a b", "a\"b", "a,b", "é", long.as_str()] {
            assert!(TurnId::new(text).is_err(), "{text:?}");
        }
    }
}
