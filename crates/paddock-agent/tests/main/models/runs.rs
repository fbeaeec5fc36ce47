//! Whole runs through the double: with every trouble a run goes on by itself, or stops and is finished by a resume, with one effect.

use paddock_agent::model::ModelError;
use paddock_agent::nodes::NodeError;
use paddock_agent::{Ended, RunError};

use super::double::{BOTH, Double, Ends, KEY, Reply, Wire};
use crate::world::{Process, World};

const APPEND: &str = r#"{"path": "/w/effects.txt", "content": "once\n"}"#;

fn process(world: &World, wire: Wire, double: &Double) -> Process {
    let mut process = world.process();
    process.runtime.model = wire.model(double);
    process
}

fn plan(wire: Wire) -> Reply {
    wire.words(&["- [ ] write", " it down\n"])
}

#[test]
fn a_run_plans_calls_and_ends() {
    for wire in BOTH {
        let world = World::new("");
        let double =
            Double::new(vec![plan(wire), wire.call("append_file", APPEND), wire.words(&["It is ", "written."])]);
        let process = process(&world, wire, &double);
        assert_eq!(process.start("t", "write it down").unwrap(), Ended::Done("It is written.".into()));
        assert_eq!(world.text("effects.txt"), "once\n");
        assert!(world.text("todo.md").contains("- [x] write it down"));
        let asked = double.asked();
        assert_eq!(asked.len(), 3);
        // The tools are offered to the Executor alone, and the answer of the call comes back to it.
        assert!(asked[0].body["tools"].is_null() && asked[1].text().contains("append_file"));
        assert!(asked[2].text().contains("call00001"), "{}", asked[2].text());
        let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
        assert_eq!(state.progress.tokens, 3 * (super::double::TOKENS.0 + super::double::TOKENS.1));
    }
}

#[test]
fn a_run_goes_on_over_what_passes() {
    for wire in BOTH {
        let half = || Reply { pieces: vec![plan(wire).pieces.concat()[..60].to_vec()], ..plan(wire) };
        let world = World::new("");
        let double = Double::new(vec![
            Reply::error(429, "slower").with("retry-after", "0"),
            half().ending(Ends::Cut),
            plan(wire),
            Reply::error(500, "oh"),
            wire.call("append_file", "{\"path\": "),
            wire.call("append_file", APPEND),
            Reply::of(502, "text/html", "<html>"),
            wire.words(&["Done."]),
        ]);
        assert_eq!(process(&world, wire, &double).start("t", "go").unwrap(), Ended::Done("Done.".into()));
        assert_eq!(world.text("effects.txt"), "once\n");
    }
}

#[test]
fn a_run_that_stops_at_a_trouble_is_finished_by_a_resume() {
    for wire in BOTH {
        let lasting: Vec<Vec<Reply>> = vec![
            vec![Reply::error(503, "down"); 3],
            vec![Reply::error(401, KEY)],
            vec![Reply::stream("data: {nonsense\n\n")],
            vec![wire.call("append_file", "[]"); 2],
            vec![Reply { pieces: Vec::new(), ..wire.words(&[]) }.ending(Ends::Cut); 3],
            vec![Reply::of(200, "text/html", "<html>")],
        ];
        for trouble in lasting {
            let world = World::new("");
            let before = vec![plan(wire), wire.call("append_file", APPEND)];
            let double = Double::new(before.into_iter().chain(trouble.clone()).collect());
            let error = process(&world, wire, &double).start("t", "go").unwrap_err();
            assert!(matches!(error, RunError::Node(NodeError::Model(_))), "{error}");
            assert!(error.hint().contains("paddock resume"), "{}", error.hint());
            assert!(!error.to_string().contains(KEY), "{error}");
            let double = Double::new(vec![wire.words(&["Done."])]);
            let ended = process(&world, wire, &double).resume("t").unwrap();
            assert_eq!(ended, Ended::Done("Done.".into()), "{trouble:?}");
            assert_eq!(world.text("effects.txt"), "once\n", "{trouble:?}");
        }
    }
}

#[test]
fn a_cancelled_question_stops_the_run_and_is_asked_again() {
    let wire = Wire::OpenAi;
    let world = World::new("");
    let double = Double::new(vec![plan(wire), wire.call("append_file", APPEND)]);
    let mut stopped = world.process();
    stopped.runtime.cancel.stop();
    stopped.runtime.model =
        wire.model_with(double.address, &super::double::quick(), std::sync::Arc::clone(&stopped.runtime.cancel));
    let error = stopped.start("t", "go").unwrap_err();
    assert!(matches!(error, RunError::Node(NodeError::Model(ModelError::Cancelled))), "{error}");
    drop(stopped);
    let double = Double::new(vec![plan(wire), wire.call("append_file", APPEND), wire.words(&["Done."])]);
    assert_eq!(process(&world, wire, &double).resume("t").unwrap(), Ended::Done("Done.".into()));
    assert_eq!(world.text("effects.txt"), "once\n");
}
