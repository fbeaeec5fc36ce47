//! The System Root and the WorkspaceId: where Paddock keeps what happens while agents run.
//!
//! Execution state lives outside the project, in one private directory per person, so that no agent,
//! no commit and no clean-up of a project can touch it. This crate finds that directory, refuses one
//! that is not safe to use, and gives each project its own place in it.
//!
//! It must never know agents or tools, and never hand one project's state to another.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]
#![allow(clippy::disallowed_methods, reason = "the System Root is on the host's disk and this crate owns it")]

pub mod conversation;
mod error;
mod forks;
pub mod instance;
mod names;
mod origin;
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
    BadSecretName, BadSecretValue, NewKey, Passphrases, Protection, RedactedStream, Redactor, SecretEntry, SecretName,
    SecretValue, Secrets, SecretsError, Vault,
};
pub use system_root::{HomeSources, SystemRoot};
pub use timestamp::Timestamp;
pub use workspace_home::WorkspaceHome;
pub use workspace_id::WorkspaceId;
