//! What is offered and what is not.

use paddock_core::AccessScope;
use serde_json::{Value, json};

use crate::harness::{Changing, Raw, policy, store};

async fn raw(scope: AccessScope) -> Raw {
    Raw::greeted(Changing::of(policy(scope, store())), "2025-11-25").await.0
}

#[tokio::test]
async fn the_tools_are_those_of_the_scopes_with_true_annotations() {
    let answer = raw(AccessScope::ReadWrite).await.ask("tools/list", Value::Null).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(tools.len(), 10);
    assert_eq!(
        tool("read_file")["annotations"],
        json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(tool("delete_file")["annotations"]["destructiveHint"], true);
    assert_eq!(tool("append_file")["annotations"]["idempotentHint"], false);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
    }
    let answer = raw(AccessScope::WriteOnly).await.ask("tools/list", Value::Null).await;
    let names: Vec<&Value> = answer["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["write_file", "append_file", "edit_file"]);
}

#[tokio::test]
async fn there_is_one_page_of_tools() {
    let mut raw = raw(AccessScope::ReadOnly).await;
    let first = raw.ask("tools/list", json!({})).await;
    assert_eq!(first["result"]["nextCursor"], Value::Null);
    let second = raw.ask("tools/list", json!({"cursor": "abc"})).await;
    assert_eq!(second["error"]["code"], -32602, "{second}");
}

#[tokio::test]
async fn what_is_not_there_is_told_by_its_kind() {
    let mut raw = raw(AccessScope::ReadWrite).await;
    let cases = [
        ("tools/call", json!({"name": "no_such_tool"}), -32602),
        ("tools/call", json!({"arguments": {}}), -32602),
        ("tools/call", json!({"name": "read_file", "arguments": "a.txt"}), -32602),
        ("tools/call", json!({"name": "read_file", "arguments": [1]}), -32602),
        ("no/such/method", json!({}), -32601),
        ("prompts/list", json!({}), -32601),
        ("prompts/get", json!({"name": "x"}), -32601),
        ("resources/list", json!({}), -32601),
        ("resources/templates/list", json!({}), -32601),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32601),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}),
            -32601,
        ),
        ("logging/setLevel", json!({"level": "debug"}), -32601),
        ("tasks/get", json!({"taskId": "x"}), -32601),
    ];
    for (method, params, code) in cases {
        let answer = raw.ask(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    assert_eq!(raw.ask("ping", Value::Null).await["result"], json!({}));
}

#[tokio::test]
async fn what_a_client_sends_comes_back_harmless_in_messages() {
    let mut raw = raw(AccessScope::ReadOnly).await;
    let name = format!("\u{1b}[2J\u{202e}{}", "x".repeat(100_000));
    let answer = raw.ask("tools/call", json!({"name": name})).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.len() < 1000 && !message.contains(['\u{1b}', '\u{202e}']), "{message}");
}
