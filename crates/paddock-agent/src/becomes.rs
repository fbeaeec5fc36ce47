//! What becomes of the state when a node is done: the same for a run and for going through one again.
//!
//! What came from outside (an answer of the model, a verdict, what a tool answered, what a person decided) is given. Nothing here asks, runs or
//! writes anything, so a replay can do no more than compare.

use paddock_core::CallId;
use paddock_state::TurnId;
use paddock_state::conversation::MessageSource;

use crate::graph::NodeName;
use crate::model::{Asker, ModelAnswer, ModelMessage, Role, ToolCall};
use crate::nodes::Node as _;
use crate::nodes::executor::{Proposal, Proposes};
use crate::nodes::finalizer::{End, Finalizer};
use crate::nodes::gatekeeper::Admitted;
use crate::nodes::interpreter::{Interpreter, Outcome};
use crate::nodes::planner::Planned;
use crate::nodes::supervisor::{self, Decision, Standing, Supervisor};
use crate::record::{Effect, ThreadStatus};
use crate::run::Transition;
use crate::runtime::RunError;
use crate::state::{
    AgentMode, AgentState, ApprovalState, ApprovalStatus, Progress, Proposed, StepState, StepStatus, ToolResult,
    ToolStatus,
};

type Result<T> = std::result::Result<T, RunError>;

/// A task was let in: a turn begins, with nothing of the one before.
pub(crate) fn let_in(state: &mut AgentState, admitted: Admitted, plan_path: String) -> Transition {
    let Admitted { prompt, context } = admitted;
    state.input_prompt.clone_from(&prompt);
    state.security_context = context;
    state.step_history.clear();
    (state.current_step_id, state.last_tool_result, state.approval_state) = (None, None, None);
    state.progress = Progress::default();
    state.current_plan_path = plan_path;
    Transition::to(NodeName::Planner).saying(Role::User, prompt, MessageSource::User)
}

/// New steps are called after their turn, and may fail so often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewSteps<'a> {
    pub(crate) turn: &'a TurnId,
    pub(crate) max_tries: u32,
}

impl NewSteps<'_> {
    /// Adds steps to the plan, each with how often it was planned anew.
    fn add(self, state: &mut AgentState, steps: Vec<(String, u32)>) -> Vec<String> {
        let first = state.step_history.len() + 1;
        let mut added = Vec::new();
        for (n, (description, replans)) in (first..).zip(steps) {
            let id = format!("{}.{n:04}", self.turn);
            let step = StepState { replans, ..StepState::new(id.clone(), description, self.max_tries) };
            state.step_history.insert(id.clone(), step);
            added.push(id);
        }
        added
    }
}

/// Who only consults has one step, and no model is asked for it.
pub(crate) fn consulted(state: &mut AgentState, new: NewSteps<'_>) -> Transition {
    let step = new.add(state, vec![("Answer the question".to_owned(), 0)]);
    Transition::to(NodeName::Supervisor).changing(step)
}

/// The Planner's word: a plan, or after all none.
pub(crate) fn planned(
    state: &mut AgentState,
    new: NewSteps<'_>,
    said: std::result::Result<Planned, ModelAnswer>,
) -> Transition {
    let Planned { steps, answer } = match said {
        Ok(planned) => planned,
        Err(answer) => return no_plan(state, answer),
    };
    use_up(state, &answer);
    let failed = state.current_step_id.take();
    let count = |description: String| {
        let replans = replans(state, failed.as_deref(), &description);
        (description, replans)
    };
    let steps = steps.into_iter().map(count).collect();
    let mut changed = Vec::new();
    if failed.is_some() {
        state.progress.failing = None;
        changed = replace_open_steps(state);
    }
    changed.extend(new.add(state, steps));
    let next = if state.agent_mode == AgentMode::Planning { NodeName::Finalizer } else { NodeName::Supervisor };
    let source = MessageSource::Assistant { step_id: "plan".to_owned() };
    let mut transition = Transition::to(next).changing(changed).saying(Role::Assistant, answer.content.clone(), source);
    transition.plan_changed = true;
    transition.answer = Some((Asker::Planner, answer));
    transition
}

