//! The keys that are set, each with its line; and values as they may be shown.

use paddock_config::ConfigFile;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value as it is shown: terminals are logged and shared, so that no password is.
pub(super) fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_password(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(masked).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, masked(value))).collect()),
        other => other,
    }
}

/// The text of a url without the password in it; any other text as it is.
pub(super) fn without_password(text: &str) -> String {
    let password = || {
        let start = text.find("://")? + 3;
        // What comes after the host's first slash may hold anything.
        let end = start + text[start..].find(['/', '?']).unwrap_or(text.len() - start);
        let at = start + text[start..end].rfind('@')?;
        let colon = start + text[start..at].find(':')?;
        Some(colon + 1..at)
    };
    match password() {
        Some(range) if !range.is_empty() => format!("{}…{}", &text[..range.start], &text[range.end..]),
        _ => text.to_owned(),
    }
}

/// A key that is set, its value as it was written, and its line.
pub(super) struct Key {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) line: u32,
}

/// Every key that is set, in the order of the file.
pub(super) fn keys(file: &ConfigFile) -> Vec<Key> {
    let mut found = Vec::new();
    // The text was read strictly already, so it parses.
    if let Ok(table) = DeTable::parse(file.source().text()) {
        in_table(file, "", table.get_ref(), &mut found);
    }
    found.sort_by_key(|key| key.line);
    found
}

fn in_table(file: &ConfigFile, above: &str, table: &DeTable<'_>, found: &mut Vec<Key>) {
    for (key, value) in table {
        let key = key.get_ref();
        let path = if above.is_empty() { key.to_string() } else { format!("{above}.{key}") };
        in_value(file, path, value, found);
    }
}

fn in_value(file: &ConfigFile, path: String, value: &Spanned<DeValue<'_>>, found: &mut Vec<Key>) {
    let is_table = |value: &Spanned<DeValue<'_>>| matches!(value.get_ref(), DeValue::Table(_));
    match value.get_ref() {
        DeValue::Table(table) => in_table(file, &path, table, found),
        DeValue::Array(list) if list.iter().any(is_table) => {
            for (n, item) in list.iter().enumerate() {
                in_value(file, format!("{path}[{n}]"), item, found);
            }
        }
        _ => {
            let span = value.span();
            let line = file.source().position(span.start).line;
            let value = file.source().text().get(span).unwrap_or_default().to_owned();
            found.push(Key { path, value, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_password_is_left_out_and_nothing_else() {
        let shown = [
            ("postgres://me:secret@db:5432/p?a=b", "postgres://me:…@db:5432/p?a=b"),
            ("postgres://me:se:c@ret@db/p", "postgres://me:…@db/p"),
            ("\"postgres://me:secret@db/p\"", "\"postgres://me:…@db/p\""),
            ("postgres://me@db/p", "postgres://me@db/p"),
            ("http://localhost:8888/a@b:c", "http://localhost:8888/a@b:c"),
            ("a: b@c", "a: b@c"),
        ];
        for (text, expected) in shown {
            assert_eq!(without_password(text), expected);
        }
        let nested = masked(json!({ "state": { "url": ["postgres://me:secret@db/p", 1] } }));
        assert_eq!(nested, json!({ "state": { "url": ["postgres://me:…@db/p", 1] } }));
    }
}
