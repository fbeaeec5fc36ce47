//! Pins, and letting go of what nobody needs: in steps, so that a large namespace keeps nobody else waiting.
//!
//! Each step leaves tables that are whole, and the next one, of whoever comes next, goes on where it ended: what is unpinned
//! or dropped is out of sight with the first step, and only its space comes back later.

use std::time::Instant;

use paddock_core::{Call, Result};

use super::super::base::{Commit, Moment, Namespace, RowsMut};
use super::super::rows_sql::{Told, damaged, read_list, signed, unsigned};
use super::super::rows_sql_sweep::{Removed, Sweepable};
use super::PostgresBase;
use super::draft::{CLOSE_GATE, left, release, released};
use super::sight::{Sight, column, short};

/// Rows removed in one step.
const STEP: i64 = 500;

const PIN: &str = "WITH made AS (INSERT INTO pin(ns, name, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING at)
     SELECT at FROM made UNION ALL SELECT at FROM pin WHERE ns = $1 AND name = $2";
const UNPIN: &str = "DELETE FROM pin WHERE ns = $1 AND name = $2";

/// Lets go of the content of the rows that are `gone`: how many they are, and the bodies that are left.
macro_rules! clearing {
    ($gone:literal) => {
        concat!(
            "WITH ",
            $gone,
            ",
             freed AS (SELECT body, count(*) AS n FROM gone WHERE body IS NOT NULL GROUP BY body), ",
            released!(),
            " SELECT (SELECT count(*) FROM gone), ARRAY(SELECT body ",
            left!(),
            " ORDER BY body),
                ARRAY(SELECT n ",
            left!(),
            " ORDER BY body)"
        )
    };
}
const CLEAR_UNPINNED: &str = clearing!(
    "due AS (SELECT dir, name, died FROM past WHERE ns = $1 AND NOT asked AND NOT EXISTS
            (SELECT 1 FROM pin WHERE pin.ns = $1 AND at >= born AND at < died) LIMIT $2),
     gone AS (DELETE FROM past p USING due
        WHERE p.ns = $1 AND p.dir = due.dir AND p.name = due.name AND p.died = due.died RETURNING body)"
);
const CLEAR_LIVING: &str = clearing!(
    "due AS (SELECT dir, name FROM living WHERE ns = $1 LIMIT $2),
     gone AS (DELETE FROM living l USING due WHERE l.ns = $1 AND l.dir = due.dir AND l.name = due.name RETURNING body)"
);
const CLEAR_PAST: &str = clearing!(
    "due AS (SELECT dir, name, died FROM past WHERE ns = $1 LIMIT $2),
     gone AS (DELETE FROM past p USING due
        WHERE p.ns = $1 AND p.dir = due.dir AND p.name = due.name AND p.died = due.died RETURNING body)"
);

const DROP: &str =
    "WITH gone AS (DELETE FROM namespace WHERE key = $1 RETURNING id) INSERT INTO dropped SELECT id FROM gone";
const DROPPED: &str = "SELECT id FROM dropped LIMIT 1 FOR UPDATE SKIP LOCKED";
const REMOVE_PINS: &str = "DELETE FROM pin WHERE ns = $1";
const FORGET_DROPPED: &str = "DELETE FROM dropped WHERE id = $1";

const OLD_CHUNKS: &str = "SELECT id FROM chunk WHERE id > $1
     AND staged <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2 ORDER BY id LIMIT $3";
const MARK: &str = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM virtual_number";
const LISTS: &str = "SELECT id, data FROM body WHERE chunked AND id > $1 AND id <= $2 ORDER BY id LIMIT $3";
const REMOVE_CHUNKS: &str = "DELETE FROM chunk WHERE id = ANY($1)";

