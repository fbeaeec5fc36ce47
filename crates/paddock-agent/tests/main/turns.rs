//! The turns of a thread after its first one: each has its own task, model and place in a script, from the moment it was asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use paddock_agent::record::ThreadStatus;
use paddock_agent::{Ended, RunError, RunEvent, Watcher};
use serde_json::json;

use crate::world::{OF_THE_JOURNAL, World, answer, call, script};

/// Ends the process at the boundary with that number, as a crash does: nothing after it happens.
pub(crate) fn ending_at(boundary: usize) -> Arc<Watcher> {
    let count = AtomicUsize::new(0);
    Arc::new(move |event: &RunEvent<'_>| {
        if matches!(event, RunEvent::Boundary(name) if is_of_the_run(name))
            && count.fetch_add(1, Ordering::SeqCst) + 1 == boundary
        {
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
    })
}

/// Notes every boundary that a run comes to.
pub(crate) fn noting(names: &Arc<Mutex<Vec<&'static str>>>) -> Arc<Watcher> {
    let names = Arc::clone(names);
    Arc::new(move |event: &RunEvent<'_>| {
        if let RunEvent::Boundary(name) = event
            && is_of_the_run(name)
        {
            names.lock().unwrap().push(*name);
        }
    })
}

/// Who unwinds inside of a call is caught there: processes are killed at those boundaries, elsewhere.
fn is_of_the_run(boundary: &str) -> bool {
    !OF_THE_JOURNAL.contains(&boundary)
}

/// What a tool answered may be lost with the process, once its effect is there; that it answered is not.
pub(crate) fn without_answers(said: Vec<String>) -> Vec<String> {
    said.into_iter().map(|line| if line.starts_with("tool:") { "tool".to_owned() } else { line }).collect()
}

fn appends(word: &str) -> String {
    let append = call("append_file", &json!({ "path": "/w/effects.txt", "content": format!("{word}\n") }));
    script(&[answer(&format!("- [ ] {word}\n")), append, answer(word)])
}

/// A thread whose first turn is over; the script of the second waits.
fn after_the_first_turn(make: fn(&str) -> World) -> World {
    let world = make(&appends("first"));
    assert_eq!(world.process().start("t", "FIRST TASK").unwrap(), Ended::Done("first".into()));
    world.say(&appends("second"));
    world
}

#[test]
fn ending_at_every_boundary_of_a_second_turn_loses_nothing_and_doubles_nothing() {
    ending_at_each(World::new, 1);
}

#[test]
fn ending_at_boundaries_of_a_second_turn_loses_nothing_and_doubles_nothing_on_postgresql() {
    ending_at_each(World::on_postgres, 7);
}

/// Ends at every so many-th boundary.
fn ending_at_each(make: fn(&str) -> World, every: usize) {
    let world = after_the_first_turn(make);
    let names = Arc::new(Mutex::new(Vec::new()));
    let watched = world.process_watched(noting(&names));
    assert_eq!(watched.start("t", "SECOND TASK").unwrap(), Ended::Done("second".into()));
    drop(watched);
    let whole = without_answers(world.process().said("t"));
    let names = names.lock().unwrap().clone();
    // Before that nothing of it was kept.
    let first = names.iter().position(|name| *name == "after the task").unwrap() + 1;
    for boundary in (first..=names.len()).step_by(every) {
        let world = after_the_first_turn(make);
        let mut process = world.process_watched(ending_at(boundary));
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
    let world = after_the_first_turn(World::new);
    let process = world.process_watched(Arc::new(|event| {
        if let RunEvent::Boundary("after the task") = event {
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
    }));
    assert!(catch_unwind(AssertUnwindSafe(|| process.start("t", "SECOND TASK"))).is_err());
    drop(process);
    let thread = world.process().runtime.record.thread("t").unwrap();
    assert_eq!(thread.prompt, "SECOND TASK");
    assert_eq!((thread.status, thread.told), (ThreadStatus::Running, None));
    // Nothing of it was done, so there is nothing that it goes on with: what is known is the plan of the first task.
    let next = world.process_watched(Arc::new(|event| assert!(!matches!(event, RunEvent::Resumed(_)))));
    assert_eq!(next.resume("t").unwrap(), Ended::Done("second".into()));
}
