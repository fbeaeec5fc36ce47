//! Arguments as a list tells them: each text no longer than somebody reads there.
//!
//! A call may bring megabytes, and a list has very many calls. It must say what it leaves out, and never cut within a character.

use std::fmt::Write as _;

use serde_json::Value;

/// The most bytes of one text.
const LONGEST: usize = 1024;

/// Cuts every text that is too long; gives how many bytes are left out of all of them.
pub(super) fn texts(value: &mut Value) -> u64 {
    match value {
        Value::String(text) => text_cut(text),
        Value::Array(values) => values.iter_mut().map(texts).sum(),
        Value::Object(object) => object.values_mut().map(texts).sum(),
        _ => 0,
    }
}

fn text_cut(text: &mut String) -> u64 {
    if text.len() <= LONGEST {
        return 0;
    }
    let end = text.floor_char_boundary(LONGEST);
    let left_out = (text.len() - end) as u64;
    text.truncate(end);
    let _ = write!(text, "… ({left_out} more bytes)");
    left_out
}
