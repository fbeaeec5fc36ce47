//! What something costs, counted and not timed: rows that are written, and locks that are held.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::json;

use crate::client::{Raw, call};
use crate::harness::{World, eventually};

const CONFIG: &str = "[[workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = { virtual = \"notes\" }\n\
     [[workspace]]\nprefix = \"/files\"\nscope = \"RW\"\nmount = { physical = \"files\" }\n";

/// A database of the project's state.
fn database(world: &World, name: &str) -> PathBuf {
    let mut places = std::fs::read_dir(world.home().join(".paddock/workspaces")).unwrap();
    places.next().unwrap().unwrap().path().join(name)
}

/// How many rows all tables of the project's state have.
fn rows(world: &World) -> i64 {
    let count = |name: &str| {
        let database = Connection::open(database(world, name)).unwrap();
        let ask = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let mut tables = database.prepare(ask).unwrap();
        let tables: Vec<String> = tables.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let of_table = |table: &String| -> i64 {
            database.query_row(&format!("SELECT count(*) FROM \"{table}\""), (), |row| row.get(0)).unwrap()
        };
        tables.iter().map(of_table).sum::<i64>()
    };
    count("state.db") + count("content.db")
}

/// How many rows it takes to fork a Workspace that holds so many files.
fn rows_of_a_fork(workspace: &str, files: i64) -> i64 {
    let world = World::configured(CONFIG);
    let mut client = Raw::greeted(&world, &["mcp"]);
    for n in 0..files {
        let arguments = json!({ "path": format!("{workspace}/d{}/{n}.txt", n % 7), "content": format!("file {n}\n") });
        client.send(&call(n + 1, "write_file", &arguments));
        let answer = client.receive();
        assert_ne!(answer["result"]["isError"], json!(true), "{answer}");
    }
    client.end();
    let before = rows(&world);
    assert!(before > files, "the rows are not counted: {before}");
    let forked = world.paddock(&["fork", workspace, "try"]);
    assert_eq!(forked.code, 0, "{forked}");
    let after = rows(&world);
    // It is there: the last file is seen through the fork.
    let last = format!("/forks/try/d{}/{}.txt", (files - 1) % 7, files - 1);
    let read = world.paddock(&["tool", "read_file", &json!({ "path": last }).to_string()]);
    assert!(read.stdout.contains(&format!("file {}", files - 1)), "{read}");
    after - before
}

#[test]
fn a_fork_writes_the_same_rows_for_few_files_and_for_many() {
    for workspace in ["/notes", "/files"] {
        let (few, many) = (rows_of_a_fork(workspace, 3), rows_of_a_fork(workspace, 150));
        assert_eq!(few, many, "{workspace}");
        assert!(few < 20, "{workspace}: {few}");
    }
}

#[test]
fn contents_that_are_being_written_hold_up_no_ledger() {
    let world = World::configured(CONFIG);
    let write = |path: &str, content: &str| {
        let arguments = json!({ "path": path, "content": content }).to_string();
        world.command(&["tool", "write_file", &arguments])
    };
    let large = "large ".repeat(20_000);
    assert_eq!(world.run(write("/notes/first.txt", &large), "").code, 0);
    let content = database(&world, "content.db");
    // As somebody does whose large content is being written, and takes its time.
    let busy = Connection::open(&content).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waits = write("/notes/second.txt", &large).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let turn = File::open(content.with_extension("db.turn")).unwrap();
    let has_its_turn = || match turn.try_lock() {
        Ok(()) => turn.unlock().is_err(),
        Err(_) => true,
    };
    assert!(eventually(has_its_turn), "the large content does not go into a database of its own");
    // It waits for the contents, and whoever is recorded meanwhile waits for nobody.
    let recorded = world.run(write("/files/small.txt", "small\n"), "");
    assert_eq!(recorded.code, 0, "{recorded}");
    assert!(world.paddock(&["log", "/files/small.txt"]).stdout.contains("/files/small.txt"));
    assert!(waits.try_wait().unwrap().is_none(), "it did not wait for its contents");
    busy.execute_batch("ROLLBACK").unwrap();
    assert!(waits.wait().unwrap().success());
}
