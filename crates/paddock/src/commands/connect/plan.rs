//! What happens to one file: from its text and what was done to it before, to its new text and what is done then.
//!
//! Pure: it reads and writes nothing. Applying twice changes nothing the second time; taking back removes exactly what was
//! recorded, and what a person changed since stays and is told.

use serde_json::Value;

use super::document::{self, Broken, Document, Format, InTheWay};
use super::wish::{Done, Wish};

/// What should stand in a file.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// These places of it, whatever else it holds.
    Places(Format, Vec<Wish>),
    /// The whole file is Paddock's.
    Whole(String),
}

/// What becomes of a file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Its new text; none where the file goes.
    pub(crate) text: Option<String>,
    /// Everything in it that can be taken back.
    pub(crate) done: Vec<Done>,
    /// What stays although Paddock wrote it once.
    pub(crate) kept: Vec<String>,
}

/// Why a file is left alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Broken(Broken),
    InTheWay(String),
    /// Something that is not Paddock's has its name.
    Taken(String),
}

impl From<Broken> for Refused {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<InTheWay> for Refused {
    fn from(InTheWay(what): InTheWay) -> Self {
        Self::InTheWay(what)
    }
}

/// What a file becomes so that it says what it should. `before` is what was recorded for it.
pub(crate) fn apply(content: &Content, text: Option<&str>, before: &[Done]) -> Result<Outcome, Refused> {
    let (format, wishes) = match content {
        Content::Whole(whole) => return apply_whole(whole, text, before),
        Content::Places(format, wishes) => (*format, wishes),
    };
    let mut document = document::parse(format, text.unwrap_or_default())?;
    let (wanted, stale): (Vec<Done>, Vec<Done>) =
        before.iter().cloned().partition(|done| wishes.iter().any(|wish| wish.covers(done)));
    let kept = take_back(&mut *document, &stale)?;
    let mut done = Vec::new();
    for wish in wishes {
        grant(&mut *document, wish, &wanted, &mut done)?;
    }
    // What was made before and is still needed is still to be taken back.
    let made = wanted.into_iter().filter(|old| matches!(old, Done::Made { .. }) && !done.contains(old));
    let mut all: Vec<Done> = made.collect();
    all.append(&mut done);
    Ok(Outcome { text: Some(document.text()), done: all, kept })
}

/// What a file becomes when what was recorded is taken back. It goes where it was made and nothing else is in it.
pub(crate) fn undo(format: Option<Format>, text: &str, before: &[Done], made: bool) -> Result<Outcome, Refused> {
    let Some(format) = format else { return Ok(undo_whole(text, before)) };
    let mut document = document::parse(format, text)?;
    let kept = take_back(&mut *document, before)?;
    let gone = made && document.is_empty();
    Ok(Outcome { text: (!gone).then(|| document.text()), done: Vec::new(), kept })
}

fn apply_whole(whole: &str, text: Option<&str>, before: &[Done]) -> Result<Outcome, Refused> {
    let is_ours = |text: &str| before.iter().any(|done| matches!(done, Done::Wrote { text: ours } if ours == text));
    let done = vec![Done::Wrote { text: whole.to_owned() }];
    match text {
        // It says so already, and who wrote it is not known: nothing to take back.
        Some(text) if text == whole && !is_ours(text) => {
            Ok(Outcome { text: Some(whole.to_owned()), ..Outcome::default() })
        }
        Some(text) if text != whole && !is_ours(text) => {
            Err(Refused::Taken("it is there already, and is not what Paddock wrote".to_owned()))
        }
        _ => Ok(Outcome { text: Some(whole.to_owned()), done, ..Outcome::default() }),
    }
}

fn undo_whole(text: &str, before: &[Done]) -> Outcome {
    if before.iter().any(|done| matches!(done, Done::Wrote { text: ours } if ours == text)) {
        return Outcome::default();
    }
    Outcome {
        text: Some(text.to_owned()),
        done: Vec::new(),
        kept: vec!["the file, which was changed since".to_owned()],
    }
}

/// Makes one wish true. What is there already costs nothing, and is taken back only if it was recorded.
fn grant(document: &mut dyn Document, wish: &Wish, before: &[Done], done: &mut Vec<Done>) -> Result<(), Refused> {
    match wish {
        Wish::Put { at, value } => put(document, at, value, before, done),
        Wish::Default { at, value } => {
            let recorded = recorded_put(before, at);
            match document.get(at)? {
                Some(_) if recorded.is_none() => Ok(()),
                _ => put(document, at, value, before, done),
            }
        }
        Wish::Entry { at, value } => {
            if let Some(there) = document.get(at)?
                && there != *value
                && !is_of_paddock(&there)
                && recorded_put(before, at).is_none_or(|(_, is)| *is != there)
            {
                let name = at.join(".");
                return Err(Refused::Taken(format!("\"{name}\" is there already, and is not Paddock's entry")));
            }
            put(document, at, value, before, done)
        }
        Wish::Add { at, items } => {
            for item in items {
                let there =
                    document.get(at)?.is_some_and(|list| list.as_array().is_some_and(|list| list.contains(item)));
                let added = Done::Added { at: at.clone(), item: item.clone() };
                if !there {
                    done.extend(document.add(at, item)?.into_iter().map(|at| Done::Made { at }));
                }
                if !there || before.contains(&added) {
                    done.push(added);
                }
            }
            Ok(())
        }
    }
}

fn put(
    document: &mut dyn Document,
    at: &[String],
    value: &Value,
    before: &[Done],
    done: &mut Vec<Done>,
) -> Result<(), Refused> {
    let there = document.get(at)?;
    let recorded = recorded_put(before, at);
    let was = match (&there, recorded) {
        // As it should be. Recorded, it is still ours; otherwise it is the person's own.
        (Some(there), Some((was, _))) if there == value => was.clone(),
        (Some(there), None) if there == value => return Ok(()),
        // Ours and outdated: what was there before us is still what comes back.
        (Some(there), Some((was, is))) if there == is => was.clone(),
        _ => there.clone(),
    };
    if there.as_ref() != Some(value) {
        done.extend(document.put(at, value)?.into_iter().map(|at| Done::Made { at }));
    }
    done.push(Done::Put { at: at.to_vec(), was, is: value.clone() });
    Ok(())
}

fn recorded_put<'a>(before: &'a [Done], place: &[String]) -> Option<(&'a Option<Value>, &'a Value)> {
    before.iter().find_map(|done| match done {
        Done::Put { at, was, is } if at == place => Some((was, is)),
        _ => None,
    })
}

