//! `instance restart`, `delete` and `repair`: what changes or removes a conversation, by a person's word.

use paddock_core::visible;
use paddock_desk::instances::{self, RepairShown};
use paddock_state::InstanceKey;
use paddock_state::conversation::ConversationError;
use serde_json::json;

use super::{counted, looking, problem, working};
use crate::cli::Global;
use crate::failure::{Ended, Failure};
use crate::printer::confirmed;
use crate::printer::{self, Look, Printer};

pub(super) fn restart(global: &Global, key: &str, printer: &Printer) -> anyhow::Result<Ended> {
    let key = instances::key_of(key)?;
    let restarted = instances::restart(&working(global, &key)?, key.as_str())?;
    let turn = match restarted.ended_turn {
        Some(turn) => format!("turn \"{turn}\", which was cut off, is over"),
        None => "no turn was open".to_owned(),
    };
    printer.line(format_args!("instance \"{key}\" rests; {turn}"))?;
    Ok(Ended::Done)
}

pub(super) fn clear(global: &Global, key: &str, yes: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let key = instances::key_of(key)?;
    let none = || problem(&ConversationError::NoInstance(key.clone()), &key);
    let kept = instances::kept(&looking(global)?).ok_or_else(none)?;
    if kept.show(&key).map_err(|error| problem(&error, &key))?.is_none() {
        return Err(none());
    }
    let question = format!("let instance \"{key}\" begin anew, without its messages and the state of its extensions?");
    if !agreed(&question, yes, "nothing was changed")? {
        return Ok(Ended::Denied);
    }
    instances::clear(&working(global, &key)?, key.as_str())?;
    printer.line(format_args!("instance \"{key}\" begins anew"))?;
    Ok(Ended::Done)
}

pub(super) fn delete(global: &Global, keys: &[String], yes: bool, printer: &Printer) -> anyhow::Result<Ended> {
    // All of them are looked at before one is removed.
    let keys = keys.iter().map(|key| Ok(instances::key_of(key)?)).collect::<anyhow::Result<Vec<InstanceKey>>>()?;
    let kept = instances::kept(&looking(global)?);
    let is_there = |key: &&InstanceKey| {
        // One that cannot be read can be deleted.
        kept.as_ref().is_some_and(|kept| !matches!(kept.show(key), Ok(None)))
    };
    let names: Vec<String> = keys.iter().filter(is_there).map(|key| format!("\"{key}\"")).collect();
    let question = format!("delete {} with all messages and the state of extensions?", names.join(", "));
    if !names.is_empty() && !agreed(&question, yes, "nothing was deleted")? {
        return Ok(Ended::Denied);
    }
    let mut ended = Ended::Done;
    for key in &keys {
        match working(global, key).and_then(|desk| Ok(instances::delete(&desk, key.as_str())?)) {
            Ok(deleted) if deleted.was_there => printer.line(format_args!("deleted instance \"{key}\""))?,
            Ok(_) => printer::tell(format_args!("there is no instance \"{key}\": nothing to delete")),
            // One that cannot be removed must not keep the others.
            Err(error) => {
                printer::tell(crate::failure::report(&error).0);
                ended = Ended::Denied;
            }
        }
    }
    Ok(ended)
}

/// Whether it is to be done: the person said so before, or says so now.
fn agreed(question: &str, yes: bool, otherwise: &str) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    match confirmed(question)? {
        Some(true) => Ok(true),
        Some(false) => {
            printer::tell(otherwise);
            Ok(false)
        }
        None => Err(Failure::misused(format!("{otherwise}: nobody can be asked here"), "--yes does it without asking")),
    }
}

pub(super) fn repair(
    global: &Global,
    key: &str,
    apply: bool,
    as_json: bool,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let key = instances::key_of(key)?;
    let desk = if apply { working(global, &key)? } else { looking(global)? };
    let repaired = instances::repair(&desk, key.as_str(), apply)?;
    if as_json {
        printer.json(&json!(repaired))?;
        return Ok(Ended::Done);
    }
    for lost in &repaired.lost {
        let file = lost.file.file_name().unwrap_or_default().to_string_lossy();
        let id = lost.id.as_ref().map(|id| format!(", message \"{}\"", visible(id))).unwrap_or_default();
        let sign = printer.look(Look::Bad, "✗");
        printer.line(format_args!("{sign} {} line {}{id}: {}", visible(&file), lost.line, visible(&lost.reason)))?;
    }
    say_what_is_kept(&key, &repaired, apply, printer)?;
    Ok(Ended::Done)
}

fn say_what_is_kept(key: &InstanceKey, repaired: &RepairShown, apply: bool, printer: &Printer) -> anyhow::Result<()> {
    let kept = counted(repaired.messages, "message");
    let kept = if repaired.events == 0 { kept } else { format!("{kept} and {}", counted(repaired.events, "event")) };
    let sign = printer.look(Look::Good, "✓");
    if repaired.lost.is_empty() {
        return printer.line(format_args!("{sign} nothing is damaged: {kept}"));
    }
    let verb = if apply { "kept" } else { "can be kept" };
    printer.line(format_args!("{sign} {kept} {verb}; {} cannot", counted(repaired.lost.len() as u64, "line")))?;
    match &repaired.kept_aside {
        Some(aside) => printer::tell(format_args!(
            "the files as they were found are in \"{}\"",
            visible(&aside.display().to_string())
        )),
        None => printer::tell(format_args!(
            "nothing was changed; `paddock instance repair {key} --apply` keeps these and puts the files as they are aside"
        )),
    }
    Ok(())
}
