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
mod desk;
pub mod failure;
mod host;
pub mod layered;
pub mod moment;
pub mod past;
pub mod project;
pub mod running;
pub mod unified;

pub use desk::{Desk, person};
pub use failure::{Failure, FailureKind, Result};
pub use project::{Places, Project};
