//! Going through a run again from its record: without its model, without a tool, without an effect.
//!
//! What came from outside is taken from the record: tasks, what the model said, what Check and people decided, what each effect came to. What the
//! program made of it is made again, by the very functions that a run goes by ([`becomes`]), and has to come to the same: the node that comes,
//! the whole state, and what was said. The first point where it does not is told.

use paddock_core::CallId;
use paddock_state::Redactor;
use paddock_state::conversation::Message;
use serde_json::{Value, json};

use crate::becomes::{self, NewSteps, Own, proposed_call};
use crate::graph::NodeName;
use crate::model::{Asker, ModelAnswer};
use crate::nodes::gatekeeper::{Gatekeeper, Incoming, Provided};
use crate::nodes::{Node as _, planner};
use crate::record::{Checkpoint, Effect, Record, RecordError, Thread, ThreadStatus};
use crate::run::Transition;
use crate::runtime::{PLAN_NOWHERE, RunError};
use crate::said::Saying;
use crate::state::{AgentMode, AgentState, ApprovalState, StepStatus, ToolResult};

/// What going through it again came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// The first that does not come to the same.
    pub differs_at: Option<u64>,
    /// What is not the same there, in words.
    pub why: Option<String>,
}

/// Goes through a run again.
///
/// # Errors
/// When the record cannot be read.
pub fn replay(record: &Record, thread: &str) -> Result<Replayed, RunError> {
    let about = record.thread(thread)?;
    let checkpoints = about.checkpoints;
    let mut before: Option<Checkpoint> = None;
    for n in 1..=checkpoints {
        let missing = || RecordError::NoCheckpoint { thread: thread.to_owned(), n };
        let now = record.checkpoint(thread, Some(n))?.ok_or_else(missing)?;
        let mut passage = Passage { about: &about, before: before.as_ref(), now: &now, effect: None };
        if now.node == NodeName::Tools {
            passage.effect = passage.effect_in(record)?;
        }
        if let Err(why) = passage.compared() {
            let why = format!("{}: {why}", now.node.name());
            return Ok(Replayed { checkpoints, differs_at: Some(n), why: Some(why) });
        }
        before = Some(now);
    }
    Ok(Replayed { checkpoints, differs_at: None, why: None })
}

/// From one checkpoint to the next.
struct Passage<'a> {
    about: &'a Thread,
    /// Nothing before the first one.
    before: Option<&'a Checkpoint>,
    now: &'a Checkpoint,
    /// What the record has of the call that was under way.
    effect: Option<ToolResult>,
}

/// What is not the same, in words.
type Differs = String;

