//! Is a stored secret in a file that an agent can read?
//!
//! A bounded look through the readable Workspaces, as their agents see them: what is hidden is not read, and nothing is
//! changed. Where there are no secrets nothing is looked at.

use std::ops::ControlFlow;

use paddock_core::{AgentName, AgentPolicy, Kind, LogicalPath, NoAudit, RelPath, RelPathBuf, View, Walk, Workspace};
use paddock_state::{Redactor, SecretName};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Project;

/// The most files that are looked at, of all agents together.
const MOST_FILES: usize = 20_000;
/// How many bytes together.
const MOST_BYTES: u64 = 256 << 20;
/// How many bytes of one file.
const MOST_OF_ONE: u64 = 1 << 20;
/// A file that holds a secret.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Found {
    /// The agent that can read it.
    pub agent: String,
    /// The file.
    pub path: String,
    /// The name of the secret.
    pub secret: String,
}

/// What was found of stored secrets in files, and how far was looked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SecretsInFiles {
    /// The files that hold one.
    pub found: Vec<Found>,
    /// How many files were looked at.
    pub files: usize,
    /// How many bytes of them.
    pub bytes: u64,
    /// Was everything looked at?
    pub complete: bool,
    /// Why nothing could be looked for.
    pub closed: Option<String>,
}

/// What was found so far.
#[derive(Default)]
struct Exposed {
    found: Vec<Held>,
    files: usize,
    bytes: u64,
    /// Was something left out?
    cut: bool,
    /// Why nothing could be looked for.
    closed: Option<String>,
}

struct Held {
    agent: AgentName,
    path: LogicalPath,
    secret: SecretName,
}

/// Looks through what these agents can read; nothing where there are no secrets.
pub(super) fn look(project: &Project, agents: &[AgentPolicy]) -> Option<SecretsInFiles> {
    let secrets = &project.secrets;
    if let Err(error) = secrets.unlock() {
        let closed = Exposed { closed: Some(error.to_string()), ..Exposed::default() };
        return Some(closed.shown(&secrets.redactor()));
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
    Some(exposed.shown(&redactor))
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
                self.found.push(Held { agent: policy.agent.clone(), path, secret });
            }
        }
    }

    fn shown(self, redactor: &Redactor) -> SecretsInFiles {
        let shown = |held: &Held| Found {
            agent: held.agent.to_string(),
            path: redactor.text(held.path.as_str()).into_owned(),
            secret: held.secret.to_string(),
        };
        SecretsInFiles {
            found: self.found.iter().map(shown).collect(),
            files: self.files,
            bytes: self.bytes,
            complete: !self.cut && self.closed.is_none(),
            closed: self.closed,
        }
    }
}
