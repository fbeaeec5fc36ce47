//! Asking the person in front of the client, where the configuration entrusts that client with it.
//!
//! The prompt is the client's own, so it decides only what a person entrusted to that client by name, once, and only what can be
//! shown whole. Older clients are asked while the call waits; newer ones get the question as the answer, and make the call again
//! with theirs. What they send with it proves nothing by itself: the approval is looked up, must still wait, and must be of exactly
//! this call of this agent. Without an answer the call stays parked, as for every other client.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::Question;
use paddock_tools::PolicySource;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, JsonObject, ServerRequest,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};

/// How long a person may look at the prompt of an older client.
const PATIENCE: Duration = Duration::from_secs(240);
/// Under which name the question goes to newer clients.
const KEY: &str = "approval";

/// What came of asking.
pub(crate) enum Asked {
    /// The client makes the call again with its answer.
    Modern(InputRequiredResult),
    /// It is decided.
    Decided,
    /// It is not.
    Undecided,
}

/// One call, and the client whose person may be asked about it.
pub(crate) struct Eliciting {
    policy: Arc<dyn PolicySource>,
    peer: Peer<RoleServer>,
    client: String,
    is_modern: bool,
    tool: String,
    arguments: JsonObject,
}

impl Eliciting {
    /// Nothing where the client cannot ask anybody; what a call holds is copied for the others only.
    pub(crate) fn of(
        policy: &Arc<dyn PolicySource>,
        context: &RequestContext<RoleServer>,
        tool: &str,
        arguments: &JsonObject,
    ) -> Option<Self> {
        let able = context.client_capabilities()?.elicitation?;
        // One that says neither means forms.
        let can_ask = able.form.is_some() || able.url.is_none();
        can_ask.then(|| Self {
            policy: Arc::clone(policy),
            peer: context.peer.clone(),
            client: context.client_info().map(|client| client.name).unwrap_or_default(),
            is_modern: context.protocol_version().is_some_and(|version| !version.has_initialize()),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
        })
    }

    /// What the client may ask about this call.
    pub(crate) fn question(&self, id: &str) -> Option<Question> {
        paddock_tools::question(&*self.policy, &self.client, id, &self.tool, &self.arguments)
    }

    /// The arguments of the call.
    pub(crate) fn arguments(&self) -> JsonObject {
        self.arguments.clone()
    }

    /// Asks.
    pub(crate) async fn ask(&self, question: Question) -> Asked {
        let Some(params) = form(&question) else { return Asked::Undecided };
        if self.is_modern {
            let request = InputRequest::Elicitation(ElicitRequest::new(params));
            let requests = InputRequests::from([(KEY.to_owned(), request)]);
            return Asked::Modern(InputRequiredResult::new(Some(requests), Some(question.id)));
        }
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let answer = tokio::time::timeout(PATIENCE, self.peer.send_request(request)).await;
        match answer {
            Ok(Ok(ClientResult::ElicitResult(result))) if self.take(&question, &result) => Asked::Decided,
            _ => Asked::Undecided,
        }
    }

    /// Takes the answer that a newer client sends with the call.
    pub(crate) fn hear(&self, state: Option<&str>, answers: &InputResponses) {
        let question = state.and_then(|id| self.question(id));
        let answer = answers.get(KEY).and_then(|answer| serde_json::from_value(answer.clone()).ok());
        if let (Some(question), Some(answer)) = (question, answer) {
            self.take(&question, &answer);
        }
    }

    /// Decides as was answered; nothing where the person only closed the prompt.
    fn take(&self, question: &Question, answer: &ElicitResult) -> bool {
        let agrees = match answer.action {
            ElicitationAction::Accept => {
                answer.content.as_ref().and_then(|content| content.get("approve")).and_then(Value::as_bool)
                    == Some(true)
            }
            ElicitationAction::Decline => false,
            // Closed, or something newer than this.
            _ => return false,
        };
        paddock_tools::answer_question(&*self.policy, question, &self.client, agrees)
    }
}

fn form(question: &Question) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": { "approve": { "type": "boolean", "title": "Approve this call, once" } },
        "required": ["approve"],
    });
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message: question.text.clone(), requested_schema })
}
