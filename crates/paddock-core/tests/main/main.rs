//! The tests of the guard, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod against_model;
mod aliases;
mod alterations;
mod common;
mod delivery;
mod links;
mod many;
mod model;
mod nesting;
mod plans;
mod properties;
mod recursion;
mod repositories;
