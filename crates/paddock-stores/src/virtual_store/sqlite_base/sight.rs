//! Looking at one moment of a namespace, in one snapshot of SQLite.

use std::cell::Cell;
use std::ops::Range;

use paddock_core::{Result, Usage};
use paddock_db::rusqlite::{self, Connection, OptionalExtension, Params};

use super::super::base::{Body, Commit, Moment, Row, Rows, TakeName};
use super::super::memory_base::split;
use super::super::rows_sql::{
    Columns, Told, damaged, is_small_file, kind_of, list_range, read_list, row, signed, slice_of, store_error, unsigned,
};
use super::SqliteBase;

/// A namespace by its number where that is known, else by its key, so that looking takes one statement.
macro_rules! of_namespace {
    () => {
        "ns = ifnull(?1, (SELECT id FROM namespace WHERE key = ?2))"
    };
}

const GET: &str = concat!(
    "SELECT ",
    row!(),
    ", born FROM living WHERE ",
    of_namespace!(),
    " AND dir = ?3 AND name = ?4 AND born <= ?5"
);
const GET_PAST: &str = concat!(
    "SELECT born, ",
    row!(),
    " FROM past WHERE ",
    of_namespace!(),
    " AND dir = ?3 AND name = ?4 AND died > ?5 ORDER BY died LIMIT 1"
);
/// The content of what is no small file is not even looked at.
const GET_SMALL: &str = concat!(
    "SELECT ",
    row!(),
    ", (SELECT substr(data, ?6, ?7) FROM body WHERE id = living.body AND living.kind = 0 AND living.chunked = 0)",
    " FROM living WHERE ",
    of_namespace!(),
    " AND dir = ?3 AND name = ?4 AND born <= ?5"
);
const CHILDREN: &str = concat!(
    "SELECT name, ",
    row!(),
    " FROM living WHERE ",
    of_namespace!(),
    " AND dir = ?3 AND name > ?4 AND born <= ?5 ORDER BY name LIMIT ?6"
);
/// What is there now, without the rest, which is most of the work of a listing.
const NAMES: &str = concat!(
    "SELECT name, kind FROM living WHERE ",
    of_namespace!(),
    " AND dir = ?3 AND name > ?4 ORDER BY name LIMIT ?6"
);
/// One name after the other, and of each the one life that may be meant, however many there were.
const PAST_CHILDREN: &str = concat!(
    "WITH RECURSIVE of(ns) AS (SELECT ifnull(?1, (SELECT id FROM namespace WHERE key = ?2))), names(name) AS (",
    " SELECT (SELECT min(name) FROM past WHERE ns = (SELECT ns FROM of) AND dir = ?3 AND name > ?4)",
    " UNION ALL SELECT (SELECT min(p.name) FROM past p WHERE p.ns = (SELECT ns FROM of) AND p.dir = ?3",
    "  AND p.name > names.name) FROM names WHERE names.name IS NOT NULL)",
    " SELECT p.name, p.kind, p.len, p.mode, p.modified, p.version, p.body, p.chunked FROM names CROSS JOIN past p",
    " ON p.ns = (SELECT ns FROM of) AND p.dir = ?3 AND p.name = names.name",
    " AND p.died = (SELECT min(died) FROM past WHERE ns = (SELECT ns FROM of) AND dir = ?3 AND name = names.name AND died > ?5)",
    " WHERE p.born <= ?5 LIMIT ?6"
);
const SLICE: &str = "SELECT substr(data, ?2, ?3) FROM body WHERE id = ?1";
const CHUNK: &str = "SELECT substr(data, ?2, ?3) FROM chunk WHERE id = ?1";
const USAGE: &str = "SELECT bytes, files FROM namespace WHERE key = ?1";

