//! `paddock approvals`: what waits for a person is shown whole and decided once, with a row in the audit for each decision.
//!
//! What an agent wrote is in what is shown, so nothing of it reaches the terminal that could steer it or deceive the reader.

mod deciding;
mod showing;

use std::sync::Arc;

use paddock_core::visible;
use paddock_ledger::approvals::{Approval, ApprovalError, ApprovalQuery, Approvals, Grant};

use crate::cli::{Approvals as Options, Global};
use crate::failure::{Ended, Failure};
use crate::printer::Printer;
use paddock_desk::Project;

pub(crate) fn run(global: &Global, options: &Options, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let waiting = Waiting::of(&project)?;
    match options {
        Options::List { all, json } => {
            let agent = global.agent.as_ref().map(|agent| agent.as_str().to_owned());
            let found = waiting.list(&ApprovalQuery { all: *all, agent, ..ApprovalQuery::default() })?;
            showing::list(&found, *json, printer)
        }
        Options::Show { id, json } => showing::one(&waiting.approval(id)?, *json, printer),
        Options::Approve { id, reach } => deciding::approve(&project, &waiting.approval(id)?, *reach, printer),
        Options::Edit(options) => deciding::edit(&project, &waiting.approval(&options.id)?, options, printer),
        Options::Reject { id, reason } => {
            deciding::reject(&project, &waiting.approval(id)?, reason.as_deref(), printer)
        }
        Options::Grants { json } => {
            let mut grants = waiting.grants()?;
            grants.retain(|grant| global.agent.as_ref().is_none_or(|agent| agent.as_str() == grant.agent));
            showing::grants(&grants, *json, printer)
        }
        Options::Revoke { id } => deciding::revoke(&project, &waiting.grant(id)?, printer),
    }
}

/// What waits in a project, as far as anything was ever recorded there. Looking makes nothing on disk.
struct Waiting(Option<Arc<Approvals>>);

impl Waiting {
    fn of(project: &Project) -> anyhow::Result<Self> {
        let installation = project.installation()?;
        let recorded = project.has_ledger(&installation)?;
        Ok(Self(installation.approvals().filter(|_| recorded).cloned()))
    }

    fn list(&self, query: &ApprovalQuery) -> anyhow::Result<Vec<Approval>> {
        self.0.as_ref().map_or(Ok(Vec::new()), |approvals| approvals.list(query)).map_err(told)
    }

    fn grants(&self) -> anyhow::Result<Vec<Grant>> {
        self.0.as_ref().map_or(Ok(Vec::new()), |approvals| approvals.grants()).map_err(told)
    }

    /// The approval with this id, or the only one whose id begins so: of those that wait, or else of all.
    fn approval(&self, id: &str) -> anyhow::Result<Approval> {
        let mut waiting = self.list(&ApprovalQuery::default())?;
        waiting.retain(|approval| approval.id.starts_with(id));
        if waiting.len() == 1 && !id.is_empty() {
            return Ok(waiting.remove(0));
        }
        let all = self.list(&ApprovalQuery { all: true, ..ApprovalQuery::default() })?;
        let none = || ApprovalError::NoApproval(visible(id));
        only(all, id, |approval| &approval.id, none)
    }

    /// The grant with this id, or the only one whose id begins so.
    fn grant(&self, id: &str) -> anyhow::Result<Grant> {
        only(self.grants()?, id, |grant| &grant.id, || ApprovalError::NoGrant(visible(id)))
    }
}

/// The one that is meant.
fn only<T>(all: Vec<T>, id: &str, name: fn(&T) -> &str, none: impl Fn() -> ApprovalError) -> anyhow::Result<T> {
    let mut meant: Vec<T> = all.into_iter().filter(|one| name(one).starts_with(id)).collect();
    if let Some(exact) = meant.iter().position(|one| name(one) == id) {
        return Ok(meant.swap_remove(exact));
    }
    match meant.len() {
        1 if !id.is_empty() => Ok(meant.remove(0)),
        0 | 1 => Err(told(none())),
        several => Err(Failure::misused(
            format!("\"{}\" begins the ids of {several}", visible(id)),
            "write more letters of the one that is meant",
        )),
    }
}

/// Why something cannot be done to an approval, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn told(error: ApprovalError) -> anyhow::Error {
    Failure::failed(visible(&error.to_string()), error.hint())
}
