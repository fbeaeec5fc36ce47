//! The state of an extension as text: an object, two spaces deep, with a line break at the end.

use serde_json::{Map, Value};

/// As it is stored.
pub(super) fn written(state: &Map<String, Value>) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(state)? + "\n")
}

/// What a stored text holds.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
