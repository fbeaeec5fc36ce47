//! How each node is wired: what it is shown of the run, and what it hears from outside.
//!
//! The only place where a node meets the world: the model, the tools, people. What becomes of its word is said in [`becomes`], the same way for
//! a run and for going through one again.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::{CallId, Requester};
use paddock_ledger::approvals::{Approval, Status};
use paddock_state::Timestamp;
use paddock_tools::Control;

use crate::becomes::{self, NewSteps, call_id, current, proposed_call};
use crate::model::retry::is_stopped;
use crate::model::{ModelAnswer, ModelError, ToolOffer};
use crate::nodes::check::{Check, Verdict};
use crate::nodes::executor::{Executor, Work};
use crate::nodes::gatekeeper::{Admitted, Gatekeeper, Incoming, Provided};
use crate::nodes::planner::{Planned, Planner, Task};
use crate::nodes::tools::{Passed, Ran, Tools};
use crate::nodes::{Node as _, NodeError, check};
use crate::record::{Effect, RecordError};
use crate::run::{Run, Transition};
use crate::runtime::{PLAN_NOWHERE, RunError, RunEvent, Settled};
use crate::state::{AgentMode, ApprovalState, ApprovalStatus, Proposed, ToolResult, ToolStatus};

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
    let plan_path = match run.state.agent_mode {
        AgentMode::Consulting => PLAN_NOWHERE.to_owned(),
        AgentMode::Planning | AgentMode::Execution => run.runtime.plan_path(&run.state.thread_id),
    };
    Ok(becomes::let_in(&mut run.state, Admitted { prompt, ..admitted }, plan_path))
}

pub(crate) fn planner(run: &mut Run<'_>) -> Result<Transition> {
    let turn = run.turn.clone();
    let new = NewSteps { turn: &turn, max_tries: run.runtime.settings.max_tries };
    if run.state.agent_mode == AgentMode::Consulting {
        return Ok(becomes::consulted(&mut run.state, new));
    }
    let said = {
        let steps = run.steps();
        let failed = run.state.current_step_id.as_ref().and_then(|id| run.state.step_history.get(id));
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
    let said = match said {
        Ok(Planned { steps, answer }) => Ok(Planned { steps, answer: priced(run, answer) }),
        Err(answer) => Err(priced(run, answer)),
    };
    Ok(becomes::planned(&mut run.state, new, said))
}

/// An answer with what it costs, where that is known.
fn priced(run: &Run<'_>, answer: ModelAnswer) -> ModelAnswer {
    let cost = run.runtime.prices.as_ref().map(|prices| prices.cost(answer.usage));
    ModelAnswer { cost, ..answer }
}

pub(crate) fn supervisor(run: &mut Run<'_>) -> Result<Transition> {
    becomes::supervised(&mut run.state)
}

pub(crate) fn executor(run: &mut Run<'_>) -> Result<Transition> {
    let step = current(&run.state)?;
    let allowed = &run.state.security_context.allowed_tools;
    let offered = run.runtime.toolbox.tools().into_iter().filter(|tool| allowed.iter().any(|name| name == tool.name));
    let offer = |tool: paddock_tools::ToolSpec| ToolOffer {
        name: tool.name.to_owned(),
        description: tool.description,
        schema: tool.input_schema,
    };
    let tools: Vec<ToolOffer> = offered.map(offer).collect();
    let mut proposal = asked(run, || {
        Executor.run(Work {
            prompt: &run.state.input_prompt,
            description: &step.description,
            last_error: step.last_error.as_deref(),
            map: &run.runtime.toolbox.filesystem_map(),
            tools,
            said: run.recent.shown(),
            context: &run.state.security_context,
            model: &run.runtime.asked_model(),
            heard: &mut |words| run.tell(&RunEvent::Words(words)),
        })
    })?;
    proposal.answer = priced(run, proposal.answer);
    becomes::proposed(&mut run.state, proposal, CallId::next().to_string())
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
    let proposed = proposed_call(&run.state)?;
    let mut verdict = checked(run, &proposed)?;
    let edited = run.state.approval_state.as_ref().is_some_and(|approval| approval.status == ApprovalStatus::Edited);
    // What was decided about something that is no longer so is asked anew, with what it is now.
    let withdrew = matches!(verdict, Verdict::Refuse(_)) && withdraw_decision(run)?;
    if withdrew {
        verdict = checked(run, &proposed)?;
    }
    let mut transition = match verdict {
        Verdict::Pass => becomes::passed(&mut run.state)?,
        Verdict::Freeze(approval) => freeze(run, &approval)?,
        Verdict::Refuse(text) => {
            let text = if edited { told_of_edit(&proposed, &text) } else { text };
            refused(run, &proposed, text)
        }
    };
    // A state from before would wait for a decision that is no more.
    transition.lasts = withdrew;
    Ok(transition)
}

/// Lets go of the decision that the call brought; says whether it brought one.
fn withdraw_decision(run: &mut Run<'_>) -> Result<bool> {
    let Some(brought) = run.state.approval_state.take_if(|approval| approval.token.is_some()) else { return Ok(false) };
    if let Some(approvals) = &run.runtime.approvals {
        approvals.withdraw(&brought.approval_id)?;
    }
    Ok(true)
}

/// What became of a call whose arguments a person changed.
fn told_of_edit(proposed: &Proposed, output: &str) -> String {
    let arguments = serde_json::Value::Object(proposed.call.arguments.clone());
    format!("{}\n{output}", paddock_tools::edited_to(&arguments.to_string()))
}

fn checked(run: &Run<'_>, proposed: &Proposed) -> Result<Verdict> {
    let control = control(run, proposed)?;
    let verdict = Check.run(check::Proposed {
        call: &proposed.call,
        context: &run.state.security_context,
        toolbox: &run.runtime.toolbox,
        control: &control,
    })?;
    if matches!(verdict, Verdict::Refuse(_)) {
        // Whoever was stopped is refused everything: that says nothing of the call.
        let stopped = is_stopped(&run.runtime.cancel);
        still_ours(run)?;
        if stopped {
            return Err(NodeError::Stopped.into());
        }
    }
    Ok(verdict)
}

/// Fails where another process has taken the thread over.
fn still_ours(run: &Run<'_>) -> Result<()> {
    let thread = run.state.thread_id.as_str();
    if run.runtime.record.holds(thread, run.fence)? {
        return Ok(());
    }
    Err(RecordError::TakenOver(thread.to_owned()).into())
}

/// What a person decided about the call that waits; nothing where none does.
fn decided(run: &mut Run<'_>) -> Result<Option<Transition>> {
    let Some(waiting) = run.state.approval_state.clone().filter(|state| state.status == ApprovalStatus::Pending) else {
        return Ok(None);
    };
    let approvals = run.runtime.approvals.as_ref().ok_or(RunError::NobodyToAsk)?;
    let approval = approvals.show(&waiting.approval_id)?;
    let mut proposed = proposed_call(&run.state)?;
    run.state.approval_state = Some(seen(&approval));
    match approval.status {
        Status::Pending => Ok(Some(freeze_on(run, &approval, false))),
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
            Ok(Some(refused(run, &proposed, text)))
        }
        Status::Expired | Status::Overtaken => {
            let text = match &approval.decided_by {
                Some(by) => format!(
                    "❌ ERROR: {by} approved this call, but it cannot be made any more as it was shown. Make it again to have a person \
                     look at it anew."
                ),
                None => "❌ ERROR: Nobody decided about this call in time.".to_owned(),
            };
            Ok(Some(refused(run, &proposed, text)))
        }
    }
}

