//! `search_files`: lines by file, context, cursors that end inside a file.

use paddock_tools::Verdict;
use serde_json::{Value, json};

use crate::setup::{Agent, RO, RW, WO, agent, hiding, holding, workspace};

fn project() -> Agent {
    let outer = holding(&[
        ("a.txt", b"one\ntwo needle\nthree\nfour\nfive\nsix needle\nseven\n"),
        ("b/c.rs", b"needle\nneedle\nNeedle\nneedle\n"),
        ("b/d.rs", b"nothing\n"),
        (".env", b"needle\n"),
        (".gitignore", b"build/\n"),
        ("build/x.txt", b"needle\n"),
    ]);
    agent(vec![
        hiding(workspace("/p", RO, outer), &[".env"]),
        workspace("/p/work", RW, holding(&[("z.txt", b"a needle\n")])),
        workspace("/p/drop", WO, holding(&[("z.txt", b"a needle\n")])),
    ])
}

#[test]
fn matches_stand_below_their_file() {
    insta::assert_snapshot!(project().done("search_files", json!({"path": "/p", "pattern": "needle"})), @r"
    /p/a.txt
    2: two needle
    6: six needle

    /p/b/c.rs
    1: needle
    2: needle
    4: needle

    /p/work/z.txt
    1: a needle
    ");
    let context = json!({"path": "/p/a.txt", "pattern": "need.e", "context": 1});
    insta::assert_snapshot!(project().done("search_files", context), @r"
    /p/a.txt
    1- one
    2: two needle
    3- three
    --
    5- five
    6: six needle
    7- seven
    ");
}

#[test]
fn what_is_searched_can_be_chosen() {
    let count = |more: Value| {
        let mut arguments = json!({"path": "/p", "pattern": "needle"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = project().call("search_files", arguments);
        assert!(!answer.is_error(), "{}", answer.text());
        (answer.structured["matches"].as_u64().unwrap(), answer.structured["files"].as_u64().unwrap())
    };
    assert_eq!(count(json!({})), (6, 3));
    assert_eq!(count(json!({"ignore_case": true})), (7, 3));
    assert_eq!(count(json!({"include_ignored": true})), (7, 4));
    assert_eq!(count(json!({"glob": "*.rs"})), (3, 1));
    assert_eq!(count(json!({"path": "/p/b"})), (3, 1));
    assert_eq!(count(json!({"pattern": "absent"})), (0, 0));
}

#[test]
fn nothing_found_says_where_it_did_not_look() {
    let none =
        |more: bool| project().done("search_files", json!({"path": "/p", "pattern": "zzz", "include_ignored": more}));
    assert_eq!(none(false), "No matches. include_ignored=true also searches what .gitignore leaves out.");
    assert_eq!(none(true), "No matches.");
}

/// Every match as `path:line`, from as many pages as it takes.
fn all_matches(agent: &Agent, arguments: &Value) -> (Vec<String>, usize) {
    let (mut matches, mut pages, mut after) = (Vec::new(), 0, Value::Null);
    loop {
        let mut arguments = arguments.clone();
        arguments["after"] = after;
        let answer = agent.call("search_files", arguments);
        assert!(!answer.is_error(), "{}", answer.text());
        let text = answer.text();
        let mut file = "";
        for line in text.lines().filter(|line| !line.starts_with("more: ")) {
            if line.starts_with('/') {
                file = line;
            } else if let Some((number, _)) = line.split_once(": ") {
                matches.push(format!("{file}:{number}"));
            }
        }
        pages += 1;
        match answer.structured.get("next_after") {
            Some(next) => after = next.clone(),
            None => return (matches, pages),
        }
    }
}

#[test]
fn pages_put_together_are_the_matches_even_where_one_ends_inside_a_file() {
    let agent = project();
    for context in [0, 2] {
        let mut arguments = json!({"path": "/p", "pattern": "needle", "context": context});
        let (whole, pages) = all_matches(&agent, &arguments);
        assert_eq!((whole.len(), pages), (6, 1));
        for limit in 1..=7usize {
            arguments["limit"] = limit.into();
            let (matches, pages) = all_matches(&agent, &arguments);
            assert_eq!(matches, whole, "by {limit}");
            assert_eq!(pages, whole.len().div_ceil(limit), "by {limit}");
        }
    }
}

#[test]
fn a_cursor_that_leads_nowhere_does_no_harm() {
    let search =
        |after: &str| project().call("search_files", json!({"path": "/p", "pattern": "needle", "after": after}));
    assert_eq!(search("/elsewhere/x#3").verdict, Verdict::Invalid);
    assert_eq!(search("/p/drop/z.txt#0").verdict, Verdict::Denied);
    let gone = search("/p/b/gone.rs#1");
    assert_eq!(gone.text(), "/p/work/z.txt\n1: a needle", "{}", gone.text());
    let hidden = search("/p/.env#0");
    assert!(!hidden.is_error() && !hidden.text().contains(".env"), "{}", hidden.text());
    assert_eq!(search("/p/b/c.rs").text(), "/p/work/z.txt\n1: a needle");
}

#[test]
fn output_stays_within_a_page() {
    let text = format!("needle {}\n", "x".repeat(400)).repeat(2000);
    let agent = agent(vec![workspace("/", RO, holding(&[("f", text.as_bytes())]))]);
    let arguments = json!({"path": "/", "pattern": "needle", "limit": 2000});
    let first = agent.call("search_files", arguments.clone());
    assert!(first.text().len() < 300 * 1024, "{}", first.text().len());
    assert_eq!(first.structured["truncated"], true);
    let (matches, pages) = all_matches(&agent, &arguments);
    assert_eq!(matches.len(), 2000);
    assert!(pages > 1);
}

#[test]
fn a_cursor_leads_only_so_far_into_a_file() {
    let agent = agent(vec![workspace("/", RO, holding(&[("f", "\n".repeat(40_000).as_bytes())]))]);
    let search = |more: Value| {
        let mut arguments = json!({"path": "/", "pattern": "^"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent.call("search_files", arguments)
    };
    for after in ["/f#4294967295", "/f#20001"] {
        let far = search(json!({"after": after}));
        assert_eq!(far.verdict, Verdict::Invalid, "{after}");
        assert!(far.text().contains("use a narrower pattern"), "{}", far.text());
    }
    let wide = search(json!({"after": "/f#100", "context": 100}));
    assert_eq!(wide.verdict, Verdict::Invalid, "passing over as many matches with their context holds more lines");

    let before = search(json!({"after": "/f#19900"}));
    assert_eq!(before.structured["next_after"], "/f#20000");
    let last = search(json!({"after": "/f#20000"}));
    assert!(last.text().contains("\n20001: \n"), "{}", last.text());
    assert_eq!((&last.structured["matches"], &last.structured["truncated"]), (&json!(100), &json!(true)));
    assert_eq!(last.structured.get("next_after"), None);
    assert!(
        last.text().ends_with("more: /f has too many matches to go on: use a narrower pattern, or less context"),
        "{}",
        last.text()
    );
}

#[test]
fn context_lowers_how_many_matches_make_a_page() {
    let text = "needle\n".to_owned() + &"\n".repeat(200);
    let agent = agent(vec![workspace("/", RO, holding(&[("f", text.repeat(120).as_bytes())]))]);
    let arguments = json!({"path": "/", "pattern": "needle", "context": 100, "limit": 10_000});
    let first = agent.call("search_files", arguments.clone());
    assert_eq!((&first.structured["matches"], &first.structured["next_after"]), (&json!(99), &json!("/f#99")));
    let (matches, pages) = all_matches(&agent, &arguments);
    assert_eq!((matches.len(), pages), (120, 2));
}

#[test]
fn bad_patterns_are_named() {
    let told = |pattern: &str| project().call("search_files", json!({"path": "/p", "pattern": pattern}));
    let open = told("a(b");
    assert_eq!(open.verdict, Verdict::Invalid);
    assert!(open.text().contains("The pattern cannot be used"), "{}", open.text());
    assert!(told("").text().contains("is empty"));
    assert!(told(&"x".repeat(5000)).text().contains("at most 4096"));
    let wide = project().call("search_files", json!({"path": "/p", "pattern": "x", "context": 101}));
    assert_eq!(wide.verdict, Verdict::Invalid);
}
