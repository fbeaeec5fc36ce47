//! A run that is cancelled while it works, and one that is forked.

use std::sync::Arc;

use paddock_agent::record::Checkpoint;
use paddock_agent::{Ended, RunEvent};
use serde_json::json;

use crate::world::{World, answer, call, script};

/// Each append is one line more: what happened twice is seen.
fn effects() -> String {
    let append = |n: u32| call("append_file", &json!({ "path": "/w/effects.txt", "content": format!("effect {n}\n") }));
    script(&[answer("- [ ] one\n- [ ] two\n"), append(1), answer("one"), append(2), append(3), answer("two")])
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
    let checkpoints = process.runtime.record.checkpoints_after("t", 0, 100).unwrap();
    let interpreted = |checkpoint: &&Checkpoint| checkpoint.node == paddock_agent::graph::NodeName::Interpreter;
    let at = checkpoints.iter().find(interpreted).unwrap().n;
    process.runtime.fork(&crate::world::key("t"), at, &crate::world::key("f"), "alice").unwrap();
    let next = world.process();
    assert_eq!(next.resume("f").unwrap(), Ended::Done("two".into()));
    assert_eq!(world.text("effects.txt"), "effect 1\neffect 2\neffect 3\neffect 2\neffect 3\n");
    let parent = next.runtime.record.thread("f").unwrap().parent;
    assert_eq!(parent, Some(("t".to_owned(), at)));
}
