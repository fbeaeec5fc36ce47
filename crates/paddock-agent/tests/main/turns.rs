//! The turns of a thread after its first one: each has its own task, model and place in a script, from the moment it was asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use paddock_agent::record::ThreadStatus;
use paddock_agent::{Ended, RunError};
use serde_json::json;

use crate::resuming::{ending_at, without_answers};
use crate::world::{World, answer, call, script};

fn appends(word: &str) -> String {
    let append = call("append_file", &json!({ "path": "/w/effects.txt", "content": format!("{word}\n") }));
    script(&[answer(&format!("- [ ] {word}\n")), append, answer(word)])
}

/// A thread whose first turn is over; the script of the second waits.
fn after_the_first_turn() -> World {
    let world = World::new(&appends("first"));
    assert_eq!(world.process().start("t", "FIRST TASK").unwrap(), Ended::Done("first".into()));
    world.say(&appends("second"));
    world
}

#[test]
fn ending_at_every_boundary_of_a_second_turn_loses_nothing_and_doubles_nothing() {
    let world = after_the_first_turn();
    let (watcher, count) = ending_at(usize::MAX);
    assert_eq!(world.process_watched(watcher).start("t", "SECOND TASK").unwrap(), Ended::Done("second".into()));
    let whole = without_answers(world.process().said("t"));
    // The first is before anything of the task was kept.
    for boundary in 2..=count.load(Ordering::SeqCst) {
        let world = after_the_first_turn();
        let (watcher, _) = ending_at(boundary);
        let mut process = world.process_watched(watcher);
        process.runtime.model_name = "another".to_owned();
        let ended = catch_unwind(AssertUnwindSafe(|| process.start("t", "SECOND TASK")));
        assert!(ended.is_err(), "boundary {boundary} was not reached");
        drop(process);
        let next = world.process();
        assert_eq!(next.runtime.record.thread("t").unwrap().model, "another", "boundary {boundary}");
        match next.resume("t") {
            Ok(ended) => assert_eq!(ended, Ended::Done("second".into()), "boundary {boundary}"),
            Err(RunError::Over(_)) => {}
            Err(error) => panic!("boundary {boundary}: {error}"),
        }
        assert_eq!(world.text("effects.txt"), "first\nsecond\n", "boundary {boundary}");
        assert_eq!(without_answers(next.said("t")), whole, "boundary {boundary}");
        assert_eq!(paddock_agent::replay(&next.runtime.record, "t").unwrap().differs_at, None);
    }
}

#[test]
fn a_task_that_was_asked_for_is_not_over_with_the_answer_to_another() {
    let world = after_the_first_turn();
    let (watcher, _) = ending_at(2);
    let process = world.process_watched(watcher);
    assert!(catch_unwind(AssertUnwindSafe(|| process.start("t", "SECOND TASK"))).is_err());
    drop(process);
    let thread = world.process().runtime.record.thread("t").unwrap();
    assert_eq!(thread.prompt, "SECOND TASK");
    assert_eq!((thread.status, thread.told), (ThreadStatus::Running, None));
}
