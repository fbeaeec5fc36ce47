//! The audit of every call, denials included: rows in chains that show what was taken out of them.
//!
//! Each process that writes has a *chain* of its own, so that many processes never wait for each other's hashes. A row
//! holds who called what, where, and what became of it; never contents. Effects have two rows, an intent before and an
//! outcome after, and both are as durable as the database promises before the call goes on. All other rows are
//! collected and written by a thread of their own.
//!
//! # What is signed
//!
//! One key of 32 bytes, outside the database, signs everything (blake3, keyed, over a length-prefixed encoding):
//!
//! - each **row**, together with its chain, its number in it and the hash of the row before;
//! - the **head** of each chain: how many rows, the last hash, whether it is closed. Rows and head go in one transaction,
//!   so that a process that is killed leaves both or neither;
//! - the **register**, itself a chain: one entry for each chain that was opened or closed. The number of a chain is
//!   the number of the entry that opened it, so none can go without a gap;
//! - the **outside head**, a small file beside the key and not in the database: how far the register was, and the heads
//!   of the chains that this machine writes. Replaced at most once a second, and at the end of the process.
//!
//! A process that was killed cannot close its chain; whoever opens the next one closes those that have been silent for an
//! hour. Their owner, if it lives after all, opens another.
//!
//! # What is found, and what is not
//!
//! By [`AuditLog::verify`], with the numbers of the rows, whoever writes to the database without the key:
//!
//! - a row changed, removed, inserted, copied, moved or exchanged with another, also when the others were renumbered;
//! - rows cut off at the end of a chain; a head that was changed, removed, or put back to an older one with its rows in place;
//! - a whole chain removed or invented; an entry of the register likewise;
//! - the database, or one chain of it with its head, put back to an older copy: by the outside head, if it is older than what
//!   the outside head saw, and for a closed chain also by the register. The outside head of a machine knows the chains of that
//!   machine, and the register of all.
//!
//! Not found:
//!
//! - what somebody with the key does: who can sign can forge. The key belongs where agents and their commands cannot read;
//! - a rollback to less than a second ago, of rows that the outside head had not seen yet;
//! - a rollback of the database *and* of the outside head to copies of one moment, or the removal of both. With PostgreSQL, where
//!   every machine makes its own outside head, the removal of the outside head alone;
//! - what never was written: a program that changes files past Paddock.
//!
//! Loss of power under `Durability::Process` may take the last rows from the database and leave the outside head: that is
//! reported as a rollback, which it is.
//!
//! Nothing is healed by writing on: a register that does not fit its signature is not continued, and an outside head that
//! the database contradicts is left as it is until a person accepts the state with [`AuditLog::accept`].
//!
//! Nothing is let go of by itself. A person may prune whole chains that are over ([`AuditLog::prune`]); a signed entry of the register
//! says for each that it was, and how many rows it had.
//!
//! Must never: hold contents, delete a row of a chain that stays, or answer for an effect before its rows are kept.

mod chain;
mod columns;
mod error;
mod host;
mod key;
mod log;
mod outside;
mod postgres;
mod prune;
mod query;
mod queue;
mod row;
mod sqlite;
mod storage;
mod tables;
mod verify;
mod walk;
mod writer;

pub use self::error::AuditError;
pub use self::key::AuditKey;
pub(crate) use self::key::random;
pub use self::log::AuditLog;
pub use self::postgres::POSTGRES_SCHEMA;
pub use self::prune::Pruned;
pub use self::query::{Count, Cursor, Filter, Follow, Page};
pub use self::row::{Kind, Row};
pub use self::sqlite::SQLITE_SCHEMA;
pub use self::verify::{Finding, Report};
