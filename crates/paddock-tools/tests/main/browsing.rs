//! `list_dir` and `find_files`: lines, marks, pages, nested Workspaces.

use std::sync::Arc;

use paddock_stores::doubles::Denying;
use paddock_tools::Verdict;
use serde_json::{Value, json};

use crate::setup::{Agent, RO, RW, WO, agent, agent_at, hiding, holding, plant, workspace};

fn project() -> Agent {
    let outer = holding(&[
        ("README.md", b"r"),
        ("src/main.rs", b"m"),
        ("src/deep/lib.rs", b"l"),
        ("src-old/x.rs", b"x"),
        ("empty/", b""),
        (".env", b"SECRET"),
        (".gitignore", b"ignored/\n"),
        ("ignored/big.rs", b"i"),
        ("work/shadowed.rs", b"never seen"),
    ]);
    outer.plant_link("link", "README.md");
    agent_at(
        "/p",
        vec![
            hiding(workspace("/p", RO, outer), &[".env"]),
            workspace("/p/work", RW, holding(&[("mine.rs", b"w")])),
            workspace("/p/work/drop", WO, holding(&[("told.rs", b"never")])),
        ],
    )
}

#[test]
fn a_listing_is_lines_with_marks() {
    insta::assert_snapshot!(project().done("list_dir", json!({"path": "/p"})), @r"
    .gitignore
    README.md
    empty/
    ignored/
    link@
    src/
    src-old/
    work/ [read-write Workspace]
    ");
    insta::assert_snapshot!(project().done("list_dir", json!({"path": "/p/src", "depth": 2})), @r"
    deep/
    deep/lib.rs
    main.rs
    ");
    insta::assert_snapshot!(project().done("list_dir", json!({"path": "/p", "depth": 99})), @r"
    .gitignore
    README.md
    empty/
    ignored/
    ignored/big.rs
    link@
    src/
    src/deep/
    src/deep/lib.rs
    src/main.rs
    src-old/
    src-old/x.rs
    work/ [read-write Workspace]
    work/drop/ [write-only Workspace]
    work/mine.rs
    ");
}

#[test]
fn above_every_workspace_only_the_way_down_is_shown() {
    assert_eq!(project().done("list_dir", json!({"path": "/"})), "p/ [read-only Workspace]");
    let deep = agent(vec![workspace("/a/b/c", RW, holding(&[("f", b"")]))]);
    assert_eq!(deep.done("list_dir", json!({"path": "/"})), "a/");
    assert_eq!(
        deep.done("list_dir", json!({"path": "/", "depth": 9})),
        "a/\na/b/\na/b/c/ [read-write Workspace]\na/b/c/f"
    );
    assert_eq!(deep.refused("list_dir", json!({"path": "/x"})), "❌ ERROR: Can only list /a/b/c. Attempted: /x");
}

#[test]
fn finding_gives_paths_to_call_with() {
    let found = project().done("find_files", json!({"path": ".", "glob": "*.rs"}));
    assert_eq!(found, "/p/src/deep/lib.rs\n/p/src/main.rs\n/p/src-old/x.rs\n/p/work/mine.rs");
    for path in found.lines() {
        project().done("read_file", json!({ "path": path }));
    }
    let all = project().done("find_files", json!({"path": "/p", "glob": "**/*.rs", "include_ignored": true}));
    assert!(all.contains("/p/ignored/big.rs") && !all.contains("shadowed") && !all.contains("told.rs"), "{all}");
    let none = project().done("find_files", json!({"path": "/p", "glob": "*.py"}));
    assert_eq!(none, "No file matches. include_ignored=true also looks at what .gitignore leaves out.");
    assert_eq!(project().call("find_files", json!({"path": "/p", "glob": "a["})).verdict, Verdict::Invalid);
}

/// Follows the cursors and puts the pages together.
fn all_pages(agent: &Agent, tool: &str, arguments: &Value) -> (Vec<String>, usize) {
    let (mut lines, mut pages, mut after) = (Vec::new(), 0, Value::Null);
    loop {
        let mut arguments = arguments.clone();
        arguments["after"] = after;
        let answer = agent.call(tool, arguments);
        assert!(!answer.is_error(), "{}", answer.text());
        lines.extend(answer.text().lines().filter(|line| !line.starts_with("more: ")).map(str::to_owned));
        pages += 1;
        match answer.structured.get("next_after") {
            Some(next) => {
                assert_eq!(answer.structured["truncated"], true);
                assert!(answer.text().ends_with(&format!("more: use after={next}")), "{}", answer.text());
                after = next.clone();
            }
            None => return (lines, pages),
        }
    }
}

#[test]
fn pages_put_together_are_the_listing() {
    let agent = project();
    for (tool, mut arguments) in [
        ("list_dir", json!({"path": "/p"})),
        ("list_dir", json!({"path": "/p", "depth": 9})),
        ("list_dir", json!({"path": "/", "depth": 9})),
        ("find_files", json!({"path": "/p", "glob": "*"})),
    ] {
        let whole: Vec<String> = agent.done(tool, arguments.clone()).lines().map(str::to_owned).collect();
        for limit in 1..=whole.len() + 1 {
            arguments["limit"] = limit.into();
            let (lines, pages) = all_pages(&agent, tool, &arguments);
            assert_eq!(lines, whole, "{tool} by {limit}");
            assert_eq!(pages, whole.len().div_ceil(limit), "{tool} by {limit}");
        }
    }
}

#[test]
fn a_listing_never_outgrows_a_page() {
    let name = |i: usize| format!("{i:05}{}", "n".repeat(200));
    let store = holding(&[]);
    for i in 0..2000 {
        plant(&store, &name(i), b"");
    }
    let agent = agent(vec![workspace("/", RO, store)]);
    let first = agent.call("list_dir", json!({"path": "/", "limit": 2000}));
    assert!(first.text().len() < 300 * 1024 && first.structured["truncated"] == true);
    let (lines, pages) = all_pages(&agent, "list_dir", &json!({"path": "/", "limit": 2000}));
    assert_eq!((lines.len(), pages), (2000, 2));
    assert_eq!(lines[1999], name(1999));
}

#[test]
fn by_default_a_thousand_entries_are_shown() {
    let store = holding(&[]);
    for i in 0..1001 {
        plant(&store, &format!("{i:04}"), b"");
    }
    let answer = agent(vec![workspace("/", RO, store)]).call("list_dir", json!({"path": "/"}));
    assert_eq!(answer.structured["entries"], 1000);
    assert!(answer.text().ends_with("\n0999\nmore: use after=\"/0999\""));
}

#[test]
fn a_workspace_that_cannot_be_reached_is_mentioned() {
    let agent =
        agent(vec![workspace("/p", RO, holding(&[("a", b"x")])), workspace("/p/broken", RO, Arc::new(Denying::new()))]);
    let told = agent.done("list_dir", json!({"path": "/p", "depth": 3}));
    assert_eq!(told, "a\nbroken/ [read-only Workspace]\ncould not look into: /p/broken");
    let told = agent.done("find_files", json!({"path": "/p", "glob": "*"}));
    assert_eq!(told, "/p/a\ncould not look into: /p/broken");
    let told = agent.done("search_files", json!({"path": "/p", "pattern": "x"}));
    assert_eq!(told, "/p/a\n1: x\ncould not look into: /p/broken");
}

#[test]
fn listing_a_file_says_what_to_use() {
    let told = project().refused("list_dir", json!({"path": "/p/README.md"}));
    assert!(told.contains("read_file reads files"), "{told}");
    assert_eq!(project().call("list_dir", json!({"path": "/p", "depth": 0})).verdict, Verdict::Invalid);
}
