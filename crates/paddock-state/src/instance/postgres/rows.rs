//! Messages and events as rows, and back.
//!
//! A message's line is framed by the event that added it, and its row is found by that number: so the order of the numbers is
//! the order of the conversation, a message that replaces another takes over its number, and what an event adds is confirmed by moving its
//! row, without being looked at. An event's line says what it does; its message is a line of its own beside it.
//! Nothing here decides what is done about a row that does not fit.

use std::ops::ControlFlow;

use paddock_db::{PgRow, PgTransaction};
use serde::{Deserialize, Serialize};

use crate::TurnId;
use crate::conversation::line::{self, Frame};
use crate::conversation::{ConversationError, Message, MessageEvent, Result};

/// How many rows are asked for at once.
const PAGE: i64 = 1000;

/// Why a row is not what was written.
pub(super) type Flaw = String;

/// A number as the database has it.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as it came from the database, which has none below zero.
pub(super) fn told(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// By what an id is found.
pub(super) fn digest(id: &str) -> Vec<u8> {
    blake3::hash(id.as_bytes()).as_bytes().to_vec()
}

/// A message that is to be stored.
pub(super) struct NewMessage {
    pub(super) seq: u64,
    pub(super) id_digest: Vec<u8>,
    pub(super) line: String,
}

impl NewMessage {
    pub(super) fn of(message: &Message, turn: &TurnId, seq: u64) -> Result<Self> {
        let line = sealed(&json(message)?, &Frame { seq, turn: turn.clone(), line: seq });
        Ok(Self { seq, id_digest: digest(message.id()), line })
    }
}

/// An event that is to be stored.
pub(super) struct NewEvent {
    pub(super) event: String,
    pub(super) message: Option<NewMessage>,
}

/// What an event does, without its message.
#[derive(Serialize, Deserialize)]
struct Deed {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "targetId", default, skip_serializing_if = "Option::is_none")]
    target_id: Option<String>,
}

impl NewEvent {
    /// The `line`-th event of a turn.
    pub(super) fn of(event: &MessageEvent, turn: &TurnId, seq: u64, line: u64) -> Result<Self> {
        let (kind, message) = match event {
            MessageEvent::Append { message } => ("append", Some(message)),
            MessageEvent::Replace { message, .. } => ("replace", Some(message)),
            MessageEvent::Remove { .. } => ("remove", None),
            MessageEvent::Truncate => ("truncate", None),
        };
        let deed = Deed { kind: kind.to_owned(), target_id: event.target_id().map(str::to_owned) };
        let event = sealed(&json(&deed)?, &Frame { seq, turn: turn.clone(), line });
        let message = message.map(|message| NewMessage::of(message, turn, seq)).transpose()?;
        Ok(Self { event, message })
    }
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| ConversationError::io("", error.into()))
}

fn sealed(object: &str, frame: &Frame) -> String {
    let mut line = line::seal(object, frame);
    line.truncate(line.trim_end().len());
    line
}

/// A confirmed message as it was found.
pub(super) struct StoredMessage {
    pub(super) seq: u64,
    id_digest: Vec<u8>,
    /// Nothing where it is no text.
    line: Option<String>,
}

impl StoredMessage {
    pub(super) const COLUMNS: &str = "seq, id_digest, line";

    fn of(row: &PgRow) -> Self {
        Self { seq: told(row.get(0)), id_digest: row.get(1), line: row.try_get(2).ok() }
    }

    /// The message, if the row is what was written.
    pub(super) fn opened(&self) -> Result<(Message, Frame), Flaw> {
        opened(self.line.as_deref(), Some(&self.id_digest), self.seq)
    }

    /// The id of the message, where it can still be read.
    pub(super) fn id(&self) -> Option<String> {
        serde_json::from_str::<Message>(self.line.as_deref()?).ok().map(|message| message.id().to_owned())
    }
}

fn opened(line: Option<&str>, id_digest: Option<&Vec<u8>>, seq: u64) -> Result<(Message, Frame), Flaw> {
    let (text, frame) = line::open(line.ok_or("it is not text")?.as_bytes())?;
    if (frame.seq, frame.line) != (seq, seq) {
        return Err(format!("it was written as message {}", frame.seq));
    }
    let message: Message = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if id_digest != Some(&digest(message.id())) {
        return Err(format!("it is not found by its id {:?}", message.id()));
    }
    Ok((message, frame))
}

