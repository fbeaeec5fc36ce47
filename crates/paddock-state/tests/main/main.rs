//! The System Root as a person and an attacker meet it, and the conversations in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod instances;
mod secrets;
mod seed_004;
mod specs;
mod system_root;
mod workspace_home;
