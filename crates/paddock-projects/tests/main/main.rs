//! The integration tests of this crate, in one binary, on real Stores and with the real program git.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
// A test prepares and inspects the host's disk behind the Workspaces' back, and starts git to ask it what it thinks.
#![allow(clippy::disallowed_methods)]

#[path = "../../../../tests/could_not_run.rs"]
mod could_not_run;
mod exporting;
mod git_in;
mod git_out;
mod listing;
mod pushing;
mod refusing;
mod round_trip;
mod starting;
mod world;
