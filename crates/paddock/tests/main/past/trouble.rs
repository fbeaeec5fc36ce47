//! Something is wrong with what is kept: every command says so and what to do, nothing is lost, and a server goes on.

use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{backup, calls, read, world, write};
use crate::client::{Raw, call};
use crate::harness::{Ran, World};

/// Every command that needs what is kept, and some that a person would try.
const COMMANDS: &[&[&str]] = &[
    &["log"],
    &["log", "/notes"],
    &["undo"],
    &["restore", "/notes/plan.md", "--at", "0"],
    &["audit", "tail"],
    &["audit", "query"],
    &["audit", "verify"],
    &["audit", "export"],
    &["backup", "../copy"],
    &["tool", "write_file", r#"{"path": "/notes/new.md", "content": "x"}"#],
    &["tool", "read_file", r#"{"path": "/notes/plan.md"}"#],
    &["tool", "write_file", r#"{"path": "/disk/README", "content": "x"}"#],
];

fn filled() -> World {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/notes/plan.md", "two\n");
    write(&world, "/notes/large.bin", &"0123456789".repeat(50_000));
    world
}

fn state(world: &World) -> PathBuf {
    backup::place(world).join("state.db")
}

/// A clear error for a person, or for the agent where its tool was called; nothing panics.
fn assert_told(command: &[&str], ran: &Ran) {
    assert_eq!(ran.code, 1, "{command:?}: {ran}");
    if command[0] == "tool" {
        assert!(ran.stdout.starts_with("❌ ERROR: "), "{command:?}: {ran}");
        assert!(!ran.stdout.contains("[world]"), "the host stays unknown to the agent: {ran}");
    } else {
        let (error, hint) = ran.stderr.split_once("\nhint: ").unwrap_or_else(|| panic!("{command:?}: {ran}"));
        assert!(error.starts_with("error: ") && error.contains("state.db"), "{command:?}: {ran}");
        assert!(hint.len() > 10, "{command:?}: {ran}");
    }
}

/// Everything is there as it was before the trouble.
fn assert_nothing_lost(world: &World) {
    assert_eq!(read(world, "/notes/plan.md").unwrap(), "two\n");
    assert_eq!(world.read("disk/README"), "by hand\n");
    assert_eq!(calls(world).len(), 3);
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    assert_eq!(world.paddock(&["doctor"]).code, 0);
    assert_eq!(world.paddock(&["undo", &calls(world)[1]]).code, 0);
    assert_eq!(read(world, "/notes/plan.md").unwrap(), "one\n");
}

#[test]
fn a_database_that_is_none() {
    let world = filled();
    let place = backup::place(&world);
    backup::copy_dir(&place, &world.path().join("good"));
    for file in ["state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(place.join(file));
    }
    std::fs::write(state(&world), "this is no database, but a text that somebody put here\n".repeat(200)).unwrap();
    let bytes = std::fs::read(state(&world)).unwrap();
    for command in COMMANDS {
        assert_told(command, &world.paddock(command));
    }
    let ran = world.paddock(&["undo"]);
    assert!(
        ran.stderr.contains(
            "is damaged: file is not a database
hint: run `paddock doctor`; put back"
        ),
        "{ran}"
    );
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("✗ database state.db") && doctor.code == 1, "{doctor}");
    assert!(std::fs::read(state(&world)).unwrap() == bytes, "it is left as it is");
    assert_eq!(world.read("disk/README"), "by hand\n", "what cannot be recorded is not done");
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::rename(world.path().join("good"), &place).unwrap();
    assert_nothing_lost(&world);
}

#[test]
fn a_database_with_damaged_pages() {
    let world = filled();
    Connection::open(state(&world)).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = std::fs::read(state(&world)).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page[..2048].fill(0x5a);
    }
    std::fs::write(state(&world), bytes).unwrap();
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("✗ database state.db") && doctor.stdout.contains("is damaged"), "{doctor}");
    assert!(doctor.stdout.contains("put back what `paddock backup` made") && doctor.code == 1, "{doctor}");
    for command in COMMANDS {
        let ran = world.paddock(command);
        assert!(ran.code == 0 || ran.code == 1, "{command:?}: {ran}");
        assert!(!ran.stderr.contains("panicked"), "{command:?}: {ran}");
    }
}