fn no_plan(state: &mut AgentState, answer: ModelAnswer) -> Transition {
    use_up(state, &answer);
    state.progress.told = Some(format!("I could not make a plan. The model said: {}", answer.content));
    state.progress.asks = true;
    let mut transition = Transition::to(NodeName::Finalizer);
    transition.answer = Some((Asker::Planner, answer));
    transition
}

/// Counts what an answer used up.
fn use_up(state: &mut AgentState, answer: &ModelAnswer) {
    state.progress.tokens += answer.usage.total();
    if let Some(cost) = &answer.cost {
        state.progress.cost.add(cost);
    }
}

/// How many plans were made anew for what a new step is to do. One that was to come anyway, in the same words, has its own count;
/// whatever else is planned stands in the place of the step that failed.
fn replans(state: &AgentState, failed: Option<&str>, description: &str) -> u32 {
    let steps = &state.step_history;
    let Some(failed) = failed.and_then(|id| steps.get(id)) else { return 0 };
    let is_it = |step: &&StepState| step.status == StepStatus::Pending && step.description == description;
    let to_come = steps.values().filter(is_it).map(|step| step.replans).max();
    to_come.filter(|_| failed.description != description).unwrap_or(failed.replans + 1)
}

/// What is left of the old plan gives way to the new one.
fn replace_open_steps(state: &mut AgentState) -> Vec<String> {
    let mut changed = Vec::new();
    for step in state.step_history.values_mut() {
        let is_open = matches!(step.status, StepStatus::Pending | StepStatus::Running | StepStatus::Failed);
        if is_open && !step.replaced {
            let why = step.last_error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
            (step.status, step.last_error) = (StepStatus::Failed, Some(format!("{}{why}", supervisor::REPLACED)));
            step.replaced = true;
            changed.push(step.id.clone());
        }
    }
    changed
}

/// The Supervisor's word.
pub(crate) fn supervised(state: &mut AgentState) -> Result<Transition> {
    let steps: Vec<&StepState> = state.step_history.values().collect();
    let decision = Supervisor.run(Standing { steps: &steps })?;
    Ok(match decision {
        Decision::Work(id) => {
            let step = state.step_history.get_mut(&id);
            let begins = step
                .is_some_and(|step| std::mem::replace(&mut step.status, StepStatus::Running) != StepStatus::Running);
            state.current_step_id = Some(id.clone());
            let mut transition = Transition::to(NodeName::Executor).changing(begins.then_some(id));
            transition.plan_changed = begins;
            transition
        }
        Decision::Replan(id) => {
            state.current_step_id = Some(id);
            Transition::to(NodeName::Planner)
        }
        Decision::Ask(question) => {
            (state.progress.told, state.progress.asks) = (Some(question), true);
            Transition::to(NodeName::Finalizer)
        }
        Decision::Finish => Transition::to(NodeName::Finalizer),
    })
}

/// The step that is under way.
pub(crate) fn current(state: &AgentState) -> Result<StepState> {
    let id = state.current_step_id.as_ref();
    let step = id.and_then(|id| state.step_history.get(id)).cloned();
    step.ok_or_else(|| RunError::Inconsistent("no step is under way".to_owned()))
}

/// The Executor's word; a call gets this id.
pub(crate) fn proposed(state: &mut AgentState, proposal: Proposal, call_id: impl Into<String>) -> Result<Transition> {
    let step = current(state)?;
    let Proposal { what, answer } = proposal;
    use_up(state, &answer);
    let mut message = ModelMessage::of(Role::Assistant, answer.content.clone());
    let next = match what {
        Proposes::Call(call) => {
            message.tool_calls = vec![call.clone()];
            state.progress.proposed = Some(Proposed { call, call_id: call_id.into(), checked: false });
            state.progress.finished = None;
            NodeName::Check
        }
        Proposes::Done(words) => {
            (state.progress.proposed, state.progress.finished) = (None, Some(words));
            NodeName::Interpreter
        }
    };
    let mut transition = Transition::to(next);
    transition.says.push((message, MessageSource::Assistant { step_id: step.id }));
    transition.answer = Some((Asker::Executor, answer));
    Ok(transition)
}

