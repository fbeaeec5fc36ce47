//! What a run may use up: how long it works, how many nodes it needs, and how often it plans anew.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use paddock_agent::model::{Cost, Prices};
use paddock_agent::state::StepStatus;
use paddock_agent::{Ended, RunEvent, Watcher};
use serde_json::json;

use crate::world::{World, answer, call, plan, script};

const THREE_DAYS: u64 = 3 * 24 * 3600;

fn removing() -> World {
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let read = call("read_file", &json!({ "path": "/r/facts.txt" }));
    let world = World::new(&script(&[plan(&["remove"]), read, delete, answer("removed")]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    world.settings.lock().unwrap().max_time = Duration::from_secs(60);
    world
}

/// Each tool takes so many seconds.
fn slow_tools(seconds: &Arc<AtomicU64>, each: u64) -> Arc<Watcher> {
    let seconds = Arc::clone(seconds);
    Arc::new(move |event| {
        if let RunEvent::Tool(_) = event {
            seconds.fetch_add(each, Ordering::SeqCst);
        }
    })
}

fn worked(world: &World) -> u64 {
    world.process().runtime.record.checkpoint("t", None).unwrap().unwrap().state.progress.worked
}

#[test]
fn bounds_end_in_a_question() {
    let read = || call("read_file", &json!({ "path": "/r/facts.txt" }));
    let lines: Vec<String> = std::iter::once(plan(&["read for ever"])).chain((0..100).map(|_| read())).collect();
    let world = World::new(&script(&lines));
    world.settings.lock().unwrap().max_steps = 20;
    let Ended::Asking(question) = world.process().start("t", "go").unwrap() else { panic!("it did not ask") };
    assert!(question.contains("20 steps"), "{question}");
    let nodes = world.process().runtime.record.thread("t").unwrap().checkpoints;
    assert!(nodes <= 22, "{nodes}");
    world.settings.lock().unwrap().max_steps = 1000;
    world.settings.lock().unwrap().max_tokens = 50;
    let Ended::Asking(question) = world.process().start("t2", "go").unwrap() else { panic!("it did not ask") };
    assert!(question.contains("50 tokens"), "{question}");
}

/// A token costs a millionth, asked or answered.
fn a_millionth_each() -> Option<Prices> {
    Some(Prices { input: 1_000_000, cached: None, output: 1_000_000, currency: "USD".to_owned() })
}

#[test]
fn what_a_run_costs_is_counted_through_all_its_processes_and_bounds_it() {
    let world = removing();
    *world.prices.lock().unwrap() = a_millionth_each();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("not frozen") };
    let progress = || world.process().runtime.record.checkpoint("t", None).unwrap().unwrap().state.progress;
    let frozen = progress();
    assert!(frozen.tokens > 0);
    assert_eq!(frozen.cost.0, [Cost { micros: frozen.tokens, currency: "USD".to_owned() }]);
    world.process().approve(&approval);
    assert_eq!(world.process().resume("t").unwrap(), Ended::Done("removed".into()));
    let done = progress();
    assert!(done.tokens > frozen.tokens && done.cost.0[0].micros == done.tokens, "{done:?}");
    // Going through it again counts nothing: not even at other prices.
    *world.prices.lock().unwrap() = None;
    assert_eq!(paddock_agent::replay(&world.process().runtime.record, "t").unwrap().differs_at, None);
    assert_eq!(progress(), done);

    let costly = removing();
    *costly.prices.lock().unwrap() = a_millionth_each();
    costly.settings.lock().unwrap().max_cost = Some(frozen.tokens);
    let Ended::Asking(question) = costly.process().start("t", "go").unwrap() else { panic!("it did not ask") };
    assert!(question.contains("has used up its 0.000") && question.contains(" USD"), "{question}");
    assert!(costly.file("old.txt").exists());
}

#[test]
fn without_prices_nothing_is_said_of_a_cost() {
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    world.process().start("t", "go").unwrap();
    let last = world.process().runtime.record.checkpoint("t", None).unwrap().unwrap();
    assert!(last.state.progress.tokens > 0);
    assert!(!serde_json::to_string(&last.state).unwrap().contains("cost"));
}

#[test]
fn the_time_that_a_person_takes_to_decide_is_no_time_of_the_run() {
    let world = removing();
    let slow = || slow_tools(&world.seconds, 20);
    let Ended::Frozen(approval) = world.process_watched(slow()).start("t", "go").unwrap() else { panic!("not frozen") };
    world.seconds.fetch_add(THREE_DAYS, Ordering::SeqCst);
    world.process().approve(&approval);
    assert_eq!(world.process_watched(slow()).resume("t").unwrap(), Ended::Done("removed".into()));
    assert!(!world.file("old.txt").exists());
    assert_eq!(worked(&world), 40_000);
}

#[test]
fn the_time_that_a_run_works_counts_through_all_its_processes() {
    let world = removing();
    let (seconds, is_slow) = (Arc::clone(&world.seconds), AtomicBool::new(false));
    let ends = world.process_watched(Arc::new(move |event| match event {
        RunEvent::Tool(_) => {
            seconds.fetch_add(40, Ordering::SeqCst);
            is_slow.store(true, Ordering::SeqCst);
        }
        RunEvent::Boundary("after a checkpoint") if is_slow.load(Ordering::SeqCst) => {
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
        _ => {}
    }));
    assert!(catch_unwind(AssertUnwindSafe(|| ends.start("t", "go"))).is_err());
    drop(ends);
    assert_eq!(worked(&world), 40_000);
    let Ended::Frozen(approval) = world.process().resume("t").unwrap() else { panic!("not frozen") };
    world.process().approve(&approval);
    let ended = world.process_watched(slow_tools(&world.seconds, 40)).resume("t").unwrap();
    let Ended::Asking(question) = ended else { panic!("{ended:?}") };
    assert!(question.contains("60 seconds"), "{question}");
    assert!(!world.file("old.txt").exists(), "what was decided was done");
}

#[test]
fn looking_whether_somebody_decided_uses_nothing_up() {
    let world = removing();
    world.settings.lock().unwrap().max_steps = 20;
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("not frozen") };
    let process = world.process();
    for _ in 0..20 {
        assert_eq!(process.resume("t").unwrap(), Ended::Frozen(approval.clone()));
    }
    process.approve(&approval);
    assert_eq!(world.process().resume("t").unwrap(), Ended::Done("removed".into()));
}

#[test]
fn each_step_is_planned_anew_twice_at_the_most() {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let fails = || vec![fail(), fail(), fail()];
    let lines = [
        vec![plan(&["first", "second"])],
        fails(),
        vec![plan(&["first, otherwise", "second"]), answer("the first is done")],
        fails(),
        vec![plan(&["second, otherwise"])],
        fails(),
        vec![plan(&["second, in a third way", "tell"])],
        fails(),
    ];
    let world = World::new(&script(&lines.concat()));
    let ended = world.process().start("t", "go").unwrap();
    let Ended::Asking(question) = ended else { panic!("{ended:?}") };
    assert!(question.contains("second, in a third way"), "{question}");
    let process = world.process();
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    let steps = state.step_history.values();
    let steps: Vec<_> = steps.map(|step| (step.description.as_str(), step.status, step.replans)).collect();
    let expected = [
        ("first", StepStatus::Failed, 0),
        ("second", StepStatus::Failed, 0),
        ("first, otherwise", StepStatus::Done, 1),
        ("second", StepStatus::Failed, 0),
        ("second, otherwise", StepStatus::Failed, 1),
        ("second, in a third way", StepStatus::Failed, 2),
        ("tell", StepStatus::Pending, 2),
    ];
    assert_eq!(steps, expected);
    assert_eq!(paddock_agent::replay(&process.runtime.record, "t").unwrap().differs_at, None);
}

#[test]
fn a_step_that_is_planned_again_in_the_same_words_is_not_another_one() {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let same = || vec![plan(&["read", "read"]), fail(), fail(), fail()];
    let world = World::new(&script(&[same(), same(), same()].concat()));
    let ended = world.process().start("t", "go").unwrap();
    assert!(matches!(ended, Ended::Asking(_)), "{ended:?}");
}
