//! What a person is shown of approvals and grants.

use std::fmt::Write as _;

use paddock_core::visible;
use paddock_ledger::approvals::{Approval, Grant, Reach, Status};
use serde_json::{Value, json};

use crate::failure::Ended;
use crate::printer::{Look, Printer};
use paddock_desk::moment;

pub(super) fn list(found: &[Approval], json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if json {
        printer.json(&Value::Array(found.iter().map(as_json).collect()))?;
        return Ok(Ended::Done);
    }
    if found.is_empty() {
        printer.line("nothing waits for a person")?;
    }
    for approval in found {
        let (added, removed) = approval.counts();
        let (status, risk) = (shown_status(approval, printer), approval.risk.name());
        printer.line(format_args!(
            "{}  {status}  {risk}  {}: {} {}  +{added} −{removed}  {}",
            approval.id,
            visible(&approval.agent),
            approval.tool,
            visible(&approval.path),
            printer.look(Look::Faint, moment::shown(moment::of_millis(approval.requested_at))),
        ))?;
    }
    Ok(Ended::Done)
}

fn shown_status(approval: &Approval, printer: &Printer) -> String {
    let look = match approval.status {
        Status::Pending => Look::Warning,
        Status::Approved | Status::Edited => Look::Good,
        Status::Rejected => Look::Bad,
        Status::Expired => Look::Faint,
    };
    printer.look(look, approval.status.name())
}

pub(super) fn one(approval: &Approval, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if json {
        printer.json(&as_json(approval))?;
        return Ok(Ended::Done);
    }
    let at = |millis| moment::shown(moment::of_millis(millis));
    printer.line(format_args!("{}  {}", printer.look(Look::Strong, &approval.id), shown_status(approval, printer)))?;
    let row = |name: &str, value: &str| printer.line(format_args!("  {name:<10} {value}"));
    row("tool", &approval.tool)?;
    row("agent", &visible(&approval.agent))?;
    row("path", &visible(&approval.path))?;
    row("risk", &risk_of(approval))?;
    row("asked", &format!("{} by {}", at(approval.requested_at), requester(approval)))?;
    row("until", &at(approval.expires_at))?;
    row("arguments", &visible(&approval.arguments))?;
    if let Some(by) = &approval.decided_by {
        row("decided", &format!("{} by {}", approval.decided_at.map(at).unwrap_or_default(), visible(by)))?;
    }
    if let Some(reason) = &approval.reason {
        row("reason", &visible(reason))?;
    }
    if let Some(edited) = &approval.edited {
        row("edited to", &visible(edited))?;
    }
    if let Some(call) = &approval.used_by {
        row("used by", &format!("call {call}"))?;
    }
    let (added, removed) = approval.counts();
    let what = if approval.held.is_some() { "what the command changed" } else { "what it would change" };
    printer.line(format_args!("\n{what}: +{added} −{removed}{}", not_whole(approval)))?;
    printer.text(&coloured(&approval.preview, printer))?;
    if approval.status == Status::Pending {
        printer.text(&ways(approval))?;
    }
    Ok(Ended::Done)
}

fn not_whole(approval: &Approval) -> &'static str {
    if approval.whole { "" } else { " (not all of it can be shown)" }
}

fn risk_of(approval: &Approval) -> String {
    match &approval.rule {
        Some(rule) => format!("{}: {}", approval.risk.name(), visible(rule)),
        None => format!("{}, by what it does", approval.risk.name()),
    }
}

fn requester(approval: &Approval) -> String {
    let thread = approval.thread.as_ref().map(|thread| format!(" of thread {thread}")).unwrap_or_default();
    let user = approval.user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default();
    visible(&format!("session {}{thread}{user}", approval.session))
}

/// Made fit for a terminal, line by line, and coloured as a diff.
fn coloured(preview: &str, printer: &Printer) -> String {
    let mut out = String::new();
    for line in preview.lines() {
        // Tabs steer nothing, and code is full of them.
        let shown = line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
        let shown = match line.chars().next() {
            Some('+') => printer.look(Look::Good, shown),
            Some('-') => printer.look(Look::Bad, shown),
            _ => shown,
        };
        let _ = writeln!(out, "{shown}");
    }
    out
}

