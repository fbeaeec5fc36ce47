//! The tests of the Stores, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
// A test prepares and inspects the host's disk behind the Store's back.
#![allow(clippy::disallowed_methods)]

mod adversaries;
mod bases;
mod conformance;
#[path = "../../../../tests/could_not_run.rs"]
mod could_not_run;
mod doubles;
mod foreign;
mod forks;
mod many_writers;
mod overlay_model;
mod physical_history;
mod physical_quota;
mod planting;
mod stopped;
