//! The Virtual Store: files on a key-value database, none of them on the host's disk as such.
//!
//! - [`base`]: what the database has to do, as a trait;
//! - `memory_base`: a database in memory.

pub mod base;
mod memory_base;

pub use memory_base::MemoryBase;
