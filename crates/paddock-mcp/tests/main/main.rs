//! The server over streams in memory, with rmcp's own client and with raw lines; over HTTP with requests written by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod asking;
mod calls;
mod changes;
mod eras;
mod harness;
mod http;
mod long_calls;
mod methods;