/// One moment of a namespace.
pub(super) struct Sight<'a> {
    pub(super) base: &'a SqliteBase,
    pub(super) conn: &'a Connection,
    pub(super) key: &'a str,
    /// Its number, where that is known.
    pub(super) ns: Option<i64>,
    pub(super) moment: Moment,
    /// A chunk was named and not there: what is looked at has been replaced meanwhile, and its content collected.
    pub(super) overtaken: Cell<bool>,
}

impl Sight<'_> {
    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let found = self.conn.prepare_cached(sql).and_then(|mut asked| asked.query_row(params, read).optional());
        found.map_err(|error| self.error(error))
    }

    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        let done = self.conn.prepare_cached(sql).and_then(|mut statement| statement.execute(params));
        done.map_err(|error| self.error(error))
    }

    fn error(&self, error: rusqlite::Error) -> paddock_core::StoreError {
        store_error(self.base.state.error(error))
    }

    fn at(&self) -> i64 {
        match self.moment {
            Moment::Now => i64::MAX,
            Moment::At(commit) => signed(commit.0),
        }
    }

    fn living_at(&self, key: &str, at: i64) -> Result<Option<Row>> {
        Ok(self.alive(key, at)?.map(|(_, row)| row))
    }

    /// What lives at a key and was born by then, with the commit that made it.
    pub(super) fn alive(&self, key: &str, at: i64) -> Result<Option<(i64, Row)>> {
        let (dir, name) = split(key);
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(7)?, columns(row, 0)?));
        let found = self.one(GET, (self.ns, self.key, dir, name, at), read)?;
        found.map(|(born, columns)| Ok((born, columns.row()?))).transpose()
    }

    fn dead_at(&self, key: &str, at: i64) -> Result<Option<Row>> {
        let (dir, name) = split(key);
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, columns(row, 1)?));
        let found = self.one(GET_PAST, (self.ns, self.key, dir, name, at), read)?;
        found.filter(|(born, _)| *born <= at).map(|(_, columns)| columns.row()).transpose()
    }

    /// Hands over the rows of a directory that a statement finds.
    fn page(
        &self,
        sql: &str,
        (dir, after, limit): (&str, Option<&str>, usize),
        mut take: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        // No name is empty, so that every one is after the empty one.
        let after = after.unwrap_or_default();
        let mut look = || {
            let mut statement = self.conn.prepare_cached(sql)?;
            let mut rows = statement.query((self.ns, self.key, dir, after, self.at(), signed(limit as u64)))?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok(())
        };
        look().map_err(|error| self.error(error))
    }

    fn whole(&self, sql: &str, page: (&str, Option<&str>, usize)) -> Result<Vec<(String, Row)>> {
        let mut found = Vec::new();
        self.page(sql, page, |row| {
            found.push((row.get::<_, String>(0)?, columns(row, 1)?));
            Ok(())
        })?;
        found.into_iter().map(|(name, columns)| Ok((name, columns.row()?))).collect()
    }

    /// Hands over a range of a body.
    fn slice<T>(&self, body: Body, range: &Range<u64>, take: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let (first, len) = slice_of(range);
        let read = |row: &rusqlite::Row<'_>| Ok(take(bytes(row, 0)?));
        let taken = self.one(SLICE, (signed(body.id), first, len), read)?;
        taken.ok_or_else(|| damaged(format!("no body {}", body.id)))
    }
}

