//! Conversations as plain JSON lines, as goondan writes them: read strictly, one line after the other.
//!
//! A line that is no message, or says more than a message can hold, is refused with its number: what would be lost on
//! the way is never dropped silently. It must never hold more than a line in memory.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use paddock_state::conversation::{ConversationError, Message, MessageEvent, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The fields of each thing; any other would be lost.
const MESSAGE: &[&str] = &["id", "data", "metadata", "createdAt", "source"];
const SOURCE: &[&str] = &["type", "stepId", "toolCallId", "toolName", "extensionName"];
const EVENT: &[&str] = &["type", "targetId", "message"];

/// What a line can hold.
pub(super) trait Plain: DeserializeOwned {
    /// Why this would not come through whole.
    fn lost(value: &Value) -> Option<String>;
}

impl Plain for Message {
    fn lost(value: &Value) -> Option<String> {
        beyond(value, MESSAGE, "message").or_else(|| beyond(&value["source"], SOURCE, "source of a message"))
    }
}

impl Plain for MessageEvent {
    fn lost(value: &Value) -> Option<String> {
        beyond(value, EVENT, "event").or_else(|| value.get("message").and_then(Message::lost))
    }
}

fn beyond(value: &Value, fields: &[&str], what: &str) -> Option<String> {
    let mut names = value.as_object()?.keys();
    names
        .find(|name| !fields.contains(&name.as_str()))
        .map(|name| format!("it has the field {name:?}, which no {what} has"))
}

/// The lines of a text; empty ones count and are passed over.
pub(super) struct Lines<R> {
    from: R,
    path: PathBuf,
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn of(from: R, path: &Path) -> Self {
        Self { from, path: path.to_owned(), line: 0, bytes: Vec::new() }
    }

    /// What the next line holds.
    pub(super) fn read<T: Plain>(&mut self) -> Option<Result<T>> {
        loop {
            self.bytes.clear();
            self.line += 1;
            match self.from.read_until(b'\n', &mut self.bytes) {
                Ok(0) => return None,
                Ok(_) if self.bytes.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => return Some(parsed(&self.bytes).map_err(|reason| self.refused(reason))),
                Err(source) => return Some(Err(ConversationError::Io { path: self.path.clone(), source })),
            }
        }
    }

    fn refused(&self, reason: String) -> ConversationError {
        ConversationError::Damaged { path: self.path.clone(), line: self.line, reason }
    }
}

fn parsed<T: Plain>(bytes: &[u8]) -> std::result::Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let value: Value = serde_json::from_str(text).map_err(|error| said(&error))?;
    match T::lost(&value) {
        Some(reason) => Err(reason),
        None => serde_json::from_str(text).map_err(|error| said(&error)),
    }
}

/// The parser counts the lines of what it was given, which is one.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line ") {
        Some((what, _)) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

/// What cannot be read of a file, as the rest of the import tells it.
pub(super) fn unreadable(path: &Path, source: io::Error) -> ConversationError {
    ConversationError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"id":"m","data":{"role":"user","content":12345678901234567890123},"metadata":{},"createdAt":"2026-11-15T12:30:00.000Z","source":{"type":"user"}}"#;

    fn read(text: &str) -> Vec<std::result::Result<String, String>> {
        let mut lines = Lines::of(text.as_bytes(), Path::new("f"));
        let written = |message: Message| serde_json::to_string(&message).unwrap();
        std::iter::from_fn(|| lines.read().map(|read| read.map(written).map_err(|error| error.to_string()))).collect()
    }

    #[test]
    fn a_line_comes_through_byte_by_byte() {
        assert_eq!(read(&format!("{GOOD}\n\n{GOOD}")), [Ok(GOOD.to_owned()), Ok(GOOD.to_owned())]);
    }

    #[test]
    fn what_would_be_lost_is_refused_with_its_line() {
        for (from, to, why) in [
            (r#""metadata":{}"#, r#""metadata":{},"seq":1"#, "the field \"seq\""),
            (r#"{"type":"user"}"#, r#"{"type":"user","name":"x"}"#, "the field \"name\""),
            (r#""id":"m","#, "", "missing field `id`"),
            (r#""id":"m","#, r#""id":"m","id":"n","#, "duplicate field `id`"),
            ("}}", "}", "EOF while parsing"),
        ] {
            let bad = GOOD.replacen(from, to, 1);
            assert_ne!(bad, GOOD);
            let told = read(&format!("{GOOD}\n\n{bad}\n"))[1].clone().unwrap_err();
            assert!(told.starts_with("line 3 of \"f\"") && told.contains(why), "{told}");
        }
    }

    #[test]
    fn an_event_is_looked_at_through_and_through() {
        let event = |text: &str| parsed::<MessageEvent>(text.as_bytes()).map(|event| event.is_append());
        assert_eq!(event(&format!(r#"{{"type":"append","message":{GOOD}}}"#)), Ok(true));
        assert!(event(&format!(r#"{{"type":"append","message":{GOOD},"turnId":"t"}}"#)).is_err());
        let longer = GOOD.replace(r#""id":"m""#, r#""id":"m","more":1"#);
        assert!(event(&format!(r#"{{"type":"append","message":{longer}}}"#)).is_err());
    }
}
