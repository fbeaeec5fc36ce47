//! A process that ends at any point: the run goes on in another one, and every effect happens once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_agent::{Ended, RunEvent, Watcher};
use serde_json::json;

use crate::world::{World, answer, call, script};

/// Each append is one line more: what happened twice is seen.
fn effects() -> String {
    let append = |n: u32| call("append_file", &json!({ "path": "/w/effects.txt", "content": format!("effect {n}\n") }));
    script(&[answer("- [ ] one\n- [ ] two\n"), append(1), answer("one"), append(2), append(3), answer("two")])
}

/// Ends the process at the boundary with that number, as a crash does: nothing after it happens.
fn ending_at(boundary: usize) -> (Arc<Watcher>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let watcher = move |event: &RunEvent<'_>| {
        if let RunEvent::Boundary(_) = event
            && seen.fetch_add(1, Ordering::SeqCst) + 1 == boundary
        {
            // Without a word of the panic hook: it is no failure.
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
    };
    (Arc::new(watcher), count)
}

/// What a tool answered may be lost with the process, once its effect is there; that it answered is not.
fn without_answers(said: Vec<String>) -> Vec<String> {
    said.into_iter().map(|line| if line.starts_with("tool:") { "tool".to_owned() } else { line }).collect()
}

#[test]
fn ending_at_every_boundary_loses_nothing_and_doubles_nothing() {
    ending_at_each(World::new, 1);
}

#[test]
fn ending_at_boundaries_loses_nothing_and_doubles_nothing_on_postgresql() {
    ending_at_each(World::on_postgres, 7);
}

/// Ends at every so many-th boundary.
fn ending_at_each(make: fn(&str) -> World, every: usize) {
    let world = make(&effects());
    let (watcher, count) = ending_at(usize::MAX);
    assert_eq!(world.process_watched(watcher).start("t", "go").unwrap(), Ended::Done("two".into()));
    let boundaries = count.load(Ordering::SeqCst);
    assert_eq!(world.text("effects.txt"), "effect 1\neffect 2\neffect 3\n");
    let replayed = paddock_agent::replay(&world.process().runtime.record, "t").unwrap();
    assert_eq!(replayed.differs_at, None, "the record comes to the same again");
    let whole = without_answers(world.process().said("t"));
    assert!(boundaries > 30, "{boundaries}");
    for boundary in (1..=boundaries).step_by(every) {
        let world = make(&effects());
        let (watcher, _) = ending_at(boundary);
        let process = world.process_watched(watcher);
        let ended = catch_unwind(AssertUnwindSafe(|| process.start("t", "go")));
        assert!(ended.is_err(), "boundary {boundary} was not reached");
        drop(process);
        let next = world.process();
        // A crash after the last checkpoint leaves a run that is over.
        match next.resume("t") {
            Ok(ended) => assert_eq!(ended, Ended::Done("two".into()), "boundary {boundary}"),
            Err(paddock_agent::RunError::Over(_)) => {}
            Err(error) => panic!("boundary {boundary}: {error}"),
        }
        assert_eq!(world.text("effects.txt"), "effect 1\neffect 2\neffect 3\n", "boundary {boundary}");
        assert_eq!(without_answers(next.said("t")), whole, "boundary {boundary}");
    }
}

#[test]
fn of_many_who_resume_one_runs() {
    ten_resume(World::new);
}

#[test]
fn of_many_who_resume_one_runs_on_postgresql() {
    ten_resume(World::on_postgres);
}

fn ten_resume(make: fn(&str) -> World) {
    let world = make(&script(&[
        answer("- [ ] remove\n"),
        call("delete_file", &json!({ "path": "/w/old.txt" })),
        call("append_file", &json!({ "path": "/w/effects.txt", "content": "once\n" })),
        answer("done"),
    ]));
    std::fs::write(world.file("old.txt"), "x").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("it did not freeze") };
    world.process().approve(&approval);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let resume = || scope.spawn(|| world.process().resume("t"));
        let threads: Vec<_> = (0..10).map(|_| resume()).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let done = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Ended::Done(_)))).count();
    assert_eq!(done, 1, "{outcomes:#?}");
    assert_eq!(world.text("effects.txt"), "once\n");
}

#[test]
fn a_cancelled_run_writes_nothing_more() {
    let world = World::new(&effects());
    let process = world.process();
    let canceller = world.process();
    let watched = world.process_watched(Arc::new(move |event| {
        if let RunEvent::Tool(_) = event {
            canceller.runtime.record.cancel("t").unwrap();
        }
    }));
    assert_eq!(watched.start("t", "go").unwrap(), Ended::Cancelled);
    let over = process.runtime.record.cancel("t").unwrap_err();
    assert!(over.to_string().contains("is cancelled already"), "{over}");
    assert!(matches!(process.resume("t").unwrap_err(), paddock_agent::RunError::Cancelled(_)));
    assert_eq!(world.text("effects.txt"), "effect 1\n");
}

#[test]
fn a_fork_goes_its_own_way_from_a_step() {
    let world = World::new(&effects());
    let process = world.process();
    process.start("t", "go").unwrap();
    let mut at = 0;
    process
        .runtime
        .record
        .each_checkpoint("t", &mut |checkpoint| {
            if at == 0 && checkpoint.node == paddock_agent::graph::NodeName::Interpreter {
                at = checkpoint.n;
            }
        })
        .unwrap();
    process.runtime.fork(&crate::world::key("t"), at, &crate::world::key("f"), "alice").unwrap();
    let next = world.process();
    assert_eq!(next.resume("f").unwrap(), Ended::Done("two".into()));
    assert_eq!(world.text("effects.txt"), "effect 1\neffect 2\neffect 3\neffect 2\neffect 3\n");
    let parent = next.runtime.record.thread("f").unwrap().parent;
    assert_eq!(parent, Some(("t".to_owned(), at)));
}
