//! `paddock undo`.

use serde_json::json;

use super::{CONFIG, calls, plain, read, tool, world, write};
use crate::harness::World;

#[test]
fn the_last_call_is_taken_back_and_an_undo_can_be_undone() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/notes/plan.md", "two\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo", "--dry-run"])), @"
    would undo call [call 1] of main (write /notes/plan.md, [time])
      restores /notes/plan.md
    [exit 0]
    ");
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "two\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    undid call [call 1] of main (write /notes/plan.md, [time])
      restores /notes/plan.md
    [stderr]
    `paddock undo [call 2]` takes this back
    [exit 0]
    ");
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    undid call [call 1] of main (write /notes/plan.md, [time])
      removes /notes/plan.md
    [stderr]
    `paddock undo [call 2]` takes this back
    [exit 0]
    ");
    assert_eq!(read(&world, "/notes/plan.md"), None);
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @r#"
    [stderr]
    error: agent "main" has changed nothing that could be undone
    hint: `paddock log` shows the calls there are; name one, or another agent with --agent
    [exit 1]
    "#);
    let undo_of_the_first = &calls(&world)[0];
    let redone = world.paddock(&["undo", undo_of_the_first]);
    assert_eq!(redone.code, 0, "{redone}");
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");
    insta::assert_snapshot!(plain(&world.paddock(&["log"])), @"
    [time]  [call 1]  main      undo        1 change  /notes/plan.md  (by a person)  (undoes [call 2])
    [time]  [call 2]  main      undo        1 change  /notes/plan.md  (by a person)  (undoes [call 3])  (undone)
    [time]  [call 4]  main      undo        1 change  /notes/plan.md  (by a person)  (undoes [call 5])
    [time]  [call 5]  main      write       1 change  /notes/plan.md  (undone)
    [time]  [call 3]  main      write       1 change  /notes/plan.md
    [exit 0]
    ");
}

