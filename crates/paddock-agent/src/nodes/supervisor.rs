//! The Supervisor: decides which step comes, whether the plan has to change, and when it is over. The only one who does.

use super::{Node, NodeError};
use crate::state::{StepState, StepStatus};

/// How often it is planned anew because of one step.
pub const MOST_REPLANS: u32 = 2;

/// Decides what comes next.
#[derive(Debug, Clone, Copy)]
pub struct Supervisor;

/// What the Supervisor sees.
#[derive(Debug)]
pub struct Standing<'a> {
    /// The plan, in order.
    pub steps: &'a [&'a StepState],
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// This step.
    Work(String),
    /// A new plan, because this step failed.
    Replan(String),
    /// The person has to help.
    Ask(String),
    /// All is done.
    Finish,
}

impl Node for Supervisor {
    type Sees<'a> = Standing<'a>;
    type Says = Decision;

    fn run(&self, sees: Standing<'_>) -> Result<Decision, NodeError> {
        if let Some(blocked) = sees.steps.iter().find(|step| step.status == StepStatus::Blocked) {
            return Ok(Decision::Ask(help_with(blocked)));
        }
        // A step that failed and was planned anew is followed by others; the last word is about the newest failure.
        let failed = sees.steps.iter().rfind(|step| step.status == StepStatus::Failed && !step.replaced);
        if let Some(failed) = failed {
            let another = failed.replans < MOST_REPLANS;
            return Ok(if another { Decision::Replan(failed.id.clone()) } else { Decision::Ask(help_with(failed)) });
        }
        let open = sees.steps.iter().find(|step| matches!(step.status, StepStatus::Running | StepStatus::Pending));
        Ok(open.map_or(Decision::Finish, |step| Decision::Work(step.id.clone())))
    }
}

/// Tells people that a new plan stands in the place of a step. Nothing is decided by it: a tool may have said the same.
pub const REPLACED: &str = "replaced by a new plan";

fn help_with(step: &StepState) -> String {
    let error = step.last_error.as_deref().unwrap_or("no reason is known").trim_end_matches('.');
    format!("I could not do \"{}\" after {} tries: {error}. How shall I go on?", step.description, step.tries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, status: StepStatus) -> StepState {
        StepState { status, ..StepState::new(id, "x", 3) }
    }

    fn decided(steps: &[StepState]) -> Decision {
        Supervisor.run(Standing { steps: &steps.iter().collect::<Vec<_>>() }).unwrap()
    }

    #[test]
    fn steps_come_in_order_and_then_it_is_over() {
        use StepStatus::{Done, Pending, Running};
        assert_eq!(decided(&[step("a", Done), step("b", Pending), step("c", Pending)]), Decision::Work("b".into()));
        assert_eq!(decided(&[step("a", Running), step("b", Pending)]), Decision::Work("a".into()));
        assert_eq!(decided(&[step("a", Done)]), Decision::Finish);
    }

    #[test]
    fn a_failed_step_is_planned_anew_twice_and_then_the_person_is_asked() {
        let failed = |replans| {
            let pending = StepState { replans: 2, ..step("b", StepStatus::Pending) };
            decided(&[StepState { replans, ..step("a", StepStatus::Failed) }, pending])
        };
        assert_eq!(failed(0), Decision::Replan("a".into()));
        assert_eq!(failed(1), Decision::Replan("a".into()));
        assert!(matches!(failed(2), Decision::Ask(_)));
        assert!(matches!(decided(&[step("a", StepStatus::Blocked)]), Decision::Ask(_)));
    }

    #[test]
    fn what_a_tool_says_does_not_replace_a_step() {
        let failed = |replaced| {
            let last_error = Some(REPLACED.to_owned());
            decided(&[StepState { last_error, replaced, ..step("a", StepStatus::Failed) }])
        };
        assert_eq!(failed(false), Decision::Replan("a".into()));
        assert_eq!(failed(true), Decision::Finish);
    }
}
