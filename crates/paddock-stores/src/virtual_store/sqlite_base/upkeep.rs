//! Pins, and letting go of what nobody needs: in steps, so that a large namespace keeps nobody else waiting.
//!
//! Each step leaves tables that are whole, and the next one, of whoever comes next, goes on where it ended: what is unpinned
//! or dropped is out of sight with the first step, and only its space comes back later.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use paddock_core::{Call, Result};
use paddock_db::rusqlite::{self, Connection, Params};
use paddock_db::{DbError, Sqlite};

use super::super::base::{Commit, Namespace, RowsMut};
use super::super::rows_sql::{Told, read_list, signed, store_error, unsigned};
use super::super::rows_sql_sweep::{Removed, Sweepable};
use super::SqliteBase;
use super::draft::{Draft, REMOVE_PAST, release};
use super::sight::Sight;

/// Rows looked at in one step.
const STEP: i64 = 100;

const PIN: &str = "INSERT INTO pin(ns, name, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
const PINNED: &str = "SELECT at FROM pin WHERE ns = ?1 AND name = ?2";
const UNPIN: &str = "DELETE FROM pin WHERE ns = ?1 AND name = ?2";
/// Rows that only a pin keeps, and whether one does.
const UNASKED: &str = "SELECT died, dir, name, body, EXISTS (SELECT 1 FROM pin WHERE pin.ns = ?1 AND at >= born AND at < died) \
     FROM past WHERE ns = ?1 AND asked = 0 AND (died, dir, name) > (?2, ?3, ?4) ORDER BY died, dir, name LIMIT ?5";

const DROP: &str = "INSERT INTO dropped(id) SELECT id FROM namespace WHERE key = ?1";
const DROP_NAMESPACE: &str = "DELETE FROM namespace WHERE key = ?1";
const DROPPED: &str = "SELECT id FROM dropped LIMIT 1";
const DROPPED_LIVING: &str = "SELECT dir, name, body FROM living WHERE ns = ?1 LIMIT ?2";
const DROPPED_PAST: &str = "SELECT dir, name, body, died FROM past WHERE ns = ?1 LIMIT ?2";
const REMOVE_LIVING: &str = "DELETE FROM living WHERE ns = ?1 AND dir = ?2 AND name = ?3";
const REMOVE_PINS: &str = "DELETE FROM pin WHERE ns = ?1";
const FORGET_DROPPED: &str = "DELETE FROM dropped WHERE id = ?1";

const OLD_CHUNKS: &str = "SELECT id FROM chunk WHERE id > ?1 AND staged <= ?2 ORDER BY id LIMIT ?3";
const MARK: &str = "SELECT head FROM namespace WHERE id = 0";
const LISTS: &str = "SELECT id, data FROM body WHERE chunked = 1 AND id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3";
const REMOVE_CHUNK: &str = "DELETE FROM chunk WHERE id = ?1";

/// A place in the order of past rows that only a pin keeps.
type At = (i64, String, String);

/// Holds on to what a namespace is now.
pub(super) fn pin(base: &SqliteBase, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<Commit> {
    base.change(call, namespace, |draft| {
        let (ns, head) = (draft.ns(), draft.head());
        draft.sight().execute(PIN, (ns, name, signed(head.0)))?;
        let at = draft.sight().one(PINNED, (ns, name), |row| row.get(0))?;
        Ok(at.map_or(head, |at| Commit(unsigned(at))))
    })
}

/// Lets go of what a pin held.
pub(super) fn unpin(base: &SqliteBase, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<()> {
    let first = (-1, String::new(), String::new());
    // Only now: in a later step the name may be somebody's new pin.
    let mut after = base.change(call, namespace, |draft| {
        draft.sight().execute(UNPIN, (draft.ns(), name))?;
        collect_past(draft, &first)
    })?;
    while let Some(at) = after {
        after = base.change(call, namespace, |draft| collect_past(draft, &at))?;
    }
    Ok(())
}

/// One step; answers where to go on.
fn collect_past(draft: &Draft<'_>, after: &At) -> Result<Option<At>> {
    let (sight, ns) = (draft.sight(), draft.ns());
    let rows: Vec<(At, _, _)> =
        all(&sight.base.state, sight.conn, UNASKED, (ns, after.0, &after.1, &after.2, STEP), |row| {
            Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get::<_, Option<i64>>(3)?, row.get::<_, bool>(4)?))
        })?;
    for ((died, dir, name), body, _) in rows.iter().filter(|(_, _, pinned)| !pinned) {
        sight.execute(REMOVE_PAST, (ns, dir, name, died))?;
        body.map_or(Ok(()), |body| release(sight, body))?;
    }
    Ok(rows.into_iter().last().map(|(at, _, _)| at))
}

/// Takes a namespace out of sight, then its rows away.
pub(super) fn drop_namespace(base: &SqliteBase, call: &Call<'_>, namespace: &Namespace) -> Result<()> {
    let key = namespace.text();
    base.on_state(call.deadline, |sight| {
        sight.execute(DROP, (key,))?;
        sight.execute(DROP_NAMESPACE, (key,)).map(drop)
    })?;
    clear_dropped(base, call)
}

