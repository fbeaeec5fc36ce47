//! The OpenAPI document, made from the rows that the router is made from.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::endpoint::{Answers, Endpoint};
use crate::problem::{self, Problem};
use crate::{api, guard};

/// The document.
#[must_use]
pub fn document() -> Value {
    with_cookie(&guard::session_cookie("PORT"))
}

/// The document of a server whose sessions are in this cookie.
pub(crate) fn with_cookie(cookie: &str) -> Value {
    let mut schemas = Schemas::new();
    let mut paths: Map<String, Value> = Map::new();
    let mut problems = BTreeSet::new();
    for row in api::endpoints() {
        let path = row.path.replace("{*", "{");
        problems.extend(row.problems());
        let operation = operation(&row, &mut schemas);
        let at = paths.entry(path).or_insert_with(|| json!({}));
        at[row.method.as_str().to_lowercase()] = operation;
    }
    let schema = schemas.answered.subschema_for::<Problem>();
    let content = json!({ "application/problem+json": { "schema": schema } });
    let described =
        |status: &u16| (problem_name(*status), json!({ "description": problem::meaning(*status), "content": content }));
    let responses: Map<String, Value> = problems.iter().map(described).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Paddock",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the console and the command line show and do, for programs.",
        },
        "tags": api::IDEAS.iter().map(|idea| json!({ "name": idea.name, "description": idea.about })).collect::<Vec<_>>(),
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.answered.take_definitions(true),
            "responses": responses,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": cookie },
            },
        },
    })
}

/// A type is described as it is read, or as it is written: a field that may be left out is another one here than there. What is read
/// stands where it is used, so that the two never share a name.
struct Schemas {
    asked: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let mut asked = SchemaSettings::draft2020_12().for_deserialize();
        asked.inline_subschemas = true;
        let mut answered = SchemaSettings::draft2020_12().for_serialize();
        answered.definitions_path = "/components/schemas".into();
        Self { asked: asked.into_generator(), answered: answered.into_generator() }
    }
}

