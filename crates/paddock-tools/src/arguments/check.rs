//! Reading arguments strictly, with an error that says which argument and what to write instead.
//!
//! The names and types are taken from the tool's schema, so that they are written down once.

use paddock_core::visible;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use super::MAX_CONTENT;

/// Names that are taken for another.
const ALIASES: &[(&str, &str)] = &[("file_path", "path")];
/// How much of an unknown name is repeated.
const SHOWN: usize = 60;
/// How alike a name has to be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.7;

/// Why arguments are not those of the tool. Each reads as a sentence to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BadArguments {
    #[error("Unknown argument \"{given}\".{} The arguments are: {known}.", did_you_mean(*.nearest))]
    Unknown { given: String, nearest: Option<&'static str>, known: String },
    #[error("The argument \"{0}\" is missing.")]
    Missing(&'static str),
    #[error("The argument \"{name}\" has to be {wanted}, not {got}.")]
    WrongType { name: String, wanted: &'static str, got: &'static str },
    #[error("Use \"{0}\" or \"{1}\", not both: they mean the same.")]
    Twice(&'static str, &'static str),
    #[error("Give old_string and new_string, or edits.")]
    EitherForm,
    #[error("Give old_string and new_string (with replace_all, if wanted), or edits, not both.")]
    BothForms,
    #[error(
        "The argument \"{name}\" is {bytes} bytes long, and one call takes at most {MAX_CONTENT}. \
         Write the first part and add the rest with append_file."
    )]
    TooLarge { name: &'static str, bytes: usize },
    #[error("The argument \"{name}\" {why}.")]
    Bad { name: &'static str, why: String },
    #[error("The arguments cannot be read: {0}.")]
    Unreadable(String),
}

fn did_you_mean(nearest: Option<&'static str>) -> String {
    nearest.map(|name| format!(" Did you mean \"{name}\"?")).unwrap_or_default()
}

/// Reads the arguments of a tool whose schema is given.
pub(crate) fn read<T: DeserializeOwned>(
    schema: &'static Map<String, Value>,
    mut given: Map<String, Value>,
) -> Result<T, BadArguments> {
    // Many clients send null for what they leave out.
    given.retain(|_, value| !value.is_null());
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in &given {
        check_one(properties, name, value)?;
    }
    for (alias, name) in ALIASES {
        if given.contains_key(*alias) && given.contains_key(*name) {
            return Err(BadArguments::Twice(name, alias));
        }
    }
    for name in required(schema) {
        let aliased = ALIASES.iter().any(|(alias, of)| *of == name && given.contains_key(*alias));
        if !aliased && !given.contains_key(name) {
            return Err(BadArguments::Missing(name));
        }
    }
    serde_json::from_value(Value::Object(given)).map_err(|error| BadArguments::Unreadable(shown(&error.to_string())))
}

fn required(schema: &'static Map<String, Value>) -> impl Iterator<Item = &'static str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn check_one(properties: Option<&'static Map<String, Value>>, name: &str, value: &Value) -> Result<(), BadArguments> {
    let meant = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, meant)| meant);
    let Some(property) = properties.and_then(|known| known.get(meant)) else {
        let names = || properties.into_iter().flat_map(|known| known.keys().map(String::as_str));
        let mut known: Vec<&str> = names().collect();
        known.sort_unstable();
        let known = known.join(", ");
        return Err(BadArguments::Unknown { given: shown(name), nearest: nearest(name, names()), known });
    };
    let (wanted, fits) = match property.get("type").and_then(Value::as_str) {
        Some("string") => ("a text", value.is_string()),
        Some("integer") => ("a whole number of 0 or more", value.is_u64()),
        Some("boolean") => ("true or false", value.is_boolean()),
        Some("array") => ("a list", value.is_array()),
        _ => ("", true),
    };
    if fits {
        return Ok(());
    }
    Err(BadArguments::WrongType { name: name.to_owned(), wanted, got: kind_of(value) })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(number) if number.is_i64() && !number.is_u64() => "a negative number",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The known name that is most like a given one, if one is like it at all.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given: String = given.chars().take(SHOWN).collect::<String>().to_lowercase();
    known
        .map(|name| (strsim::jaro_winkler(&given, name), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// The agent's own words, made harmless and short.
fn shown(text: &str) -> String {
    let mut out = visible(text);
    if out.len() > SHOWN {
        out.truncate(out.floor_char_boundary(SHOWN));
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;

    use super::*;
    use crate::arguments::{EditFile, ReadFile};
    use crate::schema::{self, Schema};

    static READ: LazyLock<Schema> = LazyLock::new(schema::of::<ReadFile>);
    static EDIT: LazyLock<Schema> = LazyLock::new(schema::of::<EditFile>);

    fn told<T: DeserializeOwned>(schema: &'static Map<String, Value>, given: Value) -> Result<T, String> {
        let Value::Object(given) = given else { unreachable!("an object") };
        read(schema, given).map_err(|error| error.to_string())
    }

    #[test]
    fn both_names_of_a_path_are_taken_but_not_together() {
        for given in [json!({"path": "/a"}), json!({"file_path": "/a", "offset": null})] {
            let args: ReadFile = told(&READ, given).unwrap();
            assert_eq!((args.path.as_str(), args.offset), ("/a", None));
        }
        let twice = told::<ReadFile>(&READ, json!({"path": "/a", "file_path": "/a"})).unwrap_err();
        assert_eq!(twice, "Use \"path\" or \"file_path\", not both: they mean the same.");
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        let cases = [
            (json!({}), "The argument \"path\" is missing."),
            (
                json!({"path": "/a", "ofset": 1}),
                "Unknown argument \"ofset\". Did you mean \"offset\"? The arguments are: limit, offset, path.",
            ),
            (json!({"path": "/a", "zzz": 1}), "Unknown argument \"zzz\". The arguments are: limit, offset, path."),
            (json!({"path": 3}), "The argument \"path\" has to be a text, not a number."),
            (
                json!({"path": "/a", "offset": "3"}),
                "The argument \"offset\" has to be a whole number of 0 or more, not a text.",
            ),
            (
                json!({"path": "/a", "offset": -3}),
                "The argument \"offset\" has to be a whole number of 0 or more, not a negative number.",
            ),
            (
                json!({"path": "/a", "offset": 1.5}),
                "The argument \"offset\" has to be a whole number of 0 or more, not a fraction.",
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(told::<ReadFile>(&READ, given).unwrap_err(), expected);
        }
    }

    #[test]
    fn an_unknown_name_is_repeated_short_and_harmless() {
        let name = format!("\u{202e}{}", "x".repeat(10_000));
        let error = told::<ReadFile>(&READ, json!({ name: 1, "path": "/a" })).unwrap_err();
        assert!(error.len() < 300 && !error.contains('\u{202e}'), "{error}");
    }

    #[test]
    fn an_edit_has_one_form() {
        let told = |given: Value| {
            told::<EditFile>(&EDIT, given).and_then(|args| args.replacements().map_err(|error| error.to_string()))
        };
        let one = told(json!({"path": "/a", "old_string": "x", "new_string": ""})).unwrap();
        assert_eq!(one.len(), 1);
        let list = json!({"path": "/a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": true}]});
        assert!(told(list).unwrap()[0].all);
        for wrong in [
            json!({"path": "/a"}),
            json!({"path": "/a", "old_string": "x"}),
            json!({"path": "/a", "old_string": "", "new_string": "y"}),
            json!({"path": "/a", "old_string": "y", "new_string": "y"}),
            json!({"path": "/a", "edits": []}),
            json!({"path": "/a", "edits": [{"old_string": "x"}]}),
            json!({"path": "/a", "edits": [{"old_string": "x", "new_string": "y", "more": 1}]}),
            json!({"path": "/a", "old_string": "x", "new_string": "y", "edits": []}),
            json!({"path": "/a", "replace_all": true, "edits": [{"old_string": "x", "new_string": "y"}]}),
        ] {
            assert!(told(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
