//! What a run keeps apart from its Workspaces: outputs that are too long for the conversation, and the plan of an agent that
//! can write nowhere.

use std::time::Duration;

use paddock_agent::Ended;
use paddock_agent::record::RecordError;
use paddock_agent::state::{StepStatus, ToolStatus};
use paddock_core::{CallId, LogicalPath};
use paddock_tools::Control;
use serde_json::{Value, json};

use crate::world::{Process, World, answer, call, script};

const READ_ONLY: &str = r#"
name = "runs"
[[workspace]]
prefix = "/r"
scope = "READ_ONLY"
mount = { physical = "r" }
"#;

/// What tools answered, in their order.
fn answered(process: &Process, thread: &str) -> Vec<String> {
    let said = process.said(thread).into_iter();
    let of_tools = said.filter_map(|line| line.strip_prefix("tool: ").map(str::to_owned));
    of_tools.map(|text| serde_json::from_str(&text).unwrap()).collect()
}

#[test]
fn a_long_output_of_a_tool_is_kept_apart_and_read_by_pages() {
    let lines: String = (1..=400).map(|n| format!("line {n} of what is there\n")).collect();
    let read = |path: &str, more: Value| {
        let mut arguments = json!({ "path": path });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call("read_file", &arguments)
    };
    let world = World::new(&script(&[answer("- [ ] look\n"), read("/r/long.txt", json!({})), answer("seen")]));
    std::fs::write(world.top.join("project/r/long.txt"), &lines).unwrap();
    world.settings.lock().unwrap().evict_above = 4096;
    let process = world.process();
    assert_eq!(process.start("t", "look").unwrap(), Ended::Done("seen".into()));
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    let result = state.last_tool_result.unwrap();
    assert_eq!(result.status, ToolStatus::Evicted);
    let pointer: Value = serde_json::from_str(&result.output).unwrap();
    let place = pointer["evicted"].as_str().unwrap();
    assert!(place.starts_with("/evicted/") && result.output.len() < 4096, "{}", result.output);
    assert!(pointer["head"].as_str().unwrap().contains("line 1 of what is there"));
    assert_eq!(pointer["bytes"].as_u64().unwrap(), result.metadata["bytes"].as_u64().unwrap());
    // Nothing of the conversation holds more than the pointer.
    assert!(process.said("t").iter().all(|line| !line.contains("line 399")));

    world.say(&script(&[
        answer("- [ ] look further\n"),
        read(place, json!({ "offset": 390, "limit": 100 })),
        call("write_file", &json!({ "path": place, "content": "x" })),
        answer("all of it"),
    ]));
    let process = world.process();
    assert_eq!(process.start("t", "look further").unwrap(), Ended::Done("all of it".into()));
    let answered = answered(&process, "t");
    let page = &answered[answered.len() - 2];
    assert!(page.contains("line 399 of") && !page.contains("line 300 of"), "{page}");
    assert!(answered.last().unwrap().contains("ERROR"), "the agent only reads it: {answered:#?}");
}

#[test]
fn what_is_kept_for_a_thread_lasts_as_long_as_the_thread() {
    kept_for_a_thread(World::new);
}

#[test]
fn what_is_kept_for_a_thread_lasts_as_long_as_the_thread_on_postgresql() {
    kept_for_a_thread(World::on_postgres);
}

fn kept_for_a_thread(make: fn(&str) -> World) {
    let long = || call("read_file", &json!({ "path": "/r/long.txt" }));
    let world = make(&script(&[answer("- [ ] look\n"), long(), answer("seen")]));
    std::fs::write(world.top.join("project/r/long.txt"), "a long line\n".repeat(100)).unwrap();
    world.settings.lock().unwrap().evict_above = 200;
    let process = world.process();
    // As made when time began, for this thread and for none.
    let path = |text: String| LogicalPath::parse(&text, &LogicalPath::top()).unwrap();
    let old = CallId(1 << 80);
    let (of_thread, of_none) = (path(format!("/evicted/thread-t/{old}.txt")), path(format!("/evicted/{old}.txt")));
    for at in [&of_thread, &of_none] {
        process.runtime.toolbox.keep_text(at, "an old output\n").unwrap();
    }
    process.start("t", "look").unwrap();
    let toolbox = &process.runtime.toolbox;
    let outputs_of = |thread: Option<&str>| {
        let mut control = Control::for_at_most(Duration::from_secs(60));
        control.requester.thread = thread.map(str::to_owned);
        LogicalPath::parse(&toolbox.evict("more\n", &control).unwrap(), &LogicalPath::top()).unwrap()
    };
    let (newer, of_nobody) = (outputs_of(Some("t")), outputs_of(None));
    assert!(newer.as_str().starts_with("/evicted/thread-t/"), "{newer}");
    assert_eq!(toolbox.read_text(&of_none).unwrap(), None, "nobody waits for it");
    assert_eq!(toolbox.read_text(&of_thread).unwrap().as_deref(), Some("an old output\n"));

    toolbox.forget_evicted("t");
    process.runtime.record.forget("t").unwrap();
    assert_eq!((toolbox.read_text(&of_thread).unwrap(), toolbox.read_text(&newer).unwrap()), (None, None));
    assert_eq!(toolbox.read_text(&of_nobody).unwrap().as_deref(), Some("more\n"), "another's stays");
    assert!(matches!(process.runtime.record.thread("t"), Err(RecordError::NoThread(_))));
    assert!(matches!(process.resume("t"), Err(paddock_agent::RunError::Record(RecordError::NoThread(_)))));
}

