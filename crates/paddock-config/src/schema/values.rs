//! Values with a form of their own: scopes, logical paths, sizes, durations, addresses.
//!
//! Each is parsed here, once, into a type; past this module none of them is a bare text.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use paddock_core::{
    AccessScope, AllowedHost, GUARDED, HidePattern, Host, LogicalPath, NameRules, Origin, split_port, written_out,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::fault::Fault;
use crate::nearest::nearest;
use crate::read::{FromToml, Reading, Value, integer};
use crate::source::Located;

/// Notes a text that is empty where a name is needed.
pub(super) fn named(text: &Located<String>, key: &str, reading: &mut Reading<'_>) -> Option<()> {
    if text.value.trim().is_empty() {
        return reading.fail(Fault::Empty { key: key.to_owned() }, text.span.clone());
    }
    Some(())
}

/// An Access Scope as a person writes it: `READ_ONLY`, `RO` or `read-only`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(pub AccessScope);

impl FromToml for Scope {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let written = String::from_toml(value, reading)?;
        match written.parse() {
            Ok(scope) => Some(Self(scope)),
            Err(_) => reading.fail(Fault::NotAScope(written), value.span()),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> Cow<'static, str> {
        "AccessScope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = AccessScope::ALL.iter().flat_map(|s| [s.name(), s.short(), s.words()]).collect();
        json_schema!({ "description": "What the agent may do in a Workspace.", "type": "string", "enum": words })
    }
}

/// An absolute logical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(pub LogicalPath);

impl FromToml for Prefix {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let written = String::from_toml(value, reading)?;
        if !written.starts_with('/') {
            return reading.fail(Fault::NotAbsolute(written), value.span());
        }
        match LogicalPath::parse(&written, &LogicalPath::top()) {
            Ok(path) => Some(Self(path)),
            Err(error) => reading.fail(Fault::NotAPath(error), value.span()),
        }
    }
}

impl Serialize for Prefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl JsonSchema for Prefix {
    fn schema_name() -> Cow<'static, str> {
        "LogicalPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "An absolute logical path.", "type": "string", "pattern": "^/" })
    }
}

/// A pattern of names to hide, known to be gitignore syntax.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HideText(pub String);

impl HideText {
    /// The patterns that it stands for, in order: what a pattern means is told by how it begins, and each of these begins by itself.
    pub(crate) fn each(&self) -> Vec<String> {
        written_out(&self.0).unwrap_or_else(|| vec![self.0.clone()])
    }
}

impl FromToml for HideText {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let text = String::from_toml(value, reading)?;
        let alone = HidePattern { text: text.clone(), origin: Origin::unknown() };
        let read = Self(text);
        if let Some(why) = read.each().iter().find_map(|text| why_it_hides_nothing(text)) {
            return reading.fail(Fault::HidesNothing { pattern: read.0, why }, value.span());
        }
        match NameRules::new(vec![alone], &[], &[]) {
            Ok(_) => Some(read),
            Err(_) => reading.fail(Fault::BadPattern(read.0), value.span()),
        }
    }
}

/// What is valid in a .gitignore file and still matches no name: nobody would notice that it does not hide.
fn why_it_hides_nothing(text: &str) -> Option<&'static str> {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let path = text.strip_prefix('!').unwrap_or(text);
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut names = path.strip_suffix('/').unwrap_or(path).split('/');
    if text.trim().is_empty() {
        Some("it is empty")
    } else if text.contains(breaks) {
        Some("it holds a line break or another control character")
    } else if text.trim() != text {
        Some("it begins or ends with a space")
    } else if text.starts_with('#') {
        Some("it is a comment")
    } else if names.any(|name| matches!(name, "" | "." | "..")) {
        Some("an empty name, \".\" or \"..\" is never part of a path")
    } else {
        None
    }
}

/// The patterns of one Workspace, in order: a later `!pattern` excepts from those before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HideList(pub Vec<Located<HideText>>);

impl FromToml for HideList {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let list = Vec::<Located<HideText>>::from_toml(value, reading)?;
        let excepts = |text: &HideText| text.each().first().is_some_and(|first| first.starts_with('!'));
        match list.first().filter(|first| excepts(first)) {
            None => Some(Self(list)),
            Some(first) => {
                let why = "it excepts from the patterns before it, and there are none";
                reading.fail(Fault::HidesNothing { pattern: first.0.clone(), why }, first.span.clone())
            }
        }
    }
}

