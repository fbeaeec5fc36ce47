//! Writing a conversation: one event, the end of a turn, a whole new base. Each is one transaction, kept once or not at all.
//!
//! The row of the instance is changed first, and only under the writer's fence: so a writer that lost its lease changes nothing, and no other can
//! take the lease in the middle of a write. It must never write what it did not check the fence for in the same transaction.

use std::ops::ControlFlow;
use std::slice::Chunks;

use paddock_db::{DbError, PgTransaction, Postgres};

use super::lease::{Fence, Lease};
use super::read::{self, Pending};
use super::rows::{NewEvent, NewMessage, StoredMessage, each_message, first_with, insert, stored};
use super::{Counts, Places, READING, WRITING, until};
use crate::conversation::{
    Conversation, ConversationError, Folded, Message, MessageEvent, MissingMessage, Notice, OpenTurn, Result, Written,
};
use crate::{InstanceKey, TurnId};

/// How many messages are stored by one statement.
pub(super) const BATCH: usize = 200;

const APPEND: &str = "WITH held AS ( \
    UPDATE instance_instance SET last_seq = $4, events = events + 1, \
        held_until = clock_timestamp() + $3::bigint * interval '1 millisecond' \
    WHERE id = $1 AND fence = $2 AND last_seq = $4::bigint - 1 RETURNING id) \
    INSERT INTO instance_event (instance, seq, event, id_digest, message) \
    SELECT id, $4::bigint, $5::text, $6::bytea, $7::text FROM held";
/// Appended messages become confirmed ones by moving from one table to the other.
const MOVE: &str = "WITH held AS ( \
    UPDATE instance_instance SET confirmed_seq = last_seq, messages = messages + events, events = 0, \
        held_until = clock_timestamp() + $3::bigint * interval '1 millisecond' \
    WHERE id = $1 AND fence = $2 AND confirmed_seq = $4::bigint RETURNING id), \
    moved AS (DELETE FROM instance_event USING held \
        WHERE instance = held.id AND seq > $4::bigint RETURNING instance, seq, id_digest, message) \
    INSERT INTO instance_message (instance, seq, id_digest, line) SELECT instance, seq, id_digest, message FROM moved";
const HOLD: &str = "UPDATE instance_instance SET held_until = clock_timestamp() + $3::bigint * interval '1 millisecond' \
    WHERE id = $1 AND fence = $2 RETURNING last_seq, confirmed_seq, messages, events";
const SETTLE: &str = "UPDATE instance_instance SET last_seq = $4, confirmed_seq = $4, messages = $5, events = 0, \
    held_until = clock_timestamp() + $3::bigint * interval '1 millisecond' WHERE id = $1 AND fence = $2";

/// The writer of one conversation.
pub(super) struct PostgresConversation {
    db: Postgres,
    key: InstanceKey,
    places: Places,
    fence: Fence,
    counts: Counts,
    open: Option<OpenTurn>,
    /// Whether the open turn only adds.
    append_only: bool,
    /// It is not known whether the last write was kept.
    unsure: bool,
    _lease: Lease,
}

impl PostgresConversation {
    pub(super) fn new(
        db: Postgres,
        key: InstanceKey,
        places: Places,
        lease: Lease,
        counts: Counts,
        pending: Option<&Pending>,
    ) -> Self {
        let (open, append_only) = (pending.map(Pending::open_turn), pending.is_none_or(Pending::is_append_only));
        Self { db, key, places, fence: lease.fence(), counts, open, append_only, unsure: false, _lease: lease }
    }

