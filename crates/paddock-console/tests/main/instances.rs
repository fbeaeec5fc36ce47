//! Conversations over HTTP: paged, exported as they are kept, ended and removed.

use paddock_desk::instances::{self, InstancesAsked};
use paddock_state::conversation::{Message, MessageSource};
use paddock_state::instance::Imported;
use serde_json::{Value, json};

use crate::harness::Served;

/// An instance with so many messages.
pub(crate) fn with_messages(served: &Served, key: &str, count: usize) {
    let kept = instances::kept(&served.desk).unwrap();
    let message = |n: usize| {
        let text = json!(format!("<script>{n}</script> \u{202e}"));
        Ok(Message::new(format!("m{n}"), "user", &text, MessageSource::User))
    };
    let mut messages = (0..count).map(message);
    let imported = Imported::of(&mut messages);
    kept.import(&instances::key_of(key).unwrap(), "main", imported).unwrap();
}

#[test]
fn messages_come_in_pages_and_whole_as_an_export() {
    let served = Served::start();
    with_messages(&served, "chat", 120);
    let shown = served.get("/api/v1/instances/chat").json();
    assert_eq!(shown, json!(instances::show(&served.desk, "chat").unwrap()));
    assert_eq!((&shown["messages"], &shown["agent"]), (&json!(120), &json!("main")));
    let listed = served.get("/api/v1/instances").json();
    assert_eq!(listed, json!(instances::list(&served.desk, &InstancesAsked::default()).unwrap()));
    let mut seen: Vec<Value> = Vec::new();
    loop {
        let page = served.get(&format!("/api/v1/instances/chat/messages?limit=50&after={}", seen.len())).json();
        let page = page.as_array().unwrap().clone();
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    let export = served.get("/api/v1/instances/chat/export");
    assert_eq!(export.head("content-type"), Some("application/x-ndjson"));
    let exported: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exported.len(), 120);
    assert_eq!(seen, exported);
    assert_eq!(served.get("/api/v1/instances/chat/messages?limit=201").status, 400);
    assert_eq!(served.get("/api/v1/instances/nobody").status, 404);
    assert_eq!(served.get("/api/v1/instances/nobody/export").status, 404);
    assert_eq!(served.get("/api/v1/instances/..%2Fx").status, 400);
}

#[test]
fn the_page_shows_the_end_and_walks_back() {
    let served = Served::start();
    with_messages(&served, "chat", 120);
    assert!(served.get("/instances").text().contains("/instances/chat"));
    let last = served.get("/instances/chat").text();
    assert!(last.contains("71–120 of 120") && last.contains("&lt;script&gt;119"), "{last}");
    assert!(!last.contains("<script>1") && !last.contains('\u{202e}') && last.contains("U+202E"), "{last}");
    assert!(served.get("/instances/chat?from=20").text().contains("21–70 of 120"));
    assert_eq!(served.get("/instances/chat/export").text().lines().count(), 120);
}

#[test]
fn an_instance_is_restarted_cleared_and_deleted_by_who_may() {
    let served = Served::start();
    with_messages(&served, "chat", 3);
    let restarted = served.request("POST", "/api/v1/instances/chat/restart");
    assert_eq!((restarted.status, &restarted.json()["endedTurn"]), (200, &json!(null)), "{}", restarted.text());
    let looker = served.token("looker", true);
    let refused = served.stranger("DELETE", "/api/v1/instances/chat").bearer(&looker);
    assert_eq!(refused.status, 403);
    // Whoever writes it now is not cut off.
    let kept = instances::kept(&served.desk).unwrap();
    let held = kept.conversation(&instances::key_of("chat").unwrap()).unwrap();
    assert_eq!(served.request("DELETE", "/api/v1/instances/chat").status, 409);
    drop(held);
    assert_eq!(served.form("/instances/chat/clear", &[]).status, 303);
    assert_eq!(served.get("/api/v1/instances/chat").json()["messages"], 0);
    let repaired = served.request("POST", "/api/v1/instances/chat/repair").json_body(&json!({}));
    assert_eq!((repaired.status, &repaired.json()["lost"]), (200, &json!([])), "{}", repaired.text());
    assert_eq!(served.request("DELETE", "/api/v1/instances/chat").json(), json!({ "key": "chat", "wasThere": true }));
    assert_eq!(served.request("DELETE", "/api/v1/instances/chat").json(), json!({ "key": "chat", "wasThere": false }));
}
