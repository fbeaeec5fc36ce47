//! What is told of commands afterwards, which of them an undo means, and what bounds them together.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{World, eventually, runs};

fn world(commands: &str) -> World {
    World::configured(&format!(
        "base = \"/project\"\n[[workspace]]\nprefix = \"/project\"\nscope = \"RW\"\n\
         mount = {{ physical = \"work\" }}\n[commands]\n{commands}\n"
    ))
}

fn execute(world: &World, command: &str) -> Value {
    world.paddock(&["tool", "execute_command", &json!({ "command": command }).to_string(), "--json"]).json()
}

#[test]
fn what_ran_and_how_it_ended_is_in_the_log_and_in_the_audit() {
    let world = world("deny = [\"shutdown\"]");
    execute(&world, "echo one > a.txt\nexit 3");
    execute(&world, "cat a.txt");
    execute(&world, "shutdown now");
    execute(&world, &format!("true {}", "long ".repeat(100)));
    let log = world.paddock(&["log"]);
    assert!(log.stdout.contains("/project  (exit 3: echo one > a.txt exit 3)"), "{log}");
    assert_eq!(log.stdout.lines().count(), 1, "{log}");
    let audit = world.paddock(&["audit", "tail"]).stdout;
    for told in ["(exit 3: echo one > a.txt exit 3)", "(exit 0: cat a.txt)", ": shutdown now)", "long …)"] {
        assert!(audit.contains(told), "{told}: {audit}");
    }
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}

#[test]
fn who_interrupts_exec_ends_the_command_and_leaves_a_record() {
    let world = world("");
    let mut exec = world.command(&["exec", "(setsid sleep 98771 &); echo > early; sleep 98771"]);
    let mut exec = exec.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| runs("98771")));
    assert!(Command::new("kill").args(["-INT", &exec.id().to_string()]).status().unwrap().success());
    assert_eq!(exec.wait().unwrap().code(), Some(130));
    assert!(eventually(|| !runs("98771")));
    assert!(!world.has("work/early"), "what it had changed is dropped");
    let audit = world.paddock(&["audit", "tail"]).stdout;
    assert!(audit.contains("(cancelled: (setsid sleep 98771"), "{audit}");
}

/// The newest call of the log, and the one that an undo would take back.
fn newest_and_meant(world: &World) -> (Value, Value) {
    let log = world.paddock(&["log", "--json"]).json();
    let undo = world.paddock(&["undo", "--dry-run", "--json"]).json();
    (log[0].clone(), undo["undoes"].clone())
}

#[test]
fn what_a_command_changes_by_the_way_is_not_what_an_undo_means() {
    let world = world("");
    let looks = || {
        // The same content with another time: git compares it, and notes that it did.
        std::thread::sleep(Duration::from_millis(1100));
        world.write("work/a.txt", "one\n");
        let looked = execute(&world, "git status");
        assert_eq!(looked["structured"]["changed"][0]["path"], "/project/.git/index", "{looked:#}");
        assert_eq!(looked["structured"]["paths"], 1, "{looked:#}");
    };
    execute(&world, "git init -q . && echo build/ > .gitignore && echo one > a.txt && git add .");
    execute(&world, "echo two > b.txt && git add b.txt");
    let (made, meant) = newest_and_meant(&world);
    assert_eq!((&made["by_the_way"], &meant), (&json!(false), &made["call"]));
    looks();
    // It is not in the way either, though the call that is meant changed the same file.
    let (status, meant) = newest_and_meant(&world);
    assert_eq!((&status["by_the_way"], &meant), (&json!(true), &made["call"]), "{status}");
    execute(&world, "mkdir build && echo 1 > build/out");
    let (built, meant) = newest_and_meant(&world);
    assert_eq!((&built["by_the_way"], &meant), (&json!(true), &made["call"]), "{built}");
    // By its id it can be taken back like any other.
    let undone = world.paddock(&["undo", built["call"].as_str().unwrap()]);
    assert!(undone.code == 0 && !world.has("work/build"), "{undone}");
    execute(&world, "mkdir build && echo 1 > build/out && echo three > b.txt");
    let (both, meant) = newest_and_meant(&world);
    assert_eq!((&both["by_the_way"], &meant), (&json!(false), &both["call"]));
    // Git has no rules for its own directory: what is committed is meant, whatever is ignored.
    world.write("work/.gitignore", "*\n");
    execute(&world, "git add -f b.txt && git -c user.name=a -c user.email=a@b.c commit -qm both");
    let (commit, meant) = newest_and_meant(&world);
    assert_eq!((&commit["by_the_way"], &meant), (&json!(false), &commit["call"]), "{commit}");
}

