//! State that outlives a process: the System Root, a project's place in it, conversations and secrets.
//!
//! Execution state lives outside the project, in one private directory per person, so that no agent,
//! no commit and no clean-up of a project can touch it. This crate finds that directory, refuses one
//! that is not safe to use, and gives each project its own place in it ([`SystemRoot`], [`WorkspaceId`], [`WorkspaceHome`]).
//!
//! In that place an [`instance`] of an agent has its [`conversation`] and the state of its extensions: exact after a crash at any
//! instant, and as cheap to go on with after a million messages as after ten. `docs/specs/workspace.md` and
//! `docs/specs/runtime.md` are the reference for paths, formats and the order of folding; tests run their examples.
//!
//! It must never know agents or tools, never hand one project's state to another, and never look into what was said.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]
#![allow(clippy::disallowed_methods, reason = "the System Root is on the host's disk and this crate owns it")]

pub mod conversation;
mod error;
mod forks;
pub mod instance;
mod names;
mod origin;
pub mod private;
mod secrets;
mod system_root;
mod timestamp;
mod workspace_home;
mod workspace_id;

pub use error::{HomeError, StateError};
pub use forks::{ForkRecord, Forks};
pub use names::{BadName, ExtensionName, InstanceKey, TurnId};
pub use origin::Origin;
pub use secrets::{
    BadSecretName, BadSecretValue, FromEnvironment, NewKey, Passphrases, Protection, RedactedStream, Redactor,
    SecretEntry, SecretName, SecretValue, Secrets, SecretsError, Vault,
};
pub use system_root::{HomeSources, SystemRoot};
pub use timestamp::Timestamp;
pub use workspace_home::WorkspaceHome;
pub use workspace_id::WorkspaceId;
