//! JSON with comments: changed in its syntax tree, so that comments, order, indentation and line ends stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::document::{Broken, Document, InTheWay};
use super::wish::{At, in_order};

/// A text whose outermost value is an object.
#[derive(Debug)]
pub(crate) struct Json {
    whole: CstRootNode,
}

impl Json {
    pub(crate) fn parse(text: &str) -> Result<Self, Broken> {
        let whole = CstRootNode::parse(text, &strictly()).map_err(|error| {
            let reason = error.kind().to_string();
            Broken { line: error.line_display(), reason: lower_first(&reason) }
        })?;
        // A new file ends its last line.
        let fresh = if text.trim().is_empty() { CstRootNode::parse("{}\n", &strictly()).ok() } else { None };
        let whole = fresh.unwrap_or(whole);
        if whole.object_value().is_none() {
            return Err(Broken { line: 1, reason: "it holds no object".to_owned() });
        }
        Ok(Self { whole })
    }

    fn outermost(&self) -> Result<CstObject, InTheWay> {
        self.whole.object_value().ok_or_else(|| InTheWay("the file holds no object".to_owned()))
    }

    /// The object at a place, where there is one.
    fn object(&self, at: &[String]) -> Result<Option<CstObject>, InTheWay> {
        let mut object = self.outermost()?;
        for (depth, _) in at.iter().enumerate() {
            let here = &at[..=depth];
            let Some(property) = property(&object, here)? else { return Ok(None) };
            object = property.object_value().ok_or_else(|| InTheWay::at(here, "object"))?;
        }
        Ok(Some(object))
    }

    /// The object at a place, with those that had to be made.
    fn object_made(&self, at: &[String]) -> Result<(CstObject, Vec<At>), InTheWay> {
        let (mut object, mut made) = (self.outermost()?, Vec::new());
        for depth in 0..at.len() {
            let here = &at[..=depth];
            object = match property(&object, here)? {
                Some(property) => property.object_value().ok_or_else(|| InTheWay::at(here, "object"))?,
                None => {
                    made.push(here.to_vec());
                    object.object_value_or_set(&at[depth])
                }
            };
        }
        Ok((object, made))
    }

    fn node(&self, at: &[String]) -> Result<Option<CstNode>, InTheWay> {
        let Some((_, above)) = at.split_last() else { return Ok(self.whole.value()) };
        let Some(object) = self.object(above)? else { return Ok(None) };
        Ok(property(&object, at)?.and_then(|property| property.value()))
    }

    fn array(&self, at: &[String]) -> Option<CstArray> {
        self.node(at).ok().flatten().and_then(|node| node.as_array())
    }
}

impl Document for Json {
    fn text(&self) -> String {
        self.whole.to_string()
    }

    fn get(&self, at: &[String]) -> Result<Option<Value>, InTheWay> {
        Ok(self.node(at)?.and_then(|node| node.to_serde_value()))
    }

    fn put(&mut self, at: &[String], value: &Value) -> Result<Vec<At>, InTheWay> {
        let Some((key, above)) = at.split_last() else { return Err(InTheWay::at(at, "object")) };
        let (object, made) = self.object_made(above)?;
        match property(&object, at)? {
            Some(property) => property.set_value(input(value)),
            None => drop(object.append(key, input(value))),
        }
        Ok(made)
    }

    fn add(&mut self, at: &[String], item: &Value) -> Result<Vec<At>, InTheWay> {
        let Some((key, above)) = at.split_last() else { return Err(InTheWay::at(at, "list")) };
        let (object, mut made) = self.object_made(above)?;
        let list = match property(&object, at)? {
            Some(property) => property.array_value().ok_or_else(|| InTheWay::at(at, "list"))?,
            None => {
                made.push(at.to_vec());
                let list = object.array_value_or_set(key);
                // Long lists are read, and compared, line by line.
                list.ensure_multiline();
                list
            }
        };
        list.append(input(item));
        Ok(made)
    }

    fn remove(&mut self, at: &[String]) {
        let Some((_, above)) = at.split_last() else { return };
        if let Ok(Some(object)) = self.object(above)
            && let Ok(Some(property)) = property(&object, at)
        {
            property.remove();
        }
    }

    fn take(&mut self, at: &[String], item: &Value) {
        let elements = self.array(at).map(|list| list.elements()).unwrap_or_default();
        // The last one: what Paddock adds comes after what was there.
        let same = elements.into_iter().rev().find(|node| node.to_serde_value().as_ref() == Some(item));
        if let Some(node) = same {
            node.remove();
        }
    }

