//! Changing a namespace inside a transaction of PostgreSQL: each step is one journey to the server.
//!
//! Everybody who changes a namespace holds its row from the first step to the last, so that nobody changes it beside. Contents may be
//! shared between namespaces all the same: the count of a body is only ever changed in its own row, where the
//! server lets one after the other, and looked at again after waiting.

use std::collections::HashSet;
use std::ops::Range;

use paddock_core::{ErrorKind, Result, Usage};
use paddock_db::PgTransaction;

use super::super::base::{Body, Commit, Content, Moment, NewRow, Row, Rows, RowsMut, TakeName, rows_of};
use super::super::rows_sql::{damaged, signed, unsigned, written_list};
use super::sight::{Sight, column, place, usage};

const OPEN: &str = "SELECT id, head, bytes, files FROM namespace WHERE key = $1 FOR UPDATE";
const MAKE: &str = "INSERT INTO namespace(key) VALUES ($1) ON CONFLICT (key) DO NOTHING";
const COUNT: &str = "UPDATE namespace SET head = $2, bytes = $3, files = $4 WHERE id = $1";

/// Each chunk gets its number before it is put in, so that the numbers come in the order of the chunks.
const STAGE: &str = "WITH given AS MATERIALIZED
        (SELECT nextval('chunk_number') AS id, place, data FROM unnest($1::bytea[]) WITH ORDINALITY AS u(data, place)),
     put AS (INSERT INTO chunk(id, staged, data)
        SELECT id, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, data FROM given)
     SELECT id FROM given ORDER BY place";

/// What was there goes to the past: when it lived at all, and somebody asks for it or has it pinned.
macro_rules! buried {
    () => {
        "buried AS (INSERT INTO past
            SELECT ns, dir, name, $4, born, kind, len, mode, modified, version, body, chunked, $5 FROM old
            WHERE born < $4 AND ($5 OR EXISTS (SELECT 1 FROM pin WHERE pin.ns = $1 AND at >= born AND at < $4))
            RETURNING 1)"
    };
}
/// The bodies in `freed (body, n)` are named by n rows less; without any they go.
macro_rules! released {
    () => {
        "spent AS (DELETE FROM body USING freed WHERE id = freed.body AND refs = n RETURNING id),
         fewer AS (UPDATE body SET refs = refs - n FROM freed WHERE id = freed.body AND refs > n RETURNING id)"
    };
}
/// Those that another namespace has changed meanwhile, so that neither was done.
macro_rules! left {
    () => {
        "FROM freed WHERE body NOT IN (SELECT id FROM spent) AND body NOT IN (SELECT id FROM fewer)"
    };
}
pub(super) use {left, released};

const PUT: &str = concat!(
    "WITH number AS (SELECT nextval('virtual_number') AS id),
     old AS (SELECT * FROM living WHERE ns = $1 AND dir = $2 AND name = $3), ",
    buried!(),
    ", reused AS (SELECT 1 FROM old WHERE body = $13 AND NOT EXISTS (SELECT 1 FROM buried)),
     freed AS (SELECT body, 1::bigint AS n FROM old
        WHERE body IS NOT NULL AND body IS DISTINCT FROM $13 AND NOT EXISTS (SELECT 1 FROM buried)),
     made AS (INSERT INTO body(id, refs, chunked, data)
        SELECT id, 1, $12, $11 FROM number WHERE $11::bytea IS NOT NULL),
     shared AS (UPDATE body SET refs = refs + 1 WHERE id = $13 AND NOT EXISTS (SELECT 1 FROM reused) RETURNING 1), ",
    released!(),
    ", put AS (INSERT INTO living
        SELECT $1, $2, $3, $4, $6, $7, $8, $9, coalesce($10, id),
            CASE WHEN $11 IS NULL THEN $13 ELSE id END, $12 FROM number
        ON CONFLICT (ns, dir, name) DO UPDATE SET born = excluded.born, kind = excluded.kind, len = excluded.len,
            mode = excluded.mode, modified = excluded.modified, version = excluded.version, body = excluded.body,
            chunked = excluded.chunked)
     SELECT id, $13::bigint IS NULL OR EXISTS (SELECT 1 FROM reused) OR EXISTS (SELECT 1 FROM shared),
        (SELECT body ",
    left!(),
    ") FROM number"
);
const REMOVE: &str = concat!(
    "WITH old AS (DELETE FROM living WHERE ns = $1 AND dir = $2 AND name = $3 RETURNING *), ",
    buried!(),
    ", freed AS (SELECT body, 1::bigint AS n FROM old WHERE body IS NOT NULL AND NOT EXISTS (SELECT 1 FROM buried)), ",
    released!(),
    " SELECT body ",
    left!()
);
const FORGET: &str = concat!(
    "WITH meant AS (SELECT died, body, EXISTS
            (SELECT 1 FROM pin WHERE pin.ns = $1 AND at >= past.born AND at < past.died) AS pinned
        FROM past WHERE ns = $1 AND dir = $2 AND name = $3 AND died =
            (SELECT min(died) FROM past WHERE ns = $1 AND dir = $2 AND name = $3 AND died > $4) AND born <= $4),
     unasked AS (UPDATE past SET asked = false FROM meant
        WHERE ns = $1 AND dir = $2 AND name = $3 AND past.died = meant.died AND pinned),
     gone AS (DELETE FROM past USING meant
        WHERE ns = $1 AND dir = $2 AND name = $3 AND past.died = meant.died AND NOT pinned),
     freed AS (SELECT body, 1::bigint AS n FROM meant WHERE body IS NOT NULL AND NOT pinned), ",
    released!(),
    " SELECT body ",
    left!()
);
const RELEASE: &str = "UPDATE body SET refs = refs - $2 WHERE id = $1 RETURNING refs";
const REMOVE_BODY: &str = "DELETE FROM body WHERE id = $1";

