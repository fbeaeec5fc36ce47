//! What a run keeps and when: no more often than it has to be, and right wherever its process ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use paddock_agent::record::ThreadStatus;
use paddock_agent::{RunEvent, Watcher};
use serde_json::json;

use crate::world::{World, answer, call, plan, script};

type Passed = Arc<Mutex<Vec<&'static str>>>;

/// Tells the boundaries that a process passes; it ends after the checkpoint with that number.
fn ending_at(checkpoint: usize) -> (Passed, Arc<Watcher>) {
    let passed = Passed::default();
    let seen = Arc::clone(&passed);
    let watcher = move |event: &RunEvent<'_>| {
        let RunEvent::Boundary(name) = event else { return };
        seen.lock().unwrap().push(*name);
        let ends = *name == "after a checkpoint" && count(&seen, name) == checkpoint;
        assert!(!ends, "the process ends here");
    };
    (passed, Arc::new(watcher))
}

fn count(passed: &Passed, wanted: &str) -> usize {
    passed.lock().unwrap().iter().filter(|name| **name == wanted).count()
}

#[test]
fn the_plan_is_shown_as_it_is_wherever_a_process_ended() {
    let lines = script(&[plan(&["one", "two"]), answer("one is done"), answer("two is done")]);
    for checkpoint in 1.. {
        let world = World::new(&lines);
        let process = world.process_watched(ending_at(checkpoint).1);
        let has_ended = catch_unwind(AssertUnwindSafe(|| process.start("t", "go").unwrap())).is_err();
        drop(process);
        let next = world.process();
        if next.runtime.record.thread("t").unwrap().status == ThreadStatus::Running {
            next.resume("t").unwrap();
        }
        let todo = world.text("todo.md");
        assert!(todo.contains("- [x] one") && todo.contains("- [x] two"), "ended at checkpoint {checkpoint}: {todo}");
        if !has_ended {
            return;
        }
    }
}

#[test]
fn the_plan_is_written_once_for_each_step_that_begins_and_once_at_the_end() {
    let lines = [plan(&["one", "two"]), answer("one is done"), answer("two is done")];
    let world = World::new(&script(&lines));
    let (passed, watcher) = ending_at(usize::MAX);
    world.process_watched(watcher).start("t", "go").unwrap();
    // Its file is made, and written three times.
    assert_eq!(count(&passed, "after the change"), 1 + 3);
}

#[test]
fn what_only_reads_needs_no_word_before_it_begins_and_all_else_does() {
    let lines = [
        plan(&["look", "write"]),
        call("read_file", &json!({ "path": "/r/facts.txt" })),
        answer("seen"),
        call("write_file", &json!({ "path": "/w/x", "content": "x" })),
        answer("written"),
    ];
    let world = World::new(&script(&lines));
    let (passed, watcher) = ending_at(usize::MAX);
    world.process_watched(watcher).start("t", "go").unwrap();
    let counts = ["after the effect", "before the start", "after the start"].map(|name| count(&passed, name));
    assert_eq!(counts, [2, 1, 1]);
}
