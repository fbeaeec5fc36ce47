//! The Store: what executes data operations against a Mount, and the values it speaks in.
//!
//! A Store never computes and never decides. It takes a [`Place`], which only the Vfs can mint, so
//! that no operation reaches it without having been judged. It is synchronous: a hop to another
//! thread costs ten times a small read.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::SystemTime;

use crate::call::{Call, CallId};
use crate::change::{Applied, ChangeSet, Expect, Kept, Usage};
use crate::error::{ErrorKind, Result};
use crate::glob::PathGlob;
use crate::path::{RelPath, RelPathBuf};
use crate::place::Place;
use crate::scope::OpKind;

/// Takes results one by one; answers `Break` when it has enough.
pub type Sink<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

/// Takes the entries of a walk one by one; answers `Break` when it has enough.
pub type EntrySink<'a> = &'a mut dyn FnMut(Entry<'_>) -> ControlFlow<()>;

/// Executes data operations against a Mount.
pub trait Store: Send + Sync {
    /// The same place with every symbolic link on the way replaced by where it leads, inside the
    /// Mount. What does not exist yet stays as it is written. The Vfs judges the answer again.
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf>;

    /// Facts about what is there; a link as the last name is reported, not followed.
    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta>;

    /// Appends the bytes of `range` to `out`. A range past the end gives what there is.
    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta>;

    /// Where a symbolic link says that it leads, as it is written. Nothing is followed; whoever does is judged then.
    fn leads_to(&self, _call: &Call<'_>, _at: &Place<'_>) -> Result<String> {
        Err(ErrorKind::Unsupported("reading a link").into())
    }

    /// Everything below a directory that the Place shows, in tree order (see [`crate::tree_order`]).
    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()>;

    /// Lines that match below a directory, or in one file: the first `query.limit` in tree order.
    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()>;

    /// Makes every change of the set. The only mutation there is.
    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied>;

    /// Is what is there what a change expects? Only looked at: the change itself asks again, under the Store's own lock.
    fn holds(&self, call: &Call<'_>, at: &Place<'_>, expect: Expect) -> Result<bool> {
        if expect == Expect::Any {
            return Ok(true);
        }
        let there = match self.stat(call, at) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            stat => Some(stat?),
        };
        Ok(match (there, expect) {
            (None, expect) => !matches!(expect, Expect::Is(_)),
            (Some(_), Expect::Absent) => false,
            (Some(meta), Expect::Is(version)) => meta.version == version,
            (Some(meta), Expect::UnchangedSince(time)) => meta.modified.is_some_and(|modified| modified <= time),
            (Some(_), Expect::Any) => true,
        })
    }

    /// Can it do this at all? Asked by whoever judges, so it must touch nothing and always answer the same.
    fn serves(&self, _op: OpKind) -> bool {
        true
    }

    /// Would this be over at once: without a wait for anybody's lock or server, and with little to look through or to copy? Whoever
    /// must not wait asks. It is one look, which changes nothing, and a moment later it may be otherwise.
    fn is_at_hand(&self, _op: OpKind, _path: RelPath<'_>) -> bool {
        false
    }

    /// Does it lie where programs of the host work on it, git among them? What is in other Stores is judged once more on its way there.
    fn is_on_disk(&self) -> bool {
        false
    }

    /// Is a set of several changes made as a whole or not at all?
    fn is_atomic(&self) -> bool {
        false
    }

    /// The largest file of which a change can keep what it replaces; nothing where that does not depend on the size.
    fn keeps_up_to(&self) -> Option<u64> {
        None
    }

    /// What the Store knows of its past, where it keeps any.
    fn versioned(&self) -> Option<&dyn Versioned> {
        None
    }

    /// The pieces that the content of a file is kept in, where it is kept in pieces that never change: a layer over this
    /// Store that is kept in the same place names them again instead of copying them.
    fn pieces(&self, _call: &Call<'_>, _at: &Place<'_>) -> Result<Option<Pieces>> {
        Ok(None)
    }
}

