//! The runner: an agent's Workspaces shown to a command, and what the command changed told as alterations.
//!
//! It knows the policy only as a `Vfs` tells it: which Workspaces there are, with which Access Scope, and which names are
//! hidden or guarded. The kernel holds the command to that. In the default way nothing takes effect while it runs: what
//! it changed lies in layers of its own, is read when it ends, and is proposed. Whoever asked for the run judges and makes it; this
//! module must never change a Workspace itself.

mod hidden;
mod input;
mod proposal;
mod scene;
mod served;
mod stage;
mod watch;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use paddock_core::{
    Audit, Call, CallId, CommandLine, CommandRunner, CommandSpec, CutOff, NotRun, Output, OutputSink, Proposed, Ran,
};

use crate::courtesy;
use crate::error::{Error, ErrorKind};
use crate::features;
use crate::proxy::Proxy;
use crate::sandbox::{self, Command, Ended, Limit, Sandbox};
use hidden::Names;
use input::Relay;
use scene::Scene;
use stage::{Stage, Stages};
use watch::Watch;

/// Bytes of output at which a command is ended, whatever is shown of it.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;

/// The limit on everything that a command changes together.
const STAGED: &str = "staged";

/// Runs commands in the kernel sandbox.
pub struct Runner {
    stages: Stages,
    names: Names,
    audit: Arc<dyn Audit>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("stages", &self.stages).finish_non_exhaustive()
    }
}

impl Runner {
    /// Keeps what commands change in this directory, which is made when it is first needed. No Workspace may reach it.
    /// Whom a command reaches is told to the audit.
    pub fn new(staged: PathBuf, audit: Arc<dyn Audit>) -> Self {
        open_as_many_as_allowed();
        Self { stages: Stages::new(staged), names: Names::default(), audit }
    }

    fn try_to_run(&self, call: &Call<'_>, spec: &CommandSpec<'_>, out: OutputSink<'_>) -> Result<Ran, Error> {
        let stage = Arc::new(self.stages.make(call.id)?);
        let mut scene = Scene::of(call, spec, &stage, &self.names)?;
        let proxy = self.proxy(call, spec);
        let mut command = command(spec, proxy.as_ref());
        let relay = spec.input.map(Relay::from).transpose()?.map(|(relay, read)| {
            command.input = Some(read);
            relay
        });
        let sandbox = Sandbox::new(std::mem::take(&mut scene.shown), command);
        let stopped = std::cell::Cell::new(false);
        let watch = Watch::new(stage.path().to_owned(), spec.settings.limits.staged);
        let filled = std::cell::Cell::new(false);
        let stop = || {
            filled.set(watch.is_over());
            filled.get() || stopped.get() || call.tick(0).is_err()
        };
        let ended = crate::run(sandbox, &stop, &mut |piece| {
            let piece = match piece {
                sandbox::Output::Out(bytes) => Output::Out(bytes),
                sandbox::Output::Err(bytes) => Output::Err(bytes),
            };
            if let ControlFlow::Break(()) = out(piece) {
                stopped.set(true);
            }
        })?;
        drop(relay);
        let ended_by = if ended.stopped && filled.get() { Some(STAGED) } else { ended_by(&ended) };
        let mut notes = scene.notes.clone();
        let others = ended.reached.iter().map(|limit| limit.name()).filter(|name| ended_by != Some(*name));
        notes.extend(others.map(|name| format!("It ran into the limit of {name}.")));
        notes.extend(ended.appeared.iter().map(|path| {
            format!("\"{}\" is guarded and was made by the command; a person should look at it.", path.display())
        }));
        notes.extend(proxy.iter().flat_map(Proxy::notes));
        drop(proxy);
        // What was cut off half-way is nobody's intention.
        let proposed = match ended_by {
            Some(_) => Proposed::default(),
            None => proposal::of(call, &scene, stage, &mut notes).unwrap_or_else(|error| unreadable(&error)),
        };
        let proposed = bounded(proposed, spec.settings.limits.staged);
        if ended_by.is_some() && !spec.settings.direct {
            notes.push("What it had changed by then was dropped.".to_owned());
        }
        Ok(Ran { exit: ended.exit.code(), ended_by, took: ended.took, proposed, notes })
    }

    /// The only way out of the sandbox, where there is one.
    fn proxy(&self, call: &Call<'_>, spec: &CommandSpec<'_>) -> Option<Proxy> {
        let hosts = &spec.settings.network;
        (!hosts.is_empty()).then(|| Proxy::new(hosts.clone(), Arc::clone(&self.audit), call))
    }
}

