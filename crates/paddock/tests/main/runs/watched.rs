//! Runs that a person looks at: what they are told while it works, and that they are asked where they sit.

use std::fs::File;
use std::io::{Read as _, Write as _};

use serde_json::json;

use super::{answer, call, script};
use crate::harness::World;

const QUESTION: &str = "`paddock approvals` can also edit it and reach further.\r\n";

/// A run that writes, and asks before it removes.
fn tidying() -> (World, Vec<String>) {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let lines = [
        answer("- [ ] write\n- [ ] remove"),
        call("write_file", &json!({ "path": "workspace/note.txt", "content": "hello\n" })),
        answer("written"),
        call("delete_file", &json!({ "path": "workspace/old.txt" })),
        answer("that is all"),
    ];
    let model = script(&world, &lines);
    let arguments = ["run", "tidy up", "--thread", "tidy", "--level", "admin", "--model", &model];
    (world, arguments.map(str::to_owned).to_vec())
}

/// Reads what is told up to these words.
fn told_until(terminal: &mut File, words: &str) -> String {
    let mut told = Vec::new();
    while !told.ends_with(words.as_bytes()) {
        let mut byte = [0];
        let read = terminal.read(&mut byte).unwrap_or(0);
        assert_eq!(read, 1, "it ended without {words:?}: {}", String::from_utf8_lossy(&told));
        told.push(byte[0]);
    }
    String::from_utf8(told).unwrap()
}

