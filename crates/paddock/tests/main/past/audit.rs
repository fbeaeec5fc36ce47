//! `paddock audit`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{calls, plain, world, write};
use crate::client::{Raw, call};
use crate::harness::World;

fn database(world: &World) -> std::path::PathBuf {
    super::backup::place(world).join("state.db")
}

#[test]
fn every_call_is_there_with_what_became_of_it() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    assert_eq!(world.paddock(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#]).code, 1);
    assert_eq!(world.paddock(&["tool", "\u{1b}[2Jno\nsuch", "{}"]).code, 2);
    assert_eq!(world.paddock(&["tool", "read_file", r#"{"path": "/notes/\u001b[2J"}"#]).code, 1);
    assert_eq!(world.paddock(&["undo"]).code, 0);
    let tail = world.paddock(&["audit", "tail"]);
    assert!(!tail.stdout.contains('\u{1b}'), "{tail}");
    insta::assert_snapshot!(plain(&tail), @r#"
    [time]  begun    [call 1]  main      write                    /notes/plan.md
    [time]  done     [call 1]  main      write_file          4 B  /notes/plan.md
    [time]  denied   [call 2]  main      read_file           0 B  /etc/passwd  (no Workspace)
    [time]  invalid  [call 3]  main      \u{1b}[2Jno\u{a}such        0 B    (tool)
    [time]  denied   [call 4]  main      read_file           0 B  /notes/\u{1b}[2J  (path)
    [time]  begun    [call 5]  main      undo                     /notes/plan.md  (by a person)
    [time]  done     [call 5]  main      undo                0 B  /notes/plan.md  (by a person)
    [exit 0]
    "#);
    insta::assert_snapshot!(plain(&world.paddock(&["audit", "verify"])), @"
    ✓ 7 rows in 5 chains, as they were written
    [exit 0]
    ");
}

#[test]
fn a_query_finds_what_fits() {
    let world = world();
    assert_eq!(world.paddock(&["audit", "query", "--json"]).json(), json!([]));
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    assert!(!world.home().join(".paddock").exists(), "looking makes nothing");
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/disk/a.txt", "a\n");
    assert_eq!(world.paddock(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#]).code, 1);
    let count = |options: &[&str]| {
        let ran = world.paddock(&[&["audit", "query", "--json"], options].concat());
        ran.json().as_array().unwrap().len()
    };
    let id = calls(&world)[0].clone();
    for (options, expected) in [
        (&[][..], 5),
        (&["--agent", "main"], 5),
        (&["--agent", "other"], 0),
        (&["--outcome", "denied"], 1),
        (&["--tool", "write_file"], 2),
        (&["--path", "/notes"], 2),
        (&["--path", "notes/plan.md"], 2),
        (&["--workspace", "/disk", "--outcome", "done"], 1),
        (&["--call", &id], 2),
        (&["--call", &id[..22]], 2),
        (&["--since", "1 h ago"], 5),
        (&["--until", "1 h ago"], 0),
        (&["--limit", "2"], 2),
    ] {
        assert_eq!(count(options), expected, "{options:?}");
    }
    let cut = world.paddock(&["audit", "query", "--limit", "2"]);
    assert!(cut.stderr.contains("there may be more: raise --limit"), "{cut}");
    assert_eq!(world.paddock(&["audit", "query", "--limit", "0"]).code, 2);
    let stranger = world.paddock(&["audit", "query", "--agent", "mian"]);
    assert!(stranger.stderr.contains("no row fits; the configuration has no agent \"mian\", only main"), "{stranger}");
    insta::assert_snapshot!(world.paddock(&["audit", "query", "--since", "soon"]), @r#"
    [stderr]
    error: "soon" is no moment
    hint: write "2026-11-15 12:30", "10 min ago" or 2026-11-15T12:30:00Z
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["audit", "query", "--call", "x"]), @r#"
    [stderr]
    error: no call that changed anything has the id "x"
    hint: see `paddock log` for the calls there are
    [exit 1]
    "#);
}

#[test]
fn what_was_tampered_with_is_found() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/notes/plan.md", "two\n");
    let db = Connection::open(database(&world)).unwrap();
    let deceiving =
        "UPDATE audit_row SET agent = ?1, tool = ?1, path = ?1, outcome = ?1, reason = ?1 WHERE chain = 1 AND seq = 2";
    assert_eq!(db.execute(deceiving, ["\u{1b}[2J\u{202e}"]).unwrap(), 1);
    drop(db);
    let tail = world.paddock(&["audit", "tail"]).stdout;
    assert!(!tail.contains(['\u{1b}', '\u{202e}']) && tail.matches("\\u{1b}[2J\\u{202e}").count() == 5, "{tail}");
    insta::assert_snapshot!(world.paddock(&["audit", "verify"]), @"
    ✗ row 2 of chain 1 was changed
    [stderr]
    error: the audit is not as it was written: 1 thing is wrong
    hint: find out who can write the System Root; after putting back an older copy yourself, run `paddock audit accept`
    [exit 1]
    ");
    let report = world.paddock(&["audit", "verify", "--json"]);
    assert_eq!((report.code, &report.json()["ok"]), (1, &json!(false)), "{report}");
    assert_eq!(report.json()["findings"][0], json!({"finding": "changed", "chain": 1, "seq": 2}));
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("✗ audit: it is not as it was written") && doctor.code == 1, "{doctor}");
}

#[test]
fn an_older_copy_is_found_and_a_person_may_accept_it() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let place = super::backup::place(&world);
    let older = place.with_extension("older");
    super::backup::copy_dir(&place, &older);
    write(&world, "/notes/plan.md", "two\n");
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::rename(&older, &place).unwrap();
    // The head is beside the key, so that the older copy does not bring an older one.
    let ran = world.paddock(&["audit", "verify"]);
    assert!(ran.stdout.contains("rolled back") && ran.stderr.contains("paddock audit accept"), "{ran}");
    assert_eq!(ran.code, 1);
    assert_eq!(world.paddock(&["audit", "accept"]).code, 0);
    // What is as it was written leaves no mark for good.
    insta::assert_snapshot!(world.paddock(&["audit", "accept"]), @"
    [stderr]
    error: there is nothing to accept: the audit is as it was written
    hint: nothing was changed; it is for an older copy that you put back yourself
    [exit 1]
    ");
    insta::assert_snapshot!(world.paddock(&["audit", "verify"]), @"
    ⚠ a person took the audit as it was, 1 time
    ✓ 2 rows in 1 chain, as they were written
    [exit 0]
    ");
}

#[test]
fn an_export_holds_every_row_and_replaces_nothing() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let printed = world.paddock(&["audit", "export"]);
    let rows: Vec<Value> = printed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((rows.len(), &rows[1]["tool"]), (2, &json!("write_file")), "{printed}");
    let ran = world.paddock(&["audit", "export", "../rows.jsonl"]);
    assert!(ran.stderr.starts_with("wrote 2 rows to") && ran.stdout.is_empty(), "{ran}");
    let file = world.path().join("rows.jsonl");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), printed.stdout);
    let again = world.paddock(&["audit", "export", "../rows.jsonl"]);
    assert!(again.stderr.contains("cannot make") && again.code == 1, "{again}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), printed.stdout);
}

#[test]
fn following_shows_the_rows_that_come_and_ends_with_its_reader() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let mut command = world.command(&["audit", "tail", "--follow", "--json", "-n", "1"]);
    let mut follower = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["tool"], "write_file");
    write(&world, "/notes/plan.md", "two\n");
    let (begun, done) = (next(), next());
    assert_eq!((&begun["kind"], &done["kind"]), (&json!("intent"), &json!("outcome")));
    assert_eq!(begun["call"], done["call"]);
    drop(lines);
    write(&world, "/notes/plan.md", "three\n");
    assert!(follower.wait().unwrap().success(), "nobody reads it any more");
}

/// A tool that there is none of is a call too, and so is what was denied right before the end.
#[test]
fn the_last_calls_of_a_connection_are_recorded_also_mistaken_ones() {
    let world = World::configured("[[workspace]]\nprefix = \"/p\"\nscope = \"RO\"\nmount = { physical = \".\" }\n");
    let mut raw = Raw::greeted(&world, &["mcp"]);
    raw.send(&call(1, "teleport", &json!({})));
    raw.receive();
    raw.send(&call(2, "read_file", &json!({"path": "/etc/shadow"})));
    raw.receive();
    raw.end();
    let rows = world.paddock(&["audit", "query", "--json"]).stdout;
    for part in ["teleport", "/etc/shadow"] {
        assert!(rows.contains(part), "{part} in {rows}");
    }
}

#[test]
fn a_database_that_was_taken_away_is_noticed() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    let database = database(&world);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", database.display()));
    }
    let verified = world.paddock(&["audit", "verify"]);
    assert_eq!(verified.code, 1, "{verified}");
}

#[test]
fn a_place_that_was_taken_away_whole_is_noticed() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let place = super::backup::place(&world);
    std::fs::remove_dir_all(&place).unwrap();
    let verified = world.paddock(&["audit", "verify"]);
    assert!(verified.stderr.contains("was taken away") && verified.code == 1, "{verified}");
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("✗ audit: ") && doctor.code == 1, "{doctor}");
    // An agent that goes on does not make it good again.
    write(&world, "/notes/plan.md", "two\n");
    let verified = world.paddock(&["audit", "verify"]);
    assert!(verified.stdout.contains("rolled back") && verified.code == 1, "{verified}");
}

#[test]
fn a_person_may_remove_old_rows_and_that_stays_on_record() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/notes/plan.md", "two\n");
    assert_eq!(world.paddock(&["audit", "prune", "--before", "1 day ago"]).stdout, "removed 0 rows in 0 chains\n");
    let soon = "2100-01-01";
    let asked = world.paddock(&["audit", "prune", "--before", soon]);
    assert!(asked.stderr.contains("4 rows in 2 chains ended before") && asked.code == 2, "{asked}");
    assert_eq!(world.paddock(&["audit", "query", "--json"]).json().as_array().unwrap().len(), 4);
    let removed = world.paddock(&["audit", "prune", "--before", soon, "--yes"]);
    assert_eq!((removed.stdout.as_str(), removed.code), ("removed 4 rows in 2 chains\n", 0), "{removed}");
    write(&world, "/notes/plan.md", "three\n");
    insta::assert_snapshot!(world.paddock(&["audit", "verify"]), @"
    ⚠ a person had 4 rows in 2 chains removed
    ✓ 2 rows in 1 chain, as they were written
    [exit 0]
    ");
    // The history is another matter.
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!(world.paddock(&["audit", "prune", "--before", "someday"]).code, 2);
}

/// A new key in its place would make everything look forged, and nobody would know why.
#[test]
fn a_key_that_is_gone_is_noticed_and_not_replaced() {
    let world = world();
    write(&world, "/notes/plan.md", "one\n");
    let key = world.home().join(".paddock/secrets/audit.key");
    let kept = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    insta::assert_snapshot!(world.paddock(&["audit", "verify"]), @r#"
    [stderr]
    error: the key of the audit is gone: there is no "[world]/home/.paddock/secrets/audit.key", and rows were signed with it
    hint: put it back from a copy: until then nothing is done that has to be recorded, and the rows can be read and not verified
    [exit 1]
    "#);
    assert_eq!(world.paddock(&["audit", "accept"]).code, 1);
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("✗ audit: the key of the audit is gone") && doctor.code == 1, "{doctor}");
    let arguments = json!({ "path": "/notes/plan.md", "content": "two\n" }).to_string();
    let refused = world.paddock(&["tool", "write_file", &arguments]);
    assert!(refused.stderr.contains("the key of the audit is gone") && refused.code == 2, "{refused}");
    assert_eq!(world.paddock(&["mcp"]).code, 2);
    assert!(!key.exists(), "no new one is made");
    // What was recorded can be read.
    assert!(world.paddock(&["audit", "tail"]).stdout.contains("/notes/plan.md"));
    assert_eq!(world.paddock(&["log"]).code, 0);
    write_private(&key, &kept);
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    assert_eq!(super::read(&world, "/notes/plan.md").unwrap(), "one\n");
}

fn write_private(path: &std::path::Path, content: &[u8]) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, content).unwrap();
}