/// Held by those who name chunks against those who remove some; a number of this schema's own.
macro_rules! gate {
    () => {
        "(hashtextextended(current_schema() || ' virtual chunks', 0))"
    };
}
const HOLD_GATE: &str = concat!("SELECT pg_advisory_xact_lock_shared", gate!());
pub(super) const CLOSE_GATE: &str = concat!("SELECT pg_advisory_xact_lock", gate!());
const CHUNKS_THERE: &str = "SELECT count(*) FROM chunk WHERE id = ANY($1)";

/// A namespace that is being changed.
pub(super) struct Draft<'t, 'c> {
    sight: Sight<'t, 'c>,
    ns: i64,
    head: u64,
    usage: Usage,
    /// Whether the numbers above are not yet in the database.
    counted: bool,
    failed: bool,
}

impl<'t, 'c> Draft<'t, 'c> {
    /// Waits for the namespace and holds it; one that is not there is made.
    pub(super) fn open(tx: &'t mut PgTransaction<'c>, key: &'t str) -> Result<Self> {
        let sight = Sight::new(tx, key, Moment::Now);
        let found = loop {
            if let Some(found) = sight.one(OPEN, &[&key])? {
                break found;
            }
            // It may be dropped again while it is waited for.
            sight.execute(MAKE, &[&key])?;
        };
        let ns = column(&found, 0)?;
        let (head, usage) = (unsigned(column(&found, 1)?), usage(&found, 2)?);
        Ok(Self { sight: sight.numbered(ns), ns, head, usage, counted: false, failed: false })
    }

    /// Writes what was counted.
    pub(super) fn close(self) -> Result<()> {
        if self.failed {
            return Err(ErrorKind::Io.into());
        }
        if self.counted {
            let (bytes, files) = (signed(self.usage.bytes), signed(self.usage.files));
            self.sight.execute(COUNT, &[&self.ns, &signed(self.head), &bytes, &files])?;
        }
        Ok(())
    }

    /// The namespace's number.
    pub(super) fn ns(&self) -> i64 {
        self.ns
    }

    /// For statements of one's own.
    pub(super) fn sight(&self) -> &Sight<'t, 'c> {
        &self.sight
    }

