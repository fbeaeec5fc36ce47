//! The messages of Anthropic: the system's words apart, calls and their answers as blocks, sides that take turns.

use std::collections::BTreeSet;
use std::fmt;

use paddock_core::BearerToken;
use serde_json::{Value, json};

use super::http::draft::{Draft, Finish};
use super::http::messages::paired;
use super::http::{HttpModel, Protocol, Service, service_error};
use super::retry::Words;
use super::sse::Event;
use super::{Model, ModelAnswer, ModelError, ModelMessage, Question, Role, ToolOffer, Usage};

/// The version of the protocol that is spoken here.
const VERSION: &str = "2023-06-01";
/// The person's side begins, always.
const OPENING: &str = "(What was said before is left out.)";

/// A model behind the messages API.
pub struct AnthropicModel(HttpModel<Anthropic>);

impl AnthropicModel {
    /// The model behind this service.
    #[must_use]
    pub fn new(service: Service) -> Self {
        Self(HttpModel::new(service))
    }
}

impl fmt::Debug for AnthropicModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnthropicModel").field(self.0.service()).finish()
    }
}

impl Model for AnthropicModel {
    fn name(&self) -> String {
        self.0.service().called.clone()
    }

    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        self.0.ask(question, heard)
    }
}

/// How such a service is spoken to.
struct Anthropic;

impl Protocol for Anthropic {
    const PATH: &'static str = "/v1/messages";

    fn headers(key: &BearerToken) -> Vec<(&'static str, BearerToken)> {
        vec![("x-api-key", key.clone())]
    }

    fn plain_headers() -> Vec<(&'static str, &'static str)> {
        vec![("anthropic-version", VERSION)]
    }

    fn request(model: &str, longest: u32, question: &Question) -> Value {
        let messages = paired(&question.messages);
        let mut body = json!({
            "model": model,
            "max_tokens": longest,
            "messages": turns(&messages),
            "stream": true,
        });
        let system: Vec<&str> = messages
            .iter()
            .filter(|message| message.role == Role::System)
            .map(|message| message.content.as_str())
            .collect();
        if !system.is_empty() {
            body["system"] = json!(system.join("\n\n"));
        }
        offer(&question.tools, &messages, &mut body);
        body
    }

    fn event(event: &Event, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError> {
        let said: Value = serde_json::from_str(&event.data)
            .map_err(|error| ModelError::Malformed(format!("an event of the stream is not JSON ({error})")))?;
        let index = said["index"].as_u64().unwrap_or(0);
        match said["type"].as_str().unwrap_or(&event.name) {
            "message_start" => count(&said["message"]["usage"], draft),
            "content_block_start" => begin(index, &said["content_block"], draft, words),
            "content_block_delta" => match &said["delta"] {
                delta if delta["type"] == "text_delta" => say(&delta["text"], draft, words),
                delta if delta["type"] == "input_json_delta" => {
                    draft.call(index, None, None, delta["partial_json"].as_str().unwrap_or_default());
                }
                // What it thinks is not what it says.
                _ => {}
            },
            "message_delta" => {
                count(&said["usage"], draft);
                draft.finish = said["delta"]["stop_reason"].as_str().map(finish).or(draft.finish.take());
            }
            "message_stop" => draft.over = true,
            "error" => return Err(service_error(status_of(&said["error"]), &said["error"])),
            // A sign of life, or something newer than this.
            _ => {}
        }
        Ok(())
    }

    fn whole(said: &Value, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError> {
        let blocks = said["content"].as_array();
        let blocks = blocks.ok_or_else(|| ModelError::Malformed("it has no content".to_owned()))?;
        for (index, block) in (0..).zip(blocks) {
            begin(index, block, draft, words);
            if block["type"] == "tool_use" {
                draft.call(index, None, None, &block["input"].to_string());
            }
        }
        count(&said["usage"], draft);
        draft.finish = said["stop_reason"].as_str().map(finish);
        draft.over = true;
        Ok(())
    }
}

fn begin(index: u64, block: &Value, draft: &mut Draft, words: &mut Words<'_>) {
    if block["type"] == "tool_use" {
        draft.call(index, block["id"].as_str(), block["name"].as_str(), "");
    } else if block["type"] == "text" {
        say(&block["text"], draft, words);
    }
}

fn say(text: &Value, draft: &mut Draft, words: &mut Words<'_>) {
    let text = text.as_str().unwrap_or_default();
    draft.content.push_str(text);
    words.say(text);
}

/// Tokens come in two parts, the second one with what they have grown to.
fn count(usage: &Value, draft: &mut Draft) {
    let number = |key: &str| usage[key].as_u64().unwrap_or(0);
    let cached = number("cache_read_input_tokens");
    let input = number("input_tokens") + number("cache_creation_input_tokens") + cached;
    let known = draft.usage.unwrap_or_default();
    if usage.is_object() {
        draft.usage = Some(Usage {
            input_tokens: known.input_tokens.max(input),
            cached_tokens: known.cached_tokens.max(cached),
            output_tokens: known.output_tokens.max(number("output_tokens")),
        });
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Cut,
        "refusal" => Finish::Withheld(reason.to_owned()),
        _ => Finish::Whole,
    }
}

/// What an error in the middle of a stream would have been as a status.
fn status_of(error: &Value) -> u16 {
    match error["type"].as_str().unwrap_or_default() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// The two sides in turns: what one says in a row is one message.
fn turns(messages: &[ModelMessage]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        let side = if message.role == Role::Assistant { "assistant" } else { "user" };
        let blocks = blocks(message);
        if blocks.is_empty() {
            continue;
        }
        if turns.is_empty() && side == "assistant" {
            turns.push(("user", vec![text(OPENING)]));
        }
        match turns.last_mut() {
            Some((last, said)) if *last == side => said.extend(blocks),
            _ => turns.push((side, blocks)),
        }
    }
    if turns.is_empty() {
        turns.push(("user", vec![text(OPENING)]));
    }
    turns.into_iter().map(|(side, blocks)| json!({ "role": side, "content": blocks })).collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn blocks(message: &ModelMessage) -> Vec<Value> {
    if let Some(id) = &message.tool_call_id {
        return vec![json!({ "type": "tool_result", "tool_use_id": id, "content": message.content })];
    }
    // Words that are none are refused.
    let mut blocks: Vec<Value> =
        Some(message.content.trim_end()).filter(|words| !words.trim().is_empty()).map(text).into_iter().collect();
    blocks.extend(
        message
            .tool_calls
            .iter()
            .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments })),
    );
    blocks
}

