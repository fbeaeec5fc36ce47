//! Changes of a command that stop half-way, and the way back from those that did not, as a person sees it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::World;

fn world(more: &str) -> World {
    World::configured(&format!(
        "base = \"/project\"\n[[workspace]]\nprefix = \"/project\"\nscope = \"RW\"\n\
         mount = {{ physical = \"work\" }}\n{more}\n[commands]\n"
    ))
}

fn execute(world: &World, command: &str) -> Value {
    world.paddock(&["tool", "execute_command", &json!({ "command": command }).to_string(), "--json"]).json()
}

#[track_caller]
fn done(answer: &Value) {
    assert_eq!(answer["verdict"], "done", "{answer:#}");
}

/// The names in the Workspace, without those that an agent never sees: one may be left of what was just being written.
fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.project().join("work")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(".paddock-tmp-")).collect();
    names.sort();
    names
}

#[test]
fn what_fails_in_the_middle_is_taken_back() {
    let world = world("quota = { files = 5 }");
    world.write("work/a.txt", "before");
    let answer = execute(&world, "echo after > a.txt; for n in 1 2 3 4 5 6 7; do echo $n > $n.txt; done");
    assert_eq!(
        (&answer["verdict"], &answer["structured"]["error"]),
        (&json!("denied"), &json!("dropped")),
        "{answer:#}"
    );
    assert!(answer.to_string().contains("may hold 5 files"), "{answer:#}");
    assert_eq!((names(&world), world.read("work/a.txt")), (vec!["a.txt".to_owned()], "before".to_owned()));
    // Both are on record, and nothing is left that could be undone.
    let log = world.paddock(&["log"]);
    assert!(log.stdout.contains("  undo  ") && log.stdout.contains("  command  "), "{log}");
    let undo = world.paddock(&["undo"]);
    assert!(undo.code == 1 && undo.stderr.contains("nothing that could be undone"), "{undo}");
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}

/// How many files the command makes whose commit is killed.
const FILES: usize = 300;

#[test]
fn a_commit_that_is_killed_is_whole_or_gone_after_the_next_start() {
    let mut cut = 0;
    for round in 0..6 {
        let world = world("");
        world.write("work/a.txt", "before");
        let command = format!("echo after > a.txt; for n in $(seq -w {FILES}); do echo $n > f$n; done");
        let mut child = world.command(&["exec", &command]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The last ones come in the order of their names.
        let awaited = world.project().join(format!("work/f{:03}", 1 + round * 45));
        let until = Instant::now() + Duration::from_secs(60);
        while !awaited.exists() && Instant::now() < until {}
        child.kill().unwrap();
        child.wait().unwrap();
        let left = names(&world).len();
        cut += usize::from(left > 1 && left < FILES + 1);
        // Whatever is done next: a read is enough.
        let read = world.paddock(&["tool", "read_file", r#"{"path": "a.txt"}"#]);
        let now = (names(&world).len(), read.stdout.trim());
        assert!(now == (1, "before") || now == (FILES + 1, "after"), "round {round}, {left} before: {now:?}");
    }
    assert!(cut > 0, "no round was killed in the middle");
}

#[test]
fn what_a_person_changed_since_is_not_the_agents_any_more() {
    let world = world("");
    done(&execute(&world, "echo mine > own.txt; echo mine > other.txt"));
    world.write("work/own.txt", "a person's by now");
    let answer = execute(&world, "find . -name own.txt -delete");
    assert_ne!(answer["verdict"], "done", "{answer:#}");
    assert_eq!(world.read("work/own.txt"), "a person's by now");
    done(&execute(&world, "find . -name other.txt -delete"));
}

#[test]
fn a_directory_that_became_a_link_and_a_pipe_come_back() {
    let world = world("[approvals]\nabove = \"high\"");
    world.write("work/d/x", "in d");
    world.write("work/e/x", "in e");
    let (dir, pipe) = (world.project().join("work/d"), world.project().join("work/d/pipe"));
    fs::set_permissions(&dir, Permissions::from_mode(0o710)).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    done(&execute(&world, "find d -delete && ln -s e d"));
    assert_eq!((world.read("work/d/x").as_str(), dir.is_symlink()), ("in e", true));
    let undo = world.paddock(&["undo"]);
    assert_eq!(undo.code, 0, "{undo}");
    let meta = fs::symlink_metadata(&dir).unwrap();
    assert!(meta.is_dir() && meta.mode() & 0o777 == 0o710, "{:o}", meta.mode());
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!((world.read("work/d/x").as_str(), world.read("work/e/x").as_str()), ("in d", "in e"));
    assert!(!undo.stdout.contains("its mode"), "that goes without saying: {undo}");
    // And forth again.
    let redo = undo.stderr.split('`').nth(1).unwrap().trim_start_matches("paddock ").to_owned();
    assert_eq!(world.paddock(&redo.split(' ').collect::<Vec<_>>()).code, 0);
    assert!(dir.is_symlink());
}
