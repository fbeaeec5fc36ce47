//! Looking into the audit: by filter, the last rows, those that come, all of them.
//!
//! Everything is read page by page: an audit of years never has to fit into memory. Nothing here checks signatures;
//! that is `verify`'s.

use std::collections::BTreeMap;
use std::io::Write;

use paddock_core::CallId;

use super::error::AuditError;
use super::row::Row;
use super::storage::{BEFORE_ALL, Result, Storage, Tables};

/// Rows read at once.
const PAGE: usize = 512;

/// Rows of one chain that a follower gets at once.
const MOST: usize = 10_000;

/// A place between two rows, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The time of the row before.
    pub at: i64,
    /// Its chain.
    pub chain: u64,
    /// Its number there.
    pub seq: u64,
}

impl Cursor {
    /// Behind every row.
    pub(super) const END: Self = Self { at: i64::MAX, chain: i64::MAX.cast_unsigned(), seq: i64::MAX.cast_unsigned() };

    /// Behind `row`.
    pub fn behind(row: &Row) -> Self {
        Self { at: row.at, chain: row.chain, seq: row.seq }
    }
}

/// Which rows; what is not said is not asked.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this agent.
    pub agent: Option<String>,
    /// The own acts of this person.
    pub by: Option<String>,
    /// In this Workspace.
    pub workspace: Option<String>,
    /// Of this path and what is below it.
    pub path: Option<String>,
    /// With this outcome.
    pub outcome: Option<String>,
    /// Of this tool or operation.
    pub tool: Option<String>,
    /// Of this call.
    pub call: Option<CallId>,
    /// Not before this moment, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Not after this moment, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Behind this place.
    pub after: Option<Cursor>,
    /// Before this place.
    pub before: Option<Cursor>,
    /// Only what became of calls, not that they began.
    pub ended: bool,
    /// At most so many; nothing: 1,000.
    pub limit: Option<usize>,
}

impl Filter {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(1000)
    }

    /// Nothing later is asked for.
    pub(super) fn last_moment(&self) -> i64 {
        let until = self.until.unwrap_or(i64::MAX);
        self.before.map_or(until, |before| until.min(before.at))
    }

    /// The path itself, and the bounds between which the paths below it sort: `/a` is not above `/ab`.
    pub(super) fn path_bounds(&self) -> Option<(String, String, String)> {
        let path = self.path.as_deref()?.trim_end_matches('/');
        let itself = if path.is_empty() { "/" } else { path };
        // "0" is the letter behind "/".
        Some((itself.to_owned(), format!("{path}/"), format!("{path}0")))
    }
}

/// How many calls ended so, in one span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Where the span begins, in milliseconds since 1970.
    pub from: i64,
    /// What became of them.
    pub outcome: String,
    /// How many.
    pub count: u64,
}

/// Rows, the oldest first, and where to go on.
#[derive(Debug, Clone)]
pub struct Page {
    /// The rows.
    pub rows: Vec<Row>,
    /// For the next page's `after`; nothing when this was the last.
    pub next: Option<Cursor>,
}

pub(super) fn query(storage: &dyn Storage, filter: &Filter) -> Result<Page> {
    let limit = filter.limit();
    let mut rows = Vec::new();
    storage.read(&mut |tables| {
        rows = tables.select(filter, filter.after, limit)?;
        Ok(())
    })?;
    let next = rows.last().filter(|_| rows.len() == limit).map(Cursor::behind);
    Ok(Page { rows, next })
}

pub(super) fn tail(storage: &dyn Storage, filter: &Filter, n: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    storage.read(&mut |tables| {
        rows = tables.newest(filter, n)?;
        Ok(())
    })?;
    rows.reverse();
    Ok(rows)
}

pub(super) fn counts(storage: &dyn Storage, since: i64, step: i64) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    storage.read(&mut |tables| {
        counts = tables.counts(since, step.max(1))?;
        Ok(())
    })?;
    Ok(counts)
}

/// Writes every row as one line of JSON, chain by chain; gives how many.
pub(super) fn export(storage: &dyn Storage, out: &mut dyn Write) -> Result<u64> {
    let mut written = 0;
    storage.read(&mut |tables| {
        let mut after = BEFORE_ALL;
        loop {
            let page = tables.rows(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = (last.it.chain, last.it.seq);
            for row in &page {
                write_line(&row.it, out)?;
                written += 1;
            }
        }
    })?;
    out.flush().map_err(AuditError::Output)?;
    Ok(written)
}

fn write_line(row: &Row, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, row).map_err(|error| AuditError::Output(error.into()))?;
    out.write_all(b"\n").map_err(AuditError::Output)
}