/// An event as it was found.
pub(super) struct StoredEvent {
    pub(super) seq: u64,
    event: Option<String>,
    id_digest: Option<Vec<u8>>,
    /// Nothing where there is none; nothing inside where it is no text.
    message: Option<Option<String>>,
}

impl StoredEvent {
    pub(super) const COLUMNS: &str = "seq, event, id_digest, message";

    pub(super) fn of(row: &PgRow) -> Self {
        let message = row.try_get::<_, Option<String>>(3);
        Self {
            seq: told(row.get(0)),
            event: row.try_get(1).ok(),
            id_digest: row.get(2),
            message: message.map_or(Some(None), |message| message.map(Some)),
        }
    }

    /// The event, if the row is what was written; which of its turn it is, is left to the caller.
    pub(super) fn opened(&self) -> Result<(MessageEvent, Frame), Flaw> {
        let (text, frame) = line::open(self.event.as_deref().ok_or("it is not text")?.as_bytes())?;
        if frame.seq != self.seq {
            return Err(format!("it was written as event {}", frame.seq));
        }
        let deed: Deed = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let message = match &self.message {
            None => None,
            Some(line) => Some(opened(line.as_deref(), self.id_digest.as_ref(), self.seq)?),
        };
        if message.as_ref().is_some_and(|(_, framed)| framed.turn != frame.turn) {
            return Err("its message is of another turn".to_owned());
        }
        let event = match (deed.kind.as_str(), deed.target_id, message) {
            ("append", None, Some((message, _))) => MessageEvent::Append { message },
            ("replace", Some(target_id), Some((message, _))) => MessageEvent::Replace { target_id, message },
            ("remove", Some(target_id), None) => MessageEvent::Remove { target_id },
            ("truncate", None, None) => MessageEvent::Truncate,
            (kind, ..) => return Err(format!("an event {kind:?} is not made of these parts")),
        };
        Ok((event, frame))
    }

    /// The id of its message, where it can still be read.
    pub(super) fn id(&self) -> Option<String> {
        let line = self.message.as_ref()?.as_deref()?;
        serde_json::from_str::<Message>(line).ok().map(|message| message.id().to_owned())
    }

    /// The same event as another one of its turn.
    pub(super) fn renumbered(&self, frame: Frame, line: u64) -> String {
        sealed(&line::unsealed(self.event.as_deref().unwrap_or_default()), &Frame { line, ..frame })
    }
}

/// Hands over the confirmed messages behind a number, in order, until told to stop. In memory there is never more than one, beside what the wire holds.
pub(super) fn each_message(
    tx: &mut PgTransaction<'_>,
    instance: i64,
    mut after: u64,
    each: &mut dyn FnMut(StoredMessage) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM instance_message WHERE instance = $1 AND seq > $2 ORDER BY seq LIMIT {PAGE}",
        StoredMessage::COLUMNS
    );
    loop {
        let (mut rows, mut flow) = (0, ControlFlow::Continue(()));
        tx.for_each(&sql, &[&instance, &stored(after)], |row| {
            if flow.is_continue() {
                let message = StoredMessage::of(&row);
                rows += 1;
                after = message.seq;
                flow = each(message)?;
            }
            Ok::<_, ConversationError>(())
        })?;
        if flow.is_break() || rows < PAGE {
            return Ok(());
        }
    }
}

/// The first confirmed message that has an id.
pub(super) fn first_with(tx: &mut PgTransaction<'_>, instance: i64, id: &str) -> Result<Option<StoredMessage>> {
    let sql = format!(
        "SELECT {} FROM instance_message WHERE instance = $1 AND id_digest = $2 ORDER BY seq LIMIT 1",
        StoredMessage::COLUMNS
    );
    Ok(tx.query_opt(&sql, &[&instance, &digest(id)])?.as_ref().map(StoredMessage::of))
}

/// Stores confirmed messages.
pub(super) fn insert(tx: &mut PgTransaction<'_>, instance: i64, messages: Vec<NewMessage>) -> Result<()> {
    let (mut seqs, mut digests, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for message in messages {
        seqs.push(stored(message.seq));
        digests.push(message.id_digest);
        lines.push(message.line);
    }
    tx.execute(
        "INSERT INTO instance_message (instance, seq, id_digest, line) \
         SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bytea[], $4::text[])",
        &[&instance, &seqs, &digests, &lines],
    )?;
    Ok(())
}
