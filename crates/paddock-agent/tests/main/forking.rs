//! Forks of a run: whole or not at all, with the task and the bounds that their turn had.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use paddock_agent::record::{RecordError, ThreadStatus};
use paddock_agent::state::AgentMode;
use paddock_agent::{Ended, RunError};

use crate::tasks::recorded;
use crate::turns::{ending_at, noting, without_answers};
use crate::versions::execute;
use crate::world::{World, answer, key, options, plan, script};

#[test]
fn a_fork_that_cannot_be_copied_is_not_there() {
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    world.process().start("t", "go").unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON agent_checkpoint WHEN NEW.thread = 'f' \
                  BEGIN SELECT RAISE(ABORT, 'no space'); END";
    execute(&world, refuse);
    let process = world.process();
    let failed = process.runtime.fork(&key("t"), 2, &key("f"), "alice").unwrap_err();
    assert!(matches!(failed, RunError::Record(RecordError::Database(_))), "{failed:?}");
    let missing = process.runtime.record.thread("f").unwrap_err();
    assert!(matches!(missing, RecordError::NoThread(_)), "{missing:?}");
    // The honest twin.
    execute(&world, "DROP TRIGGER refuse");
    process.runtime.fork(&key("t"), 2, &key("g"), "alice").unwrap();
    assert_eq!(process.runtime.record.thread("g").unwrap().checkpoints, 2);
    let taken = process.runtime.fork(&key("t"), 2, &key("g"), "alice");
    assert!(taken.is_err());
}

/// A thread with a turn that acts and one that only looks.
fn two_turns(make: fn(&str) -> World) -> World {
    let world = make(&script(&[plan(&["one", "two"]), answer("one is done"), answer("FIRST is done")]));
    world.process().start("t", "FIRST TASK").unwrap();
    world.say(&answer("SECOND is done"));
    let mut consulting = options("t");
    consulting.mode = AgentMode::Consulting;
    let ended = world.process().runtime.start("SECOND TASK", &consulting).unwrap();
    assert_eq!(ended, Ended::Done("SECOND is done".into()));
    world.say(&script(&[plan(&["one", "two"]), answer("one is done"), answer("FIRST is done")]));
    world
}

#[test]
fn a_fork_from_an_earlier_turn_works_on_the_task_of_that_turn() {
    forked_from_the_first(World::new);
}

#[test]
fn a_fork_from_an_earlier_turn_works_on_the_task_of_that_turn_on_postgresql() {
    forked_from_the_first(World::on_postgres);
}

fn forked_from_the_first(make: fn(&str) -> World) {
    let world = two_turns(make);
    // After the Gatekeeper, and after the Supervisor.
    for (n, fork) in [(1, "f1"), (3, "f3")] {
        let mut process = world.process();
        process.runtime.fork(&key("t"), n, &key(fork), "alice").unwrap();
        let thread = process.runtime.record.thread(fork).unwrap();
        assert_eq!((thread.prompt.as_str(), thread.bounds.mode), ("FIRST TASK", AgentMode::Execution));
        let asked = recorded(&mut process);
        assert_eq!(process.resume(fork).unwrap(), Ended::Done("FIRST is done".into()));
        let asked = asked.lock().unwrap().concat();
        assert!(asked.contains("FIRST TASK") && !asked.contains("SECOND TASK"), "{asked}");
        let checkpoints = process.runtime.record.checkpoints_after(fork, 0, 100).unwrap();
        assert!(checkpoints.iter().all(|checkpoint| checkpoint.state.input_prompt == "FIRST TASK"));
    }
    let of_both = world.process().runtime.record.checkpoints_after("t", 0, 100).unwrap();
    assert_eq!(of_both.first().unwrap().state.input_prompt, "FIRST TASK");
    assert_eq!(of_both.last().unwrap().state.input_prompt, "SECOND TASK");
}

#[test]
fn a_fork_from_the_end_of_a_turn_is_over() {
    let world = two_turns(World::new);
    let process = world.process();
    let checkpoints = process.runtime.record.checkpoints_after("t", 0, 100).unwrap();
    let end = checkpoints.iter().find(|checkpoint| checkpoint.turn.as_str() != "t1").unwrap().n - 1;
    process.runtime.fork(&key("t"), end, &key("f"), "alice").unwrap();
    let thread = process.runtime.record.thread("f").unwrap();
    assert_eq!((thread.status, thread.told.as_deref()), (ThreadStatus::Done, Some("FIRST is done")));
    assert!(matches!(process.resume("f"), Err(RunError::Over(_))));
}

/// Of a long run that is much, and what is damaged there is in the way of nobody who begins before it.
#[test]
fn a_fork_reads_nothing_of_what_came_after_its_checkpoint() {
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    world.process().start("t", "go").unwrap();
    let last = world.process().runtime.record.thread("t").unwrap().checkpoints;
    for n in (1..last).rev() {
        execute(&world, &format!("UPDATE agent_checkpoint SET state = '{{' WHERE thread = 't' AND n > {n}"));
        let (process, fork) = (world.process(), format!("f{n}"));
        process.runtime.fork(&key("t"), n, &key(&fork), "alice").unwrap();
        assert_eq!(process.runtime.record.thread(&fork).unwrap().checkpoints, n);
    }
}

/// What the last checkpoints said may not be in the conversation yet, and nobody says it again in a fork.
#[test]
fn a_fork_of_a_thread_that_was_cut_off_has_all_that_was_said() {
    let said = || script(&[plan(&["one", "two"]), answer("one is done"), answer("all is done")]);
    let (world, names) = (World::new(&said()), Arc::new(Mutex::new(Vec::new())));
    let watched = world.process_watched(noting(&names));
    watched.start("t", "go").unwrap();
    let whole = without_answers(watched.said("t"));
    let boundaries = names.lock().unwrap().len();
    let mut forked = 0;
    for boundary in 1..=boundaries {
        let world = World::new(&said());
        let process = world.process_watched(ending_at(boundary));
        assert!(catch_unwind(AssertUnwindSafe(|| process.start("t", "go"))).is_err(), "boundary {boundary}");
        drop(process);
        let next = world.process();
        let Some(last) = next.runtime.record.checkpoint("t", None).unwrap() else { continue };
        next.runtime.fork(&key("t"), last.n, &key("f"), "alice").unwrap();
        match next.resume("f") {
            Ok(ended) => assert_eq!(ended, Ended::Done("all is done".into()), "boundary {boundary}"),
            Err(RunError::Over(_)) => {}
            Err(error) => panic!("boundary {boundary}: {error}"),
        }
        assert_eq!(without_answers(next.said("f")), whole, "boundary {boundary}");
        forked += 1;
    }
    assert!(forked > boundaries / 2, "{forked} of {boundaries}");
}
