//! Rows that a transaction has looked at, so that it does not ask the database for the same one again.
//!
//! A change looks at its path and at the directory above from several sides. Nobody else writes meanwhile, so what was
//! seen stays true until the transaction itself puts or removes something: then all of it is forgotten. It must never
//! live longer than its transaction.

use std::cell::RefCell;
use std::ops::Range;

use paddock_core::{Result, Usage};

use super::base::{Body, Commit, NewRow, Row, Rows, RowsMut};

/// A change looks at a few rows again and again; what it walks through need not be kept.
const KEPT: usize = 8;

/// A namespace inside a transaction, and the rows last looked at.
pub(super) struct Remembered<'a> {
    rows: &'a mut dyn RowsMut,
    seen: RefCell<Vec<(String, Option<Row>)>>,
}

impl<'a> Remembered<'a> {
    pub(super) fn new(rows: &'a mut dyn RowsMut) -> Self {
        Self { rows, seen: RefCell::default() }
    }
}

impl Rows for Remembered<'_> {
    fn get(&self, key: &str) -> Result<Option<Row>> {
        if let Some((_, row)) = self.seen.borrow().iter().find(|(seen, _)| seen == key) {
            return Ok(row.clone());
        }
        let row = self.rows.get(key)?;
        let mut seen = self.seen.borrow_mut();
        if seen.len() == KEPT {
            seen.remove(0);
        }
        seen.push((key.to_owned(), row.clone()));
        Ok(row)
    }

    fn children(&self, dir: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>> {
        self.rows.children(dir, after, limit)
    }

    fn inline(&self, body: Body, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        self.rows.inline(body, range, out)
    }

    fn chunks(&self, body: Body, positions: Range<u64>) -> Result<Vec<u64>> {
        self.rows.chunks(body, positions)
    }

    fn chunk(&self, id: u64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        self.rows.chunk(id, range, out)
    }

    fn usage(&self) -> Result<Usage> {
        self.rows.usage()
    }

    fn get_small(&self, key: &str, range: Range<u64>, out: &mut Vec<u8>) -> Result<Option<Row>> {
        self.rows.get_small(key, range, out)
    }

    fn past(&self, key: &str, at: Commit) -> Result<Option<Row>> {
        self.rows.past(key, at)
    }
}

impl RowsMut for Remembered<'_> {
    fn head(&self) -> Commit {
        self.rows.head()
    }

    fn advance(&mut self) -> Result<Commit> {
        self.rows.advance()
    }

    fn put(&mut self, key: &str, row: &NewRow<'_>, keep: bool) -> Result<Row> {
        self.seen.get_mut().clear();
        self.rows.put(key, row, keep)
    }

    fn remove(&mut self, key: &str, keep: bool) -> Result<()> {
        self.seen.get_mut().clear();
        self.rows.remove(key, keep)
    }

    fn forget(&mut self, key: &str, at: Commit) -> Result<()> {
        self.seen.get_mut().clear();
        self.rows.forget(key, at)
    }

    fn set_usage(&mut self, usage: Usage) -> Result<()> {
        self.rows.set_usage(usage)
    }
}
