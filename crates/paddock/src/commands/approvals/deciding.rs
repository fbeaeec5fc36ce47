//! A person's decisions: each made once, bound to what was looked at, and recorded.

use std::time::{Duration, Instant};

use paddock_config::{Installation, Reloader};
use paddock_core::{AgentName, CallId, CallRecord, Held, LogicalPath, visible};
use paddock_ledger::approvals::{Approval, Approvals, Decision, Grant, Reach};
use paddock_tools::Control;
use serde_json::{Map, Value};

use super::{showing, told};
use crate::cli::{ApprovalEdit, ReachWord};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};
use paddock_desk::Project;

/// As long as making what waited may take.
const LONGEST: Duration = Duration::from_secs(600);

/// The agent's policy and the installation that a decision is made in.
struct Desk {
    policy: Reloader,
    installation: Installation,
}

impl Desk {
    fn of(project: &Project, agent: &str) -> anyhow::Result<Self> {
        let agent =
            AgentName::parse(agent).map_err(|error| Failure::failed(&error, "write it in paddock.toml again"))?;
        let (policy, installation) = project.working_as(agent)?;
        Ok(Self { policy, installation })
    }

    fn approvals(&self) -> anyhow::Result<&Approvals> {
        let approvals = self.installation.approvals().map(|approvals| &**approvals);
        approvals.ok_or_else(|| Failure::failed("nothing can wait for a person here", "run `paddock doctor`"))
    }

    /// Decides what was looked at, and records it whatever came of it.
    fn decide(&self, approval: &Approval, decision: &Decision) -> anyhow::Result<Approval> {
        let began = Instant::now();
        let decided = self.approvals()?.decide(&approval.id, Some(&approval.shown()), &person(), decision);
        let word = match decision {
            Decision::Approve(_) => "approvals approve",
            Decision::Edit(_) => "approvals edit",
            Decision::Reject(_) => "approvals reject",
        };
        self.record(word, &approval.path, decided.is_ok(), began)?;
        decided.map_err(told)
    }

    /// Makes what a command changed, as the agent's change.
    fn make(&self, approval: &Approval, held: Held, printer: &Printer) -> anyhow::Result<Ended> {
        let mut control = Control::for_at_most(LONGEST);
        // The decision holds for the thread that asked, and for nobody else.
        (control.requester.thread, control.requester.user) = (approval.thread.clone(), approval.user.clone());
        let answer = paddock_tools::make_held(&self.policy, held, &control);
        // What the command printed, and how it ended, is for the agent.
        let is_made = !answer.structured.contains_key("error");
        if !is_made {
            let text = answer.text();
            let text = text.trim_start_matches("❌ ERROR: ");
            return Err(Failure::failed(visible(text), "the agent can run the command again"));
        }
        let count = answer.structured.get("paths").and_then(Value::as_u64).unwrap_or_default();
        let paths = if count == 1 { "1 path".to_owned() } else { format!("{count} paths") };
        printer.line(format_args!(
            "approved {}, and made what the command changed: {paths}; `paddock undo` takes it back",
            approval.id
        ))?;
        Ok(Ended::Done)
    }

    fn record(&self, command: &str, path: &str, done: bool, began: Instant) -> anyhow::Result<()> {
        let policy = self.policy.current();
        let workspace = LogicalPath::parse(path, &LogicalPath::top()).ok();
        let decision = workspace.as_ref().map(|path| policy.vfs.judge(paddock_core::OpKind::Read, path));
        let record = CallRecord {
            call: CallId::next(),
            agent: &policy.agent,
            tool: command,
            path,
            workspace: decision.as_ref().and_then(|decision| decision.workspace()).map(paddock_core::Workspace::prefix),
            outcome: if done { "done" } else { "failed" },
            reason: if done { "" } else { "person" },
            risk: None,
            bytes: 0,
            took: began.elapsed(),
            effect: true,
        };
        let audit = self.installation.audit();
        audit.record(&record).and_then(|()| audit.flush()).map_err(|error| {
            Failure::failed(format!("the decision could not be recorded: {error}"), "run `paddock doctor`")
        })
    }
}

/// Who decides: the name of the person at the terminal.
fn person() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.map(|name| visible(&name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "a person".to_owned())
}

