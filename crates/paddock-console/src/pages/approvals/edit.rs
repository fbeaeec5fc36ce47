//! Other arguments in the place of the agent's: fields as the tool's schema types them, or the whole as JSON.
//!
//! A browser sends every line of a field with its own line ends, so what was not touched is taken from the call itself.

use std::collections::BTreeMap;

use maud::{Markup, html};
use paddock_desk::approvals::{self, ApprovalShown, DecisionAsked, DecisionWord};
use paddock_desk::{Failure, Result};
use serde_json::{Map, Value};

use super::{Id, about, decided};
use crate::pages::parts::{in_url, shown};
use crate::pages::{Done, Page, Visit};

/// What the names of typed fields begin with.
const FIELD: &str = "a.";

/// How a field is filled in.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text,
    Number,
    Switch,
    Choice(Vec<String>),
    Json,
}

struct Field {
    name: String,
    about: String,
    kind: Kind,
    required: bool,
}

/// The fields of a tool's schema, in its order.
fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let field = |(name, schema): (&String, &Value)| Field {
        about: schema["description"].as_str().unwrap_or_default().to_owned(),
        kind: kind(schema),
        required: required.contains(&name.as_str()),
        name: name.clone(),
    };
    schema["properties"].as_object().into_iter().flatten().map(field).collect()
}

fn kind(schema: &Value) -> Kind {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        return Kind::Choice(words);
    }
    match schema["type"].as_str() {
        Some("string") => Kind::Text,
        Some("integer" | "number") => Kind::Number,
        Some("boolean") => Kind::Switch,
        _ => Kind::Json,
    }
}

pub(super) fn page(visit: &Visit<Id>) -> Result<Page> {
    let approval = approvals::show(&visit.shared.desk, &visit.path.id)?;
    let schema = approvals::schema(&visit.shared.desk, &approval)?;
    let known = if approval.arguments_whole { approval.arguments.clone() } else { Value::Null };
    let fields = schema.as_ref().map(fields).unwrap_or_default();
    let action = format!("/approvals/{}/edit", in_url(&approval.id));
    Ok(Page::new(
        format!("Edit {}", approval.id),
        html! {
            header.page-head {
                div { h1 { "Edit " (approval.id) } p.lede { code { (approval.tool) } " of " (shown(&approval.agent)) ": the policy judges your arguments as if the agent had written them." } }
                div.actions { a.button href={ "/approvals/" (in_url(&approval.id)) } { "Back" } }
            }
            @if !approval.arguments_whole { p.note.warn { "These arguments hold secrets, which are not kept: fill in all of them." } }
            @if approval.status != "pending" { p.note.warn role="status" { "It is " (approval.status) " already." } }
            @if !fields.is_empty() { (typed(&approval, &action, &fields, &known)) }
            (raw(&approval, &action, &known, fields.is_empty()))
        },
    ))
}

fn typed(approval: &ApprovalShown, action: &str, fields: &[Field], known: &Value) -> Markup {
    html! {
        section.card aria-labelledby="h-fields" {
            header { h2 #h-fields { "Arguments" } }
            form.card-body.stack method="post" action=(action) {
                input type="hidden" name="hash" value=(approval.shown);
                @for field in fields { (input(field, known.get(&field.name))) }
                div.actions { button.button.primary { "Approve with these arguments" } }
            }
        }
    }
}

fn input(field: &Field, value: Option<&Value>) -> Markup {
    let (id, name, hint) =
        (format!("f-{}", field.name), format!("{FIELD}{}", field.name), format!("f-{}-hint", field.name));
    let text = value.map(as_text).unwrap_or_default();
    let required = field.required && field.kind != Kind::Text;
    html! {
        div.field {
            @match &field.kind {
                Kind::Switch => label.check { input type="checkbox" id=(id) name=(name) value="true" aria-describedby=(hint) checked[value == Some(&Value::Bool(true))]; (field.name) },
                Kind::Choice(words) => {
                    label for=(id) { (field.name) }
                    select id=(id) name=(name) aria-describedby=(hint) {
                        @if !field.required { option value="" { "not given" } }
                        @for word in words { option value=(word) selected[*word == text] { (word) } }
                    }
                },
                Kind::Number => { label for=(id) { (field.name) } input type="number" step="any" id=(id) name=(name) value=(text) required[required] aria-describedby=(hint); },
                Kind::Text if !text.contains('\n') && text.len() < 200 && field.name != "content" => {
                    label for=(id) { (field.name) } input id=(id) name=(name) value=(text) aria-describedby=(hint);
                },
                Kind::Text | Kind::Json => {
                    label for=(id) { (field.name) @if field.kind == Kind::Json { " (JSON)" } }
                    // The first line end in a text area is none of the text's.
                    textarea.mono id=(id) name=(name) rows="8" spellcheck="false" aria-describedby=(hint) { "\n" (text) }
                },
            }
            p.hint id=(hint) { (field.about) @if !field.required { " Optional." } }
        }
    }
}

fn raw(approval: &ApprovalShown, action: &str, known: &Value, open: bool) -> Markup {
    let text = if known.is_object() { format!("{known:#}") } else { "{}".to_owned() };
    html! {
        details.more open[open] {
            summary { "As JSON" }
            form.stack method="post" action=(action) {
                input type="hidden" name="hash" value=(approval.shown);
                div.field { label for="raw" { "All arguments, as a JSON object" } textarea.mono #raw name="raw" rows="12" spellcheck="false" { "\n" (text) } }
                div.actions { button.button { "Approve with this JSON" } }
            }
        }
    }
}

/// Texts as they are, everything else as JSON.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn take(visit: &Visit<Id>, form: Vec<(String, String)>) -> Result<Done> {
    let approval = approvals::show(&visit.shared.desk, &visit.path.id)?;
    let mut sent: BTreeMap<String, String> = form.into_iter().collect();
    let hash = sent.remove("hash").unwrap_or_default();
    let arguments = match sent.remove("raw") {
        Some(text) => object(&text)?,
        None => {
            let schema = approvals::schema(&visit.shared.desk, &approval)?.unwrap_or_default();
            let known = if approval.arguments_whole { approval.arguments.clone() } else { Value::Null };
            filled(&fields(&schema), &sent, &known)?
        }
    };
    decided(visit, &DecisionAsked { arguments: Some(arguments), ..about(DecisionWord::Edit, hash) })
}

fn object(text: &str) -> Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::misused("the arguments are not a JSON object", "write {\"path\": …}")),
        Err(error) => Err(Failure::misused(format!("the arguments are not JSON: {error}"), "write {\"path\": …}")),
    }
}

