//! The tests of the Stores, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod adversaries;
