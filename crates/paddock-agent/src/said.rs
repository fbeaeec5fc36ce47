//! What was said, between the conversation that is kept and the messages that a model reads.
//!
//! Ids tell the checkpoint that a message came with, so that writing it again would be noticed, and a fork knows what was said by then.

use std::collections::VecDeque;

use paddock_state::conversation::{BadMessage, Message, MessageSource};
use paddock_state::{Redactor, Timestamp};
use serde_json::{Value, json};

use crate::model::{ModelMessage, Role, ToolCall};

/// The most messages that a model is shown.
const MOST: usize = 200;
/// The most of them, in bytes.
const LONGEST: usize = 512 * 1024;

/// A message to be kept.
pub(crate) struct Saying<'a> {
    pub(crate) message: ModelMessage,
    pub(crate) source: MessageSource,
    pub(crate) redactor: &'a Redactor,
}

impl Saying<'_> {
    /// As it is kept, `index` among those of checkpoint `n`.
    pub(crate) fn kept(&self, n: u64, index: usize) -> Result<Message, BadMessage> {
        let mut data = json!({ "role": self.message.role, "content": self.message.content });
        if let Value::Object(fields) = &mut data {
            if !self.message.tool_calls.is_empty() {
                fields.insert("toolCalls".to_owned(), json!(self.message.tool_calls));
            }
            if let Some(id) = &self.message.tool_call_id {
                fields.insert("toolCallId".to_owned(), json!(id));
            }
        }
        self.redactor.json(&mut data);
        let whole = json!({
            "id": format!("{n:08}.{index}"),
            "data": data,
            "metadata": {},
            "createdAt": Timestamp::now(),
            "source": self.source,
        });
        serde_json::from_value(whole).map_err(|_| BadMessage::Data(format!("{n:08}.{index}")))
    }
}

/// The checkpoint that a message came with, if one of a run.
pub(crate) fn checkpoint_of(message: &Message) -> Option<u64> {
    message.id().split_once('.').and_then(|(n, _)| n.parse().ok())
}

/// As a model reads it.
pub(crate) fn read(message: &Message) -> ModelMessage {
    let data = message.data().value();
    let role = match data["role"].as_str() {
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some("system") => Role::System,
        _ => Role::User,
    };
    let content = data["content"].as_str().map_or_else(|| data["content"].to_string(), str::to_owned);
    let tool_calls: Vec<ToolCall> = serde_json::from_value(data["toolCalls"].clone()).unwrap_or_default();
    let tool_call_id = data["toolCallId"].as_str().map(str::to_owned);
    ModelMessage { role, content, tool_calls, tool_call_id }
}

/// The last messages, as many as a model is shown.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// Each with its size.
    messages: VecDeque<(usize, ModelMessage)>,
    bytes: usize,
}

impl Recent {
    pub(crate) fn add(&mut self, message: ModelMessage) {
        let size = size(&message);
        self.bytes += size;
        self.messages.push_back((size, message));
        while self.messages.len() > MOST || (self.bytes > LONGEST && self.messages.len() > 1) {
            self.bytes -= self.messages.pop_front().map_or(0, |(size, _)| size);
        }
    }

    /// In order. An answer of a tool whose call is no longer shown is left out: a service would refuse it.
    pub(crate) fn shown(&self) -> Vec<ModelMessage> {
        let mut known: Vec<&str> = Vec::new();
        let mut shown = Vec::new();
        for (_, message) in &self.messages {
            let answers = message.tool_call_id.as_deref();
            if answers.is_some_and(|id| !known.contains(&id)) {
                continue;
            }
            known.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
            shown.push(message.clone());
        }
        shown
    }
}

/// What a message takes of a question, as JSON but for its words.
fn size(message: &ModelMessage) -> usize {
    let arguments = |call: &ToolCall| serde_json::to_string(&call.arguments).map_or(0, |text| text.len());
    let calls = message.tool_calls.iter().map(|call| call.name.len() + 64 + arguments(call));
    message.content.len() + calls.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call with so many bytes to write, and its answer.
    fn wrote(n: usize, bytes: usize) -> [ModelMessage; 2] {
        let arguments = serde_json::Map::from_iter([("content".to_owned(), "x".repeat(bytes).into())]);
        let mut asks = ModelMessage::of(Role::Assistant, "");
        asks.tool_calls = vec![ToolCall { id: n.to_string(), name: "write_file".to_owned(), arguments }];
        let mut answers = ModelMessage::of(Role::Tool, "written");
        answers.tool_call_id = Some(n.to_string());
        [asks, answers]
    }

    fn shown(sizes: &[usize]) -> Vec<ModelMessage> {
        let mut recent = Recent::default();
        sizes.iter().enumerate().flat_map(|(n, bytes)| wrote(n, *bytes)).for_each(|message| recent.add(message));
        recent.shown()
    }

    #[test]
    fn what_calls_were_given_counts_among_what_a_model_is_shown() {
        let shown = shown(&[200 * 1024; 10]);
        let bytes: usize = shown.iter().map(|message| serde_json::to_string(message).unwrap().len()).sum();
        assert!(bytes <= LONGEST, "{bytes}");
        assert_eq!(shown.len(), 4, "the last two calls, each with its answer");
        assert_eq!(shown[0].tool_calls[0].id, "8");
    }

    #[test]
    fn small_calls_are_all_shown() {
        assert_eq!(shown(&[100; 50]).len(), 100);
    }
}
