//! The ChangeSet: the only way anything in a Store changes.
//!
//! Write, append, edit, make, move and delete are all entries of one set, judged together and made
//! together. Edits and appends are computed inside [`Store::apply`](crate::Store::apply), under the
//! Store's own lock, so that of many writers none loses.

use std::time::SystemTime;

use crate::edit::Replacement;
use crate::error::ErrorKind;
use crate::own::Own;
use crate::path::{RelPath, RelPathBuf};
use crate::staged::Staged;
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
    /// What is there, if anything, must be older than this: nobody else changed it while a command ran.
    UnchangedSince(SystemTime),
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
    /// What the Store kept is there again: content, mode and all.
    Restore {
        /// What it was kept as.
        kept: Kept,
    },
    /// Only this many bytes of the beginning stay.
    Truncate {
        /// How many.
        len: u64,
    },
    /// A file that was made elsewhere arrives whole: content, mode and time. A file or link that is there goes.
    Take {
        /// The file.
        staged: Staged,
    },
    /// A symbolic link is there, in the place of any file or link.
    Link {
        /// Where it says that it leads, as it is written. Whoever follows it is judged then.
        leads_to: String,
    },
    /// The content stays; the mode or the time of a file or directory changes.
    Dress {
        /// What changes.
        looks: Looks,
    },
}

/// What a file or directory has besides its content. Nothing where it is not known, or does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Looks {
    /// The Unix mode bits. None that raise privileges are ever set.
    pub mode: Option<u32>,
    /// When the content was last changed.
    pub modified: Option<SystemTime>,
}

/// The mode bits that a change may set: none that raise privileges.
pub const PLAIN_MODE: u32 = 0o777;

/// The name under which a Store keeps what a change replaced. Only that Store can read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kept(pub String);

/// What was there before a change, as far as it can be had again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Before {
    /// Nothing was there.
    Absent,
    /// A directory that looked like this.
    Dir(Looks),
    /// A file or a link that the Store keeps.
    Kept(Kept),
    /// A file whose bytes are still the first so many of the new one.
    Prefix(u64),
    /// The same content, which looked like this.
    Looks(Looks),
    /// Something that was not kept: the change cannot be undone.
    #[default]
    Lost,
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
    quota: Quota,
    keep: bool,
    own: Own,
    is_own_copy: bool,
}

impl ChangeSet {
    pub(crate) fn new(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }

    pub(crate) fn one(path: RelPathBuf, act: Act, expect: Expect) -> Self {
        Self::new(vec![Change { path, act, expect }])
    }

    /// Within these bounds, and with what is replaced kept or not.
    pub(crate) fn within(mut self, quota: Quota, keep: bool) -> Self {
        (self.quota, self.keep) = (quota, keep);
        self
    }

    /// As a part of a run that has left files in these states.
    pub(crate) fn knowing(mut self, own: &Own) -> Self {
        self.own = own.clone();
        self
    }

    /// As a copy from another Workspace, of what the agent itself had made there, or of something else.
    pub(crate) fn copying(mut self, is_own: bool) -> Self {
        self.is_own_copy = is_own;
        self
    }

    /// The same changes in sets of at most so many.
    pub(crate) fn in_batches(self, size: usize) -> Vec<Self> {
        if self.changes.len() <= size {
            return vec![self];
        }
        let Self { changes, quota, keep, own, is_own_copy } = self;
        let batch = |batch: &[Change]| Self { changes: batch.to_vec(), quota, keep, own: own.clone(), is_own_copy };
        changes.chunks(size).map(batch).collect()
    }

    /// The changes, in the order in which they are made.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What the Mount may hold afterwards; a set that does not make it grow is within any.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Is what it replaces to be kept?
    pub fn keeps(&self) -> bool {
        self.keep
    }

    /// Is it a copy from another Workspace, of what the agent itself had made there?
    pub fn is_own_copy(&self) -> bool {
        self.is_own_copy
    }

    /// What the same run did to files that have other names.
    pub fn own(&self) -> &Own {
        &self.own
    }
}

/// The most that a Mount may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Bytes of content.
    pub bytes: Option<u64>,
    /// Files, links and directories.
    pub files: Option<u64>,
}

impl Quota {
    /// Does it bound nothing?
    pub fn is_unbounded(self) -> bool {
        self == Self::default()
    }

    /// Looks whether a Mount that holds `now` may become `next`.
    pub fn allow(self, now: Usage, next: Usage) -> Result<(), ErrorKind> {
        let over = |what, now, next, limit: Option<u64>| match limit {
            Some(limit) if next > limit && next > now => Err(ErrorKind::OverQuota { what, limit }),
            _ => Ok(()),
        };
        over("bytes", now.bytes, next.bytes, self.bytes)?;
        over("files", now.files, next.files, self.files)
    }
}

/// What a Mount holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of content.
    pub bytes: u64,
    /// Files, links and directories.
    pub files: u64,
}

/// What became of each change, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// One for each change of the set; for fewer where something stopped it half-way.
    pub changes: Vec<AppliedChange>,
    /// Why it stopped half-way, or failed once the last change was made. What was changed stays changed, and is recorded.
    pub stopped: Option<ErrorKind>,
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedChange {
    /// The version that is there now, for what has one.
    pub version: Option<Version>,
    /// The version of the file or link that was there under the Store's lock: what the change replaced, took or carried on.
    /// Nothing where none was there, or the Store cannot tell.
    pub met: Option<Version>,
    /// Was it new?
    pub created: bool,
    /// How many replacements an edit made.
    pub replacements: usize,
    /// What was there before; only told when the set asked for keeping.
    pub before: Before,
    /// How many directories above it were made for it.
    pub parents: usize,
}
