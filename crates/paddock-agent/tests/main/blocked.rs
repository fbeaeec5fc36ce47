//! A call that began and whose end nobody wrote down: made again where that is harmless, and else a question for a person.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paddock_agent::record::ThreadStatus;
use paddock_agent::state::StepStatus;
use paddock_agent::{Ended, RunEvent, Settled};
use paddock_config::StateDatabase;
use paddock_db::DbError;
use serde_json::json;

use crate::world::{World, answer, call, script};

/// A run that is cut off at a boundary with this name.
fn cut_off(world: &World, boundary: &'static str) {
    let process = world.process_watched(Arc::new(move |event| {
        if matches!(event, RunEvent::Boundary(name) if *name == boundary) {
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
    }));
    let ended = catch_unwind(AssertUnwindSafe(|| process.start("t", "go")));
    assert!(ended.is_err(), "\"{boundary}\" was not reached");
}

fn alter_one_row(world: &World, sql: &str) {
    let process = world.process();
    let StateDatabase::Sqlite(database) = process.installation.state_database().unwrap() else {
        panic!("the state is on SQLite");
    };
    let until = Instant::now() + Duration::from_secs(60);
    let changed = database.write(until, |connection| Ok::<_, DbError>(connection.execute(sql, ()).unwrap()));
    assert_eq!(changed.unwrap(), 1);
}

/// A run whose process was killed when its append was made, and before the ledger heard of the end of it.
fn between_effect_and_end() -> World {
    let append = call("append_file", &json!({ "path": "/w/effects.txt", "content": "an effect\n" }));
    let world = World::new(&script(&[answer("- [ ] append\n"), append, answer("appended")]));
    cut_off(&world, "after the effect");
    alter_one_row(&world, "UPDATE history_call SET state = 0, ended = NULL WHERE op = 'append'");
    world
}

/// Whoever watches knows the plan before they hear of its calls, also where the run was cut off right before one.
#[test]
fn a_resumed_run_tells_what_it_goes_on_with_before_anything_else() {
    let append = call("append_file", &json!({ "path": "/w/effects.txt", "content": "an effect\n" }));
    let world = World::new(&script(&[answer("- [ ] append\n"), append, answer("appended")]));
    cut_off(&world, "before the start");
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let process = world.process_watched(Arc::new(move |event| {
        heard.lock().unwrap().push(match event {
            RunEvent::Resumed(state) => format!("goes on with {} step", state.step_history.len()),
            RunEvent::Tool(result) => result.tool_name.clone(),
            _ => return,
        });
    }));
    assert_eq!(process.resume("t").unwrap(), Ended::Done("appended".into()));
    assert_eq!(*told.lock().unwrap(), ["goes on with 1 step", "append_file"]);
}

#[test]
fn what_began_and_has_no_end_is_a_question_for_a_person() {
    let world = between_effect_and_end();
    for _ in 0..2 {
        let process = world.process();
        let Ended::Blocked(told) = process.resume("t").unwrap() else { panic!("it is not blocked") };
        assert!(told.contains("append_file was cut off") && told.contains("--it-was done"), "{told}");
        assert_eq!(process.runtime.record.thread("t").unwrap().status, ThreadStatus::Blocked);
        let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
        assert!(state.step_history.values().all(|step| step.status == StepStatus::Blocked), "{state:#?}");
        assert_eq!(world.text("effects.txt"), "an effect\n", "nothing is done before a person has looked");
    }
}

#[test]
fn a_person_who_saw_the_effect_lets_the_run_go_on_without_it() {
    let world = between_effect_and_end();
    assert!(matches!(world.process().resume("t").unwrap(), Ended::Blocked(_)));
    let process = world.process();
    assert_eq!(process.settle("t", Settled::Done).unwrap(), Ended::Done("appended".into()));
    assert_eq!(world.text("effects.txt"), "an effect\n");
    assert!(process.said("t").iter().any(|line| line.contains("a person has seen that it took effect")));
}

#[test]
fn a_person_who_saw_none_has_the_call_made_again() {
    let world = between_effect_and_end();
    std::fs::write(world.file("effects.txt"), "").unwrap();
    assert!(matches!(world.process().resume("t").unwrap(), Ended::Blocked(_)));
    assert_eq!(world.process().settle("t", Settled::NotDone).unwrap(), Ended::Done("appended".into()));
    assert_eq!(world.text("effects.txt"), "an effect\n");
}

#[test]
fn what_only_reads_is_made_again_and_nobody_is_asked() {
    let read = call("read_file", &json!({ "path": "/r/facts.txt" }));
    let world = World::new(&script(&[answer("- [ ] look\n"), read, answer("42")]));
    cut_off(&world, "after the effect");
    assert_eq!(world.process().resume("t").unwrap(), Ended::Done("42".into()));
}

#[test]
fn what_only_reads_is_made_again_also_where_a_paddock_of_before_told_that_it_began() {
    let read = call("read_file", &json!({ "path": "/r/facts.txt" }));
    let world = World::new(&script(&[answer("- [ ] look\n"), read, answer("42")]));
    cut_off(&world, "after the effect");
    alter_one_row(&world, "UPDATE agent_effect SET state = 'started' WHERE tool = 'read_file'");
    assert_eq!(world.process().resume("t").unwrap(), Ended::Done("42".into()));
}
