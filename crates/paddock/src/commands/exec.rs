//! `paddock exec`: a command in the agent's sandbox, or a whole program.
//!
//! A person starts it, so it reads what they hand it and may take as long as they say. What it prints is shown as it comes, with
//! colours and without anything else that moves a terminal. Its exit code is passed through; 125 says that Paddock refused it or
//! could not start it.

use std::io::Write as _;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use paddock_core::{Cancel, Output};
use paddock_tools::{Answer, Control, Piece, PlainText, Verdict};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{Exec, Global};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::Printer;
use paddock_desk::Project;
use paddock_desk::unified::harmless;

/// The command has limits of its own, which may be longer than any other call takes.
const LONGEST: Duration = Duration::MAX;
/// What `exec` answers when Paddock refused the command, or could not start it.
const REFUSED: u8 = 125;
/// What it answers when somebody interrupted it.
const INTERRUPTED: u8 = 130;
/// What it answers when a limit ended a command that says nothing of it itself.
const ENDED: i64 = 124;

pub(crate) fn run(global: &Global, options: &Exec, printer: &Printer) -> anyhow::Result<Ended> {
    check(options)?;
    let toolbox = Project::find(&global.places())?.toolbox(global.agent())?;
    let mut control = Control::for_at_most(LONGEST).alone();
    control.time_limit = options.timeout.map(Duration::from_secs);
    control.input = host::own_input(options.interactive)?.map(Arc::new);
    if !options.json {
        control.listener = Some(Arc::new(show()));
        control.colours = true;
    }
    stop_when_asked(Arc::clone(&control.cancel))?;
    let answer = toolbox.call("execute_command", arguments(options), &control);
    let code = exit_code(&answer);
    if options.json {
        let (structured, output) = (answer.structured.clone(), text(&answer, 0).filter(|_| !is_silent(&answer)));
        let output = output.unwrap_or_default();
        printer.json(&json!({ "verdict": answer.verdict.name(), "output": output, "structured": structured }))?;
    } else {
        tell(&answer)?;
    }
    Ok(Ended::Code(code))
}

/// Who interrupts this ends the command, and what became of it is still recorded. A second time ends this at once, and the
/// kernel the command.
fn stop_when_asked(cancel: Arc<Cancel>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let inside = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals: Vec<Signal> = kinds.into_iter().map(signal).collect::<Result<_, _>>()?;
    drop(inside);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut asked = || {
            runtime.block_on(std::future::poll_fn(|context| {
                let came = |signal: &mut Signal| matches!(signal.poll_recv(context), Poll::Ready(Some(())));
                if signals.iter_mut().any(came) { Poll::Ready(()) } else { Poll::Pending }
            }));
        };
        asked();
        cancel.stop();
        asked();
        std::process::exit(i32::from(INTERRUPTED));
    })?;
    Ok(())
}

fn arguments(options: &Exec) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("command".into(), as_shell(&options.command).into());
    if let Some(workspace) = &options.workspace {
        arguments.insert("workspace".into(), workspace.clone().into());
    }
    arguments
}

/// One word is a text for the shell; several are a program and its arguments, which the shell must not read again.
fn as_shell(words: &[String]) -> String {
    match words {
        [text] => text.clone(),
        words => words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" "),
    }
}

/// Shows what is printed, as it comes.
fn show() -> impl Fn(Output<'_>) + Send + Sync {
    let streams = std::sync::Mutex::new((PlainText::with_colours(), PlainText::with_colours()));
    move |piece| {
        let mut streams = streams.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut shown = Vec::new();
        // Whoever reads no more is no reason to stop the command.
        let _ = match piece {
            Output::Out(bytes) => {
                streams.0.clean(bytes, &mut shown);
                std::io::stdout().write_all(&shown)
            }
            Output::Err(bytes) => {
                streams.1.clean(bytes, &mut shown);
                std::io::stderr().write_all(&shown)
            }
        };
        let _ = std::io::stdout().flush();
    }
}

/// What Paddock says about it, beside what the command printed.
fn tell(answer: &Answer) -> anyhow::Result<()> {
    let printed = answer.structured.contains_key("exit_code") && !is_silent(answer);
    for line in text(answer, usize::from(printed)).unwrap_or_default().split('\n') {
        writeln!(std::io::stderr(), "{}", harmless(line))?;
    }
    Ok(())
}

/// Did the command run and print nothing? Then its answer begins with what Paddock says.
fn is_silent(answer: &Answer) -> bool {
    answer.structured.get("output_bytes").and_then(Value::as_u64) == Some(0)
}

fn text(answer: &Answer, n: usize) -> Option<&str> {
    match answer.content.get(n)? {
        Piece::Text(text) => Some(text),
        Piece::Image { .. } => None,
    }
}

fn exit_code(answer: &Answer) -> u8 {
    let code = answer.structured.get("exit_code").and_then(Value::as_i64);
    // A command that a limit ended is not done, whatever its shell made of it.
    let code = code.map(|code| if code == 0 && answer.structured.contains_key("ended_by") { ENDED } else { code });
    let stopped = answer.structured.get("ended_by").is_some_and(|by| by == "stopped");
    match (&answer.verdict, code) {
        (Verdict::Parked(_), _) => 3,
        _ if stopped => INTERRUPTED,
        (Verdict::Done | Verdict::Failed, Some(code)) => u8::try_from(code & 0xff).unwrap_or(REFUSED),
        // Refused, not started, or what it changed was dropped.
        _ => REFUSED,
    }
}

/// Where there is nothing to run.
fn check(options: &Exec) -> anyhow::Result<()> {
    if options.command.iter().all(|word| word.trim().is_empty()) {
        return Err(Failure::misused("there is no command", "write it after --: paddock exec -- ls -la"));
    }
    Ok(())
}
