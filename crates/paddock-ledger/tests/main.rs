//! The integration tests of this crate, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
