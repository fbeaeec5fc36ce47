//! Runs through the command line: begun in one process, decided in another, gone on with in a third; killed at random and exact after it.

mod costs;
mod decided;
mod many;
mod watched;

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Ran, World};

/// How often a run is killed; `cargo xtask soak` asks for more.
fn kills() -> u64 {
    std::env::var("PADDOCK_RUN_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(15)
}

fn answer(content: &str) -> String {
    json!({ "content": content }).to_string()
}

fn call(tool: &str, arguments: &Value) -> String {
    json!({ "content": "", "tool_calls": [{ "name": tool, "arguments": arguments }] }).to_string()
}

fn script(world: &World, lines: &[String]) -> String {
    let path = world.path().join("script.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    format!("script:{}", path.display())
}

fn begin(world: &World, thread: &str, model: &str, more: &[&str]) -> Ran {
    world.paddock(&[&["run", "tidy up", "--thread", thread, "--model", model, "--no-wait", "--json"], more].concat())
}

#[test]
fn a_run_freezes_is_approved_elsewhere_and_resumed_where_it_was() {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let model = script(
        &world,
        &[
            answer("- [ ] write\n- [ ] remove"),
            call("write_file", &json!({ "path": "workspace/note.txt", "content": "hello\n" })),
            answer("written"),
            call("delete_file", &json!({ "path": "workspace/old.txt" })),
            answer("removed"),
        ],
    );
    let frozen = begin(&world, "tidy", &model, &["--level", "admin"]);
    assert_eq!(frozen.code, 3, "{frozen}");
    let told = frozen.json();
    assert_eq!((&told["thread_id"], &told["status"]), (&json!("tidy"), &json!("frozen")));
    let id = told["approval"].as_str().unwrap();
    assert!(world.has("workspace/old.txt") && world.has("workspace/note.txt"));

    let listed = world.paddock(&["threads", "list", "--json"]).json();
    assert_eq!((&listed[0]["thread_id"], &listed[0]["status"]), (&json!("tidy"), &json!("frozen")));
    assert_eq!(world.paddock(&["resume", "tidy", "--no-wait"]).code, 3, "nobody decided yet");
    assert_eq!(world.paddock(&["approvals", "approve", id]).code, 0);
    let done = world.paddock(&["resume", "tidy", "--no-wait", "--json"]);
    assert_eq!((done.code, &done.json()["answer"]), (0, &json!("removed")), "{done}");
    assert!(!world.has("workspace/old.txt"));

    let shown = world.paddock(&["threads", "show", "tidy", "--json"]);
    assert_eq!(shown.json()["thread"]["status"], "done");
    assert!(!shown.stdout.contains("pat1"), "no token is shown: {shown}");
    assert!(world.paddock(&["threads", "replay", "tidy"]).stdout.contains("each comes to the same again"));
    let over = world.paddock(&["resume", "tidy"]);
    assert_eq!(over.code, 1);
    assert!(over.stderr.contains("there is nothing to resume") && over.stderr.contains("hint:"), "{over}");
}

#[test]
fn bad_input_is_told_and_nothing_begins() {
    let world = World::seed();
    for (arguments, words) in [
        (vec!["run", "x"], "no model is named"),
        (vec!["run", "x", "--model", "gpt"], "names no model"),
        (vec!["run", "x", "--model", "openai:gpt-5"], "needs a key"),
        (vec!["run", "x", "--model", "script:/nowhere"], "cannot be read"),
        (vec!["run", "x", "--model", "script:/dev/null", "--thread", "../x"], "cannot be the key"),
        (vec!["resume", "nobody"], "no thread \"nobody\""),
        (vec!["threads", "show", "nobody"], "no thread \"nobody\""),
        (vec!["threads", "cancel", "nobody"], "no thread \"nobody\""),
    ] {
        let ran = world.paddock(&arguments);
        assert_ne!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint:"), "{words}: {ran}");
    }
    assert_eq!(world.paddock(&["threads", "list", "--json"]).json(), json!([]));
    let bad = world.path().join("bad.jsonl");
    std::fs::write(&bad, "{\"content\":\"a\"}\nnonsense\n").unwrap();
    let ran = world.paddock(&["run", "x", "--model", &format!("script:{}", bad.display())]);
    assert!(ran.stderr.contains("line 2"), "{ran}");
    let empty = world.paddock(&["run", " ", "--model", "script:/dev/null", "--no-wait"]);
    assert!(empty.stderr.contains("there is no task"), "{empty}");
}

#[test]
fn a_cancelled_run_is_over_and_a_fork_is_not() {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let model = script(
        &world,
        &[answer("- [ ] remove"), call("delete_file", &json!({ "path": "workspace/old.txt" })), answer("removed")],
    );
    assert_eq!(begin(&world, "a", &model, &["--level", "admin"]).code, 3);
    let forked = world.paddock(&["threads", "fork", "a", "--at", "2", "--name", "b"]);
    assert_eq!((forked.code, forked.stdout.trim()), (0, "b"), "{forked}");
    assert_eq!(world.paddock(&["threads", "cancel", "a"]).code, 0);
    assert!(world.paddock(&["resume", "a"]).stderr.contains("was cancelled"));
    let resumed = world.paddock(&["resume", "b", "--no-wait", "--json"]);
    assert_eq!((resumed.code, &resumed.json()["status"]), (3, &json!("frozen")), "{resumed}");
}

#[test]
fn a_run_that_nobody_works_on_is_said_to_be_stopped() {
    let world = World::seed();
    // The script is over before the plan is.
    let lines = [answer("- [ ] look\n- [ ] write"), call("list_dir", &json!({ "path": "workspace" }))];
    let model = script(&world, &lines);
    assert_ne!(begin(&world, "broken", &model, &[]).code, 0);
    assert_eq!(world.paddock(&["threads", "fork", "broken", "--at", "2", "--name", "fresh"]).code, 0);
    let listed = world.paddock(&["threads", "list", "--json"]).json();
    let standing: Vec<&Value> = listed.as_array().unwrap().iter().map(|thread| &thread["status"]).collect();
    assert_eq!(standing, ["stopped", "stopped"], "{listed}");
    let shown = world.paddock(&["threads", "show", "broken"]).stdout;
    assert!(shown.contains("status   stopped\n") && shown.contains("`paddock resume broken` goes on"), "{shown}");
    assert!(shown.contains("executor     list_dir {\"path\":\"workspace\"}\n"), "{shown}");
    assert!(shown.contains("tools        list_dir: "), "{shown}");
    let said = world.paddock(&["instance", "messages", "broken"]).stdout;
    assert!(said.contains("  calls list_dir {\"path\":\"workspace\"}\n"), "{said}");
    // While a process has it, it is at work.
    let mut files = std::fs::read_dir(world.home().join(".paddock/workspaces")).unwrap();
    let lease = files.next().unwrap().unwrap().path().join("instances/broken/lease");
    let held = std::fs::File::open(&lease).unwrap();
    held.lock().unwrap();
    assert_eq!(world.paddock(&["threads", "show", "broken", "--json"]).json()["thread"]["status"], "running");
}

#[test]
fn a_call_that_the_level_does_not_allow_is_told_with_the_level_that_would() {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let lines = [
        answer("- [ ] remove"),
        call("delete_file", &json!({ "path": "workspace/old.txt" })),
        call("forget_file", &json!({ "path": "workspace/old.txt" })),
        answer("not removed"),
    ];
    let done = begin(&world, "d", &script(&world, &lines), &[]);
    assert_eq!(done.code, 0, "{done}");
    let said = world.paddock(&["instance", "messages", "d"]).stdout;
    let told = |tool: &str| said.lines().find(|line| line.contains(&format!("The tool \"{tool}\""))).unwrap();
    assert!(told("delete_file").contains("It takes --level admin"), "{said}");
    assert!(!told("forget_file").contains("--level"), "{said}");
}

#[test]
fn what_a_command_of_a_run_changed_is_made_by_the_decision_and_the_run_goes_on() {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let model = script(
        &world,
        &[
            answer("- [ ] remove"),
            call("execute_command", &json!({ "command": "unlink old.txt; echo gone" })),
            answer("removed"),
        ],
    );
    let frozen = begin(&world, "c", &model, &[]);
    assert_eq!(frozen.code, 3, "{frozen}");
    let id = frozen.json()["approval"].as_str().unwrap().to_owned();
    assert!(world.has("workspace/old.txt"));
    let approved = world.paddock(&["approvals", "approve", &id]);
    assert_eq!(approved.code, 0, "{approved}");
    assert!(approved.stderr.contains("`paddock resume c`"), "{approved}");
    assert!(!world.has("workspace/old.txt"));
    let done = world.paddock(&["resume", "c", "--no-wait", "--json"]);
    assert_eq!((done.code, &done.json()["answer"]), (0, &json!("removed")), "{done}");
    let said = world.paddock(&["instance", "messages", "c", "--jsonl"]).stdout;
    assert!(said.contains("gone") && !said.contains("Nobody decided"), "{said}");
    // The plan is not what an undo means.
    let undone = world.paddock(&["undo"]);
    assert_eq!(undone.code, 0, "{undone}");
    assert!(world.has("workspace/old.txt"), "{undone}");
}

#[test]
fn tools_that_are_none_and_runs_that_are_over_are_told() {
    let world = World::seed();
    let model = script(&world, &[answer("- [ ] say"), answer("said")]);
    let unknown = begin(&world, "t", &model, &["--tools", "read_file,write_fil"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("no tool \"write_fil\""), "{unknown}");
    assert_eq!(begin(&world, "t", &model, &[]).code, 0);
    let over = world.paddock(&["threads", "cancel", "t"]);
    assert_eq!(over.code, 1);
    assert!(over.stderr.contains("is done already"), "{over}");
}

#[test]
fn a_cancelled_run_asks_for_nothing_more() {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let model = script(&world, &[answer("- [ ] remove"), call("delete_file", &json!({ "path": "workspace/old.txt" }))]);
    assert_eq!(begin(&world, "t", &model, &["--level", "admin"]).code, 3);
    assert_eq!(world.paddock(&["threads", "cancel", "t"]).code, 0);
    assert_eq!(world.paddock(&["approvals", "list", "--json"]).json(), json!([]));
}

#[test]
fn a_thread_that_is_deleted_takes_its_record_and_its_outputs_along() {
    let config = r#"
[[workspace]]
prefix = "/w"
scope = "READ_WRITE"
mount = { physical = "w" }
[run]
evict_above = "1 KiB"
"#;
    let world = World::configured(config);
    world.write("w/long.txt", "a long line\n".repeat(500));
    let read = call("read_file", &json!({ "path": "/w/long.txt" }));
    let remove = call("delete_file", &json!({ "path": "/w/long.txt" }));
    let model = script(&world, &[answer("- [ ] look and remove"), read, remove]);
    assert_eq!(begin(&world, "t", &model, &["--level", "admin"]).code, 3);
    let said = world.paddock(&["instance", "messages", "t", "--jsonl"]).stdout;
    let place = said.split(['"', '\\']).find(|word| word.starts_with("/evicted/thread-t/")).unwrap();
    let page = || world.paddock(&["tool", "read_file", &json!({ "path": place }).to_string()]);
    assert!(page().stdout.contains("a long line"), "{}", page());
    assert_eq!(world.paddock(&["approvals", "list", "--json"]).json().as_array().unwrap().len(), 1);

    assert_eq!(world.paddock(&["instance", "delete", "t", "--yes"]).code, 0);
    assert_eq!(page().code, 1, "{}", page());
    assert_eq!(world.paddock(&["threads", "list", "--json"]).json(), json!([]));
    assert_eq!(world.paddock(&["approvals", "list", "--json"]).json(), json!([]));
    assert!(world.has("w/long.txt"));
}

#[test]
fn killed_at_random_a_run_does_everything_once() {
    let lines = || {
        let mut lines = vec![answer("- [ ] append")];
        let append = |n| call("append_file", &json!({ "path": "workspace/effects.txt", "content": format!("{n}\n") }));
        lines.extend((1..=8).map(append));
        lines.push(answer("done"));
        lines
    };
    let wanted: String = (1..=8).map(|n| format!("{n}\n")).collect();
    for round in 0..kills() {
        let world = World::seed();
        let model = script(&world, &lines());
        let mut command = world.command(&["run", "go", "--thread", "t", "--model", &model, "--no-wait", "--quiet"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Anywhere between the start of the process and the end of the run.
        std::thread::sleep(Duration::from_millis(20 + round * 37 % 400));
        let _ = child.kill();
        child.wait().unwrap();
        let mut resumed = world.paddock(&["resume", "t", "--no-wait", "--json"]);
        if resumed.stderr.contains("no thread \"t\"") {
            // It was killed before anything was kept.
            resumed = world.paddock(&["run", "go", "--thread", "t", "--model", &model, "--no-wait", "--json"]);
        }
        if resumed.code == 3 {
            // It was killed while the file was written: whether it was is for a person to see.
            let shown = world.paddock(&["threads", "show", "t", "--json"]).json();
            let is_told = |row: &&Value| row["node"] == "tools" && row["next"] != "tools";
            let told = shown["checkpoints"].as_array().unwrap().iter().filter(is_told).count();
            let done = world.has("workspace/effects.txt") && world.read("workspace/effects.txt").lines().count() > told;
            let it_was = if done { "done" } else { "not-done" };
            resumed = world.paddock(&["resume", "t", "--no-wait", "--json", "--it-was", it_was]);
        }
        let is_over = resumed.stderr.contains("there is nothing to resume");
        assert!(is_over || resumed.code == 0, "round {round}: {resumed}");
        assert_eq!(world.read("workspace/effects.txt"), wanted, "round {round}");
    }
}

/// The plan is the run's own, whichever way a call reaches it: through another Workspace on the same directory, or by a command whose
/// changes take effect at once.
#[test]
fn no_other_way_leads_to_the_plan() {
    let config = r#"
[[workspace]]
prefix = "/w"
scope = "READ_WRITE"
mount = { physical = "w" }
[[workspace]]
prefix = "/again"
scope = "READ_WRITE"
mount = { physical = "w" }
[commands]
changes = "direct"
[approvals]
above = "high"
"#;
    let world = World::configured(config);
    let lies = "- [x] cheat\\n";
    let model = script(
        &world,
        &[
            answer("- [ ] cheat"),
            call("write_file", &json!({ "path": "/again/todo.md", "content": "- [x] cheat\n" })),
            call(
                "execute_command",
                &json!({ "command": format!("printf '{lies}' > todo.md; rm -f todo.md; cat todo.md") }),
            ),
            call(
                "execute_command",
                &json!({ "command": format!("printf '{lies}' > /again/todo.md"), "workspace": "/again" }),
            ),
            answer("done"),
            answer("done"),
        ],
    );
    begin(&world, "t", &model, &["--level", "admin"]);
    let todo = world.read("w/todo.md");
    assert!(todo.contains("plan of thread t") && !todo.contains("[x] cheat\n"), "{todo}");
    // The run writes its plan again after each step, so what matters is what every attempt was told.
    let said = world.paddock(&["instance", "messages", "t", "--json"]).stdout;
    assert!(said.contains("is kept by the run itself"), "{said}");
    assert_eq!(said.matches("Read-only file system").count(), 2, "{said}");
}
