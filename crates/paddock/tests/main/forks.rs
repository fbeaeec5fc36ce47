//! Forks and overlays as people and agents meet them: made, worked in, compared, applied, discarded.

mod repositories;
mod sides;

use std::process::Command;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::harness::{Ran, World};

const CONFIG: &str = r#"
base = "/w"

[[workspace]]
prefix = "/w"
scope = "READ_ONLY"
mount = { physical = "w" }
hide = [".env"]

[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }

[[workspace]]
prefix = "/try"
scope = "READ_WRITE"
mount = { overlay = "/w" }

[[workspace]]
prefix = "/in"
scope = "WRITE_ONLY"
mount = { physical = "in" }

[agents.worker]
"#;

fn world() -> World {
    let world = World::configured(CONFIG).unasked();
    world.write("w/a.txt", "one\ntwo\nthree\n");
    world.write("w/.env", "TOKEN=never-shown\n");
    world
}

fn tool(world: &World, agent: &str, name: &str, arguments: &Value) -> Ran {
    world.paddock(&["--agent", agent, "tool", name, &arguments.to_string()])
}

fn write(world: &World, path: &str, content: &str) {
    let ran = tool(world, "main", "write_file", &json!({"path": path, "content": content}));
    assert_eq!(ran.code, 0, "{ran}");
}

fn read(world: &World, path: &str) -> String {
    tool(world, "main", "read_file", &json!({"path": path})).stdout
}

/// With ids of calls made the same everywhere.
fn without_ids(ran: &Ran) -> String {
    let text = ran.to_string();
    let words = text.split('`').map(|part| match part.strip_prefix("paddock undo ") {
        Some(_) => "paddock undo [id]",
        None => part,
    });
    words.collect::<Vec<_>>().join("`")
}

/// The project's place in the System Root.
fn place(world: &World) -> std::path::PathBuf {
    let mut places = std::fs::read_dir(world.home().join(".paddock/workspaces")).unwrap();
    places.next().unwrap().unwrap().path()
}

