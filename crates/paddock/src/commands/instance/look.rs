//! `instance list` and `instance show`: what is known without reading what was said.

use std::time::SystemTime;

use paddock_core::visible;
use paddock_state::instance::{Instance, Instances, Listing, Status};
use serde_json::{Value, json};

use super::{Named, counted, instances, tell_notices};
use crate::cli::{Global, InstanceList};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Look, Printer};
use paddock_desk::{moment, past};

pub(super) fn list(global: &Global, options: &InstanceList, printer: &Printer) -> anyhow::Result<Ended> {
    let found = instances(global)?;
    let Listing { mut instances, unreadable } = match &found {
        Some(found) => {
            found.instances.list().map_err(|error| Failure::failed(visible(&error.to_string()), error.hint()))?
        }
        None => Listing::default(),
    };
    if let Some(agent) = options.agent.as_ref().or(global.agent.as_ref()) {
        instances.retain(|instance| instance.agent_name == agent.as_str());
    }
    let more = if options.all { 0 } else { instances.len().saturating_sub(options.n) };
    instances.truncate(instances.len() - more);
    for (name, reason) in &unreadable {
        printer::tell(format_args!("note: instance \"{}\" cannot be read: {}", visible(name), visible(reason)));
    }
    if options.json {
        let rows: Vec<Value> =
            instances.iter().map(|row| as_json(row, found.as_ref().map(|found| &*found.instances))).collect();
        let unreadable: Vec<Value> =
            unreadable.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect();
        printer.json(&json!({ "instances": rows, "more": more, "unreadable": unreadable }))?;
        return Ok(Ended::Done);
    }
    if instances.is_empty() && unreadable.is_empty() {
        printer::tell("there are no instances");
    }
    rows(&instances, printer)?;
    if more > 0 {
        printer::tell(format_args!("{more} more: raise -n, or show --all"));
    }
    Ok(Ended::Done)
}

fn rows(instances: &[Instance], printer: &Printer) -> anyhow::Result<()> {
    let agent = |row: &Instance| visible(&row.agent_name);
    let width = |text: &str| text.chars().count();
    let keys = instances.iter().map(|row| width(row.instance_key.as_str())).max().unwrap_or(0);
    let agents = instances.iter().map(|row| width(&agent(row))).max().unwrap_or(0);
    for row in instances {
        let key = printer.look(Look::Strong, format_args!("{:keys$}", row.instance_key.as_str()));
        let status = format!("{:10}", row.status.as_str());
        let status = if row.status == Status::Processing { printer.look(Look::Warning, status) } else { status };
        let changed = moment::shown(SystemTime::from(row.updated_at));
        printer.line(format_args!("{key}  {:agents$}  {status}  changed {changed}", agent(row)))?;
    }
    Ok(())
}

fn as_json(instance: &Instance, instances: Option<&dyn Instances>) -> Value {
    json!({
        "key": instance.instance_key,
        "agent": instance.agent_name,
        "status": instance.status,
        "createdAt": instance.created_at,
        "updatedAt": instance.updated_at,
        "heldBy": instances.and_then(|instances| instances.held_by(&instance.instance_key)),
    })
}

pub(super) fn show(named: &Named, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let (key, instances) = (&named.key, named.instances());
    let problem = |error| named.problem(&error);
    let Some(instance) = instances.show(key).map_err(problem)? else {
        return Err(named.problem(&paddock_state::conversation::ConversationError::NoInstance(key.clone())));
    };
    let (mut messages, mut bytes) = (0_u64, 0_u64);
    let seen = instances.read(key, &mut |message| {
        messages += 1;
        bytes += (message.data().text().len() + message.metadata().text().len()) as u64;
    });
    let seen = seen.map_err(problem)?;
    let mut extensions = Vec::new();
    for name in named.extensions()? {
        let state = instances.get_state(key, &name).map_err(problem)?.unwrap_or_default();
        extensions.push((name, serde_json::to_string(&state)?.len() as u64));
    }
    tell_notices(&seen.notices);
    if as_json {
        let mut value = self::as_json(&instance, Some(instances));
        value["messages"] = messages.into();
        value["bytes"] = bytes.into();
        value["openTurn"] = match &seen.open_turn {
            Some(open) => json!({ "turnId": open.turn, "events": open.events, "lastSeq": open.last_seq }),
            None => Value::Null,
        };
        value["extensions"] = extensions.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect();
        value["notices"] =
            seen.notices.iter().map(|notice| json!({ "code": notice.code(), "said": notice.to_string() })).collect();
        printer.json(&value)?;
        return Ok(Ended::Done);
    }
    let row = |name: &str, value: &str| {
        printer.line(format_args!("{}  {value}", printer.look(Look::Faint, format_args!("{name:10}"))))
    };
    row("key", key.as_str())?;
    row("agent", &visible(&instance.agent_name))?;
    row("status", instance.status.as_str())?;
    row("created", &moment::shown(instance.created_at.into()))?;
    row("changed", &moment::shown(instance.updated_at.into()))?;
    row("messages", &format!("{messages}, {}", past::size(bytes)))?;
    match &seen.open_turn {
        Some(open) => row("open turn", &format!("{}, with {}", open.turn, counted(open.events, "event")))?,
        None => row("open turn", "none")?,
    }
    row("held by", &instances.held_by(key).map_or_else(|| "nobody".to_owned(), |holder| visible(&holder)))?;
    for (name, bytes) in &extensions {
        row("extension", &format!("{name}, {}", past::size(*bytes)))?;
    }
    Ok(Ended::Done)
}
