//! Arguments that are none: every call gets an answer, and none breaks anything.

use std::sync::Arc;

use paddock_stores::doubles::Recording;
use paddock_tools::Verdict;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::setup::{Agent, RO, RW, WO, agent, hiding, holding, workspace};

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_one() {
    let agent = agent(vec![workspace("/w", RO, holding(&[]))]);
    let told = |name: &str| {
        let answer = agent.call(name, json!({}));
        assert_eq!(answer.verdict, Verdict::Invalid);
        answer.text()
    };
    assert_eq!(told("read_flie"), "❌ ERROR: There is no tool \"read_flie\". Did you mean \"read_file\"?");
    assert_eq!(told("zzzzz"), "❌ ERROR: There is no tool \"zzzzz\".");
    assert!(!told("write_fil").contains("\"write_file\""), "what is not provided is not suggested");
    assert!(told(&"\u{202e}x".repeat(9000)).len() < 1000);
}

#[test]
fn bad_arguments_touch_nothing() {
    let store = Arc::new(Recording::new(holding(&[("f", b"x")])));
    let agent = agent(vec![workspace("/w", RW, Arc::clone(&store) as _)]);
    for (tool, arguments) in [
        ("write_file", json!({"path": "/w/f"})),
        ("write_file", json!({"path": "/w/f", "content": "x", "expected_versoin": "v0"})),
        ("write_file", json!({"path": "/w/f", "content": ["x"]})),
        ("read_file", json!({"path": "/w/f", "file_path": "/w/f"})),
        ("read_file", json!({"path": "/w/f", "offset": 1.5})),
        ("move_file", json!({"source": "/w/f", "target": "/w/g"})),
        ("edit_file", json!({"path": "/w/f", "old_string": "x"})),
        ("delete_file", json!({"path": "/w/f", "recursive": "yes"})),
        ("search_files", json!({"path": "/w", "pattern": ""})),
    ] {
        let answer = agent.call(tool, arguments.clone());
        assert_eq!(answer.verdict, Verdict::Invalid, "{tool} {arguments}: {}", answer.text());
    }
    assert_eq!(store.take(), []);
    let told = agent.refused("write_file", json!({"path": "/w/f", "content": "", "expected_versoin": "v0"}));
    assert_eq!(
        told,
        "❌ ERROR: Unknown argument \"expected_versoin\". Did you mean \"expected_version\"? The arguments are: content, \
         expected_version, path."
    );
}

fn anyone() -> Agent {
    let store = holding(&[("f", "x\ny\n".repeat(50).as_bytes()), ("d/e", b"\0bin"), ("u", b"\xff\xfea\0")]);
    store.plant_link("l", "f");
    agent(vec![
        hiding(workspace("/w", RW, store), &["h"]),
        workspace("/r", RO, holding(&[("f", b"x")])),
        workspace("/w/o", WO, holding(&[("f", b"x")])),
    ])
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "/w/f", "/w/d", "/w", "/", "/w/o/f", "/w/o", "/r/f", "/r", "/w/h", "/w/l", "/w/u", "/w/new/x", "w/../w/f", "/x", "..", "",
            "x", "y", "*", "**/*", "[", "(", "v0", "/w/f#1", "/w#99", "#", ".*", "^",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[/a-z.#*\\\\]{0,20}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        8 => text().prop_map(Value::from),
        2 => any::<u64>().prop_map(Value::from),
        2 => (0u64..5).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => prop::sample::select(vec![
            "path", "file_path", "offset", "limit", "depth", "after", "glob", "pattern", "context", "ignore_case",
            "include_ignored", "content", "expected_version", "old_string", "new_string", "replace_all", "edits", "source",
            "destination", "recursive",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// Arguments with the names and types of the tool, mostly: what gets past the first check.
fn fitting(tool: &'static str) -> impl Strategy<Value = Map<String, Value>> {
    let spec = anyone().toolbox.tools().into_iter().find(|spec| spec.name == tool).unwrap();
    let properties: Vec<(String, Value)> =
        spec.input_schema["properties"].as_object().unwrap().clone().into_iter().collect();
    let required = spec.input_schema["required"].as_array().unwrap().clone();
    let each = properties.into_iter().map(move |(name, property)| {
        let needed = required.contains(&json!(name));
        let value = match property["type"].as_str().unwrap() {
            "string" => text().prop_map(Value::from).boxed(),
            "integer" => prop_oneof![0u64..4, any::<u64>()].prop_map(Value::from).boxed(),
            "boolean" => any::<bool>().prop_map(Value::from).boxed(),
            _ => prop::collection::vec((text(), text()), 0..3)
                .prop_map(|pairs| {
                    pairs.into_iter().map(|(old, new)| json!({"old_string": old, "new_string": new})).collect()
                })
                .boxed(),
        };
        (Just(name), prop::option::weighted(if needed { 0.97 } else { 0.3 }, value))
    });
    each.collect::<Vec<_>>()
        .prop_map(|pairs| pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

fn check(tool: &str, arguments: Map<String, Value>) -> Result<(), TestCaseError> {
    let answer = anyone().call(tool, Value::Object(arguments));
    prop_assert!(!answer.content.is_empty());
    prop_assert!(answer.structured.get("error") != Some(&json!("defect")), "{}", answer.text());
    prop_assert_eq!(answer.is_error(), answer.text().starts_with("❌ ERROR: "), "{}", answer.text());
    Ok(())
}

fn tool() -> impl Strategy<Value = &'static str> {
    let provided: Vec<&str> = anyone().toolbox.tools().iter().map(|spec| spec.name).collect();
    prop::sample::select(provided)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_get_an_answer(tool in tool(), pairs in prop::collection::vec((name(), value()), 0..5)) {
        check(tool, pairs.into_iter().collect())?;
    }

    #[test]
    fn arguments_of_the_right_shape_get_an_answer(
        (tool, arguments) in tool().prop_flat_map(|tool| (Just(tool), fitting(tool)))
    ) {
        check(tool, arguments)?;
    }
}
