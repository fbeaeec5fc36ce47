//! The person's side of the demo: approving, forking, applying and undoing, by the functions behind the commands of the same
//! names.
//!
//! Each act opens the project anew, as a command in another terminal would, so that nothing is shared with the agent's server
//! but what is kept.

use paddock_core::{AgentName, visible};
use paddock_desk::forks::{self, Applying, Comparing, NewForkAsked};
use paddock_desk::{Desk, Places, Project, history};
use paddock_ledger::approvals::{Approval, ApprovalError, ApprovalQuery, Decision, Reach, Status};
use paddock_stores::fork;

use super::scenes::{Act, FORK};
use crate::failure::Failure;

/// What the fork is made of.
const FORKED: &str = "/project";

/// What a person did: the command, and what it prints.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) command: String,
    pub(crate) shown: Vec<String>,
}

/// Whoever is in charge of the sample project.
#[derive(Debug)]
pub(crate) struct Person {
    places: Places,
    /// The call that took the fork over.
    applied: Option<String>,
}

impl Person {
    pub(crate) fn new(places: Places) -> Self {
        Self { places, applied: None }
    }

    fn desk(&self) -> anyhow::Result<Desk> {
        Ok(Desk::work(Project::with_config(&self.places)?)?)
    }

    pub(crate) fn act(&mut self, act: Act) -> anyhow::Result<Done> {
        let (desk, agent) = (self.desk()?, AgentName::main());
        match act {
            Act::Fork => {
                let asked =
                    NewForkAsked { workspace: FORKED.into(), name: FORK.into(), agents: Vec::new(), from: None };
                let made = forks::make(&desk, &asked)?;
                let shown = format!("forked {} as /forks/{}, for {}", made.source, made.name, made.agents.join(", "));
                Ok(Done { command: format!("paddock fork {FORKED} {FORK}"), shown: vec![shown] })
            }
            Act::Compare => {
                let compared = forks::compare(&desk, FORK, &agent, &Comparing::default())?;
                let shown = fork::unified(&compared.found).lines().map(visible).collect();
                Ok(Done { command: format!("paddock diff {FORK}"), shown })
            }
            Act::Apply => {
                let applied = forks::apply(&desk, FORK, &agent, &Applying::default())?.unless_conflicts()?;
                self.applied.clone_from(&applied.call);
                let shown = applied.changes.iter().map(forks::AppliedChange::said).collect();
                Ok(Done { command: format!("paddock apply {FORK}"), shown })
            }
            Act::Undo => {
                let call = self.applied.as_deref();
                let undone = history::undo(&desk, call, None, false)?;
                Ok(Done { command: format!("paddock undo {}", undone.undoes), shown: undone.changes })
            }
        }
    }

    /// Every call that waits.
    pub(crate) fn waiting(&self) -> anyhow::Result<Vec<Approval>> {
        let installation = Project::find(&self.places)?.installation()?;
        let Some(approvals) = installation.approvals() else { return Ok(Vec::new()) };
        approvals.list(&ApprovalQuery::default()).map_err(|error| problem(&error))
    }

    /// Agrees to a call, as it was shown.
    pub(crate) fn approve(&self, waiting: &Approval) -> anyhow::Result<()> {
        let installation = Project::find(&self.places)?.installation()?;
        let Some(approvals) = installation.approvals() else { return Ok(()) };
        let decision = Decision::Approve(Reach::Once);
        approvals
            .decide(&waiting.id, Some(&waiting.shown()), "the demo", &decision)
            .map_err(|error| problem(&error))?;
        Ok(())
    }

    /// Has somebody decided about it?
    pub(crate) fn is_decided(&self, id: &str) -> anyhow::Result<bool> {
        let installation = Project::find(&self.places)?.installation()?;
        let Some(approvals) = installation.approvals() else { return Ok(false) };
        Ok(approvals.show(id).map_err(|error| problem(&error))?.status != Status::Pending)
    }
}

fn problem(error: &ApprovalError) -> anyhow::Error {
    Failure::failed(error, error.hint())
}
