//! Models over HTTP, against a server that speaks both protocols for real.

mod answers;
mod double;
mod runs;
mod trouble;
