//! The Planner: makes the plan, and a new one when a step cannot be done.

use super::{Node, NodeError};
use crate::model::{Asker, Model, ModelAnswer, ModelMessage, Question, Role};
use crate::plan;
use crate::state::{StepState, StepStatus};

/// How often an answer that is no plan is asked for again.
const ATTEMPTS: usize = 3;

/// Makes plans.
#[derive(Debug, Clone, Copy)]
pub struct Planner;

/// What the Planner sees.
pub struct Task<'a> {
    /// What is to be done.
    pub prompt: &'a str,
    /// What the agent perceives.
    pub map: &'a str,
    /// The names of the tools there are.
    pub tools: &'a [String],
    /// What was said before this turn.
    pub before: &'a [ModelMessage],
    /// The plan so far, where there is one.
    pub steps: &'a [&'a StepState],
    /// The step that could not be done, where a new plan is wanted for it.
    pub failed: Option<&'a StepState>,
    /// Whom to ask.
    pub model: &'a dyn Model,
    /// Is given the words as they come.
    pub heard: &'a mut dyn FnMut(&str),
}

/// A plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What is to be done, in order.
    pub steps: Vec<String>,
    /// What the model said.
    pub answer: ModelAnswer,
}

impl Node for Planner {
    type Sees<'a> = Task<'a>;
    /// Nothing where the model has no plan after all.
    type Says = Result<Planned, ModelAnswer>;

    fn run(&self, sees: Task<'_>) -> Result<Self::Says, NodeError> {
        let mut messages = vec![ModelMessage::of(Role::System, instructions(&sees))];
        messages.extend(sees.before.iter().cloned());
        messages.push(ModelMessage::of(Role::User, task(&sees)));
        let mut used = crate::model::Usage::default();
        for attempt in 1.. {
            let question = Question { asker: Asker::Planner, messages: messages.clone(), tools: Vec::new() };
            let mut answer = sees.model.ask(&question, sees.heard)?;
            used += answer.usage;
            match plan::parse(&answer.content) {
                Err(bad) if attempt < ATTEMPTS => {
                    messages.push(ModelMessage::of(Role::Assistant, answer.content));
                    messages.push(ModelMessage::of(
                        Role::User,
                        format!("That is no plan: {bad}. Answer with the checklist alone."),
                    ));
                }
                _ => {
                    answer.usage = used;
                    return Ok(said(answer));
                }
            }
        }
        unreachable!("the last attempt returns")
    }
}

/// What an answer means: a plan, or none.
pub(crate) fn said(answer: ModelAnswer) -> Result<Planned, ModelAnswer> {
    match plan::parse(&answer.content) {
        Ok(steps) => Ok(Planned { steps, answer }),
        Err(_) => Err(answer),
    }
}

fn instructions(sees: &Task<'_>) -> String {
    format!(
        "You plan work for an agent with these tools: {}. Answer with a Markdown checklist, one line \"- [ ] step\" for each step, few and \
         concrete, and nothing else. The last step tells the person what was done.\n\n{}",
        sees.tools.join(", "),
        sees.map
    )
}

fn task(sees: &Task<'_>) -> String {
    let Some(failed) = sees.failed else { return sees.prompt.to_owned() };
    let listed = |status: StepStatus| {
        let steps = sees.steps.iter().filter(|step| step.status == status);
        let listed: Vec<&str> = steps.map(|step| step.description.as_str()).collect();
        if listed.is_empty() { "nothing".to_owned() } else { listed.join("; ") }
    };
    format!(
        "{}\n\nDone so far: {}.\nThis step could not be done: {}. The last error: {}.\nStill to come: {}.\nPlan what is left in another \
         way. A step that is still to come, and is right as it is, keeps its words.",
        sees.prompt,
        listed(StepStatus::Done),
        failed.description,
        failed.last_error.as_deref().unwrap_or("unknown"),
        listed(StepStatus::Pending)
    )
}
