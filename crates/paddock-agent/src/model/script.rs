//! A model that says what a file holds: for tests, demos and reproduction.
//!
//! JSON lines, each one answer: `{"node"?, "content", "tool_calls"?: [{"name", "arguments"}]}`, taken in order. A line with a node is for
//! that node alone; one without is for whoever asks next. How far it is, is counted from the record of the run, so that a run that is
//! resumed in another process goes on where it was.

use std::sync::Mutex;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Asker, Model, ModelAnswer, ModelError, Question, ToolCall, Usage};

/// One line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    node: Option<Asker>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    tool_calls: Vec<Proposed>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposed {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Why a file is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script is no answer: {why}")]
pub struct BadScript {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// The answers of a file; by default none.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    lines: Vec<Line>,
    used: Mutex<Vec<bool>>,
}

impl ScriptedModel {
    /// The answers that a text holds.
    ///
    /// # Errors
    /// With the first line that is none.
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let lines: Result<Vec<Line>, BadScript> = lines
            .map(|(at, line)| {
                serde_json::from_str(line).map_err(|error| BadScript { line: at + 1, why: error.to_string() })
            })
            .collect();
        let lines = lines?;
        let used = Mutex::new(vec![false; lines.len()]);
        Ok(Self { lines, used })
    }

    /// Takes out the answers that a run has had already, in their order.
    pub fn skip(&self, askers: &[Asker]) {
        for asker in askers {
            let _ = self.take(*asker);
        }
    }

    fn take(&self, asker: Asker) -> Option<(usize, &Line)> {
        let mut used = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let suits = |line: &Line| line.node.is_none_or(|node| node == asker);
        let at = (0..self.lines.len()).find(|at| !used[*at] && suits(&self.lines[*at]))?;
        used[at] = true;
        Some((at, &self.lines[at]))
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> String {
        "script".to_owned()
    }

    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        let asker = match question.asker {
            Asker::Planner => "Planner",
            Asker::Executor => "Executor",
        };
        let (at, line) = self.take(question.asker).ok_or(ModelError::ScriptEnded(asker))?;
        heard(&line.content);
        let call = |(n, call): (usize, &Proposed)| ToolCall {
            id: format!("script-{at}-{n}"),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        let tool_calls = line.tool_calls.iter().enumerate().map(call).collect();
        // Words stand for tokens, so that bounds can be tried.
        let count = |text: &str| text.split_whitespace().count() as u64;
        let input_tokens = question.messages.iter().map(|message| count(&message.content)).sum();
        let usage = Usage { input_tokens, output_tokens: count(&line.content), ..Usage::default() };
        Ok(ModelAnswer { content: line.content.clone(), tool_calls, usage, cost: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(model: &ScriptedModel, asker: Asker) -> Result<String, ModelError> {
        let question = Question { asker, messages: Vec::new(), tools: Vec::new() };
        model.ask(&question, &mut |_| {}).map(|answer| answer.content)
    }

    #[test]
    fn answers_come_in_order_and_to_the_node_they_are_for() {
        let text = "{\"node\":\"executor\",\"content\":\"e1\"}\n\n{\"content\":\"any\"}\n{\"node\":\"planner\",\"content\":\"p1\"}\n";
        let model = ScriptedModel::parse(text).unwrap();
        assert_eq!(asked(&model, Asker::Planner).unwrap(), "any");
        assert_eq!(asked(&model, Asker::Planner).unwrap(), "p1");
        assert_eq!(asked(&model, Asker::Executor).unwrap(), "e1");
        assert_eq!(asked(&model, Asker::Executor), Err(ModelError::ScriptEnded("Executor")));
        let again = ScriptedModel::parse(text).unwrap();
        again.skip(&[Asker::Planner, Asker::Planner]);
        assert_eq!(asked(&again, Asker::Executor).unwrap(), "e1");
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = ScriptedModel::parse("{\"content\":\"a\"}\n{\"contents\":\"b\"}").unwrap_err();
        assert_eq!(error.line, 2);
    }
}