#[test]
fn what_direct_commands_changed_is_said_to_stay() {
    let world = world();
    world.write("paddock.toml", format!("{CONFIG}[commands]\nchanges = \"direct\"\n"));
    write(&world, "/notes/plan.md", "one\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @r#"
    undid call [call 1] of main (write /notes/plan.md, [time])
      removes /notes/plan.md
    [stderr]
    what commands of agent "main" changed is not undone: `changes = "direct"` keeps no past of it
    `paddock undo [call 2]` takes this back
    [exit 0]
    "#);
}

#[test]
fn something_newer_in_the_way_refuses_with_the_difference() {
    let world = world();
    write(&world, "/notes/plan.md", "same\none\n");
    write(&world, "/notes/plan.md", "same\n\u{1b}[2Jtwo\n");
    let first = calls(&world)[1].clone();
    insta::assert_snapshot!(plain(&world.paddock(&["undo", &first])), @r#"
    [stderr]
    error: call [call 1] of main (write /notes/plan.md, [time]) cannot be undone: something newer is in the way
    /notes/plan.md was changed since by
      [time]  [call 2]  main  write
    --- /notes/plan.md (as call [call 1] left it)
    +++ /notes/plan.md (now)
    @@ -1,2 +1,2 @@
     same
    -one
    +\u{1b}[2Jtwo
    hint: nothing was changed; undo the newer calls first, or bring single paths back with `paddock restore PATH --at TIME`
    [exit 1]
    "#);
    assert!(read(&world, "/notes/plan.md").unwrap().ends_with("two\n"));
    assert_eq!(calls(&world).len(), 2, "nothing was done, and nothing is in the log");
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!(world.paddock(&["undo", &first]).code, 0, "what was newer is undone, so nothing is in the way");
}

#[test]
fn what_changed_past_paddock_is_in_the_way_too() {
    let world = world();
    write(&world, "/disk/README", "by the agent\n");
    world.write("disk/README", "by hand again\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    [stderr]
    error: call [call 1] of main (write /disk/README, [time]) cannot be undone: something newer is in the way
    /disk/README was changed since, and not through Paddock
    --- /disk/README (now)
    +++ /disk/README (before call [call 1])
    @@ -1 +1 @@
    -by hand again
    +by hand
    hint: nothing was changed; undo the newer calls first, or bring single paths back with `paddock restore PATH --at TIME`
    [exit 1]
    ");
    assert_eq!(world.read("disk/README"), "by hand again\n");
    world.write("disk/README", "by the agent\n");
    assert_eq!(world.paddock(&["undo"]).code, 1, "the same bytes by another hand are still another's");
}

/// The newest change brought back what a person had saved: the one before it did not leave that.
#[test]
fn what_a_person_saved_between_two_calls_stays_when_both_are_undone() {
    let world = world();
    write(&world, "/disk/README", "first\n");
    world.write("disk/README", "by a person\n");
    write(&world, "/disk/README", "second\n");
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!(world.read("disk/README"), "by a person\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    [stderr]
    error: call [call 1] of main (write /disk/README, [time]) cannot be undone: something newer is in the way
    /disk/README was changed since, and not through Paddock
    --- /disk/README (now)
    +++ /disk/README (before call [call 1])
    @@ -1 +1 @@
    -by a person
    +by hand
    hint: nothing was changed; undo the newer calls first, or bring single paths back with `paddock restore PATH --at TIME`
    [exit 1]
    ");
    assert_eq!(world.read("disk/README"), "by a person\n");
    // The same with a file that comes and goes.
    write(&world, "/disk/new.md", "made\n");
    world.write("disk/new.md", "by a person\n");
    tool(&world, "delete_file", &json!({ "path": "/disk/new.md" }));
    assert_eq!(world.paddock(&["undo"]).code, 0);
    let refused = world.paddock(&["undo"]);
    assert_eq!((refused.code, world.read("disk/new.md").as_str()), (1, "by a person\n"), "{refused}");
    // It moves, and is still theirs.
    tool(&world, "move_file", &json!({ "source": "/disk/new.md", "destination": "/disk/moved.md" }));
    assert_eq!(world.paddock(&["undo"]).code, 0);
    let refused = world.paddock(&["undo"]);
    assert_eq!((refused.code, world.read("disk/new.md").as_str()), (1, "by a person\n"), "{refused}");
}

/// A directory has no version: what is in it is looked at.
#[test]
fn what_is_newer_in_a_directory_that_was_moved_is_in_the_way() {
    let world = world();
    world.write("old.txt", "older than the move\n");
    write(&world, "/disk/d/s/kept.txt", "kept\n");
    write(&world, "/disk/d/a.txt", "same\none\n");
    tool(&world, "move_file", &json!({ "source": "/disk/d", "destination": "/disk/e" }));
    let moved = calls(&world)[0].clone();
    write(&world, "/disk/e/a.txt", "same\ntwo\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo", &moved])), @r"
    [stderr]
    error: call [call 1] of main (move /disk/d, [time]) cannot be undone: something newer is in the way
    /disk/e/a.txt was changed since by
      [time]  [call 2]  main  write
    --- /disk/e/a.txt (as call [call 1] left it)
    +++ /disk/e/a.txt (now)
    @@ -1,2 +1,2 @@
     same
    -one
    +two
    hint: nothing was changed; undo the newer calls first, or bring single paths back with `paddock restore PATH --at TIME`
    [exit 1]
    ");
    assert!(world.has("disk/e/s/kept.txt") && !world.has("disk/d"));
    // What was taken back is not in the way, though the time of the file is new.
    assert_eq!(world.paddock(&["undo"]).code, 0);
    let undone = world.paddock(&["undo", &moved]);
    assert_eq!(undone.code, 0, "{undone}");
    assert_eq!(world.read("disk/d/a.txt"), "same\none\n");
    let again = calls(&world)[0].clone();
    assert_eq!(world.paddock(&["undo", &again]).code, 0, "and there and back");
    // Somebody else's work, and a file that somebody else brought in.
    let moved = calls(&world)[0].clone();
    world.write("disk/e/s/kept.txt", "by hand\n");
    std::fs::rename(world.project().join("old.txt"), world.project().join("disk/e/old.txt")).unwrap();
    insta::assert_snapshot!(plain(&world.paddock(&["undo", &moved])), @"
    [stderr]
    error: call [call 1] of main (undo /disk/d, [time]) cannot be undone: something newer is in the way
    /disk/e was changed since, and not through Paddock
    /disk/e/s/kept.txt was changed since, and not through Paddock
    hint: nothing was changed; undo the newer calls first, or bring single paths back with `paddock restore PATH --at TIME`
    [exit 1]
    ");
    assert!(world.has("disk/e/s/kept.txt") && !world.has("disk/d"));
    // Another thing of the same name is not what was moved.
    std::fs::rename(world.project().join("disk/e"), world.project().join("elsewhere")).unwrap();
    world.write("disk/e", "a file\n");
    let refused = world.paddock(&["undo", &moved]);
    assert_eq!((refused.code, world.read("disk/e").as_str()), (1, "a file\n"), "{refused}");
}

#[test]
fn directories_that_were_made_for_one_that_moved_go_with_it() {
    let world = world();
    for place in ["disk", "notes"] {
        write(&world, &format!("/{place}/d/a.txt"), "a\n");
        let arguments = json!({ "source": format!("/{place}/d"), "destination": format!("/{place}/new/deep/d") });
        tool(&world, "move_file", &arguments);
        let undone = world.paddock(&["undo"]);
        assert_eq!(undone.code, 0, "{undone}");
        assert!(undone.stdout.contains(&format!("removes /{place}/new\n")), "{undone}");
        let listed = world.paddock(&["tool", "list_dir", &json!({ "path": format!("/{place}") }).to_string()]);
        assert!(listed.stdout.contains("d/") && !listed.stdout.contains("new"), "{listed}");
    }
}

/// A Workspace on another file system than the history: a large file can neither be moved there nor is it copied.
#[test]
fn what_cannot_be_kept_is_said_to_be_a_high_risk_before_it_goes() {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &std::path::Path| std::fs::metadata(path).unwrap().dev();
    let shared = std::path::Path::new("/dev/shm");
    let world = world();
    if !shared.is_dir() || device(shared) == device(&world.path()) {
        return crate::could_not_run::could_not_run("/dev/shm is no other file system than that of temporary files");
    }
    let elsewhere = tempfile::tempdir_in(shared).unwrap();
    let far =
        format!("[[workspace]]\nprefix = \"/far\"\nscope = \"RW\"\nmount = {{ physical = {:?} }}\n", elsewhere.path());
    let world = World::configured(&format!("name = \"p\"\n{far}")).unasked();
    for name in ["large.bin", "huge.bin"] {
        // Nothing but a length.
        std::fs::File::create(elsewhere.path().join(name)).unwrap().set_len((64 << 20) + 1).unwrap();
    }
    std::fs::write(elsewhere.path().join("small.txt"), "small\n").unwrap();
    write(&world, "/far/small.txt", "new\n");
    write(&world, "/far/large.bin", "new\n");
    tool(&world, "move_file", &json!({ "source": "/far/huge.bin", "destination": "/far/moved.bin" }));
    let rows = world.paddock(&["audit", "query", "--json"]).json();
    let risk = |path: &str| {
        let rows = rows.as_array().unwrap();
        rows.iter().find(|row| row["path"] == path && row["kind"] == "outcome").unwrap()["risk"].clone()
    };
    assert_eq!(risk("/far/small.txt"), "medium");
    assert_eq!(risk("/far/large.bin"), "high");
    assert_eq!(risk("/far/huge.bin"), "medium", "it only moves");
    let large = calls(&world)[1].clone();
    let refused = world.paddock(&["undo", &large]);
    assert!(refused.stderr.contains("no longer kept") && refused.code == 1, "{refused}");
}

#[test]
fn every_kind_of_change_on_disk_is_taken_back_path_by_path() {
    let world = world();
    write(&world, "/disk/a/b/c.txt", "c\n");
    write(&world, "/disk/a/d.txt", "d\n");
    write(&world, "/disk/README", "replaced\n");
    tool(&world, "append_file", &json!({ "path": "/disk/README", "content": "more\n" }));
    tool(&world, "edit_file", &json!({ "path": "/disk/README", "old_string": "more", "new_string": "less" }));
    tool(&world, "move_file", &json!({ "source": "/disk/a", "destination": "/disk/z" }));
    tool(&world, "delete_file", &json!({ "path": "/disk/z", "recursive": true }));
    assert!(!world.has("disk/z"));
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    undid call [call 1] of main (delete /disk/z, [time])
      makes the directory /disk/z again
      makes the directory /disk/z/b again
      restores /disk/z/b/c.txt
      restores /disk/z/d.txt
    [stderr]
    `paddock undo [call 2]` takes this back
    [exit 0]
    ");
    assert_eq!(world.read("disk/z/b/c.txt"), "c\n");
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    undid call [call 1] of main (move /disk/a, [time])
      moves /disk/z back to /disk/a
    [stderr]
    `paddock undo [call 2]` takes this back
    [exit 0]
    ");
    assert_eq!(world.read("disk/a/d.txt"), "d\n");
    for expected in ["replaced\nmore\n", "replaced\n", "by hand\n"] {
        assert_eq!(world.paddock(&["undo"]).code, 0);
        assert_eq!(world.read("disk/README"), expected);
    }
    assert_eq!(world.paddock(&["undo"]).code, 0);
    insta::assert_snapshot!(plain(&world.paddock(&["undo"])), @"
    undid call [call 1] of main (write /disk/a/b/c.txt, [time])
      removes /disk/a/b/c.txt
      removes /disk/a/b
      removes /disk/a
    [stderr]
    `paddock undo [call 2]` takes this back
    [exit 0]
    ");
    assert!(!world.has("disk/a") && world.has("disk/README"));
}

#[test]
fn a_call_is_undone_once_and_unknown_ones_are_told() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let id = calls(&world)[0].clone();
    assert_eq!(world.paddock(&["undo", &id[..20]]).code, 0, "the beginning of an id is enough");
    insta::assert_snapshot!(plain(&world.paddock(&["undo", &id])), @"
    [stderr]
    error: call [call 1] was already undone, by [call 2]
    hint: undo the undo to have it again
    [exit 1]
    ");
    insta::assert_snapshot!(world.paddock(&["undo", "zzzz"]), @r#"
    [stderr]
    error: no call that changed anything has the id "zzzz"
    hint: see `paddock log` for the calls there are
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["undo", "\u{1b}[2J"]), @r#"
    [stderr]
    error: no call that changed anything has the id "\u{1b}[2j"
    hint: see `paddock log` for the calls there are
    [exit 1]
    "#);
    let several = world.paddock(&["undo", "0"]);
    assert!(several.stderr.contains("is the beginning of several") && several.code == 1, "{several}");
}

#[test]
fn before_the_first_call_there_is_nothing_and_nothing_is_made() {
    let world = world();
    for command in [&["undo"][..], &["restore", "/notes/x", "--at", "1 min ago"]] {
        let ran = world.paddock(command);
        assert!(ran.stderr.starts_with("error: nothing has happened here yet\nhint: ") && ran.code == 1, "{ran}");
    }
    assert!(!world.home().join(".paddock").exists());
    let ran = World::empty().paddock(&["undo"]);
    assert!(ran.stderr.contains("there is no paddock.toml here or above") && ran.code == 2, "{ran}");
}

#[test]
fn each_agent_has_its_own_last_call_and_its_own_workspaces() {
    let world = world();
    let other = ["--agent", "other", "tool", "write_file", r#"{"path": "/notes/mine.md", "content": "x"}"#];
    assert_eq!(world.paddock(&other).code, 0);
    let ran = world.paddock(&["undo"]);
    assert!(ran.stderr.contains("agent \"main\" has changed nothing") && ran.code == 1, "{ran}");
    write(&world, "/notes/mine.md", "of main\n");
    // By its id, in the Workspaces of the agent that made it.
    let theirs = calls(&world)[1].clone();
    assert_eq!(world.paddock(&["undo", &theirs]).code, 0);
    assert_eq!(read(&world, "/notes/mine.md").unwrap(), "of main\n");
    let gone = world.paddock(&["--agent", "other", "tool", "read_file", r#"{"path": "/notes/mine.md"}"#]);
    assert_eq!(gone.code, 1, "{gone}");
}

#[test]
fn a_person_may_where_the_agent_may_not_but_not_past_hidden_names() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/disk/open.txt", "x\n");
    let config = super::CONFIG.replace("RW\"\nmount = { virtual", "RO\"\nmount = { virtual");
    world
        .write("paddock.toml", config.replace("physical = \"disk\" }", "physical = \"disk\" }\nhide = [\"open.txt\"]"));
    let ran = world.paddock(&["undo"]);
    assert!(ran.stderr.contains("its name is hidden") && ran.code == 1, "{ran}");
    assert!(world.has("disk/open.txt"));
    let first = calls(&world)[1].clone();
    assert_eq!(world.paddock(&["undo", &first]).code, 0);
    assert_eq!(read(&world, "/notes/plan.md"), None);
}

#[test]
fn for_programs() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let id = calls(&world)[0].clone();
    let dry = world.paddock(&["undo", "--dry-run", "--json"]).json();
    assert_eq!(dry, json!({"undoes": id, "call": null, "done": false, "changes": ["removes /notes/plan.md"]}));
    let done = world.paddock(&["undo", "--json"]);
    assert_eq!(done.json()["call"], calls(&world)[0].as_str(), "{done}");
}
