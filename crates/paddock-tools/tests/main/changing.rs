//! The tools that change something, and the risk they are recorded with.

use std::sync::Arc;

use paddock_core::{RelPathBuf, Risk};
use paddock_tools::Verdict;
use serde_json::{Value, json};

use crate::setup::{Agent, RW, WO, agent, holding, workspace};

fn writer(files: &[(&str, &[u8])]) -> Agent {
    agent(vec![workspace("/w", RW, holding(files))])
}

fn read(agent: &Agent, path: &str) -> String {
    agent.done("read_file", json!({ "path": path }))
}

#[test]
fn write_creates_and_replaces_and_gives_the_version() {
    let agent = writer(&[]);
    let new = agent.call("write_file", json!({"path": "/w/a/b", "content": "one"}));
    assert_eq!(new.text(), "File written successfully: /w/a/b (3 bytes, new file)");
    assert_eq!((&new.structured["created"], &new.structured["bytes"]), (&json!(true), &json!(3)));
    let replaced = agent.call("write_file", json!({"file_path": "/w/a/b", "content": "two"}));
    assert_eq!(replaced.text(), "File written successfully: /w/a/b (3 bytes, replaced)");
    let seen = agent.call("read_file", json!({"path": "/w/a/b"}));
    assert_eq!((seen.text().as_str(), &seen.structured["version"]), ("two", &replaced.structured["version"]));
}

#[test]
fn a_stale_version_changes_nothing_and_says_what_to_do() {
    let agent = writer(&[("a", b"one")]);
    let version = agent.call("read_file", json!({"path": "/w/a"})).structured["version"].clone();
    agent.done("write_file", json!({"path": "/w/a", "content": "two", "expected_version": version}));
    for (tool, more) in [
        ("write_file", json!({"content": "three"})),
        ("edit_file", json!({"old_string": "two", "new_string": "three"})),
    ] {
        let mut arguments = more;
        arguments["path"] = "/w/a".into();
        arguments["expected_version"] = version.clone();
        let told = agent.refused(tool, arguments);
        assert!(told.contains("read it again"), "{told}");
    }
    assert_eq!(read(&agent, "/w/a"), "two");
    let bad = agent.call("write_file", json!({"path": "/w/a", "content": "x", "expected_version": "latest"}));
    assert_eq!(bad.verdict, Verdict::Invalid);
}

#[test]
fn append_adds() {
    let agent = writer(&[("a", b"one\r\n")]);
    agent.done("append_file", json!({"path": "/w/a", "content": "two\n"}));
    assert_eq!(read(&agent, "/w/a"), "one\r\ntwo\r\n");
    let new = agent.call("append_file", json!({"path": "/w/new", "content": "x"}));
    assert_eq!((new.text().as_str(), &new.structured["created"]), ("Added to /w/new (1 byte, new file)", &json!(true)));
}

#[test]
fn edit_replaces_exactly_and_counts() {
    let agent = writer(&[("a", b"one two one\none")]);
    let all = json!({"path": "/w/a", "old_string": "one", "new_string": "1", "replace_all": true});
    let answer = agent.call("edit_file", all);
    assert_eq!(answer.text(), "File edited successfully: /w/a (3 replacements)");
    assert_eq!(answer.structured["replacements"], 3);
    let several = json!({"path": "/w/a", "edits": [
        {"old_string": "two", "new_string": "2"},
        {"old_string": "absent", "new_string": "x"},
    ]});
    let told = agent.refused("edit_file", several);
    assert!(told.contains("(edit 2)"), "{told}");
    assert_eq!(read(&agent, "/w/a"), "1 two 1\n1", "all or nothing");
}

#[test]
fn an_edit_that_does_not_apply_says_where_and_how() {
    let agent = writer(&[("a", b"x\ny x\n\nx"), ("bin", b"\0x")]);
    let edit =
        |path: &str, old: &str| agent.call("edit_file", json!({"path": path, "old_string": old, "new_string": "new"}));
    let ambiguous = edit("/w/a", "x");
    assert_eq!(
        ambiguous.text(),
        "❌ ERROR: \"/w/a\": old_string is in the file 3 times, on lines 1, 2, 4. Nothing was changed. Add lines around \
         it until it is there once, or set replace_all to true."
    );
    assert_eq!((&ambiguous.structured["matches"], &ambiguous.structured["lines"]), (&json!(3), &json!([1, 2, 4])));
    assert_eq!(
        edit("/w/a", "zz").text(),
        "❌ ERROR: \"/w/a\": old_string is not in the file. Nothing was changed: read it again and copy the text exactly."
    );
    assert!(edit("/w/bin", "x").text().contains("is not text"));
    assert_eq!(edit("/w/none", "x").structured["error"], "not_found");
}

#[test]
fn directories_are_made_moved_and_deleted() {
    let agent = writer(&[("d/x/1", b"1"), ("d/2", b"2"), ("f", b"f")]);
    assert_eq!(agent.done("make_dir", json!({"path": "/w/new/deep"})), "Directory made: /w/new/deep");
    assert_eq!(agent.done("make_dir", json!({"path": "/w/new"})), "Directory is there already: /w/new");
    assert_eq!(agent.done("move_file", json!({"source": "/w/d", "destination": "/w/new/d"})), "Moved /w/d to /w/new/d");
    assert_eq!(read(&agent, "/w/new/d/x/1"), "1");
    let taken = agent.refused("move_file", json!({"source": "/w/f", "destination": "/w/new/d/2"}));
    assert!(taken.contains("exists already"), "{taken}");
    let full = agent.refused("delete_file", json!({"path": "/w/new"}));
    assert!(full.contains("Set recursive to true"), "{full}");
    let gone = agent.call("delete_file", json!({"path": "/w/new", "recursive": true}));
    assert_eq!(gone.text(), "Deleted /w/new and what it held (6 paths)");
    assert_eq!(agent.done("delete_file", json!({"path": "/w/f"})), "Deleted /w/f");
    assert_eq!(agent.done("list_dir", json!({"path": "/w"})), "(empty)");
}

