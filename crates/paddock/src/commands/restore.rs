//! `paddock restore`: brings a path to an earlier moment, as a person's act.

use std::time::SystemTime;

use paddock_config::Installation;
use paddock_core::{LogicalPath, Version, visible};
use paddock_ledger::history::{History, HistoryError, Moment, Restoration, Spot};
use paddock_tools::Person;
use serde_json::json;

use crate::cli::{Global, Restore};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use paddock_desk::moment;
use paddock_desk::past::{self, Past};
use paddock_desk::{Project, project};

pub(crate) fn run(global: &Global, options: &Restore, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    // Looked at first: a moment that is none makes nothing on disk.
    let at = when(&project.installation()?, &options.at)?;
    let agent = global.agent();
    let past = Past::of(if options.dry_run { project.looking_as(agent)? } else { project.working_as(agent)? })?;
    let path = past.policy.path(&options.path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let audit = past.installation.audit();
    let person = Person::on(&past.policy, &*audit);
    let call = person.call();
    let spot = Spot::find(person.vfs(), &path).ok_or_else(|| uncovered(&path))?;
    let way = past.history.restore_to(person.vfs(), &call, &spot, at).map_err(past::told)?;
    let done = if options.dry_run || way.alterations.is_empty() {
        None
    } else {
        project::count_first()?;
        Some(person.act("restore", &call, way.operation()).map_err(|refused| past::refused(&refused))?.call)
    };
    if options.json {
        printer.json(&json!({
            "path": path.as_str(),
            "call": done.map(|call| call.to_string()),
            "done": done.is_some(),
            "changes": way.says(),
        }))?;
        return Ok(Ended::Done);
    }
    tell(&path, &way, options.dry_run, printer)?;
    if let Some(call) = done {
        printer::tell(format_args!("`paddock undo {call}` takes this back"));
    }
    Ok(Ended::Done)
}

fn tell(path: &LogicalPath, way: &Restoration, dry: bool, printer: &Printer) -> anyhow::Result<()> {
    if way.alterations.is_empty() {
        return printer.line(format_args!("{path} has not changed since: there is nothing to do"));
    }
    let verb = if dry { "would restore" } else { "restored" };
    printer.line(format_args!("{verb} {path}"))?;
    way.says().iter().try_for_each(|line| printer.line(format_args!("  {}", visible(line))))
}

/// The moment that is meant: a version, a time, or how a call left things.
fn when(installation: &Installation, text: &str) -> anyhow::Result<Moment> {
    let history = past::history(installation)?;
    if let Some(version) = Version::parse(text) {
        return Ok(Moment::Version(version));
    }
    // An id is one word of letters and digits, and no way to write a time is.
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return as_left_by(history, text);
    }
    let now = SystemTime::now();
    let Some(time) = moment::parse(text, now) else {
        let hint = format!("{}, or the id of a call", moment::WAYS);
        return Err(Failure::misused(format!("\"{}\" is no moment", visible(text)), hint));
    };
    if time > now {
        return Err(Failure::misused(format!("\"{}\" is not over yet", visible(text)), "name a moment of the past"));
    }
    let kept_since = installation.retention().age.and_then(|age| now.checked_sub(age));
    if let Some(since) = kept_since.filter(|since| time < *since) {
        let message =
            format!("the history is kept since {}, and \"{}\" is before", moment::shown(since), visible(text));
        return Err(Failure::failed(message, "keep it longer with `history.keep` under `virtual` in paddock.toml"));
    }
    Ok(Moment::Time(time))
}

fn as_left_by(history: &History, id: &str) -> anyhow::Result<Moment> {
    match history.find_call(id) {
        Ok(call) => Ok(Moment::Call(call.call)),
        Err(HistoryError::NoSuchCall(_)) => {
            let message = format!("\"{id}\" is no moment, and no call that changed anything has this id");
            Err(Failure::failed(message, format!("{}, or an id that `paddock log` shows", moment::WAYS)))
        }
        Err(error) => Err(past::told(error).into()),
    }
}

fn uncovered(path: &LogicalPath) -> anyhow::Error {
    Failure::failed(
        format!("no Workspace that keeps a history covers \"{path}\""),
        "`paddock map` shows the Workspaces of the agent; --agent names another",
    )
}
