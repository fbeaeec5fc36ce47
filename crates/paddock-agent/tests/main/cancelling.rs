//! A person ends a run, whatever it does at that moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paddock_agent::model::{Asker, Model, ModelAnswer, ModelError, Question};
use paddock_agent::nodes::NodeError;
use paddock_agent::record::{Record, RecordError, ThreadStatus};
use paddock_agent::{Ended, RunError, RunEvent};
use paddock_core::{AgentName, Call, CallId, Cancel};
use serde_json::json;

use crate::world::{World, answer, call, plan, script};

/// A model that is slow: while one node waits for it, a person cancels the run.
struct Slow {
    model: Arc<dyn Model>,
    /// For whom.
    asker: Asker,
    record: Record,
    cancel: Arc<Cancel>,
    /// Was it told to stop?
    stopped: Arc<AtomicBool>,
}

impl Model for Slow {
    fn name(&self) -> String {
        self.model.name()
    }

    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        if question.asker != self.asker {
            return self.model.ask(question, heard);
        }
        self.record.cancel("t").unwrap();
        // No more than a way out of a test that fails.
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = Call { id: CallId::next(), agent: &AgentName::main(), cancel: &self.cancel, deadline };
        while call.tick(0).is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.stopped.store(Instant::now() < deadline, Ordering::SeqCst);
        Err(ModelError::Cancelled)
    }
}

#[test]
fn a_run_that_waits_for_its_model_ends_when_it_is_cancelled() {
    for asker in [Asker::Planner, Asker::Executor] {
        let world = World::new(&script(&[plan(&["say"]), answer("said")]));
        let mut process = world.process();
        let (stopped, cancel) = (Arc::new(AtomicBool::new(false)), Arc::clone(&process.runtime.cancel));
        let (record, model) = (process.runtime.record.clone(), Arc::clone(&process.runtime.model));
        process.runtime.model = Arc::new(Slow { model, asker, record, cancel, stopped: Arc::clone(&stopped) });
        assert_eq!(process.start("t", "go").unwrap(), Ended::Cancelled, "{asker:?}");
        assert!(stopped.load(Ordering::SeqCst), "{asker:?}");
    }
}

/// A run that waits for a decision that was made.
fn decided(make: fn(&str) -> World) -> World {
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let world = make(&script(&[plan(&["remove"]), delete, answer("removed")]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("not frozen") };
    world.process().approve(&approval);
    world
}

#[test]
fn who_cancels_while_somebody_begins_to_resume_has_ended_it() {
    cancelled_meanwhile(World::new);
}

#[test]
fn who_cancels_while_somebody_begins_to_resume_has_ended_it_on_postgresql() {
    cancelled_meanwhile(World::on_postgres);
}

fn cancelled_meanwhile(make: fn(&str) -> World) {
    let world = decided(make);
    let canceller = world.process();
    let process = world.process_watched(Arc::new(move |event| {
        if let RunEvent::Boundary("before it is taken over") = event {
            canceller.runtime.record.cancel("t").unwrap();
        }
    }));
    let refused = process.resume("t").unwrap_err();
    assert!(matches!(refused, RunError::Cancelled(_)), "{refused}");
    assert_eq!(process.runtime.record.thread("t").unwrap().status, ThreadStatus::Cancelled);
    assert_eq!(world.text("old.txt"), "precious\n");
}

/// Whoever was stopped while it checks the call that a person decided about: another process has the thread, or somebody stopped this one.
#[test]
fn a_decision_stays_for_whoever_goes_on() {
    for is_taken in [true, false] {
        let world = decided(World::new);
        let (other, cancel) = (world.process().runtime.record, Arc::new(Cancel::default()));
        let (stopping, told) = (Arc::clone(&cancel), Arc::new(AtomicBool::new(false)));
        let tells = Arc::clone(&told);
        let mut process = world.process_watched(Arc::new(move |event| match event {
            RunEvent::Resumed(_) => {
                is_taken.then(|| other.take("t").unwrap());
                stopping.stop();
            }
            RunEvent::Tool(_) | RunEvent::Frozen(_) => tells.store(true, Ordering::SeqCst),
            _ => {}
        }));
        process.runtime.cancel = cancel;
        let stopped = process.resume("t").unwrap_err();
        let is_right = match &stopped {
            RunError::Record(RecordError::TakenOver(_)) => is_taken,
            RunError::Node(NodeError::Stopped) => !is_taken,
            _ => false,
        };
        assert!(is_right, "{stopped:?}");
        assert!(!told.load(Ordering::SeqCst), "nothing came of the call");
        drop(process);
        assert_eq!(world.process().resume("t").unwrap(), Ended::Done("removed".into()));
        assert!(!world.file("old.txt").exists(), "{:#?}", world.process().said("t"));
    }
}

#[test]
fn a_cancelled_thread_takes_no_other_task() {
    let world = decided(World::new);
    let process = world.process();
    process.runtime.record.cancel("t").unwrap();
    let refused = process.start("t", "something else").unwrap_err();
    assert!(matches!(refused, RunError::Cancelled(_)), "{refused}");
    let told = format!("{refused}; {}", refused.hint());
    assert!(told.contains("was cancelled") && told.contains("begin another run"), "{told}");
}

#[test]
fn what_came_to_its_end_stays_as_it_ended() {
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    let process = world.process();
    process.start("t", "go").unwrap();
    let over = process.runtime.record.cancel("t").unwrap_err();
    assert!(over.to_string().contains("is done already"), "{over}");
    let thread = process.runtime.record.thread("t").unwrap();
    assert_eq!((thread.status, thread.told.as_deref()), (ThreadStatus::Done, Some("said")));
}
