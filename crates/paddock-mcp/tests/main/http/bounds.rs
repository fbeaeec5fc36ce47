//! Bounds: of calls at once, of open streams, of sessions. What is dropped leaves nothing.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::AccessScope;
use paddock_mcp::http::{HttpOptions, Usage};
use serde_json::{Value, json};

use super::site::{Asking, LEGACY, Site, call, tool};
use crate::harness::{Changing, policy, soon, store};
use crate::long_calls::Endless;

async fn endless(options: HttpOptions) -> (Site, Arc<Endless>) {
    let endless = Endless::new();
    let source = Changing::of(policy(AccessScope::ReadOnly, endless.clone()));
    let other = Changing::of(policy(AccessScope::ReadOnly, store()));
    (Site::open(options, &[("ann", source), ("bob", other)]).await, endless)
}

fn search() -> Value {
    json!({"path": "/w", "pattern": "x"})
}

fn listening(site: &Site, session: &str) -> Asking {
    site.request("GET", "ann").with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", session)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_token_are_bounded_and_others_are_not_held_up() {
    let options = HttpOptions { calls_at_once: 2, patience: Duration::from_millis(100), ..HttpOptions::default() };
    let (site, endless) = endless(options).await;
    let session = site.greet("ann").await;
    site.legacy("ann", &session, &call(1, "search_files", search())).send().await;
    let second = site.modern("ann", "tools/call", tool("search_files", search())).begin_sent().await;
    Endless::until(&endless.running, 2).await;

    let read = tool("read_file", json!({"path": "a.txt"}));
    let mut reply = site.modern("ann", "tools/call", read.clone()).send().await;
    let answer = reply.message().await;
    assert_eq!((reply.status, &answer["id"]), (429, &json!(7)), "{answer}");
    assert_eq!(reply.header("retry-after").as_deref(), Some("1"));
    assert!(answer["error"]["message"].as_str().unwrap().contains("too many calls"));
    assert_eq!(site.modern("bob", "tools/call", read.clone()).send().await.status, 200);

    // A word about a call is let in although no more calls are; then there is room again.
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(site.legacy("ann", &session, &cancel).send().await.status, 202);
    Endless::until(&endless.stopped, 1).await;
    site.until("one call is left", |usage| usage.calls == 1).await;
    assert_eq!(site.modern("ann", "tools/call", read).send().await.status, 200);
    drop(second);
    site.until("none is left", |usage| usage.calls == 0).await;
}

