//! Changing a namespace inside a transaction of SQLite.
//!
//! What a commit counts (its number, what the namespace holds, the last number given) is kept here and written once, at
//! the end. A step that failed fails the whole change, also when the caller goes on: its statements may be half done.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;

use paddock_core::{ErrorKind, Result, Usage};
use paddock_db::rusqlite::{self, Connection};

use super::super::base::{Body, Commit, Content, Moment, NewRow, Row, Rows, RowsMut, TakeName, rows_of};
use super::super::memory_base::split;
use super::super::rows_sql::{damaged, signed, store_error, unsigned, written_list};
use super::SqliteBase;
use super::sight::Sight;

const OPEN: &str =
    "SELECT id, head, bytes, files, (SELECT head FROM namespace WHERE id = 0) FROM namespace WHERE key = ?1";
const MAKE: &str = "INSERT INTO namespace(key) VALUES (?1)";
const COUNT: &str = "UPDATE namespace SET head = ?2, bytes = ?3, files = ?4 WHERE id = ?1";
/// The last number given.
const COUNT_NUMBERS: &str = "UPDATE namespace SET head = ?1 WHERE id = 0";

/// Whether a pin fell into a life.
const PINNED: &str = "SELECT EXISTS (SELECT 1 FROM pin WHERE ns = ?1 AND at >= ?2 AND at < ?3)";
const BURY: &str = "INSERT INTO past \
     SELECT ns, dir, name, ?4, born, kind, len, mode, modified, version, body, chunked, ?5 \
     FROM living WHERE ns = ?1 AND dir = ?2 AND name = ?3";
const REMOVE: &str = "DELETE FROM living WHERE ns = ?1 AND dir = ?2 AND name = ?3";
const PUT: &str = "INSERT OR REPLACE INTO living VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

const PUT_BODY: &str = "INSERT INTO body(id, chunked, data) VALUES (?1, ?2, ?3)";
const SHARE: &str = "INSERT INTO share(body, refs) SELECT id, 2 FROM body WHERE id = ?1 \
     ON CONFLICT(body) DO UPDATE SET refs = refs + 1";
const UNSHARE: &str = "UPDATE share SET refs = refs - 1 WHERE body = ?1 RETURNING refs";
const SHARED_BY_ONE: &str = "DELETE FROM share WHERE body = ?1";
/// Most are not shared, and go with one statement.
const REMOVE_BODY: &str = "DELETE FROM body WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM share WHERE share.body = ?1)";

const MEANT: &str = "SELECT died, born, body, EXISTS (SELECT 1 FROM pin WHERE pin.ns = ?1 AND at >= born AND at < died) \
     FROM past WHERE ns = ?1 AND dir = ?2 AND name = ?3 AND died > ?4 ORDER BY died LIMIT 1";
const UNASKED: &str = "UPDATE past SET asked = 0 WHERE ns = ?1 AND dir = ?2 AND name = ?3 AND died = ?4";
pub(super) const REMOVE_PAST: &str = "DELETE FROM past WHERE ns = ?1 AND dir = ?2 AND name = ?3 AND died = ?4";

const CHUNKS_BETWEEN: &str = "SELECT count(*) FROM chunk WHERE id BETWEEN ?1 AND ?2";

/// A namespace that is being changed.
pub(super) struct Draft<'a> {
    sight: Sight<'a>,
    ns: i64,
    head: u64,
    usage: Usage,
    /// The last number given.
    last: u64,
    /// Whether a number was given that is not yet in the database.
    numbered: bool,
    /// Whether the other numbers above are not.
    counted: bool,
    failed: Cell<bool>,
    /// What lives at the keys last looked at: a row is not looked for again when it is replaced.
    seen: RefCell<Vec<(String, Option<Life>)>>,
}

/// What counts of a row when it goes.
#[derive(Debug, Clone, Copy)]
struct Life {
    born: i64,
    body: Option<i64>,
}

/// A change looks at its path, at the directory above, and at where something moves to.
const SEEN: usize = 4;

