//! The agent runtime: a run that plans, works step by step, asks a person exactly when it matters, and resumes exactly where it stopped.
//!
//! [`Runtime`] drives the nodes of [`nodes`] as the table in [`graph`] wires them. After every node the state is in the [`record`]; every tool
//! effect is told there before it happens and after. A process that dies leaves a thread that any other can go on with, and nothing
//! happens twice. It must never let the Executor write the plan, nor show a model the token of an approval.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod becomes;
pub mod graph;
pub mod model;
pub mod nodes;
pub mod plan;
pub mod record;
mod replay;
mod run;
mod runtime;
mod said;
pub mod state;
mod wires;

pub use replay::{Replayed, replay};
pub use runtime::{Clock, Ended, RunError, RunEvent, RunOptions, RunSettings, Runtime, Settled, Watcher};