impl<'a> IntoIterator for &'a HideList {
    type Item = &'a Located<HideText>;
    type IntoIter = std::slice::Iter<'a, Located<HideText>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The name of a row of the guarded list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuardedText(pub String);

impl FromToml for GuardedText {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let found = String::from_toml(value, reading)?;
        let known: Vec<&'static str> = GUARDED.iter().map(|row| row.name).collect();
        if known.contains(&found.as_str()) {
            return Some(Self(found));
        }
        let nearest = nearest(&found, &known);
        reading.fail(Fault::NotGuarded { found, nearest }, value.span())
    }
}

impl JsonSchema for GuardedText {
    fn schema_name() -> Cow<'static, str> {
        "GuardedName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = GUARDED.iter().map(|row| row.name).collect();
        json_schema!({ "description": "A guarded name.", "type": "string", "enum": names })
    }
}

/// A host that commands may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostText(pub AllowedHost);

impl FromToml for HostText {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let found = String::from_toml(value, reading)?;
        match AllowedHost::parse(&found) {
            Ok(host) => Some(Self(host)),
            Err(why) => reading.fail(Fault::NotAHost { found, why }, value.span()),
        }
    }
}

impl Serialize for HostText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The address of a service on the network: `http://` or `https://`, a host, and perhaps a port and a path. Kept without a `/` at
/// the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceUrl(pub String);

impl FromToml for ServiceUrl {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let found = String::from_toml(value, reading)?;
        if is_service(&found) {
            return Some(Self(found.trim_end_matches('/').to_owned()));
        }
        reading.fail(Fault::NotAService(without_credentials(found)), value.span())
    }
}

impl JsonSchema for ServiceUrl {
    fn schema_name() -> Cow<'static, str> {
        "ServiceUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The address of a service.", "type": "string", "pattern": "^https?://[^@?#]+$" })
    }
}

pub(super) fn is_service(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let is_host = split_port(host).is_ok_and(|(host, _)| Host::parse(host).is_ok());
    is_host && rest.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '@' | '\\'))
}

/// A number of bytes: `"64 KiB"`, `"1 GiB"`, or a bare number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const BYTE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

impl ByteSize {
    /// Reads a number and a unit; without a unit they are bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_unit(text)?;
        let unit = if unit.is_empty() { "B" } else { unit };
        let (_, factor) = BYTE_UNITS.iter().find(|(name, _)| *name == unit)?;
        number.checked_mul(*factor).map(Self)
    }
}

impl FromToml for ByteSize {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        if let Some(written) = value.get_ref().as_integer() {
            return match integer(written) {
                Some(bytes) => Some(Self(bytes)),
                None => reading.fail(Fault::NotASize(written.to_string()), value.span()),
            };
        }
        let Some(text) = value.get_ref().as_str() else {
            return reading.wrong_type(value, "a size such as \"1 GiB\"");
        };
        match Self::parse(text) {
            Some(size) => Some(size),
            None => reading.fail(Fault::NotASize(text.to_owned()), value.span()),
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, factor): &&(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*factor);
        // Binary units come first in the table, so the last of those that fits is the largest.
        let (unit, factor) = BYTE_UNITS[..5].iter().rfind(fits).unwrap_or(&("B", 1));
        write!(f, "{} {unit}", self.0 / factor)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes: \"64 KiB\", \"1 GiB\", or a bare number.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+ *(B|[KMGT]iB|[kMGT]B)?$" },
            ],
        })
    }
}

/// A length of time: `"60 s"`, `"24 h"`, `"30 days"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub std::time::Duration);

const TIME_UNITS: &[(&[&str], u64)] = &[
    (&["ms"], 1),
    (&["s", "second", "seconds"], 1_000),
    (&["min", "minute", "minutes"], 60_000),
    (&["h", "hour", "hours"], 3_600_000),
    (&["d", "day", "days"], 86_400_000),
];

impl Duration {
    /// Reads a number and a unit.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_unit(text)?;
        let (_, factor) = TIME_UNITS.iter().find(|(names, _)| names.contains(&unit))?;
        let millis = number.checked_mul(*factor)?;
        Some(Self(std::time::Duration::from_millis(millis)))
    }
}

