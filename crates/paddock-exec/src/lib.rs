//! Commands in a kernel sandbox.
//!
//! A command sees the Workspaces at their logical paths, each with its Access Scope, and beside them a minimal system;
//! the kernel holds it to that, not a list of words. This crate owns the launcher: namespaces, mounts, Landlock, the
//! filter of system calls, limits, and the reading of what a staged command changed. It decides no policy: what is
//! shown, hidden and guarded is said by the caller. It must never commit a change, and no crate below knows it.

// This crate starts processes and mounts the host's directories for them: the ban elsewhere ends here.
#![allow(clippy::disallowed_methods)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cgroup;
mod child;
pub mod courtesy;
mod error;
mod features;
mod index;
mod landlock;
mod limits;
mod maps;
mod plan;
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "public only where tests switch protections off")
)]
mod protections;
mod proxy;
mod report;
mod run;
mod runner;
mod sandbox;
mod seccomp;
mod slots;
pub mod staged;
mod steps;
mod sys;
mod system;
mod veil;

pub use error::{Error, ErrorKind, Part};
pub use features::{Feature, features, missing};
pub use index::{Index, Kind, Matches};
#[cfg(feature = "testing")]
pub use protections::Protections;
pub use proxy::Proxy;
pub use run::run;
pub use runner::Runner;
pub use sandbox::{
    Command, Ended, Exit, How, Limit, Limits, Network, Output, Sandbox, Serve, Shown, Stage, Tier, Tiers, Usage, What,
};
pub use slots::{keep_no_large_memory, tidy_up};
pub use system::RESERVED;