/// Removes what is left of dropped namespaces, also of those whose dropping was cut off.
pub(super) fn clear_dropped(base: &SqliteBase, call: &Call<'_>) -> Result<()> {
    while base.on_state(call.deadline, clear_some)? {
        call.tick(1)?;
    }
    Ok(())
}

/// One step; whether there may be more.
fn clear_some(sight: &Sight<'_>) -> Result<bool> {
    let Some(ns) = sight.one(DROPPED, (), |row| row.get::<_, i64>(0))? else { return Ok(false) };
    let state = &sight.base.state;
    let living = all(state, sight.conn, DROPPED_LIVING, (ns, STEP), named_row)?;
    for (dir, name, body) in &living {
        sight.execute(REMOVE_LIVING, (ns, dir, name))?;
        body.map_or(Ok(()), |body| release(sight, body))?;
    }
    if !living.is_empty() {
        return Ok(true);
    }
    let past = all(state, sight.conn, DROPPED_PAST, (ns, STEP), |row| Ok((named_row(row)?, row.get::<_, i64>(3)?)))?;
    for ((dir, name, body), died) in &past {
        sight.execute(REMOVE_PAST, (ns, dir, name, died))?;
        body.map_or(Ok(()), |body| release(sight, body))?;
    }
    if past.is_empty() {
        sight.execute(REMOVE_PINS, (ns,))?;
        sight.execute(FORGET_DROPPED, (ns,))?;
    }
    Ok(true)
}

fn named_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<(String, String, Option<i64>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

/// The chunks of a database, for the sweep. The turn to write the rows is its gate.
pub(super) struct Chunks<'a> {
    pub(super) base: &'a SqliteBase,
    pub(super) until: Instant,
    /// Older than this, in milliseconds since 1970.
    pub(super) staged_before: i64,
}

impl Sweepable for Chunks<'_> {
    fn old_chunks(&self, after: u64, limit: usize) -> Result<Vec<u64>> {
        let content = &self.base.content;
        let params = (signed(after), self.staged_before, signed(limit as u64));
        let found =
            content.read(|conn| Ok::<_, Told>(all(content, conn, OLD_CHUNKS, params, |row| row.get::<_, i64>(0))?));
        Ok(found.map_err(|told| told.0)?.into_iter().map(unsigned).collect())
    }

    fn mark(&self) -> Result<u64> {
        let state = &self.base.state;
        let look = |conn: &Connection| conn.prepare_cached(MARK)?.query_row((), |row| row.get(0));
        state.read(|conn| look(conn).map_err(|error| state.error(error))).map(unsigned).map_err(store_error)
    }

    fn lists(&self, after: u64, mark: u64, limit: usize) -> Result<Vec<(u64, Vec<u64>)>> {
        let state = &self.base.state;
        let found = state.read(|conn| Ok::<_, Told>(lists(state, conn, after, signed(mark), limit)?));
        found.map_err(|told| told.0)
    }

    /// A row whose end was seen may still come back with the power, and must then find its chunks.
    fn settle(&self) -> Result<()> {
        self.base.state.write(self.until, |_| Ok::<_, DbError>(())).map_err(store_error)
    }

    fn remove(&self, group: &[u64], mark: u64) -> Result<Removed> {
        let content = &self.base.content;
        self.base.on_state(self.until, |sight| {
            let newer = lists(&self.base.state, sight.conn, mark, i64::MAX, usize::MAX)?;
            let mark = newer.last().map_or(mark, |(last, _)| *last);
            let mut removed = Removed { mark, named: newer.into_iter().flat_map(|(_, ids)| ids).collect(), count: 0 };
            let unnamed = group.iter().filter(|id| !removed.named.contains(id));
            let gone = content.write(self.until, |tx| {
                let mut statement = tx.prepare_cached(REMOVE_CHUNK).map_err(|error| content.error(error))?;
                let gone = unnamed.map(|id| statement.execute((signed(*id),)));
                gone.sum::<rusqlite::Result<usize>>().map_err(|error| content.error(error))
            });
            removed.count = gone.map_err(store_error)? as u64;
            Ok(removed)
        })
    }
}

fn lists(state: &Sqlite, conn: &Connection, after: u64, upto: i64, limit: usize) -> Result<Vec<(u64, Vec<u64>)>> {
    all(state, conn, LISTS, (signed(after), upto, signed(limit as u64)), |row| {
        Ok((unsigned(row.get(0)?), read_list(row.get_ref(1)?.as_blob()?).collect()))
    })
}

/// Every row that a statement answers; limit it.
fn all<T>(
    database: &Sqlite,
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let look = || conn.prepare_cached(sql)?.query_map(params, read)?.collect::<rusqlite::Result<Vec<T>>>();
    look().map_err(|error| store_error(database.error(error)))
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
