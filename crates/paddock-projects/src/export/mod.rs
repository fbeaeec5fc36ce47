//! Taking a project home: a Zip, a Git bundle, a repository, a push to one.
//!
//! What leaves is what the Workspace shows, without what the project's `.gitignore` files name, and always in the same order with the
//! same times: exporting twice gives the same bytes. A repository's own files never leave: they may hold what opens its remotes.

mod git;
mod pack;
mod push;
mod zip;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use git::host_branch;
pub use git::{Commit, bundle, repository};
pub use push::{Pushed, push};
pub use zip::zip;

use crate::left_out::LeftOut;

/// What goes out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Export {
    /// Also what the project's `.gitignore` files name.
    pub ignored: bool,
}

/// What went out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exported {
    /// How many files.
    pub files: u64,
    /// How many links.
    pub links: u64,
    /// How many directories; Git knows only those that hold something.
    pub directories: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// The commit, where it went to Git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What did not come along.
    pub left_out: LeftOut,
}
