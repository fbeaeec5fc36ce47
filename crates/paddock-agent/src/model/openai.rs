//! The chat completions of OpenAI, and of the many services that speak the same: Ollama, vLLM, llama.cpp, gateways.
//!
//! Those differ in small things, so what comes is read leniently and what is sent is what all of them know.

use std::fmt;

use paddock_core::BearerToken;
use serde_json::{Value, json};

use super::http::draft::{Draft, Finish};
use super::http::messages::paired;
use super::http::{HttpModel, Protocol, Service, service_error};
use super::retry::Words;
use super::sse::Event;
use super::{Model, ModelAnswer, ModelError, ModelMessage, Question, Role, ToolCall, ToolOffer, Usage};

/// A model behind chat completions.
pub struct OpenAiModel(HttpModel<OpenAi>);

impl OpenAiModel {
    /// The model behind this service.
    #[must_use]
    pub fn new(service: Service) -> Self {
        Self(HttpModel::new(service))
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenAiModel").field(self.0.service()).finish()
    }
}

impl Model for OpenAiModel {
    fn name(&self) -> String {
        self.0.service().called.clone()
    }

    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        self.0.ask(question, heard)
    }
}

/// How such a service is spoken to.
struct OpenAi;

impl Protocol for OpenAi {
    const PATH: &'static str = "/chat/completions";

    fn headers(key: &BearerToken) -> Vec<(&'static str, BearerToken)> {
        vec![("authorization", BearerToken::new(&format!("Bearer {}", key.expose())))]
    }

    fn request(model: &str, _: u32, question: &Question) -> Value {
        let mut body = json!({
            "model": model,
            "messages": paired(&question.messages).iter().map(message).collect::<Vec<_>>(),
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if !question.tools.is_empty() {
            body["tools"] = question.tools.iter().map(tool).collect();
        }
        body
    }

    fn event(event: &Event, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError> {
        if event.data.trim() == "[DONE]" {
            draft.over = true;
            return Ok(());
        }
        let said: Value = serde_json::from_str(&event.data)
            .map_err(|error| ModelError::Malformed(format!("an event of the stream is not JSON ({error})")))?;
        read(&said, draft, words)
    }

    fn whole(said: &Value, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError> {
        if said.get("choices").is_none() && said.get("error").is_none() {
            return Err(ModelError::Malformed("it has no choices".to_owned()));
        }
        read(said, draft, words)?;
        draft.over = true;
        Ok(())
    }
}

/// A piece of an answer, or all of it.
fn read(said: &Value, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError> {
    if let Some(error) = said.get("error").filter(|error| !error.is_null()) {
        return Err(service_error(status_of(error), error));
    }
    if let Some(usage) = said.get("usage").filter(|usage| usage.is_object()) {
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        draft.usage = Some(Usage {
            input_tokens: count(&usage["prompt_tokens"]),
            cached_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"]),
            output_tokens: count(&usage["completion_tokens"]),
        });
    }
    let Some(choice) = said.get("choices").and_then(|choices| choices.get(0)) else { return Ok(()) };
    let piece = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
    // A refusal is said in words of its own, which are an answer like any other.
    for text in [&piece["content"], &piece["refusal"]].into_iter().filter_map(Value::as_str) {
        draft.content.push_str(text);
        words.say(text);
    }
    for call in piece["tool_calls"].as_array().into_iter().flatten() {
        read_call(call, draft);
    }
    match choice["finish_reason"].as_str() {
        None => {}
        Some("length") => draft.finish = Some(Finish::Cut),
        Some(reason @ "content_filter") => draft.finish = Some(Finish::Withheld(reason.to_owned())),
        Some(_) => draft.finish = Some(Finish::Whole),
    }
    Ok(())
}

fn read_call(call: &Value, draft: &mut Draft) {
    let id = call["id"].as_str().filter(|id| !id.is_empty());
    let key = call["index"].as_u64().unwrap_or_else(|| draft.key_without_index(id));
    let function = &call["function"];
    let arguments = match &function["arguments"] {
        Value::String(piece) => piece.clone(),
        Value::Null => String::new(),
        // Some services put the object itself there.
        whole => whole.to_string(),
    };
    draft.call(key, id, function["name"].as_str(), &arguments);
}

/// What an error in the middle of a stream would have been as a status.
fn status_of(error: &Value) -> u16 {
    let code = error["code"].as_u64().or_else(|| error["status"].as_u64());
    match (code.and_then(|code| u16::try_from(code).ok()), error["type"].as_str()) {
        (Some(code @ 400..=599), _) => code,
        (_, Some("invalid_request_error")) => 400,
        (_, Some("rate_limit_error" | "rate_limit_exceeded")) => 429,
        _ => 500,
    }
}

fn message(message: &ModelMessage) -> Value {
    let content = &message.content;
    match message.role {
        Role::System => json!({ "role": "system", "content": content }),
        Role::User => json!({ "role": "user", "content": content }),
        Role::Tool => json!({ "role": "tool", "tool_call_id": message.tool_call_id, "content": content }),
        Role::Assistant if message.tool_calls.is_empty() => json!({ "role": "assistant", "content": content }),
        Role::Assistant => {
            let content = if content.is_empty() { Value::Null } else { json!(content) };
            let calls: Vec<Value> = message.tool_calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn tool(tool: &ToolOffer) -> Value {
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": *tool.schema });
    json!({ "type": "function", "function": function })
}
