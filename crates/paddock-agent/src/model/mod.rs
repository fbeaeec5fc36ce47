//! The model port: one question, one answer.
//!
//! A model is asked with messages and tools and answers with text, tool calls, or both. What a service calls things is known in its own
//! module alone. A model never sees a token of an approval, and nothing it says decides what is allowed.

pub mod anthropic;
pub mod choose;
mod cost;
pub mod http;
pub mod openai;
mod redacted;
pub mod retry;
pub mod script;
pub mod sse;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use cost::{Cost, Costs, Prices};
pub(crate) use redacted::RedactedModel;
pub use script::ScriptedModel;

/// Which node asks. A script can answer each on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asker {
    /// For a plan.
    Planner,
    /// For the next call.
    Executor,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The program.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A call that a model proposes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call, so that its answer can be told apart.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// By whom.
    pub role: Role,
    /// In words.
    pub content: String,
    /// The calls it proposes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl ModelMessage {
    /// Words of one side.
    pub fn of(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Arc<Map<String, Value>>,
}

/// One question.
#[derive(Debug, Clone)]
pub struct Question {
    /// Which node asks.
    pub asker: Asker,
    /// What was said so far, the oldest first.
    pub messages: Vec<ModelMessage>,
    /// What may be called.
    pub tools: Vec<ToolOffer>,
}

/// How much a question and its answer were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the question.
    pub input_tokens: u64,
    /// Those of them that the service had kept from a question before, where it says so.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cached_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl Usage {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// In words.
    #[serde(default)]
    pub content: String,
    /// The calls it proposes, in order.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// How much it was.
    #[serde(default)]
    pub usage: Usage,
    /// What it cost, at the prices of then; nothing where none were known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nobody can be reached, or the connection broke.
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("the model took too long")]
    Slow,
    /// It asks to wait.
    #[error("the model is asked too much (status {status})")]
    Busy {
        /// What it said.
        status: u16,
    },
    /// It refuses the question: asking again does not help.
    #[error("the model refuses the question (status {status}): {message}")]
    Refused {
        /// What it said.
        status: u16,
        /// In words.
        message: String,
    },
    /// What came back is not an answer.
    #[error("the answer of the model cannot be understood: {0}")]
    Malformed(String),
    /// A script has no more lines.
    #[error("the script has no more answers for the {0}")]
    ScriptEnded(&'static str),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Something to ask.
pub trait Model: Send + Sync {
    /// What it is called, for records.
    fn name(&self) -> String;

    /// Answers. `heard` is given the words as they come.
    ///
    /// # Errors
    /// When there is no answer; what could be tried again was.
    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError>;
}