impl<'a> Draft<'a> {
    /// Begins; a namespace that is not there is made.
    pub(super) fn open(base: &'a SqliteBase, conn: &'a Connection, key: &'a str) -> Result<Self> {
        let sight = Sight { base, conn, key, ns: None, moment: Moment::Now, overtaken: Cell::new(false) };
        let read = |row: &rusqlite::Row<'_>| {
            let usage = Usage { bytes: unsigned(row.get(2)?), files: unsigned(row.get(3)?) };
            Ok((row.get::<_, i64>(0)?, unsigned(row.get(1)?), usage, unsigned(row.get(4)?)))
        };
        let mut found = sight.one(OPEN, (key,), read)?;
        if found.is_none() {
            sight.execute(MAKE, (key,))?;
            found = sight.one(OPEN, (key,), read)?;
        }
        let (ns, head, usage, last) = found.ok_or_else(|| damaged("a namespace that cannot be made"))?;
        let (sight, failed, seen) = (Sight { ns: Some(ns), ..sight }, Cell::new(false), RefCell::default());
        Ok(Self { sight, ns, head, usage, last, numbered: false, counted: false, failed, seen })
    }

    /// Writes what was counted.
    pub(super) fn close(self) -> Result<()> {
        if self.failed.get() {
            return Err(ErrorKind::Io.into());
        }
        if self.counted {
            let (bytes, files) = (signed(self.usage.bytes), signed(self.usage.files));
            self.sight.execute(COUNT, (self.ns, signed(self.head), bytes, files))?;
        }
        if self.numbered {
            self.sight.execute(COUNT_NUMBERS, (signed(self.last),))?;
        }
        Ok(())
    }

    /// The namespace's number.
    pub(super) fn ns(&self) -> i64 {
        self.ns
    }

    /// For statements of one's own.
    pub(super) fn sight(&self) -> &Sight<'a> {
        &self.sight
    }

    fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.numbered = true;
        self.last
    }

    /// What lives at a key, as it was when last looked at: nobody else writes meanwhile.
    fn life(&self, key: &str) -> Result<Option<Life>> {
        let known = self.seen.borrow().iter().find(|(seen, _)| seen == key).map(|(_, life)| *life);
        match known {
            Some(life) => Ok(life),
            None => {
                self.look(key)?;
                self.life(key)
            }
        }
    }

    /// Looks at a key, and remembers what counts of it.
    fn look(&self, key: &str) -> Result<Option<Row>> {
        let found = self.sight.alive(key, i64::MAX)?;
        let life = found.as_ref().map(|(born, row)| Life { born: *born, body: row.body.map(|body| signed(body.id)) });
        let mut seen = self.seen.borrow_mut();
        seen.retain(|(seen, _)| seen != key);
        if seen.len() == SEEN {
            seen.remove(0);
        }
        seen.push((key.to_owned(), life));
        Ok(found.map(|(_, row)| row))
    }

    /// Takes what lives at a key to the past, or lets its content go, unless it `stays` for the next row: that one
    /// may be about to share what nobody else holds.
    fn bury(&self, key: &str, keep: bool, stays: Option<i64>) -> Result<Buried> {
        let life = self.life(key)?;
        self.seen.borrow_mut().retain(|(seen, _)| seen != key);
        let Some(Life { born, body }) = life else { return Ok(Buried::Nothing) };
        if born < signed(self.head) && (keep || self.is_pinned(born)?) {
            let (dir, name) = split(key);
            self.sight.execute(BURY, (self.ns, dir, name, signed(self.head), keep))?;
            return Ok(Buried::Kept);
        }
        match body {
            Some(body) if stays == Some(body) => return Ok(Buried::Reused),
            Some(body) => release(&self.sight, body)?,
            None => {}
        }
        Ok(Buried::Gone)
    }

    /// Whether a pin fell into a life up to now.
    fn is_pinned(&self, born: i64) -> Result<bool> {
        let pinned = self.sight.one(PINNED, (self.ns, born, signed(self.head)), |row| row.get(0))?;
        Ok(pinned.unwrap_or(true))
    }

    fn put_row(&mut self, key: &str, new: &NewRow<'_>, keep: bool) -> Result<Row> {
        let (dir, name) = split(key);
        let number = self.next_number();
        let shared = match new.content {
            Content::Shared(body) => Some(signed(body.id)),
            _ => None,
        };
        let buried = self.bury(key, keep, shared)?;
        let body = self.put_content(number, &new.content, &buried)?;
        let version = new.version.unwrap_or(number);
        let params = (
            self.ns,
            dir,
            name,
            signed(self.head),
            new.kind.code(),
            signed(new.len),
            new.mode,
            new.modified,
            signed(version),
            body.map(|body| signed(body.id)),
            body.is_some_and(|body| body.chunked),
        );
        self.sight.execute(PUT, params)?;
        Ok(Row { kind: new.kind, len: new.len, mode: new.mode, modified: new.modified, version, body })
    }

    fn put_content(&self, number: u64, content: &Content<'_>, buried: &Buried) -> Result<Option<Body>> {
        let inline = Body { id: number, chunked: false };
        let chunked = Body { id: number, chunked: true };
        match *content {
            Content::None => Ok(None),
            Content::Inline(bytes) => self.put_body(inline, bytes).map(Some),
            Content::Chunks(ids) => {
                self.require_chunks(ids)?;
                self.put_body(chunked, &written_list(ids)).map(Some)
            }
            Content::Shared(body) if *buried == Buried::Reused => Ok(Some(body)),
            Content::Shared(body) => match self.sight.execute(SHARE, (signed(body.id),))? {
                0 => Err(damaged(format!("no body {} to share", body.id))),
                _ => Ok(Some(body)),
            },
        }
    }

    fn put_body(&self, body: Body, bytes: &[u8]) -> Result<Body> {
        self.sight.execute(PUT_BODY, (signed(body.id), body.chunked, bytes))?;
        Ok(body)
    }

    /// Chunks that were staged too long ago may have been collected; nobody collects while this transaction lasts.
    fn require_chunks(&self, ids: &[u64]) -> Result<()> {
        let distinct: HashSet<u64> = ids.iter().copied().collect();
        let (mut sorted, mut there): (Vec<u64>, i64) = (distinct.into_iter().collect(), 0);
        sorted.sort_unstable();
        let content = &self.sight.base.content;
        let counted = content.read(|conn| {
            let mut statement = conn.prepare_cached(CHUNKS_BETWEEN).map_err(|error| content.error(error))?;
            for run in sorted.chunk_by(|one, next| one + 1 == *next) {
                let (first, last) = (run.first().copied().unwrap_or_default(), run.last().copied().unwrap_or_default());
                let count = statement.query_row((signed(first), signed(last)), |row| row.get::<_, i64>(0));
                there += count.map_err(|error| content.error(error))?;
            }
            Ok::<_, paddock_db::DbError>(())
        });
        counted.map_err(store_error)?;
        if unsigned(there) == sorted.len() as u64 {
            Ok(())
        } else {
            Err(damaged("a chunk was collected before it was named"))
        }
    }

    fn forget_row(&self, key: &str, at: Commit) -> Result<()> {
        let ((dir, name), at) = (split(key), signed(at.0));
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?, row.get(3)?))
        };
        let found: Option<(_, _, _, bool)> = self.sight.one(MEANT, (self.ns, dir, name, at), read)?;
        let Some((died, _, body, pinned)) = found.filter(|(_, born, _, _)| *born <= at) else { return Ok(()) };
        if pinned {
            return self.sight.execute(UNASKED, (self.ns, dir, name, died)).map(drop);
        }
        self.sight.execute(REMOVE_PAST, (self.ns, dir, name, died))?;
        body.map_or(Ok(()), |body| release(&self.sight, body))
    }

    /// Remembers that something failed.
    fn noting<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.failed.set(true);
        }
        outcome
    }
}

