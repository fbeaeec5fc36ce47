//! Calls and their results.

use std::sync::Arc;

use paddock_core::{AccessScope, Store};
use paddock_stores::doubles::{Panicking, Recording};
use serde_json::{Value, json};

use crate::harness::{Changing, Raw, policy, store};

async fn called(raw: &mut Raw, tool: &str, arguments: Value) -> Value {
    let answer = raw.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

async fn raw(scope: AccessScope, store: Arc<dyn Store>) -> Raw {
    Raw::greeted(Changing::of(policy(scope, store)), "2025-11-25").await.0
}

#[tokio::test]
async fn a_read_gives_its_text_once_and_facts_beside_it() {
    let mut raw = raw(AccessScope::ReadOnly, store()).await;
    let result = called(&mut raw, "read_file", json!({"path": "a.txt"})).await;
    assert_eq!(result.to_string().matches("second line").count(), 1, "{result}");
    assert!(result["structuredContent"]["version"].is_string(), "{result}");
    assert_eq!(result["isError"], Value::Null);
}

#[tokio::test]
async fn a_denial_is_read_by_the_agent_and_reaches_no_store() {
    let recording = Arc::new(Recording::new(store()));
    let mut raw = raw(AccessScope::ReadOnly, Arc::clone(&recording) as Arc<dyn Store>).await;
    let result = called(&mut raw, "read_file", json!({"path": "a.txt"})).await;
    assert_eq!(result["isError"], Value::Null, "{result}");
    assert!(!recording.take().is_empty(), "the honest twin reaches it");
    for (tool, arguments) in [
        ("write_file", json!({"path": "a.txt", "content": "x"})),
        ("delete_file", json!({"path": "a.txt"})),
        ("read_file", json!({"path": "/elsewhere"})),
        ("read_file", json!({"path": "../../etc/passwd"})),
    ] {
        let result = called(&mut raw, tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().starts_with("❌ ERROR: "), "{result}");
    }
    assert_eq!(recording.take(), []);
}

#[tokio::test]
async fn bad_arguments_are_read_by_the_agent() {
    let mut raw = raw(AccessScope::ReadOnly, store()).await;
    let result = called(&mut raw, "read_file", json!({"paht": "a.txt"})).await;
    assert_eq!(result["isError"], true, "{result}");
    let without = raw.ask("tools/call", json!({"name": "read_file"})).await;
    assert_eq!(without["result"]["isError"], true, "{without}");
}

#[tokio::test]
async fn a_store_that_panics_is_one_failed_call() {
    let mut raw = raw(AccessScope::ReadWrite, Arc::new(Panicking)).await;
    for tool in ["read_file", "list_dir"] {
        let result = called(&mut raw, tool, json!({"path": "/w"})).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(!result.to_string().contains("panics"), "{result}");
    }
    assert_eq!(raw.ask("ping", Value::Null).await["result"], json!({}));
}

#[tokio::test]
async fn many_calls_at_once_are_each_answered() {
    let mut raw = raw(AccessScope::ReadWrite, store()).await;
    for id in 0..500 {
        let tool = if id % 2 == 0 { "read_file" } else { "search_files" };
        let arguments = json!({"path": if id % 2 == 0 { "a.txt" } else { "/w" }, "pattern": "second"});
        let arguments = if id % 2 == 0 { json!({"path": "a.txt"}) } else { arguments };
        raw.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})).await;
    }
    let mut ids = Vec::new();
    for _ in 0..500 {
        let answer = raw.receive().await;
        assert!(answer["result"]["content"].to_string().contains("second line"), "{answer}");
        ids.push(answer["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..500).collect::<Vec<i64>>());
}
