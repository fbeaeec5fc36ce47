//! A conversation: the messages of one instance, as confirmed turns and the events of the turn that is under way.
//!
//! An event lasts when [`Conversation::append_event`] returns. At the end of a turn its events are folded into what is confirmed.
//! Whatever crashes in between, nothing that was acknowledged is lost and nothing is there twice; and what a turn costs does not depend on how
//! much was said before. It must never look into a content, nor let events of two turns mix.

mod error;
pub(crate) mod file;
pub(crate) mod fold;
pub(crate) mod line;
mod message;

use std::fmt;
use std::path::PathBuf;

pub use error::ConversationError;
pub use file::{LostLine, Repaired};
pub use fold::{MissingMessage, apply};
pub use message::{BadMessage, Json, Message, MessageEvent, MessageSource};

use crate::TurnId;

/// The result of what can be done to a conversation.
pub type Result<T, E = ConversationError> = std::result::Result<T, E>;

/// Something a person may want to know; nothing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The last line was cut off, as a crash does: what it was to hold was never acknowledged.
    TornTail {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
    },
    /// An event looked for a message that is not there.
    MissingMessage(MissingMessage),
}

impl Notice {
    /// How programs recognise it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TornTail { .. } => "E_TORN_TAIL",
            Self::MissingMessage(_) => MissingMessage::CODE,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornTail { file, line } => {
                write!(f, "line {line} of \"{}\" was cut off while it was written: dropped", file.display())
            }
            Self::MissingMessage(missing) => missing.fmt(f),
        }
    }
}

/// A turn with events that are not folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The turn.
    pub turn: TurnId,
    /// How many events it has so far.
    pub events: u64,
    /// The number of the last of them.
    pub last_seq: u64,
}

/// All messages at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// What is said so far, the open turn's events applied.
    pub messages: Vec<Message>,
    /// The turn that is not over.
    pub open_turn: Option<OpenTurn>,
    /// What was noticed.
    pub notices: Vec<Notice>,
}

/// How a turn got into what is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// There was nothing to do.
    Nothing,
    /// Only what is new was added.
    Appended,
    /// Everything was written again, because something confirmed changed.
    Rewritten,
}

/// What the end of a turn came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// How it was written.
    pub written: Written,
    /// What was skipped.
    pub missing: Vec<MissingMessage>,
}

/// The conversation of one instance, held by this process alone for writing until it is dropped.
pub trait Conversation: Send {
    /// The turn that is not over: after a crash it is the one that was cut off.
    fn open_turn(&self) -> Option<&OpenTurn>;

    /// The number of the last event there was, folded or not.
    fn last_seq(&self) -> u64;

    /// Adds an event, which lasts when this returns, and gives its number.
    ///
    /// # Errors
    /// When another turn is not over, or it cannot be written; then it is not there.
    fn append_event(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64>;

    /// As [`Self::append_event`], for who keeps elsewhere what is said: it lasts when [`Self::settle`] returns, or whatever is done next. Until
    /// then it is seen, and may be lost with the power.
    ///
    /// # Errors
    /// As [`Self::append_event`].
    fn append_event_ahead(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64> {
        self.append_event(turn, event)
    }

    /// Waits until every event lasts.
    ///
    /// # Errors
    /// When one could not be made to; nothing more is written by this process then.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends a turn: its events become confirmed messages. Done again, it does nothing.
    ///
    /// # Errors
    /// When another turn is open, or it cannot be written; the events are still there then.
    fn fold(&mut self, turn: &TurnId) -> Result<Folded>;

    /// Makes exactly these the confirmed messages, as a turn of its own. Where they begin with what is confirmed, only the rest is added.
    ///
    /// # Errors
    /// As [`Self::fold`].
    fn write_base(&mut self, turn: &TurnId, messages: &[Message]) -> Result<Folded>;

    /// What was noticed when it was opened.
    fn notices(&self) -> &[Notice];
}
