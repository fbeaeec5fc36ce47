//! `docs/api-reference.md` is written from the OpenAPI document that the server gives: every endpoint with its parameters, its body, its
//! answers and a call of it. Each of these calls is made.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Map, Value, json};

use super::pages::Page;
use crate::harness::World;
use crate::server::Server;

const PAGE: &str = "docs/api-reference.md";
/// Where the examples push to.
const REMOTE: &str = "https://git.example.org/";
/// What becomes of a body that cannot be read; said once for those that nobody asked for.
const OF_BODIES: [&str; 2] = ["408", "413"];

#[test]
fn the_reference_is_what_the_openapi_document_says() {
    let written = Reference::new().written();
    let page = Page::named(PAGE);
    if page.text == written {
        return;
    }
    if std::env::var_os("PADDOCK_WRITE_DOCS").is_some() {
        fs::write(&page.path, &written).unwrap();
    }
    panic!("{PAGE} is not what the OpenAPI document says; run again with PADDOCK_WRITE_DOCS=1");
}

/// What an example asks for need not be there, but the server has to understand it.
#[test]
fn every_call_of_the_reference_is_one_that_the_server_takes() {
    let reference = Reference::new();
    let world = World::seed();
    let server = Server::start(&world);
    let made = world.paddock(&["token", "new", "reader", "--api"]);
    let (mut asked, secret) = (0, made.stdout.trim());
    for (path, method, operation) in reference.operations() {
        // The stream has no end.
        if path.ends_with("/events") {
            continue;
        }
        let call = Call::of(&reference, path, method, operation);
        let mut request = server.request(&method.to_uppercase(), &call.target).bearer(secret);
        if let Some(body) = &call.body {
            // No test asks another machine.
            let body = body.replace(REMOTE, "https://127.0.0.1:1/");
            request = request.header("content-type", call.content_type).body(body);
        }
        let understood = !matches!(request.status, 400 | 405 | 413 | 415 | 500..);
        assert!(understood, "{}\n{}: {}", call.curl(method), request.status, request.text());
        asked += 1;
    }
    assert!(asked > 50, "only {asked} calls were made");
}

/// The document, and what all of it has in common.
struct Reference {
    document: Value,
    /// The statuses of problems that every endpoint can answer.
    everywhere: BTreeSet<String>,
}

impl Reference {
    fn new() -> Self {
        let document = paddock_console::openapi();
        let mut reference = Self { document, everywhere: BTreeSet::new() };
        let statuses = |operation: &Value| -> BTreeSet<String> {
            let responses = operation["responses"].as_object().unwrap();
            responses
                .iter()
                .filter(|(_, answer)| answer["$ref"].is_string())
                .map(|(status, _)| status.clone())
                .collect()
        };
        let of_each = reference.operations().into_iter().map(|(.., operation)| statuses(operation));
        reference.everywhere = of_each.reduce(|all, next| &all & &next).unwrap();
        reference
    }

