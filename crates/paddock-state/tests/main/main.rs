//! The System Root as a person and an attacker meet it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod system_root;
mod workspace_home;
