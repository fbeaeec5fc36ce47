//! Taking a project in: a Zip, a Git bundle, a repository. All of it or nothing, as one recorded call.
//!
//! Everything is read, checked and kept aside before the Workspace hears of it. A name, a link or a size that is refused
//! refuses the whole. What fails half-way, because the Workspace is full or somebody writes there too, is taken back.

mod git;
mod incoming;
mod zip;

use paddock_core::{LogicalPath, OpKind, RelPathBuf};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

pub use git::git;
pub(crate) use incoming::{Incoming, Pieces};
pub use zip::zip;

use crate::error::{ProjectError, Result};
use crate::left_out::LeftOut;
use crate::source::Source;

/// How a project comes in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Import {
    /// Also over what is there: files of the same name are replaced, and all others stay.
    pub merge: bool,
    /// Leave out what the Workspace does not let be written, and tell, instead of refusing the whole.
    pub leave_out_denied: bool,
    /// Take in what is in the one directory that everything is in.
    pub unwrap: bool,
    /// How much is taken.
    pub limits: Limits,
}

/// Could anything be taken in here? Asked before an archive is waited for.
///
/// # Errors
/// When no Workspace covers it, nothing may be written there, or something is there already.
pub fn could(person: &Person<'_>, path: &LogicalPath, import: Import) -> Result<()> {
    let there = Source::at(person, path)?;
    incoming::is_new(&there, path, import)?;
    // A name that no pattern means: whether the place takes anything at all.
    let inside = RelPathBuf::parse("imported").map_or_else(|_| path.clone(), |name| path.join(name.as_rel()));
    let decision = person.vfs().judge(OpKind::Write, &inside);
    if decision.allowed() { Ok(()) } else { Err(ProjectError::Denied { paths: vec![path.clone()] }) }
}

/// The most that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of content in all.
    pub bytes: u64,
    /// Files, links and directories.
    pub entries: u64,
    /// How many times larger than its archive a content may be, from 64 MiB on.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 8 << 30, entries: 100_000, ratio: 200 }
    }
}

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Imported {
    /// Where it is.
    pub path: String,
    /// The call that it was; `paddock undo` takes it.
    pub call: String,
    /// How many files.
    pub files: u64,
    /// How many links.
    pub links: u64,
    /// How many directories.
    pub directories: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// How many files that were there were replaced.
    pub replaced: u64,
    /// What did not come along.
    pub left_out: LeftOut,
}
