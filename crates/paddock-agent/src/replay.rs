//! Going through a run again from its record: without its model, without a tool, without an effect.
//!
//! What came from outside (what the model said, what a tool answered, what Check let pass) is taken from the record; what the runtime made of it is
//! made again, and has to come to the same.

use crate::graph::NodeName;
use crate::nodes::Node as _;
use crate::nodes::interpreter::{Interpreter, Outcome};
use crate::nodes::supervisor::{Decision, Standing, Supervisor};
use crate::record::{Checkpoint, Record, RecordError};
use crate::runtime::RunError;
use crate::state::StepState;
use crate::wires::digest_of;

/// What going through it again came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// The first that does not come to the same.
    pub differs_at: Option<u64>,
}

/// Goes through a run again.
///
/// # Errors
/// When the record cannot be read.
pub fn replay(record: &Record, thread: &str) -> Result<Replayed, RunError> {
    let checkpoints = record.thread(thread)?.checkpoints;
    let mut before: Option<Checkpoint> = None;
    for n in 1..=checkpoints {
        let missing = || RecordError::NoCheckpoint { thread: thread.to_owned(), n };
        let now = record.checkpoint(thread, Some(n))?.ok_or_else(missing)?;
        if let Some(before) = &before
            && !follows(before, &now)
        {
            return Ok(Replayed { checkpoints, differs_at: Some(n) });
        }
        before = Some(now);
    }
    Ok(Replayed { checkpoints, differs_at: None })
}

/// Whether what a node made of what it had is what the record says.
fn follows(before: &Checkpoint, now: &Checkpoint) -> bool {
    // A bound sends a run to its end from anywhere, and a new turn begins after one.
    let is_in_order = before.next == now.node || matches!(now.node, NodeName::Finalizer | NodeName::Gatekeeper);
    is_in_order
        && match now.node {
            NodeName::Supervisor => supervised(before, now),
            NodeName::Executor => executed(now),
            NodeName::Interpreter => interpreted(before, now),
            _ => true,
        }
}

fn supervised(before: &Checkpoint, now: &Checkpoint) -> bool {
    let steps: Vec<&StepState> = before.state.step_history.values().collect();
    match Supervisor.run(Standing { steps: &steps }) {
        Ok(Decision::Work(id)) => now.next == NodeName::Executor && now.state.current_step_id == Some(id),
        Ok(Decision::Replan(id)) => now.next == NodeName::Planner && now.state.current_step_id == Some(id),
        Ok(Decision::Ask(_) | Decision::Finish) => now.next == NodeName::Finalizer,
        Err(_) => false,
    }
}

fn executed(now: &Checkpoint) -> bool {
    let Some((_, answer)) = &now.answer else { return false };
    let proposed = now.state.progress.proposed.as_ref().map(|proposed| &proposed.call);
    match answer.tool_calls.first() {
        Some(call) => now.next == NodeName::Check && proposed == Some(call),
        None => now.next == NodeName::Interpreter && now.state.progress.finished.as_ref() == Some(&answer.content),
    }
}

fn interpreted(before: &Checkpoint, now: &Checkpoint) -> bool {
    let progress = &before.state.progress;
    let id = before.state.current_step_id.as_ref();
    let Some(step) = id.and_then(|id| before.state.step_history.get(id)) else { return false };
    let call = progress.proposed.as_ref().map(|proposed| digest_of(&proposed.call));
    let reading = Interpreter.run(Outcome {
        step,
        finished: progress.finished.as_deref(),
        result: before.state.last_tool_result.as_ref().filter(|_| progress.finished.is_none()),
        call: call.as_deref(),
        failing: progress.failing.as_ref(),
    });
    reading.is_ok_and(|reading| {
        now.state.step_history.get(&reading.step.id).is_some_and(|now| now.tries == reading.step.tries)
    })
}
