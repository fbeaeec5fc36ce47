//! `paddock audit`: what every call asked for and what became of it, and whether that was tampered with.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use paddock_core::visible;
use paddock_ledger::audit::{AuditLog, Filter};

use crate::cli::{Audit, AuditQuery, Global};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Look, Printer};
use crate::progress;
use paddock_desk::activity::{self, Act, Wanted};
use paddock_desk::{Desk, Project, moment, past};

/// How often --follow looks for new rows.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) fn run(global: &Global, options: &Audit, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::look(Project::with_config(&global.places())?)?;
    if matches!(options, Audit::Accept | Audit::Prune { .. }) {
        activity::can_be_verified(desk.installation())?;
    }
    let log = || Ok::<_, anyhow::Error>(activity::recorded(&desk)?.map(|log| &**log));
    match options {
        Audit::Tail { n, follow, json } => tail(global, log()?, Tail { n: *n, follow: *follow, json: *json }, printer),
        Audit::Query(options) => query(global, &desk, options, printer),
        Audit::Verify { json } => verify(&desk, *json, printer),
        Audit::Export { file } => export(&desk, file.as_deref(), printer),
        Audit::Accept => accept(log()?),
        Audit::Prune { before, yes } => prune(log()?, before, *yes, printer),
    }
}

#[derive(Clone, Copy)]
struct Tail {
    n: usize,
    follow: bool,
    json: bool,
}

fn tail(global: &Global, log: Option<&AuditLog>, options: Tail, printer: &Printer) -> anyhow::Result<Ended> {
    let filter = Filter { agent: global.agent.as_ref().map(ToString::to_string), ..Filter::default() };
    let Some(log) = log else {
        if options.follow {
            return Err(Failure::failed("nothing was recorded yet", "follow once an agent has made its first call"));
        }
        return show(&[], options.json, printer);
    };
    if !options.follow {
        let rows = log.tail(&filter, options.n).map_err(past::audit_problem)?;
        return show(&rows.iter().map(Act::of).collect::<Vec<_>>(), options.json, printer);
    }
    // Begun before looking back: a row that comes meanwhile is shown, if perhaps twice in this rare case, never lost.
    let mut follow = log.follow().map_err(past::audit_problem)?;
    let before = log.tail(&filter, options.n).map_err(past::audit_problem)?;
    let last: Vec<(u64, u64)> = before.iter().map(|row| (row.chain, row.seq)).collect();
    each(&before.iter().map(Act::of).collect::<Vec<_>>(), options.json, printer)?;
    while printer.is_read() {
        let mut rows = log.poll(&mut follow).map_err(past::audit_problem)?;
        rows.retain(|row| filter.agent.as_ref().is_none_or(|agent| *agent == row.agent));
        rows.retain(|row| !last.contains(&(row.chain, row.seq)));
        each(&rows.iter().map(Act::of).collect::<Vec<_>>(), options.json, printer)?;
        std::thread::sleep(LOOK);
    }
    Ok(Ended::Done)
}

fn query(global: &Global, desk: &Desk, options: &AuditQuery, printer: &Printer) -> anyhow::Result<Ended> {
    let wanted = Wanted {
        agent: global.agent.as_ref().map(ToString::to_string),
        by: options.by.clone(),
        workspace: options.workspace.clone(),
        path: options.path.clone(),
        outcome: options.outcome.clone(),
        tool: options.tool.clone(),
        call: options.call.clone(),
        since: options.since.clone(),
        until: options.until.clone(),
        limit: Some(options.limit.get()),
        ..Wanted::default()
    };
    let rows = activity::query(desk, &wanted)?;
    show(&rows, options.json, printer)?;
    if rows.is_empty() {
        printer::tell(format_args!("no row fits{}", stranger(global, desk)?));
    }
    if !rows.is_empty() && rows.len() == options.limit.get() {
        printer::tell(format_args!(
            "these are the first {}; there may be more: raise --limit, or begin later with --since",
            rows.len()
        ));
    }
    Ok(Ended::Done)
}

/// Says so where the agent that was asked for is none of the configuration: its name may be a slip.
fn stranger(global: &Global, desk: &Desk) -> anyhow::Result<String> {
    let Some(agent) = &global.agent else { return Ok(String::new()) };
    let known = desk.agents()?;
    if known.contains(agent) {
        return Ok(String::new());
    }
    let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Ok(format!("; the configuration has no agent \"{agent}\", only {known}"))
}

fn show(rows: &[Act], as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if as_json {
        printer.json(&serde_json::to_value(rows)?)?;
    } else {
        each(rows, false, printer)?;
    }
    Ok(Ended::Done)
}

/// One line per row.
fn each(rows: &[Act], as_json: bool, printer: &Printer) -> anyhow::Result<()> {
    for row in rows {
        if as_json { printer.line(serde_json::to_value(row)?)? } else { printer.line(line(row, printer))? }
    }
    Ok(())
}