impl Rows for Sight<'_> {
    fn get(&self, key: &str) -> Result<Option<Row>> {
        match self.living_at(key, self.at())? {
            None if self.moment != Moment::Now => self.dead_at(key, self.at()),
            found => Ok(found),
        }
    }

    fn children(&self, dir: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>> {
        let mut living = self.whole(CHILDREN, (dir, after, limit))?;
        if self.moment == Moment::Now {
            return Ok(living);
        }
        living.extend(self.whole(PAST_CHILDREN, (dir, after, limit))?);
        living.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        living.truncate(limit);
        Ok(living)
    }

    fn names(&self, dir: &str, after: Option<&str>, limit: usize, take: TakeName<'_>) -> Result<()> {
        if self.moment != Moment::Now {
            self.children(dir, after, limit)?.iter().for_each(|(name, row)| take(name, row.kind));
            return Ok(());
        }
        let mut odd = Ok(());
        self.page(NAMES, (dir, after, limit), |row| {
            match kind_of(row.get(1)?) {
                Ok(kind) => take(row.get_ref(0)?.as_str()?, kind),
                Err(error) => odd = Err(error),
            }
            Ok(())
        })?;
        odd
    }

    fn inline(&self, body: Body, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        self.slice(body, &range, |bytes| out.extend_from_slice(bytes))
    }

    fn chunks(&self, body: Body, positions: Range<u64>) -> Result<Vec<u64>> {
        self.slice(body, &list_range(&positions), |bytes| read_list(bytes).collect())
    }

    fn chunk(&self, id: u64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let (first, len) = slice_of(&range);
        let content = &self.base.content;
        let found = content.read(|conn| {
            let read = |row: &rusqlite::Row<'_>| {
                out.extend_from_slice(bytes(row, 0)?);
                Ok(())
            };
            let mut statement = conn.prepare_cached(CHUNK).map_err(|error| content.error(error))?;
            let found = statement.query_row((signed(id), first, len), read).optional();
            found.map_err(|error| Told::from(content.error(error)))
        });
        match found.map_err(|told| told.0)? {
            Some(()) => Ok(()),
            None => {
                self.overtaken.set(true);
                Err(damaged(format!("no chunk {id}")))
            }
        }
    }

    fn usage(&self) -> Result<Usage> {
        let read = |row: &rusqlite::Row<'_>| Ok(Usage { bytes: unsigned(row.get(0)?), files: unsigned(row.get(1)?) });
        Ok(self.one(USAGE, (self.key,), read)?.unwrap_or_default())
    }

    fn get_small(&self, key: &str, range: Range<u64>, out: &mut Vec<u8>) -> Result<Option<Row>> {
        let ((dir, name), (first, len)) = (split(key), slice_of(&range));
        let before = out.len();
        let read = |row: &rusqlite::Row<'_>| {
            let content = row.get_ref(7)?.as_blob_or_null()?;
            out.extend_from_slice(content.unwrap_or_default());
            Ok((columns(row, 0)?, content.is_some()))
        };
        let params = (self.ns, self.key, dir, name, self.at(), first, len);
        let row = match self.one(GET_SMALL, params, read)? {
            Some((columns, came)) => {
                let row = columns.row()?;
                if is_small_file(&row) && row.len > 0 && !came {
                    return Err(damaged(format!("no body of \"{key}\"")));
                }
                return Ok(Some(row));
            }
            None if self.moment == Moment::Now => return Ok(None),
            None => self.dead_at(key, self.at())?,
        };
        out.truncate(before);
        if let Some(row) = &row
            && let Some(body) = row.body.filter(|_| is_small_file(row))
        {
            self.inline(body, range, out)?;
        }
        Ok(row)
    }

    fn past(&self, key: &str, at: Commit) -> Result<Option<Row>> {
        match self.living_at(key, signed(at.0))? {
            None => self.dead_at(key, signed(at.0)),
            found => Ok(found),
        }
    }
}

/// A part of a content; SQLite says that nothing has no parts.
fn bytes<'r>(row: &'r rusqlite::Row<'_>, at: usize) -> rusqlite::Result<&'r [u8]> {
    Ok(row.get_ref(at)?.as_blob_or_null()?.unwrap_or_default())
}

/// The columns of `row!`, from this one on.
fn columns(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Columns> {
    Ok(Columns {
        kind: row.get(first)?,
        len: row.get(first + 1)?,
        mode: row.get(first + 2)?,
        modified: row.get(first + 3)?,
        version: row.get(first + 4)?,
        body: row.get(first + 5)?,
        chunked: row.get(first + 6)?,
    })
}