/// What a command was too quick for to be stopped at is dropped when it is known.
fn bounded(proposed: Proposed, most: u64) -> Proposed {
    let bytes: u64 = proposed.alterations.iter().map(|made| made.how.bytes() as u64).sum();
    if bytes <= most {
        return proposed;
    }
    let why = format!("what it changed holds {bytes} bytes together, and {STAGED}_limit allows {most}.");
    Proposed { obstacles: vec![why], ..Proposed::default() }
}

/// The command ran, and what it changed cannot be made: too much of it, or too deep.
fn unreadable(error: &Error) -> Proposed {
    tracing::warn!(%error, "what a command changed cannot be read");
    let why = match error {
        Error::Layer { why, .. } => format!("what it changed cannot be read: {why}."),
        _ => "what it changed cannot be read; Paddock's log says why.".to_owned(),
    };
    Proposed { obstacles: vec![why], ..Proposed::default() }
}

/// Every changed file is open until it is taken, and there may be very many.
fn open_as_many_as_allowed() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let allowed = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: allowed.maximum, maximum: allowed.maximum });
}

/// What ended a run before it was done. A shell shows a signal that ended its last program as its own code.
fn ended_by(ended: &Ended) -> Option<&'static str> {
    const CPU: i32 = 128 + libc::SIGXCPU;
    const FILE_SIZE: i32 = 128 + libc::SIGXFSZ;
    let by_signal = match ended.exit.code() {
        CPU => Some(Limit::Cpu.name()),
        FILE_SIZE => Some(Limit::FileSize.name()),
        _ => None,
    };
    ended.limit.map(Limit::name).or(ended.stopped.then_some("stopped")).or(by_signal)
}

fn command(spec: &CommandSpec<'_>, proxy: Option<&Proxy>) -> Command {
    let directory = spec.directory.as_str();
    let mut command = match spec.command {
        CommandLine::Shell(text) => Command::shell(directory, text),
        CommandLine::Words(words) => Command::new(directory, words),
    };
    let limits = &spec.settings.limits;
    command.variables = spec.settings.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    if let Some(proxy) = proxy {
        proxy.lead(&mut command);
    }
    command.tools = spec.settings.tools.clone();
    command.limits = sandbox::Limits {
        wall: spec.time_limit,
        cpu: spec.cpu_limit,
        memory: limits.memory,
        processes: limits.processes,
        file_size: limits.file,
        tmp_size: limits.tmp,
        open_files: limits.open,
        output: MOST_OUTPUT.max(limits.output),
    };
    command
}

impl CommandRunner for Runner {
    fn denied_word(&self, command: CommandLine<'_>, deny: &[String]) -> Option<String> {
        match command {
            CommandLine::Shell(text) => courtesy::refused_in_text(text, deny),
            CommandLine::Words(words) => courtesy::refused_in_arguments(words, deny),
        }
    }

    fn run(&self, call: &Call<'_>, spec: &CommandSpec<'_>, out: OutputSink<'_>) -> Result<Ran, NotRun> {
        self.try_to_run(call, spec, out).map_err(|error| not_run(&error))
    }

    fn making(&self, call: CallId) -> Option<Box<dyn std::any::Any>> {
        self.stages.make(call).ok().map(|stage| Box::new(stage) as Box<dyn std::any::Any>)
    }

    fn cut_off(&self) -> Vec<Box<dyn CutOff>> {
        self.stages.left().into_iter().map(|left| Box::new(left) as Box<dyn CutOff>).collect()
    }
}

/// Why a command was not run, without a path of the host; that one goes to the log.
fn not_run(error: &Error) -> NotRun {
    tracing::warn!(%error, "a command was not run");
    let cannot =
        |why: &str, remedy: Option<&str>| NotRun::Cannot { why: why.to_owned(), remedy: remedy.map(str::to_owned) };
    match error {
        Error::Missing { missing, .. } => {
            cannot(&format!("this system lacks {missing}"), Some("`paddock doctor` shows what is missing"))
        }
        Error::Build { .. } if let Some(Error::Missing { missing, .. }) = features::missing() => {
            cannot(&format!("this system lacks {missing}"), Some("`paddock doctor` says how to get it"))
        }
        Error::Place { why, .. } => cannot(why, None),
        Error::Start { program, .. } => cannot(&format!("there is no program {program:?}"), None),
        other => match other.kind() {
            ErrorKind::Invalid => cannot("it cannot be given to a program", None),
            _ => cannot("its sandbox could not be made", Some("Paddock's log says why; `paddock doctor` may too")),
        },
    }
}

impl paddock_core::Stage for Stage {}