    /// Path, method and what there is to say.
    fn operations(&self) -> Vec<(&str, &str, &Value)> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        let each = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(|(method, operation)| (path.as_str(), method.as_str(), operation))
        });
        each.collect()
    }

    /// What a reference leads to; anything else is itself.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let named = value["$ref"].as_str().and_then(|name| self.document.pointer(name.trim_start_matches('#')));
        named.unwrap_or(value)
    }

    fn written(&self) -> String {
        let mut page = String::from(
            "# API reference\n\nEvery endpoint of `paddock serve`, made from its OpenAPI document. [The API](api.md) says what holds for all of them. \
             In the examples `$TOKEN` is a token of `paddock token new NAME --api`.\n\n\
             A body that nobody asked for is read all the same where the answer is JSON: 408 where it does not come in time, 413 where it is too large. \
             Below, both are named only where a body is asked for.\n\n\
             A problem is `application/problem+json`. Every endpoint can answer these:\n\n| status | says |\n| --- | --- |\n",
        );
        for status in &self.everywhere {
            let _ = writeln!(page, "| {status} | {} |", self.meaning(status));
        }
        for tag in self.document["tags"].as_array().unwrap() {
            let (name, about) = (tag["name"].as_str().unwrap(), tag["description"].as_str().unwrap());
            let _ = write!(page, "\n## {name}\n\n{about}\n");
            for (path, method, operation) in self.operations() {
                if operation["tags"][0] == tag["name"] {
                    page += &self.endpoint(path, method, operation);
                }
            }
        }
        page += "\n## Types\n\nWhat the answers are made of.\n";
        for (name, schema) in self.document["components"]["schemas"].as_object().unwrap() {
            let _ = write!(page, "\n### {name}\n\n{}", self.described(schema));
        }
        page
    }

    fn meaning(&self, status: &str) -> &str {
        self.document["components"]["responses"][format!("problem-{status}")]["description"].as_str().unwrap()
    }

    fn endpoint(&self, path: &str, method: &str, operation: &Value) -> String {
        let summary = operation["summary"].as_str().unwrap();
        let mut text = format!("\n### {} {path}\n\n{summary}.\n", method.to_uppercase());
        text = text.replace("?.\n", "?\n");
        let parameters = operation["parameters"].as_array().unwrap();
        if !parameters.is_empty() {
            text += "\n| parameter | in | type | |\n| --- | --- | --- | --- |\n";
        }
        for one in parameters {
            let place = one["in"].as_str().unwrap();
            let needed = if one["required"] == true { ", required" } else { "" };
            let (name, about) = (one["name"].as_str().unwrap(), cell(&one["description"]));
            let _ = writeln!(
                text,
                "| `{name}` | {place}{needed} | {} | {about} |",
                without_nothing(&self.kind(&one["schema"]))
            );
        }
        text += &self.body(&operation["requestBody"]);
        text += &self.answers(&operation["responses"], operation["requestBody"].is_null());
        let call = Call::of(self, path, method, operation);
        let _ = write!(text, "\n```text\n{}\n```\n", call.curl(method));
        text
    }

    fn body(&self, body: &Value) -> String {
        let Some((kind, content)) = body["content"].as_object().and_then(|content| content.iter().next()) else {
            return String::new();
        };
        let schema = &content["schema"];
        if schema.is_null() {
            return format!("\nBody: the content itself (`{kind}`).\n");
        }
        format!("\nBody (`{kind}`):\n\n{}", self.fields(schema))
    }

    fn answers(&self, responses: &Value, no_body: bool) -> String {
        let mut text = String::from("\n| answers | |\n| --- | --- |\n");
        for (status, answer) in responses.as_object().unwrap() {
            if self.everywhere.contains(status) || (no_body && OF_BODIES.contains(&status.as_str())) {
                continue;
            }
            let answer = self.resolved(answer);
            let content = answer["content"].as_object().and_then(|content| content.iter().next());
            let what = match content {
                Some((kind, _)) if kind == "application/problem+json" => String::new(),
                Some((_, content)) if !content["schema"].is_null() => format!(": {}", self.kind(&content["schema"])),
                Some((kind, _)) if kind != "*/*" => format!(" (`{kind}`)"),
                _ => String::new(),
            };
            let _ = writeln!(text, "| {status} | {}{what} |", answer["description"].as_str().unwrap());
        }
        text
    }

    /// A type as a section of its own says it.
    fn described(&self, schema: &Value) -> String {
        let about = schema["description"].as_str().map(|text| format!("{}\n\n", text.trim())).unwrap_or_default();
        if schema["properties"].is_object() {
            return format!("{about}{}", self.fields(schema));
        }
        let Some(choices) = schema["oneOf"].as_array() else {
            return format!("{about}{}\n", upper(&self.kind(schema)));
        };
        let said = |choice: &Value| match choice["description"].as_str() {
            Some(description) => format!("- {}: {}\n", self.kind(choice), description.replace('\n', " ")),
            None => format!("- {}\n", self.kind(choice)),
        };
        choices.iter().fold(format!("{about}One of:\n\n"), |text, choice| text + &said(choice))
    }

    fn fields(&self, schema: &Value) -> String {
        let Some(properties) = schema["properties"].as_object() else { return format!("{}\n", self.kind(schema)) };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut text = String::from("| field | type | |\n| --- | --- | --- |\n");
        for (name, field) in properties {
            let kind = self.kind(field);
            let kind = match required.contains(&name.as_str()) {
                true => kind,
                false => format!("{}, may be left out", without_nothing(&kind)),
            };
            let _ = writeln!(text, "| `{name}` | {kind} | {} |", cell(&field["description"]));
        }
        text
    }

    /// What a value is, in a few words.
    fn kind(&self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            return format!("[{name}](#{})", name.to_lowercase());
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().map(|word| format!("`{}`", plain(word))).collect::<Vec<_>>().join(", ");
        }
        if !schema["const"].is_null() {
            return format!("`{}`", plain(&schema["const"]));
        }
        if let Some(kinds) = ["anyOf", "oneOf"].iter().find_map(|key| schema[*key].as_array()) {
            return either(kinds.iter().map(|kind| self.kind(kind)));
        }
        match &schema["type"] {
            Value::Array(kinds) => either(kinds.iter().map(|kind| self.kind(&with_type(schema, kind)))),
            Value::String(kind) if kind == "array" => format!("list of {}", self.kind(&schema["items"])),
            Value::String(kind) if kind == "object" && schema["properties"].is_object() => self.inline(schema),
            Value::String(kind) => word(kind).to_owned(),
            _ => "any JSON".to_owned(),
        }
    }

    /// An object that has no name, in a line.
    fn inline(&self, schema: &Value) -> String {
        let fields = schema["properties"].as_object().unwrap().iter();
        let fields = fields.map(|(name, field)| format!("`{name}`: {}", self.kind(field)));
        format!("object of {}", fields.collect::<Vec<_>>().join(", "))
    }
}

