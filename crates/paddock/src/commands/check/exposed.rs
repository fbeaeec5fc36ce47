//! Is a stored secret in a file that an agent can read?
//!
//! A bounded look through the readable Workspaces, as their agents see them: what is hidden is not read, and nothing is
//! changed. Where there are no secrets nothing is looked at.

use std::ops::ControlFlow;

use paddock_config::ConfigError;
use paddock_core::{
    AgentName, AgentPolicy, Kind, LogicalPath, NoAudit, RelPath, RelPathBuf, View, Walk, Workspace, visible,
};
use paddock_state::{Redactor, SecretName};
use paddock_tools::Person;
use serde_json::{Value, json};

use crate::printer::{Look, Printer};
use crate::secrets;
use paddock_desk::Project;
use paddock_desk::past::size;

/// The most files that are looked at, of all agents together.
const MOST_FILES: usize = 20_000;
/// How many bytes together.
const MOST_BYTES: u64 = 256 << 20;
/// How many bytes of one file.
const MOST_OF_ONE: u64 = 1 << 20;
/// The most findings that are shown.
const SHOWN: usize = 20;

/// What was found, and how far was looked.
#[derive(Default)]
pub(super) struct Exposed {
    found: Vec<Found>,
    files: usize,
    bytes: u64,
    /// Was something left out?
    cut: bool,
    /// Why nothing could be looked for.
    closed: Option<String>,
}

struct Found {
    agent: AgentName,
    path: LogicalPath,
    secret: SecretName,
}

/// Looks through what these agents can read; nothing where there are no secrets.
pub(super) fn look(project: &Project, agents: &[AgentPolicy]) -> Option<Exposed> {
    let secrets = secrets::of_this_process();
    if let Err(error) = secrets.unlock() {
        return Some(Exposed { closed: Some(error.to_string()), ..Exposed::default() });
    }
    let redactor = secrets.redactor();
    if redactor.is_empty() {
        return None;
    }
    let mut exposed = Exposed::default();
    for built in agents {
        // With what is really behind them; what is kept nowhere yet is empty.
        match project.looking_as(built.agent.clone()) {
            Ok((reloader, _installation)) => exposed.look_through(&reloader.current(), &redactor),
            Err(_) => exposed.look_through(built, &redactor),
        }
    }
    Some(exposed)
}

impl Exposed {
    fn look_through(&mut self, policy: &AgentPolicy, redactor: &Redactor) {
        let all = policy.vfs.workspaces();
        for workspace in all.iter().filter(|workspace| !workspace.is_aside()) {
            if let Some(view) = View::of(workspace, all) {
                self.look_into(policy, workspace, &view, redactor);
            }
        }
    }

    fn look_into(&mut self, policy: &AgentPolicy, workspace: &Workspace, view: &View, redactor: &Redactor) {
        let person = Person::on(policy, &NoAudit);
        let call = person.call();
        let mut files = Vec::new();
        let walked = view.walk(&call, RelPath::HERE, &Walk::default(), &mut |entry| {
            if self.files + files.len() >= MOST_FILES {
                self.cut = true;
                return ControlFlow::Break(());
            }
            if entry.kind == Kind::File && entry.plain {
                files.extend(RelPathBuf::parse(entry.path).ok());
            }
            ControlFlow::Continue(())
        });
        self.cut |= walked.is_err();
        for file in files {
            if self.bytes >= MOST_BYTES {
                self.cut = true;
                return;
            }
            let path = workspace.prefix().join(file.as_rel());
            let mut bytes = Vec::new();
            let read = view.read(&call, file.as_rel(), 0..MOST_OF_ONE, &mut bytes);
            self.cut |= read.map_or(true, |meta| meta.len > MOST_OF_ONE);
            self.files += 1;
            self.bytes += bytes.len() as u64;
            let holds = redactor.found_in(&bytes).or_else(|| redactor.found_in(path.as_str().as_bytes()));
            if let Some(secret) = holds {
                self.found.push(Found { agent: policy.agent.clone(), path, secret });
            }
        }
    }

    pub(super) fn report(&self, printer: &Printer) -> anyhow::Result<()> {
        let warning = || printer.look(Look::Warning, "⚠");
        if let Some(why) = &self.closed {
            return printer.line(format_args!("\n{} files were not looked through for secrets: {why}", warning()));
        }
        let redactor = secrets::of_this_process().redactor();
        let more = if self.cut { ", not all there is" } else { "" };
        let looked = format!("{} files, {}{more}", self.files, size(self.bytes));
        if self.found.is_empty() {
            return printer.line(format_args!("\nno stored secret is in what agents can read ({looked})"));
        }
        printer.line(format_args!("\nstored secrets in what agents can read ({looked}):"))?;
        for Found { agent, path, secret } in self.found.iter().take(SHOWN) {
            let path = visible(&redactor.text(path.as_str()));
            let agent = printer.look(Look::Faint, format_args!("(agent {agent})"));
            printer.line(format_args!("  {} {path} holds the secret \"{secret}\" {agent}", warning()))?;
        }
        match self.found.len().saturating_sub(SHOWN) {
            0 => {}
            more => printer.line(format_args!("  … and {more} more"))?,
        }
        printer.line("      → hide them with `hide`, or take the value out: agents get [secret NAME] by tools, and commands get the file")
    }

    pub(super) fn json(&self) -> Value {
        let redactor = secrets::of_this_process().redactor();
        let found = self.found.iter().map(|Found { agent, path, secret }| {
            json!({ "agent": agent.as_str(), "path": redactor.text(path.as_str()), "secret": secret })
        });
        json!({
            "found": found.collect::<Vec<_>>(), "files": self.files, "bytes": self.bytes,
            "complete": !self.cut && self.closed.is_none(), "closed": self.closed,
        })
    }
}

/// Secrets that the file names and that are not there.
pub(super) fn report_missing(missing: Option<&ConfigError>, printer: &Printer) -> anyhow::Result<()> {
    let Some(error) = missing else { return Ok(()) };
    printer.line("\nwithout these it cannot take effect:")?;
    for problem in error.problems() {
        let line = error.position(problem).map_or(0, |at| at.line);
        let place = printer.look(Look::Faint, format_args!("({}:{line})", error.file()));
        printer.line(format_args!("  {} {} {place}", printer.look(Look::Warning, "⚠"), problem.fault()))?;
        printer.line(format_args!("      → {}", problem.fault().hint()))?;
    }
    Ok(())
}