/// The pieces of one content, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces {
    /// Where they are kept. The numbers of one place mean nothing in another.
    pub kept_in: KeptIn,
    /// Their numbers there.
    pub ids: Vec<u64>,
    /// The length of the content.
    pub len: u64,
    /// The version of the file that has it.
    pub version: Version,
}

/// Tells one place where pieces are kept from every other that there is at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptIn(usize);

impl KeptIn {
    /// The place that this is. It has to live as long as anybody compares.
    pub fn place<T: ?Sized>(place: &Arc<T>) -> Self {
        Self(Arc::as_ptr(place).cast::<()>().addr())
    }
}

/// The past of a Store: what changes replaced, and a moment that can be held on to.
pub trait Versioned: Send + Sync {
    /// As [`Store::read`], of what was kept when the path changed.
    fn recall(
        &self,
        call: &Call<'_>,
        at: &Place<'_>,
        kept: &Kept,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Meta>;

    /// What a call that was cut off kept of a path, if it replaced it and the Store can tell.
    fn kept_by(&self, _: &Call<'_>, _at: &Place<'_>, _cut_off: CallId) -> Result<Option<Kept>> {
        Ok(None)
    }

    /// Did what is at the path come there, or change, after this was kept of it? Only where somebody can go past the Store.
    fn is_newer(&self, _: &Call<'_>, _at: &Place<'_>, _kept: &Kept) -> Result<bool> {
        Ok(false)
    }

    /// What was kept is not needed any more.
    fn release(&self, call: &Call<'_>, kept: &[Kept]) -> Result<()>;

    /// What the Mount holds.
    fn usage(&self, call: &Call<'_>) -> Result<Usage>;
}

/// What [`Store::resolve`] does with a link as the last name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastName {
    /// It is followed: the content is meant.
    Follow,
    /// It stays: the link itself is meant, as in a delete or a move.
    Keep,
}

/// An opaque mark of one state of a file or directory. Equal marks mean equal content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub u128);

impl Version {
    /// Reads what [`Version`]'s `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix('v')?;
        if hex.len() != 32 || !hex.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()) {
            return None;
        }
        u128::from_str_radix(hex, 16).ok().map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{:032x}", self.0)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A FIFO, a device or a socket: shown, never opened.
    Special,
}

/// Facts about one file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Its length in bytes.
    pub len: u64,
    /// Its version.
    pub version: Version,
    /// The Unix mode bits where the Store keeps them.
    pub mode: Option<u32>,
    /// When it was last changed.
    pub modified: Option<SystemTime>,
}

/// How to go through a tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk<'a> {
    /// How many levels below the start; nothing for all.
    pub depth: Option<u32>,
    /// Leave out what `.gitignore` and `.ignore` files name, and `.git` itself.
    pub skip_ignored: bool,
    /// Only what comes after this path (relative to the Mount) in tree order.
    pub after: Option<&'a str>,
}

/// One thing met on a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path relative to the Mount.
    pub path: &'a str,
    /// What it is.
    pub kind: Kind,
    /// Can an agent name it? When not, the path shows the name escaped.
    pub plain: bool,
}

/// What to search for.
#[derive(Debug, Clone)]
pub struct Query {
    /// A regular expression, matched line by line.
    pub pattern: String,
    /// Match without regard to case.
    pub ignore_case: bool,
    /// Only files whose path below the start matches this glob.
    pub glob: Option<PathGlob>,
    /// Lines shown before and after each match.
    pub context: u32,
    /// The most matching lines.
    pub limit: usize,
    /// Leave out what `.gitignore` and `.ignore` files name, and `.git` itself.
    pub skip_ignored: bool,
    /// Only files that come after this path (relative to the Mount) in tree order.
    pub after: Option<String>,
}

/// One line that a search shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file, relative to the Mount.
    pub path: String,
    /// The line, counted from 1.
    pub line: u64,
    /// Its text without the line ending, cut where it is very long.
    pub text: String,
    /// Does it match, or is it context?
    pub matched: bool,
}
