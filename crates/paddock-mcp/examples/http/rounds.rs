//! Calls that take several rounds in the newer versions: the server answers with what it wants to know, the client calls again with it.
//!
//! What a client sends back as state is looked up among what was given out, so that nothing made up is taken.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, InputRequiredResult, InputResponses,
};
use serde_json::{Map, Value, json};

use crate::fixtures::{Context, of, text};

/// The states that were given out.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Mutex<HashSet<String>>);

fn form(message: &str, property: &str, kind: &str) -> Value {
    let schema = json!({"type": "object", "properties": {property: {"type": kind}}, "required": [property]});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

fn sampling(question: &str) -> Value {
    let content = json!({"type": "text", "text": question});
    json!({"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": content}], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

impl Rounds {
    /// What a call of several rounds is answered; nothing for any other.
    pub(crate) fn tool(
        &self,
        request: &CallToolRequestParams,
        context: &Context,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        let asked = match &*request.name {
            "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
                json!({"user_name": form("What is your name?", "name", "string")})
            }
            "test_input_required_result_sampling" => {
                json!({"capital_question": sampling("What is the capital of France?")})
            }
            "test_input_required_result_list_roots" => json!({"client_roots": roots()}),
            "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
                json!({"confirm": form("Please confirm", "ok", "boolean")})
            }
            "test_input_required_result_multiple_inputs" => json!({
                "user_name": form("What is your name?", "name", "string"),
                "greeting": sampling("Generate a greeting"),
                "client_roots": roots(),
            }),
            "test_input_required_result_capabilities" => able(context),
            "test_input_required_result_multi_round" => return self.steps(request).map(Some),
            _ => return Ok(None),
        };
        let state = request.request_state.as_deref();
        self.check(state)?;
        let Some(answers) = complete(&asked, request.input_responses.as_ref()) else {
            let keeps_state = request.name.ends_with("_state") || request.name.ends_with("multiple_inputs");
            return self.require(&asked, keeps_state).map(|required| Some(required.into()));
        };
        let word = if state.is_some() { "state-ok" } else { "answered" };
        Ok(Some(CallToolResponse::Complete(text(&format!("{word}: {answers}"))?)))
    }

    fn steps(&self, request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
        self.check(request.request_state.as_deref())?;
        let answered = |key: &str| request.input_responses.as_ref().is_some_and(|answers| answers.contains_key(key));
        if answered("step2") {
            return Ok(CallToolResponse::Complete(text("both steps are done")?));
        }
        let asked = if answered("step1") {
            json!({"step2": form("Step 2: What is your favorite color?", "color", "string")})
        } else {
            json!({"step1": form("Step 1: What is your name?", "name", "string")})
        };
        self.require(&asked, true).map(Into::into)
    }

    /// What a prompt wants to know first.
    pub(crate) fn prompt(&self, request: &GetPromptRequestParams) -> Result<Option<InputRequiredResult>, ErrorData> {
        if request.name != "test_input_required_result_prompt" {
            return Ok(None);
        }
        let asked = json!({"user_context": form("What context should the prompt use?", "context", "string")});
        if complete(&asked, request.input_responses.as_ref()).is_some() {
            return Ok(None);
        }
        self.require(&asked, false).map(Some)
    }

    fn require(&self, asked: &Value, with_state: bool) -> Result<InputRequiredResult, ErrorData> {
        let mut required = json!({"resultType": "input_required", "inputRequests": asked});
        if with_state {
            let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let state = format!("state-{}-{}", std::process::id(), given.len());
            given.insert(state.clone());
            required["requestState"] = json!(state);
        }
        of(required)
    }

    fn check(&self, state: Option<&str>) -> Result<(), ErrorData> {
        let given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            Some(state) if !given.contains(state) => {
                Err(ErrorData::invalid_params("this state was not given out", None))
            }
            _ => Ok(()),
        }
    }
}

/// Only what this client can be asked.
fn able(context: &Context) -> Value {
    let able = context.client_capabilities().unwrap_or_default();
    let mut asked = Map::new();
    if able.sampling.is_some() {
        asked.insert("question".to_owned(), sampling("What is the capital of France?"));
    }
    if able.elicitation.is_some() {
        asked.insert("user_name".to_owned(), form("What is your name?", "name", "string"));
    }
    Value::Object(asked)
}

/// The answers, when every question has one that is an answer.
fn complete(asked: &Value, answers: Option<&InputResponses>) -> Option<Value> {
    let (asked, answers) = (asked.as_object()?, answers?);
    let is_answer = |value: &Value| {
        ["action", "content", "roots"].iter().any(|key| value.get(key).is_some())
            && value.get("action").is_none_or(|action| action == "accept" && value["content"].is_object())
    };
    asked.keys().all(|key| answers.get(key).is_some_and(is_answer)).then(|| json!(answers))
}
