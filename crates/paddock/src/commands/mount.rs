//! `paddock mount`: the agent's whole view as a file system, for a person to look at with any program.
//!
//! Read-only it is exactly what the agent sees. With `--write` every change is the person's own act, as in `undo` or
//! `apply`: judged as if each scope were READ_WRITE, recorded, undoable, and each close of a file one call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use paddock_core::{AgentPolicy, Audit, LogicalPath};
use paddock_fuse::{Author, FuseError, How, Served, Session};
use paddock_tools::Person;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Global, Mount};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};
use paddock_desk::Project;

/// How often it is looked whether somebody unmounted it.
const GLANCE: Duration = Duration::from_millis(100);

pub(crate) fn run(global: &Global, options: &Mount, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let mut audit: Option<Arc<dyn Audit>> = None;
    let (policy, served) = if options.write {
        let (reloader, installation) = project.working_as(global.agent())?;
        let policy = reloader.current();
        let recorded = installation.audit();
        let vfs = Arc::new(Person::vfs_of(&policy).by(&paddock_desk::person()));
        let served = Served::new(vfs, LogicalPath::top(), How::Writable, policy.agent.clone());
        audit = Some(Arc::clone(&recorded));
        (policy, served.for_author(Author::Person).recorded_by(recorded, "mount"))
    } else {
        let policy = project.policy_of(global.agent())?.current();
        let agent = policy.agent.clone();
        (Arc::clone(&policy), Served::new(policy, LogicalPath::top(), How::ReadOnly, agent))
    };
    let dir = place(&project, &policy, &options.dir)?;
    // Who interrupts it right away must not leave it mounted.
    let signals = Signals::catch()?;
    let session = served.mount(&dir).map_err(|error| problem(&error))?;
    tell(&policy, options, &dir, printer)?;
    serve(session, signals)?;
    match audit.map(|audit| audit.flush()) {
        Some(Err(error)) => Err(Failure::failed(&error, "run `paddock doctor`")),
        _ => Ok(Ended::Done),
    }
}

/// The directory to mount on. Where an agent can see it, it would see another's view, and its own within its own.
fn place(project: &Project, policy: &AgentPolicy, dir: &Path) -> anyhow::Result<PathBuf> {
    let Ok(real) = host::real(dir) else {
        // What is wrong with it is told by whoever mounts.
        return Ok(std::path::absolute(dir)?);
    };
    let host = project.host()?;
    let of_workspaces = policy.vfs.workspaces().iter().filter_map(|workspace| workspace.host_directory());
    let kept_free = of_workspaces.chain([host.project_root(), project.system_root.path()]);
    for place in kept_free {
        if host::real(place).is_ok_and(|place| real.starts_with(place)) {
            let message = format!("\"{}\" is in a place that agents or Paddock itself use", dir.display());
            return Err(Failure::misused(message, "name an empty directory outside of the project, as in /tmp"));
        }
    }
    Ok(real)
}

fn tell(policy: &AgentPolicy, options: &Mount, dir: &Path, printer: &Printer) -> anyhow::Result<()> {
    if options.json {
        let shown = policy.vfs.workspaces().iter().filter(|w| !w.is_aside());
        let prefixes: Vec<&str> = shown.map(|w| w.prefix().as_str()).collect();
        return printer.json(&json!({
            "agent": policy.agent.as_str(),
            "directory": dir.display().to_string(),
            "writable": options.write,
            "workspaces": prefixes,
        }));
    }
    let how = if options.write { "each change there is yours and recorded" } else { "read-only" };
    printer.line(format_args!("the view of agent {} is on {}, {how}", policy.agent, dir.display()))?;
    printer::tell(format_args!("Ctrl-C or `fusermount3 -u {}` ends it", dir.display()));
    Ok(())
}

/// The signals that end it, caught before anything is mounted.
struct Signals {
    runtime: tokio::runtime::Runtime,
    caught: Vec<tokio::signal::unix::Signal>,
}

impl Signals {
    fn catch() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let inside = runtime.enter();
        let caught = kinds.into_iter().map(signal).collect::<Result<_, _>>()?;
        drop(inside);
        Ok(Self { runtime, caught })
    }
}

/// Stays until somebody unmounts it or wants this to end.
fn serve(session: Session, mut signals: Signals) -> anyhow::Result<()> {
    let asked_to_end = signals.runtime.block_on(async {
        loop {
            let [interrupt, terminate, hang_up] = &mut signals.caught[..] else { return false };
            tokio::select! {
                _ = interrupt.recv() => return true,
                _ = terminate.recv() => return true,
                _ = hang_up.recv() => return true,
                () = tokio::time::sleep(GLANCE) => if session.is_over() { return false },
            }
        }
    });
    let ended = if asked_to_end { session.unmount() } else { session.wait() };
    ended.map_err(|error| problem(&error))
}

fn problem(error: &FuseError) -> anyhow::Error {
    Failure::failed(error, error.hint())
}
