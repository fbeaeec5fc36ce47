//! The Finalizer: the last word of a turn, an answer or a question.

use super::{Node, NodeError};
use crate::state::{StepState, StepStatus};

/// Ends a turn.
#[derive(Debug, Clone, Copy)]
pub struct Finalizer;

/// What the Finalizer sees.
#[derive(Debug)]
pub struct End<'a> {
    /// The plan, in order.
    pub steps: &'a [&'a StepState],
    /// What the Executor said last.
    pub last_words: Option<&'a str>,
    /// What the person has to be asked, where that is why it ends.
    pub question: Option<&'a str>,
    /// Was there only to be a plan?
    pub only_planned: bool,
}

/// The last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWord {
    /// In words.
    pub text: String,
    /// Does the person have to answer?
    pub asks: bool,
}

impl Node for Finalizer {
    type Sees<'a> = End<'a>;
    type Says = LastWord;

    fn run(&self, sees: End<'_>) -> Result<LastWord, NodeError> {
        if let Some(question) = sees.question {
            return Ok(LastWord { text: question.to_owned(), asks: true });
        }
        let listed = || sees.steps.iter().map(|step| format!("- {}", step.description)).collect::<Vec<_>>().join("\n");
        if sees.only_planned {
            return Ok(LastWord {
                text: format!("This is the plan; nothing was done yet.\n{}", listed()),
                asks: false,
            });
        }
        let words = sees.last_words.map(str::trim).filter(|words| !words.is_empty());
        let done = sees.steps.iter().filter(|step| step.status == StepStatus::Done).count();
        let text = words.map_or_else(|| format!("{done} steps are done:\n{}", listed()), str::to_owned);
        Ok(LastWord { text, asks: false })
    }
}
