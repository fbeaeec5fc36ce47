//! The console over a real socket: a project on disk, the server as it runs, requests written by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    missing_docs
)]

mod activity;
mod adversaries;
mod approvals;
mod browsing;
mod doors;
mod events;
mod files;
mod forks;
mod harness;
mod history;
mod http;
mod instances;
mod projects;
mod robust;
mod settings;
mod shares;
mod threads;
mod why;
