//! The way to the Vfs: every look and every change of the file system is one call of its agent.
//!
//! A change is planned, put before the Gate, run with its token and, where an audit is kept, recorded, exactly as a
//! tool's or a person's. Nothing here judges: what the Vfs refuses is refused.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{
    AgentName, AgentPolicy, Alter, Alteration, Audit, Browse, Call, CallId, CallRecord, Cancel, Decision, Effect,
    EffectKind, Entries, ErrorKind, Expect, LogicalPath, Meta, OpKind, Operation, Outcome, Passed, Refused, Request,
    Risk, Vfs, Workspace,
};

/// How long one call may take.
const LONGEST: Duration = Duration::from_secs(600);

/// Whose programs use the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A command of an agent: what it does is judged as what commands do.
    Command,
    /// A person: what they do is judged as a person's act.
    Person,
}

/// What is shown: a Vfs by itself, or the one of an agent's policy.
#[derive(Debug, Clone)]
pub enum Shown {
    /// A Vfs.
    Vfs(Arc<Vfs>),
    /// What an agent perceives.
    Policy(Arc<AgentPolicy>),
}

impl From<Arc<Vfs>> for Shown {
    fn from(vfs: Arc<Vfs>) -> Self {
        Self::Vfs(vfs)
    }
}

impl From<Arc<AgentPolicy>> for Shown {
    fn from(policy: Arc<AgentPolicy>) -> Self {
        Self::Policy(policy)
    }
}

/// Where calls are recorded, and as what.
pub(crate) struct Record {
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) command: String,
}

/// Makes calls of one agent through one Vfs.
pub(crate) struct Acting {
    pub(crate) shown: Shown,
    pub(crate) agent: AgentName,
    pub(crate) author: Author,
    pub(crate) record: Option<Record>,
    pub(crate) cancel: Cancel,
}

impl Acting {
    fn vfs(&self) -> &Vfs {
        match &self.shown {
            Shown::Vfs(vfs) => vfs,
            Shown::Policy(policy) => &policy.vfs,
        }
    }

