//! What a person is shown of approvals and grants.

use std::time::SystemTime;

use paddock_core::visible;
use paddock_desk::approvals::{ApprovalShown, GrantShown, ReachWord};
use paddock_desk::moment;
use serde_json::json;

use crate::commands::diff::shown;
use crate::failure::Ended;
use crate::printer::{Look, Printer};
use crate::rows;

pub(super) fn list(found: &[ApprovalShown], json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if json {
        printer.json(&json!(found))?;
        return Ok(Ended::Done);
    }
    if found.is_empty() {
        printer.line("nothing waits for a person")?;
    }
    let columns = rows::columns(std::io::stdout());
    for approval in found {
        let thread = approval.thread_id.as_ref().map(|thread| format!("  thread {thread}")).unwrap_or_default();
        // A command says more than the directory that it runs in.
        let what = approval.command.as_deref().unwrap_or(&approval.path);
        let why = approval.reason.as_ref().filter(|_| approval.status == "overtaken");
        let why = why.map(|why| format!("  ({})", visible(why))).unwrap_or_default();
        let counts = format!("  +{} −{}", approval.added, approval.removed);
        let line = |status: &str, requested: &str| {
            format!(
                "{}  {status}  {}  {}: {} {}{}{}  {requested}{why}",
                approval.id,
                approval.risk,
                visible(&approval.agent),
                approval.tool,
                short(what),
                if approval.summary.is_empty() { "" } else { &counts },
                visible(&thread),
            )
        };
        let requested = at(&approval.requested_at);
        let rows = rows::folded(&line(&approval.status, &requested), columns);
        if rows.len() == 1 {
            printer.line(line(&shown_status(approval, printer), &printer.look(Look::Faint, requested)))?;
        } else {
            printer.text(&rows.join("\n"))?;
        }
    }
    Ok(Ended::Done)
}

/// In one line, and not too long a one.
fn short(text: &str) -> String {
    const LONGEST: usize = 80;
    let shown = visible(text);
    if shown.chars().count() <= LONGEST {
        return shown;
    }
    let cut: String = shown.chars().take(LONGEST).collect();
    format!("{cut}…")
}

fn at(exact: &str) -> String {
    moment::parse(exact, SystemTime::now()).map_or_else(|| exact.to_owned(), moment::shown)
}

fn shown_status(approval: &ApprovalShown, printer: &Printer) -> String {
    let look = match approval.status.as_str() {
        "pending" => Look::Warning,
        "approved" | "edited" => Look::Good,
        "rejected" => Look::Bad,
        _ => Look::Faint,
    };
    printer.look(look, &approval.status)
}

pub(super) fn one(approval: &ApprovalShown, json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if json {
        printer.json(&json!(approval))?;
        return Ok(Ended::Done);
    }
    printer.line(format_args!("{}  {}", printer.look(Look::Strong, &approval.id), shown_status(approval, printer)))?;
    let columns = rows::columns(std::io::stdout());
    let row =
        |name: &str, value: &str| printer.text(&rows::folded(&format!("  {name:<10} {value}"), columns).join("\n"));
    row("tool", &approval.tool)?;
    row("agent", &visible(&approval.agent))?;
    row("path", &visible(&approval.path))?;
    row("risk", &risk_of(approval))?;
    row("asked", &format!("{} by {}", at(&approval.requested_at), requester(approval)))?;
    row("until", &at(&approval.expires_at))?;
    row("arguments", &visible(&approval.arguments.to_string()))?;
    if let Some(by) = &approval.decided_by {
        row("decided", &format!("{} by {}", approval.decided_at.as_deref().map(at).unwrap_or_default(), visible(by)))?;
    }
    if let Some(reason) = &approval.reason {
        row("reason", &visible(reason))?;
    }
    if let Some(edited) = &approval.edited {
        row("edited to", &visible(&edited.to_string()))?;
    }
    if let Some(call) = &approval.used_by {
        row("used by", &format!("call {call}"))?;
    }
    let what = if approval.held { "what the command changed" } else { "what it would change" };
    let not_whole = if approval.whole { "" } else { " (not all of it can be shown)" };
    printer.line(format_args!("\n{what}{not_whole}:"))?;
    printer.text(&shown(&approval.preview, printer, columns))?;
    if approval.status == "pending" {
        printer.text(&ways(approval))?;
    }
    Ok(Ended::Done)
}

fn risk_of(approval: &ApprovalShown) -> String {
    match &approval.rule {
        Some(rule) => format!("{}: {}", approval.risk, visible(rule)),
        None => format!("{}, by what it does", approval.risk),
    }
}

fn requester(approval: &ApprovalShown) -> String {
    let thread = approval.thread_id.as_ref().map(|thread| format!(" of thread {thread}")).unwrap_or_default();
    let user = approval.user_id.as_ref().map(|user| format!(" for {user}")).unwrap_or_default();
    visible(&format!("session {}{thread}{user}", approval.session))
}

/// What can be decided, and how far each reaches.
fn ways(approval: &ApprovalShown) -> String {
    let id = &approval.id;
    let offered = approval.reaches.iter().filter(|offer| offer.withheld.is_none());
    let mut ways: Vec<(String, String)> = offered
        .map(|offer| {
            let option = match offer.reach {
                ReachWord::Once => String::new(),
                further => format!(" --reach {}", further.name()),
            };
            (format!("approve {id}{option}"), offer.words.clone())
        })
        .collect();
    if !approval.held {
        ways.push((format!("edit {id}"), "with other arguments, judged anew".to_owned()));
    }
    ways.push((format!("reject {id} --reason TEXT"), "the agent is told why".to_owned()));
    let width = ways.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let line = |(command, words): &(String, String)| format!("  paddock approvals {command:<width$}  {words}\n");
    format!("\nto decide:\n{}", ways.iter().map(line).collect::<String>())
}

pub(super) fn grants(grants: &[GrantShown], json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if json {
        printer.json(&json!(grants))?;
        return Ok(Ended::Done);
    }
    if grants.is_empty() {
        printer.line("nothing is allowed without asking")?;
    }
    for grant in grants {
        let (agent, by, id) = (visible(&grant.agent), visible(&grant.granted_by), &grant.id);
        let used = match &grant.last_used {
            Some(last) => format!("used {} times, last {}", grant.uses, at(last)),
            None => "never used".to_owned(),
        };
        let given = at(&grant.granted_at);
        printer.line(format_args!("{id}  {agent}: {}  by {by}, {given} ({}); {used}", grant.covers, grant.approval))?;
    }
    Ok(Ended::Done)
}
