//! At a terminal the person is asked, and the answer counts.

use std::io::{Read as _, Write as _};

use super::{files, project};
use crate::harness::World;

/// Waits for the question, lets something happen, and answers.
fn answered(world: &World, arguments: &[&str], meanwhile: impl FnOnce(), answer: &str) -> (i32, String) {
    let (child, mut terminal) = world.at_a_terminal(arguments);
    let mut told = Vec::new();
    while !told.ends_with(b"[y/N]\r\n") {
        let mut byte = [0];
        assert_eq!(terminal.read(&mut byte).unwrap(), 1);
        told.push(byte[0]);
    }
    meanwhile();
    terminal.write_all(answer.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_answer_of_the_person_counts() {
    let world = project();
    let before = files(&world.project());
    for no in ["\n", "n\n", "connect\n"] {
        let (code, told) = answered(&world, &["connect", "codex"], || {}, no);
        assert!(code == 1 && told.ends_with("nothing was written\n"), "{told}");
        assert_eq!(files(&world.project()), before);
    }
    let (code, told) = answered(&world, &["connect", "codex"], || {}, "y\n");
    assert!(code == 0 && told.contains("+shell_tool = false") && told.contains("connected Codex"), "{told}");
    let (code, _) = answered(&world, &["connect", "codex", "--undo"], || {}, "n\n");
    assert!(code == 1 && world.has(".codex/config.toml"));
    let (code, told) = answered(&world, &["connect", "codex", "--undo"], || {}, "yes\n");
    assert!(code == 0 && told.contains("taken back"), "{told}");
    assert_eq!(files(&world.project()), before);
}

/// What the person agreed to is what they saw: a file that somebody changed in between is not overwritten.
#[test]
fn what_was_changed_while_the_person_thought_is_not_overwritten() {
    let world = project();
    let change = || world.write(".codex/config.toml", "model = \"mine\"\n");
    let (code, _) = answered(&world, &["connect", "codex"], change, "y\n");
    assert_eq!(code, 1);
    assert_eq!(world.read(".codex/config.toml"), "model = \"mine\"\n");
    assert!(!world.home().join(".paddock/connections").exists());
}
