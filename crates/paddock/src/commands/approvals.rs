//! `paddock approvals`: what waits for a person is shown whole and decided once.
//!
//! What an agent wrote is in what is shown, so nothing of it reaches the terminal that could steer it or deceive the reader.

mod editing;
mod showing;

use paddock_core::visible;
use paddock_desk::approvals::{self, ApprovalShown, Decided, DecisionAsked, DecisionWord, ListAsked, Which};
use paddock_desk::{Desk, Project};
use serde_json::json;

use crate::cli::{Approvals as Options, Global};
use crate::failure::Ended;
use crate::printer::{self, Printer};

pub(crate) fn run(global: &Global, options: &Options, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let desk = Desk::look(project.clone())?;
    let agent = || global.agent.as_ref().map(|agent| agent.as_str().to_owned());
    match options {
        Options::List { all, json } => {
            let which = if *all { Which::All } else { Which::Waiting };
            let asked = ListAsked { which: Some(which), agent: agent(), ..ListAsked::default() };
            showing::list(&approvals::list(&desk, &asked)?, *json, printer)
        }
        Options::Show { id, json } => showing::one(&approvals::show(&desk, id)?, *json, printer),
        Options::Approve { id, reach, json } => {
            let approval = approvals::show(&desk, id)?;
            let asked = DecisionAsked { reach: Some((*reach).into()), ..about(&approval, DecisionWord::Approve) };
            let decided = decide(project, &approval, &asked)?;
            if *json {
                return as_json(&decided, printer);
            }
            let id = &decided.approval.id;
            if decided.made.is_some() {
                let call = decided.approval.used_by.as_deref().unwrap_or_default();
                printer
                    .line(format_args!("approved {id}, and {}; `paddock undo {call}` takes it back", decided.words))?;
            } else {
                printer.line(format_args!("approved {id}: {}", decided.words))?;
            }
            goes_on(&decided);
            Ok(Ended::Done)
        }
        Options::Edit(options) => {
            let approval = approvals::show(&desk, &options.id)?;
            let arguments = Some(editing::edited(&approval, options)?);
            let asked = DecisionAsked { arguments, ..about(&approval, DecisionWord::Edit) };
            let decided = decide(project, &approval, &asked)?;
            if options.json {
                return as_json(&decided, printer);
            }
            printer.line(format_args!("approved {} {}", decided.approval.id, decided.words))?;
            printer::tell("The policy judges the new arguments when the call is made.");
            goes_on(&decided);
            Ok(Ended::Done)
        }
        Options::Reject { id, reason, json } => {
            let approval = approvals::show(&desk, id)?;
            let asked = DecisionAsked { reason: reason.clone(), ..about(&approval, DecisionWord::Reject) };
            let decided = decide(project, &approval, &asked)?;
            if *json {
                return as_json(&decided, printer);
            }
            printer.line(format_args!("rejected {}: {}", decided.approval.id, decided.words))?;
            Ok(Ended::Done)
        }
        Options::Grants { json } => showing::grants(&approvals::grants(&desk, agent().as_deref())?, *json, printer),
        Options::Revoke { id, json } => {
            // Found before anything is made on disk.
            let revoked = match approvals::grants(&desk, None)?.is_empty() {
                true => approvals::revoke(&desk, id)?,
                false => approvals::revoke(&Desk::work(project)?, id)?,
            };
            if *json {
                printer.json(&json!(revoked))?;
            } else {
                printer.line(format_args!("revoked {}: it is asked again from the next call on", revoked.id))?;
            }
            Ok(Ended::Done)
        }
    }
}

/// A decision about what was just looked at.
fn about(approval: &ApprovalShown, decision: DecisionWord) -> DecisionAsked {
    DecisionAsked { decision, reach: None, arguments: None, reason: None, shown: approval.shown.clone() }
}

fn decide(project: Project, approval: &ApprovalShown, asked: &DecisionAsked) -> anyhow::Result<Decided> {
    Ok(approvals::decide(&Desk::work(project)?, &approval.id, asked)?)
}

fn as_json(decided: &Decided, printer: &Printer) -> anyhow::Result<Ended> {
    printer.json(&json!(decided))?;
    Ok(Ended::Done)
}

/// How whoever asked gets on.
fn goes_on(decided: &Decided) {
    if let Some(next) = &decided.next {
        printer::tell(format_args!("hint: {}", visible(next)));
    }
}
