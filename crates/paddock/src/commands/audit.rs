//! `paddock audit`: what every call asked for and what became of it, and whether that was tampered with.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use paddock_config::Installation;
use paddock_core::{CallId, LogicalPath, visible};
use paddock_ledger::audit::{AuditError, AuditLog, Filter, Kind, Report, Row};
use serde_json::{Value, json};

use crate::cli::{Audit, AuditQuery, Global};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Look, Printer};
use paddock_desk::Project;
use paddock_desk::{moment, past};

/// How often --follow looks for new rows.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) fn run(global: &Global, options: &Audit, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let installation = project.installation()?;
    let kept = project.has_ledger(&installation)?;
    let log = installation.audit_log().filter(|_| kept).map(|log| &**log);
    if matches!(options, Audit::Verify { .. } | Audit::Accept | Audit::Prune { .. }) {
        can_be_verified(&installation)?;
    }
    match options {
        Audit::Tail { n, follow, json } => tail(global, log, Tail { n: *n, follow: *follow, json: *json }, printer),
        Audit::Query(options) => query(global, &installation, log, options, printer),
        Audit::Verify { json } => verify(log, *json, printer),
        Audit::Export { file } => export(log, file.as_deref(), printer),
        Audit::Accept => accept(log),
        Audit::Prune { before, yes } => prune(log, before, *yes, printer),
    }
}

/// Without the key, or with everything gone that it signed, there is nothing to compare.
fn can_be_verified(installation: &Installation) -> anyhow::Result<()> {
    if let Some(path) = installation.key_gone() {
        return Err(past::audit_problem(AuditError::KeyGone { path: path.clone() }).into());
    }
    let Some(place) = installation.taken_away() else { return Ok(()) };
    let message = format!("\"{}\" was taken away, with all that was recorded in it", place.display());
    Err(Failure::failed(message, "put it back, or what `paddock backup` made; the head of its audit is still there"))
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
        return show(&rows, options.json, printer);
    }
    // Begun before looking back: a row that comes meanwhile is shown, if perhaps twice in this rare case, never lost.
    let mut follow = log.follow().map_err(past::audit_problem)?;
    let before = log.tail(&filter, options.n).map_err(past::audit_problem)?;
    let last: Vec<(u64, u64)> = before.iter().map(|row| (row.chain, row.seq)).collect();
    each(&before, options.json, printer)?;
    while printer.is_read() {
        let mut rows = log.poll(&mut follow).map_err(past::audit_problem)?;
        rows.retain(|row| filter.agent.as_ref().is_none_or(|agent| *agent == row.agent));
        rows.retain(|row| !last.contains(&(row.chain, row.seq)));
        each(&rows, options.json, printer)?;
        std::thread::sleep(LOOK);
    }
    Ok(Ended::Done)
}

fn query(
    global: &Global,
    installation: &Installation,
    log: Option<&AuditLog>,
    options: &AuditQuery,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let filter = Filter {
        agent: global.agent.as_ref().map(ToString::to_string),
        workspace: options.workspace.as_deref().map(path).transpose()?,
        path: options.path.as_deref().map(path).transpose()?,
        outcome: options.outcome.clone(),
        tool: options.tool.clone(),
        call: options.call.as_deref().map(|id| call(installation, id)).transpose()?,
        since: options.since.as_deref().map(time).transpose()?,
        until: options.until.as_deref().map(time).transpose()?,
        after: None,
        limit: Some(options.limit),
    };
    let Some(log) = log else { return show(&[], options.json, printer) };
    let page = log.query(&filter).map_err(past::audit_problem)?;
    show(&page.rows, options.json, printer)?;
    if page.next.is_some() {
        printer::tell(format_args!(
            "these are the first {}; there may be more: raise --limit, or begin later with --since",
            page.rows.len()
        ));
    }
    Ok(Ended::Done)
}

/// A path as it stands in the rows.
fn path(text: &str) -> anyhow::Result<String> {
    let path = LogicalPath::parse(text, &LogicalPath::top());
    path.map(|path| path.to_string()).map_err(|error| Failure::misused(&error, error.hint()))
}

fn time(text: &str) -> anyhow::Result<i64> {
    let time = moment::parse(text, SystemTime::now());
    time.map(moment::millis)
        .ok_or_else(|| Failure::misused(format!("\"{}\" is no moment", visible(text)), moment::WAYS))
}

/// A call by its id; one that changed something also by the beginning of it.
fn call(installation: &Installation, id: &str) -> anyhow::Result<CallId> {
    if let Some(call) = CallId::parse(&id.to_ascii_lowercase()) {
        return Ok(call);
    }
    Ok(past::history(installation)?.find_call(id).map_err(past::told)?.call)
}

fn show(rows: &[Row], as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    if as_json {
        printer.json(&Value::Array(rows.iter().map(row_json).collect::<anyhow::Result<_>>()?))?;
    } else {
        each(rows, false, printer)?;
    }
    Ok(Ended::Done)
}