fn operation(row: &Endpoint, schemas: &mut Schemas) -> Value {
    let Schemas { asked, answered } = schemas;
    let mut parameters = parameters(row.path_schema, "path", asked);
    parameters.extend(self::parameters(row.query_schema, "query", asked));
    parameters.extend(row.headers.iter().map(|(name, meaning)| {
        json!({ "name": name, "in": "header", "required": false, "description": meaning, "schema": { "type": "string" } })
    }));
    let mut operation = json!({
        "summary": row.summary,
        "tags": [row.tag],
        "operationId": operation_id(row),
        "parameters": parameters,
        "responses": responses(row, answered),
    });
    if let Some(schema) = row.body_schema {
        let content = json!({ "application/json": { "schema": schema(asked) } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    } else if row.takes_file {
        operation["requestBody"] = json!({ "required": true, "content": { "application/octet-stream": {} } });
    }
    operation
}

/// Every status that it can answer.
fn responses(row: &Endpoint, answered: &mut SchemaGenerator) -> Map<String, Value> {
    let (status, content) = match &row.answers {
        Answers::Json(schema) => (200, json!({ "application/json": { "schema": schema(answered) } })),
        Answers::Done => (204, json!({})),
        Answers::Other(kind) => (200, json!({ (*kind): {} })),
    };
    let mut responses = Map::new();
    for status in row.also.iter().chain([&status]) {
        let (meaning, has_body) = success(*status);
        let mut answer = json!({ "description": meaning });
        if has_body {
            answer["content"] = content.clone();
        }
        responses.insert(status.to_string(), answer);
    }
    for status in row.problems() {
        let name = format!("#/components/responses/{}", problem_name(status));
        responses.insert(status.to_string(), json!({ "$ref": name }));
    }
    responses
}

/// What an answer that is no problem says, and whether it has a body.
fn success(status: u16) -> (&'static str, bool) {
    match status {
        201 => ("the answer; it was not there before", true),
        204 => ("it is done", false),
        206 => ("the part that was asked for", true),
        304 => ("it is the version that whoever asks has", false),
        _ => ("the answer", true),
    }
}

fn problem_name(status: u16) -> String {
    format!("problem-{status}")
}

/// "GET /api/v1/forks/{name}" is `get_forks_name`.
fn operation_id(row: &Endpoint) -> String {
    let path = row.path.trim_start_matches("/api/v1");
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(row.method.as_str().to_lowercase()).chain(words.map(str::to_owned)).collect::<Vec<_>>().join("_")
}

/// The fields of a type as parameters.
fn parameters(
    schema: fn(&mut SchemaGenerator) -> schemars::Schema,
    place: &str,
    generator: &mut SchemaGenerator,
) -> Vec<Value> {
    let schema = schema(generator);
    let whole = resolved(&schema, generator);
    let required: Vec<&str> = whole["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(fields) = whole["properties"].as_object() else { return Vec::new() };
    let parameter = |(name, schema): (&String, &Value)| {
        let needed = place == "path" || required.contains(&name.as_str());
        let mut schema = schema.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({ "name": name, "in": place, "required": needed, "description": description, "schema": schema })
    };
    fields.iter().map(parameter).collect()
}

/// A schema that may only be named, itself.
fn resolved(schema: &schemars::Schema, generator: &SchemaGenerator) -> Value {
    let value = schema.as_value();
    let Some(name) = value["$ref"].as_str().and_then(|name| name.rsplit('/').next()) else { return value.clone() };
    generator.definitions().get(name).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_in_it_under_its_own_name() {
        let document = document();
        let mut ids = std::collections::BTreeSet::new();
        for row in api::endpoints() {
            let path = row.path.replace("{*", "{");
            let operation = &document["paths"][&path][row.method.as_str().to_lowercase()];
            let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{path} is missing"));
            assert!(ids.insert(id.to_owned()), "two endpoints are called {id}");
        }
    }

    #[test]
    fn every_status_is_named_and_says_what_it_means() {
        let document = document();
        for row in api::endpoints() {
            let path = row.path.replace("{*", "{");
            let responses = &document["paths"][&path][row.method.as_str().to_lowercase()]["responses"];
            assert!(responses.get("default").is_none(), "{path} says nothing exact");
            for status in row.problems() {
                assert!(responses[status.to_string()]["$ref"].is_string(), "{path}: {status}");
                assert!(problem::meaning(status).is_some(), "nothing says what {status} means");
            }
        }
        let of = |path: &str, method: &str| {
            let responses = document["paths"][path][method]["responses"].as_object().unwrap();
            responses.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("/api/v1/agents", "get"), "200 400 401 403 408 413 421 422 500");
        assert_eq!(of("/api/v1/move", "post"), "200 400 401 403 404 408 409 413 415 421 422 500");
        assert_eq!(of("/api/v1/shares/{id}", "delete"), "204 400 401 403 404 408 413 421 422 500");
        let file = "/api/v1/files/{agent}/{path}";
        assert_eq!(of(file, "get"), "200 206 304 400 401 403 404 409 412 416 421 422 500");
        assert_eq!(of(file, "put"), "200 201 400 401 403 404 408 409 412 421 422 500");
        assert_eq!(of("/api/v1/events", "get"), "200 400 401 403 421 422 500 503");
    }

    #[test]
    fn the_headers_that_are_listened_to_are_described() {
        let document = document();
        let named = |path: &str, method: &str| {
            let parameters = document["paths"][path][method]["parameters"].as_array().unwrap().clone();
            let headers = parameters.into_iter().filter(|one| one["in"] == "header");
            headers.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let file = "/api/v1/files/{agent}/{path}";
        assert_eq!(named(file, "get"), ["Range", "If-Range", "If-Match", "If-None-Match"]);
        assert_eq!(named(file, "put"), ["If-Match", "If-None-Match"]);
        assert_eq!(named(file, "delete"), ["If-Match", "If-None-Match"]);
        assert_eq!(named("/api/v1/events", "get"), ["Last-Event-ID"]);
    }

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for row in api::endpoints() {
            let named = row.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            let mut generator = SchemaGenerator::default();
            let described = parameters(row.path_schema, "path", &mut generator);
            for name in named.map(|name| name.trim_start_matches('*')) {
                assert!(described.iter().any(|one| one["name"] == name), "{}: {name}", row.path);
            }
        }
    }
}
