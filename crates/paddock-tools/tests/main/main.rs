//! The tools as an agent uses them: on Stores in memory, through the boundary.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod arguments;
mod browsing;
mod changing;
mod gates;
mod lacking;
mod middleware;
mod previews;
mod properties;
mod quiet;
mod reading;
mod reloading;
mod rules;
mod searching;
mod seeds;
mod setup;
mod shape;
mod sizes;
