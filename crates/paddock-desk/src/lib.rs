//! What the person in charge does with a project: one function per look and per act.
//!
//! The command line prints what these answer, and the console serves it: `--json` and the HTTP API are the same types.
//! [`Project`] finds the configuration and the agents' policies; the modules beside it are the looks and acts. What
//! fails says so as a [`Failure`], with the one thing to do next.
//!
//! It must never print, ask at a terminal, know HTTP, or reach a Store past the guard: a person's acts go through
//! `paddock_tools::Person`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod access;
pub mod activity;
mod acts;
pub mod approvals;
mod at_once;
mod desk;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod failure;
pub mod files;
pub mod forks;
pub mod history;
mod host;
pub mod instances;
pub mod layered;
pub mod moment;
pub mod overview;
pub mod past;
pub mod project;
pub mod projects;
pub mod running;
pub mod setup;
pub mod shares;
pub mod threads;
pub mod unified;
pub mod workspaces;

pub use at_once::at_once;
pub use desk::{Desk, person};
pub use failure::{Failure, FailureKind, Result};
pub use project::{Places, Project};
