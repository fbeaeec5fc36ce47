//! Instances: the conversations of agents, as a person looks at them and cares for them.
//!
//! What a conversation is and what can be kept of it is `paddock-state`'s to say; here it is found and shown. A look never holds more of a
//! conversation than it gives out.

mod shown;

use std::sync::Arc;

use paddock_core::visible;
use paddock_state::InstanceKey;
use paddock_state::conversation::{ConversationError, Message};
use paddock_state::instance::{Instances, Seen};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::threads;

pub use shown::{
    ClearedOrDeleted, ExtensionShown, InstanceDetail, InstanceListing, InstanceShown, LostLineShown, MessageShown,
    NoticeShown, OpenTurnShown, RepairShown, Restarted, Unreadable,
};

/// The most messages, and the most instances, that one look gives.
pub const MOST: usize = 200;

/// Which instances are wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstancesAsked {
    /// Only of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Those behind this one: the last key of the page before.
    #[serde(default)]
    pub after: Option<String>,
    /// The most: up to 200.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
}

/// The instances of the project, where it has a place. Makes nothing on disk.
#[must_use]
pub fn kept(desk: &Desk) -> Option<Arc<dyn Instances>> {
    desk.installation().home()?;
    desk.installation().instances()
}

/// The instances there are, the last changed first.
///
/// # Errors
/// When their place cannot be read.
pub fn list(desk: &Desk, asked: &InstancesAsked) -> Result<InstanceListing> {
    let Some(kept) = kept(desk) else { return Ok(InstanceListing::default()) };
    let listing = kept.list().map_err(|error| Failure::failed(visible(&error.to_string()), error.hint()))?;
    let mut found = listing.instances;
    if let Some(agent) = &asked.agent {
        found.retain(|instance| instance.agent_name == *agent);
    }
    if let Some(after) = &asked.after {
        let seen = found.iter().position(|instance| instance.instance_key.as_str() == after);
        found.drain(..seen.map_or(found.len(), |at| at + 1));
    }
    let more = asked.limit.map_or(0, |limit| found.len().saturating_sub(limit));
    found.truncate(found.len() - more);
    let unreadable = listing.unreadable.into_iter().map(|(name, reason)| Unreadable { name, reason }).collect();
    let instances = found.iter().map(|instance| shown::instance(instance, &*kept)).collect();
    Ok(InstanceListing { instances, more, unreadable })
}

/// What is known of an instance, its messages counted.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn show(desk: &Desk, key: &str) -> Result<InstanceDetail> {
    let (kept, key) = find(desk, key)?;
    let told = |error: ConversationError| problem(&error, &key);
    let instance = kept.show(&key).map_err(told)?.ok_or_else(|| none(&key))?;
    let (mut messages, mut bytes) = (0_u64, 0_u64);
    let seen = kept.read(&key, &mut |message| {
        messages += 1;
        bytes += (message.data().text().len() + message.metadata().text().len()) as u64;
    });
    let seen = seen.map_err(told)?;
    let mut extensions = Vec::new();
    for name in kept.extensions(&key).map_err(told)? {
        let state = kept.get_state(&key, &name).map_err(told)?.unwrap_or_default();
        let bytes = serde_json::Value::Object(state).to_string().len() as u64;
        extensions.push(ExtensionShown { name: name.to_string(), bytes });
    }
    Ok(InstanceDetail {
        instance: shown::instance(&instance, &*kept),
        messages,
        bytes,
        open_turn: seen.open_turn.as_ref().map(shown::open_turn),
        extensions,
        notices: seen.notices.iter().map(shown::notice).collect(),
    })
}

/// Messages of an instance in order: those behind the first `after`, `limit` of them at most.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn messages(desk: &Desk, key: &str, after: u64, limit: usize) -> Result<Vec<MessageShown>> {
    let (kept, key) = find(desk, key)?;
    let (mut at, mut found) = (0_u64, Vec::new());
    let read = kept.read(&key, &mut |message| {
        at += 1;
        if at > after && found.len() < limit {
            found.push(MessageShown(message));
        }
    });
    read.map_err(|error| problem(&error, &key))?;
    Ok(found)
}

