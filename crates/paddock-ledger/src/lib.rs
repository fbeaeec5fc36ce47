//! What happened and what may: the audit of every call, the history that lets an effect be undone, the approvals of persons.
//!
//! Implements the ports `Audit`, `Journal` and `Gate` of `paddock-core` on the databases of `paddock-db`. It must never
//! know tools or transports. Contents stay in the Stores, under names that only they can read; approvals alone keep some: the
//! difference that a person is shown, and a held change of a command until it is decided.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod approvals;
pub mod audit;
pub mod history;
mod ledger;

pub use ledger::Ledger;
