//! Reading TOML values into the schema's types, with every problem noted on the way.
//!
//! A reader never stops at the first mistake: it notes the problem with its place, gives nothing for that
//! value, and goes on with its siblings. Only a file without any problem becomes a configuration.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::fault::Fault;
use crate::nearest::nearest;
use crate::problem::Problem;
use crate::schema::{Config, WorkspaceTable};
use crate::source::{Located, Source};

/// A value with its place in the text.
pub(crate) type Value<'i> = Spanned<DeValue<'i>>;

/// A type of the schema that can be read from a TOML value.
pub(crate) trait FromToml: Sized {
    /// Is it written as a table of its own, so that a list of them takes double brackets?
    const IS_TABLE: bool = false;

    /// The value, or nothing after noting what is wrong.
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self>;
}

/// What has been found so far, and where the reader is.
pub(crate) struct Reading<'s> {
    source: &'s Source,
    path: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

/// A table whose keys are all known.
pub(crate) struct Fields<'t, 'i> {
    table: &'t DeTable<'i>,
    within: &'static str,
    span: Range<usize>,
    /// Some key is not known: a key that seems to be missing may be that one, misspelt.
    pub(crate) has_unknown: bool,
}

impl<'s> Reading<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self { source, path: Vec::new(), problems: Vec::new() }
    }

    /// Notes a problem and gives nothing.
    pub(crate) fn fail<T>(&mut self, fault: Fault, span: Range<usize>) -> Option<T> {
        self.problems.push(Problem::new(fault, span));
        None
    }

    /// Notes that the value is of another kind than expected.
    pub(crate) fn wrong_type<T>(&mut self, value: &Value<'_>, expected: &'static str) -> Option<T> {
        let fault = Fault::WrongType { key: self.key(), expected, found: kind(value.get_ref()) };
        self.fail(fault, value.span())
    }

    /// The key being read, as its table writes it.
    pub(crate) fn key(&self) -> String {
        self.path.last().cloned().unwrap_or_default()
    }

    /// Opens a table and notes each key that is not `known`.
    pub(crate) fn fields<'t, 'i>(
        &mut self,
        value: &'t Value<'i>,
        within: &'static str,
        known: &'static [&'static str],
    ) -> Option<Fields<'t, 'i>> {
        let Some(table) = value.get_ref().as_table() else {
            return self.wrong_type(value, "a table");
        };
        let mut has_unknown = false;
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            has_unknown = true;
            let key_text: &str = key.get_ref();
            let fault = Fault::UnknownKey {
                key: key_text.to_owned(),
                within,
                nearest: nearest(key_text, known),
                home: home_of(key_text),
                known,
            };
            self.fail::<()>(fault, key.span());
        }
        let span = value.span();
        Some(Fields { table, within, span, has_unknown })
    }

    /// Reads a key that has to be there.
    pub(crate) fn required<T: FromToml>(&mut self, fields: &Fields<'_, '_>, key: &'static str) -> Option<T> {
        match self.optional(fields, key)? {
            Some(value) => Some(value),
            None => {
                let within = fields.within;
                self.fail(Fault::MissingKey { key, within }, fields.span.clone())
            }
        }
    }

    /// Reads a key that may be absent: nothing for a bad value, `Some(None)` for none at all.
    #[allow(clippy::option_option, reason = "absent and broken are different answers")]
    pub(crate) fn optional<T: FromToml>(&mut self, fields: &Fields<'_, '_>, key: &'static str) -> Option<Option<T>> {
        let Some(value) = fields.table.get(key) else {
            return Some(None);
        };
        self.path.push(key.to_owned());
        let read = T::from_toml(value, self);
        self.path.pop();
        read.map(Some)
    }

    /// Reads a value as the entry `name` of what is being read.
    pub(crate) fn entry<T: FromToml>(&mut self, name: &str, value: &Value<'_>) -> Option<T> {
        self.path.push(name.to_owned());
        let read = T::from_toml(value, self);
        self.path.pop();
        read
    }

    /// A value with the place that it has in the text.
    pub(crate) fn located<T>(&self, value: T, span: Range<usize>) -> Located<T> {
        let at = self.source.position(span.start);
        Located { value, at, span }
    }
}

/// Where a key belongs that was written in the wrong table, as happens below a TOML header.
fn home_of(key: &str) -> Option<&'static str> {
    if Config::KEYS.contains(&key) {
        Some("at the top of the file, above the first [table]")
    } else if WorkspaceTable::KEYS.contains(&key) {
        Some("in [[workspace]]")
    } else {
        None
    }
}

/// What a value is, in the words of the messages.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

impl FromToml for String {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        match value.get_ref().as_str() {
            Some(text) => Some(text.to_owned()),
            None => reading.wrong_type(value, "a text in quotes"),
        }
    }
}

impl FromToml for bool {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        match value.get_ref().as_bool() {
            Some(yes) => Some(yes),
            None => reading.wrong_type(value, "true or false"),
        }
    }
}

impl FromToml for u64 {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        whole_number(value, reading, i64::MAX.unsigned_abs())
    }
}

impl FromToml for u16 {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let number = whole_number(value, reading, Self::MAX.into())?;
        Self::try_from(number).ok()
    }
}

fn whole_number(value: &Value<'_>, reading: &mut Reading<'_>, most: u64) -> Option<u64> {
    let Some(written) = value.get_ref().as_integer() else {
        return reading.wrong_type(value, "a whole number");
    };
    match integer(written).filter(|number| *number <= most) {
        Some(number) => Some(number),
        None => {
            let fault = Fault::OutOfRange { key: reading.key(), least: 0, most, found: written.to_string() };
            reading.fail(fault, value.span())
        }
    }
}

/// An integer that is not negative and fits.
pub(crate) fn integer(written: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(written.as_str(), written.radix()).ok()
}

impl<T: FromToml> FromToml for Located<T> {
    const IS_TABLE: bool = T::IS_TABLE;

    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let read = T::from_toml(value, reading)?;
        Some(reading.located(read, value.span()))
    }
}

impl<T: FromToml> FromToml for Vec<T> {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let key = reading.key();
        let Some(items) = value.get_ref().as_array() else {
            if T::IS_TABLE && value.get_ref().is_table() {
                let path = reading.path.join(".");
                return reading.fail(Fault::SingleTable { key: path }, value.span());
            }
            return reading.wrong_type(value, "a list");
        };
        let outer = reading.path.pop();
        // Read all of them before giving up, so that each problem is found.
        let read: Vec<Option<T>> =
            items.iter().enumerate().map(|(n, item)| reading.entry(&format!("{key}[{n}]"), item)).collect();
        reading.path.extend(outer);
        read.into_iter().collect()
    }
}

impl<T: FromToml> FromToml for BTreeMap<String, T> {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let Some(table) = value.get_ref().as_table() else {
            return reading.wrong_type(value, "a table");
        };
        let read: Vec<Option<(String, T)>> = table
            .iter()
            .map(|(name, value)| {
                let read = reading.entry(name.get_ref(), value)?;
                Some((name.get_ref().to_string(), read))
            })
            .collect();
        read.into_iter().collect()
    }
}
