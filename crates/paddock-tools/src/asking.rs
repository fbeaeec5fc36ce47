//! A call as a person who decides about it sees it: its arguments, its rule, and what it would change.
//!
//! Made only when somebody is asked. What was there is read as that person may read it, so hidden names stay hidden; values of secrets stay
//! out of everything that is shown or kept.

use std::collections::BTreeMap;

use paddock_core::{
    AgentPolicy, Asked, Audit, Effect, EffectKind, Operation, Outcome, Preview, Requester, Terms, TextKind, edit,
};
use paddock_state::Redactor;
use serde_json::{Map, Value};
use similar::TextDiff;

use crate::arguments::{self, EditFile};
use crate::catalogue;
use crate::person::Person;

/// The largest content that is shown line by line.
const LARGEST: usize = 256 * 1024;
/// The most of a preview, in bytes.
const LONGEST: usize = 512 * 1024;
/// The most paths that are listed.
const MOST_PATHS: usize = 500;

/// The one text that stands for arguments: equal arguments are equal texts, in whatever order they came.
pub fn canonical(arguments: &Map<String, Value>) -> String {
    in_order(&Value::Object(arguments.clone())).to_string()
}

/// The same with the names of every object in order; a map may keep them as they came.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            Value::Object(sorted.into_iter().map(|(name, value)| (name.clone(), in_order(value))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(in_order).collect()),
        other => other.clone(),
    }
}

/// Whether arguments are those of a tool, without making a call.
///
/// # Errors
/// In words, when they are not.
pub fn check_arguments(tool: &str, arguments: &Map<String, Value>) -> Result<(), String> {
    let tool = catalogue::find(tool).ok_or_else(|| format!("there is no tool \"{tool}\""))?;
    arguments::read::<Value>(&tool.schema, arguments.clone()).map(|_| ()).map_err(|bad| bad.to_string())
}

/// What is known of a call when its plan is put before the Gate.
pub(crate) struct Asking<'a> {
    pub(crate) policy: &'a AgentPolicy,
    pub(crate) audit: &'a dyn Audit,
    pub(crate) redactor: &'a Redactor,
    pub(crate) requester: &'a Requester,
    pub(crate) tool: &'static str,
    pub(crate) given: &'a Map<String, Value>,
    pub(crate) rule: Option<String>,
    pub(crate) effects: &'a [Effect],
    /// What files would hold, where the tool knows; by path.
    pub(crate) proposed: &'a [(paddock_core::LogicalPath, Vec<u8>)],
}

impl Asked for Asking<'_> {
    fn terms(&self) -> &Terms {
        &self.policy.terms
    }

    fn requester(&self) -> &Requester {
        self.requester
    }

    fn rule(&self) -> Option<String> {
        self.rule.clone()
    }

    fn arguments(&self) -> String {
        canonical(self.given)
    }

    fn shown_arguments(&self) -> String {
        let mut shown = Value::Object(self.given.clone());
        self.redactor.json(&mut shown);
        in_order(&shown).to_string()
    }

    fn preview(&self) -> Preview {
        let mut preview = Preview { text: String::new(), whole: true };
        if self.effects.len() > MOST_PATHS {
            preview.whole = false;
        }
        for effect in self.effects.iter().take(MOST_PATHS) {
            self.show(effect, &mut preview);
            if preview.text.len() > LONGEST {
                preview.text.truncate(preview.text.floor_char_boundary(LONGEST));
                preview.whole = false;
                break;
            }
        }
        if !preview.whole {
            preview.text.push_str("\n… and more that is not shown\n");
        }
        self.redactor.text_in_place(&mut preview.text);
        preview
    }
}

impl Asking<'_> {
    fn show(&self, effect: &Effect, preview: &mut Preview) {
        let path = effect.path.as_str();
        let line = match effect.what {
            EffectKind::MakeDir => format!("+ {path}/\n"),
            EffectKind::MoveAway => format!("- {path} (moved away)\n"),
            EffectKind::MoveHere => format!("+ {path} (moved here)\n"),
            EffectKind::Dress => format!("~ {path} (mode or time)\n"),
            EffectKind::Delete => self.gone(path, effect),
            EffectKind::Create | EffectKind::Replace | EffectKind::Append | EffectKind::Deliver => {
                match self.diff(effect) {
                    Some(diff) => diff,
                    None => {
                        preview.whole = false;
                        format!("~ {path} (content not shown)\n")
                    }
                }
            }
        };
        preview.text.push_str(&line);
    }

    fn gone(&self, path: &str, effect: &Effect) -> String {
        match self.old(effect).as_deref().map(|old| self.compared(path, old, b"")) {
            Some(Some(diff)) => diff,
            _ => format!("- {path}\n"),
        }
    }

    /// What changes in a file; nothing where it is too long, or no text.
    fn diff(&self, effect: &Effect) -> Option<String> {
        let old = match effect.what {
            EffectKind::Create => Vec::new(),
            _ => self.old(effect)?,
        };
        let new = self.new_content(effect, &old)?;
        self.compared(effect.path.as_str(), &old, &new)
    }

    fn compared(&self, path: &str, old: &[u8], new: &[u8]) -> Option<String> {
        if old.len() > LARGEST || new.len() > LARGEST {
            return None;
        }
        let (old, new) = (TextKind::of(old).decode(old)?, TextKind::of(new).decode(new)?);
        let hunks = TextDiff::from_lines(old.as_str(), new.as_str()).unified_diff().to_string();
        Some(format!("--- {path}\n+++ {path}\n{hunks}"))
    }

    /// What is there now, as a person reads it.
    fn old(&self, effect: &Effect) -> Option<Vec<u8>> {
        let person = Person::on(self.policy, self.audit);
        let range = 0..LARGEST as u64 + 1;
        match person.look(Operation::Read { path: effect.path.clone(), range }) {
            Ok(Outcome::Read { bytes, .. }) => Some(bytes),
            _ if effect.what == EffectKind::Deliver => Some(Vec::new()),
            _ => None,
        }
    }

    /// What would be there, from the arguments of the call or from what a command left.
    fn new_content(&self, effect: &Effect, old: &[u8]) -> Option<Vec<u8>> {
        if let Some((_, content)) = self.proposed.iter().find(|(path, _)| *path == effect.path) {
            return Some(content.clone());
        }
        let content = self.given.get("content").and_then(Value::as_str);
        match self.tool {
            "write_file" => content.map(|text| text.as_bytes().to_vec()),
            "append_file" => content.map(|text| [old, text.as_bytes()].concat()),
            "edit_file" => {
                let args: EditFile = serde_json::from_value(Value::Object(self.given.clone())).ok()?;
                edit(old, &args.replacements().ok()?).ok().map(|(new, _)| new)
            }
            _ => None,
        }
    }
}