/// Takes back the last first. Answers what stays because somebody changed it.
fn take_back(document: &mut dyn Document, before: &[Done]) -> Result<Vec<String>, InTheWay> {
    let mut kept = Vec::new();
    for done in before.iter().rev() {
        match done {
            Done::Put { at, was, is } => match (document.get(at)?, was) {
                (Some(there), _) if there != *is => kept.push(format!("\"{}\", which was changed since", at.join("."))),
                (Some(_), Some(was)) => drop(document.put(at, was)?),
                (Some(_), None) => document.remove(at),
                (None, _) => {}
            },
            Done::Added { at, item } => document.take(at, item),
            Done::Made { at } if document.is_hollow(at) => document.remove(at),
            Done::Made { .. } | Done::Wrote { .. } => {}
        }
    }
    Ok(kept)
}

/// Does an entry start `paddock mcp` and nothing else? Then an older or another Paddock wrote it, and it holds no secret.
fn is_of_paddock(entry: &Value) -> bool {
    const KEYS: [&str; 5] = ["type", "command", "args", "required", "default_tools_approval_mode"];
    let Some(entry) = entry.as_object() else { return false };
    let program = entry.get("command").and_then(Value::as_str).and_then(|command| command.rsplit('/').next());
    let begins = entry.get("args").and_then(|args| args.get(0)).and_then(Value::as_str);
    program == Some("paddock") && begins == Some("mcp") && entry.keys().all(|key| KEYS.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::wish::at;
    use super::*;
    use serde_json::json;

    fn entry(path: &str) -> Value {
        json!({ "command": path, "args": ["mcp"] })
    }

    fn wishes(path: &str, denied: &[&str]) -> Content {
        Content::Places(
            Format::Json,
            vec![
                Wish::Entry { at: at("mcpServers.paddock"), value: entry(path) },
                Wish::Add { at: at("permissions.deny"), items: denied.iter().map(|name| json!(name)).collect() },
            ],
        )
    }

    fn back(outcome: &Outcome, text: &str, made: bool) -> Outcome {
        undo(Some(Format::Json), text, &outcome.done, made).unwrap()
    }

    #[test]
    fn a_second_time_changes_nothing_and_forgets_nothing() {
        let text = "{\n  \"permissions\": { \"deny\": [\"Bash\"] }\n}\n";
        let wanted = wishes("/p/paddock", &["Bash", "Read"]);
        let once = apply(&wanted, Some(text), &[]).unwrap();
        let twice = apply(&wanted, once.text.as_deref(), &once.done).unwrap();
        assert_eq!(twice.text, once.text);
        let same = |outcome: &Outcome| back(outcome, once.text.as_deref().unwrap(), false).text;
        assert_eq!(same(&once).as_deref(), Some(text));
        assert_eq!(same(&twice).as_deref(), Some(text));
    }

    #[test]
    fn what_the_person_wrote_before_stays_after_the_undo() {
        let once =
            apply(&wishes("/p/paddock", &["Bash", "Read"]), Some(r#"{"permissions":{"deny":["Read"]}}"#), &[]).unwrap();
        let undone = back(&once, once.text.as_deref().unwrap(), false);
        let value: Value = serde_json::from_str(&undone.text.unwrap()).unwrap();
        assert_eq!(value, json!({ "permissions": { "deny": ["Read"] } }));
    }

    #[test]
    fn what_the_person_wrote_meanwhile_stays_and_a_changed_entry_is_told() {
        let once = apply(&wishes("/p/paddock", &["Bash"]), None, &[]).unwrap();
        let text = once.text.as_deref().unwrap();
        let changed = text.replace("\"Bash\"", "\"Bash\",\n      \"WebFetch\"").replace("/p/paddock", "/mine/wrapper");
        let undone = back(&once, &changed, true);
        assert_eq!(undone.kept, ["\"mcpServers.paddock\", which was changed since"]);
        let value: Value = serde_json::from_str(&undone.text.unwrap()).unwrap();
        assert_eq!(
            value,
            json!({ "mcpServers": { "paddock": entry("/mine/wrapper") }, "permissions": { "deny": ["WebFetch"] } })
        );
    }

    #[test]
    fn a_file_that_was_made_goes_only_when_nothing_else_is_in_it() {
        let once = apply(&wishes("/p/paddock", &["Bash"]), None, &[]).unwrap();
        let text = once.text.clone().unwrap();
        assert_eq!(back(&once, &text, true).text, None);
        assert_eq!(back(&once, &text, false).text.as_deref(), Some("{}\n"));
        let noted = format!("// mine\n{text}");
        assert_eq!(back(&once, &noted, true).text.as_deref(), Some("// mine\n{}\n"));
    }

    #[test]
    fn what_is_not_wanted_any_more_goes_and_what_moved_is_replaced_in_place() {
        let once = apply(&wishes("/old/paddock", &["Bash", "Gone"]), Some("{ \"a\": 1 }\n"), &[]).unwrap();
        let next = apply(&wishes("/new/paddock", &["Bash"]), once.text.as_deref(), &once.done).unwrap();
        let text = next.text.clone().unwrap();
        assert!(text.contains("/new/paddock") && !text.contains("/old") && !text.contains("Gone"), "{text}");
        let value: Value = serde_json::from_str(&back(&next, &text, false).text.unwrap()).unwrap();
        assert_eq!(value, json!({ "a": 1 }));
    }

    #[test]
    fn an_entry_of_somebody_else_is_left_alone() {
        let other =
            r#"{ "mcpServers": { "paddock": { "command": "paddock", "args": ["mcp"], "env": { "KEY": "k" } } } }"#;
        let refused = apply(&wishes("/p/paddock", &[]), Some(other), &[]).unwrap_err();
        assert!(matches!(refused, Refused::Taken(_)), "{refused:?}");
        let older = r#"{ "mcpServers": { "paddock": { "command": "/old/bin/paddock", "args": ["mcp"] } } }"#;
        let replaced = apply(&wishes("/p/paddock", &[]), Some(older), &[]).unwrap();
        let undone = back(&replaced, replaced.text.as_deref().unwrap(), false).text.unwrap();
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&undone), value(older));
    }

    #[test]
    fn a_switch_comes_back_to_what_it_was() {
        let wanted = Content::Places(
            Format::Toml,
            vec![
                Wish::Put { at: at("sandbox_mode"), value: json!("read-only") },
                Wish::Default { at: at("version"), value: json!(1) },
            ],
        );
        let text = "sandbox_mode = \"workspace-write\" # mine\nversion = 2\n";
        let once = apply(&wanted, Some(text), &[]).unwrap();
        assert_eq!(once.text.as_deref(), Some("sandbox_mode = \"read-only\" # mine\nversion = 2\n"));
        let undone = undo(Some(Format::Toml), once.text.as_deref().unwrap(), &once.done, false).unwrap();
        assert_eq!(undone.text.as_deref(), Some(text));
    }

    #[test]
    fn a_whole_file_is_replaced_only_where_it_is_ours() {
        let (old, new) = (Content::Whole("old".to_owned()), Content::Whole("new".to_owned()));
        let once = apply(&old, None, &[]).unwrap();
        let next = apply(&new, Some("old"), &once.done).unwrap();
        assert_eq!(next.text.as_deref(), Some("new"));
        assert!(matches!(apply(&new, Some("mine"), &next.done), Err(Refused::Taken(_))));
        assert_eq!(undo(None, "new", &next.done, true).unwrap(), Outcome::default());
        assert_eq!(undo(None, "mine", &next.done, true).unwrap().text.as_deref(), Some("mine"));
        assert!(apply(&new, Some("new"), &[]).unwrap().done.is_empty());
    }
}
