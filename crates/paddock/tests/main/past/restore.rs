//! `paddock restore`.

use super::{calls, plain, read, world, write};

#[test]
fn a_path_comes_back_as_a_call_left_it_and_as_it_was_at_a_time() {
    let world = world();
    for text in ["one\n", "two\n", "three\n"] {
        write(&world, "/notes/plan.md", text);
        write(&world, "/disk/plan.md", text);
    }
    let ids = calls(&world);
    let changes = world.paddock(&["log", "/notes/plan.md", "--json"]).json();
    let (first_at, second_version) = (changes[2]["at"].as_str().unwrap(), changes[1]["version"].as_str().unwrap());
    insta::assert_snapshot!(plain(&world.paddock(&["restore", "/notes/plan.md", "--at", &ids[3], "--dry-run"])), @"
    would restore /notes/plan.md
      restores /notes/plan.md
    [exit 0]
    ");
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "three\n");
    insta::assert_snapshot!(plain(&world.paddock(&["restore", "/notes/plan.md", "--at", &ids[3]])), @"
    restored /notes/plan.md
      restores /notes/plan.md
    [stderr]
    `paddock undo [call 1]` takes this back
    [exit 0]
    ");
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "two\n");
    assert_eq!(world.paddock(&["restore", "/notes/plan.md", "--at", first_at]).code, 0);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");
    assert_eq!(world.paddock(&["restore", "/notes/plan.md", "--at", second_version]).code, 0);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "two\n");
    // A restore is a call like any other.
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");
    // A directory, on disk.
    assert_eq!(world.paddock(&["restore", "/disk", "--at", &ids[2], "--json"]).json()["done"], true);
    assert_eq!((world.read("disk/plan.md").as_str(), world.read("disk/README").as_str()), ("two\n", "by hand\n"));
    insta::assert_snapshot!(plain(&world.paddock(&["restore", "/disk", "--at", &calls(&world)[0]])), @"
    /disk has not changed since: there is nothing to do
    [exit 0]
    ");
}

#[test]
fn a_moment_that_is_none_is_told() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let restore = |at: &str| world.paddock(&["restore", "/notes/plan.md", "--at", at]);
    insta::assert_snapshot!(restore("next tuesday"), @r#"
    [stderr]
    error: "next tuesday" is no moment
    hint: write "2026-11-15 12:30", "10 min ago" or 2026-11-15T12:30:00Z, or the id of a call
    [exit 2]
    "#);
    insta::assert_snapshot!(restore("2999-01-01"), @r#"
    [stderr]
    error: "2999-01-01" is not over yet
    hint: name a moment of the past
    [exit 2]
    "#);
    insta::assert_snapshot!(restore("zzz"), @r#"
    [stderr]
    error: "zzz" is no moment, and no call that changed anything has this id
    hint: write "2026-11-15 12:30", "10 min ago" or 2026-11-15T12:30:00Z, or an id that `paddock log` shows
    [exit 1]
    "#);
    let early = restore("40 days ago");
    assert!(early.stderr.contains("the history is kept since") && early.code == 1, "{early}");
    insta::assert_snapshot!(world.paddock(&["restore", "/elsewhere", "--at", "1 min ago"]), @r#"
    [stderr]
    error: no Workspace that keeps a history covers "/elsewhere"
    hint: `paddock map` shows the Workspaces of the agent; --agent names another
    [exit 1]
    "#);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");
    assert_eq!(restore("1 h ago").code, 0, "before the first call there was nothing");
    assert_eq!(read(&world, "/notes/plan.md"), None);
}
