//! The port of a [`ForeignStore`](super::ForeignStore): what somebody else's store is asked, key by key.
//!
//! Small on purpose. Whatever a program has to hold files (an object in JavaScript, a service, a map in memory) can
//! stand behind it, and all meaning is on this side: versions, edits, locks, what a search finds. So nothing of what a
//! Keeper answers is trusted, and it must never decide what an agent may see.

use std::ops::ControlFlow;
use std::time::SystemTime;

use paddock_core::{Call, ErrorKind, RelPath, Result, StoreError};

/// Somebody else's store. Paths are relative to the Mount, without a leading slash; the Mount itself is `""`.
///
/// An answer that does not come has to be given up when the call is over: [`Call::tick`] tells. Every error is taken
/// as "it failed"; that nothing is there is an answer and no error, as far as the store can tell the two apart.
pub trait Keeper: Send + Sync {
    /// What it can. Asked once, when the Store is made.
    fn abilities(&self) -> Abilities;

    /// What is at a path. One that cannot tell is unsure, and is then listed.
    fn look(&self, _call: &Call<'_>, _path: RelPath<'_>) -> Result<Sight> {
        Ok(Sight::Unsure)
    }

    /// The whole content of a file; nothing where there is none.
    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Content>>;

    /// The content becomes this. `dated` is the time that the file should bear, where it is not that of the write.
    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], dated: Option<SystemTime>) -> Result<()>;

    /// Replaces a text that stands in the file once, and answers how often it did; nothing where it has no edit of its
    /// own. One that is atomic keeps what writers outside of this process do meanwhile.
    fn edit(&self, _call: &Call<'_>, _path: RelPath<'_>, _old: &str, _new: &str) -> Result<Option<u64>> {
        Ok(None)
    }

    /// What is directly in a directory. Asked of one that lists [`Listing::Directories`].
    fn list(&self, _call: &Call<'_>, _dir: RelPath<'_>) -> Result<Vec<Named>> {
        Err(ErrorKind::Unsupported("listing a directory").into())
    }

    /// Hands over everything that it holds, in any order, and ends early when `take` has enough or fails. Asked of one
    /// that lists [`Listing::Whole`]. Directories above a file need not be named; what is no path is left out.
    fn everything(&self, _call: &Call<'_>, _wanted: Wanted, _take: Take<'_>) -> Result<()> {
        Err(ErrorKind::Unsupported("listing everything").into())
    }

    /// Paths of files below a directory that may hold a match of a regular expression; nothing where every file may.
    /// Each is read and searched again, so too many are only slow. Case counts.
    fn search(&self, _call: &Call<'_>, _dir: RelPath<'_>, _pattern: &str) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

    /// Takes away a file or an empty directory. What is not there is fine.
    fn remove(&self, _call: &Call<'_>, _path: RelPath<'_>, _kind: KeyKind) -> Result<()> {
        Err(ErrorKind::Unsupported("deleting").into())
    }

    /// Told of something in an answer that was left out, so that it does not hide all the rest. For whoever looks after the
    /// store, never for an agent.
    fn left_out(&self, _why: &StoreError) {}

    /// Makes one directory, whose parent is there. One that is there, or that only its files imply, is fine and stays.
    fn make_dir(&self, _call: &Call<'_>, _dir: RelPath<'_>) -> Result<()> {
        Err(ErrorKind::Unsupported("making a directory").into())
    }
}

/// What a [`Keeper`] can. What it cannot, no tool offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// How it tells what it holds.
    pub listing: Listing,
    /// Files can be taken away, so also moved.
    pub remove: bool,
    /// It can be searched.
    pub search: bool,
    /// A directory can be there without a file in it.
    pub make_dir: bool,
    /// Any bytes can be held, not only UTF-8.
    pub bytes: bool,
}

/// How a [`Keeper`] tells what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Directory by directory: [`Keeper::list`].
    Directories,
    /// Only all at once: [`Keeper::everything`].
    Whole,
}

/// What a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// A file.
    File,
    /// A directory.
    Dir,
}

/// What a [`Keeper`] says is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Nothing.
    Nothing,
    /// This.
    There(KeyKind),
    /// It cannot tell by itself.
    Unsure,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// All of it.
    pub bytes: Vec<u8>,
    /// When it was last changed, where that is known.
    pub modified: Option<SystemTime>,
}

/// One thing in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name, without any slash.
    pub name: String,
    /// What it is.
    pub kind: KeyKind,
}

/// What is wanted of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Which keys there are, as it is asked for most often: no content has to be fetched or handed over.
    Names,
    /// Contents too, where they come along.
    Contents,
}

/// Takes everything, one thing after the other.
pub type Take<'a> = &'a mut dyn FnMut(Item<'_>) -> Result<ControlFlow<()>>;

/// One thing of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its path, without a slash at either end.
    pub path: &'a str,
    /// What it is.
    pub kind: KeyKind,
    /// The content of a file, where it came along.
    pub content: Option<Vec<u8>>,
}
