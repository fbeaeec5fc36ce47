//! How much a call takes away: very much is a high risk, and ordinary work is not.

use paddock_core::Risk;
use serde_json::{Value, json};

use crate::setup::{Agent, RW, WO, agent, holding, workspace};

fn lines(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("line {n}\n")).collect()
}

/// An agent with a file of so many lines and a directory of so many files, which somebody else made.
fn with(file: usize, files: usize) -> Agent {
    let content = lines(0, file);
    let names: Vec<String> = (0..files).map(|n| format!("many/{n:05}")).collect();
    let many = names.iter().map(|name| (name.as_str(), b"x".as_slice()));
    let all: Vec<(&str, &[u8])> = std::iter::once(("long.txt", content.as_bytes())).chain(many).collect();
    agent(vec![workspace("/w", RW, holding(&all))])
}

/// The risk that a call was let through with.
fn risk(agent: &Agent, tool: &str, arguments: Value) -> Risk {
    agent.done(tool, arguments);
    let found: Vec<Risk> =
        [Risk::Low, Risk::Medium, Risk::High].into_iter().filter(|risk| agent.gate.passed(*risk) > 0).collect();
    assert_eq!(found.len(), 1, "one call, one plan: {found:?}");
    found[0]
}

fn written(content: &str) -> Value {
    json!({"path": "/w/long.txt", "content": content})
}

#[test]
fn a_file_that_loses_very_many_lines_is_a_high_risk() {
    assert_eq!(risk(&with(2001, 0), "write_file", written("nothing of it\n")), Risk::High);
    assert_eq!(risk(&with(2000, 0), "write_file", written("nothing of it\n")), Risk::Medium);
    // Most of it is still there, wherever that is now.
    let moved = format!("{}{}new\n", lines(4000, 9000), lines(500, 4000));
    assert_eq!(risk(&with(9000, 0), "write_file", written(&moved)), Risk::Medium);
    assert_eq!(risk(&with(9000, 0), "write_file", written(&lines(0, 6999))), Risk::High);
}

#[test]
fn an_edit_counts_by_what_it_replaces() {
    let every = json!({"path": "/w/long.txt", "old_string": "line", "new_string": "row", "replace_all": true});
    assert_eq!(risk(&with(2500, 0), "edit_file", every.clone()), Risk::High);
    assert_eq!(risk(&with(1500, 0), "edit_file", every), Risk::Medium);
    let one = json!({"path": "/w/long.txt", "old_string": "line 77\n", "new_string": ""});
    assert_eq!(risk(&with(9000, 0), "edit_file", one), Risk::Medium);
    let most = json!({"path": "/w/long.txt", "edits": [{"old_string": lines(10, 2500), "new_string": ""}]});
    assert_eq!(risk(&with(9000, 0), "edit_file", most), Risk::High);
}

#[test]
fn an_edit_of_what_is_too_large_to_be_compared_counts_by_all_that_it_can_take() {
    let large = "something else\n".repeat((9 << 20) / 15) + "the only one\n";
    let edited = |arguments: Value| {
        risk(&agent(vec![workspace("/w", RW, holding(&[("long.txt", large.as_bytes())]))]), "edit_file", arguments)
    };
    let every = json!({"path": "/w/long.txt", "old_string": "else", "new_string": "", "replace_all": true});
    assert_eq!(edited(every), Risk::High);
    let one = json!({"path": "/w/long.txt", "old_string": "the only one", "new_string": ""});
    assert_eq!(edited(one), Risk::Medium);
}

#[test]
fn padding_takes_no_lines_out_of_sight() {
    let over = |old: &str, new: &str| {
        risk(&agent(vec![workspace("/w", RW, holding(&[("long.txt", old.as_bytes())]))]), "write_file", written(new))
    };
    let (padding, most) = ("-".repeat(8_500_000), 8 << 20);
    let (padded, other) = (format!("{}{padding}", lines(0, 3000)), format!("{}{padding}", lines(0, 1500)));
    assert_eq!(over(&padded, &padding[..most]), Risk::High);
    assert_eq!(over(&other, &other[..most]), Risk::Medium);
}

#[test]
fn what_is_no_text_counts_by_its_bytes() {
    let image = vec![0_u8; (1 << 20) + 1];
    let over = |old: &[u8]| {
        let agent = agent(vec![workspace("/w", RW, holding(&[("long.txt", old)]))]);
        risk(&agent, "write_file", written("x"))
    };
    assert_eq!((over(&image), over(&image[1..])), (Risk::High, Risk::Medium));
    // One line can be long too.
    assert_eq!(over("x".repeat(1 << 20).as_bytes()), Risk::High);
}

#[test]
fn a_directory_that_takes_very_many_paths_along_is_a_high_risk() {
    let moves = || json!({"source": "/w/many", "destination": "/w/elsewhere"});
    assert_eq!(risk(&with(1, 1000), "move_file", moves()), Risk::High);
    assert_eq!(risk(&with(1, 999), "move_file", moves()), Risk::Medium);
}

#[test]
fn adding_is_never_much_and_nothing_is_told_of_a_write_only_place() {
    let appended = json!({"path": "/w/long.txt", "content": lines(0, 5000)});
    assert_eq!(risk(&with(9000, 0), "append_file", appended), Risk::Low);
    let new = json!({"path": "/w/new.txt", "content": lines(0, 5000)});
    assert_eq!(risk(&with(9000, 0), "write_file", new), Risk::Low);
    let content = lines(0, 9000);
    let blind = agent(vec![workspace("/w", WO, holding(&[("long.txt", content.as_bytes())]))]);
    assert_eq!(risk(&blind, "write_file", written("x")), Risk::Medium);
}