fn line(row: &Act, printer: &Printer) -> String {
    let (word, look) = match (row.kind.as_str(), row.outcome.as_str()) {
        ("intent", _) => ("begun", Look::Faint),
        ("gap", _) => ("gap", Look::Warning),
        (_, "done") => ("done", Look::Good),
        (_, "parked") => ("parked", Look::Warning),
        (_, other) => (other, Look::Bad),
    };
    let time = printer.look(Look::Faint, moment::shown(moment::of_millis(row.at)));
    let word = printer.look(look, format_args!("{:<7}", visible(word)));
    if row.kind == "gap" {
        return format!("{time}  {word}  {} rows could not be kept here", row.bytes);
    }
    let by = row.by.as_ref().map(|by| format!("  (by {})", visible(by))).unwrap_or_default();
    let reason = if row.reason.is_empty() { String::new() } else { format!("  ({})", visible(&row.reason)) };
    let (agent, tool, path) = (visible(&row.agent), visible(&row.tool), visible(&row.path));
    let size = if row.kind == "intent" { String::new() } else { past::size(row.bytes) };
    format!("{time}  {word}  {}  {agent:<8}  {tool:<12}  {size:>9}  {path}{reason}{by}", row.call)
}

fn verify(desk: &Desk, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let found = progress::during("checking every signature", || activity::verify(desk))?;
    if as_json {
        printer.json(&serde_json::to_value(&found)?)?;
        return Ok(if found.ok { Ended::Done } else { Ended::Denied });
    }
    for finding in &found.said {
        printer.line(format_args!("{} {finding}", printer.look(Look::Bad, "✗")))?;
    }
    if found.more > 0 {
        printer.line(format_args!("{} and {} more", printer.look(Look::Bad, "✗"), found.more))?;
    }
    let sign = printer.look(Look::Warning, "⚠");
    if found.lost > 0 {
        printer.line(format_args!("{sign} {} could not be kept when they came", counted(found.lost, "row")))?;
    }
    if found.accepted > 0 {
        let times = counted(found.accepted, "time");
        printer.line(format_args!("{sign} a person took the audit as it was, {times}"))?;
    }
    if found.pruned_chains > 0 {
        let (rows, chains) = (counted(found.pruned_rows, "row"), counted(found.pruned_chains, "chain"));
        printer.line(format_args!("{sign} a person had {rows} in {chains} removed"))?;
    }
    if !found.ok {
        let count = found.said.len() as u64 + found.more;
        let things = if count == 1 { "1 thing is".to_owned() } else { format!("{count} things are") };
        let hint = "find out who can write the System Root; after putting back an older copy yourself, \
                    run `paddock audit accept`";
        return Err(Failure::failed(format!("the audit is not as it was written: {things} wrong"), hint));
    }
    let (rows, chains) = (counted(found.rows, "row"), counted(found.chains, "chain"));
    printer.line(format_args!("{} {rows} in {chains}, as they were written", printer.look(Look::Good, "✓")))?;
    Ok(Ended::Done)
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn export(desk: &Desk, file: Option<&Path>, printer: &Printer) -> anyhow::Result<Ended> {
    let Some(path) = file else {
        activity::export(desk, &mut BufWriter::new(printer.stream()))?;
        return Ok(Ended::Done);
    };
    let made = host::make_private_file(path).map_err(|error| {
        let message = format!("cannot make \"{}\": {error}", path.display());
        Failure::failed(message, "name a file that is not there yet, in a directory that you may write")
    })?;
    let mut out = BufWriter::new(made);
    let written = progress::during("writing every row", || activity::export(desk, &mut out))?;
    out.flush()?;
    printer::tell(format_args!("wrote {} to \"{}\"", counted(written, "row"), path.display()));
    Ok(Ended::Done)
}

fn prune(log: Option<&AuditLog>, before: &str, yes: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let before = activity::time(before)?;
    let Some(log) = log else {
        return Err(Failure::failed("nothing was recorded yet", "there is nothing to remove"));
    };
    let old = log.prunable(before).map_err(past::audit_problem)?;
    let (rows, chains) = (counted(old.rows, "row"), counted(old.chains, "chain"));
    if old.chains > 0 && !yes {
        printer::tell(format_args!("{rows} in {chains} ended before {}", moment::shown(moment::of_millis(before))));
        match printer::confirmed("remove them? `paddock audit export` keeps a copy")? {
            Some(true) => {}
            Some(false) => {
                printer::tell("nothing was removed");
                return Ok(Ended::Denied);
            }
            None => {
                return Err(Failure::misused("nothing was removed: nobody can be asked here", "--yes removes them"));
            }
        }
    }
    let done = progress::during("removing rows", || log.prune(before)).map_err(past::audit_problem)?;
    let (rows, chains) = (counted(done.rows, "row"), counted(done.chains, "chain"));
    printer.line(format_args!("removed {rows} in {chains}"))?;
    Ok(Ended::Done)
}

fn accept(log: Option<&AuditLog>) -> anyhow::Result<Ended> {
    let Some(log) = log else {
        return Err(Failure::failed("nothing was recorded yet", "there is nothing to accept"));
    };
    log.accept().map_err(past::audit_problem)?;
    printer::tell("taken as it is; `paddock audit verify` says so from now on");
    Ok(Ended::Done)
}