#[test]
fn a_list_of_what_is_ignored_takes_nothing_of_a_persons_out_of_sight() {
    let ignore_all = json!({ "path": "/project/.gitignore", "content": "*\n" }).to_string();
    let work = world("");
    for n in 0..1200 {
        work.write(&format!("work/notes/{n}"), "a person's\n");
    }
    let overwrite = "for f in notes/*; do echo evil > $f; done";
    let held = execute(&work, overwrite);
    assert_eq!((&held["verdict"], &held["structured"]["risk"]), (&json!("parked"), &json!("high")), "{held:#}");
    assert_eq!(work.paddock(&["tool", "write_file", &ignore_all]).code, 0);
    let held = execute(&work, &format!("{overwrite}; true"));
    assert_eq!((&held["verdict"], &held["structured"]["risk"]), (&json!("parked"), &json!("high")), "{held:#}");
    assert_eq!(work.read("work/notes/7"), "a person's\n");
    // What is few enough to be made is what an undo means.
    assert_eq!(execute(&work, "echo evil > notes/7")["verdict"], "done");
    let (newest, meant) = newest_and_meant(&work);
    assert_eq!((&newest["by_the_way"], &meant), (&json!(false), &newest["call"]), "{newest}");

    let work = world("[approvals]\nabove = \"low\"");
    work.write("work/src/thesis.txt", "a person's\n");
    work.write("work/.gitignore", "*\n");
    let held = execute(&work, "echo evil > src/thesis.txt");
    assert_eq!((&held["verdict"], &held["structured"]["risk"]), (&json!("parked"), &json!("medium")), "{held:#}");
    // What a build makes, makes again, changes and clears away is its own.
    for build in
        ["mkdir target && echo 1 > target/out", "echo 2 > target/out; echo 3 > target/more", "find target -delete"]
    {
        let built = execute(&work, build);
        assert_eq!(built["verdict"], "done", "{build}: {built:#}");
        assert_eq!(work.paddock(&["log", "--json"]).json()[0]["by_the_way"], true, "{build}");
    }
}

#[test]
fn all_that_a_command_changes_is_bounded_together() {
    let world = world("staged_limit = \"2 MiB\"");
    let slow = "for n in $(seq 60); do head -c 100000 /dev/zero > f$n; sleep 0.05; done; sleep 30";
    let answer = execute(&world, slow);
    assert_eq!(answer["structured"]["ended_by"], "staged", "{answer:#}");
    let quick = execute(&world, "for n in $(seq 60); do head -c 100000 /dev/zero > f$n; done");
    let told = quick.to_string();
    assert!(quick["structured"]["ended_by"] == "staged" || told.contains("staged_limit allows"), "{quick:#}");
    assert!(!world.has("work/f1"));
    assert_eq!(execute(&world, "head -c 1000000 /dev/zero > fits")["verdict"], "done");
}

/// An agent that takes away what its commands need must not keep a person from anything.
#[test]
fn a_tool_that_is_gone_keeps_nobody_from_taking_back() {
    let world = world("tools = [\"work/.venv\"]");
    world.write("work/.venv/tool", "x");
    world.write("work/thesis", "by hand");
    let write = |text: &str| {
        let arguments = json!({ "path": "/project/thesis", "content": text }).to_string();
        world.paddock(&["tool", "write_file", &arguments, "--json"]).json()["verdict"].clone()
    };
    assert_eq!(write("by an agent"), "done");
    std::fs::remove_dir_all(world.project().join("work/.venv")).unwrap();
    assert_eq!(write("by an agent again"), "done", "only commands need it");
    let ran = execute(&world, "true");
    assert!(ran.to_string().contains("under tools cannot be used"), "{ran:#}");
    for command in [["undo"].as_slice(), &["undo"], &["log"], &["approvals", "list"], &["map"]] {
        let ran = world.paddock(command);
        assert_eq!(ran.code, 0, "{command:?}: {ran}");
    }
    assert_eq!(world.read("work/thesis"), "by hand");
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("\"work/.venv\" under tools is not there"), "{doctor}");
}

#[test]
fn what_no_command_could_run_with_is_an_error_at_once() {
    for (line, told, hint) in [
        ("tools = [\"/no/such/place\"]", "\"/no/such/place\" under tools is not there", "of this machine"),
        ("memory_limit = \"1 KiB\"", "with memory_limit = \"1024 B\" no command could run", "at least 16 MiB"),
        ("time_limit = \"1 ms\"", "with time_limit = \"1 ms\" no command could run", "at least 100 ms"),
        ("process_limit = 1", "with process_limit = 1 no command could run", "at least 4"),
    ] {
        let check = world(line).paddock(&["check"]);
        assert!(check.code == 2 && check.stderr.contains(told) && check.stderr.contains(hint), "{check}");
    }
    let answer = world("").paddock(&["tool", "execute_command", r#"{"command": "true", "timeout": 0}"#]);
    assert!(answer.stdout.contains("\"timeout\" is 0"), "{answer}");
}