impl FromToml for Duration {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let text = match value.get_ref().as_integer() {
            Some(bare) => Cow::Owned(bare.to_string()),
            None => match value.get_ref().as_str() {
                Some(text) => Cow::Borrowed(text),
                None => return reading.wrong_type(value, "a duration such as \"60 s\""),
            },
        };
        match Self::parse(&text) {
            Some(duration) => Some(duration),
            None => reading.fail(Fault::NotADuration(text.into_owned()), value.span()),
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        let fits = |(_, factor): &&(&[&str], u64)| millis != 0 && millis.is_multiple_of(u128::from(*factor));
        let (names, factor) = TIME_UNITS.iter().rfind(fits).unwrap_or(&TIME_UNITS[0]);
        write!(f, "{} {}", millis / u128::from(*factor), names[0])
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let units: Vec<&str> = TIME_UNITS.iter().flat_map(|(names, _)| *names).copied().collect();
        json_schema!({
            "description": "A length of time: \"60 s\", \"5 min\", \"2 h\", \"30 days\".",
            "type": "string",
            "pattern": format!("^[0-9]+ *({})$", units.join("|")),
        })
    }
}

/// Splits `12 KiB` into its number and its unit.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start_matches(' ')))
}

macro_rules! database_url {
    ($(#[$meta:meta])* $name:ident, $what:literal, [$($word:literal),*], $choices:literal, $pattern:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        pub struct $name(pub String);

        impl FromToml for $name {
            fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
                let found = String::from_toml(value, reading)?;
                if [$($word),*].contains(&found.as_str()) || is_postgres(&found) {
                    return Some(Self(found));
                }
                let found = without_credentials(found);
                reading.fail(Fault::NotADatabase { found, what: $what, choices: $choices }, value.span())
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

database_url! {
    /// Where Virtual Stores live: `sqlite`, `memory` or `postgres://…`.
    DatabaseUrl, "Virtual Stores", ["sqlite", "memory"],
    "\"sqlite\", \"memory\" or \"postgres://…\"", "^(sqlite|memory|postgres(ql)?://.+)$"
}

database_url! {
    /// Where the ledger lives: `sqlite` or `postgres://…`.
    StateUrl, "state", ["sqlite"],
    "\"sqlite\" or \"postgres://…\"", "^(sqlite|postgres(ql)?://.+)$"
}

pub(super) fn is_postgres(url: &str) -> bool {
    let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// The address of a database may hold a password, which must not be in a message.
fn without_credentials(url: String) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url,
    }
}

/// An IP address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IpAddress(pub IpAddr);

impl FromToml for IpAddress {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let written = String::from_toml(value, reading)?;
        match written.parse() {
            Ok(address) => Some(Self(address)),
            Err(_) => reading.fail(Fault::NotAnAddress(written), value.span()),
        }
    }
}

impl JsonSchema for IpAddress {
    fn schema_name() -> Cow<'static, str> {
        "IpAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("64 KiB", 65_536),
            ("1GiB", 1 << 30),
            ("2 TiB", 2 << 40),
            ("5 MB", 5_000_000),
            ("1  kB", 1_000),
        ] {
            assert_eq!(ByteSize::parse(text), Some(ByteSize(bytes)), "{text}");
        }
        for text in ["", "KiB", "-1", "1.5 GiB", "1 gib", "1 GiB ", " 1", "99999999999 TiB", "1 KiB x"] {
            assert_eq!(ByteSize::parse(text), None, "{text:?}");
        }
        for size in [0, 1, 1023, 1024, 1 << 20, 3 << 30, 5_000_000] {
            assert_eq!(ByteSize::parse(&ByteSize(size).to_string()), Some(ByteSize(size)));
        }
        assert_eq!(ByteSize(3 << 30).to_string(), "3 GiB");
    }

    #[test]
    fn durations_are_read_and_written() {
        for (text, seconds) in [("60 s", 60), ("24 h", 86_400), ("30 days", 2_592_000), ("2h", 7_200), ("1 min", 60)] {
            let expected = Duration(std::time::Duration::from_secs(seconds));
            assert_eq!(Duration::parse(text), Some(expected), "{text}");
        }
        for text in ["", "60", "s", "1 fortnight", "-1 s", "1.5 h", "99999999999999 days"] {
            assert_eq!(Duration::parse(text), None, "{text:?}");
        }
        for text in ["60 s", "250 ms", "2 h", "30 days", "0 s"] {
            let duration = Duration::parse(text).unwrap();
            assert_eq!(Duration::parse(&duration.to_string()), Some(duration), "{text}");
        }
    }

    #[test]
    fn passwords_are_cut_out_of_addresses() {
        assert_eq!(without_credentials("mysql://u:p@ss@host/db".into()), "mysql://…@host/db");
        assert_eq!(without_credentials("nonsense".into()), "nonsense");
    }
}
