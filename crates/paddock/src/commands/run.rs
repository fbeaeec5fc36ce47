//! `paddock run` and `paddock resume`: an agent works, and the person at the terminal is asked when it matters.

mod telling;

use std::io::{self, BufRead as _, IsTerminal as _};

use paddock_agent::{Ended as RunEnded, RunError, RunOptions, Runtime};
use paddock_core::{AgentName, visible};
use paddock_state::InstanceKey;
use serde_json::json;

use crate::cli::{Global, How, Resume, Run};
use crate::failure::{Ended, Failure};
use crate::printer::{Printer, tell};
use crate::{rows, secrets};
use paddock_desk::approvals::{self, ApprovalShown, DecisionAsked, DecisionWord};
use paddock_desk::running::{self, Chosen};
use paddock_desk::threads;
use paddock_desk::unified::harmless;
use paddock_desk::{Desk, Project};
use telling::Telling;

pub(crate) fn run(global: &Global, options: &Run, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let file = project.config_file()?;
    let chosen = running::choose(&file, &project.secrets, options.model.as_deref())?;
    let settings = running::settings(&file);
    let thread = threads::new_name(options.thread.as_deref())?;
    let agent = global.agent();
    let telling = Telling::new(options.how.quiet);
    let desk = Desk::work(project)?;
    let runtime = running::runtime(&desk, &agent, &chosen, settings, telling.watcher())?;
    let options_of_run = RunOptions {
        thread: thread.clone(),
        agent: agent.as_str().to_owned(),
        user: threads::user(),
        mode: options.mode.into(),
        level: options.level.into(),
        tools: options.tools.clone(),
    };
    let provided: Vec<&str> = runtime.toolbox.tools().iter().map(|tool| tool.name).collect();
    let unknown = options.tools.iter().flatten().find(|name| !provided.contains(&name.as_str()));
    if let Some(name) = unknown {
        let message = format!("the agent has no tool \"{}\"", visible(name));
        return Err(Failure::misused(message, format!("it has {}", provided.join(", "))));
    }
    if !options.how.quiet {
        tell(format!("thread {thread}"));
    }
    let first = telling.during(|| runtime.start(&options.task, &options_of_run));
    let outcome = until_over(&runtime, &desk, &thread, first, &options.how, &telling)?;
    report(&runtime, &thread, &outcome, &options.how, printer)
}

pub(crate) fn resume(global: &Global, options: &Resume, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let (about, chosen) = begun(&project, options)?;
    let thread = threads::key(&about.thread_id)?;
    let file = project.config_file()?;
    let agent = AgentName::parse(&about.agent).unwrap_or_else(|_| AgentName::main());
    let settings = running::settings(&file);
    let telling = Telling::new(options.how.quiet);
    let desk = Desk::work(project)?;
    let runtime = running::runtime(&desk, &agent, &chosen, settings, telling.watcher())?;
    if let Some(script) = &chosen.script {
        script.skip(&runtime.record.askers(thread.as_str()).map_err(|error| Failure::failed(&error, error.hint()))?);
    }
    let first = telling.during(|| runtime.resume(&thread, &threads::user(), options.it_was.map(Into::into)));
    let outcome = until_over(&runtime, &desk, &thread, first, &options.how, &telling)?;
    report(&runtime, &thread, &outcome, &options.how, printer)
}

/// What is known of a thread, and the model that it goes on with.
fn begun(project: &Project, options: &Resume) -> anyhow::Result<(paddock_agent::record::Thread, Chosen)> {
    let (record, id) = threads::find(&Desk::look(project.clone())?, &options.thread)?;
    let about = record.thread(&id).map_err(|error| Failure::failed(&error, error.hint()))?;
    let model = options.model.clone().unwrap_or_else(|| about.model.clone());
    Ok((about, running::choose(&project.config_file()?, &project.secrets, Some(&model))?))
}

/// Asks where something waits, and goes on, until the run is over or nobody is there to ask.
fn until_over(
    runtime: &Runtime,
    desk: &Desk,
    thread: &InstanceKey,
    mut outcome: Result<RunEnded, RunError>,
    how: &How,
    telling: &Telling,
) -> anyhow::Result<RunEnded> {
    let asks_here = !how.no_wait && !how.json && io::stdin().is_terminal() && io::stderr().is_terminal();
    while let Ok(RunEnded::Frozen(id)) = &outcome
        && asks_here
        && decide_here(desk, id)?
    {
        outcome = telling.during(|| runtime.resume(thread, &threads::user(), None));
    }
    outcome.map_err(|error| Failure::failed(&error, error.hint()))
}

