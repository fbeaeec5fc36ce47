//! What the audit asks of a database, so that the logic of chains exists once.
//!
//! A database keeps rows, entries and heads and gives them back; it must never judge them. What was changed in it by
//! others comes back marked, not as an error, so that it can be reported.

use std::time::Instant;

use super::chain::{Entry, Head, Nonce};
use super::error::AuditError;
use super::query::{Count, Cursor, Filter};
use super::row::{Hash, Row};
use paddock_db::statements::Deed;

pub(super) type Result<T, E = AuditError> = std::result::Result<T, E>;

/// Before the first row of the first chain. Chain 0 is the register and has no rows.
pub(super) const BEFORE_ALL: (u64, u64) = (0, i64::MAX.cast_unsigned());

/// Something read back from the database.
#[derive(Debug, Clone)]
pub(super) struct Found<T> {
    pub(super) it: T,
    /// Holds what no program wrote: a number out of range, bytes that are no text.
    pub(super) malformed: bool,
}

/// A head with its signature.
#[derive(Debug, Clone)]
pub(super) struct SignedHead {
    pub(super) head: Head,
    pub(super) mac: Hash,
}

/// A database that holds an audit.
pub(super) trait Storage: Send + Sync {
    /// Do several machines write to it, each with its own outside head?
    fn is_shared(&self) -> bool;
    /// Would a change wait for nobody now?
    fn is_free(&self) -> bool {
        false
    }
    /// Runs `look` in one snapshot.
    fn read(&self, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// The same, but only of what is as durable as was promised.
    fn read_durable(&self, until: Instant, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Runs `change` in one transaction; it may run several times, and then only the last counts. An error leaves open
    /// whether it was kept.
    fn write(&self, until: Instant, change: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
}

/// The tables inside a transaction. Pages are in order and hold at most what was asked for.
pub(super) trait Tables {
    /// One head. While writing, nobody else can change it until the end.
    fn head(&mut self, chain: u64) -> Result<Option<Found<SignedHead>>>;
    fn head_of_nonce(&mut self, nonce: &Nonce) -> Result<Option<Found<SignedHead>>>;
    /// Heads of chains past `after`.
    fn heads(&mut self, after: u64, limit: usize) -> Result<Vec<Found<SignedHead>>>;
    /// Heads of chains that are not closed and have not grown since `before`.
    fn silent_heads(&mut self, before: i64, limit: usize) -> Result<Vec<Found<SignedHead>>>;
    /// Makes the head of the register, if there is none, and waits until nobody else writes the register.
    fn lock_register(&mut self, first: &SignedHead) -> Result<()>;
    fn put_head(&mut self, head: &SignedHead) -> Result<()>;
    /// Puts `next` in the place of the head of an open chain, if that is `known` to the last byte.
    fn grow_head(&mut self, known: &SignedHead, next: &SignedHead) -> Result<bool>;

    fn remove_head(&mut self, chain: u64) -> Result<()>;
    /// Removes rows of a chain, at most so many; answers how many.
    fn remove_rows(&mut self, chain: u64, limit: usize) -> Result<u64>;

    /// Does what the history wants written, in the same transaction.
    fn run(&mut self, deed: &mut Deed) -> Result<()>;

    fn insert(&mut self, rows: &[Row]) -> Result<()>;
    /// Rows past (chain, seq), in that order.
    fn rows(&mut self, after: (u64, u64), limit: usize) -> Result<Vec<Found<Row>>>;
    /// Rows by time.
    fn select(&mut self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Vec<Row>>;
    /// The last rows by time, the newest first.
    fn newest(&mut self, filter: &Filter, limit: usize) -> Result<Vec<Row>>;

    /// How many calls ended how, from a moment on, by steps of so many milliseconds.
    fn counts(&mut self, since: i64, step: i64) -> Result<Vec<Count>>;

    /// How many rows, heads and entries are kept under numbers below those that are given, so that nothing else finds them.
    fn strays(&mut self) -> Result<u64>;

    fn enter(&mut self, entry: &Entry) -> Result<()>;
    /// Entries of the register past `after`.
    fn entries(&mut self, after: u64, limit: usize) -> Result<Vec<Found<Entry>>>;
    /// The entries about one chain.
    fn entries_about(&mut self, chain: u64, limit: usize) -> Result<Vec<Found<Entry>>>;
}