/// Gives out every message of an instance.
///
/// # Errors
/// When there is none, or it is damaged: then after what comes before the damage.
pub fn each_message(desk: &Desk, key: &str, each: &mut dyn FnMut(Message)) -> Result<Seen> {
    let (kept, key) = find(desk, key)?;
    kept.read(&key, each).map_err(|error| problem(&error, &key))
}

/// Ends a turn that was cut off, keeping what it said, so that the next can begin.
///
/// # Errors
/// When there is none, or another process holds it.
pub fn restart(desk: &Desk, key: &str) -> Result<Restarted> {
    let (kept, key) = find(desk, key)?;
    let ended = kept.restart(&key).map_err(|error| problem(&error, &key))?;
    noted(desk, &*kept, &key, "instance restart");
    Ok(Restarted { key: key.to_string(), ended_turn: ended.map(|turn| turn.to_string()) })
}

/// Lets an instance begin anew, without its messages and the state of its extensions.
///
/// # Errors
/// When there is none, or another process holds it.
pub fn clear(desk: &Desk, key: &str) -> Result<ClearedOrDeleted> {
    let (kept, key) = find(desk, key)?;
    kept.clear(&key).map_err(|error| problem(&error, &key))?;
    noted(desk, &*kept, &key, "instance restart");
    Ok(ClearedOrDeleted { key: key.to_string(), was_there: true })
}

/// Removes an instance with its messages, the state of its extensions, and what a run of that name left; absent is no error.
///
/// # Errors
/// When another process holds it, or it cannot be removed.
pub fn delete(desk: &Desk, key: &str) -> Result<ClearedOrDeleted> {
    let key = key_of(key)?;
    let Some(kept) = kept(desk) else { return Ok(ClearedOrDeleted { key: key.to_string(), was_there: false }) };
    let agent = kept.show(&key).ok().flatten().map(|instance| instance.agent_name);
    let was_there = kept.delete(&key).map_err(|error| problem(&error, &key))?;
    // Also where it was gone already: whoever removed it may have been cut off here.
    threads::forget(desk, &key)?;
    if was_there {
        threads::noted(desk, &agent.unwrap_or_default(), "instance delete", "done");
    }
    Ok(ClearedOrDeleted { key: key.to_string(), was_there })
}

/// What can be kept of a damaged conversation; with `apply` it takes the place of the damaged one, which is kept aside.
///
/// # Errors
/// When there is no such instance, or another process holds it.
pub fn repair(desk: &Desk, key: &str, apply: bool) -> Result<RepairShown> {
    let (kept, key) = find(desk, key)?;
    let repaired = kept.repair(&key, apply).map_err(|error| problem(&error, &key))?;
    if apply && !repaired.lost.is_empty() {
        noted(desk, &*kept, &key, "instance repair");
    }
    Ok(shown::repaired(&repaired))
}

fn noted(desk: &Desk, kept: &dyn Instances, key: &InstanceKey, what: &str) {
    let agent = kept.show(key).ok().flatten().map(|instance| instance.agent_name).unwrap_or_default();
    threads::noted(desk, &agent, what, "done");
}

fn find(desk: &Desk, key: &str) -> Result<(Arc<dyn Instances>, InstanceKey)> {
    let key = key_of(key)?;
    match kept(desk) {
        Some(kept) => Ok((kept, key)),
        None => Err(none(&key)),
    }
}

/// The key that a person wrote.
///
/// # Errors
/// When it can be none.
pub fn key_of(text: &str) -> Result<InstanceKey> {
    InstanceKey::new(text).map_err(|bad| Failure::misused(&bad, bad.hint()))
}

fn none(key: &InstanceKey) -> Failure {
    problem(&ConversationError::NoInstance(key.clone()), key)
}

/// What cannot be done with an instance, as it is told.
#[must_use]
pub fn problem(error: &ConversationError, key: &InstanceKey) -> Failure {
    let kind = match error {
        ConversationError::NoInstance(_) => FailureKind::Missing,
        ConversationError::Held { .. } => FailureKind::Conflict,
        _ => FailureKind::Failed,
    };
    Failure::of(kind, visible(&error.to_string()), error.hint().replace("KEY", key.as_str()))
}