#[test]
fn several_writable_workspaces_are_listed() {
    let agent = agent(vec![
        workspace("/ro", crate::setup::RO, holding(&[])),
        workspace("/a", RW, holding(&[])),
        workspace("/b", WO, holding(&[])),
    ]);
    assert_eq!(
        agent.refused("write_file", json!({"path": "/ro/x", "content": ""})),
        "❌ ERROR: Cannot write to protected path \"/ro/x\". Only /a, /b directories are writable."
    );
    assert_eq!(
        agent.refused("delete_file", json!({"path": "/ro/x"})),
        "❌ ERROR: Cannot delete protected path \"/ro/x\". Only /a directory is open to that."
    );
    assert_eq!(
        agent.refused("write_file", json!({"path": "/x", "content": ""})),
        "❌ ERROR: Can only write to /a, /b. Attempted: /x"
    );
    assert_eq!(
        agent.refused("read_file", json!({"path": "/b/x"})),
        "❌ ERROR: Cannot read \"/b/x\": /b is write-only, so nothing comes back from it. Only /a, /ro directories are \
         readable."
    );
}

#[test]
fn guarded_and_own_names_name_the_rule() {
    let names = paddock_core::NameRules::new(vec![], &[], &[RelPathBuf::parse("paddock.toml").unwrap()]).unwrap();
    let agent = agent(vec![workspace("/w", RW, holding(&[("d/.envrc", b"")])).with_names(names)]);
    let told = agent.refused("write_file", json!({"path": "/w/.git/hooks/pre-commit", "content": ""}));
    assert!(told.contains("guarded path") && told.contains(".git/hooks") && told.contains("unguard"), "{told}");
    let told = agent.refused("edit_file", json!({"path": "/w/paddock.toml", "old_string": "a", "new_string": "b"}));
    assert!(told.contains("belongs to Paddock itself") && told.contains("A person has to do it"), "{told}");
    let told = agent.refused("delete_file", json!({"path": "/w/d", "recursive": true}));
    assert!(told.contains("\"/w/d/.envrc\", which is guarded") && told.contains("nothing was changed"), "{told}");
    let told = agent.refused("delete_file", json!({"path": "/w", "recursive": true}));
    assert!(told.contains("is a Workspace"), "{told}");
}

#[test]
fn content_over_the_limit_is_refused_with_a_way_out() {
    let agent = writer(&[("a", b"a")]);
    let large = "x".repeat(8 * 1024 * 1024 + 1);
    for (tool, arguments) in [
        ("write_file", json!({"path": "/w/a", "content": large})),
        ("append_file", json!({"path": "/w/a", "content": large})),
        ("edit_file", json!({"path": "/w/a", "old_string": "a", "new_string": large})),
    ] {
        let answer = agent.call(tool, arguments);
        assert_eq!(answer.verdict, Verdict::Invalid);
        assert!(
            answer.text().contains("at most 8388608") && answer.text().contains("append_file"),
            "{}",
            answer.text()
        );
    }
    agent.done("write_file", json!({"path": "/w/a", "content": &large[1..]}));
}

#[test]
fn the_risk_of_each_change_is_recorded() {
    let (low, medium, high) = (Risk::Low, Risk::Medium, Risk::High);
    let cases: [(&str, Value, Risk); 16] = [
        ("read_file", json!({"path": "/w/a"}), low),
        ("list_dir", json!({"path": "/w"}), low),
        ("find_files", json!({"path": "/w", "glob": "*"}), low),
        ("search_files", json!({"path": "/w", "pattern": "x"}), low),
        ("write_file", json!({"path": "/w/new", "content": ""}), low),
        ("write_file", json!({"path": "/w/a", "content": ""}), medium),
        ("write_file", json!({"path": "/wo/new", "content": ""}), medium),
        ("write_file", json!({"path": "/wo/a", "content": ""}), medium),
        ("append_file", json!({"path": "/w/a", "content": ""}), low),
        ("append_file", json!({"path": "/w/new", "content": ""}), low),
        ("append_file", json!({"path": "/wo/a", "content": ""}), medium),
        ("edit_file", json!({"path": "/w/a", "old_string": "a", "new_string": "b"}), medium),
        ("edit_file", json!({"path": "/wo/none", "old_string": "a", "new_string": "b"}), medium),
        ("make_dir", json!({"path": "/w/dir"}), low),
        ("move_file", json!({"source": "/w/a", "destination": "/w/b"}), medium),
        ("delete_file", json!({"path": "/w/a"}), high),
    ];
    for (tool, arguments, risk) in cases {
        let store = || holding(&[("a", b"a")]);
        let agent = agent(vec![workspace("/w", RW, store()), workspace("/wo", WO, Arc::clone(&store()) as _)]);
        agent.done(tool, arguments.clone());
        let passed = [low, medium, high].map(|risk| agent.gate.passed(risk));
        let expected = [low, medium, high].map(|each| u64::from(each == risk));
        assert_eq!(passed, expected, "{tool} {arguments}");
    }
}
