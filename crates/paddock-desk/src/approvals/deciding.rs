//! A person's decisions: each made once, bound to what was looked at, and recorded.

use std::time::{Duration, Instant};

use paddock_config::Reloader;
use paddock_core::{AgentName, Held, LogicalPath, visible};
use paddock_ledger::approvals::{Approval, Decision, Grant, Reach, Status};
use paddock_tools::Control;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ApprovalShown, GrantShown, ReachWord, find, find_grant, grant_shown, in_words, told, whole};
use crate::acts::Act;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::unified::harmless;

/// As long as making what waited may take.
const LONGEST: Duration = Duration::from_secs(600);

/// The most characters of a reason in a row of the audit.
const LONGEST_REASON: usize = 200;

/// What a person decides.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionAsked {
    /// What.
    pub decision: DecisionWord,
    /// How far agreeing reaches; `once` where nothing is said.
    #[serde(default)]
    pub reach: Option<ReachWord>,
    /// To edit: all arguments of the call.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// To reject: what the agent is told.
    #[serde(default)]
    pub reason: Option<String>,
    /// The `shown` of the approval that was looked at.
    pub shown: String,
}

/// What can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionWord {
    /// Agreed.
    Approve,
    /// Agreed, with other arguments.
    Edit,
    /// Refused.
    Reject,
}

/// What came of a decision.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Decided {
    /// The approval as it stands now.
    pub approval: ApprovalShown,
    /// What it comes to, in words.
    pub words: String,
    /// What a command had changed, made now.
    pub made: Option<Made>,
    /// How whoever asked gets on.
    pub next: Option<String>,
}

/// A change that was held and is made now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Made {
    /// How many paths it changed.
    pub paths: u64,
}

/// Decides what waits, once, and makes what a command changed where that waited.
///
/// # Errors
/// When there is none, somebody decided before, it is no longer what was looked at, or the arguments are not those of the tool.
pub fn decide(desk: &Desk, id: &str, asked: &DecisionAsked) -> Result<Decided> {
    let approval = find(desk, id)?;
    fits(asked)?;
    let table = Table::of(desk, &approval.agent)?;
    match asked.decision {
        DecisionWord::Approve => table.approve(&approval, asked),
        DecisionWord::Edit => table.edit(&approval, asked),
        DecisionWord::Reject => table.reject(&approval, asked),
    }
}

/// Nothing that is said is passed over silently.
fn fits(asked: &DecisionAsked) -> Result<()> {
    let DecisionAsked { decision, reach, arguments, reason, .. } = asked;
    let beside = match decision {
        _ if reach.is_some() && *decision != DecisionWord::Approve => "a reach",
        _ if arguments.is_some() && *decision != DecisionWord::Edit => "arguments",
        _ if reason.is_some() && *decision != DecisionWord::Reject => "a reason",
        DecisionWord::Edit if arguments.is_none() => {
            return Err(Failure::misused("the arguments are missing", "say all arguments of the call"));
        }
        _ => return Ok(()),
    };
    let hint = "a reach goes with approve, arguments with edit, a reason with reject";
    Err(Failure::misused(format!("{beside} does not go with this decision"), hint))
}

/// Takes a grant back: from the next call on it is asked again.
///
/// # Errors
/// When there is no such grant.
pub fn revoke(desk: &Desk, id: &str) -> Result<GrantShown> {
    let began = Instant::now();
    let grant: Grant = find_grant(desk, id)?;
    let table = Table::of(desk, &grant.agent)?;
    let revoked = desk.approvals()?.revoke(&grant.id);
    let which = format!("{} of {}", grant.id, grant.approval);
    table.record("approvals revoke", grant.path.as_deref().unwrap_or(""), &which, revoked.is_ok(), began)?;
    revoked.map_err(told)?;
    Ok(grant_shown(&grant))
}

/// The desk, with the policy of the agent that asked.
struct Table<'d> {
    desk: &'d Desk,
    policy: std::sync::Arc<Reloader>,
}

impl<'d> Table<'d> {
    fn of(desk: &'d Desk, agent: &str) -> Result<Self> {
        let agent =
            AgentName::parse(agent).map_err(|error| Failure::failed(&error, "write it in paddock.toml again"))?;
        let policy = desk.policy(&agent)?;
        Ok(Self { desk, policy })
    }

    fn approve(&self, approval: &Approval, asked: &DecisionAsked) -> Result<Decided> {
        let reach = asked.reach.unwrap_or(ReachWord::Once).into();
        if reach == Reach::Once {
            self.still_counts(approval)?;
        }
        let decided = self.decide(approval, &asked.shown, &Decision::Approve(reach))?;
        let held = self.desk.approvals()?.held(&decided.id).map_err(told)?;
        let made = held.map(|held| self.make(&decided, held)).transpose()?;
        let words = match &made {
            Some(Made { paths: 1 }) => "made what the command changed: 1 path".to_owned(),
            Some(Made { paths }) => format!("made what the command changed: {paths} paths"),
            None => in_words(reach, &decided),
        };
        self.answer(&decided, words, made)
    }

