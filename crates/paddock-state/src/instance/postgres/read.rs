//! Reading a conversation that others may be writing.
//!
//! All of it is read in one transaction that sees one moment of the database, so nobody's writing is half in it. Confirmed messages
//! are given out as they come; only the events of the open turn are kept in memory. A connection that is lost on the way is
//! taken up where it ended if the conversation is still the same, and is an error if not: what was given out cannot be taken back.

use std::ops::ControlFlow;
use std::path::Path;

use paddock_db::{DbError, PgTransaction, Postgres};

use super::rows::{StoredEvent, StoredMessage, digest, each_message, stored, told};
use super::{Counts, Places, READING, until};
use crate::TurnId;
use crate::conversation::fold::{Fate, Folding};
use crate::conversation::{ConversationError, Message, MessageEvent, MissingMessage, OpenTurn, Result};

/// The events of a turn that is not over.
pub(super) struct Pending {
    pub(super) turn: TurnId,
    /// Each with its number.
    pub(super) events: Vec<(u64, MessageEvent)>,
}

impl Pending {
    pub(super) fn open_turn(&self) -> OpenTurn {
        let last_seq = self.events.last().map_or(0, |(seq, _)| *seq);
        OpenTurn { turn: self.turn.clone(), events: self.events.len() as u64, last_seq }
    }

    pub(super) fn is_append_only(&self) -> bool {
        self.events.iter().all(|(_, event)| event.is_append())
    }
}

/// The events that are not folded; an error where one is damaged or missing.
pub(super) fn pending(tx: &mut PgTransaction<'_>, counts: &Counts, places: &Places) -> Result<Option<Pending>> {
    let damaged = |line, reason| ConversationError::Damaged { path: places.events.clone(), line, reason };
    let mut found: Option<Pending> = None;
    for event in stored_events(tx, counts)? {
        let (read, frame) = event.opened().map_err(|reason| damaged(event.seq, reason))?;
        let pending = found.get_or_insert_with(|| Pending { turn: frame.turn.clone(), events: Vec::new() });
        if pending.turn != frame.turn {
            let reason = format!("it belongs to turn \"{}\" in the middle of turn \"{}\"", frame.turn, pending.turn);
            return Err(damaged(event.seq, reason));
        }
        pending.events.push((event.seq, read));
        let line = pending.events.len() as u64;
        if frame.line != line {
            return Err(damaged(
                event.seq,
                format!("it is event {line} of its turn and was written as {}", frame.line),
            ));
        }
    }
    let events = found.as_ref().map_or(0, |pending| pending.events.len() as u64);
    if events != counts.events {
        let reason = format!("{events} events are there, and {} were written", counts.events);
        return Err(damaged(counts.last_seq, reason));
    }
    Ok(found)
}

pub(super) fn stored_events(tx: &mut PgTransaction<'_>, counts: &Counts) -> Result<Vec<StoredEvent>, DbError> {
    // Behind what is confirmed: events of earlier turns are gone, and what is left of them in the table is not walked through.
    let sql =
        format!("SELECT {} FROM instance_event WHERE instance = $1 AND seq > $2 ORDER BY seq", StoredEvent::COLUMNS);
    let rows = tx.query(&sql, &[&counts.instance, &stored(counts.confirmed_seq)])?;
    Ok(rows.iter().map(StoredEvent::of).collect())
}

/// What becomes of the events of the open turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// They are applied to the confirmed messages.
    Folded,
    /// They are told beside them.
    Apart,
}

/// What comes after the confirmed messages.
pub(super) struct Rest {
    pub(super) open_turn: Option<OpenTurn>,
    /// Those that were not applied.
    pub(super) events: Vec<MessageEvent>,
    pub(super) new: Vec<Message>,
    pub(super) missing: Vec<MissingMessage>,
}

/// How far the confirmed messages were given out, and of which conversation.
#[derive(Default)]
struct Progress {
    counts: Option<Counts>,
    after: u64,
    rows: u64,
}

/// Gives out the confirmed messages, as they are after the events of the open turn where these are folded, and then tells the rest.
pub(super) fn read(
    db: &Postgres,
    places: &Places,
    how: How,
    find: &dyn Fn(&mut PgTransaction<'_>) -> Result<Counts>,
    each: &mut dyn FnMut(Message),
) -> Result<Rest> {
    let mut progress = Progress::default();
    db.read(until(READING), |tx| {
        let counts = find(tx)?;
        if progress.counts.get_or_insert(counts) != &counts {
            let why = "the connection was lost, and the conversation changed before it could be read on".to_owned();
            return Err(DbError::Unreachable { name: db.name().to_owned(), why }.into());
        }
        let pending = pending(tx, &counts, places)?;
        let open_turn = pending.as_ref().map(Pending::open_turn);
        let events = pending.into_iter().flat_map(|pending| pending.events).map(|(_, event)| event);
        let (events, apart): (Vec<_>, Vec<_>) = events.partition(|_| how == How::Folded);
        let mut folding = Folding::of(wanted(tx, counts.instance, &events)?, &events);
        if !folding.is_emptied() {
            confirmed(tx, &counts, &places.messages, &mut folding, &mut progress, each)?;
        }
        let (new, missing) = folding.rest();
        Ok(Rest { open_turn, events: apart, new: new.into_iter().map(|(_, message)| message).collect(), missing })
    })
}

fn confirmed(
    tx: &mut PgTransaction<'_>,
    counts: &Counts,
    place: &Path,
    folding: &mut Folding,
    progress: &mut Progress,
    each: &mut dyn FnMut(Message),
) -> Result<()> {
    each_message(tx, counts.instance, progress.after, &mut |row| {
        let (message, _) = opened(&row, place)?;
        (progress.after, progress.rows) = (row.seq, progress.rows + 1);
        match folding.fate(row.seq) {
            Fate::Removed => {}
            Fate::Replaced(message) => each(message),
            Fate::Kept => each(message),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if progress.rows != counts.messages {
        let reason = format!("{} messages are there, and {} were written", progress.rows, counts.messages);
        return Err(ConversationError::Damaged { path: place.to_owned(), line: progress.after, reason });
    }
    Ok(())
}

/// A confirmed message and its frame; an error with its number where it is damaged.
pub(super) fn opened(row: &StoredMessage, place: &Path) -> Result<(Message, crate::conversation::line::Frame)> {
    row.opened().map_err(|reason| ConversationError::Damaged { path: place.to_owned(), line: row.seq, reason })
}

/// The confirmed messages that events look for, by their numbers.
fn wanted(tx: &mut PgTransaction<'_>, instance: i64, events: &[MessageEvent]) -> Result<Vec<(u64, String)>, DbError> {
    let ids: Vec<&str> = Folding::wanted(events).into_iter().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let digests: Vec<Vec<u8>> = ids.iter().map(|id| digest(id)).collect();
    let rows = tx.query(
        "SELECT seq, array_position($2::bytea[], id_digest) FROM instance_message \
         WHERE instance = $1 AND id_digest = ANY($2) ORDER BY seq",
        &[&instance, &digests],
    )?;
    let found = rows.iter().filter_map(|row| {
        let place = usize::try_from(row.get::<_, i32>(1)).ok()?.checked_sub(1)?;
        Some((told(row.get(0)), (*ids.get(place)?).to_owned()))
    });
    Ok(found.collect())
}