/// The arguments that the fields say. What is empty and was not there is left out.
fn filled(fields: &[Field], sent: &BTreeMap<String, String>, known: &Value) -> Result<Map<String, Value>> {
    let mut arguments = Map::new();
    for field in fields {
        let before = known.get(&field.name);
        let text = sent.get(&format!("{FIELD}{}", field.name));
        let Some(value) = value(field, text.map(String::as_str), before)? else { continue };
        arguments.insert(field.name.clone(), value);
    }
    Ok(arguments)
}

fn value(field: &Field, sent: Option<&str>, before: Option<&Value>) -> Result<Option<Value>> {
    let text = sent.unwrap_or_default();
    let not = |what: &str| {
        let message = format!("{} is not {what}: \"{}\"", field.name, paddock_core::visible(text));
        Failure::misused(message, "go back and correct it, or write the arguments as JSON")
    };
    Ok(match &field.kind {
        Kind::Switch if sent.is_none() && before.is_none() => None,
        Kind::Switch => Some(Value::Bool(sent.is_some())),
        Kind::Text if before.is_some_and(|before| lines(&as_text(before)) == lines(text)) => before.cloned(),
        _ if text.is_empty()
            && (before.is_none() || field.kind != Kind::Text)
            && !(field.required && field.kind == Kind::Text) =>
        {
            None
        }
        Kind::Text | Kind::Choice(_) => Some(Value::String(with_ends_of(text, before))),
        Kind::Number => {
            Some(serde_json::from_str(text.trim()).ok().filter(Value::is_number).ok_or_else(|| not("a number"))?)
        }
        Kind::Json => Some(serde_json::from_str(text).map_err(|_| not("JSON"))?),
    })
}

/// The same whatever its lines end with.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// With the line ends that the text had before: a browser puts its own.
fn with_ends_of(text: &str, before: Option<&Value>) -> String {
    let had_carriage = before.and_then(Value::as_str).is_some_and(|before| before.contains("\r\n"));
    let plain = lines(text);
    if had_carriage { plain.replace('\n', "\r\n") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"properties": {
            "path": {"type": "string"}, "content": {"type": "string"}, "lines": {"type": "integer"},
            "all": {"type": "boolean"}, "edits": {"type": "array"}, "mode": {"enum": ["a", "b"]},
        }, "required": ["path"]})
    }

    fn of(known: &Value, sent: &[(&str, &str)]) -> Result<Value> {
        let sent = sent.iter().map(|(name, text)| (format!("{FIELD}{name}"), (*text).to_owned())).collect();
        filled(&fields(&schema()), &sent, known).map(Value::Object)
    }

    #[test]
    fn fields_become_arguments_of_their_types() {
        let known = json!({"path": "a", "content": "one\ntwo\n", "all": true});
        let sent = [("path", "b"), ("content", "one\r\ntwo\r\n"), ("lines", "3"), ("edits", "[1]"), ("mode", "b")];
        let made = of(&known, &sent).unwrap();
        assert_eq!(
            made,
            json!({"path": "b", "content": "one\ntwo\n", "lines": 3, "all": false, "edits": [1], "mode": "b"})
        );
        assert_eq!(
            of(&json!({"path": "a"}), &[("path", ""), ("content", ""), ("lines", "")]).unwrap(),
            json!({"path": ""})
        );
        assert!(of(&json!({}), &[("path", "x"), ("lines", "many")]).unwrap_err().text().contains("not a number"));
    }

    #[test]
    fn line_ends_stay_as_the_call_had_them() {
        let before = json!({"path": "p", "content": "one\r\ntwo\rthree\n"});
        let untouched = of(&before, &[("path", "p"), ("content", "one\r\ntwo\r\nthree\r\n")]).unwrap();
        assert_eq!(untouched, before);
        let touched = of(&before, &[("path", "p"), ("content", "1\r\n2\r\n")]).unwrap();
        assert_eq!(touched["content"], "1\r\n2\r\n");
        let plain = of(&json!({"path": "p", "content": "one\n"}), &[("path", "p"), ("content", "1\r\n2\r\n")]).unwrap();
        assert_eq!(plain["content"], "1\n2\n");
    }
}
