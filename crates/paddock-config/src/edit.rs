//! Reading and changing one key of a configuration, with everything else left as the person wrote it.
//!
//! A change is made on the text, comments and order included, and the whole result is checked before it is
//! given back. A result with a problem is refused, so `paddock config set` can never break a file.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value as Json;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::config_file::ConfigFile;
use crate::problem::ConfigError;

/// Why a key cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// Not the path of a key.
    #[error("\"{0}\" is not the path of a key")]
    NotAKey(String),
    /// The path leads through something that has no keys, or past the end of a list.
    #[error("there is nothing at \"{0}\"")]
    Nowhere(String),
    /// The file, or what it would become, has problems.
    #[error(transparent)]
    Broken(#[from] ConfigError),
}

impl EditError {
    /// The one thing to do next, where the message does not hold it already.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAKey(_) => Some("write it as name, commands.deny or workspace[0].scope"),
            Self::Nowhere(_) => Some("`paddock config show` shows what is there"),
            Self::Broken(_) => None,
        }
    }
}

/// The value of a key such as `workspace[0].scope`, or nothing when it is not set.
///
/// # Errors
/// When the text has problems, or `key` is not the path of a key.
pub fn get(name: &str, text: &str, key: &str) -> Result<Option<Json>, EditError> {
    let steps = steps(key)?;
    ConfigFile::parse(name, text)?;
    // The text is valid, so it is TOML without dates: every value has a JSON form.
    let whole: Json = toml::from_str(text).map_err(|_| EditError::Nowhere(key.to_owned()))?;
    let found = steps.iter().try_fold(&whole, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(n) => value.get(n),
    });
    Ok(found.cloned())
}

/// The text with one key changed. `value` is TOML (`true`, `["rm"]`) or else taken as text (`60 s`).
///
/// # Errors
/// When the result would have problems; then they are about the result's text.
pub fn set(name: &str, text: &str, key: &str, value: &str) -> Result<String, EditError> {
    let steps = steps(key)?;
    let as_toml = value.parse::<Value>().ok();
    let as_text = Value::from(value);
    let Some(as_toml) = as_toml else {
        return with(name, text, key, &steps, as_text);
    };
    with(name, text, key, &steps, as_toml).or_else(|error| {
        // `name = 5` is refused as a number; the person meant the text.
        with(name, text, key, &steps, as_text).map_err(|_| error)
    })
}

/// The text with one key taken away.
///
/// # Errors
/// When it is not there, or the result would have problems; then they are about the result's text.
pub fn unset(name: &str, text: &str, key: &str) -> Result<String, EditError> {
    let steps = steps(key)?;
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        ConfigFile::parse(name, text)?;
        return Err(EditError::Nowhere(key.to_owned()));
    };
    take_from_table(document.as_table_mut(), &steps).ok_or_else(|| EditError::Nowhere(key.to_owned()))?;
    let changed = document.to_string();
    ConfigFile::parse(name, &changed)?;
    Ok(changed)
}

/// Replaces a file's text at once: whoever reads it sees the old text or the new one, never a part.
///
/// # Errors
/// When the host refuses.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    // A link is kept and what it leads to is replaced.
    let real = fs::canonicalize(path)?;
    let mode = fs::metadata(&real)?.permissions();
    let mut beside = real.clone().into_os_string();
    beside.push(format!(".new-{}", std::process::id()));
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).open(&beside)?;
        file.set_permissions(mode)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &real)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// One step of a key's path.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Splits `a.b[0].c`.
fn steps(key: &str) -> Result<Vec<Step>, EditError> {
    let wrong = || EditError::NotAKey(key.to_owned());
    let mut steps = Vec::new();
    for part in key.split('.') {
        let (name, mut indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() || name.contains(']') {
            return Err(wrong());
        }
        steps.push(Step::Key(name.to_owned()));
        while !indexes.is_empty() {
            let inner = indexes.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let (number, rest) = inner.ok_or_else(wrong)?;
            steps.push(Step::Index(number.parse().map_err(|_| wrong())?));
            indexes = rest;
        }
    }
    Ok(steps)
}

fn with(name: &str, text: &str, key: &str, steps: &[Step], value: Value) -> Result<String, EditError> {
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        ConfigFile::parse(name, text)?;
        return Err(EditError::Nowhere(key.to_owned()));
    };
    put_in_table(document.as_table_mut(), steps, value, false).ok_or_else(|| EditError::Nowhere(key.to_owned()))?;
    let changed = document.to_string();
    ConfigFile::parse(name, &changed)?;
    Ok(changed)
}

