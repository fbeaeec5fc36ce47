//! An agent's view as a file system: for commands, which see it at its logical paths, and for a person who mounts it.
//!
//! [`Served`] is what a [`Vfs`](paddock_core::Vfs) shows below a logical path. [`Served::mount`] puts it on a directory;
//! [`Served::serve`] answers on a descriptor of `/dev/fuse` that was opened and mounted elsewhere, as inside the
//! namespaces of a command. A program that reads, writes or renames there makes calls of the agent: each is planned,
//! put before the Gate and run like every other, and what is written between an open and its close is one call.
//!
//! This crate decides no policy and knows no concrete Store: what the Vfs refuses becomes an error number, in one place
//! (`errno.rs`).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod acting;
mod changing;
mod errno;
mod error;
mod filesystem;
mod handles;
mod held;
mod host;
mod listing;
mod nodes;
mod notices;
mod served;
mod session;
mod tree;
mod writing;

pub use acting::{Author, Shown};
pub use error::FuseError;
pub use served::{How, Others, Served};
pub use session::Session;
