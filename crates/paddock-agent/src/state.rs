//! AgentState: what a run is at one moment, as JSON that outlives the process.
//!
//! The fields and words are those of the project's second specification. Messages are not here: they are in the conversation of the
//! instance that the thread is. A state read back is the state that was written; one of a newer program is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::Costs;

/// The version of the format that this program writes.
pub const VERSION: u32 = 1;

/// How far an agent may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    /// It looks and answers: read tools alone.
    Consulting,
    /// It makes a plan, and nothing else.
    Planning,
    /// It works.
    Execution,
}

/// What a run is at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// The format.
    pub version: u32,
    /// The thread: the key of the instance whose conversation this is.
    pub thread_id: String,
    /// The person on whose behalf it runs.
    pub user_id: String,
    /// How far it may go.
    pub agent_mode: AgentMode,
    /// What the person asked for.
    pub input_prompt: String,
    /// Where the plan is.
    pub current_plan_path: String,
    /// The step that is under way.
    pub current_step_id: Option<String>,
    /// Every step there was, by its id.
    pub step_history: BTreeMap<String, StepState>,
    /// What the last tool answered.
    pub last_tool_result: Option<ToolResult>,
    /// What the run may do.
    pub security_context: SecurityContext,
    /// What waits for a person, or was decided by one.
    pub approval_state: Option<ApprovalState>,
    /// How far the turn is. Beside what the specification names.
    #[serde(default)]
    pub progress: Progress,
}

/// How far a turn is: what one node leaves for the next, and what was used up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The call that the Executor proposed, under the id that its effect will have.
    pub proposed: Option<Proposed>,
    /// What the Executor said where it proposed nothing more.
    pub finished: Option<String>,
    /// How often it was planned anew, in a turn that began when the turn was counted and not each step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replans: u32,
    /// Nodes that ran in this turn.
    pub nodes: u64,
    /// Tokens that this turn used.
    pub tokens: u64,
    /// What those cost, where the prices are known.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub cost: Costs,
    /// How long this turn worked, in milliseconds. What a run waits for a person is no work, nor is what a process that ended had not committed.
    #[serde(default)]
    pub worked: u64,
    /// The last call that failed, and how often in a row.
    pub failing: Option<Failing>,
    /// What the person is asked, or told at the end.
    pub told: Option<String>,
    /// Does the person have to answer?
    pub asks: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A call that the Executor proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    /// The call.
    pub call: crate::model::ToolCall,
    /// The id under which it is recorded, here and in the ledger.
    pub call_id: String,
    /// Did it pass Check?
    pub checked: bool,
}

/// A call that failed, and how often in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Stands for its tool and arguments.
    pub call: String,
    /// How often.
    pub count: u32,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Under way.
    Running,
    /// Over, and well.
    Done,
    /// Given up.
    Failed,
    /// Only a person can go on.
    Blocked,
}

/// One step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// Where it stands.
    pub status: StepStatus,
    /// How often it failed.
    pub tries: u32,
    /// How often it may.
    pub max_tries: u32,
    /// Where its result is, if that was too long to keep here.
    pub result_pointer: Option<String>,
    /// Why it failed last.
    pub last_error: Option<String>,
    /// How many plans were made anew until it stood here, for what stands in its place. Beside what the specification names.
    #[serde(default)]
    pub replans: u32,
    /// Does a new plan stand in its place? Beside what the specification names.
    #[serde(default)]
    pub replaced: bool,
}

impl StepState {
    /// A step that nobody has begun.
    #[must_use]
    pub fn new(id: impl Into<String>, description: impl Into<String>, max_tries: u32) -> Self {
        Self {
            id: id.into(),
            description: description.into(),
            status: StepStatus::Pending,
            tries: 0,
            max_tries,
            result_pointer: None,
            last_error: None,
            replans: 0,
            replaced: false,
        }
    }
}

/// How much a run is trusted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// Everyday work.
    User,
    /// Also what removes.
    Admin,
    /// All that the policy provides.
    System,
}

/// What a run may do: filled in by the Gatekeeper, read by all others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityContext {
    /// How much it is trusted with.
    pub permissions_level: TrustLevel,
    /// The only tools it may call; never more than the policy provides.
    pub allowed_tools: Vec<String>,
    /// Binds a resume to who may resume.
    pub session_token_hash: String,
    /// Was the input looked at?
    pub is_sanitized: bool,
}

/// What became of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// Done.
    Success,
    /// Not done, wherever its output is kept.
    Error,
    /// Done, and the output was too long to keep here.
    Evicted,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_call_id: String,
    /// The output, or where it is as JSON.
    pub output: String,
    /// What became of it.
    pub status: ToolStatus,
    /// Facts beside it.
    pub metadata: Map<String, Value>,
}

impl ToolResult {
    /// Where its output is, if that was too long to keep here.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        self.metadata.get("pointer").and_then(Value::as_str)
    }

    /// The first line of what the tool said, wherever that is kept.
    #[must_use]
    pub fn first_line(&self) -> String {
        let head = self.pointer().and_then(|_| {
            let kept: Value = serde_json::from_str(&self.output).ok()?;
            kept.get("head")?.as_str().map(str::to_owned)
        });
        head.as_deref()
            .unwrap_or(&self.output)
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .to_owned()
    }
}

/// Where an approval stands, as a run sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalStatus {
    /// Nobody decided.
    Pending,
    /// Agreed.
    Approved,
    /// Agreed, with other arguments.
    Edited,
    /// Refused.
    Rejected,
    /// Nobody decided in time.
    Expired,
}

/// What waits for a person, or was decided by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalState {
    /// The approval.
    pub approval_id: String,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// The tool that waits.
    pub tool_name: String,
    /// Stands for its arguments.
    pub args_hash: String,
    /// Stands for what it would touch.
    pub state_version: String,
    /// When it was asked.
    pub requested_at: String,
    /// Until when it can be decided and used.
    pub expires_at: String,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why it was refused.
    pub reason: Option<String>,
    /// What proves the decision. Never in a message.
    pub token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> AgentState {
        let step = StepState::new("s1", "look", 3);
        AgentState {
            version: VERSION,
            thread_id: "t".into(),
            user_id: "u".into(),
            agent_mode: AgentMode::Execution,
            input_prompt: "do".into(),
            current_plan_path: "/w/todo.md".into(),
            current_step_id: Some("s1".into()),
            step_history: BTreeMap::from([("s1".to_owned(), step)]),
            last_tool_result: None,
            security_context: SecurityContext {
                permissions_level: TrustLevel::User,
                allowed_tools: vec!["read_file".into()],
                session_token_hash: "h".into(),
                is_sanitized: true,
            },
            approval_state: None,
            progress: Progress::default(),
        }
    }

    #[test]
    fn it_has_the_fields_of_the_specification_and_comes_back_as_it_was() {
        let json = serde_json::to_value(state()).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        for field in [
            "thread_id",
            "user_id",
            "agent_mode",
            "input_prompt",
            "current_plan_path",
            "current_step_id",
            "step_history",
            "last_tool_result",
            "security_context",
            "approval_state",
        ] {
            assert!(fields.iter().any(|name| *name == field), "{field}");
        }
        assert_eq!(json["agent_mode"], "execution");
        assert_eq!(json["step_history"]["s1"]["status"], "pending");
        assert_eq!(json["security_context"]["permissions_level"], "user");
        assert_eq!(serde_json::from_value::<AgentState>(json).unwrap(), state());
    }
}
