//! Stores: Physical on the host's disk, Virtual on a database (in memory, SQLite, PostgreSQL), Overlays and forks over
//! either, those whose files somebody else keeps, and the plain one in memory that tests compare with.
//!
//! A Store executes data operations against a Mount. It takes only what the guard of `paddock-core`
//! has let through and never decides anything itself: no scope, no hidden name, no agent is known
//! here beyond what a `Place` says.

// This crate owns the host's file system: the ban of direct file calls elsewhere ends here.
#![allow(clippy::disallowed_methods)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod below;
pub mod conformance;
#[cfg(test)]
#[path = "../../../tests/could_not_run.rs"]
mod could_not_run;
pub mod doubles;
pub mod foreign;
pub mod fork;
mod ignores;
mod memory;
mod nothing;
mod physical;
pub mod quota;
pub mod search;
mod staged;
pub mod virtual_store;

pub use memory::MemoryStore;
pub use nothing::NothingStore;
pub use physical::{Durability, HardLinks, KeptEntry, KeptPlace, PhysicalStore, TEMP_PREFIX, Way};
pub use quota::{MemoryUsage, Reconciler, SqliteUsage, UsageCounter};