    fn edit(&self, approval: &Approval, asked: &DecisionAsked) -> Result<Decided> {
        let arguments = asked.arguments.clone().unwrap_or_default();
        paddock_tools::check_arguments(&approval.tool, &arguments)
            .map_err(|why| Failure::misused(visible(&why), format!("they are those of {}", approval.tool)))?;
        let text = paddock_tools::canonical(&arguments);
        if let Some(secret) = self.desk.installation().redactor().found_in(text.as_bytes()) {
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
        self.still_counts(approval)?;
        self.would_run(&approval.tool, arguments)?;
        let decided = self.decide(approval, &asked.shown, &Decision::Edit(text))?;
        self.answer(&decided, "with other arguments: this call, once".to_owned(), None)
    }

    fn reject(&self, approval: &Approval, asked: &DecisionAsked) -> Result<Decided> {
        let reason = asked.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        // It is read at terminals, too, and may come from a program.
        let reason: Vec<String> = reason.unwrap_or("no reason was given").lines().map(harmless).collect();
        let reason = reason.join("\n");
        let reason = self.desk.installation().redactor().text(&reason).into_owned();
        let decided = self.decide(approval, &asked.shown, &Decision::Reject(reason))?;
        self.answer(&decided, "the agent is told why when it makes the call again".to_owned(), None)
    }

    fn answer(&self, decided: &Approval, words: String, made: Option<Made>) -> Result<Decided> {
        // What was made is used by now.
        let now = self.desk.approvals()?.show(&decided.id).map_err(told)?;
        Ok(Decided { approval: whole(&now), words, made, next: next(decided) })
    }

    /// Refuses what would not count when the agent makes the call again. A run notices by itself, and what a command changed is judged when it
    /// is made.
    fn still_counts(&self, approval: &Approval) -> Result<()> {
        let is_waited_for = approval.thread.is_some() || approval.held.is_some() || approval.status != Status::Pending;
        if is_waited_for || approval.policy == self.policy.current().terms.policy {
            return Ok(());
        }
        let message = format!("paddock.toml has changed since {} was asked, so nothing was decided", approval.id);
        Err(Failure::of(FailureKind::Conflict, message, "the agent makes the call again, and you are asked anew"))
    }

    /// Refuses what the policy of today would deny: agreeing to it would promise what does not come.
    fn would_run(&self, tool: &str, arguments: Map<String, Value>) -> Result<()> {
        let toolbox = paddock_tools::Toolbox::new(std::sync::Arc::clone(&self.policy) as _);
        let Some(why) = toolbox.objection(tool, arguments, &Control::for_at_most(LONGEST)) else { return Ok(()) };
        let why = visible(why.trim_start_matches("❌ ERROR: "));
        let message = format!("with these arguments it would not run, so nothing was decided: {why}");
        Err(Failure::of(FailureKind::Denied, message, "edit it again, or reject it with a reason"))
    }

    /// Decides what was looked at, and records it whatever came of it.
    fn decide(&self, approval: &Approval, looked_at: &str, decision: &Decision) -> Result<Approval> {
        let began = Instant::now();
        let decided = self.desk.approvals()?.decide(&approval.id, Some(looked_at), self.desk.by(), decision);
        let (word, how) = match decision {
            Decision::Approve(reach) => ("approvals approve", reach.name()),
            Decision::Edit(_) => ("approvals edit", "with other arguments"),
            Decision::Reject(reason) => ("approvals reject", reason.as_str()),
        };
        self.record(word, &approval.path, &recorded_as(&approval.id, how), decided.is_ok(), began)?;
        decided.map_err(told)
    }

    /// Makes what a command changed, as the agent's change.
    fn make(&self, approval: &Approval, held: Held) -> Result<Made> {
        let mut control = Control::for_at_most(LONGEST);
        // The decision holds for the thread that asked, and for nobody else.
        (control.requester.thread, control.requester.user) = (approval.thread.clone(), approval.user.clone());
        let answer = paddock_tools::make_held(&*self.policy, held, &control);
        // What the command printed, and how it ended, is for the agent.
        if answer.structured.contains_key("error") {
            let text = answer.text();
            let text = text.trim_start_matches("❌ ERROR: ");
            return Err(Failure::failed(visible(text), "the agent can run the command again"));
        }
        Ok(Made { paths: answer.structured.get("paths").and_then(Value::as_u64).unwrap_or_default() })
    }

    fn record(&self, command: &str, path: &str, how: &str, done: bool, began: Instant) -> Result<()> {
        let policy = self.policy.current();
        let workspace = LogicalPath::parse(path, &LogicalPath::top()).ok();
        let decision = workspace.as_ref().map(|path| policy.vfs.judge(paddock_core::OpKind::Read, path));
        self.desk.acts().record(&Act {
            workspace: decision.as_ref().and_then(|decision| decision.workspace()).map(paddock_core::Workspace::prefix),
            how,
            done,
            risk: None,
            took: began.elapsed(),
            ..Act::done(&policy.agent, command, path)
        })
    }
}

/// What the row of a decision says besides: which approval, and how it was decided. A reason was written by a person and may be long.
fn recorded_as(id: &str, how: &str) -> String {
    match how.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{id}: {}…", &how[..end]),
        None => format!("{id}: {how}"),
    }
}

/// How whoever asked gets on.
fn next(decided: &Approval) -> Option<String> {
    if decided.status == Status::Rejected {
        return None;
    }
    Some(match &decided.thread {
        Some(thread) => format!("`paddock resume {}` goes on with it", visible(thread)),
        None if decided.held.is_some() => "what the command changed is made; it is not run again".to_owned(),
        None => "the agent makes the same call again".to_owned(),
    })
}
