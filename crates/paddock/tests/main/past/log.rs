//! `paddock log`.

use serde_json::json;

use super::{plain, tool, world, write};

#[test]
fn a_path_a_directory_everything_and_the_calls() {
    let world = world();
    write(&world, "/notes/old.md", "one\n");
    tool(&world, "move_file", &json!({ "source": "/notes/old.md", "destination": "/notes/new.md" }));
    tool(&world, "append_file", &json!({ "path": "/notes/new.md", "content": &"x".repeat(2000) }));
    tool(&world, "make_dir", &json!({ "path": "/notes/empty" }));
    write(&world, "/disk/a.txt", "a\n");
    tool(&world, "delete_file", &json!({ "path": "/disk/a.txt" }));
    insta::assert_snapshot!(plain(&world.paddock(&["log", "/notes/new.md"])), @"
    [time]  [call 1]  main      append      1.9 KiB  /notes/new.md
    [time]  [call 2]  main      move              -  /notes/old.md → /notes/new.md
    [time]  [call 3]  main      write           4 B  /notes/old.md (new)
    [exit 0]
    ");
    insta::assert_snapshot!(plain(&world.paddock(&["log", "/notes", "--limit", "2"])), @"
    [time]  [call 1]  main      make_dir          -  /notes/empty
    [time]  [call 2]  main      append      1.9 KiB  /notes/new.md
    [stderr]
    there are more: --limit 10
    [exit 0]
    ");
    insta::assert_snapshot!(plain(&world.paddock(&["log", "/disk/a.txt"])), @"
    [time]  [call 1]  main      delete            -  /disk/a.txt
    [time]  [call 2]  main      write           2 B  /disk/a.txt (new)
    [exit 0]
    ");
    let all = world.paddock(&["log", "/", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 6, "both Workspaces, each change once");
    let never = world.paddock(&["log", "/notes/never.md"]);
    assert_eq!((never.stdout.as_str(), never.stderr.as_str()), ("", "nothing was changed, as far as is kept\n"));
    assert_eq!(world.paddock(&["log", "/notes/new.md"]).stderr, "");
    insta::assert_snapshot!(plain(&world.paddock(&["log", "--limit", "3"])), @"
    [time]  [call 1]  main      delete      1 change  /disk/a.txt
    [time]  [call 2]  main      write       1 change  /disk/a.txt
    [time]  [call 3]  main      make_dir    1 change  /notes/empty
    [stderr]
    there are more: --limit 15
    [exit 0]
    ");
    let none = world.paddock(&["log", "--agent", "other"]);
    assert!(none.stdout.is_empty() && none.code == 0, "{none}");
}

#[test]
fn for_programs_and_wrong_paths() {
    let world = world();
    assert_eq!(world.paddock(&["log", "--json"]).json(), json!([]));
    assert!(!world.home().join(".paddock").exists(), "looking makes nothing");
    write(&world, "/notes/plan.md", "one\n");
    let row = &world.paddock(&["log", "/notes/plan.md", "--json"]).json()[0];
    let what = (&row["what"], &row["path"], &row["bytes"], &row["new"]);
    assert_eq!(what, (&json!("write"), &json!("/notes/plan.md"), &json!(4), &json!(true)));
    assert!(row["version"].as_str().unwrap().starts_with('v'));
    let row = &world.paddock(&["log", "--json"]).json()[0];
    assert_eq!((&row["state"], &row["changes"]), (&json!("completed"), &json!(1)));
    insta::assert_snapshot!(world.paddock(&["log", "/elsewhere"]), @r#"
    [stderr]
    error: no Workspace that keeps a history covers "/elsewhere"
    hint: `paddock map` shows the Workspaces of the agent; --agent names another
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["log", "../.."]), @r#"
    [stderr]
    error: path "../.." leads above "/"
    hint: write the path from "/", without climbing above it
    [exit 1]
    "#);
}

#[test]
fn a_persons_acts_name_the_person() {
    let world = world();
    let alice = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("USER", "alice");
        world.run(command, "")
    };
    write(&world, "/disk/a.txt", "one\n");
    assert_eq!(alice(&["undo"]).code, 0);
    insta::assert_snapshot!(plain(&world.paddock(&["log"])), @"
    [time]  [call 1]  main      undo        1 change  /disk/a.txt  (by alice)  (undoes [call 2])
    [time]  [call 2]  main      write       1 change  /disk/a.txt  (undone)
    [exit 0]
    ");
    assert!(world.paddock(&["log", "/disk/a.txt"]).stdout.contains("(by alice)"));
    assert_eq!(alice(&["token", "new", "ci", "--api"]).code, 0);
    assert_eq!(alice(&["login"]).code, 0);
    let said = alice(&["audit", "query", "--by", "alice"]).stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 4, "begun and done of the undo, and one row each: {said}");
    assert!(lines.iter().all(|line| line.ends_with("(by alice)")), "{said}");
    assert_eq!(world.paddock(&["audit", "query", "--by", "bob"]).stdout, "");
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}
