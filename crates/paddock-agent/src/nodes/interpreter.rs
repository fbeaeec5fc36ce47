//! The Interpreter: what a result, or the Executor's word, means for the step. The only one who changes the plan's states.

use super::{Node, NodeError};
use crate::state::{Failing, StepState, StepStatus, ToolResult, ToolStatus};

/// So many identical failing calls in a row are a step that does not get anywhere.
pub const MOST_IDENTICAL: u32 = 3;

/// Reads results.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter;

/// What the Interpreter sees.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The step.
    pub step: &'a StepState,
    /// What the Executor said at its end, where it is one.
    pub finished: Option<&'a str>,
    /// What the tool answered.
    pub result: Option<&'a ToolResult>,
    /// Stands for the call that was made.
    pub call: Option<&'a str>,
    /// The last call that failed, and how often.
    pub failing: Option<&'a Failing>,
}

/// What it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The step as it is now.
    pub step: StepState,
    /// The last call that failed, and how often.
    pub failing: Option<Failing>,
}

impl Node for Interpreter {
    type Sees<'a> = Outcome<'a>;
    type Says = Reading;

    fn run(&self, sees: Outcome<'_>) -> Result<Reading, NodeError> {
        let mut step = sees.step.clone();
        let Some(result) = sees.result else {
            step.status = StepStatus::Done;
            return Ok(Reading { step, failing: None });
        };
        if let Some(pointer) = result.pointer() {
            step.result_pointer = Some(pointer.to_owned());
        }
        if result.status != ToolStatus::Error {
            step.last_error = None;
            return Ok(Reading { step, failing: None });
        }
        step.tries += 1;
        step.last_error = Some(result.first_line());
        let call = sees.call.unwrap_or_default().to_owned();
        let before = sees.failing.filter(|failing| failing.call == call).map_or(0, |failing| failing.count);
        let failing = Failing { call, count: before + 1 };
        let stuck = failing.count >= MOST_IDENTICAL;
        if step.tries >= step.max_tries || stuck {
            step.status = StepStatus::Failed;
        }
        Ok(Reading { step, failing: Some(failing) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(status: ToolStatus) -> ToolResult {
        let (tool_name, tool_call_id, output) = ("t".into(), "c".into(), "no\nmore".into());
        ToolResult { tool_name, tool_call_id, output, status, metadata: serde_json::Map::new() }
    }

    fn read(step: &StepState, result: Option<&ToolResult>, failing: Option<&Failing>) -> Reading {
        Interpreter.run(Outcome { step, finished: None, result, call: Some("x"), failing }).unwrap()
    }

    #[test]
    fn three_failures_are_the_end_of_a_step() {
        let mut reading = Reading { step: StepState::new("s", "d", 3), failing: None };
        for tries in 1..=3 {
            let error = result(ToolStatus::Error);
            // Another call each time, so that only the tries count.
            reading = Interpreter
                .run(Outcome {
                    step: &reading.step.clone(),
                    finished: None,
                    result: Some(&error),
                    call: Some(&tries.to_string()),
                    failing: reading.failing.as_ref(),
                })
                .unwrap();
            assert_eq!(reading.step.tries, tries);
            assert_eq!(reading.step.last_error.as_deref(), Some("no"));
        }
        assert_eq!(reading.step.status, StepStatus::Failed);
    }

    #[test]
    fn identical_failing_calls_are_noticed_before_the_tries_are_over() {
        let step = StepState::new("s", "d", 99);
        let failing = Failing { call: "x".into(), count: 2 };
        assert_eq!(read(&step, Some(&result(ToolStatus::Error)), Some(&failing)).step.status, StepStatus::Failed);
        let other = Failing { call: "y".into(), count: 2 };
        assert_eq!(read(&step, Some(&result(ToolStatus::Error)), Some(&other)).step.status, StepStatus::Pending);
    }

    #[test]
    fn a_step_is_done_when_the_executor_says_so_and_not_before() {
        let step = StepState { status: StepStatus::Running, ..StepState::new("s", "d", 3) };
        assert_eq!(read(&step, Some(&result(ToolStatus::Success)), None).step.status, StepStatus::Running);
        assert_eq!(read(&step, None, None).step.status, StepStatus::Done);
    }
}