impl Passage<'_> {
    /// What became of the call that was proposed before.
    fn effect_in(&self, record: &Record) -> Result<Option<ToolResult>, RecordError> {
        let proposed = self.before.and_then(|before| before.state.progress.proposed.as_ref());
        let Some(call) = proposed.and_then(|proposed| CallId::parse(&proposed.call_id)) else { return Ok(None) };
        Ok(match record.effect(&self.about.thread_id, call)? {
            Some(Effect::Over(result)) => Some(result),
            Some(Effect::Intended | Effect::Started) | None => None,
        })
    }

    /// Whether what the node made of what it had is what the record says.
    fn compared(&self) -> Result<(), Differs> {
        let mut state = self.begun();
        let due = self.due(&mut state);
        same("the node", due.name(), self.now.node.name())?;
        let turn = if due == NodeName::Gatekeeper { format!("t{}", self.now.n) } else { self.turn_before() };
        same("turn", &turn, self.now.turn.as_str())?;
        let transition = self.again(&mut state).map_err(|error| error.to_string())?;
        let worked = self.now.state.progress.worked.saturating_sub(state.progress.worked);
        becomes::counted(&mut state, &transition, worked);
        let is_fork = self.is_fork();
        let next = if is_fork { becomes::forked(&mut state, transition.next, self.own()) } else { transition.next };
        same("the node that comes", next.name(), self.now.next.name())?;
        state.thread_id.clone_from(&self.now.state.thread_id);
        same_value("the state", &json!(self.as_read(state)), &json!(self.now.state))?;
        // What was said by then is in a fork's conversation from its beginning.
        if is_fork { Ok(()) } else { self.same_words(&transition) }
    }

    /// The state that the node had: that of the checkpoint before, or the task of a new turn.
    fn begun(&self) -> AgentState {
        let recorded = &self.now.state;
        let mut state = self.before.map_or_else(|| recorded.clone(), |before| before.state.clone());
        // As it was called then: a fork has what another thread did.
        state.thread_id.clone_from(&self.before.unwrap_or(self.now).written_for);
        if self.now.node == NodeName::Gatekeeper {
            state.input_prompt.clone_from(&recorded.input_prompt);
            state.agent_mode = recorded.agent_mode;
            state.security_context.permissions_level = recorded.security_context.permissions_level;
        }
        state
    }

    /// The node that comes. A new turn begins after the end of one, and a bound sends a run to its end.
    fn due(&self, state: &mut AgentState) -> NodeName {
        let next = self.before.map_or(NodeName::End, |before| before.next);
        let over = self.now.state.progress.told.as_deref().and_then(becomes::used_up_in);
        match (next, self.now.node, over) {
            (NodeName::End, ..) => NodeName::Gatekeeper,
            (next, NodeName::Finalizer, Some(over)) if becomes::is_bounded(next) => becomes::bounded(state, over),
            _ => next,
        }
    }

    fn turn_before(&self) -> String {
        self.before.map(|before| before.turn.as_str().to_owned()).unwrap_or_default()
    }

    /// Does the node's part again with what the record has from outside.
    fn again(&self, state: &mut AgentState) -> Result<Transition, RunError> {
        let recorded = &self.now.state;
        let max_tries = recorded.step_history.values().next_back().map_or(0, |step| step.max_tries);
        let new = NewSteps { turn: &self.now.turn, max_tries };
        match self.now.node {
            NodeName::Gatekeeper => self.let_in(state),
            NodeName::Planner if state.agent_mode == AgentMode::Consulting => Ok(becomes::consulted(state, new)),
            NodeName::Planner => Ok(becomes::planned(state, new, planner::said(self.answer(Asker::Planner)?))),
            NodeName::Supervisor => becomes::supervised(state),
            NodeName::Executor => {
                let proposed = recorded.progress.proposed.as_ref();
                let id = proposed.map(|proposed| proposed.call_id.clone()).unwrap_or_default();
                becomes::proposed(state, self.answer(Asker::Executor)?.into(), id)
            }
            NodeName::Check => self.checked(state),
            NodeName::Tools => self.ran(state),
            NodeName::Interpreter => becomes::interpreted(state),
            NodeName::Finalizer => becomes::ended(state),
            NodeName::End => Err(inconsistent("the end is no node")),
        }
    }

    /// Which tools the policy provided then is not recorded: those that were allowed have to be so by mode and level.
    fn let_in(&self, state: &mut AgentState) -> Result<Transition, RunError> {
        let recorded = &self.now.state;
        let allowed = &recorded.security_context.allowed_tools;
        let provided: Vec<Provided> =
            allowed.iter().map(|name| Provided { name: name.clone(), read_only: true }).collect();
        let admitted = Gatekeeper.run(Incoming {
            prompt: &state.input_prompt,
            mode: state.agent_mode,
            level: state.security_context.permissions_level,
            provided: &provided,
            wanted: None,
            session_token_hash: &state.security_context.session_token_hash,
        })?;
        let is_nowhere = state.agent_mode == AgentMode::Consulting;
        let plan_path = if is_nowhere { PLAN_NOWHERE.to_owned() } else { recorded.current_plan_path.clone() };
        Ok(becomes::let_in(state, admitted, plan_path))
    }

    fn answer(&self, asker: Asker) -> Result<ModelAnswer, RunError> {
        let answer = self.now.answer.as_ref().filter(|(asked, _)| *asked == asker);
        answer.map(|(_, answer)| answer.clone()).ok_or_else(|| inconsistent("there is no answer of the model"))
    }

    /// What Check said, and a person where one was asked.
    fn checked(&self, state: &mut AgentState) -> Result<Transition, RunError> {
        let recorded = &self.now.state;
        let asked = state.approval_state.clone();
        // Only a person who was asked can have put other arguments in the place of the agent's.
        if let (Some(_), Some(proposed), Some(kept)) =
            (&asked, &mut state.progress.proposed, &recorded.progress.proposed)
        {
            proposed.call.arguments.clone_from(&kept.call.arguments);
        }
        match self.now.next {
            NodeName::Tools => {
                let is_of_it = |kept: &&ApprovalState| asked.is_some_and(|asked| asked.approval_id == kept.approval_id);
                state.approval_state = recorded.approval_state.as_ref().filter(is_of_it).cloned();
                becomes::passed(state)
            }
            NodeName::Interpreter => {
                let told = recorded.last_tool_result.as_ref().map(|result| result.output.clone()).unwrap_or_default();
                let result = becomes::refusal(&proposed_call(state)?, told);
                Ok(becomes::answered(state, result))
            }
            _ if self.is_fork() => self.undecided(state),
            _ => self.waits(state),
        }
    }

    /// What the call came to.
    fn ran(&self, state: &mut AgentState) -> Result<Transition, RunError> {
        match self.now.next {
            NodeName::Interpreter => {
                let result = self.effect.clone().ok_or_else(|| inconsistent("there is no result of the call"))?;
                Ok(becomes::answered(state, result))
            }
            NodeName::Tools => becomes::cut_off(state),
            _ if self.is_fork() => self.undecided(state),
            _ => self.waits(state),
        }
    }

    /// A person has to decide, or has decided in that very moment: then the node counts.
    fn waits(&self, state: &mut AgentState) -> Result<Transition, RunError> {
        let approval = self.now.state.approval_state.clone();
        let approval = approval.ok_or_else(|| inconsistent("nothing waits for a person"))?;
        let is_decided = self.now.state.progress.nodes > state.progress.nodes;
        Ok(becomes::waits(state, approval, is_decided))
    }

    /// A fork does not keep whether its first call had passed, waited or was cut off: it is checked anew.
    fn undecided(&self, state: &mut AgentState) -> Result<Transition, RunError> {
        let recorded = &self.now.state;
        let step = recorded.current_step_id.as_ref().and_then(|id| recorded.step_history.get(id));
        if self.now.node == NodeName::Tools && step.is_some_and(|step| step.status == StepStatus::Blocked) {
            return becomes::cut_off(state);
        }
        let transition = Transition::to(NodeName::Check);
        let counts = recorded.progress.nodes > state.progress.nodes;
        Ok(if counts { transition } else { transition.stopping(ThreadStatus::Frozen, "") })
    }

    /// Did the thread begin here, as a fork of the one that has the checkpoints before?
    fn is_fork(&self) -> bool {
        match self.before {
            Some(before) => before.written_for != self.now.written_for,
            None => self.about.parent.is_some() && self.now.outbox.is_empty(),
        }
    }

    /// What a fork has of its own.
    fn own(&self) -> Own {
        let recorded = &self.now.state;
        Own {
            thread: self.now.written_for.clone(),
            session_token_hash: recorded.security_context.session_token_hash.clone(),
            plan_path: recorded.current_plan_path.clone(),
            call_id: recorded.progress.proposed.as_ref().map(|proposed| proposed.call_id.clone()).unwrap_or_default(),
        }
    }

    /// As a checkpoint is read that was written when the turn was counted: every step of it counted as planned anew.
    fn as_read(&self, mut state: AgentState) -> AgentState {
        let replans = self.now.state.progress.replans;
        state.progress.replans = replans;
        state.step_history.values_mut().for_each(|step| step.replans = step.replans.max(replans));
        state
    }

    /// Whether the same was said.
    fn same_words(&self, transition: &Transition) -> Result<(), Differs> {
        let redactor = &Redactor::none();
        let said = transition.says.iter().cloned().enumerate().map(|(index, (message, source))| {
            Saying { message, source, redactor }.kept(self.now.n, index).map(|message| timeless(&message))
        });
        let said: Result<Vec<Value>, _> = said.collect();
        let said = said.map_err(|bad| bad.to_string())?;
        let kept: Vec<Value> = self.now.outbox.iter().map(timeless).collect();
        same_value("what was said", &Value::Array(said), &Value::Array(kept))
    }
}