/// Puts the value at the end of the steps, making tables on the way; nothing where they lead nowhere.
fn put_in_table(table: &mut dyn TableLike, steps: &[Step], value: Value, inline: bool) -> Option<()> {
    let (Step::Key(key), rest) = steps.split_first()? else {
        return None;
    };
    if rest.is_empty() {
        match table.get_mut(key) {
            Some(Item::Value(old)) => replace(old, value),
            _ => drop(table.insert(key, Item::Value(value))),
        }
        return Some(());
    }
    if !table.contains_key(key) {
        table.insert(key, empty(rest, inline));
    }
    put_in_item(table.get_mut(key)?, rest, value)
}

/// Takes away what is at the end of the steps; nothing where they lead nowhere.
fn take_from_table(table: &mut dyn TableLike, steps: &[Step]) -> Option<()> {
    let (Step::Key(key), rest) = steps.split_first()? else {
        return None;
    };
    if rest.is_empty() {
        return table.remove(key).map(drop);
    }
    take_from_item(table.get_mut(key)?, rest)
}

fn take_from_item(item: &mut Item, steps: &[Step]) -> Option<()> {
    let (first, rest) = steps.split_first()?;
    match (first, item) {
        (Step::Key(_), Item::Table(table)) => take_from_table(table, steps),
        (Step::Key(_), Item::Value(Value::InlineTable(table))) => take_from_table(table, steps),
        (Step::Index(n), Item::ArrayOfTables(tables)) if rest.is_empty() => {
            (*n < tables.len()).then(|| drop(tables.remove(*n)))
        }
        (Step::Index(n), Item::ArrayOfTables(tables)) => take_from_table(tables.get_mut(*n)?, rest),
        (Step::Index(n), Item::Value(Value::Array(list))) if rest.is_empty() => {
            (*n < list.len()).then(|| drop(list.remove(*n)))
        }
        (Step::Index(n), Item::Value(Value::Array(list))) => match list.get_mut(*n)? {
            Value::InlineTable(table) => take_from_table(table, rest),
            _ => None,
        },
        _ => None,
    }
}

fn put_in_item(item: &mut Item, steps: &[Step], value: Value) -> Option<()> {
    match (steps.first()?, item) {
        (Step::Key(_), Item::Table(table)) => put_in_table(table, steps, value, false),
        (Step::Key(_), Item::Value(Value::InlineTable(table))) => put_in_table(table, steps, value, true),
        (Step::Index(n), Item::ArrayOfTables(tables)) => put_in_tables(tables, *n, &steps[1..], value),
        (Step::Index(n), Item::Value(Value::Array(list))) => {
            if *n == list.len() && steps.len() == 1 {
                list.push(value);
                return Some(());
            }
            let slot = list.get_mut(*n)?;
            match (slot, steps.len()) {
                (slot, 1) => replace(slot, value),
                (Value::InlineTable(table), _) => put_in_table(table, &steps[1..], value, true)?,
                _ => return None,
            }
            Some(())
        }
        _ => None,
    }
}

fn put_in_tables(tables: &mut ArrayOfTables, n: usize, steps: &[Step], value: Value) -> Option<()> {
    if !steps.is_empty() {
        return put_in_table(tables.get_mut(n)?, steps, value, false);
    }
    let Value::InlineTable(table) = value else {
        return None;
    };
    if n == tables.len() {
        tables.push(table.into_table());
    } else {
        let slot = tables.get_mut(n)?;
        let decor = slot.decor().clone();
        *slot = table.into_table();
        *slot.decor_mut() = decor;
    }
    Some(())
}

/// The new value in the old one's place: what stands around it, a comment for example, stays.
fn replace(old: &mut Value, mut new: Value) {
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

/// What a missing step becomes: as inline as what it is in, and a list where an index follows.
fn empty(rest: &[Step], inline: bool) -> Item {
    match rest.first() {
        Some(Step::Index(_)) if inline => Item::Value(Value::Array(toml_edit::Array::new())),
        Some(Step::Index(_)) => Item::ArrayOfTables(ArrayOfTables::new()),
        _ if inline => Item::Value(Value::InlineTable(InlineTable::new())),
        _ => Item::Table(Table::new()),
    }
}
