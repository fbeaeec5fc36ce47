//! What the conformance suite of the protocol expects of a server: tools, prompts and resources with given names and contents.
//!
//! Owns nothing of Paddock's: it is here so that the transport is played with everything the protocol has.

#![expect(deprecated, reason = "older versions of the protocol are played too")]

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, ServerNotification, ServerRequest, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::given;
use crate::rounds::Rounds;

pub(crate) type Context = RequestContext<RoleServer>;

/// Between one word about a call and the next.
const A_WHILE: Duration = Duration::from_millis(50);

/// The fixtures, and who hears when a list is said to have changed.
#[derive(Debug)]
pub(crate) struct Fixtures {
    rounds: Rounds,
    tools_changed: watch::Sender<()>,
    prompts_changed: watch::Sender<()>,
}

impl Default for Fixtures {
    fn default() -> Self {
        Self {
            rounds: Rounds::default(),
            tools_changed: watch::Sender::new(()),
            prompts_changed: watch::Sender::new(()),
        }
    }
}

/// A value of the protocol from its JSON.
pub(crate) fn of<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A result, said to be the whole of it; rmcp leaves that out for versions that do not know the word.
fn done<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = json!("complete");
    of(result)
}

pub(crate) fn text(text: &str) -> Result<CallToolResult, ErrorData> {
    done(json!({"content": [{"type": "text", "text": text}]}))
}

/// Asks the client while the call waits, as older versions do.
async fn ask(context: &Context, method: &str, params: Value) -> Result<Value, ErrorData> {
    let request: ServerRequest = of(json!({"method": method, "params": params}))?;
    let answer = context.peer.send_request(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    serde_json::to_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn ask_form(context: &Context, message: &str, schema: Value) -> Result<CallToolResult, ErrorData> {
    let answer = ask(context, "elicitation/create", json!({"message": message, "requestedSchema": schema})).await?;
    text(&format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"]))
}

/// Logs, where the version and the client want it.
async fn log(context: &Context, message: &str) -> Result<(), ErrorData> {
    let is_modern = context.protocol_version().is_some_and(|version| !version.has_initialize());
    if is_modern && context.meta.log_level().is_none() {
        return Ok(());
    }
    let params = json!({"level": "info", "data": message});
    let notification: ServerNotification = of(json!({"method": "notifications/message", "params": params}))?;
    let sent = context.peer.send_notification(notification).await;
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn with_logging(context: &Context) -> Result<CallToolResult, ErrorData> {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        log(context, message).await?;
        tokio::time::sleep(A_WHILE).await;
    }
    text("logged")
}

async fn with_progress(context: &Context) -> Result<CallToolResult, ErrorData> {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let sent = context.peer.notify_progress(told).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        tokio::time::sleep(A_WHILE).await;
    }
    text("done")
}

fn needs_sampling(context: &Context) -> Result<CallToolResult, ErrorData> {
    if context.client_capabilities().is_some_and(|able| able.sampling.is_some()) {
        return text("able");
    }
    let required: ClientCapabilities = of(json!({"sampling": {}}))?;
    Err(ErrorData::missing_required_client_capability(required))
}

impl Fixtures {
    async fn run(&self, request: &CallToolRequestParams, context: &Context) -> Result<CallToolResult, ErrorData> {
        let argument = |name: &str| {
            let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        match &*request.name {
            "test_tool_with_logging" | "test_logging_tool" => with_logging(context).await,
            "test_tool_with_progress" => with_progress(context).await,
            "test_missing_capability" => needs_sampling(context),
            "test_sampling" => {
                let content = json!({"type": "text", "text": argument("prompt")});
                let params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 100});
                let answer = ask(context, "sampling/createMessage", params).await?;
                text(&format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default()))
            }
            "test_elicitation" => {
                let answer = ask_form(context, &argument("message"), given::user_form()).await?;
                Ok(answer)
            }
            "test_elicitation_sep1034_defaults" => ask_form(context, "defaults", given::form_with_defaults()).await,
            "test_elicitation_sep1330_enums" => ask_form(context, "choices", given::form_with_choices()).await,
            "test_trigger_tool_change" => {
                self.tools_changed.send_replace(());
                text("changed")
            }
            "test_trigger_prompt_change" => {
                self.prompts_changed.send_replace(());
                text("changed")
            }
            name => match given::result(name) {
                Some(result) => done(result),
                None => Err(ErrorData::invalid_params(format!("unknown tool: \"{name}\""), None)),
            },
        }
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("fixtures", "1"))
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult, ErrorData> {
        done(json!({"tools": given::tools()}))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = given::tools().into_iter().find(|tool| tool["name"] == name)?;
        of(tool).ok()
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        if let Some(answer) = self.rounds.tool(&request, &context)? {
            return Ok(answer);
        }
        self.run(&request, &context).await.map(CallToolResponse::Complete)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        done(json!({"prompts": given::prompts()}))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        if let Some(required) = self.rounds.prompt(&request)? {
            return Ok(GetPromptResponse::InputRequired(required));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        match given::prompt(&request.name, &arguments) {
            Some(prompt) => done(prompt).map(GetPromptResponse::Complete),
            None => Err(ErrorData::invalid_params(format!("unknown prompt: \"{}\"", request.name), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        done(json!({"resources": given::resources()}))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = json!({"uriTemplate": "test://template/{id}/data", "name": "template", "description": "by id"});
        done(json!({"resourceTemplates": [template]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match given::resource(&request.uri) {
            Some(content) => done(json!({"contents": [content]})).map(ReadResourceResponse::Complete),
            None => Err(ErrorData::resource_not_found("Resource not found", Some(json!({"uri": request.uri})))),
        }
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        done(json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut tools = self.tools_changed.subscribe();
        let mut prompts = self.prompts_changed.subscribe();
        loop {
            let sent = tokio::select! {
                _ = tools.changed() => subscription.sink().notify_tool_list_changed().await,
                _ = prompts.changed() => subscription.sink().notify_prompt_list_changed().await,
                () = subscription.cancelled() => return Ok(()),
            };
            // What was not subscribed to cannot be sent, and is no reason to end.
            drop(sent);
        }
    }
}