/// The call that was proposed.
pub(crate) fn proposed_call(state: &AgentState) -> Result<Proposed> {
    state.progress.proposed.clone().ok_or_else(|| RunError::Inconsistent("no call was proposed".to_owned()))
}

/// The id of its effect.
pub(crate) fn call_id(proposed: &Proposed) -> Result<CallId> {
    CallId::parse(&proposed.call_id).ok_or_else(|| RunError::Inconsistent("a call without an id".to_owned()))
}

/// The call may run.
pub(crate) fn passed(state: &mut AgentState) -> Result<Transition> {
    let mut proposed = proposed_call(state)?;
    proposed.checked = true;
    let effect = (call_id(&proposed)?, proposed.call.name.clone(), Effect::Intended);
    state.progress.proposed = Some(proposed);
    let mut transition = Transition::to(NodeName::Tools);
    transition.effect = Some(effect);
    Ok(transition)
}

/// A person has to decide about the call. What was decided a moment ago already is taken up in one place: when the call is checked next.
pub(crate) fn waits(state: &mut AgentState, approval: ApprovalState, is_decided: bool) -> Transition {
    let id = approval.approval_id.clone();
    state.approval_state = Some(ApprovalState { status: ApprovalStatus::Pending, token: None, ..approval });
    let transition = Transition::to(NodeName::Check);
    if is_decided { transition } else { transition.stopping(ThreadStatus::Frozen, id) }
}

/// The result of a call that has its answer without having run.
pub(crate) fn refusal(proposed: &Proposed, output: String) -> ToolResult {
    let (tool_name, tool_call_id) = (proposed.call.name.clone(), proposed.call.id.clone());
    ToolResult { tool_name, tool_call_id, output, status: ToolStatus::Error, metadata: serde_json::Map::new() }
}

/// A call that is over: its result is said, and read next.
pub(crate) fn answered(state: &mut AgentState, result: ToolResult) -> Transition {
    let mut message = ModelMessage::of(Role::Tool, result.output.clone());
    message.tool_call_id = Some(result.tool_call_id.clone());
    let (tool_call_id, tool_name) = (result.tool_call_id.clone(), result.tool_name.clone());
    (state.last_tool_result, state.approval_state) = (Some(result), None);
    let mut transition = Transition::to(NodeName::Interpreter);
    transition.says.push((message, MessageSource::Tool { tool_call_id, tool_name }));
    transition
}

/// A call was cut off, and only a person can say what it came to.
pub(crate) fn cut_off(state: &mut AgentState) -> Result<Transition> {
    let told = format!(
        "A call of {} was cut off, and it is not known whether it took effect. A person has to look: `paddock log`, then \
         `paddock resume {} --it-was done` or `--it-was not-done`.",
        proposed_call(state)?.call.name,
        state.thread_id
    );
    let id = state.current_step_id.clone();
    if let Some(step) = id.as_ref().and_then(|id| state.step_history.get_mut(id)) {
        (step.status, step.last_error) = (StepStatus::Blocked, Some(told.clone()));
    }
    Ok(Transition::to(NodeName::Tools).changing(id).stopping(ThreadStatus::Blocked, told))
}

