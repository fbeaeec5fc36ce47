//! Repair: what can be kept of a conversation with damaged rows, and going on with that.
//!
//! Looking changes nothing. Repairing moves the damaged rows into a table of their own, as they are, and counts anew what is left.
//! It must never invent or complete a message.

use std::ops::ControlFlow;
use std::path::Path;

use paddock_db::PgTransaction;

use super::read::stored_events;
use super::rows::{StoredEvent, each_message, stored};
use super::{Counts, Places};
use crate::conversation::line::Frame;
use crate::conversation::{LostLine, Repaired, Result};
use crate::{Timestamp, TurnId};

/// What is sound, and the numbers of what is not.
#[derive(Default)]
struct Found {
    told: Repaired,
    messages: Vec<i64>,
    events: Vec<i64>,
    /// Sound events with their frames.
    sound: Vec<(StoredEvent, Frame)>,
}

/// Looks at all rows; goes on with the sound ones where `apply`. The row of the instance is locked and nobody holds it.
pub(super) fn repair(tx: &mut PgTransaction<'_>, counts: &Counts, places: &Places, apply: bool) -> Result<Repaired> {
    let mut found = Found::default();
    look_at_messages(tx, counts, places, &mut found)?;
    look_at_events(tx, counts, places, &mut found)?;
    if apply && !found.told.lost.is_empty() {
        let at = Timestamp::now().to_string();
        put_aside(tx, counts, &found, &at)?;
        go_on(tx, counts, &found)?;
        found.told.kept_aside = Some(places.damaged.join(at));
    }
    Ok(found.told)
}

fn lost(file: &Path, line: u64, reason: String, id: Option<String>) -> LostLine {
    LostLine { file: file.to_owned(), line, reason, id }
}

fn look_at_messages(tx: &mut PgTransaction<'_>, counts: &Counts, places: &Places, found: &mut Found) -> Result<()> {
    each_message(tx, counts.instance, 0, &mut |row| {
        match row.opened() {
            Ok(_) => found.told.messages += 1,
            Err(reason) => {
                found.messages.push(stored(row.seq));
                found.told.lost.push(lost(&places.messages, row.seq, reason, row.id()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let rows = found.told.messages + found.messages.len() as u64;
    if rows != counts.messages {
        let reason = format!("{rows} messages are there, and {} were written", counts.messages);
        found.told.lost.push(lost(&places.messages, counts.confirmed_seq, reason, None));
    }
    Ok(())
}

fn look_at_events(tx: &mut PgTransaction<'_>, counts: &Counts, places: &Places, found: &mut Found) -> Result<()> {
    let mut turn: Option<TurnId> = None;
    for event in stored_events(tx, counts)? {
        let opened = event.opened().and_then(|(_, frame)| match &turn {
            Some(turn) if *turn != frame.turn => Err(format!("it belongs to turn \"{}\"", frame.turn)),
            _ => Ok(frame),
        });
        match opened {
            Ok(frame) => {
                turn.get_or_insert_with(|| frame.turn.clone());
                found.sound.push((event, frame));
            }
            Err(reason) => {
                found.events.push(stored(event.seq));
                found.told.lost.push(lost(&places.events, event.seq, reason, event.id()));
            }
        }
    }
    found.told.events = found.sound.len() as u64;
    let rows = found.told.events + found.events.len() as u64;
    if rows != counts.events {
        let reason = format!("{rows} events are there, and {} were written", counts.events);
        found.told.lost.push(lost(&places.events, counts.last_seq, reason, None));
    }
    Ok(())
}

fn put_aside(tx: &mut PgTransaction<'_>, counts: &Counts, found: &Found, at: &str) -> Result<()> {
    tx.execute(
        "WITH gone AS (DELETE FROM instance_message WHERE instance = $1 AND seq = ANY($2) RETURNING *) \
         INSERT INTO instance_damaged (instance, repaired_at, seq, id_digest, message) \
         SELECT instance, $3::text, seq, id_digest, line FROM gone",
        &[&counts.instance, &found.messages, &at],
    )?;
    tx.execute(
        "WITH gone AS (DELETE FROM instance_event WHERE instance = $1 AND seq = ANY($2) RETURNING *) \
         INSERT INTO instance_damaged (instance, repaired_at, seq, event, id_digest, message) \
         SELECT instance, $3::text, seq, event, id_digest, message FROM gone",
        &[&counts.instance, &found.events, &at],
    )?;
    Ok(())
}

/// Counts what is left; events are numbered within their turn without gaps.
fn go_on(tx: &mut PgTransaction<'_>, counts: &Counts, found: &Found) -> Result<()> {
    for ((event, frame), line) in found.sound.iter().zip(1..) {
        if frame.line != line {
            tx.execute(
                "UPDATE instance_event SET event = $3 WHERE instance = $1 AND seq = $2",
                &[&counts.instance, &stored(event.seq), &event.renumbered(frame.clone(), line)],
            )?;
        }
    }
    tx.execute(
        "UPDATE instance_instance SET messages = $2, events = $3, fence = fence + 1 WHERE id = $1",
        &[&counts.instance, &stored(found.told.messages), &stored(found.told.events)],
    )?;
    Ok(())
}
