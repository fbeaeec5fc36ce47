//! `paddock threads`: the runs there are, what each did, and another beginning from one of its steps.

use paddock_desk::threads::{self, CheckpointShown, ForkAsked, StepShown, ThreadShown};
use paddock_desk::unified::harmless;
use paddock_desk::{Desk, Project, moment};
use serde_json::{Value, json};

use crate::cli::{Global, Threads};
use crate::failure::Ended;
use crate::printer::Printer;

/// The most that is shown of what a node did.
const MOST_SAID: usize = 100;

pub(crate) fn run(global: &Global, options: &Threads, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let desk = Desk::look(project.clone())?;
    match options {
        Threads::List { json } => list(&desk, *json, printer),
        Threads::Show { thread, json } => show(&desk, thread, *json, printer),
        Threads::Fork { thread, at, name, json } => {
            let (_, thread) = threads::find(&desk, thread)?;
            let asked = ForkAsked { at: *at, name: name.clone() };
            let forked = threads::fork(&Desk::work(project)?, &thread, &asked)?;
            if *json {
                printer.json(&json!(forked))?;
            } else {
                printer.line(&forked.thread_id)?;
            }
            Ok(Ended::Done)
        }
        Threads::Cancel { thread, json } => {
            let (_, thread) = threads::find(&desk, thread)?;
            let cancelled = threads::cancel(&Desk::work(project)?, &thread)?;
            if *json {
                printer.json(&json!(cancelled))?;
            } else {
                printer.line(format_args!("Cancelled {thread}. What it did stays; `paddock log` shows it."))?;
            }
            Ok(Ended::Done)
        }
        Threads::Replay { thread, json } => replay(&desk, thread, *json, printer),
    }
}

fn list(desk: &Desk, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let found = threads::list(desk, None, None)?;
    if json {
        printer.json(&json!(found))?;
        return Ok(Ended::Done);
    }
    if found.is_empty() {
        printer.line("No run yet. Begin with: paddock run \"…\"")?;
    }
    for thread in &found {
        let first = thread.prompt.lines().next().unwrap_or_default();
        let when = moment::reshown(&thread.updated_at);
        printer.line(format_args!("{:<24} {:<9} {when}  {}", thread.thread_id, thread.status, harmless(first)))?;
    }
    Ok(Ended::Done)
}

fn show(desk: &Desk, thread: &str, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let shown = threads::show(desk, thread, None)?;
    if json {
        printer.json(&json!(shown))?;
        return Ok(Ended::Done);
    }
    describe(&shown.thread, printer)?;
    if let Some(used) = &shown.used {
        printer.line(format_args!("used     {}, in its last turn", used.words()))?;
    }
    for step in &shown.steps {
        printer.line(format_args!("  {} {}", mark(step), harmless(&step.description)))?;
    }
    for checkpoint in &shown.checkpoints {
        let what = what(checkpoint);
        let what = harmless(&what[..what.floor_char_boundary(MOST_SAID)]);
        printer.line(format_args!("{:>5}  {:<12} {what}", checkpoint.n, checkpoint.node))?;
    }
    Ok(Ended::Done)
}

/// What a node did: the calls that the model asked for, or else what went into the conversation; of an answer, whose it is. A call that
/// is not over has no answer yet, and the state still has that of the one before.
fn what(checkpoint: &CheckpointShown) -> String {
    let calls = asked_for(&checkpoint.answer["tool_calls"]);
    let said = checkpoint.said.as_deref().unwrap_or_default();
    match checkpoint.tool["tool_name"].as_str() {
        _ if !calls.is_empty() => calls.join(", "),
        Some(tool) if checkpoint.node == "tools" && !said.is_empty() => format!("{tool}: {said}"),
        _ => said.to_owned(),
    }
}

/// Tools that a model asked for, each with its arguments.
pub(super) fn asked_for(calls: &Value) -> Vec<String> {
    let one = |call: &Value| format!("{} {}", call["name"].as_str().unwrap_or("a tool"), call["arguments"]);
    calls.as_array().into_iter().flatten().map(one).collect()
}

fn describe(about: &ThreadShown, printer: &Printer) -> anyhow::Result<()> {
    printer.line(format_args!("thread   {}", about.thread_id))?;
    printer.line(format_args!("task     {}", harmless(about.prompt.lines().next().unwrap_or_default())))?;
    printer.line(format_args!("status   {}", about.status))?;
    if about.status == "stopped" {
        printer.line(format_args!("         nobody works on it; `paddock resume {}` goes on", about.thread_id))?;
    }
    if let Some(told) = &about.told {
        printer.line(format_args!("         {}", harmless(told.lines().next().unwrap_or_default())))?;
    }
    printer.line(format_args!("model    {}", harmless(&about.model)))?;
    if let Some(parent) = &about.parent {
        printer.line(format_args!("forked   from {} at {}", parent.thread_id, parent.at))?;
    }
    Ok(())
}

fn mark(step: &StepShown) -> char {
    match step.status.as_str() {
        "pending" => '☐',
        "running" => '▶',
        "done" => '☑',
        "failed" => '✗',
        _ => '?',
    }
}

fn replay(desk: &Desk, thread: &str, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let replayed = threads::replay(desk, thread)?;
    if json {
        printer.json(&json!(replayed))?;
    } else {
        let why = replayed.why.as_deref().map(|why| format!(" ({})", harmless(why))).unwrap_or_default();
        match replayed.differs_at {
            None => printer.line(format_args!("{} checkpoints, each comes to the same again", replayed.checkpoints))?,
            Some(n) => printer.line(format_args!("checkpoint {n} does not come to the same again{why}"))?,
        }
    }
    Ok(if replayed.differs_at.is_none() { Ended::Done } else { Ended::Denied })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_without_an_answer_is_not_told_with_that_of_the_one_before() {
        let mut checkpoint = CheckpointShown {
            n: 9,
            node: "tools".to_owned(),
            next: "tools".to_owned(),
            turn: "t1".to_owned(),
            seq: 7,
            step: None,
            tool: json!({ "tool_name": "read_file" }),
            answer: Value::Null,
            said: None,
        };
        assert_eq!(what(&checkpoint), "");
        checkpoint.said = Some("12 lines".to_owned());
        assert_eq!(what(&checkpoint), "read_file: 12 lines");
    }
}