    fn put_row(&self, key: &str, new: &NewRow<'_>, keep: bool) -> Result<Row> {
        let list;
        let (data, is_chunked, shared) = match new.content {
            Content::None => (None, false, None),
            Content::Inline(bytes) => (Some(bytes), false, None),
            Content::Chunks(ids) => {
                self.require_chunks(ids)?;
                list = written_list(ids);
                (Some(list.as_slice()), true, None)
            }
            Content::Shared(body) => (None, body.chunked, Some(signed(body.id))),
        };
        let (dir, name) = place(key);
        let (kind, len, mode) = (new.kind.code(), signed(new.len), i64::from(new.mode));
        let (head, version) = (signed(self.head), new.version.map(signed));
        let done = self.sight.one(
            PUT,
            &[
                &self.ns,
                &dir,
                &name,
                &head,
                &keep,
                &kind,
                &len,
                &mode,
                &new.modified,
                &version,
                &data,
                &is_chunked,
                &shared,
            ],
        )?;
        let done = done.ok_or_else(|| damaged("a row that cannot be put"))?;
        if !column::<bool>(&done, 1)? {
            return Err(damaged(format!("no body {} to share", shared.unwrap_or_default())));
        }
        self.release_left(column(&done, 2)?)?;
        let number = unsigned(column(&done, 0)?);
        let own = data.map(|_| Body { id: number, chunked: is_chunked });
        let body = own.or(shared.map(|id| Body { id: unsigned(id), chunked: is_chunked }));
        let version = new.version.unwrap_or(number);
        Ok(Row { kind: new.kind, len: new.len, mode: new.mode, modified: new.modified, version, body })
    }

    fn release_left(&self, body: Option<i64>) -> Result<()> {
        body.map_or(Ok(()), |body| release(&self.sight, body, 1))
    }

    /// Chunks that were staged too long ago may have been collected; nobody collects while this transaction lasts.
    fn require_chunks(&self, ids: &[u64]) -> Result<()> {
        let distinct: HashSet<u64> = ids.iter().copied().collect();
        let distinct: Vec<i64> = distinct.into_iter().map(signed).collect();
        self.sight.execute(HOLD_GATE, &[])?;
        let there = self.sight.one(CHUNKS_THERE, &[&distinct])?.map_or(Ok(0), |row| column::<i64>(&row, 0))?;
        if unsigned(there) == distinct.len() as u64 {
            return Ok(());
        }
        Err(damaged("a chunk was collected before it was named"))
    }

    fn remove_row(&self, key: &str, keep: bool) -> Result<()> {
        let (dir, name) = place(key);
        let left = self.sight.one(REMOVE, &[&self.ns, &dir, &name, &signed(self.head), &keep])?;
        left.map_or(Ok(()), |row| self.release_left(column(&row, 0)?))
    }

    fn forget_row(&self, key: &str, at: Commit) -> Result<()> {
        let (dir, name) = place(key);
        let left = self.sight.one(FORGET, &[&self.ns, &dir, &name, &signed(at.0)])?;
        left.map_or(Ok(()), |row| self.release_left(column(&row, 0)?))
    }

    /// Remembers that something failed.
    fn noting<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.failed |= outcome.is_err();
        outcome
    }
}

/// Puts chunks in; their numbers come in the order of the chunks.
pub(super) fn stage(sight: &Sight<'_, '_>, chunks: &[&[u8]]) -> Result<Vec<u64>> {
    let rows = sight.all(STAGE, &[&chunks])?;
    rows.iter().map(|row| column(row, 0).map(unsigned)).collect()
}

/// `n` rows less name a body; without any it goes. For those that were changed by others at the same time.
pub(super) fn release(sight: &Sight<'_, '_>, body: i64, n: i64) -> Result<()> {
    let refs = sight.one(RELEASE, &[&body, &n])?.map_or(Ok(1), |row| column::<i64>(&row, 0))?;
    if refs > 0 { Ok(()) } else { sight.execute(REMOVE_BODY, &[&body]).map(drop) }
}

impl Rows for Draft<'_, '_> {
    fn get(&self, key: &str) -> Result<Option<Row>> {
        self.sight.get(key)
    }

    fn usage(&self) -> Result<Usage> {
        Ok(self.usage)
    }

    rows_of!(sight);
}

impl RowsMut for Draft<'_, '_> {
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
        let outcome = self.remove_row(key, keep);
        self.noting(outcome)
    }

    fn forget(&mut self, key: &str, at: Commit) -> Result<()> {
        let outcome = self.forget_row(key, at);
        self.noting(outcome)
    }

    fn stage(&self, chunks: &[&[u8]]) -> Result<Option<Vec<u64>>> {
        stage(&self.sight, chunks).map(Some)
    }

    fn set_usage(&mut self, usage: Usage) -> Result<()> {
        self.counted |= usage != self.usage;
        self.usage = usage;
        Ok(())
    }
}
