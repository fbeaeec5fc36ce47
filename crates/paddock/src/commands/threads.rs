//! `paddock threads`: the runs there are, what each did, and another beginning from one of its steps.

use paddock_agent::record::{Checkpoint, Record, RecordError, Thread};
use paddock_agent::state::{StepState, StepStatus};
use paddock_core::CallId;
use paddock_ledger::approvals::{ApprovalError, ApprovalQuery, Decision};
use serde_json::{Value, json};

use super::run::{key, user};
use crate::cli::{Global, Threads};
use crate::failure::{Ended, Failure};
use crate::printer::Printer;
use paddock_desk::Project;
use paddock_desk::unified::harmless;
use paddock_desk::{moment, running};

pub(crate) fn run(global: &Global, options: &Threads, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    match options {
        Threads::List { json } => list(&looked_at(&project)?, *json, printer),
        Threads::Show { thread, json } => show(&looked_at(&project)?, thread, *json, printer),
        Threads::Fork { thread, at, name } => fork(global, &project, thread, *at, name.as_deref(), printer),
        Threads::Cancel { thread } => cancel(&project, thread, printer),
        Threads::Replay { thread, json } => replay(&looked_at(&project)?, thread, *json, printer),
    }
}

/// The record, as far as anything was ever run here. Looking makes nothing on disk.
fn looked_at(project: &Project) -> anyhow::Result<Option<Record>> {
    let installation = project.installation()?;
    let recorded = project.has_ledger(&installation)?;
    Ok(running::record(&installation).filter(|_| recorded))
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn told(error: RecordError) -> anyhow::Error {
    Failure::failed(&error, error.hint())
}

fn of(record: Option<&Record>, thread: &str) -> anyhow::Result<Record> {
    record.cloned().ok_or_else(|| told(RecordError::NoThread(thread.to_owned())))
}

fn list(record: &Option<Record>, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let threads = record.as_ref().map_or(Ok(Vec::new()), Record::threads).map_err(told)?;
    if json {
        printer.json(&Value::Array(threads.iter().map(|thread| json!(thread)).collect()))?;
        return Ok(Ended::Done);
    }
    if threads.is_empty() {
        printer.line("No run yet. Begin with: paddock run \"…\"")?;
    }
    for thread in &threads {
        let first = thread.prompt.lines().next().unwrap_or_default();
        let when = moment::shown(moment::of_millis(thread.updated_at));
        printer.line(format_args!(
            "{:<24} {:<9} {when}  {}",
            thread.thread_id,
            thread.status.name(),
            harmless(first)
        ))?;
    }
    Ok(Ended::Done)
}

fn show(record: &Option<Record>, thread: &str, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let record = of(record.as_ref(), thread)?;
    let about = record.thread(thread).map_err(told)?;
    let last = record.checkpoint(thread, None).map_err(told)?;
    if json {
        let mut checkpoints = Vec::new();
        record.each_checkpoint(thread, &mut |checkpoint| checkpoints.push(as_json(&checkpoint))).map_err(told)?;
        let mut state = last.as_ref().map(|last| json!(last.state));
        // What proves a decision is for the run alone.
        if let Some(token) = state.as_mut().and_then(|state| state.pointer_mut("/approval_state/token")) {
            *token = Value::Null;
        }
        printer.json(&json!({ "thread": about, "state": state, "checkpoints": checkpoints }))?;
        return Ok(Ended::Done);
    }
    describe(&about, printer)?;
    for step in last.iter().flat_map(|last| last.state.step_history.values()) {
        printer.line(format_args!("  {} {}", mark(step), harmless(&step.description)))?;
    }
    let mut failed = Ok(());
    record
        .each_checkpoint(thread, &mut |checkpoint| {
            let said = checkpoint.outbox.first().map(|message| message.content().to_string()).unwrap_or_default();
            let said = harmless(&said[..said.floor_char_boundary(100)]);
            let line = printer.line(format_args!("{:>5}  {:<12} {said}", checkpoint.n, checkpoint.node.name()));
            if failed.is_ok() {
                failed = line;
            }
        })
        .map_err(told)?;
    failed.map(|()| Ended::Done)
}

fn describe(about: &Thread, printer: &Printer) -> anyhow::Result<()> {
    printer.line(format_args!("thread   {}", about.thread_id))?;
    printer.line(format_args!("task     {}", harmless(about.prompt.lines().next().unwrap_or_default())))?;
    printer.line(format_args!("status   {}", about.status.name()))?;
    if let Some(told) = &about.told {
        printer.line(format_args!("         {}", harmless(told.lines().next().unwrap_or_default())))?;
    }
    printer.line(format_args!("model    {}", harmless(&about.model)))?;
    if let Some((parent, n)) = &about.parent {
        printer.line(format_args!("forked   from {parent} at {n}"))?;
    }
    Ok(())
}

fn mark(step: &StepState) -> char {
    match step.status {
        StepStatus::Pending => '☐',
        StepStatus::Running => '▶',
        StepStatus::Done => '☑',
        StepStatus::Failed => '✗',
        StepStatus::Blocked => '?',
    }
}

fn as_json(checkpoint: &Checkpoint) -> Value {
    json!({
        "n": checkpoint.n,
        "node": checkpoint.node,
        "next": checkpoint.next,
        "turn": checkpoint.turn.as_str(),
        "seq": checkpoint.seq,
        "step": checkpoint.state.current_step_id,
        "tool": checkpoint.state.last_tool_result,
        "answer": checkpoint.answer.as_ref().map(|(_, answer)| answer),
    })
}

fn fork(
    global: &Global,
    project: &Project,
    thread: &str,
    at: u64,
    name: Option<&str>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let from = key(thread)?;
    let to = match name {
        Some(name) => key(name)?,
        None => key(&format!("run-{}", &CallId::next().to_string()[..18]))?,
    };
    let (silent, settings) = (running::Chosen::nobody(), paddock_agent::RunSettings::default());
    let (runtime, _) = running::runtime(project, global.agent(), &silent, settings, std::sync::Arc::new(|_| {}))?;
    runtime.fork(&from, at, &to, &user()).map_err(|error| Failure::failed(&error, error.hint()))?;
    printer.line(&to)?;
    Ok(Ended::Done)
}

fn cancel(project: &Project, thread: &str, printer: &Printer) -> anyhow::Result<Ended> {
    let record = of(looked_at(project)?.as_ref(), thread)?;
    record.cancel(thread).map_err(told)?;
    withdraw(project, thread)?;
    printer.line(format_args!("Cancelled {thread}. What it did stays; `paddock log` shows it."))?;
    Ok(Ended::Done)
}

/// What the run asked for is no longer wanted.
fn withdraw(project: &Project, thread: &str) -> anyhow::Result<()> {
    let installation = project.installation()?;
    let Some(approvals) = installation.approvals() else { return Ok(()) };
    let failed = |error: ApprovalError| Failure::failed(&error, error.hint());
    let query = ApprovalQuery { thread: Some(thread.to_owned()), ..ApprovalQuery::default() };
    for waiting in approvals.list(&query).map_err(failed)? {
        let reject = Decision::Reject("the run was cancelled".to_owned());
        approvals.decide(&waiting.id, None, &user(), &reject).map_err(failed)?;
    }
    Ok(())
}

fn replay(record: &Option<Record>, thread: &str, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let record = of(record.as_ref(), thread)?;
    let replayed = paddock_agent::replay(&record, thread).map_err(|error| Failure::failed(&error, error.hint()))?;
    if json {
        printer.json(
            &json!({ "thread_id": thread, "checkpoints": replayed.checkpoints, "differs_at": replayed.differs_at }),
        )?;
    } else {
        match replayed.differs_at {
            None => printer.line(format_args!("{} checkpoints, each comes to the same again", replayed.checkpoints))?,
            Some(n) => printer.line(format_args!("checkpoint {n} does not come to the same again"))?,
        }
    }
    Ok(if replayed.differs_at.is_none() { Ended::Done } else { Ended::Denied })
}