/// Stands for a call: its tool and its arguments.
fn digest_of(call: &ToolCall) -> String {
    let text = format!("{} {}", call.name, serde_json::Value::Object(call.arguments.clone()));
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// What a result, or the Executor's last word, means for the step.
pub(crate) fn interpreted(state: &mut AgentState) -> Result<Transition> {
    let step = current(state)?;
    let finished = state.progress.finished.take();
    let result = state.last_tool_result.clone().filter(|_| finished.is_none());
    let call = state.progress.proposed.take().map(|proposed| digest_of(&proposed.call));
    let reading = Interpreter.run(Outcome {
        step: &step,
        finished: finished.as_deref(),
        result: result.as_ref(),
        call: call.as_deref(),
        failing: state.progress.failing.as_ref(),
    })?;
    if finished.is_some() {
        state.progress.told = finished;
    }
    state.progress.failing = reading.failing;
    let mut now = reading.step;
    // A person who said what a blocked call came to has unblocked it.
    if now.status == StepStatus::Blocked {
        now.status = StepStatus::Running;
    }
    let (id, changed) = (now.id.clone(), now != step);
    let plan_changed = now.status != step.status || now.tries != step.tries;
    state.step_history.insert(id.clone(), now);
    let mut transition = Transition::to(NodeName::Supervisor).changing(changed.then_some(id));
    transition.plan_changed = plan_changed;
    Ok(transition)
}

/// A run that has used up what it may, in words, goes to its end with a question.
pub(crate) fn bounded(state: &mut AgentState, over: &str) -> NodeName {
    (state.progress.told, state.progress.asks) = (Some(format!("{USED_UP}{over}{GO_ON}")), true);
    NodeName::Finalizer
}

const USED_UP: &str = "This run has used up its ";
const GO_ON: &str = ". Shall I go on?";

/// What a run had used up that ended with this question; nothing where it asks something else.
pub(crate) fn used_up_in(question: &str) -> Option<&str> {
    question.strip_prefix(USED_UP)?.strip_suffix(GO_ON)
}

/// Bounds hold before these nodes: what passed Check is done, and the last word is said.
pub(crate) fn is_bounded(next: NodeName) -> bool {
    !matches!(next, NodeName::Gatekeeper | NodeName::Tools | NodeName::Finalizer | NodeName::End)
}

/// The last word of the turn.
pub(crate) fn ended(state: &mut AgentState) -> Result<Transition> {
    let progress = &state.progress;
    let question = progress.told.as_deref().filter(|_| progress.asks);
    let last_words = progress.told.as_deref().filter(|_| !progress.asks);
    let steps: Vec<&StepState> = state.step_history.values().collect();
    let only_planned = state.agent_mode == AgentMode::Planning;
    let word = Finalizer.run(End { steps: &steps, last_words, question, only_planned })?;
    let is_said = last_words == Some(word.text.as_str());
    let status = if word.asks { ThreadStatus::Asking } else { ThreadStatus::Done };
    state.current_step_id = None;
    state.progress.told = Some(word.text.clone());
    let mut transition = Transition::to(NodeName::End).stopping(status, word.text.clone());
    // What the Executor said at its end stands in the conversation already.
    if !is_said {
        transition =
            transition.saying(Role::Assistant, word.text, MessageSource::Assistant { step_id: "end".to_owned() });
    }
    Ok(transition)
}

/// Counts a node, and for how many milliseconds it worked. One that only found that a person has still to decide will run again, and counts then.
pub(crate) fn counted(state: &mut AgentState, transition: &Transition, worked: u64) {
    if !matches!(transition.status, ThreadStatus::Frozen | ThreadStatus::Blocked) {
        state.progress.nodes += 1;
    }
    state.progress.worked += worked;
}

/// What a fork has of its own.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) thread: String,
    pub(crate) session_token_hash: String,
    pub(crate) plan_path: String,
    pub(crate) call_id: String,
}

/// The state that a fork begins with: its own session, and a call that was proposed is a call of its own, to be checked anew.
pub(crate) fn forked(state: &mut AgentState, next: NodeName, own: Own) -> NodeName {
    state.thread_id = own.thread;
    state.security_context.session_token_hash = own.session_token_hash;
    state.approval_state = None;
    state.current_plan_path = own.plan_path;
    let Some(proposed) = &mut state.progress.proposed else { return next };
    (proposed.call_id, proposed.checked) = (own.call_id, false);
    if next == NodeName::Tools { NodeName::Check } else { next }
}