#[test]
fn a_failure_stays_one_although_its_output_is_kept_apart() {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let world = World::new(&script(&[answer("- [ ] look\n"), fail(), fail(), fail()]));
    world.settings.lock().unwrap().evict_above = 30;
    let process = world.process();
    assert!(process.start("t", "look").is_err(), "the script has no other plan");
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    let result = state.last_tool_result.unwrap();
    assert_eq!(result.status, ToolStatus::Error);
    let place = result.pointer().unwrap();
    let step = &state.step_history.values().next().unwrap();
    assert_eq!((step.status, step.tries), (StepStatus::Failed, 3));
    assert_eq!(step.result_pointer.as_deref(), Some(place));
    let error = step.last_error.as_deref().unwrap();
    assert!(error.starts_with("❌ ERROR"), "{error}");
    // The agent reads how it ended, which a command says last.
    let pointer: Value = serde_json::from_str(&result.output).unwrap();
    let path = LogicalPath::parse(place, &LogicalPath::top()).unwrap();
    let all = process.runtime.toolbox.read_text(&path).unwrap().unwrap();
    assert!(all.ends_with(pointer["tail"].as_str().unwrap()) && all.starts_with(error), "{all}");
}

#[test]
fn without_a_read_write_workspace_the_plan_is_a_file_that_only_paddock_writes() {
    let world = World::new(&script(&[
        answer("- [ ] look\n"),
        call("read_file", &json!({ "path": "/plan/todo-t.md" })),
        call("write_file", &json!({ "path": "/plan/todo-t.md", "content": "- [x] cheat\n" })),
        answer("seen"),
    ]));
    std::fs::write(world.top.join("project/paddock.toml"), READ_ONLY).unwrap();
    let process = world.process();
    assert_eq!(process.start("t", "look").unwrap(), Ended::Done("seen".into()));
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    assert_eq!(state.current_plan_path, "/plan/todo-t.md");
    let answered = answered(&process, "t");
    assert!(answered[0].contains("- [~] look"), "{answered:#?}");
    assert!(answered[1].contains("ERROR"), "{answered:#?}");
    let path = LogicalPath::parse("/plan/todo-t.md", &LogicalPath::top()).unwrap();
    let plan = process.runtime.toolbox.read_text(&path).unwrap().unwrap();
    assert!(plan.contains("plan of thread t") && plan.contains("- [x] look"), "{plan}");
    assert!(!process.runtime.toolbox.filesystem_map().contains("/plan"), "it is no place to work in");
    assert!(!world.top.join("project/todo.md").exists() && !world.top.join("project/r/todo.md").exists());

    // Another thread has a file of its own.
    world.say(&script(&[answer("- [ ] again\n"), answer("said")]));
    let other = world.process();
    other.start("u", "again").unwrap();
    let state = other.runtime.record.checkpoint("u", None).unwrap().unwrap().state;
    assert_eq!(state.current_plan_path, "/plan/todo-u.md");
    assert_eq!(other.runtime.toolbox.read_text(&path).unwrap().unwrap(), plan);
}

#[test]
fn where_the_place_of_plans_is_a_workspace_of_somebodys_the_plan_is_in_the_state_alone() {
    let world = World::new(&script(&[answer("- [ ] look\n"), answer("seen")]));
    std::fs::write(world.top.join("project/paddock.toml"), READ_ONLY.replace("\"/r\"", "\"/plan\"")).unwrap();
    let process = world.process();
    assert_eq!(process.start("t", "look").unwrap(), Ended::Done("seen".into()));
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    assert_eq!(state.step_history.len(), 1);
    assert_eq!(std::fs::read_dir(world.top.join("project/r")).unwrap().count(), 1, "nothing was written there");
}
