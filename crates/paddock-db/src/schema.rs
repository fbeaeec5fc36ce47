//! The tables of one owner, as numbered steps.
//!
//! Several owners share one database, and each counts its own steps, so that none has to know of the others.

/// The tables of one owner.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Whose tables they are.
    pub owner: &'static str,
    /// How they came to be, in order; never changed once released, only added to.
    pub migrations: &'static [Migration],
}

/// One step of a schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Counted from 1.
    pub version: u32,
    /// The statements.
    pub sql: &'static str,
}
