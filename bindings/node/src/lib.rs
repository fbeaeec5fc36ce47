//! The Node addon: Workspaces, their tools and their Stores for JavaScript programs.
//!
//! JavaScript says which Stores are mounted where ([`stores`]), asks once a turn which tools there are and what the
//! Filesystem Map says, and makes calls ([`workspaces`]). Everything that decides is below, in `paddock-tools` and
//! `paddock-core`; a Store that is written in JavaScript is asked from here ([`port`], [`base`]) as any other, behind
//! the same guard.
//!
//! Calls run on threads of their own and wait there, so a JavaScript Store may answer on the thread that asked.
//!
//! This crate must never hold policy, and never wait on JavaScript's own thread.

#![allow(unreachable_pub, clippy::needless_pass_by_value, reason = "JavaScript calls it, and hands over values")]
#![cfg_attr(
    feature = "conformance",
    allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")
)]

mod base;
mod common;
#[cfg(feature = "conformance")]
mod conformance;
mod databases;
mod javascript;
mod lane;
#[cfg_attr(test, allow(dead_code, reason = "only JavaScript calls it, and no test has any"))]
mod options;
mod place;
mod port;
mod stores;
mod workspaces;
