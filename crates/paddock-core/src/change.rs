//! The ChangeSet: the only way anything in a Store changes.
//!
//! Write, append, edit, make, move and delete are all entries of one set, judged together and made
//! together. Edits and appends are computed inside [`Store::apply`](crate::Store::apply), under the
//! Store's own lock, so that of many writers none loses.

use crate::edit::Replacement;
use crate::path::{RelPath, RelPathBuf};
use crate::store::Version;

/// What must be true of a path for its change to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Anything, or nothing, may be there.
    Any,
    /// Nothing may be there.
    Absent,
    /// Exactly this version must be there.
    Is(Version),
}

/// What happens to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The content becomes this; missing directories above are made.
    Write {
        /// The whole content.
        content: Vec<u8>,
        /// The mode of a new file, where it is known; a replaced file keeps its own.
        mode: Option<u32>,
    },
    /// This text is added at the end, in the encoding and line endings of what is there.
    Append {
        /// What is added.
        content: Vec<u8>,
    },
    /// Text is replaced, all or nothing.
    Edit {
        /// The replacements, one after the other.
        edits: Vec<Replacement>,
    },
    /// A directory is made, with those above it; one that is there is fine.
    MakeDir,
    /// It moves; nothing may be at the other end.
    Move {
        /// Where it goes.
        to: RelPathBuf,
    },
    /// A file, a link or an empty directory goes.
    Delete,
}

/// One change to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub(crate) path: RelPathBuf,
    pub(crate) act: Act,
    pub(crate) expect: Expect,
}

impl Change {
    /// The path relative to the Mount.
    pub fn path(&self) -> RelPath<'_> {
        self.path.as_rel()
    }

    /// What happens to it.
    pub fn act(&self) -> &Act {
        &self.act
    }

    /// What must be true for it.
    pub fn expect(&self) -> Expect {
        self.expect
    }
}

/// Changes of one Store that belong together. Only the Vfs makes one, from what it has judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeSet {
    changes: Vec<Change>,
}

impl ChangeSet {
    pub(crate) fn new(changes: Vec<Change>) -> Self {
        Self { changes }
    }

    pub(crate) fn one(path: RelPathBuf, act: Act, expect: Expect) -> Self {
        Self::new(vec![Change { path, act, expect }])
    }

    /// The changes, in the order in which they are made.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

/// What became of each change, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// One for each change of the set.
    pub changes: Vec<AppliedChange>,
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedChange {
    /// The version that is there now, for what has one.
    pub version: Option<Version>,
    /// Was it new?
    pub created: bool,
    /// How many replacements an edit made.
    pub replacements: usize,
}