#[test]
fn a_database_that_a_newer_paddock_wrote() {
    let world = filled();
    let newer = |by: i64| {
        let db = Connection::open(state(&world)).unwrap();
        assert!(db.execute("UPDATE paddock_schema SET version = version + ?1", [by]).unwrap() > 0);
    };
    newer(100);
    for command in COMMANDS {
        assert_told(command, &world.paddock(command));
    }
    let ran = world.paddock(&["undo"]);
    assert!(ran.stderr.contains("was written by a newer Paddock"), "{ran}");
    assert!(ran.stderr.contains("hint: update this paddock, or use the one that wrote it"), "{ran}");
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("was written by a newer Paddock") && doctor.code == 1, "{doctor}");
    newer(-100);
    assert_nothing_lost(&world);
}

/// Runs with the home mounted read-only, which also holds for root.
fn read_only(world: &World, arguments: &[&str]) -> Ran {
    let plain = world.command(arguments);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c"]);
    command.arg("mount --bind \"$HOME\" \"$HOME\" && mount -o remount,bind,ro \"$HOME\" && exec \"$@\"").arg("sh");
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(world.project());
    command.env_clear().env("HOME", world.home()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    world.run(command, "")
}

#[test]
fn a_home_that_cannot_be_written() {
    let world = filled();
    for command in [&["undo"][..], &["restore", "/notes/plan.md", "--at", "1 h ago"]] {
        let ran = read_only(&world, command);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("\nhint: "), "{ran}");
        assert!(ran.stderr.contains("cannot be written") || ran.stderr.contains("Read-only"), "{ran}");
        assert_eq!(ran.code, 1, "{ran}");
    }
    for path in ["/notes/new.md", "/disk/README"] {
        let ran = read_only(&world, &["tool", "write_file", &json!({"path": path, "content": "x"}).to_string()]);
        assert!(ran.stdout.starts_with("❌ ERROR: ") && ran.code == 1, "{ran}");
    }
    // What only looks either can, or says why not.
    for command in [&["log"][..], &["audit", "tail"], &["audit", "verify"], &["doctor"], &["backup", "../copy"]] {
        let ran = read_only(&world, command);
        let told = ran.code == 1 && (ran.stderr.contains("\nhint: ") || ran.stdout.contains("→"));
        assert!(ran.code == 0 || told, "{command:?}: {ran}");
    }
    assert_nothing_lost(&world);
}

#[test]
fn a_home_that_never_could_be_written() {
    let world = world();
    let ran = read_only(&world, &["tool", "write_file", r#"{"path": "/disk/README", "content": "x"}"#]);
    assert!(ran.stderr.starts_with("error: cannot use the System Root") && ran.stderr.contains("hint: "), "{ran}");
    assert_eq!((world.read("disk/README").as_str(), ran.code), ("by hand\n", 2));
    assert_eq!(read_only(&world, &["log"]).code, 0);
    assert_eq!(read_only(&world, &["doctor"]).code, 0);
}

/// What a server answers while its database is broken under it, and afterwards.
#[test]
fn a_server_answers_with_errors_and_goes_on() {
    let world = filled();
    let place = backup::place(&world);
    backup::copy_dir(&place, &world.path().join("good"));
    for file in ["state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(place.join(file));
    }
    std::fs::write(state(&world), "no database\n".repeat(2000)).unwrap();
    let mut server = Raw::greeted(&world, &["mcp"]);
    let mut ask = |id: i64, tool: &str, arguments: &Value| {
        server.send(&call(id, tool, arguments));
        let answer = server.receive();
        assert_eq!(answer["id"], id, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(!text.contains("state.db") && !text.contains("paddock-test-"), "{text}");
        (answer["result"]["isError"] == true, text)
    };
    let notes = json!({ "path": "/notes/plan.md" });
    let disk = json!({ "path": "/disk/README" });
    assert!(ask(1, "read_file", &notes).0);
    assert!(ask(2, "list_dir", &json!({ "path": "/notes" })).0);
    assert_eq!(ask(3, "read_file", &disk), (false, "by hand\n".to_owned()), "what needs no database is still read");
    assert!(ask(4, "write_file", &json!({ "path": "/notes/new.md", "content": "x" })).0);
    assert!(ask(5, "write_file", &json!({ "path": "/disk/README", "content": "x" })).0);
    assert_eq!(world.read("disk/README"), "by hand\n", "what cannot be recorded is not done");
    // The copy comes back while it runs.
    std::fs::remove_file(state(&world)).unwrap();
    for file in ["state.db", "state.db-wal"] {
        if world.path().join("good").join(file).exists() {
            std::fs::copy(world.path().join("good").join(file), place.join(file)).unwrap();
        }
    }
    assert_eq!(ask(6, "read_file", &notes), (false, "two\n".to_owned()));
    assert!(!ask(7, "write_file", &json!({ "path": "/notes/new.md", "content": "x" })).0);
    server.end();
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}