/// How many moments of Virtual Stores are held on to.
fn pins(world: &World) -> i64 {
    let database = rusqlite::Connection::open(place(world).join("state.db")).unwrap();
    database.query_row("SELECT count(*) FROM pin", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_agent_works_in_a_fork_and_a_person_takes_it_over() {
    let world = world();
    insta::assert_snapshot!(world.paddock(&["fork", "/w", "x"]), @"
    forked /w as /forks/x, for main
    [stderr]
    `paddock diff x` shows what changes there, `paddock apply x` takes it over into /w
    [exit 0]
    ");
    write(&world, "/forks/x/a.txt", "ONE\ntwo\nthree\n");
    write(&world, "/forks/x/d/b.txt", "new\n");
    // The Workspace below is read-only for the agent, and nothing of its work is there.
    assert_eq!(world.read("w/a.txt"), "one\ntwo\nthree\n");
    assert!(!world.has("w/d"));
    insta::assert_snapshot!(world.paddock(&["diff", "x"]), @r"
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,3 @@
    -one
    +ONE
     two
     three
    added directory d
    --- /dev/null
    +++ b/d/b.txt
    @@ -0,0 +1 @@
    +new
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["diff", "/forks/x", "--stat"]), @r"
    M a.txt | +1 -1
    A d
    A d/b.txt | +1 -0
    3 paths changed, 2 lines added, 1 removed
    [exit 0]
    ");
    insta::allow_duplicates! {
        for path in ["d", "/w/d", "/forks/x/d/"] {
            insta::assert_snapshot!(world.paddock(&["diff", "x", path, "--stat"]), @r"
            A d
            A d/b.txt | +1 -0
            2 paths changed, 1 line added, 0 removed
            [exit 0]
            ");
        }
    }
    insta::assert_snapshot!(world.paddock(&["diff", "x", "d/b", "a.tx"]), @r"
    [stderr]
    fork x holds nothing at d/b, a.tx that /w does not
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["fork", "--list"]), @"
    x  /w of main  for main  just made  3 paths differ
    [exit 0]
    ");
    // Somebody works below meanwhile, elsewhere in the same file.
    world.write("w/a.txt", "one\ntwo\nTHREE\n");
    insta::assert_snapshot!(world.paddock(&["apply", "x", "--dry-run"]), @r"
    would apply fork x to /w
      writes /w/a.txt
      makes the directory /w/d
      writes /w/d/b.txt
    [exit 0]
    ");
    assert_eq!(world.read("w/a.txt"), "one\ntwo\nTHREE\n", "a dry run changes nothing");
    insta::assert_snapshot!(without_ids(&world.paddock(&["apply", "x"])), @r"
    applied fork x to /w
      writes /w/a.txt
      makes the directory /w/d
      writes /w/d/b.txt
    [stderr]
    `paddock undo [id]` takes this back
    the fork stays; `paddock discard x` removes it
    [exit 0]
    ");
    assert_eq!(world.read("w/a.txt"), "ONE\ntwo\nTHREE\n", "both changes");
    let log = world.paddock(&["log"]);
    assert!(log.stdout.contains("  apply  ") && log.stdout.contains("(applies fork x)"), "{log}");
    assert_eq!(world.read("w/d/b.txt"), "new\n");
    insta::assert_snapshot!(world.paddock(&["apply", "x"]), @"
    [stderr]
    fork x holds nothing that /w does not: there is nothing to apply
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["discard", "x"]), @"
    discarded fork x
    [exit 0]
    ");
    assert_ne!(tool(&world, "main", "list_dir", &json!({"path": "/forks/x"})).code, 0);
    assert_eq!(world.paddock(&["fork", "--list", "--json"]).json(), json!([]));
}

#[test]
fn one_call_takes_back_what_was_applied() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/notes", "x"]).code, 0);
    write(&world, "/notes/old.md", "old\n");
    write(&world, "/forks/x/one.md", "1\n");
    write(&world, "/forks/x/two.md", "2\n");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!(read(&world, "/notes/two.md"), "2\n");
    let undone = world.paddock(&["undo"]);
    assert_eq!(undone.code, 0, "{undone}");
    let listed = tool(&world, "main", "list_dir", &json!({"path": "/notes"})).stdout;
    assert_eq!(listed, "old.md\n");
}

/// On the host's disk, where the fork has noted what was below, and where it stands on a moment.
#[test]
fn what_was_applied_and_undone_is_not_lost_from_sight() {
    for (source, file) in [("/w", "/forks/x/a.txt"), ("/notes", "/forks/x/a.md")] {
        let world = world();
        write(&world, "/notes/a.md", "one\ntwo\nthree\n");
        write(&world, "/notes/old.md", "old\n");
        world.write("w/old.md", "old\n");
        assert_eq!(world.paddock(&["fork", source, "x"]).code, 0);
        write(&world, file, "ONE\ntwo\nthree\n");
        write(&world, "/forks/x/new.md", "new\n");
        let gone = tool(&world, "main", "delete_file", &json!({"path": "/forks/x/old.md"}));
        assert_eq!(gone.code, 0, "{gone}");
        let before = world.paddock(&["diff", "x"]).stdout;
        assert_eq!(world.paddock(&["apply", "x"]).code, 0);
        assert_eq!(world.paddock(&["diff", "x"]).stdout, "", "{source}");
        assert_eq!(world.paddock(&["undo"]).code, 0);
        assert_eq!(world.paddock(&["diff", "x"]).stdout, before, "{source}");
        let asked = world.paddock(&["discard", "x"]);
        assert_eq!(asked.code, 2, "{asked}");
        assert!(asked.stderr.contains("holds what was not applied"), "{asked}");
        // It can be applied again, and then it is.
        let again = world.paddock(&["apply", "x"]);
        assert_eq!(again.code, 0, "{again}");
        assert_eq!(world.paddock(&["diff", "x"]).stdout, "", "{source}");
        assert_eq!(world.paddock(&["discard", "x"]).code, 0, "{source}");
    }
}

#[test]
fn an_apply_that_the_history_knows_no_more_does_not_hide_what_was_undone() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "of the fork\n");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!(world.paddock(&["undo"]).code, 0);
    let database = rusqlite::Connection::open(place(&world).join("state.db")).unwrap();
    for table in ["history_change", "history_call"] {
        database.execute(&format!("DELETE FROM {table}"), ()).unwrap();
    }
    assert!(world.paddock(&["diff", "x"]).stdout.contains("+of the fork"), "it is not below");
    assert_eq!(world.paddock(&["discard", "x"]).code, 2, "it is asked for");
}

/// A history that does not answer says nothing about what was undone, and nobody must go on as if it had.
#[test]
fn a_history_that_cannot_be_asked_is_told() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "of the fork\n");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    let database = rusqlite::Connection::open(place(&world).join("state.db")).unwrap();
    database.execute("ALTER TABLE history_call RENAME COLUMN undone_by TO away", ()).unwrap();
    for asked in [&["diff", "x"][..], &["apply", "x", "--dry-run"], &["discard", "x"]] {
        let told = world.paddock(asked);
        assert!(told.code == 1 && told.stderr.contains("state.db"), "{asked:?}: {told}");
    }
    database.execute("ALTER TABLE history_call RENAME COLUMN away TO undone_by", ()).unwrap();
    assert_eq!(world.paddock(&["diff", "x"]).stdout, "");
}

#[test]
fn a_fork_of_a_virtual_workspace_stands_on_the_moment_it_was_made() {
    let world = world();
    write(&world, "/notes/a.md", "then\n");
    assert_eq!(world.paddock(&["fork", "/notes", "x"]).code, 0);
    assert_eq!(world.paddock(&["fork", "/w", "y"]).code, 0);
    write(&world, "/notes/a.md", "now\n");
    write(&world, "/notes/later.md", "later\n");
    world.write("w/a.txt", "now\n");
    assert_eq!(read(&world, "/forks/x/a.md"), "then\n", "frozen");
    assert_eq!(tool(&world, "main", "read_file", &json!({"path": "/forks/x/later.md"})).code, 1);
    assert_eq!(read(&world, "/forks/y/a.txt"), "now\n", "the host's disk cannot be frozen");
    // What the fork did not touch is not its own, so it takes nothing back below.
    write(&world, "/forks/x/b.md", "mine\n");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!(read(&world, "/notes/a.md"), "now\n");
    assert_eq!(read(&world, "/notes/b.md"), "mine\n");
}

#[test]
fn what_gitignore_names_stays_in_a_fork_unless_it_is_asked_for() {
    let world = world();
    world.write("w/.gitignore", "target/\n");
    world.write("w/target/out", "old\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/target/out", "here\n");
    world.write("w/target/out", "below\n");
    write(&world, "/forks/x/a.txt", "HERE\n");
    insta::assert_snapshot!(world.paddock(&["diff", "x", "--stat"]), @r"
    M a.txt | +1 -3
    1 path changed, 1 line added, 3 removed
    [stderr]
    by the way, what .gitignore names stays in it (--ignored takes it along): 1 path
      target/out
    [exit 0]
    ");
    assert_eq!(world.paddock(&["diff", "x", "--json"]).json()["ignored"], json!(["target/out"]));
    assert!(world.paddock(&["diff", "x", "--ignored", "--stat"]).stdout.contains("M target/out | +1 -1 (conflict)"));
    assert_eq!(world.paddock(&["apply", "x", "--ignored"]).code, 1, "two builds");
    insta::assert_snapshot!(without_ids(&world.paddock(&["apply", "x"])), @r"
    applied fork x to /w
      writes /w/a.txt
    [stderr]
    by the way, what .gitignore names stays in it (--ignored takes it along): 1 path
      target/out
    `paddock undo [id]` takes this back
    the fork stays; `paddock discard x` removes it
    [exit 0]
    ");
    assert_eq!((world.read("w/a.txt"), world.read("w/target/out")), ("HERE\n".to_owned(), "below\n".to_owned()));
    let asked = world.paddock(&["discard", "x"]);
    let lost = "fork x holds 1 path that a .gitignore names and no apply took over:\n  target/out\n";
    assert!(asked.code == 2 && asked.stderr.contains(lost), "{asked}");
    assert!(!asked.stderr.contains("stays"), "it is about to go: {asked}");
    // Whoever names it means it.
    assert_eq!(world.paddock(&["resolve", "x", "target/out", "--keep", "here"]).code, 0);
    assert_eq!(world.read("w/target/out"), "here\n");
    assert_eq!(world.paddock(&["discard", "x"]).code, 0);
}

#[test]
fn conflicts_are_listed_and_nothing_changes() {
    let world = world();
    world.write("w/z.txt", "below\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "one\nHERE\nthree\n");
    write(&world, "/forks/x/new.txt", "fine\n");
    assert_eq!(tool(&world, "main", "delete_file", &json!({"path": "/forks/x/z.txt"})).code, 0);
    world.write("w/a.txt", "one\nTHERE\nthree\n");
    world.write("w/z.txt", "changed below\n");
    insta::assert_snapshot!(world.paddock(&["apply", "x"]), @r"
    [stderr]
    error: fork x cannot be applied to /w: 2 paths in conflict
      a.txt: changed on both sides, in the same place (line 2 here, line 2 below)
      z.txt: deleted here, and changed below
    hint: nothing was changed; `paddock resolve x PATH --keep here|below` makes both sides agree, then apply again
    [exit 1]
    ");
    assert_eq!(world.read("w/a.txt"), "one\nTHERE\nthree\n");
    assert!(!world.has("w/new.txt"), "all or nothing");
    let told = world.paddock(&["apply", "x", "--json"]);
    assert_eq!((told.code, &told.json()["done"]), (1, &json!(false)));
    let kinds: Vec<Value> =
        told.json()["conflicts"].as_array().unwrap().iter().map(|conflict| conflict["kind"].clone()).collect();
    assert_eq!(kinds, [json!("both_changed"), json!("deleted_here_changed_below")]);
    insta::assert_snapshot!(world.paddock(&["fork", "--list"]), @"
    x  /w of main  for main  just made  3 paths differ, 2 in conflict
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["discard", "x"]), @r"
    [stderr]
    fork x holds what was not applied to /w:
    M a.txt | +1 -1 (conflict)
    A new.txt | +1 -0
    D z.txt | +0 -1 (conflict)
    3 paths changed, 2 lines added, 2 removed
    error: fork x was not discarded: nobody can be asked here
    hint: `paddock diff x` shows what it holds; --yes discards it all the same
    [exit 2]
    ");
    assert_eq!(read(&world, "/forks/x/new.txt"), "fine\n", "still there");
    // Where both hold the same, nothing contradicts any more.
    world.write("w/a.txt", "one\nHERE\nthree\n");
    write(&world, "/forks/x/z.txt", "changed below\n");
    let settled = world.paddock(&["apply", "x"]);
    assert_eq!((settled.code, world.read("w/new.txt").as_str()), (0, "fine\n"), "{settled}");
    write(&world, "/forks/x/left.txt", "left\n");
    assert_eq!(world.paddock(&["discard", "x"]).code, 2, "something would be lost");
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
    // The same name again is another fork.
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    assert!(!tool(&world, "main", "list_dir", &json!({"path": "/forks/x"})).stdout.contains("left.txt"));
}

/// A limit on the size of files makes the host refuse the second of two files, and never a small one.
#[test]
fn a_failure_half_way_is_taken_back() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "changed\n");
    write(&world, "/forks/x/b.txt", "small\n");
    let large = json!({"path": "/forks/x/c.txt", "content": "0123456789abcde\n".repeat(3 * 65536)}).to_string();
    let written = world.paddock_reading(&["tool", "write_file", "-"], &large);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let mut limited = Command::new("bash");
    let apply = format!("trap '' XFSZ; ulimit -f 2048; exec '{}' apply x", env!("CARGO_BIN_EXE_paddock"));
    limited.args(["-c", &apply]).current_dir(world.project()).env_clear().env("HOME", world.home());
    let ran = world.run(limited, "");
    assert_eq!(ran.code, 1, "{ran}");
    let told = "what had been changed before that was taken back: nothing is applied";
    assert!(ran.stderr.starts_with("error: /w") && ran.stderr.contains(told), "{ran}");
    assert_eq!(world.read("w/a.txt"), "one\ntwo\nthree\n");
    assert!(!world.has("w/b.txt") && !world.has("w/c.txt"));
    // Nothing is lost: once the cause is gone it goes through.
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!(world.read("w/a.txt"), "changed\n");
    assert_eq!(world.read("w/c.txt").len(), 3 << 20);
}

#[test]
fn hidden_names_never_leave() {
    let world = world();
    world.write("w/sub/.env", "TOKEN=never-shown\n");
    assert_eq!(world.paddock(&["fork", "/w", "x", "--agent", "worker", "--from", "main"]).code, 0);
    for (name, arguments) in [
        ("read_file", json!({"path": "/forks/x/.env"})),
        ("list_dir", json!({"path": "/forks/x", "depth": 9})),
        ("search_files", json!({"path": "/forks/x", "pattern": "TOKEN"})),
        ("find_files", json!({"path": "/forks/x", "glob": "**"})),
    ] {
        let told = tool(&world, "worker", name, &arguments).to_string();
        assert!(!told.contains("never-shown") && !told.contains("env\n"), "{name}: {told}");
    }
    assert_eq!(tool(&world, "worker", "write_file", &json!({"path": "/forks/x/.env", "content": "x"})).code, 1);
    // What is deleted around it stays, and keeps the directory below.
    let delete = json!({"path": "/forks/x/sub", "recursive": true});
    assert_eq!(tool(&world, "worker", "delete_file", &delete).code, 0);
    insta::assert_snapshot!(world.paddock(&["diff", "x"]), @"
    removed directory sub
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["apply", "x"]), @r"
    [stderr]
    error: delete /w/sub/.env is denied: its name is hidden
    hint: nothing was changed; `paddock apply x --except sub` leaves it where it is and takes over the rest
    [exit 1]
    ");
    assert_eq!(world.read("w/sub/.env"), "TOKEN=never-shown\n");
}

#[test]
fn a_name_that_is_hidden_from_now_on_stays_in_the_fork() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/later.key", "k\n");
    write(&world, "/forks/x/b.txt", "b\n");
    world.write("paddock.toml", CONFIG.replace("[\".env\"]", "[\".env\", \"*.key\"]"));
    let shown = world.paddock(&["diff", "x"]);
    assert!(
        !shown.stdout.contains("later.key") && shown.stderr.contains("out of sight: 1 path\n  later.key"),
        "{shown}"
    );
    assert_eq!(world.paddock(&["diff", "x", "--json"]).json()["left_out"], json!(["later.key"]));
    insta::assert_snapshot!(without_ids(&world.paddock(&["apply", "x"])), @r"
    applied fork x to /w
      writes /w/b.txt
    [stderr]
    left where they are, because /w keeps such names out of sight: 1 path
      later.key
    `paddock undo [id]` takes this back
    the fork stays; `paddock discard x` removes it
    [exit 0]
    ");
    assert!(world.has("w/b.txt") && !world.has("w/later.key"));
    // It is nowhere else, so nobody throws it away without having said so.
    insta::assert_snapshot!(world.paddock(&["fork", "--list"]), @"
    x  /w of main  for main  just made  1 path differs
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["discard", "x"]), @r"
    [stderr]
    fork x holds 1 path that no apply takes over, because /w hides such names:
      later.key
    error: fork x was not discarded: nobody can be asked here
    hint: `paddock diff x` shows what it holds; --yes discards it all the same
    [exit 2]
    ");
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
}

#[test]
fn what_cannot_be_forked_is_refused_clearly() {
    let world = world();
    let refused = |arguments: &[&str]| {
        let ran = world.paddock(arguments);
        assert_eq!(ran.stdout, "");
        ran.stderr.lines().next().unwrap().to_owned() + &format!(" [{}]", ran.code)
    };
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    insta::assert_snapshot!([
        refused(&["fork", "/w", "x"]),
        refused(&["fork", "/w", "no/good"]),
        refused(&["fork", "/w", ".."]),
        refused(&["fork", "/w", ""]),
        refused(&["fork", "/w", "--", "--list"]),
        refused(&["fork", "/w", "a\nb"]),
        refused(&["fork", "/in", "y"]),
        refused(&["fork", "/w/sub", "y"]),
        refused(&["fork", "/forks/x", "y"]),
        refused(&["fork", "/w", "y", "--agent", "nobody"]),
        refused(&["fork", "/w", "y", "--from", "worker"]),
        refused(&["diff", "nothing"]),
        refused(&["diff", "/w"]),
        refused(&["apply", "/nowhere"]),
        refused(&["discard", "nothing"]),
    ].join("\n"), @r#"
    error: there is a fork "x" already [2]
    error: "no/good" cannot name a fork [2]
    error: ".." cannot name a fork [2]
    error: "" cannot name a fork [2]
    error: "--list" cannot name a fork [2]
    error: "a\u{a}b" cannot name a fork [2]
    error: the Workspace "/in" is write-only: nothing comes back from it, so it cannot be forked [1]
    error: agent main has no Workspace at "/w/sub" [2]
    error: "/forks/x" is a fork, and a fork of a fork is not possible [2]
    error: there is no agent "nobody" [2]
    error: agent worker has no Workspace at "/w" [2]
    error: there is no fork "nothing" [2]
    error: the Workspace "/w" is no overlay and no fork: what is written to it is there at once [2]
    error: agent main has no Workspace at "/nowhere" [2]
    error: there is no fork "nothing" [2]
    "#);
    let of_main = world.paddock(&["fork", "/w", "z", "--agent", "worker"]);
    assert!(of_main.code == 0 && of_main.stdout.contains("for worker"), "{of_main}");
    world.write("paddock.toml", format!("{CONFIG}\n[virtual]\nurl = \"memory\"\n"));
    assert!(refused(&["fork", "/w", "y"]).contains("kept in memory"));
    let taken = "\n[[workspace]]\nprefix = \"/forks/y\"\nscope = \"RW\"\nmount = { virtual = \"y\" }\n[agents.worker]";
    world.write("paddock.toml", CONFIG.replace("[agents.worker]", taken));
    assert!(refused(&["fork", "/w", "y"]).contains("has a Workspace at \"/forks/y\" already"));
}

#[test]
fn a_damaged_list_of_forks_is_told_by_doctor() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    let list = place(&world).join("forks.json");
    std::fs::write(&list, "[{\"name\": \"x").unwrap();
    let doctor = world.paddock(&["doctor"]);
    let told = doctor.stdout.contains("✗ forks: no agent has any: ") && doctor.stdout.contains("from a backup");
    assert!(told && doctor.code == 1, "{doctor}");
    assert_eq!(world.paddock(&["fork", "--list"]).code, 1);
}

#[test]
fn a_fork_whose_source_is_gone_can_still_be_discarded() {
    let world = world();
    write(&world, "/notes/a.md", "a\n");
    assert_eq!(world.paddock(&["fork", "/notes", "x"]).code, 0);
    write(&world, "/forks/x/b.md", "b\n");
    let without = |text: &str| world.write("paddock.toml", text);
    // Another Mount at the same prefix is not what the fork stood on.
    for config in
        [CONFIG.replace("\"/notes\"", "\"/other\""), CONFIG.replace("virtual = \"notes\"", "virtual = \"n2\"")]
    {
        without(&config);
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.paddock(&["fork", "--list"]), @"
            x  /notes of main  for main  just made  its source is gone
            [exit 0]
            ");
            insta::assert_snapshot!(world.paddock(&["apply", "x"]), @r#"
            [stderr]
            error: fork "x" has lost its source: agent main has no Workspace "/notes" that it could stand on
            hint: put the Workspace back into paddock.toml, or `paddock discard x`
            [exit 1]
            "#);
        }
        assert_eq!(tool(&world, "main", "read_file", &json!({"path": "/forks/x/b.md"})).code, 1);
    }
    without(CONFIG);
    assert_eq!(read(&world, "/forks/x/b.md"), "b\n", "nothing was lost");
    without(&CONFIG.replace("\"/notes\"", "\"/other\""));
    let asked = world.paddock(&["discard", "x"]);
    assert!(asked.stderr.starts_with("fork x holds 1 path of its own, and its source is gone\n"), "{asked}");
    assert_eq!(pins(&world), 1);
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
    assert_eq!(pins(&world), 0, "what it stood on is let go");
    assert_eq!(world.paddock(&["fork", "--list", "--json"]).json(), json!([]));
}

#[test]
fn an_overlay_is_compared_applied_and_emptied_by_its_prefix() {
    let world = world();
    write(&world, "/try/a.txt", "one\ntwo\n3\n");
    insta::assert_snapshot!(world.paddock(&["diff", "/try", "--stat"]), @r"
    M a.txt | +1 -1
    1 path changed, 1 line added, 1 removed
    [exit 0]
    ");
    // A fork of an overlay is applied to the overlay, and that one to what it stands on.
    assert_eq!(world.paddock(&["fork", "../try", "t"]).code, 0);
    write(&world, "/forks/t/b.txt", "b\n");
    assert_eq!(world.paddock(&["apply", "t"]).code, 0);
    assert!(!world.has("w/b.txt"));
    insta::assert_snapshot!(without_ids(&world.paddock(&["apply", "/try"])), @r"
    applied overlay /try to /w
      writes /w/a.txt
      writes /w/b.txt
    [stderr]
    `paddock undo [id]` takes this back
    the overlay stays as it is; `paddock discard /try` empties it
    [exit 0]
    ");
    assert_eq!(world.read("w/a.txt") + &world.read("w/b.txt"), "one\ntwo\n3\nb\n");
    write(&world, "/try/c.txt", "c\n");
    assert_eq!(world.paddock(&["discard", "/try"]).code, 2, "something would be lost");
    insta::assert_snapshot!(world.paddock(&["discard", "/try", "--yes"]), @"
    emptied overlay /try
    [exit 0]
    ");
    assert_eq!(tool(&world, "main", "list_dir", &json!({"path": "/try"})).stdout, "a.txt\nb.txt\n");
}

#[test]
fn what_a_person_did_is_in_the_audit() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/b.txt", "b\n");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!(world.paddock(&["discard", "x"]).code, 0);
    let told = world.paddock(&["audit", "tail"]).stdout;
    for act in ["fork", "apply", "discard"] {
        assert!(told.lines().any(|line| line.contains("done") && line.contains(&format!(" {act} "))), "{act}: {told}");
    }
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}

#[tokio::test]
async fn a_running_server_has_a_fork_at_its_next_call() {
    let world = world();
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    let write = json!({"path": "/forks/x/b.txt", "content": "b\n"});
    assert!(client.call("write_file", write.clone()).await.0, "there is no fork yet");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    let (refused, text) = client.call("write_file", write.clone()).await;
    assert!(!refused, "{text}");
    assert!(world.paddock(&["diff", "x"]).stdout.contains("+b\n"));
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
    assert!(client.call("write_file", write).await.0, "it is gone");
    client.close().await;
}

/// A prefix that leads elsewhere by now is not what was forked: the fork must not show the new place.
#[test]
fn a_fork_does_not_follow_its_source_to_another_place() {
    let config =
        |place: &str| format!("[[workspace]]\nprefix = \"/p\"\nscope = \"RW\"\nmount = {{ physical = \"{place}\" }}\n");
    let world = World::configured(&config("open"));
    world.write("open/a", "open");
    world.write("secret/key", "secret");
    assert_eq!(world.paddock(&["fork", "/p", "f"]).code, 0);
    assert_eq!(read(&world, "/forks/f/a"), "open\n");
    world.write("paddock.toml", config("secret"));
    let told = tool(&world, "main", "read_file", &json!({"path": "/forks/f/key"}));
    assert!(told.code != 0 && !told.stdout.contains("secret"), "{told}");
    world.write("paddock.toml", config("open"));
    assert_eq!(read(&world, "/forks/f/a"), "open\n", "and is back when its place is");
}

/// A Workspace that refuses files with several hard links, with an overlay on it.
#[test]
fn a_file_that_the_layer_below_refuses_is_in_nobodys_way() {
    let refusing = "mount = { physical = \"w\" }\nhard_links = \"deny\"";
    let world = World::configured(&CONFIG.replace("mount = { physical = \"w\" }", refusing)).unasked();
    world.write("w/a.txt", "find me\n");
    world.write("outside.txt", "find me not\n");
    world.write("w/z.txt", "find me\n");
    std::fs::hard_link(world.project().join("outside.txt"), world.project().join("w/h.txt")).unwrap();
    let found = tool(&world, "main", "search_files", &json!({"path": "/try", "pattern": "find me"}));
    let both = found.stdout.contains("a.txt") && found.stdout.contains("z.txt");
    assert!(both && !found.stdout.contains("not") && found.code == 0, "{found}");
    let gone = tool(&world, "main", "delete_file", &json!({"path": "/try/h.txt"}));
    assert_eq!(gone.code, 0, "{gone}");
    assert_eq!(tool(&world, "main", "list_dir", &json!({"path": "/try"})).stdout, "a.txt\nz.txt\n");
    // The same bytes, as far as anybody can tell.
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/h.txt", "find me not\n");
    for (layer, told) in [("/try", "D h.txt (conflict)"), ("x", "M h.txt (conflict)")] {
        let shown = world.paddock(&["diff", layer, "--stat"]);
        assert!(shown.stdout.contains(told) && shown.code == 0, "{shown}");
        let refused = world.paddock(&["apply", layer]);
        assert!(refused.stderr.contains("1 path in conflict") && refused.code == 1, "{refused}");
    }
    assert_eq!(world.read("w/h.txt"), "find me not\n");
}

/// What is nested has a boundary of its own: a fork shows nothing of it, takes nothing there, and says so.
#[test]
fn a_fork_shows_and_takes_nothing_where_another_workspace_is_nested() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/p\"\nscope = \"RO\"\nmount = { physical = \".\" }\n\
         [[workspace]]\nprefix = \"/p/s[r]c*\"\nscope = \"RW\"\nmount = { physical = \"s[r]c*\" }\n",
    )
    .unasked();
    world.write("s[r]c*/a.txt", "one");
    world.write("src1/b.txt", "two");
    let made = world.paddock(&["fork", "/p", "f"]);
    assert!(made.stderr.contains("it shows nothing of the Workspaces nested in /p: /p/s[r]c*"), "{made}");
    let inside = tool(&world, "main", "write_file", &json!({"path": "/forks/f/s[r]c*/a.txt", "content": "x"}));
    assert_eq!(inside.code, 1, "{inside}");
    let beside = tool(&world, "main", "write_file", &json!({"path": "/forks/f/src1/b.txt", "content": "x"}));
    assert_eq!(beside.code, 0, "{beside}");
    assert!(world.paddock(&["fork", "--list"]).stdout.contains("1 path differs"));
    assert_eq!(world.paddock(&["apply", "f"]).code, 0);
    assert_eq!((world.read("src1/b.txt").as_str(), world.read("s[r]c*/a.txt").as_str()), ("x", "one"));
}

/// As a fork: what an overlay held there could never be applied.
#[test]
fn an_overlay_takes_nothing_where_another_workspace_is_nested_below() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/p\"\nscope = \"RO\"\nmount = { physical = \".\" }\n\
         [[workspace]]\nprefix = \"/p/in\"\nscope = \"RW\"\nmount = { physical = \"in\" }\n\
         [[workspace]]\nprefix = \"/try\"\nscope = \"RW\"\nmount = { overlay = \"/p\" }\nhide = [\"x\", \"!in\"]\n",
    )
    .unasked();
    world.write("in/a.txt", "one");
    let inside = tool(&world, "main", "write_file", &json!({"path": "/try/in/b.txt", "content": "lost"}));
    assert_eq!(inside.code, 1, "{inside}");
    let beside = tool(&world, "main", "write_file", &json!({"path": "/try/b.txt", "content": "kept"}));
    assert_eq!(beside.code, 0, "{beside}");
    assert_eq!(world.paddock(&["apply", "/try"]).code, 0);
    assert_eq!(world.read("b.txt"), "kept");
}

#[test]
fn what_waits_in_a_fork_goes_with_it() {
    let world = World::configured(CONFIG);
    world.write("w/a.txt", "one");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    let waits = tool(&world, "main", "delete_file", &json!({"path": "/forks/x/a.txt"}));
    assert_eq!(waits.code, 3, "{waits}");
    let elsewhere = {
        write(&world, "/notes/n", "n");
        tool(&world, "main", "delete_file", &json!({"path": "/notes/n"}))
    };
    assert_eq!(elsewhere.code, 3, "{elsewhere}");
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
    let left = world.paddock(&["approvals", "list", "--json"]).json();
    let paths: Vec<&str> = left.as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/notes/n"]);
}
