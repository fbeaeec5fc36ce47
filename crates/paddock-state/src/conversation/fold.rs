//! Folding: what a conversation is after events, `Next = Base + Σ Events`.
//!
//! [`apply`] is the rule itself, on a list. [`Folding`] comes to the same without having the confirmed messages in memory:
//! only those that an event looks for are kept track of, so that a long history costs nothing but its reading.
//! Pure: nothing here reads or writes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use super::{Message, MessageEvent};

/// An event looked for a message that is not there, and was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingMessage {
    /// Which of the events, from 0.
    pub event_index: usize,
    /// The id it looked for.
    pub target_id: String,
}

impl MissingMessage {
    /// How programs recognise it.
    pub const CODE: &'static str = "E_MESSAGE_TARGET_NOT_FOUND";
}

impl fmt::Display for MissingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} looks for message {:?}, which is not there: skipped", self.event_index, self.target_id)
    }
}

/// The messages after the events, and what was skipped on the way.
#[must_use]
pub fn apply(mut messages: Vec<Message>, events: &[MessageEvent]) -> (Vec<Message>, Vec<MissingMessage>) {
    let mut missing = Vec::new();
    for (event_index, event) in events.iter().enumerate() {
        let at = event.target_id().map(|id| messages.iter().position(|message| message.id() == id));
        match (event, at.flatten()) {
            (MessageEvent::Append { message }, _) => messages.push(message.clone()),
            (MessageEvent::Truncate, _) => messages.clear(),
            (MessageEvent::Replace { message, .. }, Some(at)) => messages[at] = message.clone(),
            (MessageEvent::Remove { .. }, Some(at)) => drop(messages.remove(at)),
            (MessageEvent::Replace { target_id, .. } | MessageEvent::Remove { target_id }, None) => {
                missing.push(MissingMessage { event_index, target_id: target_id.clone() });
            }
        }
    }
    (messages, missing)
}

/// What becomes of a confirmed message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fate {
    Kept,
    Removed,
    Replaced(Message),
}

/// A message that events can reach, in the order of the conversation.
struct Slot {
    /// Its place among the confirmed ones; none for a new one.
    confirmed: Option<u64>,
    /// What it is now, where an event said so.
    message: Option<Message>,
    /// The event that appended it; for confirmed ones nothing is said.
    event_index: usize,
}

/// What events make of confirmed messages that are not at hand.
#[derive(Default)]
pub(crate) struct Folding {
    slots: Vec<Slot>,
    /// Where each id stands now, first place first.
    places: HashMap<String, BTreeSet<usize>>,
    emptied: bool,
    fates: HashMap<u64, Fate>,
    missing: Vec<MissingMessage>,
}

impl Folding {
    /// The ids that events look for: the confirmed messages with these have to be told to [`Self::of`].
    pub(crate) fn wanted(events: &[MessageEvent]) -> HashSet<&str> {
        events.iter().filter_map(MessageEvent::target_id).collect()
    }

    /// Folds `events` over confirmed messages of which `found` are the wanted ones: each by its place and id, in order.
    pub(crate) fn of(found: Vec<(u64, String)>, events: &[MessageEvent]) -> Self {
        let mut folding = Self::default();
        for (place, id) in found {
            folding.add(id, Slot { confirmed: Some(place), message: None, event_index: 0 });
        }
        for (index, event) in events.iter().enumerate() {
            folding.take(index, event);
        }
        folding.settle();
        folding
    }

    fn add(&mut self, id: String, slot: Slot) {
        self.places.entry(id).or_default().insert(self.slots.len());
        self.slots.push(slot);
    }

    fn take(&mut self, event_index: usize, event: &MessageEvent) {
        match event {
            MessageEvent::Append { message } => {
                let slot = Slot { confirmed: None, message: Some(message.clone()), event_index };
                self.add(message.id().to_owned(), slot);
            }
            MessageEvent::Truncate => {
                self.slots.clear();
                self.places.clear();
                self.fates.clear();
                self.emptied = true;
            }
            MessageEvent::Replace { target_id, message } => match self.first(target_id) {
                Some(at) => {
                    self.places.entry(message.id().to_owned()).or_default().insert(at);
                    self.slots[at].message = Some(message.clone());
                }
                None => self.missing.push(MissingMessage { event_index, target_id: target_id.clone() }),
            },
            MessageEvent::Remove { target_id } => match self.first(target_id) {
                Some(at) => {
                    let removed = &mut self.slots[at];
                    removed.message = None;
                    if let Some(place) = removed.confirmed.take() {
                        self.fates.insert(place, Fate::Removed);
                    }
                }
                None => self.missing.push(MissingMessage { event_index, target_id: target_id.clone() }),
            },
        }
    }

    /// Takes the first place that has the id off the list of places with that id.
    fn first(&mut self, id: &str) -> Option<usize> {
        let places = self.places.get_mut(id)?;
        let at = places.pop_first();
        if places.is_empty() {
            self.places.remove(id);
        }
        at
    }

    /// What replaced confirmed messages goes where they were.
    fn settle(&mut self) {
        for slot in &mut self.slots {
            if let Some(place) = slot.confirmed
                && let Some(message) = slot.message.take()
            {
                self.fates.insert(place, Fate::Replaced(message));
            }
        }
    }

    /// Whether nothing of what was confirmed is left, so that nobody has to look at it.
    pub(crate) fn is_emptied(&self) -> bool {
        self.emptied
    }

    /// What becomes of the confirmed message at a place.
    pub(crate) fn fate(&mut self, place: u64) -> Fate {
        if self.emptied { Fate::Removed } else { self.fates.remove(&place).unwrap_or(Fate::Kept) }
    }

    /// What comes after the confirmed ones, each with the event that appended it, and what was skipped.
    pub(crate) fn rest(self) -> (Vec<(usize, Message)>, Vec<MissingMessage>) {
        let new = self.slots.into_iter().filter(|slot| slot.confirmed.is_none());
        (new.filter_map(|slot| Some((slot.event_index, slot.message?))).collect(), self.missing)
    }
}