/// What may be left out is not said to be nothing once more.
fn without_nothing(kind: &str) -> &str {
    kind.strip_suffix(" or nothing").unwrap_or(kind)
}

/// One of several kinds, each said once.
fn either(kinds: impl Iterator<Item = String>) -> String {
    let mut said: Vec<String> = Vec::new();
    for kind in kinds {
        if !said.contains(&kind) {
            said.push(kind);
        }
    }
    said.join(" or ")
}

fn with_type(schema: &Value, kind: &Value) -> Value {
    let mut one = schema.clone();
    one["type"] = kind.clone();
    one
}

fn word(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" => "whole number",
        "boolean" => "`true` or `false`",
        "null" => "nothing",
        other => other,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A description as a table takes it.
fn cell(text: &Value) -> String {
    text.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

/// An example of a call: everything that is required, and nothing else.
struct Call {
    target: String,
    body: Option<String>,
    content_type: &'static str,
}

impl Call {
    fn of(reference: &Reference, path: &str, method: &str, operation: &Value) -> Self {
        let mut target = path.to_owned();
        let mut query = Vec::new();
        for one in operation["parameters"].as_array().unwrap() {
            let name = one["name"].as_str().unwrap();
            let value = plain(&sample(path, name, &one["schema"]));
            if one["in"] == "path" {
                target = target.replace(&format!("{{{name}}}"), value.trim_start_matches('/'));
            } else if one["in"] == "query" && one["required"] == true {
                query.push(format!("{name}={value}"));
            }
        }
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        let content = operation["requestBody"]["content"].as_object().and_then(|content| content.iter().next());
        let (body, content_type) = match content {
            None => (None, ""),
            Some((_, content)) if content["schema"].is_null() => (Some("hello".to_owned()), "application/octet-stream"),
            Some((_, content)) => {
                let schema = reference.resolved(&content["schema"]);
                (Some(required(path, schema).to_string()), "application/json")
            }
        };
        // A file is put from one; an archive is one.
        let body = if method == "put" && path.contains("/import/") { Some(empty_zip()) } else { body };
        Self { target, body, content_type }
    }

    fn curl(&self, method: &str) -> String {
        let mut line = String::from("curl");
        if method != "get" {
            let _ = write!(line, " -X {}", method.to_uppercase());
        }
        line += " -H \"Authorization: Bearer $TOKEN\"";
        match (self.content_type, &self.body) {
            ("application/json", Some(body)) => {
                let _ = write!(line, " -H 'Content-Type: application/json' -d '{body}'");
            }
            (_, Some(_)) => line += " --data-binary @FILE",
            _ => {}
        }
        let quote = if self.target.contains(['?', '&']) { "'" } else { "" };
        let _ = write!(line, " {quote}http://127.0.0.1:7433{}{quote}", self.target);
        line
    }
}

/// The required fields of a body.
fn required(path: &str, schema: &Value) -> Value {
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let fields: Map<String, Value> =
        names.map(|name| (name.to_owned(), sample(path, name, &schema["properties"][name]))).collect();
    Value::Object(fields)
}

/// What is named at these is a directory.
const OF_DIRECTORIES: [&str; 6] = ["/import", "/export", "/push", "/projects", "/shares", "/directories"];

/// What a reader would write there.
fn sample(path: &str, name: &str, schema: &Value) -> Value {
    let first = ["enum", "oneOf"].iter().find_map(|key| schema[*key].as_array()?.first());
    match name {
        "agent" => json!("main"),
        "path" if OF_DIRECTORIES.iter().any(|part| path.contains(part)) => json!("/project/workspace/site"),
        "path" => json!("/project/workspace/a.txt"),
        "paths" => json!(["a.txt"]),
        "from" => json!("/project/workspace/a.txt"),
        "to" => json!("/project/workspace/b.txt"),
        "operation" => json!("write"),
        "q" => json!("TODO"),
        "key" if path.contains("/config") => json!("workspace[0].scope"),
        "value" => json!("READ_ONLY"),
        "template" => json!("static"),
        "workspace" => json!("/project/workspace"),
        "remote" => json!({ "url": format!("{REMOTE}site.git") }),
        "name" | "key" => json!("try"),
        "at" if schema["type"] == "integer" => json!(1),
        "at" => json!("2026-01-31 12:00"),
        "id" => json!("ID"),
        _ => match first {
            Some(first) if !first["const"].is_null() => first["const"].clone(),
            Some(first) => first.clone(),
            None => json!("WORD"),
        },
    }
}

/// An archive with nothing in it: its end.
fn empty_zip() -> String {
    format!("PK\u{5}\u{6}{}", "\0".repeat(18))
}
