//! The file system against the real kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod coherence;
mod crowd;
mod naming;
mod one_way;
mod programs;
mod reading;
mod world;
mod writing;
