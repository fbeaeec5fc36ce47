//! Instances: the running and resting copies of agents, each with its conversation and the state of its extensions.
//!
//! [`Instances`] is the one way to them. [`FileInstances`] keeps each in a directory of its own, `instances/<instanceKey>/`;
//! [`PostgresInstances`] keeps all of them on a server, for several machines. Both pass the same suite.

#[cfg(test)]
mod crash_tests;
mod directory;
mod extension;
mod file;
mod metadata;
mod postgres;
mod small;

pub use file::FileInstances;
pub use metadata::{Instance, Status};
pub use postgres::PostgresInstances;

use serde_json::{Map, Value};

use crate::conversation::{Conversation, Loaded, Message, MessageEvent, Notice, OpenTurn, Repaired, Result};
use crate::{ExtensionName, InstanceKey, Timestamp, TurnId};

/// The instances there are, newest first, and what could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// In order of their last change, the newest first.
    pub instances: Vec<Instance>,
    /// Those with metadata that cannot be read, each with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Whether a state had to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// It was other than before.
    Written,
    /// It is what it was: nothing was written.
    Unchanged,
}

/// What reading a conversation told besides its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The turn that is not over.
    pub open_turn: Option<OpenTurn>,
    /// What was noticed.
    pub notices: Vec<Notice>,
}

/// A conversation from elsewhere.
pub struct Imported<'a> {
    /// What is confirmed, in order.
    pub messages: &'a mut dyn Iterator<Item = Result<Message>>,
    /// What a turn did that is not over.
    pub events: &'a [MessageEvent],
    /// When the instance was made there; now, where that is not known.
    pub created_at: Option<Timestamp>,
}

impl<'a> Imported<'a> {
    /// Confirmed messages alone.
    pub fn of(messages: &'a mut dyn Iterator<Item = Result<Message>>) -> Self {
        Self { messages, events: &[], created_at: None }
    }
}

/// The instances of one project.
pub trait Instances: Send + Sync {
    /// Makes an instance, or finds the one that is there: its beginning and its agent stay then.
    ///
    /// # Errors
    /// When it cannot be written, or what is there cannot be read.
    fn create(&self, key: &InstanceKey, agent: &str) -> Result<Instance>;

    /// What is known of an instance.
    ///
    /// # Errors
    /// When what is there cannot be read.
    fn show(&self, key: &InstanceKey) -> Result<Option<Instance>>;

    /// All of them. Those that cannot be read are told, and do not hide the others.
    ///
    /// # Errors
    /// When the place of the instances cannot be read.
    fn list(&self) -> Result<Listing>;

    /// Says whether an instance is at work.
    ///
    /// # Errors
    /// When there is none, or it cannot be written.
    fn set_status(&self, key: &InstanceKey, status: Status) -> Result<()>;

    /// Removes an instance with its messages and the state of its extensions. False when there was none.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be removed.
    fn delete(&self, key: &InstanceKey) -> Result<bool>;

    /// Lets an instance begin anew without its messages and the state of its extensions.
    ///
    /// # Errors
    /// When there is none, another process holds it, or it cannot be written.
    fn clear(&self, key: &InstanceKey) -> Result<()>;

    /// Takes the conversation for writing, by this process alone.
    ///
    /// # Errors
    /// When there is no such instance, another process holds it, or it is damaged.
    fn conversation(&self, key: &InstanceKey) -> Result<Box<dyn Conversation>>;

    /// Gives out every message as of now, in order; whoever writes meanwhile is not in the way. No more than the open turn is kept in memory.
    ///
    /// # Errors
    /// When there is no such instance, or it is damaged.
    fn read(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<Seen>;

    /// The same apart: gives out every confirmed message, and answers what the open turn did since. For whoever carries it elsewhere.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_apart(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<(Vec<MessageEvent>, Seen)>;

    /// The state of an extension.
    ///
    /// # Errors
    /// When there is no such instance, or what is there cannot be read.
    fn get_state(&self, key: &InstanceKey, extension: &ExtensionName) -> Result<Option<Map<String, Value>>>;

    /// The extensions that keep a state in an instance, in order.
    ///
    /// # Errors
    /// When there is no such instance, or they cannot be listed.
    fn extensions(&self, key: &InstanceKey) -> Result<Vec<ExtensionName>>;

    /// Keeps the state of an extension. What did not change is not written. As with messages, who writes what others said takes the
    /// values of secrets out first.
    ///
    /// # Errors
    /// When there is no such instance, or it cannot be written; then the old one is there.
    fn set_state(&self, key: &InstanceKey, extension: &ExtensionName, state: &Map<String, Value>) -> Result<Saved>;

    /// What can be kept of a damaged conversation; with `apply` it takes the place of the damaged one, which is kept aside.
    ///
    /// # Errors
    /// When there is no such instance, another process holds it, or the host refuses.
    fn repair(&self, key: &InstanceKey, apply: bool) -> Result<Repaired>;

    /// Makes a new instance of a conversation from elsewhere, whole or not at all. Gives the number of its confirmed messages.
    ///
    /// # Errors
    /// When there is one with that key, what comes is no conversation, or it cannot be written.
    fn import(&self, key: &InstanceKey, agent: &str, imported: Imported<'_>) -> Result<u64>;

    /// Who writes an instance now, in words.
    fn held_by(&self, key: &InstanceKey) -> Option<String>;

    /// All messages at once.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn load(&self, key: &InstanceKey) -> Result<Loaded> {
        let mut messages = Vec::new();
        let Seen { open_turn, notices } = self.read(key, &mut |message| messages.push(message))?;
        Ok(Loaded { messages, open_turn, notices })
    }

    /// Ends whatever turn was cut off, so that the next can begin, and lets the instance rest.
    ///
    /// # Errors
    /// As [`Self::conversation`].
    fn restart(&self, key: &InstanceKey) -> Result<Option<TurnId>> {
        let mut conversation = self.conversation(key)?;
        let open = conversation.open_turn().map(|open| open.turn.clone());
        if let Some(turn) = &open {
            conversation.fold(turn)?;
        }
        drop(conversation);
        self.set_status(key, Status::Idle)?;
        Ok(open)
    }
}
