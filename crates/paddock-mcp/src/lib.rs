//! The agent's tools over the Model Context Protocol.
//!
//! [`serve_stdio`] serves one client over standard input and output, [`serve`] over any two streams, [`http`] any number over
//! streamable HTTP. Clients of every protocol version are served by one handler: those that begin with `initialize`, and those of
//! 2026-07-28 that send their context with each request. The instructions are the Filesystem Map; the tools are
//! those that some Workspace of the agent allows; a changed policy is announced.
//!
//! rmcp speaks the protocol. This crate adds the connection under it (`transport`: bounds, clear errors for
//! messages that are too long or broken, no thread hop for a short call) and the handler above it (`server`).
//!
//! This crate must never know a concrete Store, decide what an agent may do, or write anything but messages to
//! its output.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod answers;
mod calls;
mod changes;
mod eliciting;
pub mod http;
mod id_finder;
mod lines;
mod listing;
mod message;
mod outbox;
mod serve;
mod server;
mod stdio;
mod transport;

pub use answers::{FactsIn, result as call_result};
pub use serve::{ServeError, serve, serve_stdio};
pub use server::Server;
