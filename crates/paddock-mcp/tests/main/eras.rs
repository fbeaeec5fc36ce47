//! One handler, every protocol version.

use paddock_core::AccessScope;
use paddock_tools::Toolbox;
use serde_json::{Value, json};

use crate::harness::{Changing, Raw, context, policy, store};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[tokio::test]
async fn every_legacy_version_is_greeted_in_its_own() {
    for version in LEGACY {
        let source = Changing::of(policy(AccessScope::ReadWrite, store()));
        let map = Toolbox::new(source.clone()).filesystem_map();
        let (mut raw, answer) = Raw::greeted(source, version).await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["instructions"], map);
        assert_eq!(result["serverInfo"]["name"], "paddock");
        assert_eq!(result["capabilities"], json!({"tools": {"listChanged": true}}));
        let answer = raw.ask("tools/list", Value::Null).await;
        let result = answer["result"].as_object().unwrap();
        assert_eq!(result.keys().collect::<Vec<_>>(), ["tools"], "nothing that this version does not know");
        let called = raw.ask("tools/call", json!({"name": "read_file", "arguments": {"path": "a.txt"}})).await;
        assert_eq!(called["result"]["resultType"], Value::Null, "{called}");
    }
}

#[tokio::test]
async fn an_unknown_version_is_answered_with_one_that_is_known() {
    let (_, answer) = Raw::greeted(Changing::of(policy(AccessScope::ReadOnly, store())), "1999-01-01").await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn a_modern_client_needs_no_greeting() {
    let mut raw = Raw::connect(Changing::of(policy(AccessScope::ReadOnly, store())));
    let found = raw.ask("server/discover", json!({"_meta": context()})).await;
    let result = &found["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    assert!(result["instructions"].as_str().unwrap().contains("/w"), "{found}");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(5000), &json!("private")));

    let listed = raw.ask("tools/list", json!({"_meta": context()})).await;
    let result = &listed["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(5000), &json!("private")));

    let params = json!({"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": context()});
    let called = raw.ask("tools/call", params).await;
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert!(called["result"]["content"][0]["text"].as_str().unwrap().contains("first line"), "{called}");
}

#[tokio::test]
async fn a_modern_request_without_its_context_is_refused() {
    let mut raw = Raw::connect(Changing::of(policy(AccessScope::ReadOnly, store())));
    raw.ask("tools/list", json!({"_meta": context()})).await;
    let answer = raw.ask("tools/call", json!({"name": "read_file", "arguments": {"path": "a.txt"}})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let mut other = context();
    other["io.modelcontextprotocol/protocolVersion"] = json!("2999-01-01");
    let answer = raw.ask("tools/list", json!({"_meta": other})).await;
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    let answer = raw.ask("ping", json!({"_meta": context()})).await;
    assert_eq!(answer["error"]["code"], -32601, "there is no ping in this era: {answer}");
}