    fn call(&self) -> Call<'_> {
        Call { id: CallId::next(), agent: &self.agent, cancel: &self.cancel, deadline: Instant::now() + LONGEST }
    }

    /// What is at a path.
    pub(crate) fn facts(&self, path: &LogicalPath) -> Result<Meta, Refused> {
        self.vfs().facts(&self.call(), path)
    }

    /// Where a link says that it leads.
    pub(crate) fn leads_to(&self, path: &LogicalPath) -> Result<String, Refused> {
        self.vfs().leads_to(&self.call(), path)
    }

    /// How many bytes a Workspace holds, where that is counted.
    pub(crate) fn used(&self, prefix: &LogicalPath) -> Option<u64> {
        self.vfs().usage(&self.call(), prefix).ok().flatten().map(|usage| usage.bytes)
    }

    /// The verdict on an operation, by the policy alone.
    pub(crate) fn judge<'a>(&'a self, op: OpKind, path: &'a LogicalPath) -> Decision<'a> {
        self.vfs().judge(op, path)
    }

    /// Does a Workspace begin at a path, or below it?
    pub(crate) fn is_a_way(&self, path: &LogicalPath) -> bool {
        self.vfs().workspaces().iter().any(|workspace| workspace.prefix().below(path).is_some())
    }

    /// The Workspace that a path belongs to.
    pub(crate) fn workspace_of<'a>(&'a self, path: &'a LogicalPath) -> Option<&'a Workspace> {
        self.vfs().judge(OpKind::Read, path).workspace()
    }

    /// Bytes of a file, and facts about it.
    pub(crate) fn read(&self, path: &LogicalPath, range: Range<u64>) -> Result<(Vec<u8>, Meta), Refused> {
        match self.run(&self.call(), Operation::Read { path: path.clone(), range })? {
            Outcome::Read { bytes, meta } => Ok((bytes, meta)),
            other => Err(unexpected(path, &other)),
        }
    }

    /// Entries of a directory after a path, in order.
    pub(crate) fn list(
        &self,
        path: &LogicalPath,
        after: Option<LogicalPath>,
        limit: usize,
    ) -> Result<Entries, Refused> {
        let browse = Browse { path: path.clone(), depth: Some(1), skip_ignored: false, after, limit };
        match self.run(&self.call(), Operation::List(browse))? {
            Outcome::Entries(entries) => Ok(entries),
            other => Err(unexpected(path, &other)),
        }
    }

    /// Would this change be let through? Nothing is done.
    pub(crate) fn plan(&self, path: &LogicalPath, how: Alter) -> Result<(), Refused> {
        let alterations = vec![Alteration { path: path.clone(), how, expect: Expect::Any }];
        self.vfs().plan(&self.call(), self.alter(path, alterations)).map(|_| ())
    }

    /// Makes changes as one call, recorded.
    pub(crate) fn change(&self, path: &LogicalPath, alterations: Vec<Alteration>) -> Result<Outcome, Refused> {
        let bytes = alterations.iter().map(content_of).sum();
        self.act(self.alter(path, alterations), bytes)
    }

    /// Adds to the end of a file of a write-only Workspace: what is there never comes here.
    pub(crate) fn append(&self, path: &LogicalPath, content: Vec<u8>) -> Result<Outcome, Refused> {
        let bytes = content.len() as u64;
        self.act(Operation::Append { path: path.clone(), content }, bytes)
    }

    fn alter(&self, path: &LogicalPath, alterations: Vec<Alteration>) -> Operation {
        match self.author {
            Author::Command => Operation::Commit { path: path.clone(), alterations },
            Author::Person => Operation::Alter { path: path.clone(), alterations },
        }
    }

    fn run(&self, call: &Call<'_>, operation: Operation) -> Result<Outcome, Refused> {
        self.run_as(call, operation, &mut None)
    }

    /// As [`Self::run`]; tells the risk, once it is known.
    fn run_as(&self, call: &Call<'_>, operation: Operation, risk: &mut Option<Risk>) -> Result<Outcome, Refused> {
        let plan = self.vfs().plan(call, operation)?;
        let tool = self.record.as_ref().map_or("mount", |record| record.command.as_str());
        let known = *risk.insert(risk_of(plan.effects()));
        match self.vfs().ask(call, &Request::of_person(tool, known), &plan)? {
            Passed::Now(token) => self.vfs().run(call, plan, token),
            Passed::Parked(id) => Err(Refused::Gate(format!("it waits as {id}"))),
            Passed::Edited { .. } => Err(Refused::Gate("a change through a file system is not edited".to_owned())),
        }
    }

    /// Does something and has it recorded. What cannot be recorded is not acknowledged.
    fn act(&self, operation: Operation, bytes: u64) -> Result<Outcome, Refused> {
        let (began, call, path) = (Instant::now(), self.call(), operation.path().clone());
        let mut risk = None;
        let done = self.run_as(&call, operation, &mut risk);
        if let Err(refused) = &done {
            tracing::debug!(path = path.as_str(), %refused, "a change through the file system was refused");
        }
        let Some(record) = &self.record else { return done };
        let (outcome, reason) = match &done {
            Ok(_) => ("done", ""),
            Err(Refused::Denied(_) | Refused::DeniedInside(_)) => ("denied", "person"),
            Err(_) => ("failed", "person"),
        };
        let recorded = record.audit.record(&CallRecord {
            call: call.id,
            agent: &self.agent,
            by: self.vfs().person(),
            tool: &record.command,
            path: path.as_str(),
            workspace: self.workspace_of(&path).map(Workspace::prefix),
            outcome,
            reason,
            risk,
            bytes,
            took: began.elapsed(),
            effect: true,
        });
        let outcome = done?;
        recorded.map_err(|source| Refused::Store { path, source })?;
        Ok(outcome)
    }
}

fn content_of(alteration: &Alteration) -> u64 {
    match &alteration.how {
        Alter::Take(staged) => staged.len(),
        _ => 0,
    }
}

/// How much harm a plan can do, for the Gate.
fn risk_of(effects: &[Effect]) -> Risk {
    let of = |effect: &Effect| match effect.what {
        EffectKind::Create | EffectKind::Append | EffectKind::MakeDir => Risk::Low,
        EffectKind::Delete => Risk::High,
        _ => Risk::Medium,
    };
    effects.iter().map(of).max().unwrap_or(Risk::Low)
}

fn unexpected(path: &LogicalPath, outcome: &Outcome) -> Refused {
    tracing::error!(path = path.as_str(), ?outcome, "the Vfs answered something else than was asked");
    Refused::Store { path: path.clone(), source: ErrorKind::Io.into() }
}
