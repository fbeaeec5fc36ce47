//! What is kept for the project: the databases and servers, calls that never ended, the audit.
//!
//! Looks only, and makes nothing: a project for which nothing is kept yet has no row here.

use std::path::Path;
use std::time::SystemTime;

use paddock_config::Installation;
use paddock_core::{Journal as _, visible};
use paddock_db::{DbError, Postgres, Sqlite};
use paddock_ledger::audit::{AuditError, AuditLog};
use paddock_ledger::history::{CallRow, History};

use super::{Row, Status, told};
use crate::{Project, host, moment};

/// Findings of one database that are shown.
const SHOWN: usize = 5;

pub(super) fn examine(project: &Project) -> Vec<Row> {
    let installation = match project.installation() {
        Ok(installation) => installation,
        Err(error) => return vec![told("state", &error)],
    };
    if let Some(place) = installation.taken_away() {
        let found = format!("\"{}\" was taken away: of what was recorded only the head is left", place.display());
        return vec![Row::bad("audit", found, "put it back, or what `paddock backup` made")];
    }
    let there: Vec<(&str, &Sqlite)> =
        installation.databases().into_iter().filter(|(_, database)| host::is_file(database.path())).collect();
    let mut rows: Vec<Row> = installation.home().and_then(|home| unwritable(home.path())).into_iter().collect();
    rows.extend(there.iter().map(|(name, database)| database_row(name, database)));
    match project.servers() {
        Ok(servers) => rows.extend(servers.iter().flat_map(|(key, server)| server_rows(key, server))),
        Err(error) => rows.push(told("database", &error)),
    }
    // What cannot be opened has nothing more to say.
    let whole = rows.iter().all(|row| row.status != Status::Bad);
    if let Some(Err(error)) = installation.forks().map(|forks| forks.list()) {
        rows.push(Row::bad("forks", format!("no agent has any: {error}"), error.hint()));
    }
    if whole && project.has_ledger(&installation).unwrap_or(false) {
        rows.extend(ledger(&installation));
    }
    rows
}

/// Can nothing be put into the project's place?
fn unwritable(place: &Path) -> Option<Row> {
    let error = host::try_a_write(place).err()?;
    let found = format!("\"{}\" cannot be written: {error}", place.display());
    Some(Row::bad("state", found, "look who owns it, and whether its disk is full or read-only"))
}

fn database_row(name: &str, database: &Sqlite) -> Row {
    let what = format!("database {name}");
    let path = database.path().display();
    let looked =
        database.check().and_then(|found| if found.is_empty() { open(database).map(|()| found) } else { Ok(found) });
    match looked {
        Ok(found) if found.is_empty() => Row::good(what, format!("{path} is whole")),
        Ok(found) => {
            let shown: Vec<String> = found.iter().take(SHOWN).map(|line| visible(line)).collect();
            let more = found.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
            Row::bad(what, format!("{path} is damaged: {}{more}", shown.join("\n")), damaged())
        }
        Err(error) => Row::bad(what, error.to_string(), error.hint()),
    }
}

/// What a server is, and what it should not be; or why it cannot be asked.
fn server_rows(key: &str, server: &Postgres) -> Vec<Row> {
    let what = format!("database {key}");
    let looked = server.check().and_then(|found| Ok((found, server.about()?)));
    let (found, about) = match looked {
        Ok(looked) => looked,
        Err(error) => return vec![Row::bad(what, error.to_string(), error.hint())],
    };
    let mut rows = vec![Row::good(what.clone(), about.into_iter().next().unwrap_or_default())];
    let remedy = "turn it on in the server's settings, unless losing the last changes is all right";
    rows.extend(found.into_iter().map(|found| Row::doubtful(what.clone(), found, remedy)));
    rows
}

/// A database may be whole and still not be for this program: written by a newer one, or not to be written at all.
fn open(database: &Sqlite) -> Result<(), DbError> {
    database.read(|_| Ok(()))
}

fn damaged() -> &'static str {
    "stop the agents, keep a copy of it as it is, and put back what `paddock backup` made"
}

fn ledger(installation: &Installation) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(history) = installation.history() {
        rows.extend(unfinished(history));
        rows.extend(no_room(history));
    }
    if let Some(path) = installation.key_gone() {
        let gone = AuditError::KeyGone { path: path.clone() };
        rows.push(Row::bad("audit", gone.to_string(), gone.hint()));
    } else if let Some(audit) = installation.audit_log() {
        rows.push(audit_row(audit));
    }
    rows
}

/// Is all that may be kept of the past what was there before agents came?
fn no_room(history: &History) -> Option<Row> {
    let found =
        "it is full of what was there before agents came: nothing more is promised, and a person is asked first";
    let remedy = "raise `size` or shorten `keep` of history in paddock.toml";
    (!history.has_room()).then(|| Row::doubtful("history", found, remedy))
}

/// Calls whose process ended before they did.
fn unfinished(history: &History) -> Option<Row> {
    let what = "calls";
    let open = match history.unfinished() {
        Ok(open) => open,
        Err(error) => return Some(Row::bad(what, error.to_string(), error.hint())),
    };
    let now = SystemTime::now();
    let cut_off: Vec<&CallRow> = open.iter().filter(|call| call.deadline < now).collect();
    let last = cut_off.first()?;
    let count = if cut_off.len() == 1 { "1 call".to_owned() } else { format!("{} calls", cut_off.len()) };
    let (op, path) = (visible(&last.op), visible(&last.path));
    let found = format!("{count} never ended, the last one {op} {path} at {}", moment::shown(last.began));
    let remedy = match last.changes {
        0 => "it changed nothing, as far as the history knows; look at the path".to_owned(),
        _ => format!("look at what it did; `paddock undo {}` takes it back", last.call),
    };
    Some(Row::doubtful(what, found, remedy))
}

fn audit_row(audit: &AuditLog) -> Row {
    let what = "audit";
    match audit.verify() {
        Err(error) => Row::bad(what, error.to_string(), error.hint()),
        Ok(report) if !report.is_ok() => {
            Row::bad(what, "it is not as it was written", "`paddock audit verify` says what is wrong")
        }
        Ok(report) if report.lost > 0 => {
            let found = format!("{} rows, and {} could not be kept when they came", report.rows, report.lost);
            Row::doubtful(what, found, "the database failed for a while then; look at the disk")
        }
        Ok(report) => Row::good(what, format!("{} rows, as they were written", report.rows)),
    }
}
