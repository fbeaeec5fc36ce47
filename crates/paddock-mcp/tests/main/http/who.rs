//! Who may ask: tokens, sessions, and where a request comes from.

use std::sync::{Arc, Mutex};

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Call, Gate, LogicalPath, Mount, NoJournal, Passed, Permit, Plan, Refused,
    Request, Vfs, Workspace,
};
use paddock_mcp::http::HttpOptions;
use paddock_tools::PolicySource;
use serde_json::{Value, json};

use super::site::{LEGACY, Site, call, tool};
use crate::harness::{Changing, policy, store};

fn agent(scope: AccessScope) -> Arc<dyn PolicySource> {
    Changing::of(policy(scope, store()))
}

/// Writes down in which session each change is asked for.
#[derive(Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Gate for Asked {
    fn pass(&self, _: &Call<'_>, request: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        if request.tool == "write_file" {
            self.0.lock().unwrap().push(request.asked.requester().session.clone());
        }
        Ok(Passed::Now(permit.grant()))
    }
}

fn asked() -> (Arc<dyn PolicySource>, Arc<Mutex<Vec<String>>>) {
    let gate = Asked::default();
    let sessions = Arc::clone(&gate.0);
    let prefix = LogicalPath::parse("/w", &LogicalPath::top()).unwrap();
    let workspace = Workspace::new(prefix.clone(), AccessScope::ReadWrite, Mount::new(store(), None));
    let vfs = Vfs::new(vec![workspace], Arc::new(gate), Arc::new(NoJournal)).unwrap();
    (Changing::of(AgentPolicy::new(AgentName::main(), prefix, vfs)), sessions)
}

async fn site() -> Site {
    let options = HttpOptions { allowed_origins: vec!["http://localhost:4747".to_owned()], ..HttpOptions::default() };
    Site::open(options, &[("ann", agent(AccessScope::ReadWrite)), ("bob", agent(AccessScope::ReadOnly))]).await
}