/// Has the run ask, and gives these answers, each to a question that ends so. What was told, the answer, and the exit code.
fn asked(world: &World, arguments: &[String], answers: &[(&str, &str)]) -> (String, String, i32) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (child, mut terminal) = world.at_a_terminal(&arguments);
    let mut told = String::new();
    for (question, typed) in answers {
        told += &told_until(&mut terminal, question);
        assert!(world.has("workspace/old.txt"), "nothing is done before the answer");
        terminal.write_all(typed.as_bytes()).unwrap();
    }
    let mut rest = Vec::new();
    // The terminal ends with an error when nobody has its other side any more.
    let _ = terminal.read_to_end(&mut rest);
    told += std::str::from_utf8(&rest).unwrap();
    let output = child.wait_with_output().unwrap();
    (told, String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

#[test]
fn who_agrees_at_the_terminal_has_the_run_go_on() {
    let (world, arguments) = tidying();
    let (told, said, code) = asked(&world, &arguments, &[(QUESTION, "perhaps\n"), (QUESTION, "y\n")]);
    assert_eq!((said.as_str(), code), ("that is all\n", 0), "{told}");
    assert!(told.contains("main wants delete_file /project/workspace/old.txt (risk high)"), "{told}");
    assert!(told.contains("\r\n-one\r\n"), "what would go is shown: {told}");
    assert!(!world.has("workspace/old.txt"));
    let recorded = world.paddock(&["audit", "export"]).stdout;
    assert!(recorded.contains("approvals approve"), "a decision is recorded wherever it is made: {recorded}");
}

#[test]
fn who_refuses_at_the_terminal_has_the_reason_told_to_the_agent() {
    let (world, arguments) = tidying();
    let why = "(the agent is told; Enter for no reason)\r\n";
    let (told, said, code) = asked(&world, &arguments, &[(QUESTION, "n\n"), (why, "we need it\n")]);
    assert_eq!((said.as_str(), code), ("that is all\n", 0), "{told}");
    assert!(world.has("workspace/old.txt"));
    let messages = world.paddock(&["instance", "messages", "tidy", "--jsonl"]);
    assert!(messages.stdout.contains("rejected this call: we need it"), "{messages}");
}

#[test]
fn who_decides_later_leaves_the_run_waiting() {
    let (world, arguments) = tidying();
    let (told, said, code) = asked(&world, &arguments, &[(QUESTION, "\n")]);
    assert_eq!((said.as_str(), code), ("", 3), "{told}");
    assert!(told.contains("The run waits for a decision") && world.has("workspace/old.txt"), "{told}");
    let waiting = world.paddock(&["approvals", "list", "--json"]).json();
    assert_eq!(waiting.as_array().unwrap().len(), 1, "{waiting}");
    // The same question where somebody goes on with it.
    let resume = ["resume", "tidy"].map(str::to_owned);
    let (told, said, code) = asked(&world, &resume, &[(QUESTION, "y\n")]);
    assert_eq!((said.as_str(), code), ("that is all\n", 0), "{told}");
    assert!(!world.has("workspace/old.txt"));
}

/// Lines without what depends on the day: tokens and time are told in brackets behind a step, and alone at the end.
fn lines(told: &str) -> Vec<String> {
    let without = |line: &str| match line.split_once(" tokens, ") {
        Some((before, _)) => before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '(').trim_end().to_owned(),
        None => line.to_owned(),
    };
    told.lines().map(without).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_plan_is_told_with_its_states_as_they_change() {
    let (world, arguments) = tidying();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let frozen = world.paddock(&arguments);
    assert_eq!(frozen.code, 3, "{frozen}");
    let before = [
        "thread tidy",
        "Plan (/project/workspace/todo.md)",
        "  ☐ write",
        "  ☐ remove",
        "  ▶ write",
        "    ✓ write_file File written successfully: /project/workspace/note.txt (6 bytes, new file)",
        "  ✓ write",
        "  ▶ remove",
    ];
    assert_eq!(lines(&frozen.stderr)[..8], before, "{frozen}");
    let used = frozen.stderr.lines().find(|line| line.starts_with("  ✓ write")).unwrap();
    let tokens: u64 = used.split(['(', ' ']).filter_map(|word| word.parse().ok()).next().unwrap();
    assert!(tokens > 0 && used.ends_with(" s)"), "{used}");
    assert_eq!(world.paddock(&["approvals", "approve", "ap-"]).code, 0);
    let done = world.paddock(&["resume", "tidy"]);
    let after = [
        "Plan (/project/workspace/todo.md)",
        "  ✓ write",
        "  ▶ remove",
        "    ✓ delete_file Deleted /project/workspace/old.txt",
        "  ✓ remove",
    ];
    assert_eq!(lines(&done.stderr), after, "{done}");
    let last = done.stderr.lines().last().unwrap();
    assert!(last.contains(" tokens, ") && last.contains(" steps, ") && last.ends_with(" s"), "{last}");
    assert!(!(frozen.stderr + &done.stderr).contains('\u{1b}'), "a file gets no commands to a terminal");
}

#[test]
fn a_command_that_printed_nothing_is_told_with_how_it_ended() {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let remove = call("execute_command", &json!({ "command": "unlink old.txt" }));
    let model = script(&world, &[answer("- [ ] remove"), remove, answer("that is all")]);
    let run = ["run", "tidy up", "--thread", "tidy", "--level", "admin", "--model", &model];
    assert_eq!(world.paddock(&run).code, 3);
    assert_eq!(world.paddock(&["approvals", "approve", "ap-"]).code, 0);
    let done = world.paddock(&["resume", "tidy"]);
    let told = lines(&done.stderr);
    assert_eq!(told[..2], ["Plan (/project/workspace/todo.md)", "  ▶ remove"], "{done}");
    assert!(told[2].starts_with("    ✓ execute_command Exit code 0"), "{done}");
}

#[test]
fn a_step_that_failed_is_told_with_its_reason() {
    let world = World::seed();
    let fail = || call("read_file", &json!({ "path": "workspace/nothing.txt" }));
    let model = script(&world, &[answer("- [ ] look"), fail(), fail(), fail(), answer("- [ ] tell"), answer("no")]);
    let ran = world.paddock(&["run", "look", "--thread", "look", "--model", &model]);
    let told = lines(&ran.stderr);
    assert!(told.iter().any(|line| line == "  ✗ look"), "{ran}");
    assert!(ran.stderr.contains(" s): ❌ ERROR"), "{ran}");
    // The new plan has nothing more of what it replaces.
    let plan = told.iter().rposition(|line| line.starts_with("Plan (")).unwrap();
    assert_eq!(told[plan + 1..], ["  ☐ tell", "  ▶ tell", "  ✓ tell"], "{ran}");
}

#[test]
fn at_a_terminal_a_line_below_tells_the_step_the_tokens_and_the_time() {
    let (world, mut arguments) = tidying();
    let (told, _, code) = asked(&world, &arguments, &[(QUESTION, "y\n")]);
    assert_eq!(code, 0, "{told}");
    let line = told.find("\r\u{1b}[K▶ write · ").unwrap_or_else(|| panic!("{told:?}"));
    let text = told[line..].split('\r').nth(1).unwrap();
    assert!(text.contains(" tokens · ") && text.ends_with(" s"), "{text:?}");
    let question = told.find("main wants").unwrap();
    assert!(told[..question].ends_with("\r\u{1b}[K\r\n"), "the question stands on a line of its own: {told:?}");

    assert_eq!(world.paddock(&["config", "set", "--user", "progress", "never"]).code, 0);
    world.write("workspace/old.txt", "one\n");
    arguments[3] = "again".to_owned();
    let (told, _, code) = asked(&world, &arguments, &[(QUESTION, "y\n")]);
    assert!(code == 0 && told.contains("▶ write") && !told.contains('\u{1b}'), "{told:?}");
}
