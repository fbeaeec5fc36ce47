//! Runs on real databases, real files and a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "a test looks at the host's disk")]

mod apart;
mod attacks;
mod blocked;
mod bounds;
mod cancelling;
mod forked;
mod forking;
mod kept;
mod killed;
mod lasting;
mod models;
mod protocol;
mod replays;
mod tasks;
mod turns;
mod versions;
mod world;