/// Gives the rows that come after it was made, each once, whichever process writes them and however late.
///
/// Time is no good for that: a row may be kept after a younger one of another process. So it remembers how far it has
/// seen each chain that may still grow. [`Self::mark`] writes that down, so that somebody can go on where they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
    /// Every chain up to this one is closed and was seen whole.
    floor: u64,
    seen: BTreeMap<u64, u64>,
}

impl Follow {
    pub(super) fn from_now(storage: &dyn Storage) -> Result<Self> {
        let mut follow = Self { floor: 0, seen: BTreeMap::new() };
        storage.read(&mut |tables| follow.look(tables, &mut |_, _, _, count| Ok(count)))?;
        Ok(follow)
    }

    /// How far it has seen, in a word.
    #[must_use]
    pub fn mark(&self) -> String {
        let seen = self.seen.iter().map(|(chain, seq)| format!("_{chain}.{seq}"));
        std::iter::once(self.floor.to_string()).chain(seen).collect()
    }

    /// One that goes on behind a [`Self::mark`]; nothing where it is none.
    #[must_use]
    pub fn behind(mark: &str) -> Option<Self> {
        let mut words = mark.split('_');
        let floor = words.next()?.parse().ok()?;
        let pair = |word: &str| {
            let (chain, seq) = word.split_once('.')?;
            Some((chain.parse().ok()?, seq.parse().ok()?))
        };
        Some(Self { floor, seen: words.map(pair).collect::<Option<_>>()? })
    }

    /// Was this row given already?
    #[must_use]
    pub fn has_seen(&self, row: &Row) -> bool {
        row.chain <= self.floor || self.seen.get(&row.chain).is_some_and(|seen| row.seq <= *seen)
    }

    /// Remembers a row of [`AuditLog::poll`](super::AuditLog::poll) as given, where they are handed on one by one in the order of their chains.
    pub fn note(&mut self, row: &Row) {
        if !self.has_seen(row) {
            self.seen.insert(row.chain, row.seq);
        }
    }

    pub(super) fn poll(&mut self, storage: &dyn Storage) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        storage.read(&mut |tables| {
            self.look(tables, &mut |tables, chain, seen, count| {
                let mut page = tables.rows((chain, seen), MOST)?;
                let whole = page.len() < MOST;
                page.retain(|row| row.it.chain == chain && row.it.seq <= count);
                let shown = page.last().map_or(count, |row| row.it.seq);
                rows.extend(page.into_iter().map(|row| row.it));
                Ok(if whole { count } else { shown })
            })
        })?;
        rows.sort_by_key(Cursor::behind);
        Ok(rows)
    }

    /// Goes through the chains that may have grown, and shows each that has.
    fn look(&mut self, tables: &mut dyn Tables, show: &mut Show<'_>) -> Result<()> {
        let (mut after, mut gapless) = (self.floor, true);
        loop {
            let page = tables.heads(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.it.head.chain;
            for head in page.into_iter().map(|found| found.it.head) {
                let mut seen = self.seen.get(&head.chain).copied().unwrap_or(0);
                if head.count > seen {
                    seen = show(tables, head.chain, seen, head.count)?;
                }
                gapless &= head.closed && seen >= head.count;
                if gapless {
                    self.floor = head.chain;
                    self.seen.remove(&head.chain);
                } else {
                    self.seen.insert(head.chain, seen);
                }
            }
        }
    }
}

/// Shows what is new of a chain, given how far it was seen and how long it is; says how far it is seen now.
type Show<'a> = dyn FnMut(&mut dyn Tables, u64, u64, u64) -> Result<u64> + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_how_far_somebody_has_seen() {
        let follow = Follow { floor: 3, seen: BTreeMap::from([(4, 17), (6, 1)]) };
        assert_eq!(follow.mark(), "3_4.17_6.1");
        assert_eq!(Follow::behind("3_4.17_6.1"), Some(follow));
        assert_eq!(Follow::behind("0").map(|follow| follow.mark()), Some("0".to_owned()));
        for bad in ["", "x", "3_", "3_4", "3_4.", "3_4.x", "-1", "3 4.1"] {
            assert_eq!(Follow::behind(bad), None, "{bad}");
        }
    }
}