/// One line per row.
fn each(rows: &[Row], as_json: bool, printer: &Printer) -> anyhow::Result<()> {
    for row in rows {
        if as_json { printer.line(row_json(row)?)? } else { printer.line(line(row, printer))? }
    }
    Ok(())
}

fn row_json(row: &Row) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(row)?;
    value["time"] = moment::exact(moment::of_millis(row.at)).into();
    Ok(value)
}

fn line(row: &Row, printer: &Printer) -> String {
    let (word, look) = match (row.kind, row.outcome.as_str()) {
        (Kind::Intent, _) => ("begun", Look::Faint),
        (Kind::Gap, _) => ("gap", Look::Warning),
        (Kind::Outcome, "done") => ("done", Look::Good),
        (Kind::Outcome, "parked") => ("parked", Look::Warning),
        (Kind::Outcome, other) => (other, Look::Bad),
    };
    let time = printer.look(Look::Faint, moment::shown(moment::of_millis(row.at)));
    let word = printer.look(look, format_args!("{:<7}", visible(word)));
    if row.kind == Kind::Gap {
        return format!("{time}  {word}  {} rows could not be kept here", row.bytes);
    }
    let reason = if row.reason.is_empty() { String::new() } else { format!("  ({})", visible(&row.reason)) };
    let (agent, tool, path) = (visible(&row.agent), visible(&row.tool), visible(&row.path));
    let size = if row.kind == Kind::Intent { String::new() } else { past::size(row.bytes) };
    format!("{time}  {word}  {}  {agent:<8}  {tool:<12}  {size:>9}  {path}{reason}", row.call)
}

fn verify(log: Option<&AuditLog>, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let report = match log {
        Some(log) => log.verify().map_err(past::audit_problem)?,
        None => Report::default(),
    };
    let ended = if report.is_ok() { Ended::Done } else { Ended::Denied };
    if as_json {
        let mut value = serde_json::to_value(&report)?;
        let texts: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        value["ok"] = report.is_ok().into();
        value["said"] = json!(texts);
        printer.json(&value)?;
        return Ok(ended);
    }
    for finding in &report.findings {
        printer.line(format_args!("{} {finding}", printer.look(Look::Bad, "✗")))?;
    }
    if report.more > 0 {
        printer.line(format_args!("{} and {} more", printer.look(Look::Bad, "✗"), report.more))?;
    }
    if report.lost > 0 {
        let sign = printer.look(Look::Warning, "⚠");
        printer.line(format_args!("{sign} {} could not be kept when they came", counted(report.lost, "row")))?;
    }
    if report.accepted > 0 {
        let sign = printer.look(Look::Warning, "⚠");
        let times = counted(report.accepted, "time");
        printer.line(format_args!("{sign} a person took the audit as it was, {times}"))?;
    }
    if report.pruned_chains > 0 {
        let (rows, chains) = (counted(report.pruned_rows, "row"), counted(report.pruned_chains, "chain"));
        let sign = printer.look(Look::Warning, "⚠");
        printer.line(format_args!("{sign} a person had {rows} in {chains} removed"))?;
    }
    if !report.is_ok() {
        let count = report.findings.len() as u64 + report.more;
        let things = if count == 1 { "1 thing is".to_owned() } else { format!("{count} things are") };
        let hint = "find out who can write the System Root; after putting back an older copy yourself, \
                    run `paddock audit accept`";
        return Err(Failure::failed(format!("the audit is not as it was written: {things} wrong"), hint));
    }
    let (rows, chains) = (counted(report.rows, "row"), counted(report.chains, "chain"));
    printer.line(format_args!("{} {rows} in {chains}, as they were written", printer.look(Look::Good, "✓")))?;
    Ok(Ended::Done)
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn export(log: Option<&AuditLog>, file: Option<&Path>, printer: &Printer) -> anyhow::Result<Ended> {
    let Some(path) = file else {
        let mut out = BufWriter::new(printer.stream());
        if let Some(log) = log {
            log.export(&mut out).map_err(past::audit_problem)?;
        }
        return Ok(Ended::Done);
    };
    let made = host::make_private_file(path).map_err(|error| {
        let message = format!("cannot make \"{}\": {error}", path.display());
        Failure::failed(message, "name a file that is not there yet, in a directory that you may write")
    })?;
    let mut out = BufWriter::new(made);
    let written = match log {
        Some(log) => log.export(&mut out).map_err(past::audit_problem)?,
        None => 0,
    };
    out.flush()?;
    printer::tell(format_args!("wrote {} to \"{}\"", counted(written, "row"), path.display()));
    Ok(Ended::Done)
}

fn prune(log: Option<&AuditLog>, before: &str, yes: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let before = time(before)?;
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
    let done = log.prune(before).map_err(past::audit_problem)?;
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
