//! How a thread and its checkpoints stand in rows, and are read from them.

use std::collections::BTreeMap;

use paddock_db::DbError;
use paddock_db::statements::{Row, Session, Value};
use paddock_state::TurnId;

use super::{Bounds, Checkpoint, Commit, Effect, Thread, ThreadStatus, int, now, uint};
use crate::graph::NodeName;
use crate::model::{Asker, ModelAnswer};
use crate::nodes::gatekeeper;
use crate::nodes::supervisor::REPLACED;
use crate::state::{AgentMode, AgentState, StepState, StepStatus, TrustLevel, VERSION};

/// The rows of one commit.
pub(super) struct CheckpointRows {
    checkpoint: Vec<Value>,
    steps: Vec<Vec<Value>>,
    effect: Option<Vec<Value>>,
}

impl CheckpointRows {
    pub(super) fn of(home: &str, commit: &Commit<'_>) -> serde_json::Result<Self> {
        let Commit { n, node, next, state, turn, seq, outbox, answer, .. } = commit;
        // What does not change, and what has rows of its own, is not written again.
        let small = shallow(*node, state);
        let outbox = if outbox.is_empty() { None } else { Some(serde_json::to_string(outbox)?) };
        let asked = answer.as_ref().map(|(asker, _)| serde_json::to_string(asker)).transpose()?;
        let answer = answer.as_ref().map(|(_, answer)| serde_json::to_string(answer)).transpose()?;
        let thread: Value = state.thread_id.as_str().into();
        let checkpoint = vec![
            home.into(),
            thread.clone(),
            int(*n).into(),
            node.name().into(),
            next.name().into(),
            serde_json::to_string(&small)?.into(),
            turn.as_str().into(),
            int(*seq).into(),
            outbox.into(),
            asked.into(),
            answer.into(),
            now().into(),
        ];
        let step = |step: &&StepState| {
            let text = serde_json::to_string(step)?;
            Ok(vec![home.into(), thread.clone(), step.id.as_str().into(), int(*n).into(), text.into()])
        };
        let steps = commit.changed.iter().map(step).collect::<serde_json::Result<_>>()?;
        let effect = commit.effect.as_ref().map(|(call, tool, effect)| {
            let (state, result) = match effect {
                Effect::Intended => ("intent", None),
                Effect::Started => ("started", None),
                Effect::Over(result) => ("over", Some(serde_json::to_string(result)?)),
            };
            let call = call.to_string();
            Ok(vec![
                home.into(),
                thread.clone(),
                call.into(),
                int(*n).into(),
                (*tool).into(),
                state.into(),
                result.into(),
            ])
        });
        Ok(Self { checkpoint, steps, effect: effect.transpose()? })
    }

    pub(super) fn insert(&self, session: &mut dyn Session) -> Result<(), DbError> {
        session.execute(
            "INSERT INTO agent_checkpoint (home, thread, n, node, next, state, turn, seq, outbox, asked, answer, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            &self.checkpoint,
        )?;
        for step in &self.steps {
            session.execute("INSERT INTO agent_step (home, thread, id, n, step) VALUES (?1, ?2, ?3, ?4, ?5)", step)?;
        }
        if let Some(effect) = &self.effect {
            session.execute(
                "INSERT INTO agent_effect (home, thread, call, n, tool, state, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT (home, thread, call) DO UPDATE SET state = excluded.state, result = excluded.result",
                effect,
            )?;
        }
        Ok(())
    }
}

/// A copy without the steps, which may be many, and without the task, which the first checkpoint of its turn keeps.
pub(super) fn shallow(node: NodeName, state: &AgentState) -> AgentState {
    let lets_in = node == NodeName::Gatekeeper;
    AgentState {
        version: state.version,
        thread_id: state.thread_id.clone(),
        user_id: state.user_id.clone(),
        agent_mode: state.agent_mode,
        input_prompt: if lets_in { state.input_prompt.clone() } else { String::new() },
        current_plan_path: state.current_plan_path.clone(),
        current_step_id: state.current_step_id.clone(),
        step_history: BTreeMap::new(),
        last_tool_result: state.last_tool_result.clone(),
        security_context: state.security_context.clone(),
        approval_state: state.approval_state.clone(),
        progress: state.progress.clone(),
    }
}

pub(super) fn checkpoint_of(
    row: &Row,
    steps: &[Row],
    about: &Thread,
    task: Option<String>,
) -> Result<Checkpoint, String> {
    let told = |error: serde_json::Error| error.to_string();
    let mut state: AgentState = serde_json::from_str(row[3].text()).map_err(told)?;
    if state.version > VERSION {
        return Err(format!("its format is {}, and this program knows {VERSION}", state.version));
    }
    // Before each turn kept its own task there was the newest, as it came.
    state.input_prompt = task.unwrap_or_else(|| gatekeeper::sanitized(&about.prompt));
    let written_for = std::mem::replace(&mut state.thread_id, about.thread_id.clone());
    for row in steps {
        let mut step = step_of(row[1].text()).map_err(told)?;
        // Where the turn was counted, every step of it counted as planned anew.
        step.replans = step.replans.max(state.progress.replans);
        state.step_history.insert(row[0].text().to_owned(), step);
    }
    let node = |text: &str| NodeName::parse(text).ok_or_else(|| format!("there is no node \"{text}\""));
    let outbox = row[6].maybe_text().map(serde_json::from_str).transpose().map_err(told)?;
    let asked: Option<Asker> = row[7].maybe_text().map(serde_json::from_str).transpose().map_err(told)?;
    let answer: Option<ModelAnswer> = row[8].maybe_text().map(serde_json::from_str).transpose().map_err(told)?;
    Ok(Checkpoint {
        n: uint(row[0].int()),
        node: node(row[1].text())?,
        next: node(row[2].text())?,
        state,
        written_for,
        turn: TurnId::new(row[4].text()).map_err(|bad| bad.to_string())?,
        seq: uint(row[5].int()),
        outbox: outbox.unwrap_or_default(),
        answer: asked.zip(answer),
    })
}

/// A step as it was kept. One of before tells in words alone that a new plan stands in its place.
fn step_of(text: &str) -> serde_json::Result<StepState> {
    let kept: serde_json::Value = serde_json::from_str(text)?;
    let is_of_before = kept.get("replaced").is_none();
    let mut step: StepState = serde_json::from_value(kept)?;
    if is_of_before && step.status == StepStatus::Failed {
        let words = step.last_error.as_deref().and_then(|error| error.strip_prefix(REPLACED));
        step.replaced = words.is_some_and(|why| why.is_empty() || (why.starts_with(" (") && why.ends_with(')')));
    }
    Ok(step)
}

pub(super) fn thread_of(row: &Row) -> Thread {
    Thread {
        thread_id: row[0].text().to_owned(),
        agent: row[1].text().to_owned(),
        user_id: row[2].text().to_owned(),
        prompt: row[3].text().to_owned(),
        status: ThreadStatus::parse(row[4].text()),
        told: row[5].maybe_text().map(str::to_owned),
        model: row[6].text().to_owned(),
        created_at: row[7].int(),
        updated_at: row[8].int(),
        checkpoints: uint(row[9].int()),
        parent: row[10].maybe_text().map(|id| (id.to_owned(), uint(row[11].int()))),
        // What cannot be read allows nothing.
        bounds: serde_json::from_str(row[12].text()).unwrap_or(Bounds {
            mode: AgentMode::Consulting,
            level: TrustLevel::User,
            tools: Some(Vec::new()),
        }),
    }
}
