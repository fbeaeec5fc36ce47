//! The file system against the real kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod on_a_mount;
mod refused;
mod world;