pub(super) fn approve(
    project: &Project,
    approval: &Approval,
    reach: ReachWord,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let reach = match reach {
        ReachWord::Once => Reach::Once,
        ReachWord::Exact => Reach::Exact,
        ReachWord::Session => Reach::Session,
        ReachWord::Always => Reach::Always,
    };
    let desk = Desk::of(project, &approval.agent)?;
    let decided = desk.decide(approval, &Decision::Approve(reach))?;
    if let Some(held) = desk.approvals()?.held(&decided.id).map_err(told)? {
        desk.make(&decided, held, printer)?;
    } else {
        printer.line(format_args!("approved {}: {}", decided.id, showing::in_words(reach, &decided)))?;
    }
    goes_on(&decided);
    Ok(Ended::Done)
}

/// How whoever asked gets on.
fn goes_on(decided: &Approval) {
    match &decided.thread {
        Some(thread) => printer::tell(format!("hint: `paddock resume {}` goes on with it", visible(thread))),
        None => printer::tell("hint: the agent makes the same call again"),
    }
}

pub(super) fn reject(
    project: &Project,
    approval: &Approval,
    reason: Option<&str>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let desk = Desk::of(project, &approval.agent)?;
    let reason = desk.installation.redactor().text(reason.unwrap_or("no reason was given")).into_owned();
    let decided = desk.decide(approval, &Decision::Reject(reason))?;
    printer.line(format_args!("rejected {}: the agent is told why when it makes the call again", decided.id))?;
    Ok(Ended::Done)
}

pub(super) fn edit(
    project: &Project,
    approval: &Approval,
    options: &ApprovalEdit,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let desk = Desk::of(project, &approval.agent)?;
    let arguments = edited(approval, options)?;
    paddock_tools::check_arguments(&approval.tool, &arguments)
        .map_err(|why| Failure::misused(why, format!("they are those of {}", approval.tool)))?;
    let text = paddock_tools::canonical(&arguments);
    if let Some(secret) = desk.installation.redactor().found_in(text.as_bytes()) {
        return Err(Failure::misused(
            format!("the arguments hold the value of the secret \"{secret}\", and decisions are kept"),
            "leave it out; the agent can make another call",
        ));
    }
    if text == approval.arguments {
        return Err(Failure::misused(
            "nothing was changed, so nothing was decided",
            "`paddock approvals approve` agrees to it as it is",
        ));
    }
    let decided = desk.decide(approval, &Decision::Edit(text))?;
    printer.line(format_args!("approved {} with other arguments: this call, once", decided.id))?;
    printer::tell("The policy judges the new arguments when the call is made.");
    goes_on(&decided);
    Ok(Ended::Done)
}

/// The arguments that a person puts in the place of the agent's.
fn edited(approval: &Approval, options: &ApprovalEdit) -> anyhow::Result<Map<String, Value>> {
    if let Some(text) = &options.arguments {
        return object(text);
    }
    if !approval.shows_all_arguments() {
        return Err(Failure::misused(
            "these arguments hold secrets, which are not kept",
            "write all of them with --arguments",
        ));
    }
    let mut arguments = object(&approval.arguments)?;
    if options.set.is_empty() {
        let text = format!("{:#}\n", Value::Object(arguments));
        let text = host::edited_text(&text).map_err(|error| {
            let hint = "set $EDITOR, or use --arguments or --set";
            Failure::failed(format!("the arguments could not be edited: {error}"), hint)
        })?;
        return object(&text);
    }
    for pair in &options.set {
        let Some((name, value)) = pair.split_once('=') else {
            let message = format!("\"{}\" is not KEY=VALUE", visible(pair));
            return Err(Failure::misused(message, "write --set path=workspace/old.txt"));
        };
        // What is a text stays one, also where it looks like something else.
        let text = || Value::String(value.to_owned());
        let value = match arguments.get(name) {
            Some(Value::String(_)) => text(),
            _ => serde_json::from_str(value).unwrap_or_else(|_| text()),
        };
        arguments.insert(name.to_owned(), value);
    }
    Ok(arguments)
}

fn object(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::misused("the arguments are not a JSON object", "write {\"path\": …}")),
        Err(error) => Err(Failure::misused(format!("the arguments are not JSON: {error}"), "write {\"path\": …}")),
    }
}

pub(super) fn revoke(project: &Project, grant: &Grant, printer: &Printer) -> anyhow::Result<Ended> {
    let began = Instant::now();
    let desk = Desk::of(project, &grant.agent)?;
    let revoked = desk.approvals()?.revoke(&grant.id);
    desk.record("approvals revoke", grant.path.as_deref().unwrap_or(""), revoked.is_ok(), began)?;
    revoked.map_err(told)?;
    printer.line(format_args!("revoked {}: it is asked again from the next call on", grant.id))?;
    Ok(Ended::Done)
}
