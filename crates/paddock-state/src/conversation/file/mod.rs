//! A conversation in two files: `base.jsonl`, what earlier turns confirmed, and `events.jsonl`, what this turn did so far.
//!
//! Why a crash at any instant leaves one of two states, before an operation or after it:
//!
//! - An event is one line, written at the end. A crash can cut it off; then it was never acknowledged, and is dropped.
//! - A turn ends by adding its messages to the base, or by a new base renamed over the old one, and only when that lasts are the
//!   events cleared. `seq` counts through both files, so whoever finds events knows where the base ended before them: what
//!   stands behind that point was being added when the crash came, and is added again. Where the base holds all of the turn already,
//!   the events are not applied a second time: each line says which event it is of, and a new base ends with a line that says which
//!   turn it holds.
//! - In the place of the events comes a line that says how far the base goes. So lines that are gone from the end of the base are missed
//!   also while no turn is open. That line needs no sync of its own: as long as it may be lost, the events before it may come back, which
//!   are known to be folded, and the sync of the next event is for it too.
//!
//! The events' file is locked for the moments in which the two files do not fit together, so that readers never see these.
//! Who writes holds the lease of the instance; nothing here takes it.

mod ahead;
mod layer;
mod lease;
mod lines;
mod read;
mod repair;
mod write;

#[cfg(test)]
pub(crate) mod crash_tests;
#[cfg(test)]
pub(crate) mod faulty;

use std::path::{Path, PathBuf};

use super::line::{self, Frame};
use crate::TurnId;

pub(crate) use layer::{Files, HostFiles, OneFile, Over};
pub(crate) use lease::{Lease, held_by};
pub(crate) use read::{Snapshot, copy, snapshot};
pub(crate) use repair::repair;
pub use repair::{LostLine, Repaired};
pub(crate) use write::{FileConversation, write_first_base};

/// The last line of a base that was written anew: which events it holds.
pub(super) const FOLDED: &str = "{\"type\":\"folded\"}";

/// Whether a line is no message but [`FOLDED`], or no event but [`Mark::sealed`].
pub(super) fn is_folded_mark(text: &str) -> bool {
    text.starts_with("{\"type\":\"folded\"")
}

/// So much of the events is left when they are cleared, for the moment until the mark stands there. Their first block stays the file's own then:
/// given back and asked for again, it would make the next sync dearer.
pub(super) const LEFT: u64 = 1;

/// How far the base goes, as the first line of the events says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// How many lines the base has.
    pub(super) lines: u64,
    /// The last event it holds, and the turn of that one.
    pub(super) seq: u64,
    pub(super) turn: TurnId,
}

impl Mark {
    /// Of a base that ends with this line.
    pub(super) fn of(last: &Frame) -> Self {
        Self { lines: last.line, seq: last.seq, turn: last.turn.clone() }
    }

    /// As the first line of the events.
    pub(super) fn sealed(&self) -> String {
        let object = format!("{{\"type\":\"folded\",\"lines\":{}}}", self.lines);
        line::seal(&object, &Frame { seq: self.seq, turn: self.turn.clone(), line: 1 })
    }

    /// Reads the line.
    pub(super) fn read(text: &str, frame: &Frame) -> Result<Self, String> {
        #[derive(serde::Deserialize)]
        struct Said {
            lines: u64,
        }
        if frame.line != 1 {
            return Err("it says how far the base goes in the middle of a turn".to_owned());
        }
        let Said { lines } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(Self { lines, seq: frame.seq, turn: frame.turn.clone() })
    }
}

/// Where the files of one conversation are.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) directory: PathBuf,
    pub(crate) base: PathBuf,
    /// A base that is being written.
    pub(crate) new_base: PathBuf,
    pub(crate) events: PathBuf,
    /// Events that a repair is writing.
    pub(crate) new_events: PathBuf,
    /// Bytes that were dropped from the end of the events.
    pub(crate) dropped: PathBuf,
}

impl Paths {
    pub(crate) fn of(instance: &Path) -> Self {
        let directory = instance.join("messages");
        Self {
            base: directory.join("base.jsonl"),
            new_base: directory.join("base.jsonl.tmp"),
            events: directory.join("events.jsonl"),
            new_events: directory.join("events.jsonl.tmp"),
            dropped: directory.join("dropped.jsonl"),
            directory,
        }
    }
}
