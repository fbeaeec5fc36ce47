//! `paddock backup`, and putting the copy back.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{calls, read, tool, world, write};
use crate::client::{Raw, call};
use crate::harness::World;

/// The project's place in the System Root.
pub(super) fn place(world: &World) -> PathBuf {
    let places = std::fs::read_dir(world.home().join(".paddock/workspaces")).unwrap();
    let mut places: Vec<PathBuf> = places.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    places.remove(0)
}

pub(super) fn copy_dir(from: &Path, to: &Path) {
    assert!(std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// As the copy itself says it.
fn put_back(world: &World, copy: &Path) {
    let place = place(world);
    std::fs::rename(&place, world.path().join("moved-away")).unwrap();
    copy_dir(copy, &place);
}

#[test]
fn a_copy_that_is_put_back_holds_everything() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/notes/plan.md", "two\n");
    write(&world, "/notes/large.bin", &"0123456789".repeat(50_000));
    write(&world, "/disk/README", "by the agent\n");
    let before = calls(&world);
    let ran = world.paddock(&["backup", "../copy"]);
    let sizes = ran.stdout.lines().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>();
    assert_eq!((sizes, ran.code), (vec!["state.db", "content.db", "history"], 0), "{ran}");
    assert!(ran.stderr.contains("To put it back") && ran.stderr.contains("audit.key"), "{ran}");
    // What comes after the copy is lost with it, but for the file on disk.
    write(&world, "/notes/plan.md", "three\n");
    put_back(&world, &world.path().join("copy"));
    assert_eq!(calls(&world), before);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "two\n");
    assert!(read(&world, "/notes/large.bin").unwrap().starts_with("0123456789"));
    // What was recorded after the copy is not in it: that is a rollback, until a person says so.
    let verified = world.paddock(&["audit", "verify"]);
    assert!(verified.stdout.contains("rolled back") && verified.code == 1, "{verified}");
    assert_eq!(world.paddock(&["audit", "accept"]).code, 0);
    let verified = world.paddock(&["audit", "verify"]);
    assert!(verified.stdout.contains("✓ ") && verified.code == 0, "{verified}");
    assert_eq!(world.paddock(&["doctor"]).code, 0);
    // The pre-image on disk came along, and so did the earlier version.
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!(world.read("disk/README"), "by hand\n");
    assert_eq!(world.paddock(&["undo", &before[2]]).code, 0);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}

#[test]
fn a_copy_is_whole_while_an_agent_works() {
    let world = world();
    write(&world, "/notes/0", "0");
    let mut agent = Raw::greeted(&world, &["mcp"]);
    let large = "0123456789".repeat(30_000);
    let next = |agent: &mut Raw, n: i64| {
        agent.send(&call(n, "write_file", &json!({ "path": format!("/notes/{n}"), "content": &large })));
    };
    (1..=20).for_each(|n| next(&mut agent, n));
    assert_eq!(world.paddock(&["backup", "../copy"]).code, 0);
    (1..=20).for_each(|_| drop(agent.receive()));
    agent.end();
    put_back(&world, &world.path().join("copy"));
    // The agent may have been done when the copy began: then nothing was rolled back.
    if world.paddock(&["audit", "verify"]).code != 0 {
        assert_eq!(world.paddock(&["audit", "accept"]).code, 0);
    }
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    assert_eq!(world.paddock(&["doctor"]).code, 0);
    for row in world.paddock(&["log", "/notes", "--limit", "100", "--json"]).json().as_array().unwrap() {
        let path = row["path"].as_str().unwrap();
        assert!(read(&world, path).is_some_and(|content| content.len() > 1 || path == "/notes/0"), "{path}");
    }
}

#[test]
fn nothing_is_overwritten_and_no_agent_gets_to_see_it() {
    let world = world();
    let ran = world.paddock(&["backup", "../copy"]);
    assert!(ran.stderr.contains("nothing is kept for this project yet") && ran.code == 1, "{ran}");
    write(&world, "/notes/plan.md", "one\n");
    insta::assert_snapshot!(world.paddock(&["backup", "copy"]), @r#"
    [stderr]
    error: "[world]/project/copy" lies in "[world]/project", where an agent may read it
    hint: name a directory outside the project and its Workspaces
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["backup", "disk/../disk/copy"]), @r#"
    [stderr]
    error: "[world]/project/disk/../disk/copy" lies in "[world]/project", where an agent may read it
    hint: name a directory outside the project and its Workspaces
    [exit 2]
    "#);
    std::fs::create_dir(world.path().join("there")).unwrap();
    assert_eq!(world.paddock(&["backup", "../there"]).code, 0, "an empty directory will do");
    insta::assert_snapshot!(world.paddock(&["backup", "../there"]), @r#"
    [stderr]
    error: cannot make the directory "[world]/project/../there": File exists (os error 17)
    hint: name one that is not there yet, or is empty, below a directory that you may write
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["backup", "../no/where"]), @r#"
    [stderr]
    error: cannot make the directory "[world]/project/../no/where": No such file or directory (os error 2)
    hint: name one that is not there yet, or is empty, below a directory that you may write
    [exit 1]
    "#);
    tool(&world, "read_file", &json!({ "path": "/notes/plan.md" }));
}
