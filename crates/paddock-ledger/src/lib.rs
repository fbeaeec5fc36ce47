//! What happened: the audit of every call, and the history that lets an effect be undone.
//!
//! Implements the ports `Audit` and `Journal` of `paddock-core` on the databases of `paddock-db`. It must never
//! know tools or transports, and never keep contents: those stay in the Stores, under names that only they can read.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod approvals;
pub mod audit;
pub mod history;
mod ledger;

pub use ledger::Ledger;
