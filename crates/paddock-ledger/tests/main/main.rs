//! The integration tests of this crate, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
// A test prepares and inspects the host's disk behind the ledger's back, and starts processes to kill.
#![allow(clippy::disallowed_methods)]

mod approvals;
mod audit;
mod cut_off;
mod half_way;
mod history;
mod history_model;
mod history_own;
mod history_postgres;
mod history_retention;
mod history_store;
mod history_world;
mod made_once;
mod mortal;
mod on_disk;