/// The tools. Where none is offered but some were called, they have to be named all the same, and may not be called.
fn offer(tools: &[ToolOffer], messages: &[ModelMessage], body: &mut Value) {
    let offered =
        |tool: &ToolOffer| json!({ "name": tool.name, "description": tool.description, "input_schema": *tool.schema });
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(offered).collect();
        return;
    }
    let called: BTreeSet<&str> =
        messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.name.as_str()).collect();
    if !called.is_empty() {
        body["tools"] =
            called.iter().map(|name| json!({ "name": name, "input_schema": { "type": "object" } })).collect();
        body["tool_choice"] = json!({ "type": "none" });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::model::{Asker, ToolCall};

    #[test]
    fn sides_take_turns_and_results_stand_together() {
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments: Map::new() };
        let result = |id: &str| ModelMessage { tool_call_id: Some(id.into()), ..ModelMessage::of(Role::Tool, id) };
        let messages = vec![
            ModelMessage::of(Role::System, "one"),
            ModelMessage::of(Role::Assistant, "first of what is shown"),
            ModelMessage { tool_calls: vec![call("a"), call("b")], ..ModelMessage::of(Role::Assistant, " ") },
            result("a"),
            result("b"),
            ModelMessage::of(Role::User, "go on"),
            ModelMessage::of(Role::System, "two"),
        ];
        let question = Question { asker: Asker::Planner, messages, tools: Vec::new() };
        let body = Anthropic::request("m", 10, &question);
        assert_eq!(body["system"], "one\n\ntwo");
        let turns = body["messages"].as_array().unwrap();
        let shape: Vec<(&str, Vec<&str>)> = turns
            .iter()
            .map(|turn| {
                let blocks = turn["content"].as_array().unwrap();
                (turn["role"].as_str().unwrap(), blocks.iter().map(|block| block["type"].as_str().unwrap()).collect())
            })
            .collect();
        let expected = [
            ("user", vec!["text"]),
            ("assistant", vec!["text", "tool_use", "tool_use"]),
            ("user", vec!["tool_result", "tool_result", "text"]),
        ];
        assert_eq!(shape, expected);
        // No tool is offered, but one was called: it is named, and cannot be called.
        assert_eq!((&body["tools"][0]["name"], &body["tool_choice"]["type"]), (&json!("t"), &json!("none")));
    }
}
