//! What comes by itself, and what stops when nobody reads any more.

use paddock_core::AccessScope;
use paddock_mcp::http::HttpOptions;
use serde_json::{Value, json};

use super::site::{LEGACY, Site, call, tool};
use crate::harness::{Changing, policy, store};
use crate::long_calls::Endless;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_policy_is_told_on_the_stream_of_a_session() {
    let source = Changing::of(policy(AccessScope::ReadOnly, store()));
    let site = Site::open(HttpOptions::default(), &[("ann", source.clone())]).await;
    let session = site.greet("ann").await;
    let listening = site.request("GET", "ann").with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", &session);
    let mut stream = listening.send().await;
    assert_eq!(stream.status, 200);
    site.until("it listens", |usage| usage.listeners == 1).await;
    source.change(policy(AccessScope::ReadWrite, store()));
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_policy_is_told_on_a_subscription() {
    let source = Changing::of(policy(AccessScope::ReadOnly, store()));
    let site = Site::open(HttpOptions::default(), &[("ann", source.clone())]).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = site.modern("ann", "subscriptions/listen", filter).send().await;
    assert_eq!(stream.message().await["method"], "notifications/subscriptions/acknowledged");
    source.change(policy(AccessScope::ReadWrite, store()));
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    drop(stream);
    site.until("a closed subscription leaves nothing", |usage| (usage.streams, usage.listeners) == (0, 0)).await;
}

fn search(meta: Option<u32>) -> Value {
    let mut params = tool("search_files", json!({"path": "/w", "pattern": "x"}));
    if let Some(token) = meta {
        params["_meta"] = json!({"progressToken": token});
    }
    params
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_the_connection_stops_a_call_of_the_newer_kind() {
    let endless = Endless::new();
    let source = Changing::of(policy(AccessScope::ReadOnly, endless.clone()));
    let site = Site::open(HttpOptions::default(), &[("ann", source)]).await;
    // Before anything was answered.
    let silent = site.modern("ann", "tools/call", search(None)).begin_sent().await;
    Endless::until(&endless.running, 1).await;
    drop(silent);
    Endless::until(&endless.stopped, 1).await;

    // While its progress is being read.
    let mut params = search(None);
    params["_meta"] = crate::harness::context();
    params["_meta"]["progressToken"] = json!(4);
    let body = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params});
    let mut told = site.modern("ann", "tools/call", search(None)).json(&body).send().await;
    assert_eq!(told.message().await["method"], "notifications/progress");
    drop(told);
    Endless::until(&endless.stopped, 2).await;
    site.until("both are given back", |usage| usage.calls == 0).await;
}

/// The older versions say that a connection may break without the call being given up: a client says so in a word of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_the_connection_does_not_stop_a_call_of_a_session_but_a_word_does() {
    let endless = Endless::new();
    let source = Changing::of(policy(AccessScope::ReadOnly, endless.clone()));
    let site = Site::open(HttpOptions::default(), &[("ann", source)]).await;
    let session = site.greet("ann").await;
    let mut progress = call(3, "search_files", json!({}));
    progress["params"] = search(Some(5));
    let mut told = site.legacy("ann", &session, &progress).send().await;
    assert_eq!(told.message().await["method"], "notifications/progress");
    drop(told);
    let ping = json!({"jsonrpc": "2.0", "id": 4, "method": "ping"});
    assert_eq!(site.legacy("ann", &session, &ping).send().await.message().await["result"], json!({}));
    site.until("it counts for as long as it runs", |usage| usage.calls == 1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    assert_eq!(site.legacy("ann", &session, &cancel).send().await.status, 202);
    Endless::until(&endless.stopped, 1).await;
    site.until("it is given back", |usage| usage.calls == 0).await;
}
