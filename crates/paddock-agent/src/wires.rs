//! How each node is wired: what it is shown of the run, and what becomes of what it says.
//!
//! The only place where a node's word gets into the state, and where the node that comes is named.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use paddock_core::{CallId, Cancel, Requester};
use paddock_ledger::approvals::{Approval, Status};
use paddock_state::Timestamp;
use paddock_state::conversation::MessageSource;
use paddock_tools::Control;

use crate::graph::NodeName;
use crate::model::{Asker, ModelError, ModelMessage, Role, ToolCall, ToolOffer};
use crate::nodes::check::{Check, Verdict};
use crate::nodes::executor::{Executor, Proposes, Work};
use crate::nodes::finalizer::{End, Finalizer};
use crate::nodes::gatekeeper::{Gatekeeper, Incoming, Provided};
use crate::nodes::interpreter::{Interpreter, Outcome};
use crate::nodes::planner::{Planner, Task};
use crate::nodes::supervisor::{self, Decision, Standing, Supervisor};
use crate::nodes::tools::{Passed, Ran, Tools};
use crate::nodes::{Node as _, NodeError, check, planner};
use crate::record::{Effect, RecordError, ThreadStatus};
use crate::run::{Run, Transition};
use crate::runtime::{PLAN_NOWHERE, RunError, RunEvent, Settled};
use crate::state::{
    AgentMode, ApprovalState, ApprovalStatus, Progress, Proposed, StepState, StepStatus, ToolResult, ToolStatus,
};

/// How long a tool call of a run may take, beside the time that a command has.
const LONGEST_CALL: Duration = Duration::from_secs(300);

type Result<T> = std::result::Result<T, RunError>;

pub(crate) fn gatekeeper(run: &mut Run<'_>) -> Result<Transition> {
    let tools = run.runtime.toolbox.tools();
    let provided: Vec<Provided> =
        tools.iter().map(|tool| Provided { name: tool.name.to_owned(), read_only: tool.hints.read_only }).collect();
    let context = &run.state.security_context;
    let admitted = Gatekeeper.run(Incoming {
        prompt: &run.state.input_prompt,
        mode: run.state.agent_mode,
        level: context.permissions_level,
        provided: &provided,
        wanted: run.tools.as_deref(),
        session_token_hash: &context.session_token_hash,
    })?;
    // What was between the letters of a secret is gone now.
    let prompt = run.runtime.redactor.text(&admitted.prompt).into_owned();
    run.state.input_prompt.clone_from(&prompt);
    run.state.security_context = admitted.context;
    run.state.step_history.clear();
    (run.state.current_step_id, run.state.last_tool_result, run.state.approval_state) = (None, None, None);
    run.state.progress = Progress::default();
    run.state.current_plan_path = match run.state.agent_mode {
        AgentMode::Consulting => PLAN_NOWHERE.to_owned(),
        AgentMode::Planning | AgentMode::Execution => run.runtime.plan_path(&run.state.thread_id),
    };
    Ok(Transition::to(NodeName::Planner).saying(Role::User, prompt, MessageSource::User))
}

pub(crate) fn planner(run: &mut Run<'_>) -> Result<Transition> {
    if run.state.agent_mode == AgentMode::Consulting {
        let step = add_steps(run, vec![("Answer the question".to_owned(), 0)]);
        return Ok(Transition::to(NodeName::Supervisor).changing(step));
    }
    let failed = run.state.current_step_id.clone();
    let said = {
        let steps = run.steps();
        let failed = failed.as_ref().and_then(|id| run.state.step_history.get(id));
        let before = run.recent.shown();
        // The task itself is said last, and once.
        let before = &before[..before.len().saturating_sub(usize::from(failed.is_none()))];
        let (map, model) = (run.runtime.toolbox.filesystem_map(), run.runtime.asked_model());
        asked(run, || {
            Planner.run(Task {
                prompt: &run.state.input_prompt,
                map: &map,
                tools: &run.state.security_context.allowed_tools,
                before,
                steps: &steps,
                failed,
                model: &model,
                heard: &mut |words| run.tell(&RunEvent::Words(words)),
            })
        })?
    };
    let planned = match said {
        Ok(planned) => planned,
        Err(answer) => return Ok(no_plan(run, answer)),
    };
    let planner::Planned { steps, answer } = planned;
    run.state.progress.tokens += answer.usage.total();
    let count = |description: String| {
        let replans = replans(run, failed.as_deref(), &description);
        (description, replans)
    };
    let steps = steps.into_iter().map(count).collect();
    let mut changed = Vec::new();
    if failed.is_some() {
        run.state.progress.failing = None;
        changed = replace_open_steps(run);
        run.state.current_step_id = None;
    }
    changed.extend(add_steps(run, steps));
    run.runtime.keep_plan(&run.state)?;
    let next = if run.state.agent_mode == AgentMode::Planning { NodeName::Finalizer } else { NodeName::Supervisor };
    let source = MessageSource::Assistant { step_id: "plan".to_owned() };
    let mut transition = Transition::to(next).changing(changed).saying(Role::Assistant, answer.content.clone(), source);
    transition.answer = Some((Asker::Planner, answer));
    Ok(transition)
}

