//! Rows that a transaction has looked at, so that it does not ask the database for the same one again.
//!
//! A change looks at its path and at the directory above from several sides. Nobody else writes meanwhile, so what was
//! seen stays true until the transaction itself puts or removes something: then all of it is forgotten. It must never
//! live longer than its transaction.

use std::cell::RefCell;
use std::ops::Range;

use paddock_core::{Result, Usage};

use super::base::{Body, Commit, NewRow, Row, Rows, RowsMut, TakeName, rows_of};

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

    fn usage(&self) -> Result<Usage> {
        self.rows.usage()
    }

    rows_of!(rows);
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

    fn stage(&self, chunks: &[&[u8]]) -> Result<Option<Vec<u64>>> {
        self.rows.stage(chunks)
    }

    fn set_usage(&mut self, usage: Usage) -> Result<()> {
        self.rows.set_usage(usage)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use paddock_core::{AgentName, Call, CallId, Cancel};

    use super::super::MemoryBase;
    use super::super::base::{BaseStore as _, Content, Namespace, RowKind};
    use super::*;

    #[test]
    fn what_the_transaction_itself_changes_is_seen() {
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let row = |content: &'static [u8]| NewRow {
            kind: RowKind::File,
            len: content.len() as u64,
            mode: 0o644,
            modified: 0,
            content: Content::Inline(content),
            version: None,
        };
        let done = MemoryBase::new().write(&call, &Namespace::new(["n"]), &mut |rows| {
            let mut rows = Remembered::new(rows);
            assert_eq!(rows.get("a")?, None);
            rows.advance()?;
            rows.put("a", &row(b"1"), false)?;
            assert_eq!(rows.get("a")?.map(|row| row.len), Some(1));
            rows.put("a", &row(b"22"), false)?;
            assert_eq!(rows.get("a")?.map(|row| row.len), Some(2));
            rows.remove("a", false)?;
            assert_eq!(rows.get("a")?, None);
            Ok(())
        });
        done.unwrap();
    }

    #[test]
    fn no_more_is_kept_than_a_change_needs() {
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let done = MemoryBase::new().write(&call, &Namespace::new(["n"]), &mut |rows| {
            let rows = Remembered::new(rows);
            for n in 0..3 * KEPT {
                rows.get(&n.to_string())?;
            }
            assert_eq!(rows.seen.borrow().len(), KEPT);
            Ok(())
        });
        done.unwrap();
    }
}
