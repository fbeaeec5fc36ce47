//! `paddock config`: shows and changes `paddock.toml`, key by key.

use paddock_config::{ConfigError, ConfigFile, EditError};
use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cli::{Config, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Look, Printer};
use paddock_desk::FailureKind;
use paddock_desk::{Project, project};

pub(crate) fn run(global: &Global, options: &Config, printer: &Printer) -> anyhow::Result<Ended> {
    match options {
        Config::Show { origin, json } => show(global, *origin, *json, printer),
        Config::Get { key, json } => get(global, key, *json, printer),
        Config::Set { key, value } => set(global, key, value),
        Config::Schema => {
            printer.json(&paddock_config::json_schema())?;
            Ok(Ended::Done)
        }
    }
}

fn show(global: &Global, origin: bool, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let file = project.config_file()?;
    if as_json && !origin {
        printer.json(&masked(serde_json::to_value(file.config())?))?;
        return Ok(Ended::Done);
    }
    let keys = keys(&file);
    if as_json {
        let place = |line: u32| format!("{}:{line}", project.config_name());
        let list: Vec<Value> =
            keys.iter().map(|key| json!({ "key": key.path, "value": key.value, "origin": place(key.line) })).collect();
        printer.json(&masked(Value::Array(list)))?;
        return Ok(Ended::Done);
    }
    for key in &keys {
        let place = format!("  # {}:{}", project.config_name(), key.line);
        let place = if origin { printer.look(Look::Faint, place) } else { String::new() };
        let value = without_password(&key.value);
        printer.line(format_args!("{} = {value}{place}", key.path))?;
    }
    Ok(Ended::Done)
}

fn get(global: &Global, key: &str, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let found = paddock_config::get(&project.config_name(), &project.text()?, key).map_err(edit_problem)?;
    match found.map(masked) {
        None => Err(Failure::failed(format!("\"{key}\" is not set"), "`paddock config show` shows every key that is")),
        Some(Value::String(text)) if !as_json => printer.text(&text).map(|()| Ended::Done),
        Some(value) => printer.json(&value).map(|()| Ended::Done),
    }
}

/// A value as it is shown: terminals are logged and shared, so that no password is.
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_password(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(masked).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, masked(value))).collect()),
        other => other,
    }
}

/// The text of a url without the password in it; any other text as it is.
fn without_password(text: &str) -> String {
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

fn set(global: &Global, key: &str, value: &str) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let (name, old) = (project.config_name(), project.text()?);
    let changed = paddock_config::set(&name, &old, key, value).map_err(edit_problem)?;
    let unbuilt = project.unbuilt(&changed)?;
    if let Some(error) = &unbuilt
        && is_worse(&project, &old, error)?
    {
        let text =
            format!("{error}\nnote: nothing was changed: with this value the configuration could not take effect");
        return Err(Failure::told(text, FailureKind::Misused));
    }
    paddock_config::save(&project.config, &changed).map_err(|error| {
        let message = format!("cannot write \"{}\": {error}", project.config.display());
        Failure::failed(message, "check that you may write the file and its directory")
    })?;
    printer::tell(format_args!("changed \"{key}\" in {name}"));
    if let Some(error) = unbuilt {
        printer::tell(format_args!(
            "\nwarning: the configuration could not take effect before and still cannot\n{error}"
        ));
    }
    Ok(Ended::Done)
}

/// Does a change bring a problem that was not there before? A file with several is mended one key at a time.
fn is_worse(project: &Project, old: &str, new: &ConfigError) -> anyhow::Result<bool> {
    let before = match ConfigFile::parse(&project.config_name(), old) {
        Ok(_) => project.unbuilt(old)?,
        // What could not even be read can only have become better.
        Err(_) => return Ok(false),
    };
    let had = |fault| before.iter().flat_map(ConfigError::problems).any(|problem| problem.fault() == fault);
    Ok(new.problems().iter().any(|problem| !had(problem.fault())))
}

fn edit_problem(error: EditError) -> anyhow::Error {
    match (error.hint(), error) {
        (_, EditError::Broken(problems)) => project::config_problem(problems).into(),
        (hint, error) => Failure::misused(error, hint.unwrap_or("`paddock config show` shows every key that is set")),
    }
}

/// A key that is set, its value as it was written, and its line.
struct Key {
    path: String,
    value: String,
    line: u32,
}

fn keys(file: &ConfigFile) -> Vec<Key> {
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
