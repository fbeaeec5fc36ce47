//! The built binary, as people and MCP clients use it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod adhoc;
mod client;
mod config;
mod connection;
mod demo;
mod docs;
mod doctor;
mod harness;
mod init;
mod own_policy;
mod policy;
mod reload;
mod seed_000;
mod shell;
mod tool;