/// Shows what waits and takes the person's word. False when they would rather decide later.
fn decide_here(desk: &Desk, id: &str) -> anyhow::Result<bool> {
    let approval = approvals::show(desk, id)?;
    show(&approval);
    let word = loop {
        tell(
            "Approve once (y), reject (n), or decide later (Enter)? `paddock approvals` can also edit it and reach further.",
        );
        let (read, word) = line()?;
        if read == 0 || matches!(word.to_lowercase().as_str(), "" | "y" | "yes" | "n" | "no") {
            break word.to_lowercase();
        }
    };
    let (decision, reason) = match word.as_str() {
        "y" | "yes" => (DecisionWord::Approve, None),
        "n" | "no" => {
            tell("Why? (the agent is told; Enter for no reason)");
            (DecisionWord::Reject, Some(line()?.1))
        }
        _ => return Ok(false),
    };
    let asked = DecisionAsked { decision, reach: None, arguments: None, reason, shown: approval.shown };
    match approvals::decide(desk, id, &asked) {
        Ok(_) => Ok(true),
        Err(failure) if approvals::show(desk, id)?.status == "pending" => Err(failure.into()),
        // It was decided meanwhile, or what was agreed to cannot be made any more: the agent is told, and goes on.
        Err(failure) => {
            tell(failure.message());
            Ok(true)
        }
    }
}

fn show(approval: &ApprovalShown) {
    let ApprovalShown { id, agent, tool, path, risk, .. } = approval;
    let columns = rows::columns(io::stderr());
    // Before it is folded: a value in two rows would not be found any more.
    let told = |text: &str| secrets::redacted(text).into_owned();
    let tell_folded = |line: &str| tell(rows::folded(&harmless(line), columns).join("\n"));
    tell("");
    tell_folded(&told(&format!("{agent} wants {tool} {path} (risk {risk})")));
    tell_folded(&told(&format!("arguments {}", approval.arguments)));
    if let Some(rule) = &approval.rule {
        tell_folded(&told(&format!("rule      {rule}")));
    }
    told(&approval.preview).lines().for_each(tell_folded);
    let not_whole = if approval.whole { "" } else { " (not all of it can be shown)" };
    tell(format!("{id}: {}{not_whole}", approval.summary));
}

/// What the person types, and how many bytes that were: none at the end of the input.
fn line() -> io::Result<(usize, String)> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read, line.trim().to_owned()))
}

fn report(
    runtime: &Runtime,
    thread: &InstanceKey,
    ended: &RunEnded,
    how: &How,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let (status, told, code) = match ended {
        RunEnded::Done(text) => ("done", text.clone(), Ended::Done),
        RunEnded::Asking(text) => ("asking", text.clone(), Ended::Denied),
        RunEnded::Frozen(id) => ("frozen", id.clone(), Ended::Waiting),
        RunEnded::Blocked(text) => ("blocked", text.clone(), Ended::Waiting),
        RunEnded::Cancelled => ("cancelled", String::new(), Ended::Denied),
    };
    if how.json {
        let mut value = json!({ "thread_id": thread.as_str(), "status": status });
        let field = match ended {
            RunEnded::Done(_) => "answer",
            RunEnded::Asking(_) => "question",
            RunEnded::Frozen(_) => "approval",
            RunEnded::Blocked(_) | RunEnded::Cancelled => "told",
        };
        value[field] = told.into();
        value["used"] = json!(threads::used(&runtime.record, thread.as_str())?);
        printer.json(&value)?;
        return Ok(code);
    }
    let lines = |text: &str| text.lines().map(harmless).collect::<Vec<_>>().join("\n");
    match ended {
        RunEnded::Done(_) => printer.text(&lines(&told))?,
        RunEnded::Asking(_) => {
            printer.text(&lines(&told))?;
            tell(format!("hint: answer with `paddock run --thread {thread} \"…\"`"));
        }
        RunEnded::Frozen(id) => tell(format!(
            "The run waits for a decision ({id}).\nhint: `paddock approvals show {id}`, `paddock approvals approve {id}`, then `paddock resume {thread}`"
        )),
        RunEnded::Blocked(_) => tell(told),
        RunEnded::Cancelled => tell("The run was cancelled."),
    }
    Ok(code)
}