/// What a client does not read stays its own trouble.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_read_nothing_hold_up_nobody() {
    let options = HttpOptions { calls_at_once: 4, ..HttpOptions::default() };
    let source = Changing::of(policy(AccessScope::ReadWrite, store()));
    let site = Site::open(options, &[("ann", source)]).await;
    let write = tool("write_file", json!({"path": "large.txt", "content": "one line\n".repeat(500_000)}));
    assert_eq!(site.modern("ann", "tools/call", write).send().await.status, 200);
    let large = tool("read_file", json!({"path": "large.txt", "limit": 500_000}));
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(site.modern("ann", "tools/call", large.clone()).begin_sent().await);
    }
    let read = tool("read_file", json!({"path": "a.txt"}));
    assert_eq!(site.modern("ann", "tools/call", read).send().await.status, 200);
    silent.clear();
    site.until("what they held is given back", |usage| usage.calls == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_its_turn() {
    let options = HttpOptions { calls_at_once: 1, patience: Duration::from_secs(20), ..HttpOptions::default() };
    let (site, endless) = endless(options).await;
    let first = site.modern("ann", "tools/call", tool("search_files", search())).begin_sent().await;
    Endless::until(&endless.running, 1).await;
    let read = site.modern("ann", "tools/call", tool("read_file", json!({"path": "a.txt"})));
    let waiting = tokio::spawn(async move { read.send().await.status });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished(), "it was answered beside the first");
    drop(first);
    assert_eq!(soon(waiting).await.unwrap(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_stay_open_are_bounded_in_both_eras() {
    let (site, _) = endless(HttpOptions { streams_at_once: 4, ..HttpOptions::default() }).await;
    let session = site.greet("ann").await;
    let subscribe = || site.modern("ann", "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(listening(&site, &session).send().await);
        open.push(subscribe().send().await);
    }
    assert!(open.iter().all(|reply| reply.status == 200));
    for refused in [listening(&site, &session), subscribe()] {
        let mut reply = refused.send().await;
        assert_eq!(reply.status, 429);
        assert!(reply.message().await["error"]["message"].as_str().unwrap().contains("too many streams"));
    }
    let read = tool("read_file", json!({"path": "a.txt"}));
    assert_eq!(site.modern("ann", "tools/call", read).send().await.status, 200, "calls are another bound");
    open.clear();
    site.until("closed streams are given back", |usage| usage.streams == 0).await;
    assert_eq!(subscribe().send().await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_session_too_many_ends_the_one_unused_the_longest() {
    let (site, _) = endless(HttpOptions { sessions_at_once: 3, ..HttpOptions::default() }).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(site.greet("ann").await);
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(site.legacy("ann", &sessions[0], &ping).send().await.status, 200);
    sessions.push(site.greet("ann").await);
    let mut statuses = Vec::new();
    for session in &sessions {
        statuses.push(site.legacy("ann", session, &ping).send().await.status);
    }
    assert_eq!(statuses, [200, 404, 200, 200]);
    site.until("who listens is bounded with them", |usage| (usage.sessions, usage.listeners) == (3, 3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_ended_leaves_nothing() {
    let (site, endless) = endless(HttpOptions::default()).await;
    let session = site.greet("ann").await;
    let stream = listening(&site, &session).send().await;
    let running = site.legacy("ann", &session, &call(1, "search_files", search())).send().await;
    Endless::until(&endless.running, 1).await;
    let busy = Usage { tokens: 1, sessions: 1, calls: 1, streams: 1, listeners: 1 };
    site.until("all of it is counted", |usage| usage == busy).await;

    let ending = site.request("DELETE", "ann").with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", &session);
    assert_eq!(ending.send().await.status, 204);
    Endless::until(&endless.stopped, 1).await;
    let nothing = Usage { tokens: 1, ..Usage::default() };
    stream.over().await;
    running.over().await;
    site.until("nothing is left of it", |usage| usage == nothing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_nobody_uses_ends_by_itself() {
    let options = HttpOptions { session_idle: Duration::from_millis(200), ..HttpOptions::default() };
    let (site, _) = endless(options).await;
    let session = site.greet("ann").await;
    site.until("it is over", |usage| (usage.sessions, usage.listeners) == (0, 0)).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(site.legacy("ann", &session, &ping).send().await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_nobody_uses_is_forgotten() {
    let options = HttpOptions { session_idle: Duration::from_millis(100), ..HttpOptions::default() };
    let (site, _) = endless(options).await;
    assert_eq!(site.modern("ann", "tools/list", json!({})).send().await.status, 200);
    let listens = json!({"notifications": {"toolsListChanged": true}});
    let mut open = site.modern("bob", "subscriptions/listen", listens).send().await;
    open.message().await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    site.give("cleo", Changing::of(policy(AccessScope::ReadOnly, store())));
    assert_eq!(site.modern("cleo", "tools/list", json!({})).send().await.status, 200);
    assert_eq!(site.service.usage().tokens, 2, "of three tokens one is not in use");
    assert_eq!(site.service.usage().streams, 1, "who listens is in use");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orderly_end_closes_streams_and_lets_calls_finish() {
    let (site, endless) = endless(HttpOptions::default()).await;
    let session = site.greet("ann").await;
    let open = listening(&site, &session).send().await;
    let mut subscription =
        site.modern("ann", "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).send().await;
    subscription.message().await;
    let running = site.modern("ann", "tools/call", tool("search_files", search())).begin_sent().await;
    Endless::until(&endless.running, 1).await;

    soon(site.service.drain()).await;
    open.over().await;
    subscription.over().await;
    assert_eq!(listening(&site, &session).send().await.status, 503);
    site.until("the call goes on", |usage| (usage.calls, usage.streams) == (1, 0)).await;
    site.service.close();
    Endless::until(&endless.stopped, 1).await;
    assert_eq!(site.modern("ann", "tools/list", json!({})).send().await.status, 503);
    drop(running);
}
