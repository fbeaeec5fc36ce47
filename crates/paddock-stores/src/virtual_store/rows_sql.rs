//! What the databases that speak SQL have in common: how a row's columns are read, numbers, lists of chunks, and
//! what their errors mean for a Store.
//!
//! Numbers are signed there and unsigned here. What does not fit is cut off at the largest: no content and no count
//! comes near it, and a range that asks for more than there is means all of it.

use std::io;
use std::ops::Range;

use paddock_core::{ErrorKind, StoreError};
use paddock_db::DbError;

use super::base::{Body, Row, RowKind};

/// At most so many bytes are put in by one transaction, so that nobody waits for long.
const TRANSACTION: usize = 8 << 20;

/// No body and no chunk has as many bytes.
const LARGEST: i32 = 1 << 30;

/// An error of a closure inside a transaction: the Store's own, or that of the database.
#[derive(Debug)]
pub(super) struct Told(pub(super) StoreError);

impl From<StoreError> for Told {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl From<ErrorKind> for Told {
    fn from(kind: ErrorKind) -> Self {
        Self(kind.into())
    }
}

impl From<DbError> for Told {
    fn from(error: DbError) -> Self {
        Self(store_error(error))
    }
}

/// What an error of a database means for a Store.
pub(super) fn store_error(error: DbError) -> StoreError {
    let kind = match &error {
        DbError::Full { .. } => ErrorKind::Full,
        DbError::Busy { .. } => ErrorKind::Busy,
        DbError::ReadOnly { .. } | DbError::Denied { .. } => ErrorKind::HostRefuses,
        _ => ErrorKind::Io,
    };
    StoreError::caused_by(kind, io::Error::other(error))
}

/// Something in the tables that Paddock never writes.
pub(super) fn damaged(what: impl Into<String>) -> StoreError {
    StoreError::caused_by(ErrorKind::Io, io::Error::new(io::ErrorKind::InvalidData, what.into()))
}

/// A number for a database.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of a database.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// A range of bytes, as the first position counted from 1 and a length.
pub(super) fn slice_of(range: &Range<u64>) -> (i32, i32) {
    // The sum of both still fits, and no body or chunk is as large.
    let cut = |number: u64| i32::try_from(number).map_or(LARGEST, |number| number.min(LARGEST));
    (cut(range.start.saturating_add(1)), cut(range.end.saturating_sub(range.start)))
}

/// The names of [`Columns`].
macro_rules! row {
    () => {
        "kind, len, mode, modified, version, body, chunked"
    };
}
pub(super) use row;

/// The columns of a row, as every table has them.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) kind: i16,
    pub(super) len: i64,
    pub(super) mode: i64,
    pub(super) modified: i64,
    pub(super) version: i64,
    pub(super) body: Option<i64>,
    pub(super) chunked: bool,
}

impl Columns {
    /// The row.
    pub(super) fn row(self) -> Result<Row, StoreError> {
        let kind = kind_of(self.kind)?;
        let mode = u32::try_from(self.mode).map_err(|_| damaged(format!("a row with the mode {}", self.mode)))?;
        let body = self.body.map(|id| Body { id: unsigned(id), chunked: self.chunked });
        let (len, version) = (unsigned(self.len), unsigned(self.version));
        Ok(Row { kind, len, mode, modified: self.modified, version, body })
    }
}

/// What a row is.
pub(super) fn kind_of(code: i16) -> Result<RowKind, StoreError> {
    RowKind::of_code(code).ok_or_else(|| damaged(format!("a row of the kind {code}")))
}

/// Whether the content of a row is in its body, and nowhere else.
pub(super) fn is_small_file(row: &Row) -> bool {
    row.kind == RowKind::File && row.body.is_some_and(|body| !body.chunked)
}

/// A list of chunks as a body holds it.
pub(super) fn written_list(ids: &[u64]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.to_be_bytes()).collect()
}

/// What [`written_list`] wrote.
pub(super) fn read_list(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|id| u64::from_be_bytes(*id))
}

/// Some positions of a list of chunks, as a range of bytes.
pub(super) fn list_range(positions: &Range<u64>) -> Range<u64> {
    positions.start.saturating_mul(8)..positions.end.saturating_mul(8)
}

/// Chunks in groups that one transaction may put in; each has at least one.
pub(super) fn transactions<'a>(chunks: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [&'a [u8]]> {
    let mut rest = chunks;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |chunk: &&&[u8]| {
            bytes += chunk.len();
            bytes <= TRANSACTION
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (group, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_takes_no_more_than_its_bound_unless_one_chunk_does() {
        let (small, large) = (vec![0; TRANSACTION / 3], vec![0; TRANSACTION + 1]);
        let chunks: Vec<&[u8]> = vec![&small, &small, &small, &small, &large, &small];
        let counts: Vec<usize> = transactions(&chunks).map(<[_]>::len).collect();
        assert_eq!(counts, [3, 1, 1, 1]);
        assert_eq!(transactions(&[]).count(), 0);
    }

    #[test]
    fn ranges_past_every_end_are_cut_off() {
        assert_eq!(slice_of(&(0..u64::MAX)), (1, LARGEST));
        assert_eq!(slice_of(&(u64::MAX..u64::MAX)), (LARGEST, 0));
        assert_eq!(slice_of(&Range { start: 9, end: 3 }), (10, 0));
        assert_eq!(list_range(&(1..u64::MAX)), 8..u64::MAX);
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let ids = [1, u64::MAX, 0, 1 << 40];
        assert!(read_list(&written_list(&ids)).eq(ids));
    }
}
