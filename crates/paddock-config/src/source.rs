//! The text of a configuration file, and where in it something stands.
//!
//! Every value that a decision may cite keeps its line, so that a person can be sent to it. Lines and
//! columns count from 1; columns count characters, as editors do.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::Serialize;

/// A line and a column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

/// A configuration text with the name that people know it by (`paddock.toml`).
pub struct Source {
    name: Arc<str>,
    text: String,
    line_starts: Vec<usize>,
}

/// Without the text: it may hold what does not belong in a log.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Source {
    /// A text and its name.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        let text = text.into();
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_newline).collect();
        Self { name: name.into(), line_starts, text }
    }

    /// The name that people know it by.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a byte of the text is. A byte past the end counts as the end.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.line_starts.partition_point(|start| *start <= byte);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self.text[start..byte].chars().count() + 1;
        Position { line: saturating(line), column: saturating(column) }
    }

    /// The text of a line, without its end.
    pub(crate) fn line(&self, line: u32) -> &str {
        let number = line as usize;
        let start = self.line_starts.get(number.saturating_sub(1));
        let start = start.copied().unwrap_or(self.text.len());
        let end = self.line_starts.get(number).copied();
        let text = &self.text[start..end.unwrap_or(self.text.len())];
        text.trim_end_matches(['\n', '\r'])
    }
}

fn saturating(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it begins.
    pub at: Position,
    /// The bytes it takes.
    pub(crate) span: Range<usize>,
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize> Serialize for Located<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("f", "añb\r\n\nx");
        let at = |byte| (source.position(byte).line, source.position(byte).column);
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(3), (1, 3), "ñ is one character");
        assert_eq!(at(6), (2, 1));
        assert_eq!(at(7), (3, 1));
        assert_eq!(at(99), (3, 2), "past the end is the end");
        assert_eq!([source.line(1), source.line(2), source.line(3), source.line(4)], ["añb", "", "x", ""]);
    }

    proptest! {
        #[test]
        fn any_byte_of_any_text_has_a_position(text in "(?s).{0,40}", byte in 0usize..200) {
            let source = Source::new("f", text);
            let position = source.position(byte);
            prop_assert!(position.line >= 1 && position.column >= 1);
            source.line(position.line);
        }
    }
}
