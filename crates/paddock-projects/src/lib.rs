//! Projects in a read-write Workspace: where they start, how they come in, and how they go home.
//!
//! A project is a directory of a Workspace. This crate makes one from a template ([`Templates`]), lists those that are
//! there ([`projects`], [`measure`]), takes one in as one act ([`import`]) and takes one out ([`export`]): as a Zip, as a Git bundle,
//! as a repository, or by a push to one.
//!
//! Everything goes through a [`Person`](paddock_tools::Person): reads see what the Workspace shows, so hidden names never leave, and
//! what comes in is one planned, judged and recorded call, so that one undo takes all of it back. What goes out is written as it is read and never held whole.
//! The crate must never reach a Store by another way, follow a link, or run anything that an archive or a repository brought along.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod error;
pub mod export;
mod git;
mod host;
pub mod import;
mod left_out;
mod listing;
mod names;
mod progress;
mod source;
mod templates;

pub use error::{FaultKind, ProjectError, Result};
pub use git::{Credentials, Remote};
pub use host::{Received, Scratch};
pub use left_out::{LeftOut, LeftPath, WhyLeft};
pub use listing::{Project, Size, measure, projects};
pub use progress::{Progress, Watch, unwatched};
pub use templates::{Created, Template, TemplateSource, Templates};
