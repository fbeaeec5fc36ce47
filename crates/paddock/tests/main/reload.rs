//! A configuration that changes while an MCP client is connected.

use rmcp::model::SubscriptionFilter;
use serde_json::json;

use crate::client::{Client, Era, HANG};
use crate::harness::World;

fn config(scope: &str) -> String {
    format!("base = \"/w\"\n[[workspace]]\nprefix = \"/w\"\nscope = \"{scope}\"\nmount = {{ physical = \"w\" }}\n")
}

fn world(scope: &str) -> World {
    let world = World::configured(&config(scope));
    world.write("w/a.txt", "content");
    world
}

#[tokio::test]
async fn a_change_is_announced_and_the_next_call_follows_it() {
    let world = world("READ_ONLY");
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    assert!(!client.tool_names().await.contains(&"write_file".to_owned()));
    let write = json!({"path": "b.txt", "content": "x"});
    assert!(client.call("write_file", write.clone()).await.0, "read-only");

    world.write("paddock.toml", config("READ_WRITE"));
    client.tools_changed().await;
    assert!(client.tool_names().await.contains(&"write_file".to_owned()));
    assert!(!client.call("write_file", write.clone()).await.0, "read-write");

    world.write("paddock.toml", config("WRITE_ONLY"));
    client.tools_changed().await;
    assert!(!client.tool_names().await.contains(&"read_file".to_owned()));
    assert!(client.call("read_file", json!({"path": "a.txt"})).await.0, "write-only");
    assert_eq!(client.close().await, "", "nothing to tell a person");
}

#[tokio::test]
async fn a_modern_client_hears_of_it_on_its_subscription() {
    let world = world("READ_ONLY");
    let client = Client::connect(&world, Era::Modern, &["mcp"]).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = client.service.listen(filter).await.unwrap();
    world.write("paddock.toml", config("READ_WRITE"));
    let told = tokio::time::timeout(HANG, subscription.next()).await.unwrap().unwrap();
    assert!(format!("{told:?}").contains("ToolListChanged"), "{told:?}");
    assert!(!client.call("write_file", json!({"path": "b.txt", "content": "x"})).await.0);
    // The subscription is still open: it must not hold the server back.
    client.close().await;
}

#[tokio::test]
async fn a_change_holds_at_the_next_call_without_waiting_for_the_announcement() {
    let world = world("READ_WRITE");
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    for round in 0..3 {
        world.write("paddock.toml", config("READ_ONLY"));
        let (refused, text) = client.call("write_file", json!({"path": "b.txt", "content": "x"})).await;
        assert!(refused, "{round}: {text}");
        world.write("paddock.toml", config("READ_WRITE"));
        let (refused, text) = client.call("write_file", json!({"path": "b.txt", "content": "x"})).await;
        assert!(!refused, "{round}: {text}");
    }
    client.close().await;
}

#[tokio::test]
async fn a_broken_file_keeps_the_old_policy_and_a_person_is_told() {
    let world = world("READ_ONLY");
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    for broken in ["scope = ", "[[workspace]]\nprefix = \"/w\"\n", "nmae = \"x\"\n", "\u{0}"] {
        world.write("paddock.toml", broken);
        let (refused, text) = client.call("read_file", json!({"path": "/w/a.txt"})).await;
        assert!(!refused && text.contains("content"), "{broken:?}: {text}");
        assert!(client.call("write_file", json!({"path": "/w/b.txt", "content": "x"})).await.0, "{broken:?}");
    }
    let told = client.close().await;
    for line in ["unknown key \"nmae\"", "hint: did you mean \"name\"?"] {
        assert_eq!(told.matches(line).count(), 1, "a person is told once: {told}");
    }
}

#[tokio::test]
async fn without_the_file_nothing_is_left() {
    let world = world("READ_WRITE");
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    std::fs::remove_file(world.project().join("paddock.toml")).unwrap();
    let (refused, text) = client.call("read_file", json!({"path": "/w/a.txt"})).await;
    assert!(refused && text.contains("paddock init"), "{text}");
    assert!(client.tool_names().await.is_empty());
    client.close().await;
}

#[tokio::test]
async fn a_server_without_a_file_finds_it_once_it_is_there() {
    let world = World::empty();
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    assert!(client.tool_names().await.is_empty());
    world.write("w/a.txt", "content");
    world.write("paddock.toml", config("READ_ONLY"));
    client.tools_changed().await;
    assert!(!client.call("read_file", json!({"path": "a.txt"})).await.0);
    client.close().await;
}