fn freeze(run: &mut Run<'_>, approval: &str) -> Result<Transition> {
    let approvals = run.runtime.approvals.as_ref().ok_or(RunError::NobodyToAsk)?;
    let approval = approvals.show(approval)?;
    let is_decided = approval.status != Status::Pending && approval.used_by.is_none();
    Ok(freeze_on(run, &approval, is_decided))
}

fn freeze_on(run: &mut Run<'_>, approval: &Approval, is_decided: bool) -> Transition {
    if !is_decided {
        run.tell(&RunEvent::Frozen(approval));
    }
    becomes::waits(&mut run.state, seen(approval), is_decided)
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
            Status::Expired | Status::Overtaken => ApprovalStatus::Expired,
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
fn refused(run: &mut Run<'_>, proposed: &Proposed, output: String) -> Transition {
    over(run, becomes::refusal(proposed, output))
}

/// A call that is over.
fn over(run: &mut Run<'_>, result: ToolResult) -> Transition {
    run.tell(&RunEvent::Tool(&result));
    becomes::answered(&mut run.state, result)
}

pub(crate) fn tools(run: &mut Run<'_>) -> Result<Transition> {
    let proposed = proposed_call(&run.state)?;
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
            Recovered::Blocked => return becomes::cut_off(&mut run.state),
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
    // Whether one that has no effect had begun decides nothing: cut off, it is made again.
    if !run.runtime.toolbox.is_idempotent(&proposed.call.name) {
        run.tell(&RunEvent::Boundary("before the start"));
        run.runtime.record.begin_effect(run.fence, &run.state.thread_id, id)?;
        run.tell(&RunEvent::Boundary("after the start"));
    }
    let ran = Tools.run(Passed {
        call: &proposed.call,
        toolbox: &run.runtime.toolbox,
        control: &control,
        evict_above: run.runtime.settings.evict_above,
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

/// Has a node ask the model; who was stopped meanwhile has no answer.
fn asked<T>(run: &Run<'_>, ask: impl FnOnce() -> std::result::Result<T, NodeError>) -> Result<T> {
    let said = ask();
    // Without an answer because it was stopped: what counts is who has the thread now.
    if matches!(said, Err(NodeError::Model(ModelError::Cancelled))) {
        still_ours(run)?;
    }
    Ok(said?)
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

pub(crate) fn interpreter(run: &mut Run<'_>) -> Result<Transition> {
    becomes::interpreted(&mut run.state)
}

pub(crate) fn finalizer(run: &mut Run<'_>) -> Result<Transition> {
    becomes::ended(&mut run.state)
}
