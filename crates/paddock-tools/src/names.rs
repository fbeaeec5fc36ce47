//! Other names for the tools, for agents that know them from elsewhere.
//!
//! Only what an agent reads and writes changes: names of tools in the list, in descriptions, in the Filesystem Map and in what
//! Paddock says about a call. Which tool is meant, what it takes and what it may do stays as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::catalogue;

/// The names that models know from deepagents.
const DEEPAGENTS: [(&str, &str); 3] = [("list_dir", "ls"), ("find_files", "glob"), ("search_files", "grep")];

/// The arguments that models know from there by another name: of which tool, ours, theirs.
const DEEPAGENTS_ARGUMENTS: [(&str, &str, &str); 1] = [("find_files", "glob", "pattern")];

/// The longest name that model services take.
const LONGEST: usize = 64;

/// How an agent calls the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    /// What each tool is called, for those that have another name than their own.
    called: BTreeMap<&'static str, String>,
    /// Arguments that have another name: of which tool, ours, theirs.
    arguments: &'static [(&'static str, &'static str, &'static str)],
}

/// Why tools cannot be named so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadToolNames {
    /// There is no such list of names.
    #[error("there are no tool names called \"{0}\": use \"paddock\" or \"deepagents\"")]
    NoPreset(String),
    /// There is no such tool.
    #[error("there is no tool \"{0}\" that could have another name")]
    NoTool(String),
    /// No model service takes such a name.
    #[error("\"{0}\" cannot name a tool: use 1 to {LONGEST} letters, digits, \"-\" or \"_\"")]
    Bad(String),
    /// It would not be clear which is meant.
    #[error("two tools would be called \"{0}\"")]
    Twice(String),
}

impl ToolNames {
    /// A list of names that Paddock knows: `paddock`, its own, or `deepagents`.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn preset(name: &str) -> Result<Self, BadToolNames> {
        match name {
            "paddock" => Ok(Self::default()),
            "deepagents" => Ok(Self {
                called: DEEPAGENTS.map(|(tool, name)| (tool, name.to_owned())).into(),
                arguments: &DEEPAGENTS_ARGUMENTS,
            }),
            other => Err(BadToolNames::NoPreset(other.to_owned())),
        }
    }

    /// The same with other names for some tools.
    ///
    /// # Errors
    /// When a tool does not exist, a name cannot be used, or two tools would have the same.
    pub fn with<'n>(mut self, names: impl IntoIterator<Item = (&'n str, &'n str)>) -> Result<Self, BadToolNames> {
        for (tool, name) in names {
            let known = catalogue::names().find(|known| *known == tool);
            let tool = known.ok_or_else(|| BadToolNames::NoTool(tool.to_owned()))?;
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if !(1..=LONGEST).contains(&name.len()) || !name.bytes().all(plain) {
                return Err(BadToolNames::Bad(paddock_core::visible(name)));
            }
            self.called.insert(tool, name.to_owned());
        }
        let mut seen = BTreeMap::new();
        for tool in catalogue::names() {
            if seen.insert(self.of(tool).to_owned(), tool).is_some() {
                return Err(BadToolNames::Twice(self.of(tool).to_owned()));
            }
        }
        Ok(self)
    }

    /// What a tool is called.
    pub fn of<'n>(&'n self, tool: &'n str) -> &'n str {
        self.called.get(tool).map_or(tool, String::as_str)
    }

    /// The tool that is called so.
    pub fn meant(&self, name: &str) -> Option<&'static str> {
        catalogue::names().find(|tool| self.of(tool) == name)
    }

    /// The schema of a tool with its arguments called by these names.
    pub fn schema(&self, tool: &str, mut schema: Map<String, Value>) -> Map<String, Value> {
        for (_, own, theirs) in self.arguments.iter().filter(|(of, ..)| *of == tool) {
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                rename_key(properties, own, theirs);
            }
            let required = schema.get_mut("required").and_then(Value::as_array_mut);
            for name in required.into_iter().flatten().filter(|name| name.as_str() == Some(own)) {
                *name = Value::from(*theirs);
            }
        }
        schema
    }

    /// Arguments that were called by these names, under their own. Their own names stay understood.
    pub fn arguments(&self, tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
        for (_, own, theirs) in self.arguments.iter().filter(|(of, ..)| *of == tool) {
            if !arguments.contains_key(*own) {
                rename_key(&mut arguments, theirs, own);
            }
        }
        arguments
    }

    /// A text of Paddock with the tools called by these names.
    pub fn in_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.called.keys().any(|tool| text.contains(tool)) {
            return Cow::Borrowed(text);
        }
        let renamed = self.called.iter().fold(text.to_owned(), |text, (tool, name)| rename(&text, tool, name));
        Cow::Owned(renamed)
    }
}

