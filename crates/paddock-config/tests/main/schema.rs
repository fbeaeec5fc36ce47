//! The JSON Schema agrees with the reader.

use paddock_config::{ConfigFile, json_schema, template};
use serde_json::Value;

use crate::parsing::FULL;

fn as_json(text: &str) -> Value {
    let table: toml::Table = text.parse().unwrap();
    serde_json::to_value(table).unwrap()
}

fn valid(text: &str) -> bool {
    jsonschema::validator_for(&json_schema()).unwrap().is_valid(&as_json(text))
}

#[test]
fn the_schema_is_itself_valid() {
    jsonschema::meta::validate(&json_schema()).unwrap();
}

#[test]
fn the_schema_takes_the_full_sample_and_the_template() {
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    for text in [FULL, &template("shop")] {
        let errors: Vec<String> = schema.iter_errors(&as_json(text)).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn schema_and_reader_take_and_refuse_the_same() {
    let workspace = "[[workspace]]\nprefix = \"/a\"\nscope = \"RO\"\n";
    for (accepted, text) in [
        (true, format!("{workspace}mount = {{ physical = \".\" }}")),
        (true, format!("{workspace}mount = {{ virtual = \"a\", shared = true }}")),
        (false, workspace.to_owned()),
        (false, format!("{workspace}mount = {{ }}")),
        (false, format!("{workspace}mount = {{ physical = \".\", overlay = \"/b\" }}")),
        (false, format!("{workspace}mount = {{ physical = \".\", shared = true }}")),
        (false, format!("{workspace}mount = {{ physical = \".\" }}\ncolour = 1")),
        (false, "[[workspace]]\nprefix = \"a\"\nscope = \"RO\"\nmount = { physical = \".\" }".into()),
        (false, "[[workspace]]\nprefix = \"/a\"\nscope = \"ro\"\nmount = { physical = \".\" }".into()),
        (false, "nmae = \"x\"".into()),
        (false, "[agents.main]".into()),
        (false, "[agents.\"a b\"]".into()),
        (true, "[agents.a-b]".into()),
        (false, "[commands]\nnetwork = true".into()),
        (true, "[commands]\nnetwork = false".into()),
        (false, "[commands]\ntime_limit = \"60\"".into()),
        (true, "[commands]\ntime_limit = \"60 s\"".into()),
        (false, "[commands]\nmemory_limit = \"2 gigs\"".into()),
        (false, "[run]\nmax_steps = -1".into()),
        (false, "[serve]\nport = 70000".into()),
        (false, "[model]\nkey = { secret = \"a\" }".into()),
        (false, "[model]\nuse = \"openai:x\"\nkey = \"sk\"".into()),
        (false, "[state]\nurl = \"memory\"".into()),
        (true, "[approvals]\nnotify = \"https://example.com\"".into()),
        (false, "[approvals]\nabove = \"never\"".into()),
        (true, "[approvals]\nlarge = { lines = 10, bytes = \"1 MiB\", paths = 3 }".into()),
        (false, "[approvals]\nlarge = { files = 3 }".into()),
        (true, "[model]\nuse = \"openai:x\"\nprices = { input = 1.25, output = 10, cached = \"0.125\" }".into()),
        (false, "[model]\nuse = \"openai:x\"\nprices = { input = 1.25 }".into()),
        (false, "[model]\nuse = \"openai:x\"\nprices = { input = -1, output = 1 }".into()),
        (false, "[model]\nuse = \"openai:x\"\nprices = { input = \"1,5\", output = 1 }".into()),
        (false, "[model]\nuse = \"openai:x\"\nprices = { input = 1, output = 1, currency = \"$\" }".into()),
        (true, "[run]\nmax_cost = 0.5".into()),
    ] {
        assert_eq!(ConfigFile::parse("paddock.toml", &text).is_ok(), accepted, "reader: {text}");
        assert_eq!(valid(&text), accepted, "schema: {text}");
    }
}

#[test]
fn every_key_is_described_and_none_may_be_null() {
    let schema = json_schema();
    assert!(!schema.to_string().contains("\"null\""), "{schema:#}");
    let mut described = 0;
    for table in std::iter::once(&schema).chain(schema["definitions"].as_object().unwrap().values()) {
        for (key, value) in table["properties"].as_object().into_iter().flatten() {
            assert!(value["description"].is_string(), "{key} has no description: {value}");
            described += 1;
        }
    }
    assert!(described > 50, "{described} keys");
}