fn no_plan(run: &mut Run<'_>, answer: crate::model::ModelAnswer) -> Transition {
    run.state.progress.tokens += answer.usage.total();
    run.state.progress.told = Some(format!("I could not make a plan. The model said: {}", answer.content));
    run.state.progress.asks = true;
    let mut transition = Transition::to(NodeName::Finalizer);
    transition.answer = Some((Asker::Planner, answer));
    transition
}

/// How many plans were made anew for what a new step is to do. One that was to come anyway, in the same words, has its own count;
/// whatever else is planned stands in the place of the step that failed.
fn replans(run: &Run<'_>, failed: Option<&str>, description: &str) -> u32 {
    let steps = &run.state.step_history;
    let Some(failed) = failed.and_then(|id| steps.get(id)) else { return 0 };
    let is_it = |step: &&StepState| step.status == StepStatus::Pending && step.description == description;
    let to_come = steps.values().filter(is_it).map(|step| step.replans).max();
    to_come.filter(|_| failed.description != description).unwrap_or(failed.replans + 1)
}

/// What is left of the old plan gives way to the new one.
fn replace_open_steps(run: &mut Run<'_>) -> Vec<String> {
    let mut changed = Vec::new();
    for step in run.state.step_history.values_mut() {
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

/// Adds steps to the plan, each with how often it was planned anew.
fn add_steps(run: &mut Run<'_>, steps: Vec<(String, u32)>) -> Vec<String> {
    let (first, tries) = (run.state.step_history.len() + 1, run.runtime.settings.max_tries);
    let mut added = Vec::new();
    for (n, (description, replans)) in (first..).zip(steps) {
        let id = format!("{}.{n:04}", run.turn);
        let step = StepState { replans, ..StepState::new(id.clone(), description, tries) };
        run.state.step_history.insert(id.clone(), step);
        added.push(id);
    }
    added
}

pub(crate) fn supervisor(run: &mut Run<'_>) -> Result<Transition> {
    let decision = Supervisor.run(Standing { steps: &run.steps() })?;
    Ok(match decision {
        Decision::Work(id) => {
            let step = run.state.step_history.get_mut(&id);
            let begins = step
                .is_some_and(|step| std::mem::replace(&mut step.status, StepStatus::Running) != StepStatus::Running);
            run.state.current_step_id = Some(id.clone());
            if begins {
                run.runtime.keep_plan(&run.state)?;
            }
            Transition::to(NodeName::Executor).changing(begins.then_some(id))
        }
        Decision::Replan(id) => {
            run.state.current_step_id = Some(id);
            Transition::to(NodeName::Planner)
        }
        Decision::Ask(question) => {
            (run.state.progress.told, run.state.progress.asks) = (Some(question), true);
            Transition::to(NodeName::Finalizer)
        }
        Decision::Finish => Transition::to(NodeName::Finalizer),
    })
}

/// The step that is under way.
fn current(run: &Run<'_>) -> Result<StepState> {
    let id = run.state.current_step_id.as_ref();
    let step = id.and_then(|id| run.state.step_history.get(id)).cloned();
    step.ok_or_else(|| RunError::Inconsistent("no step is under way".to_owned()))
}

pub(crate) fn executor(run: &mut Run<'_>) -> Result<Transition> {
    let step = current(run)?;
    let allowed = &run.state.security_context.allowed_tools;
    let offered = run.runtime.toolbox.tools().into_iter().filter(|tool| allowed.iter().any(|name| name == tool.name));
    let offer = |tool: paddock_tools::ToolSpec| ToolOffer {
        name: tool.name.to_owned(),
        description: tool.description,
        schema: serde_json::to_value(&*tool.input_schema).unwrap_or_default(),
    };
    let tools: Vec<ToolOffer> = offered.map(offer).collect();
    let proposal = asked(run, || {
        Executor.run(Work {
            prompt: &run.state.input_prompt,
            description: &step.description,
            last_error: step.last_error.as_deref(),
            map: &run.runtime.toolbox.filesystem_map(),
            tools: &tools,
            said: &run.recent.shown(),
            context: &run.state.security_context,
            model: &run.runtime.asked_model(),
            heard: &mut |words| run.tell(&RunEvent::Words(words)),
        })
    })?;
    run.state.progress.tokens += proposal.answer.usage.total();
    let mut message = ModelMessage::of(Role::Assistant, proposal.answer.content.clone());
    let next = match proposal.what {
        Proposes::Call(call) => {
            message.tool_calls = vec![call.clone()];
            let call_id = CallId::next().to_string();
            run.state.progress.proposed = Some(Proposed { call, call_id, checked: false });
            run.state.progress.finished = None;
            NodeName::Check
        }
        Proposes::Done(words) => {
            (run.state.progress.proposed, run.state.progress.finished) = (None, Some(words));
            NodeName::Interpreter
        }
    };
    let mut transition = Transition::to(next);
    transition.says.push((message, MessageSource::Assistant { step_id: step.id }));
    transition.answer = Some((Asker::Executor, proposal.answer));
    Ok(transition)
}

fn proposed(run: &Run<'_>) -> Result<Proposed> {
    run.state.progress.proposed.clone().ok_or_else(|| RunError::Inconsistent("no call was proposed".to_owned()))
}

fn call_id(proposed: &Proposed) -> Result<CallId> {
    CallId::parse(&proposed.call_id).ok_or_else(|| RunError::Inconsistent("a call without an id".to_owned()))
}

/// Who calls, under which id, and with which decision.
fn control(run: &Run<'_>, proposed: &Proposed) -> Result<Control> {
    let time = run.runtime.toolbox.longest(&proposed.call.name, LONGEST_CALL);
    let mut control = Control::for_at_most(time);
    control.cancel = Arc::clone(&run.runtime.cancel);
    control.call = Some(call_id(proposed)?);
    control.protected = run.runtime.protected(&run.state);
    let token = run.state.approval_state.as_ref().and_then(|approval| approval.token.clone());
    let thread = Some(run.state.thread_id.clone());
    let session = format!("thread-{}", run.state.thread_id);
    control.requester = Requester { session, thread, user: Some(run.state.user_id.clone()), token };
    Ok(control)
}

pub(crate) fn check(run: &mut Run<'_>) -> Result<Transition> {
    if let Some(transition) = decided(run)? {
        return Ok(transition);
    }
    let mut proposed = proposed(run)?;
    let mut verdict = checked(run, &proposed)?;
    // What was decided about something that is no longer so is asked anew, with what it is now.
    let edited = run.state.approval_state.as_ref().is_some_and(|approval| approval.status == ApprovalStatus::Edited);
    let has_token = run.state.approval_state.as_ref().is_some_and(|approval| approval.token.is_some());
    if has_token && matches!(verdict, Verdict::Refuse(_)) {
        if let (Some(state), Some(approvals)) = (run.state.approval_state.take(), &run.runtime.approvals) {
            approvals.withdraw(&state.approval_id)?;
        }
        verdict = checked(run, &proposed)?;
    }
    match verdict {
        Verdict::Pass => {
            proposed.checked = true;
            let effect = (call_id(&proposed)?, proposed.call.name.clone(), Effect::Intended);
            run.state.progress.proposed = Some(proposed);
            let mut transition = Transition::to(NodeName::Tools);
            transition.effect = Some(effect);
            Ok(transition)
        }
        Verdict::Freeze(approval) => freeze(run, &approval),
        Verdict::Refuse(text) => {
            let text = if edited { told_of_edit(&proposed, &text) } else { text };
            Ok(answered(run, &proposed, text, ToolStatus::Error))
        }
    }
}

/// What became of a call whose arguments a person changed.
fn told_of_edit(proposed: &Proposed, output: &str) -> String {
    let arguments = serde_json::Value::Object(proposed.call.arguments.clone());
    format!("{}\n{output}", paddock_tools::edited_to(&arguments.to_string()))
}

fn checked(run: &Run<'_>, proposed: &Proposed) -> Result<Verdict> {
    let control = control(run, proposed)?;
    Ok(Check.run(check::Proposed {
        call: &proposed.call,
        context: &run.state.security_context,
        toolbox: &run.runtime.toolbox,
        control: &control,
    })?)
}

/// What a person decided about the call that waits; nothing where none does.
fn decided(run: &mut Run<'_>) -> Result<Option<Transition>> {
    let Some(waiting) = run.state.approval_state.clone().filter(|state| state.status == ApprovalStatus::Pending) else {
        return Ok(None);
    };
    let approvals = run.runtime.approvals.as_ref().ok_or(RunError::NobodyToAsk)?;
    let approval = approvals.show(&waiting.approval_id)?;
    let mut proposed = proposed(run)?;
    run.state.approval_state = Some(seen(&approval));
    match approval.status {
        Status::Pending => Ok(Some(freeze_on(run, &approval))),
        Status::Approved => Ok(None),
        Status::Edited => {
            let edited = approval.edited.as_deref().unwrap_or_default();
            let arguments = serde_json::from_str(edited);
            proposed.call.arguments = arguments.map_err(|error| RunError::Inconsistent(error.to_string()))?;
            run.state.progress.proposed = Some(proposed);
            Ok(None)
        }
        Status::Rejected => {
            let by = approval.decided_by.as_deref().unwrap_or("a person");
            let why = approval.reason.as_deref().unwrap_or("no reason was given");
            let text = format!("❌ ERROR: {by} rejected this call: {why}");
            Ok(Some(answered(run, &proposed, text, ToolStatus::Error)))
        }
        Status::Expired => {
            let text = match &approval.decided_by {
                Some(by) => format!(
                    "❌ ERROR: {by} approved this call, but it cannot be made any more as it was shown. Make it again to have a person \
                     look at it anew."
                ),
                None => "❌ ERROR: Nobody decided about this call in time.".to_owned(),
            };
            Ok(Some(answered(run, &proposed, text, ToolStatus::Error)))
        }
    }
}

fn freeze(run: &mut Run<'_>, approval: &str) -> Result<Transition> {
    let approvals = run.runtime.approvals.as_ref().ok_or(RunError::NobodyToAsk)?;
    let approval = approvals.show(approval)?;
    // Whatever was decided about it, also a moment ago, is taken up in one place: when the call is checked next.
    run.state.approval_state = Some(ApprovalState { status: ApprovalStatus::Pending, token: None, ..seen(&approval) });
    let is_decided = approval.status != Status::Pending && approval.used_by.is_none();
    Ok(if is_decided { Transition::to(NodeName::Check) } else { freeze_on(run, &approval) })
}

fn freeze_on(run: &Run<'_>, approval: &Approval) -> Transition {
    run.tell(&RunEvent::Frozen(approval));
    Transition::to(NodeName::Check).stopping(ThreadStatus::Frozen, approval.id.clone())
}

/// An approval as the state has it.
fn seen(approval: &Approval) -> ApprovalState {
    let moment = |millis: i64| Timestamp::from_millis(millis).to_string();
    ApprovalState {
        approval_id: approval.id.clone(),
        status: match approval.status {
            Status::Pending => ApprovalStatus::Pending,
            Status::Approved => ApprovalStatus::Approved,
            Status::Edited => ApprovalStatus::Edited,
            Status::Rejected => ApprovalStatus::Rejected,
            Status::Expired => ApprovalStatus::Expired,
        },
        tool_name: approval.tool.clone(),
        args_hash: approval.digest.clone(),
        state_version: approval.state_version.clone(),
        requested_at: moment(approval.requested_at),
        expires_at: moment(approval.expires_at),
        decided_by: approval.decided_by.clone(),
        reason: approval.reason.clone(),
        token: approval.token.clone(),
    }
}

/// A call that has its answer without having run.
fn answered(run: &mut Run<'_>, proposed: &Proposed, output: String, status: ToolStatus) -> Transition {
    let (tool_name, tool_call_id) = (proposed.call.name.clone(), proposed.call.id.clone());
    let result = ToolResult { tool_name, tool_call_id, output, status, metadata: serde_json::Map::new() };
    over(run, result)
}

/// A call that is over: its result is said, and read next.
fn over(run: &mut Run<'_>, result: ToolResult) -> Transition {
    let mut message = ModelMessage::of(Role::Tool, result.output.clone());
    message.tool_call_id = Some(result.tool_call_id.clone());
    let (tool_call_id, tool_name) = (result.tool_call_id.clone(), result.tool_name.clone());
    run.tell(&RunEvent::Tool(&result));
    (run.state.last_tool_result, run.state.approval_state) = (Some(result), None);
    let mut transition = Transition::to(NodeName::Interpreter);
    transition.says.push((message, MessageSource::Tool { tool_call_id, tool_name }));
    transition
}

pub(crate) fn tools(run: &mut Run<'_>) -> Result<Transition> {
    let proposed = proposed(run)?;
    let id = call_id(&proposed)?;
    if !proposed.checked {
        return Err(RunError::Inconsistent("a call that did not pass Check".to_owned()));
    }
    let thread = run.state.thread_id.clone();
    let was = run.runtime.record.effect(&thread, id)?;
    let result = match was {
        Some(Effect::Over(result)) => result,
        Some(Effect::Started) => match recovered(run, &proposed, id)? {
            Recovered::Result(result) => result,
            Recovered::Again => return perform(run, &proposed, id),
            Recovered::Blocked => return Ok(blocked(run, &proposed)),
        },
        Some(Effect::Intended) | None => return perform(run, &proposed, id),
    };
    let tool = proposed.call.name.clone();
    let effect = Some((id, tool, Effect::Over(result.clone())));
    let mut transition = over(run, result);
    transition.effect = effect;
    Ok(transition)
}

/// Has the call run, told before and after.
fn perform(run: &mut Run<'_>, proposed: &Proposed, id: CallId) -> Result<Transition> {
    let control = control(run, proposed)?;
    run.tell(&RunEvent::Boundary("before the start"));
    run.runtime.record.begin_effect(run.fence, &run.state.thread_id, id)?;
    run.tell(&RunEvent::Boundary("after the start"));
    let ran = while_it_is_ours(run, &control.cancel, || {
        Tools.run(Passed {
            call: &proposed.call,
            toolbox: &run.runtime.toolbox,
            control: &control,
            evict_above: run.runtime.settings.evict_above,
        })
    })?;
    run.tell(&RunEvent::Boundary("after the effect"));
    let tool = proposed.call.name.clone();
    match ran {
        Ran::Answered(mut result) => {
            let decided = run.state.approval_state.as_ref().map(|approval| approval.status);
            if decided == Some(ApprovalStatus::Edited) {
                result.output = told_of_edit(proposed, &result.output);
            }
            let effect = Some((id, tool, Effect::Over(result.clone())));
            let mut transition = over(run, result);
            transition.effect = effect;
            Ok(transition)
        }
        Ran::Parked(approval) => {
            let mut transition = freeze(run, &approval)?;
            transition.effect = Some((id, tool, Effect::Intended));
            Ok(transition)
        }
    }
}

/// Has a node ask the model, and does not wait for an answer that nobody wants any more.
fn asked<T>(run: &Run<'_>, ask: impl FnOnce() -> std::result::Result<T, NodeError>) -> Result<T> {
    let said = while_it_is_ours(run, &run.runtime.cancel, ask);
    let (record, thread) = (&run.runtime.record, run.state.thread_id.as_str());
    // Without an answer because it was stopped: what counts is who has the thread now.
    if matches!(said, Err(NodeError::Model(ModelError::Cancelled))) && !record.holds(thread, run.fence)? {
        return Err(RecordError::TakenOver(thread.to_owned()).into());
    }
    Ok(said?)
}

/// How often it is looked whether a run was cancelled while its model or a call of it works.
const LOOKING: Duration = Duration::from_millis(500);

/// Does something, and stops it when another process takes the thread over: it was cancelled, or this one was thought dead.
fn while_it_is_ours<T>(run: &Run<'_>, cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    let (record, fence, thread) = (&run.runtime.record, run.fence, run.state.thread_id.as_str());
    let (over, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(LOOKING) == Err(mpsc::RecvTimeoutError::Timeout) {
                if record.holds(thread, fence).is_ok_and(|holds| !holds) {
                    cancel.stop();
                    return;
                }
            }
        });
        let done = work();
        drop(over);
        done
    })
}