fn rename_key(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}

/// Replaces a tool's name where it stands alone: a part of a path or of a longer name stays.
fn rename(text: &str, tool: &str, name: &str) -> String {
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '\\');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(tool) {
        let (before, after) = (&rest[..at], &rest[at + tool.len()..]);
        out.push_str(before);
        let alone = !before.ends_with(belongs) && !after.starts_with(belongs);
        out.push_str(if alone { name } else { tool });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_names_of_deepagents_mean_our_tools() {
        let names = ToolNames::preset("deepagents").unwrap();
        assert_eq!(names.of("search_files"), "grep");
        assert_eq!(names.meant("ls"), Some("list_dir"));
        assert_eq!(names.meant("read_file"), Some("read_file"));
        assert_eq!(names.meant("list_dir"), None, "nobody calls it so now");
        assert_eq!(ToolNames::preset("mine"), Err(BadToolNames::NoPreset("mine".into())));
    }

    #[test]
    fn every_tool_can_be_named_and_no_name_means_two() {
        let own = ToolNames::default();
        let named = own.clone().with([("read_file", "cat"), ("write_file", "put")]).unwrap();
        assert_eq!(named.meant("cat"), Some("read_file"));
        let failed = |names: &[(&'static str, &'static str)]| own.clone().with(names.iter().copied()).unwrap_err();
        assert_eq!(failed(&[("reed_file", "cat")]), BadToolNames::NoTool("reed_file".into()));
        assert_eq!(failed(&[("read_file", "write_file")]), BadToolNames::Twice("write_file".into()));
        assert_eq!(failed(&[("read_file", "a b")]), BadToolNames::Bad("a b".into()));
        assert!(own.clone().with([("read_file", "write_file"), ("write_file", "read_file")]).is_ok(), "they swap");
    }

    #[test]
    fn arguments_that_models_know_by_another_name_are_understood() {
        let names = ToolNames::preset("deepagents").unwrap();
        let map = |value: Value| value.as_object().cloned().unwrap();
        let schema = map(json!({"properties": {"glob": {"type": "string"}, "path": {}}, "required": ["path", "glob"]}));
        let theirs =
            map(json!({"properties": {"pattern": {"type": "string"}, "path": {}}, "required": ["path", "pattern"]}));
        assert_eq!(names.schema("find_files", schema.clone()), theirs);
        assert_eq!(names.schema("search_files", schema.clone()), schema, "it has both");
        let own = map(json!({"path": "/", "glob": "*.rs"}));
        assert_eq!(names.arguments("find_files", map(json!({"path": "/", "pattern": "*.rs"}))), own);
        assert_eq!(names.arguments("find_files", own.clone()), own);
        assert_eq!(ToolNames::default().schema("find_files", schema.clone()), schema);
    }

    #[test]
    fn texts_of_paddock_use_the_names_and_paths_stay() {
        let names = ToolNames::preset("deepagents").unwrap();
        assert_eq!(names.in_text("list_dir shows them."), "ls shows them.");
        assert_eq!(names.in_text("\"/w/list_dir\" and my_list_dir"), "\"/w/list_dir\" and my_list_dir");
        assert!(matches!(names.in_text("nothing of it"), Cow::Borrowed(_)));
    }
}
