//! `paddock quota`, and what an agent meets when its Workspace is full.

use serde_json::json;

use crate::harness::{Ran, World};

const CONFIG: &str = r#"
[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
quota = { bytes = "1 KiB", files = 3 }

[[workspace]]
prefix = "/shared"
scope = "READ_WRITE"
mount = { virtual = "all", shared = true }
"#;

fn write(world: &World, path: &str, bytes: usize) -> Ran {
    let arguments = json!({"path": path, "content": "x".repeat(bytes)}).to_string();
    world.paddock_reading(&["tool", "write_file", "-"], &arguments)
}

#[test]
fn it_shows_what_is_used_and_allowed() {
    let world = World::configured(CONFIG);
    assert_eq!(write(&world, "/notes/a", 600).code, 0);
    assert_eq!(write(&world, "/shared/a", 3 << 20).code, 0);
    insta::assert_snapshot!(world.paddock(&["quota"]), @"
    /notes   600 B of 1.0 KiB, 1 of 3 files
    /shared  3.0 MiB, 1 file (no quota)
    [exit 0]
    ");
    let told = world.paddock(&["quota", "/notes", "--json"]).json();
    let expected = json!([{
        "prefix": "/notes",
        "scope": "READ_WRITE",
        "store": "virtual",
        "origin": "paddock.toml:4",
        "used": {"bytes": 600, "files": 1},
        "quota": {"bytes": 1024, "files": 3},
    }]);
    assert_eq!(told, expected);
    insta::assert_snapshot!(world.paddock(&["quota", "/nowhere"]), @r#"
    [stderr]
    error: agent main has no Workspace at "/nowhere"
    hint: its Workspaces are /notes, /shared
    [exit 2]
    "#);
}

#[test]
fn an_agent_over_its_quota_is_told_and_may_still_delete() {
    let world = World::configured(CONFIG).unasked();
    assert_eq!(write(&world, "/notes/a", 600).code, 0);
    insta::assert_snapshot!(write(&world, "/notes/b", 600), @r#"
    ❌ ERROR: "/notes/b" cannot grow: its Workspace may hold 1024 bytes and no more. Delete something, or ask a person.
    [exit 1]
    "#);
    let arguments = json!({"path": "/notes/b", "content": "x".repeat(600)}).to_string();
    let told = world.paddock(&["tool", "write_file", &arguments, "--json"]).json();
    assert!(told.to_string().contains("\"over_quota\""), "{told}");
    // Files are counted too.
    assert_eq!(write(&world, "/notes/b", 1).code, 0);
    assert_eq!(write(&world, "/notes/c", 1).code, 0);
    let fourth = write(&world, "/notes/d", 1);
    assert!(fourth.stdout.contains("may hold 3 files and no more"), "{fourth}");
    // A quota that was made smaller afterwards: what does not grow is still allowed.
    world.write("paddock.toml", world.read("paddock.toml").replace("1 KiB", "100 B"));
    assert_eq!(write(&world, "/notes/a", 601).code, 1);
    assert_eq!(write(&world, "/notes/a", 599).code, 0);
    insta::assert_snapshot!(world.paddock(&["quota", "/notes"]), @"
    /notes  601 B of 100 B, 3 of 3 files (full)
    [exit 0]
    ");
    let deleted = world.paddock(&["tool", "delete_file", r#"{"path": "/notes/a"}"#]);
    assert_eq!(deleted.code, 0, "{deleted}");
    assert_eq!(world.paddock(&["quota", "/notes", "--json"]).json()[0]["used"], json!({"bytes": 2, "files": 2}));
}

#[test]
fn a_fork_may_hold_as_much_as_what_it_stands_on() {
    let world = World::configured(CONFIG);
    assert_eq!(write(&world, "/notes/a", 600).code, 0);
    assert_eq!(world.paddock(&["fork", "/notes", "x"]).code, 0);
    assert_eq!(write(&world, "/forks/x/b", 600).code, 0, "only what differs counts");
    assert!(write(&world, "/forks/x/c", 600).stdout.contains("may hold 1024 bytes"));
    // Applying goes through the quota of the source, and changes nothing when it does not fit.
    let applied = world.paddock(&["apply", "x"]);
    assert_eq!(applied.code, 1, "{applied}");
    assert!(applied.stderr.contains("the Workspace may hold 1024 bytes and no more"), "{applied}");
    assert_eq!(world.paddock(&["tool", "read_file", r#"{"path": "/notes/b"}"#]).code, 1);
}

#[test]
fn a_directory_is_counted_whoever_wrote_it() {
    let bounded =
        "[[workspace]]\nprefix = \"/w\"\nscope = \"RW\"\nmount = { physical = \"w\" }\nquota = { files = 3 }\n";
    let world = World::configured(bounded);
    world.write("w/a.txt", "12345");
    world.write("w/d/b.txt", "678");
    insta::assert_snapshot!(world.paddock(&["quota"]), @"
    /w  not counted, may hold 3 files
    [exit 0]
    ");
    assert!(!world.home().join(".paddock").exists(), "looking makes nothing");
    // From the first call on there is a counter.
    assert_eq!(world.paddock(&["tool", "list_dir", r#"{"path": "/w"}"#]).code, 0);
    insta::assert_snapshot!(world.paddock(&["quota"]), @"
    /w  8 B, 3 of 3 files (full)
    [exit 0]
    ");
}

/// A process that makes one call and ends counts first: nobody counts beside it.
#[test]
fn a_quota_of_a_directory_holds_for_the_very_first_call() {
    let bounded = |files: u64| {
        let quota = format!("quota = {{ bytes = \"10 B\", files = {files} }}");
        format!("[[workspace]]\nprefix = \"/w\"\nscope = \"RW\"\nmount = {{ physical = \"w\" }}\n{quota}\n")
    };
    let world = World::configured(&bounded(10));
    world.write("w/a.txt", "12345678");
    // What it holds already is counted, and is not told: only how much it may hold is.
    insta::assert_snapshot!(write(&world, "/w/b.txt", 5), @r#"
    ❌ ERROR: "/w/b.txt" cannot grow: its Workspace may hold 10 bytes and no more. Delete something, or ask a person.
    [exit 1]
    "#);
    assert!(!world.has("w/b.txt"));
    assert_eq!(write(&world, "/w/b.txt", 2).code, 0);
    // So are directories.
    let world = World::configured(&bounded(3));
    world.write("w/d/e/f", "1");
    let full = write(&world, "/w/g", 1);
    assert!(full.stdout.contains("may hold 3 files and no more") && full.code == 1, "{full}");
    // And what a person has undone has to fit in as well.
    let world = World::configured(&bounded(10)).unasked();
    world.write("w/a.txt", "12345678");
    assert_eq!(world.paddock(&["tool", "delete_file", r#"{"path": "/w/a.txt"}"#]).code, 0);
    assert_eq!(write(&world, "/w/b.txt", 9).code, 0);
    let first = world.paddock(&["log", "--json"]).json()[1]["call"].as_str().unwrap().to_owned();
    let refused = world.paddock(&["undo", &first]);
    assert!(refused.stderr.contains("the Workspace may hold 10 bytes") && refused.code == 1, "{refused}");
}

#[test]
fn what_moves_into_a_full_workspace_is_named_where_it_would_arrive() {
    let world = World::configured(CONFIG);
    assert_eq!(write(&world, "/shared/big", 2000).code, 0);
    let moved = |from: &str, to: &str| {
        world.paddock(&["tool", "move_file", &json!({"source": from, "destination": to}).to_string()])
    };
    insta::assert_snapshot!(moved("/shared/big", "/notes/big"), @r#"
    ❌ ERROR: "/notes/big" cannot grow: its Workspace may hold 1024 bytes and no more. Delete something, or ask a person.
    [exit 1]
    "#);
    // Directories that are made on the way count.
    for name in ["a", "b", "c"] {
        assert_eq!(write(&world, &format!("/notes/{name}"), 1).code, 0);
    }
    let within = moved("/notes/a", "/notes/d/a");
    assert!(within.stdout.contains("\"/notes/d/a\" cannot grow") && within.code == 1, "{within}");
    assert_eq!(world.paddock(&["tool", "make_dir", r#"{"path": "/shared/d/e"}"#]).code, 0);
    let dir = moved("/shared/d", "/notes/d");
    assert!(dir.stdout.contains("\"/notes/d") && dir.code == 1, "{dir}");
}

#[test]
fn what_is_in_the_memory_of_another_process_is_not_counted() {
    let world = World::configured(&format!("{CONFIG}\n[virtual]\nurl = \"memory\"\n"));
    insta::assert_snapshot!(world.paddock(&["quota"]), @"
    /notes   not counted, may hold 1.0 KiB and 3 files
    /shared  not counted (no quota)
    [exit 0]
    ");
}