/// What is known of a call that began and was cut off.
enum Recovered {
    Result(ToolResult),
    Again,
    Blocked,
}

fn recovered(run: &mut Run<'_>, proposed: &Proposed, id: CallId) -> Result<Recovered> {
    let told = |output: &str, status| {
        let (tool_name, tool_call_id) = (proposed.call.name.clone(), proposed.call.id.clone());
        let (output, metadata) = (output.to_owned(), serde_json::Map::new());
        Recovered::Result(ToolResult { tool_name, tool_call_id, output, status, metadata })
    };
    if let Some(settled) = run.settled.take() {
        return Ok(match settled {
            Settled::Done => told("Done; a person has seen that it took effect.", ToolStatus::Success),
            Settled::NotDone => Recovered::Again,
        });
    }
    if run.runtime.toolbox.is_idempotent(&proposed.call.name) {
        return Ok(Recovered::Again);
    }
    // What the ledger heard of is that a person agreed, not what the command did.
    if run.runtime.toolbox.runs_commands(&proposed.call.name) && run.runtime.toolbox.commands_act_at_once() {
        return Ok(Recovered::Blocked);
    }
    // The ledger tells its intent before a Store is touched: what it never heard of has changed nothing.
    match run.runtime.came_to(id)? {
        Some(true) => Ok(told("Done; its answer was lost when the process ended.", ToolStatus::Success)),
        None => Ok(Recovered::Again),
        Some(false) => Ok(Recovered::Blocked),
    }
}