fn inconsistent(why: &str) -> RunError {
    RunError::Inconsistent(why.to_owned())
}

/// A message without when it was said.
fn timeless(message: &Message) -> Value {
    let mut value = json!(message);
    if let Value::Object(fields) = &mut value {
        fields.remove("createdAt");
    }
    value
}

fn same(what: &str, again: &str, recorded: &str) -> Result<(), Differs> {
    if again == recorded {
        Ok(())
    } else {
        Err(format!("{what} is \"{recorded}\", and \"{again}\" when it is gone through again"))
    }
}

/// Compares two values, and names the first part of them that is not the same. What it holds is not told: it may prove a decision.
fn same_value(what: &str, again: &Value, recorded: &Value) -> Result<(), Differs> {
    let nothing = Value::Null;
    match (again, recorded) {
        _ if again == recorded => Ok(()),
        (Value::Object(ours), Value::Object(theirs)) => ours.keys().chain(theirs.keys()).try_for_each(|key| {
            let (ours, theirs) = (ours.get(key).unwrap_or(&nothing), theirs.get(key).unwrap_or(&nothing));
            same_value(&format!("{what}, {key}"), ours, theirs)
        }),
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            ours.iter().zip(theirs).try_for_each(|(ours, theirs)| same_value(what, ours, theirs))
        }
        _ => Err(format!("{what} is not what it comes to again")),
    }
}