/// What can be decided, and how far each reaches.
fn ways(approval: &Approval) -> String {
    let id = &approval.id;
    let approve = |reach: Reach| {
        let option = if reach == Reach::Once { String::new() } else { format!(" --reach {}", reach.name()) };
        (format!("approve {id}{option}"), in_words(reach, approval))
    };
    let mut ways: Vec<(String, String)> = reaches(approval).map(approve).collect();
    if approval.held.is_none() {
        ways.push((format!("edit {id}"), "with other arguments, judged anew".to_owned()));
    }
    ways.push((format!("reject {id} --reason TEXT"), "the agent is told why".to_owned()));
    let width = ways.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let line = |(command, words): &(String, String)| format!("  paddock approvals {command:<width$}  {words}\n");
    format!("\nto decide:\n{}", ways.iter().map(line).collect::<String>())
}

/// Nobody agrees for longer to what they did not see whole.
fn reaches(approval: &Approval) -> impl Iterator<Item = Reach> + '_ {
    let is_offered = |reach: &Reach| approval.whole || matches!(reach, Reach::Once | Reach::Exact);
    Reach::ALL.into_iter().filter(is_offered)
}

/// How far a decision reaches, in plain words.
pub(super) fn in_words(reach: Reach, approval: &Approval) -> String {
    let (tool, agent) = (&approval.tool, visible(&approval.agent));
    let risk = approval.risk.name();
    match reach {
        Reach::Once => "this call, once".to_owned(),
        Reach::Exact => format!("this exact call of {agent}, as often as it comes"),
        Reach::Session => format!("every {tool} of {agent} up to {risk} risk, until the session ends that asked"),
        Reach::Always => {
            format!(
                "every {tool} of {agent} on {} up to {risk} risk, until the grant is revoked",
                visible(&approval.path)
            )
        }
    }
}

fn as_json(approval: &Approval) -> Value {
    let at = |millis| moment::exact(moment::of_millis(millis));
    let (added, removed) = approval.counts();
    // The token is for the call alone.
    json!({
        "id": approval.id,
        "status": approval.status.name(),
        "agent": approval.agent,
        "tool": approval.tool,
        "path": approval.path,
        "arguments": serde_json::from_str::<Value>(&approval.arguments).unwrap_or(Value::Null),
        "risk": approval.risk.name(),
        "rule": approval.rule,
        "session": approval.session,
        "thread_id": approval.thread,
        "user_id": approval.user,
        "requested_at": at(approval.requested_at),
        "expires_at": at(approval.expires_at),
        "decided_at": approval.decided_at.map(at),
        "decided_by": approval.decided_by,
        "reason": approval.reason,
        "edited": approval.edited.as_ref().and_then(|edited| serde_json::from_str::<Value>(edited).ok()),
        "reach": approval.reach,
        "used_by": approval.used_by,
        "held": approval.held.is_some(),
        "preview": approval.preview,
        "whole": approval.whole,
        "added": added,
        "removed": removed,
        "shown": approval.shown(),
    })
}

pub(super) fn grants(grants: &[Grant], json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if json {
        printer.json(&Value::Array(grants.iter().map(grant_as_json).collect()))?;
        return Ok(Ended::Done);
    }
    if grants.is_empty() {
        printer.line("nothing is allowed without asking")?;
    }
    for grant in grants {
        let at = moment::shown(moment::of_millis(grant.granted_at));
        let (agent, by) = (visible(&grant.agent), visible(&grant.granted_by));
        let (what, id) = (covered(grant), &grant.id);
        let used = match grant.last_used {
            Some(last) => format!("used {} times, last {}", grant.uses, moment::shown(moment::of_millis(last))),
            None => "never used".to_owned(),
        };
        printer.line(format_args!("{id}  {agent}: {what}  by {by}, {at} ({}); {used}", grant.approval))?;
    }
    Ok(Ended::Done)
}

fn covered(grant: &Grant) -> String {
    let (tool, risk) = (&grant.tool, grant.risk.name());
    match grant.reach() {
        Reach::Once | Reach::Exact => format!("{tool}, exactly the call of {}", grant.approval),
        Reach::Session => {
            let session = visible(grant.session.as_deref().unwrap_or_default());
            format!("{tool} up to {risk} risk in session {session}")
        }
        Reach::Always => {
            format!("{tool} on {} up to {risk} risk", visible(grant.path.as_deref().unwrap_or_default()))
        }
    }
}

fn grant_as_json(grant: &Grant) -> Value {
    let at = |millis| moment::exact(moment::of_millis(millis));
    json!({
        "id": grant.id,
        "agent": grant.agent,
        "tool": grant.tool,
        "reach": grant.reach().name(),
        "path": grant.path,
        "session": grant.session,
        "risk": grant.risk.name(),
        "granted_at": at(grant.granted_at),
        "granted_by": grant.granted_by,
        "approval": grant.approval,
        "last_used": grant.last_used.map(at),
        "uses": grant.uses,
    })
}
