//! TOML: changed in its syntax tree, so that comments, order and spelling stay.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::document::{Broken, Document, InTheWay};
use super::wish::{At, in_order};

/// A TOML text.
#[derive(Debug)]
pub(crate) struct Toml {
    whole: DocumentMut,
}

impl Toml {
    pub(crate) fn parse(text: &str) -> Result<Self, Broken> {
        let whole = text.parse::<DocumentMut>().map_err(|error| {
            let before = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
            Broken { line, reason: error.message().lines().next().unwrap_or_default().to_owned() }
        })?;
        Ok(Self { whole })
    }

    fn table(&self, at: &[String]) -> Result<Option<&dyn TableLike>, InTheWay> {
        let mut table: &dyn TableLike = self.whole.as_table();
        for depth in 0..at.len() {
            let Some(item) = table.get(&at[depth]) else { return Ok(None) };
            table = item.as_table_like().ok_or_else(|| InTheWay::at(&at[..=depth], "table"))?;
        }
        Ok(Some(table))
    }

    fn table_mut(&mut self, at: &[String]) -> Option<&mut dyn TableLike> {
        let mut table: &mut dyn TableLike = self.whole.as_table_mut();
        for key in at {
            table = table.get_mut(key)?.as_table_like_mut()?;
        }
        Some(table)
    }

    /// The table at a place, with those that had to be made. One that holds only a table of its own needs no header.
    fn table_made(&mut self, at: &[String], holds_a_table: bool) -> Result<(&mut dyn TableLike, Vec<At>), InTheWay> {
        let mut made = Vec::new();
        let mut table: &mut dyn TableLike = self.whole.as_table_mut();
        for depth in 0..at.len() {
            let key = &at[depth];
            if !table.contains_key(key) {
                made.push(at[..=depth].to_vec());
                let mut new = Table::new();
                new.set_implicit(holds_a_table || depth + 1 < at.len());
                table.insert(key, Item::Table(new));
            }
            let item = table.get_mut(key).and_then(Item::as_table_like_mut);
            table = item.ok_or_else(|| InTheWay::at(&at[..=depth], "table"))?;
        }
        Ok((table, made))
    }

    fn item(&self, at: &[String]) -> Result<Option<&Item>, InTheWay> {
        let Some((key, above)) = at.split_last() else { return Ok(None) };
        Ok(self.table(above)?.and_then(|table| table.get(key)))
    }
}

impl Document for Toml {
    fn text(&self) -> String {
        self.whole.to_string()
    }

    fn get(&self, at: &[String]) -> Result<Option<Value>, InTheWay> {
        Ok(self.item(at)?.map(plain))
    }

    fn put(&mut self, at: &[String], value: &Value) -> Result<Vec<At>, InTheWay> {
        let Some((key, above)) = at.split_last() else { return Err(InTheWay::at(at, "table")) };
        let (table, made) = self.table_made(above, value.is_object())?;
        let in_a_line = table.get(key).is_some_and(Item::is_value);
        let new = match value {
            Value::Object(map) if !in_a_line => {
                Item::Table(in_order(map).map(|(key, value)| (key, written(value))).collect())
            }
            other => Item::Value(written(other)),
        };
        match table.get_mut(key) {
            Some(old) => replace(old, new),
            None => drop(table.insert(key, new)),
        }
        Ok(made)
    }

    fn add(&mut self, at: &[String], item: &Value) -> Result<Vec<At>, InTheWay> {
        let Some((key, above)) = at.split_last() else { return Err(InTheWay::at(at, "list")) };
        let (table, mut made) = self.table_made(above, false)?;
        if !table.contains_key(key) {
            made.push(at.to_vec());
            table.insert(key, Item::Value(Array::new().into()));
        }
        let list = table.get_mut(key).and_then(Item::as_array_mut);
        list.ok_or_else(|| InTheWay::at(at, "list"))?.push(written(item));
        Ok(made)
    }

    fn remove(&mut self, at: &[String]) {
        let Some((key, above)) = at.split_last() else { return };
        if let Some(table) = self.table_mut(above) {
            table.remove(key);
        }
    }

    fn take(&mut self, at: &[String], item: &Value) {
        let Some((key, above)) = at.split_last() else { return };
        let list = self.table_mut(above).and_then(|table| table.get_mut(key)).and_then(Item::as_array_mut);
        if let Some(list) = list {
            let is_same =
                |index: &usize| list.get(*index).is_some_and(|value| plain(&Item::Value(value.clone())) == *item);
            let last = (0..list.len()).rev().find(is_same);
            last.map(|index| list.remove(index));
        }
    }

    fn is_hollow(&self, at: &[String]) -> bool {
        match self.item(at) {
            Ok(Some(Item::Value(toml_edit::Value::Array(list)))) => list.is_empty(),
            Ok(Some(item)) => item.as_table_like().is_some_and(TableLike::is_empty),
            _ => false,
        }
    }