/// Holds on to what a namespace is now.
pub(super) fn pin(base: &PostgresBase, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<Commit> {
    base.change(call, namespace, |draft| {
        let row = draft.sight().one(PIN, &[&draft.ns(), &name, &signed(draft.head().0)])?;
        let at = column(&row.ok_or_else(|| damaged("a pin that cannot be made"))?, 0)?;
        Ok(Commit(unsigned(at)))
    })
}

/// Lets go of what a pin held.
pub(super) fn unpin(base: &PostgresBase, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<()> {
    // Only now: in a later step the name may be somebody's new pin.
    let mut more = base.change(call, namespace, |draft| {
        draft.sight().execute(UNPIN, &[&draft.ns(), &name])?;
        clear(draft.sight(), CLEAR_UNPINNED, draft.ns())
    })?;
    while more {
        more = base.change(call, namespace, |draft| clear(draft.sight(), CLEAR_UNPINNED, draft.ns()))?;
    }
    Ok(())
}

/// Takes a namespace out of sight, then its rows away.
pub(super) fn drop_namespace(base: &PostgresBase, call: &Call<'_>, namespace: &Namespace) -> Result<()> {
    let key = namespace.text();
    base.on_tables(call.deadline, |sight| sight.execute(DROP, &[&short(key)]))?;
    clear_dropped(base, call)
}

/// Removes what is left of dropped namespaces, also of those whose dropping was cut off.
pub(super) fn clear_dropped(base: &PostgresBase, call: &Call<'_>) -> Result<()> {
    while base.on_tables(call.deadline, clear_some)? {
        call.tick(1)?;
    }
    Ok(())
}

/// One step; whether there may be more. What somebody else is at is left to them.
fn clear_some(sight: &Sight<'_, '_>) -> Result<bool> {
    let Some(ns) = sight.one(DROPPED, &[])? else { return Ok(false) };
    let ns = column(&ns, 0)?;
    if !clear(sight, CLEAR_LIVING, ns)? && !clear(sight, CLEAR_PAST, ns)? {
        sight.execute(REMOVE_PINS, &[&ns])?;
        sight.execute(FORGET_DROPPED, &[&ns])?;
    }
    Ok(true)
}

/// Whether there may be more.
fn clear(sight: &Sight<'_, '_>, sql: &str, ns: i64) -> Result<bool> {
    let row = sight.one(sql, &[&ns, &STEP])?.ok_or_else(|| damaged("rows that cannot be removed"))?;
    let (bodies, counts): (Vec<i64>, Vec<i64>) = (column(&row, 1)?, column(&row, 2)?);
    for (body, n) in bodies.into_iter().zip(counts) {
        release(sight, body, n)?;
    }
    Ok(column::<i64>(&row, 0)? == STEP)
}

/// The chunks of a database, for the sweep.
pub(super) struct Chunks<'a> {
    pub(super) base: &'a PostgresBase,
    pub(super) until: Instant,
    /// Older than this, in milliseconds.
    pub(super) older_than: u64,
}

impl Chunks<'_> {
    fn look<T>(&self, mut look: impl FnMut(&Sight<'_, '_>) -> Result<T>) -> Result<T> {
        let seen = self.base.db.read(self.until, |tx| look(&Sight::new(tx, "", Moment::Now)).map_err(Told));
        seen.map_err(|told| told.0)
    }
}

impl Sweepable for Chunks<'_> {
    fn old_chunks(&self, after: u64, limit: usize) -> Result<Vec<u64>> {
        let params = (signed(after), signed(self.older_than), signed(limit as u64));
        let rows = self.look(|sight| sight.all(OLD_CHUNKS, &[&params.0, &params.1, &params.2]))?;
        rows.iter().map(|row| column(row, 0).map(unsigned)).collect()
    }

    fn mark(&self) -> Result<u64> {
        self.base.on_tables(self.until, |sight| {
            sight.execute(CLOSE_GATE, &[])?;
            let row = sight.one(MARK, &[])?.ok_or_else(|| damaged("no last number"))?;
            column(&row, 0).map(unsigned)
        })
    }

    fn lists(&self, after: u64, mark: u64, limit: usize) -> Result<Vec<(u64, Vec<u64>)>> {
        self.look(|sight| lists(sight, after, signed(mark), limit))
    }

    /// The server shows nothing that it could still lose.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn remove(&self, group: &[u64], mark: u64) -> Result<Removed> {
        self.base.on_tables(self.until, |sight| {
            sight.execute(CLOSE_GATE, &[])?;
            let newer = lists(sight, mark, i64::MAX, usize::MAX)?;
            let mark = newer.last().map_or(mark, |(last, _)| *last);
            let mut removed = Removed { mark, named: newer.into_iter().flat_map(|(_, ids)| ids).collect(), count: 0 };
            let unnamed: Vec<i64> =
                group.iter().filter(|id| !removed.named.contains(id)).copied().map(signed).collect();
            removed.count = sight.execute(REMOVE_CHUNKS, &[&unnamed])?;
            Ok(removed)
        })
    }
}

fn lists(sight: &Sight<'_, '_>, after: u64, upto: i64, limit: usize) -> Result<Vec<(u64, Vec<u64>)>> {
    let rows = sight.all(LISTS, &[&signed(after), &upto, &signed(limit as u64)])?;
    rows.iter().map(|row| Ok((unsigned(column(row, 0)?), read_list(column(row, 1)?).collect()))).collect()
}