fn read() -> Value {
    tool("read_file", json!({"path": "a.txt"}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_eras_are_served_to_whoever_has_a_token() {
    let site = site().await;
    let mut reply = site.modern("ann", "tools/call", read()).send().await;
    assert_eq!(reply.status, 200);
    assert!(reply.message().await["result"]["content"][0]["text"].as_str().unwrap().contains("first line"));

    let session = site.greet("ann").await;
    let mut reply = site.legacy("ann", &session, &call(3, "read_file", json!({"path": "a.txt"}))).send().await;
    let answer = reply.message().await;
    assert_eq!(answer["id"], 3);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("second line"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_offered_and_allowed_depends_on_the_token() {
    let site = site().await;
    for (token, tools, is_refused) in [("ann", 10, false), ("bob", 4, true)] {
        let answer = site.modern(token, "tools/list", json!({})).send().await.message().await;
        assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), tools);
        assert_eq!(answer["result"]["cacheScope"], "private");
        let write = tool("write_file", json!({"path": "b.txt", "content": "x"}));
        let answer = site.modern(token, "tools/call", write).send().await.message().await;
        assert_eq!(answer["result"]["isError"].as_bool().unwrap_or(false), is_refused, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_good_token_nothing_is_served() {
    let site = site().await;
    let session = site.greet("ann").await;
    for token in ["", "eve", "ann "] {
        let header = if token.is_empty() { String::new() } else { format!("Bearer {token}x") };
        let asked = [
            site.modern("ann", "tools/list", json!({})),
            site.legacy("ann", &session, &call(1, "read_file", json!({"path": "a.txt"}))),
            site.request("GET", "ann").with("Mcp-Session-Id", &session),
            site.request("DELETE", "ann").with("Mcp-Session-Id", &session),
        ];
        for asking in asked {
            let mut reply = asking.with("Authorization", &header).send().await;
            assert_eq!(reply.status, 401);
            assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"));
            assert!(reply.message().await["error"]["message"].as_str().unwrap().contains("token"));
        }
    }
    assert_eq!(site.service.usage().sessions, 1, "the session is still there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_of_no_use_with_another_token() {
    let site = site().await;
    let session = site.greet("ann").await;
    let stolen = site.legacy("bob", &session, &call(1, "write_file", json!({"path": "a.txt", "content": "x"})));
    assert_eq!(stolen.send().await.status, 404);
    let listening = site.request("GET", "bob").with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", &session);
    assert_eq!(listening.send().await.status, 404);
    let ending = site.request("DELETE", "bob").with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", &session);
    assert_eq!(ending.send().await.status, 404);
    // It is neither used nor ended.
    let read = call(2, "read_file", json!({"path": "a.txt"}));
    let answer = site.legacy("ann", &session, &read).send().await.message().await;
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("first line"), "{answer}");
}

/// Where a person decides "for this session", it is this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_for_a_session_is_about_that_session() {
    let (policy, sessions) = asked();
    let site = Site::open(HttpOptions::default(), &[("ann", policy.clone()), ("bob", policy)]).await;
    let write = json!({"path": "b.txt", "content": "x"});
    for session in [site.greet("ann").await, site.greet("ann").await] {
        for _ in 0..2 {
            site.legacy("ann", &session, &call(1, "write_file", write.clone())).send().await.message().await;
        }
    }
    for token in ["ann", "ann", "bob"] {
        site.modern(token, "tools/call", tool("write_file", write.clone())).send().await.message().await;
    }
    let seen = sessions.lock().unwrap().clone();
    let [first, again, second, _, of_ann, of_ann_too, of_bob] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((first, of_ann), (again, of_ann_too));
    let different: std::collections::HashSet<_> = [first, second, of_ann, of_bob].into_iter().collect();
    assert_eq!(different.len(), 4, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_revoked_loses_its_sessions() {
    let site = site().await;
    let session = site.greet("ann").await;
    let stream =
        site.request("GET", "ann").with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", &session).send().await;
    site.service.revoke("ann");
    stream.over().await;
    let read = call(2, "read_file", json!({"path": "a.txt"}));
    assert_eq!(site.legacy("ann", &session, &read).send().await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_of_another_agent_now_keeps_nothing_of_the_first() {
    let site = site().await;
    let session = site.greet("ann").await;
    site.give("ann", agent(AccessScope::ReadOnly));
    let answer = site.modern("ann", "tools/list", json!({})).send().await.message().await;
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 4);
    let write = call(2, "write_file", json!({"path": "b.txt", "content": "x"}));
    assert_eq!(site.legacy("ann", &session, &write).send().await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_host_is_refused() {
    let site = site().await;
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example:4747"] {
        let asking = site.modern("ann", "tools/call", read()).with("Host", host);
        assert_eq!(asking.send().await.status, 403, "{host}");
    }
    let port = site.address.port();
    let asking = site.modern("ann", "tools/call", read()).with("Host", &format!("localhost:{port}"));
    assert_eq!(asking.send().await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_origin_is_refused_and_none_is_fine() {
    let site = site().await;
    let foreign =
        ["http://evil.example", "http://localhost:4748", "http://localhost", "https://localhost:4747", "null"];
    for origin in foreign {
        let asking = site.modern("ann", "tools/call", read()).with("Origin", origin);
        assert_eq!(asking.send().await.status, 403, "{origin}");
    }
    for origin in ["http://localhost:4747", ""] {
        let asking = site.modern("ann", "tools/call", read()).with("Origin", origin);
        assert_eq!(asking.send().await.status, 200, "{origin}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_list_every_origin_is_refused() {
    let site = Site::open(HttpOptions::default(), &[("ann", agent(AccessScope::ReadOnly))]).await;
    let own = format!("http://{}", site.address);
    assert_eq!(site.modern("ann", "tools/list", json!({})).with("Origin", &own).send().await.status, 403);
}