    fn is_hollow(&self, at: &[String]) -> bool {
        let Ok(Some(node)) = self.node(at) else { return false };
        let text: String = node.to_string().split_whitespace().collect();
        matches!(text.as_str(), "{}" | "[]")
    }

    fn is_empty(&self) -> bool {
        self.text().split_whitespace().collect::<String>() == "{}"
    }
}

/// As clients read it: comments and trailing commas, and no other freedom.
fn strictly() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The property that the last key of the way names.
fn property(object: &CstObject, at: &[String]) -> Result<Option<CstObjectProp>, InTheWay> {
    let Some(key) = at.last() else { return Ok(None) };
    let is_named = |property: &CstObjectProp| property.decoded_name().as_ref() == Some(key);
    let mut named = object.properties().into_iter().filter(is_named);
    let first = named.next();
    if named.next().is_some() { Err(InTheWay::twice(at)) } else { Ok(first) }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(in_order(map).map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::wish::at;
    use super::*;
    use serde_json::json;

    /// Puts what is put for a client, shows it, and takes it back.
    fn there_and_back(text: &str) -> (String, String) {
        let mut document = Json::parse(text).unwrap();
        let entry = json!({ "command": "/bin/paddock", "args": ["mcp"] });
        let mut made = document.put(&at("mcpServers.paddock"), &entry).unwrap();
        for item in ["Bash", "Read"] {
            made.extend(document.add(&at("permissions.deny"), &json!(item)).unwrap());
        }
        let there = document.text();
        let mut document = Json::parse(&there).unwrap();
        for item in ["Read", "Bash"] {
            document.take(&at("permissions.deny"), &json!(item));
        }
        document.remove(&at("mcpServers.paddock"));
        for place in made.iter().rev() {
            assert!(document.is_hollow(place), "{place:?} in {}", document.text());
            document.remove(place);
        }
        (there, document.text())
    }

    #[test]
    fn what_nobody_touched_keeps_its_bytes_and_the_way_back_is_exact() {
        for text in [
            "{}",
            "{}\n",
            "{\n  // keep\n  \"a\": 1, // x\n  \"b\": [\"q\"]\n}\n",
            "{\n\t\"permissions\": {\n\t\t\"deny\": [\n\t\t\t\"X\"\n\t\t]\n\t}\n}",
            "{\r\n  \"permissions\": { \"deny\": [] }\r\n}\r\n",
            "/* top */\n{\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" } // mine\n    }\n}\n",
        ] {
            let (there, back) = there_and_back(text);
            assert_eq!(back, text);
            for line in text.lines().filter(|line| line.contains("//") || line.contains("/*")) {
                let line = line.trim().trim_end_matches(',');
                assert!(there.contains(line.split("//").last().unwrap()), "{line} is gone:\n{there}");
            }
        }
    }

    #[test]
    fn new_files_read_as_people_write_them() {
        let mut document = Json::parse("").unwrap();
        document.put(&at("mcpServers.paddock"), &json!({ "command": "p", "args": ["mcp", "x"] })).unwrap();
        document.add(&at("deny"), &json!("Bash")).unwrap();
        document.add(&at("deny"), &json!("Read")).unwrap();
        insta::assert_snapshot!(document.text(), @r#"
        {
          "mcpServers": {
            "paddock": {
              "command": "p",
              "args": ["mcp", "x"]
            }
          },
          "deny": [
            "Bash",
            "Read"
          ]
        }
        "#);
    }

    #[test]
    fn what_does_not_parse_is_refused_with_its_line() {
        for (text, line) in
            [("{\n \"a\": [1,\n}", 3), ("{\n \"a\": 1 \"b\": 2\n}", 2), ("[]", 1), ("{'a': 1}", 1), ("{", 1)]
        {
            assert_eq!(Json::parse(text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let mut document = Json::parse(r#"{ "permissions": {}, "permissions": { "allow": ["Bash"] } }"#).unwrap();
        let refused = document.add(&at("permissions.deny"), &json!("Bash")).unwrap_err();
        assert_eq!(refused, InTheWay("\"permissions\" is there twice".to_owned()));
    }

    #[test]
    fn what_is_no_table_and_no_list_stays_what_it_is() {
        let text = r#"{ "permissions": null, "deny": "Bash" }"#;
        let mut document = Json::parse(text).unwrap();
        assert!(document.add(&at("permissions.deny"), &json!("Bash")).is_err());
        assert!(document.add(&at("deny"), &json!("Read")).is_err());
        assert_eq!(document.text(), text);
    }

    #[test]
    fn a_comment_keeps_what_holds_it() {
        let document = Json::parse("{ \"deny\": [ /* why */ ] }").unwrap();
        assert!(!document.is_hollow(&at("deny")) && !document.is_empty());
    }
}
