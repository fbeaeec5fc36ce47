//! A conversation in two files: `base.jsonl`, what earlier turns confirmed, and `events.jsonl`, what this turn did so far.
//!
//! Why a crash at any instant leaves one of two states, before an operation or after it:
//!
//! - An event is one line, written at the end. A crash can cut it off; then it was never acknowledged, and is dropped.
//! - A turn ends by adding its messages to the base, or by a new base renamed over the old one, and only when that lasts are the
//!   events cleared. `seq` counts through both files, so whoever finds events knows where the base ended before them: what
//!   stands behind that point was being added when the crash came, and is added again. A new base ends with a line
//!   that says which turn it holds; events of that turn are not applied a second time.
//!
//! The events' file is locked for the moments in which the two files do not fit together, so that readers never see these.
//! Who writes holds the lease of the instance; nothing here takes it.

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

pub(crate) use layer::{Files, HostFiles, OneFile, Over};
pub(crate) use lease::{Lease, held_by};
pub(crate) use read::{Snapshot, copy, snapshot};
pub(crate) use repair::repair;
pub use repair::{LostLine, Repaired};
pub(crate) use write::{FileConversation, write_first_base};

/// The last line of a base that was written anew: which events it holds.
pub(super) const FOLDED: &str = "{\"type\":\"folded\"}";

/// Whether a line of a base is no message but [`FOLDED`].
pub(super) fn is_folded_mark(text: &str) -> bool {
    text.starts_with("{\"type\":\"folded\"")
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
