//! What an MCP client may ask: the agent's tools, and to be told when they change.
//!
//! One handler serves every protocol version that rmcp knows: clients that begin with `initialize` and clients
//! that send their context with each request. Nothing here decides what an agent may do; that is asked of the
//! Toolbox at every call.

use std::sync::Arc;
use std::time::Duration;

use paddock_tools::{Answer, Control, PolicySource, Toolbox, Verdict};
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, Implementation,
    JsonObject, ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::watch;

use crate::answers::FactsIn;
use crate::changes::Changes;
use crate::eliciting::{Asked, Eliciting};
use crate::http::end_of_session;
use crate::listing::Listings;
use crate::{answers, calls};

/// For how long a client may keep a list before it asks again. Short: a client that does not listen for
/// changes should still see a changed policy soon.
const KEPT_FOR_MS: u64 = 5_000;

/// The tools of one agent, as MCP.
pub struct Server {
    toolbox: Toolbox,
    policy: Arc<dyn PolicySource>,
    listings: Listings,
    changes: Arc<Changes>,
    /// True once the client will send nothing more.
    ended: watch::Receiver<bool>,
}

impl Server {
    pub(crate) fn new(policy: Arc<dyn PolicySource>, changes: Arc<Changes>, ended: watch::Receiver<bool>) -> Self {
        Self { toolbox: Toolbox::new(Arc::clone(&policy)), policy, listings: Listings::default(), changes, ended }
    }

    /// How many clients will hear of a change.
    pub(crate) fn listeners(&self) -> usize {
        self.changes.listeners()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Server {
    async fn run(
        &self,
        name: &str,
        arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        match calls::at_once(&self.toolbox, name, arguments, &context) {
            Ok(answer) => Ok(answer),
            Err(arguments) => calls::on_a_thread(&self.toolbox, name.to_owned(), arguments, context).await,
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let identity = Implementation::new("paddock", env!("CARGO_PKG_VERSION"))
            .with_title("Paddock")
            .with_description("Bounded Workspaces for AI agents");
        ServerConfig::new(capabilities).with_server_info(identity).with_instructions(self.toolbox.filesystem_map())
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let result = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(result.with_ttl_ms(KEPT_FOR_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let message = format!(
                "there is no page \"{}\": all tools are on the first",
                shortened(&self.toolbox.redacted(&cursor))
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let tools = self.listings.now(&self.toolbox).tools();
        let result = ListToolsResult::with_all_items(tools);
        // The list depends on which agent asks, so it is never shared between them.
        Ok(if is_modern(&context) {
            result.with_ttl_ms(KEPT_FOR_MS).with_cache_scope(CacheScope::Private)
        } else {
            result
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.toolbox.knows(&request.name) {
            // Answered as the protocol wants, and recorded as every call is.
            self.toolbox.call(&request.name, serde_json::Map::new(), &Control::for_at_most(Duration::ZERO));
            let message = format!("unknown tool: \"{}\"", shortened(&self.toolbox.redacted(&request.name)));
            return Err(ErrorData::invalid_params(message, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let facts =
            context.client_info().map_or(FactsIn::StructuredContent, |client| FactsIn::for_client(&client.name));
        let name = request.name.into_owned();
        let Some(asking) = Eliciting::of(&self.policy, &context, &name, &arguments) else {
            let answer = self.run(&name, arguments, context).await?;
            self.changes.look_after_call();
            return Ok(answers::result(answer, facts).into());
        };
        let has_answered = request.input_responses.is_some();
        if let Some(answers) = &request.input_responses {
            asking.hear(request.request_state.as_deref(), answers);
        }
        let mut answer = self.run(&name, arguments, context.clone()).await?;
        if let Verdict::Parked(id) = &answer.verdict
            && !has_answered
            && let Some(question) = asking.question(id)
        {
            match asking.ask(question).await {
                Asked::Modern(required) => return Ok(required.into()),
                Asked::Decided => answer = self.run(&name, asking.arguments(), context).await?,
                Asked::Undecided => {}
            }
        }
        self.changes.look_after_call();
        Ok(answers::result(answer, facts).into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.changes.subscribe();
        let mut ended = self.ended.clone();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() || context.peer.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
                () = over(&mut ended) => return,
                () = end_of_session(&context.extensions) => return,
            }
        }
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        let mut ended = self.ended.clone();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() || subscription.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
                // Without this the subscription would hold the process for as long as rmcp waits for answers.
                () = over(&mut ended) => return Ok(()),
                () = subscription.cancelled() => return Ok(()),
            }
        }
    }

    // What is not offered is not there: rmcp would answer these with empty lists.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    /// rmcp takes a known method with parameters of another shape for a method of ours.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if is_served(&method, is_modern(&context)) {
            ErrorData::invalid_params(format!("the parameters of \"{method}\" are not what MCP defines"), None)
        } else {
            ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("unknown method: \"{}\"", shortened(&self.toolbox.redacted(&method))),
                None,
            )
        })
    }
}

/// Waits until the client will send nothing more.
async fn over(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// Is this a method of the era that the request is of?
fn is_served(method: &str, is_modern: bool) -> bool {
    use rmcp::model::ConstString as _;
    match method {
        CallToolRequestMethod::VALUE | "tools/list" => true,
        "initialize" => !is_modern,
        // Asked before it is known which era a client speaks.
        "server/discover" => true,
        "subscriptions/listen" => is_modern,
        _ => false,
    }
}

/// What a client sent, made fit for a message.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut shown = paddock_core::visible(&text.chars().take(SHOWN).collect::<String>());
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