    fn is_usable(&self, turn: &TurnId) -> Result<()> {
        if self.unsure {
            return Err(ConversationError::Unsure(self.places.messages.clone()));
        }
        match &self.open {
            Some(open) if open.turn != *turn => {
                Err(ConversationError::TurnOpen { open: open.turn.clone(), asked: turn.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Remembers when it is not known what came of a write.
    fn noted<T>(&mut self, written: Result<T>) -> Result<T> {
        self.unsure |= matches!(written, Err(ConversationError::Database(DbError::Unknown { .. })));
        written
    }

    fn lost(&self) -> ConversationError {
        ConversationError::LeaseLost(self.key.clone())
    }

    /// The row of the instance is this writer's until the transaction ends.
    fn hold(&self, tx: &mut PgTransaction<'_>) -> Result<Counts> {
        let Fence { instance, number, lasts } = self.fence;
        let row = tx.query_opt(HOLD, &[&instance, &number, &lasts])?.ok_or_else(|| self.lost())?;
        Ok(Counts::of(instance, number, &row))
    }

    fn settle(&self, tx: &mut PgTransaction<'_>, counts: &Counts) -> Result<()> {
        let Fence { instance, number, lasts } = self.fence;
        tx.execute(SETTLE, &[&instance, &number, &lasts, &stored(counts.last_seq), &stored(counts.messages)])?;
        Ok(())
    }

    /// What the end of a turn left.
    fn ended(&mut self, counts: Counts) {
        self.counts = Counts { confirmed_seq: counts.last_seq, events: 0, ..counts };
        (self.open, self.append_only) = (None, true);
    }

    fn move_appended(&self, open: &OpenTurn) -> Result<()> {
        let (Fence { instance, number, lasts }, after) = (self.fence, stored(self.counts.confirmed_seq));
        self.db.write(until(WRITING), |tx| {
            let moved = tx.execute(MOVE, &[&instance, &number, &lasts, &after])?;
            if moved == open.events {
                return Ok(());
            }
            let counts = self.hold(tx)?;
            let reason = format!("{moved} events are there, and {} were written", open.events);
            Err(ConversationError::Damaged { path: self.places.events.clone(), line: counts.last_seq, reason })
        })
    }

    /// Applies the events one by one to what is confirmed.
    fn apply(&self) -> Result<(Counts, Vec<MissingMessage>)> {
        self.db.write(until(READING), |tx| {
            let mut counts = self.hold(tx)?;
            let pending = read::pending(tx, &counts, &self.places)?;
            let (mut missing, mut adding) = (Vec::new(), None);
            for (event_index, (seq, event)) in pending.iter().flat_map(|pending| &pending.events).enumerate() {
                if event.is_append() {
                    adding = Some((adding.map_or(*seq, |(first, _)| first), *seq));
                    continue;
                }
                confirm(tx, &mut counts, adding.take())?;
                if !self.alter(tx, &mut counts, event)?
                    && let Some(target_id) = event.target_id()
                {
                    missing.push(MissingMessage { event_index, target_id: target_id.to_owned() });
                }
            }
            confirm(tx, &mut counts, adding)?;
            clear(tx, &counts)?;
            self.settle(tx, &counts)?;
            Ok((counts, missing))
        })
    }

    /// Does what an event says that is no append. False when it looks for a message that is not there.
    fn alter(&self, tx: &mut PgTransaction<'_>, counts: &mut Counts, event: &MessageEvent) -> Result<bool> {
        let Some(target_id) = event.target_id() else {
            tx.execute("DELETE FROM instance_message WHERE instance = $1", &[&counts.instance])?;
            counts.messages = 0;
            return Ok(true);
        };
        let Some(found) = first_with(tx, counts.instance, target_id)? else { return Ok(false) };
        let (_, frame) = read::opened(&found, &self.places.messages)?;
        if let MessageEvent::Replace { message, .. } = event {
            let new = NewMessage::of(message, &frame.turn, frame.seq)?;
            tx.execute(
                "UPDATE instance_message SET id_digest = $3, line = $4 WHERE instance = $1 AND seq = $2",
                &[&counts.instance, &stored(found.seq), &new.id_digest, &new.line],
            )?;
        } else {
            tx.execute(
                "DELETE FROM instance_message WHERE instance = $1 AND seq = $2",
                &[&counts.instance, &stored(found.seq)],
            )?;
            counts.messages = counts.messages.saturating_sub(1);
        }
        Ok(true)
    }

    /// How many of `messages` are what is confirmed, if they begin with exactly that.
    fn same(&self, tx: &mut PgTransaction<'_>, counts: &Counts, messages: &[Message]) -> Result<Option<usize>> {
        let mut same = Some(0);
        each_message(tx, counts.instance, 0, &mut |row: StoredMessage| {
            let (confirmed, _) = read::opened(&row, &self.places.messages)?;
            same = same.filter(|at| messages.get(*at) == Some(&confirmed)).map(|at| at + 1);
            Ok(if same.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        match same {
            Some(rows) if rows as u64 != counts.messages => {
                let reason = format!("{rows} messages are there, and {} were written", counts.messages);
                let path = self.places.messages.clone();
                Err(ConversationError::Damaged { path, line: counts.confirmed_seq, reason })
            }
            same => Ok(same),
        }
    }

    fn write_anew(&self, turn: &TurnId, messages: &[Message]) -> Result<(Counts, Written)> {
        self.db.write(until(READING), |tx| {
            let mut counts = self.hold(tx)?;
            let (new, written) = match self.same(tx, &counts, messages)? {
                Some(same) if same == messages.len() => return Ok((counts, Written::Nothing)),
                Some(same) => (&messages[same..], Written::Appended),
                None => {
                    self.alter(tx, &mut counts, &MessageEvent::Truncate)?;
                    // It counts as an event: readers know by the number that something happened.
                    counts.last_seq += 1;
                    (messages, Written::Rewritten)
                }
            };
            add(tx, &mut counts, turn, new.chunks(BATCH))?;
            self.settle(tx, &counts)?;
            Ok((counts, written))
        })
    }
}

/// Confirms the messages of a run of appends.
fn confirm(tx: &mut PgTransaction<'_>, counts: &mut Counts, adding: Option<(u64, u64)>) -> Result<(), DbError> {
    let Some((first, last)) = adding else { return Ok(()) };
    counts.messages += tx.execute(
        "INSERT INTO instance_message (instance, seq, id_digest, line) \
         SELECT instance, seq, id_digest, message FROM instance_event WHERE instance = $1 AND seq BETWEEN $2 AND $3",
        &[&counts.instance, &stored(first), &stored(last)],
    )?;
    Ok(())
}

/// The events are folded.
fn clear(tx: &mut PgTransaction<'_>, counts: &Counts) -> Result<(), DbError> {
    let after = stored(counts.confirmed_seq);
    tx.execute("DELETE FROM instance_event WHERE instance = $1 AND seq > $2", &[&counts.instance, &after])?;
    Ok(())
}

/// Adds confirmed messages that no event brought.
pub(super) fn add(
    tx: &mut PgTransaction<'_>,
    counts: &mut Counts,
    turn: &TurnId,
    messages: Chunks<'_, Message>,
) -> Result<()> {
    for chunk in messages {
        let new = chunk.iter().zip(counts.last_seq + 1..).map(|(message, seq)| NewMessage::of(message, turn, seq));
        insert(tx, counts.instance, new.collect::<Result<_>>()?)?;
        counts.last_seq += chunk.len() as u64;
        counts.messages += chunk.len() as u64;
    }
    Ok(())
}

/// Adds an event under a fence. False when the fence is another's.
pub(super) fn append(tx: &mut PgTransaction<'_>, fence: Fence, seq: u64, new: &NewEvent) -> Result<bool, DbError> {
    let Fence { instance, number, lasts } = fence;
    let message = new.message.as_ref();
    let (id_digest, line) = (message.map(|message| &message.id_digest), message.map(|message| &message.line));
    Ok(tx.execute(APPEND, &[&instance, &number, &lasts, &stored(seq), &new.event, &id_digest, &line])? == 1)
}

impl Conversation for PostgresConversation {
    fn open_turn(&self) -> Option<&OpenTurn> {
        self.open.as_ref()
    }

    fn last_seq(&self) -> u64 {
        self.counts.last_seq
    }

    fn append_event(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64> {
        self.is_usable(turn)?;
        let seq = self.counts.last_seq + 1;
        let line = self.counts.events + 1;
        let new = NewEvent::of(event, turn, seq, line)?;
        let appended = self
            .db
            .write(until(WRITING), |tx| if append(tx, self.fence, seq, &new)? { Ok(()) } else { Err(self.lost()) });
        self.noted(appended)?;
        (self.counts.last_seq, self.counts.events) = (seq, line);
        self.append_only &= event.is_append();
        self.open = Some(OpenTurn { turn: turn.clone(), events: line, last_seq: seq });
        Ok(seq)
    }

    fn fold(&mut self, turn: &TurnId) -> Result<Folded> {
        self.is_usable(turn)?;
        let Some(open) = self.open.clone() else {
            return Ok(Folded { written: Written::Nothing, missing: Vec::new() });
        };
        if self.append_only {
            let moved = self.move_appended(&open);
            self.noted(moved)?;
            self.ended(Counts { messages: self.counts.messages + open.events, ..self.counts });
            return Ok(Folded { written: Written::Appended, missing: Vec::new() });
        }
        let applied = self.apply();
        let (counts, missing) = self.noted(applied)?;
        self.ended(counts);
        Ok(Folded { written: Written::Rewritten, missing })
    }

    fn write_base(&mut self, turn: &TurnId, messages: &[Message]) -> Result<Folded> {
        self.is_usable(turn)?;
        if let Some(open) = &self.open {
            return Err(ConversationError::TurnOpen { open: open.turn.clone(), asked: turn.clone() });
        }
        let rewritten = self.write_anew(turn, messages);
        let (counts, written) = self.noted(rewritten)?;
        self.ended(counts);
        Ok(Folded { written, missing: Vec::new() })
    }

    fn notices(&self) -> &[Notice] {
        // A database leaves nothing half written that there would be to tell of.
        &[]
    }
}