/// What became of the row that was there.
#[derive(Debug, PartialEq, Eq)]
enum Buried {
    Nothing,
    Kept,
    Gone,
    /// It is gone, and the next row takes over its content.
    Reused,
}

/// One row less names a body; without any it goes.
pub(super) fn release(sight: &Sight<'_>, body: i64) -> Result<()> {
    if sight.execute(REMOVE_BODY, (body,))? > 0 {
        return Ok(());
    }
    match sight.one(UNSHARE, (body,), |row| row.get::<_, i64>(0))? {
        Some(1) => sight.execute(SHARED_BY_ONE, (body,)).map(drop),
        _ => Ok(()),
    }
}

impl Rows for Draft<'_> {
    fn get(&self, key: &str) -> Result<Option<Row>> {
        self.look(key)
    }

    fn usage(&self) -> Result<Usage> {
        Ok(self.usage)
    }

    rows_of!(sight);
}

impl RowsMut for Draft<'_> {
    fn head(&self) -> Commit {
        Commit(self.head)
    }

    fn advance(&mut self) -> Result<Commit> {
        self.head += 1;
        self.counted = true;
        Ok(Commit(self.head))
    }

    fn put(&mut self, key: &str, row: &NewRow<'_>, keep: bool) -> Result<Row> {
        let outcome = self.put_row(key, row, keep);
        self.noting(outcome)
    }

    fn remove(&mut self, key: &str, keep: bool) -> Result<()> {
        let (dir, name) = split(key);
        let outcome = match self.bury(key, keep, None) {
            Ok(Buried::Nothing) => Ok(()),
            Ok(_) => self.sight.execute(REMOVE, (self.ns, dir, name)).map(drop),
            Err(error) => Err(error),
        };
        self.noting(outcome)
    }

    fn forget(&mut self, key: &str, at: Commit) -> Result<()> {
        let outcome = self.forget_row(key, at);
        self.noting(outcome)
    }

    fn set_usage(&mut self, usage: Usage) -> Result<()> {
        self.counted |= usage != self.usage;
        self.usage = usage;
        Ok(())
    }
}