fn blocked(run: &mut Run<'_>, proposed: &Proposed) -> Transition {
    let told = format!(
        "A call of {} was cut off, and it is not known whether it took effect. A person has to look: `paddock log`, then \
         `paddock resume {} --it-was done` or `--it-was not-done`.",
        proposed.call.name, run.state.thread_id
    );
    let id = run.state.current_step_id.clone();
    if let Some(step) = id.as_ref().and_then(|id| run.state.step_history.get_mut(id)) {
        (step.status, step.last_error) = (StepStatus::Blocked, Some(told.clone()));
    }
    Transition::to(NodeName::Tools).changing(id).stopping(ThreadStatus::Blocked, told)
}

/// Stands for a call: its tool and its arguments.
pub(crate) fn digest_of(call: &ToolCall) -> String {
    let text = format!("{} {}", call.name, serde_json::Value::Object(call.arguments.clone()));
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

pub(crate) fn interpreter(run: &mut Run<'_>) -> Result<Transition> {
    let step = current(run)?;
    let finished = run.state.progress.finished.take();
    let result = run.state.last_tool_result.clone().filter(|_| finished.is_none());
    let call = run.state.progress.proposed.take().map(|proposed| digest_of(&proposed.call));
    let reading = Interpreter.run(Outcome {
        step: &step,
        finished: finished.as_deref(),
        result: result.as_ref(),
        call: call.as_deref(),
        failing: run.state.progress.failing.as_ref(),
    })?;
    if finished.is_some() {
        run.state.progress.told = finished;
    }
    run.state.progress.failing = reading.failing;
    let mut now = reading.step;
    // A person who said what a blocked call came to has unblocked it.
    if now.status == StepStatus::Blocked {
        now.status = StepStatus::Running;
    }
    let (id, changed) = (now.id.clone(), now != step);
    let shown = now.status != step.status || now.tries != step.tries;
    run.state.step_history.insert(id.clone(), now);
    if shown {
        run.runtime.keep_plan(&run.state)?;
    }
    Ok(Transition::to(NodeName::Supervisor).changing(changed.then_some(id)))
}

pub(crate) fn finalizer(run: &mut Run<'_>) -> Result<Transition> {
    let progress = &run.state.progress;
    let question = progress.told.as_deref().filter(|_| progress.asks);
    let last_words = progress.told.as_deref().filter(|_| !progress.asks);
    let word = Finalizer.run(End {
        steps: &run.steps(),
        last_words,
        question,
        only_planned: run.state.agent_mode == AgentMode::Planning,
    })?;
    let is_said = last_words == Some(word.text.as_str());
    let status = if word.asks { ThreadStatus::Asking } else { ThreadStatus::Done };
    run.state.current_step_id = None;
    run.state.progress.told = Some(word.text.clone());
    let mut transition = Transition::to(NodeName::End).stopping(status, word.text.clone());
    // What the Executor said at its end stands in the conversation already.
    if !is_said {
        transition =
            transition.saying(Role::Assistant, word.text, MessageSource::Assistant { step_id: "end".to_owned() });
    }
    Ok(transition)
}
