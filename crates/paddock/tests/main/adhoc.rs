//! `paddock mcp DIR[:ro|:wo] …`: directories instead of a configuration.

use serde_json::json;

use crate::client::{Client, Era};
use crate::harness::World;

fn world() -> World {
    let world = World::empty();
    world.write("docs/a.txt", "read me");
    world.write("docs/.env", "TOKEN=never-shown");
    world.write("notes/b.txt", "write me");
    world
}

#[tokio::test]
async fn a_read_only_directory_is_served_under_its_name() {
    let world = world();
    for era in [Era::Legacy, Era::Modern] {
        let client = Client::connect(&world, era, &["mcp", "docs:ro"]).await;
        assert_eq!(client.tool_names().await, ["read_file", "list_dir", "find_files", "search_files"]);
        let (refused, text) = client.call("read_file", json!({"path": "/docs/a.txt"})).await;
        assert!(!refused && text.contains("read me"), "{text}");
        let (refused, text) = client.call("read_file", json!({"path": "a.txt"})).await;
        assert!(!refused, "one directory alone is where relative paths start: {text}");
        let (refused, text) = client.call("list_dir", json!({"path": "/docs"})).await;
        assert!(!refused && !text.contains(".env"), "{text}");
        assert!(client.call("read_file", json!({"path": "/docs/.env"})).await.0);
        let (refused, text) = client.call("write_file", json!({"path": "/docs/a.txt", "content": "x"})).await;
        assert!(refused, "{text}");
        assert_eq!(world.read("docs/a.txt"), "read me");
        client.close().await;
    }
}

#[tokio::test]
async fn several_directories_each_with_its_scope() {
    let world = world();
    let absolute = world.project().join("notes");
    let arguments = ["mcp", "docs:ro", absolute.to_str().unwrap()];
    let client = Client::connect(&world, Era::Legacy, &arguments).await;
    assert!(client.call("write_file", json!({"path": "/docs/a.txt", "content": "x"})).await.0);
    assert!(!client.call("write_file", json!({"path": "/notes/b.txt", "content": "written"})).await.0);
    assert_eq!(world.read("notes/b.txt"), "written");
    client.close().await;
}

#[tokio::test]
async fn a_write_only_directory_gives_nothing_back() {
    let world = world();
    let client = Client::connect(&world, Era::Legacy, &["mcp", "notes:wo"]).await;
    assert_eq!(client.tool_names().await, ["write_file", "append_file", "edit_file"]);
    let there = client.call("write_file", json!({"path": "/notes/b.txt", "content": "x"})).await;
    let new = client.call("write_file", json!({"path": "/notes/c.txt", "content": "x"})).await;
    assert_eq!(there, new, "what was there must not show");
    assert!(client.call("read_file", json!({"path": "/notes/b.txt"})).await.0);
    client.close().await;
}

#[test]
fn what_cannot_be_served_is_told() {
    let world = world();
    insta::assert_snapshot!(world.paddock(&["mcp", "missing"]), @r#"
    [stderr]
    error: the directory "missing" behind "/missing" does not exist
    hint: create it, or correct the path
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["mcp", "docs/a.txt"]), @r#"
    [stderr]
    error: the directory "docs/a.txt" behind "/a.txt" cannot be used: it is not a directory
    hint: correct the path, or make it a directory that you may open
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["mcp", "docs", "../project/docs"]), @r#"
    [stderr]
    error: "docs" and "../project/docs" would both be "/docs"
    hint: give them different prefixes in a paddock.toml; `paddock init` writes one
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["mcp", "docs", "--config", "x.toml"]), @"
    [stderr]
    error: the argument '[DIR[:ro|:wo]]...' cannot be used with '--config <FILE>'

    Usage: paddock mcp <DIR[:ro|:wo]>...

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn an_empty_argument_is_not_the_current_directory() {
    let world = World::seed();
    let ran = world.paddock(&["mcp", ""]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("has no last name"), "{ran}");
}