    fn is_empty(&self) -> bool {
        self.text().trim().is_empty()
    }
}

/// A value in place of another keeps the comments around it.
fn replace(old: &mut Item, mut new: Item) {
    match (&*old, &mut new) {
        (Item::Value(old), Item::Value(new)) => *new.decor_mut() = old.decor().clone(),
        (Item::Table(old), Item::Table(new)) => {
            *new.decor_mut() = old.decor().clone();
            new.set_position(old.position());
        }
        _ => {}
    }
    *old = new;
}

/// A value as it is written in one line.
fn written(value: &Value) -> toml_edit::Value {
    match value {
        // TOML has no null, and no client's file that is written here needs one.
        Value::Null => toml_edit::Value::from(""),
        Value::Bool(is) => toml_edit::Value::from(*is),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => toml_edit::Value::from(whole),
            None => toml_edit::Value::from(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => toml_edit::Value::from(text.as_str()),
        Value::Array(items) => toml_edit::Value::from(items.iter().map(written).collect::<Array>()),
        Value::Object(map) => {
            toml_edit::Value::from(in_order(map).map(|(key, value)| (key, written(value))).collect::<InlineTable>())
        }
    }
}

/// An item as a plain value, to compare it.
fn plain(item: &Item) -> Value {
    let of_table =
        |table: &dyn TableLike| Value::Object(table.iter().map(|(key, item)| (key.to_owned(), plain(item))).collect());
    match item {
        Item::None => Value::Null,
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(|table| of_table(table)).collect()),
        Item::Value(value) => match value {
            toml_edit::Value::String(text) => Value::from(text.value().as_str()),
            toml_edit::Value::Integer(number) => Value::from(*number.value()),
            toml_edit::Value::Float(number) => Value::from(*number.value()),
            toml_edit::Value::Boolean(is) => Value::from(*is.value()),
            toml_edit::Value::Datetime(moment) => Value::from(moment.value().to_string()),
            toml_edit::Value::Array(items) => {
                Value::Array(items.iter().map(|value| plain(&Item::Value(value.clone()))).collect())
            }
            toml_edit::Value::InlineTable(table) => of_table(table),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::wish::at;
    use super::*;
    use serde_json::json;

    fn there(text: &str) -> (Toml, Vec<At>) {
        let mut document = Toml::parse(text).unwrap();
        let mut made = document.put(&at("sandbox_mode"), &json!("read-only")).unwrap();
        let entry = json!({ "command": "/bin/paddock", "args": ["mcp"] });
        made.extend(document.put(&at("mcp_servers.paddock"), &entry).unwrap());
        made.extend(document.put(&at("features.shell_tool"), &json!(false)).unwrap());
        (document, made)
    }

    fn back(text: &str, made: &[At]) -> String {
        let mut document = Toml::parse(text).unwrap();
        for place in ["features.shell_tool", "mcp_servers.paddock", "sandbox_mode"] {
            document.remove(&at(place));
        }
        for place in made.iter().rev() {
            assert!(document.is_hollow(place), "{place:?} in {}", document.text());
            document.remove(place);
        }
        document.text()
    }

    #[test]
    fn what_nobody_touched_keeps_its_bytes_and_the_way_back_is_exact() {
        for text in [
            "",
            "# mine\nmodel = \"x\" # why\n",
            "[features]\nweb = true # yes\n\n[mcp_servers.other]\ncommand = \"x\"\n",
            "model = 'x'\n\n# a table\n[profiles.a]\nb = 1\n",
        ] {
            let (document, made) = there(text);
            let written = document.text();
            assert_eq!(back(&written, &made), text, "{written}");
        }
    }

    #[test]
    fn new_files_read_as_people_write_them() {
        insta::assert_snapshot!(there("").0.text(), @r#"
        sandbox_mode = "read-only"

        [mcp_servers.paddock]
        command = "/bin/paddock"
        args = ["mcp"]

        [features]
        shell_tool = false
        "#);
    }

    #[test]
    fn a_value_in_place_of_another_keeps_its_comment() {
        let mut document = Toml::parse("sandbox_mode = \"workspace-write\" # mine\n").unwrap();
        document.put(&at("sandbox_mode"), &json!("read-only")).unwrap();
        assert_eq!(document.text(), "sandbox_mode = \"read-only\" # mine\n");
    }

    #[test]
    fn what_does_not_parse_is_refused_with_its_line() {
        assert_eq!(Toml::parse("a = 1\nb = \n").unwrap_err().line, 2);
        assert_eq!(Toml::parse("a = 1\nb = 2\na = 3\n").unwrap_err().line, 3);
    }

    #[test]
    fn what_is_no_table_stays_what_it_is() {
        let mut document = Toml::parse("features = 1\n").unwrap();
        assert!(document.put(&at("features.shell_tool"), &json!(false)).is_err());
        assert_eq!(document.text(), "features = 1\n");
    }
}
