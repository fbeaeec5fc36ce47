//! The databases as their owners use them, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
// A test prepares and inspects the host's disk behind the database's back, and starts processes to kill.
#![allow(clippy::disallowed_methods)]

mod postgres;
mod power_loss;
mod sqlite;
