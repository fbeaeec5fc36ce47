//! A run as it is shown.

use paddock_agent::model::Cost;
use paddock_agent::record::{Checkpoint, Thread, ThreadStatus};
use paddock_agent::state::{Progress, StepState};
use paddock_state::InstanceKey;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::{instances, moment};

/// A run, without its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ThreadShown {
    /// Its id: the key of its instance.
    pub thread_id: String,
    /// The agent.
    pub agent: String,
    /// The person on whose behalf it runs.
    pub user_id: String,
    /// What was asked for last.
    pub prompt: String,
    /// What it may do at most.
    pub bounds: BoundsShown,
    /// `running`, `stopped` (nobody works on it, and it can be resumed), `frozen`, `blocked`, `asking`, `done` or `cancelled`.
    pub status: String,
    /// What it waits for, asks, or answered.
    pub told: Option<String>,
    /// The approval that it waits for.
    pub approval: Option<String>,
    /// The model.
    pub model: String,
    /// When it began.
    pub created_at: String,
    /// When it last went on.
    pub updated_at: String,
    /// How many checkpoints it has.
    pub checkpoints: u64,
    /// The thread that it was forked from, and where.
    pub parent: Option<ForkedFrom>,
    /// Does this process go on with it in the background?
    pub working: bool,
    /// Why it could not go on, when this process last tried.
    pub trouble: Option<String>,
}

/// What a run may do at most.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BoundsShown {
    /// `consulting`, `planning` or `execution`.
    pub mode: String,
    /// `user`, `admin` or `system`.
    pub level: String,
    /// The only tools, where the person narrowed them.
    pub tools: Option<Vec<String>>,
}

/// Where a fork began.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForkedFrom {
    /// The thread.
    pub thread_id: String,
    /// The checkpoint.
    pub at: u64,
}

/// A run with its plan and checkpoints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ThreadDetail {
    /// The run.
    pub thread: ThreadShown,
    /// Its state after the last checkpoint, without what proves decisions.
    pub state: Option<Value>,
    /// What its last turn used up.
    pub used: Option<UsedShown>,
    /// The plan.
    pub steps: Vec<StepShown>,
    /// Its checkpoints in order.
    pub checkpoints: Vec<CheckpointShown>,
    /// Are there more checkpoints than these?
    pub more: bool,
}

/// What a turn used up.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UsedShown {
    /// Tokens of its questions and answers.
    pub tokens: u64,
    /// What they cost, an amount for each currency; not there where no prices were known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cost: Vec<CostShown>,
    /// Nodes that ran.
    pub steps: u64,
    /// How long it worked, in milliseconds.
    pub worked_ms: u64,
}

/// An amount of money.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostShown {
    /// In millionths of a unit.
    pub micros: u64,
    /// Of this money.
    pub currency: String,
    /// The same in words.
    pub words: String,
}

impl UsedShown {
    /// Tokens, and what they cost where that is known.
    #[must_use]
    pub fn words(&self) -> String {
        let cost: Vec<&str> = self.cost.iter().map(|cost| cost.words.as_str()).collect();
        match cost.join(" + ").as_str() {
            "" => format!("{} tokens", self.tokens),
            cost => format!("{} tokens, {cost}", self.tokens),
        }
    }
}

/// A step of the plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StepShown {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// `pending`, `running`, `done`, `failed` or `blocked`.
    pub status: String,
    /// How often it failed.
    pub tries: u32,
    /// Why it failed last.
    pub last_error: Option<String>,
}

/// A checkpoint: what one node did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckpointShown {
    /// Its number, from 1.
    pub n: u64,
    /// The node that was done.
    pub node: String,
    /// The node that comes.
    pub next: String,
    /// The turn of the conversation.
    pub turn: String,
    /// The last event of the conversation before its messages.
    pub seq: u64,
    /// The step that was under way.
    pub step: Option<String>,
    /// What the last tool answered.
    pub tool: Value,
    /// What the model answered.
    pub answer: Value,
    /// What went into the conversation with it, the first of it.
    pub said: Option<String>,
}

/// A word of a type that is a word in JSON.
fn word(value: impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

pub(super) fn thread(desk: &Desk, thread: Thread) -> ThreadShown {
    let at = |millis| moment::exact(moment::of_millis(millis));
    let (working, trouble) = desk.runs().about(&thread.thread_id);
    let status = match thread.status {
        ThreadStatus::Running if !working && !is_worked_on(desk, &thread.thread_id) => "stopped",
        status => status.name(),
    };
    ThreadShown {
        approval: thread.told.clone().filter(|_| thread.status == ThreadStatus::Frozen),
        thread_id: thread.thread_id,
        agent: thread.agent,
        user_id: thread.user_id,
        prompt: thread.prompt,
        bounds: BoundsShown {
            mode: word(thread.bounds.mode),
            level: word(thread.bounds.level),
            tools: thread.bounds.tools,
        },
        status: status.to_owned(),
        told: thread.told,
        model: thread.model,
        created_at: at(thread.created_at),
        updated_at: at(thread.updated_at),
        checkpoints: thread.checkpoints,
        parent: thread.parent.map(|(thread_id, at)| ForkedFrom { thread_id, at }),
        working,
        trouble,
    }
}

/// Does a process hold its conversation, as whoever runs it does? The record cannot tell: it says `running` of a process that was killed.
fn is_worked_on(desk: &Desk, thread: &str) -> bool {
    let (key, kept) = (InstanceKey::new(thread), instances::kept(desk));
    key.is_ok_and(|key| kept.is_some_and(|kept| kept.held_by(&key).is_some()))
}

pub(super) fn detail(desk: &Desk, about: Thread, last: Option<&Checkpoint>, found: &[Checkpoint]) -> ThreadDetail {
    let mut state = last.map(|last| json!(last.state));
    // What proves a decision is for the run alone.
    if let Some(token) = state.as_mut().and_then(|state| state.pointer_mut("/approval_state/token")) {
        *token = Value::Null;
    }
    let steps = last.iter().flat_map(|last| last.state.step_history.values()).map(step).collect();
    let more = found.last().map_or(0, |last| last.n) < about.checkpoints;
    ThreadDetail {
        thread: thread(desk, about),
        used: last.map(|last| used(&last.state.progress)),
        state,
        steps,
        checkpoints: found.iter().map(checkpoint).collect(),
        more,
    }
}

pub(super) fn used(progress: &Progress) -> UsedShown {
    let cost =
        |cost: &Cost| CostShown { micros: cost.micros, currency: cost.currency.clone(), words: cost.to_string() };
    UsedShown {
        tokens: progress.tokens,
        cost: progress.cost.0.iter().map(cost).collect(),
        steps: progress.nodes,
        worked_ms: progress.worked,
    }
}

fn step(step: &StepState) -> StepShown {
    StepShown {
        id: step.id.clone(),
        description: step.description.clone(),
        status: word(step.status),
        tries: step.tries,
        last_error: step.last_error.clone(),
    }
}

pub(super) fn checkpoint(checkpoint: &Checkpoint) -> CheckpointShown {
    CheckpointShown {
        n: checkpoint.n,
        node: word(checkpoint.node),
        next: word(checkpoint.next),
        turn: checkpoint.turn.as_str().to_owned(),
        seq: checkpoint.seq,
        step: checkpoint.state.current_step_id.clone(),
        tool: json!(checkpoint.state.last_tool_result),
        answer: json!(checkpoint.answer.as_ref().map(|(_, answer)| answer)),
        said: checkpoint.outbox.first().map(|message| message.content().to_string()),
    }
}
