//! The configuration as a person writes it, and as an agent lives under it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod adhoc;
mod building;
#[path = "../../../../tests/could_not_run.rs"]
mod could_not_run;
mod editing;
mod errors;
mod instances;
mod on_the_disk;
mod parsing;
mod properties;
mod reloading;
mod schema;
mod secrets;
mod support;
mod tidying;
mod warnings;
