//! Looking at one moment of a namespace, in one transaction of PostgreSQL: each look is one journey to the server.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use paddock_core::{Result, Usage};
use paddock_db::pg_types::{FromSql, ToSql};
use paddock_db::{PgRow, PgTransaction};

use super::super::base::{Body, Commit, Moment, Row, Rows, TakeName};
use super::super::memory_base::split;
use super::super::rows_sql::{
    Columns, damaged, is_small_file, kind_of, list_range, read_list, row, signed, slice_of, store_error, unsigned,
};

/// A directory longer than this is kept by its digest: an index takes no longer texts.
const LONGEST_TEXT: usize = 1500;

/// A namespace by its number where that is known, else by its key, so that looking takes one statement.
macro_rules! of_namespace {
    () => {
        "ns = coalesce($1::bigint, (SELECT id FROM namespace WHERE key = $2))"
    };
}
/// What lives at a key.
macro_rules! living {
    () => {
        concat!("SELECT ", row!(), " FROM living WHERE ", of_namespace!(), " AND dir = $3 AND name = $4")
    };
}
/// What was at a key after a commit; of what is past only the first that ended later may be meant.
macro_rules! at {
    () => {
        concat!(
            "(",
            living!(),
            " AND born <= $5) UNION ALL (SELECT ",
            row!(),
            " FROM (SELECT * FROM past WHERE ",
            of_namespace!(),
            " AND dir = $3 AND name = $4 AND died > $5 ORDER BY died LIMIT 1) p WHERE born <= $5)"
        )
    };
}

const GET: &str = living!();
const GET_AT: &str = concat!("SELECT * FROM (", at!(), ") r LIMIT 1");
/// The content of what is no small file is not even looked at.
const GET_SMALL: &str = concat!(
    "SELECT r.*, CASE WHEN r.kind = 0 AND NOT r.chunked THEN (SELECT substr(data, $5, $6) FROM body WHERE id = r.body) END",
    " FROM (",
    living!(),
    ") r"
);
const GET_SMALL_AT: &str = concat!(
    "SELECT r.*, CASE WHEN r.kind = 0 AND NOT r.chunked THEN (SELECT substr(data, $6, $7) FROM body WHERE id = r.body) END",
    " FROM (",
    at!(),
    ") r LIMIT 1"
);
const CHILDREN: &str = concat!(
    "SELECT name, ",
    row!(),
    " FROM living WHERE ",
    of_namespace!(),
    " AND dir = $3 AND name > $4 ORDER BY name LIMIT $5"
);
const NAMES: &str = concat!(
    "SELECT name, kind FROM living WHERE ",
    of_namespace!(),
    " AND dir = $3 AND name > $4 ORDER BY name LIMIT $5"
);
/// What lives, and what is past: there one name after the other, and of each the one life that may be meant, however
/// many there were.
const CHILDREN_AT: &str = concat!(
    "WITH RECURSIVE names AS ((SELECT name FROM past WHERE ",
    of_namespace!(),
    "  AND dir = $3 AND name > $4 ORDER BY name LIMIT 1)",
    " UNION ALL SELECT (SELECT p.name FROM past p WHERE p.",
    of_namespace!(),
    "  AND p.dir = $3 AND p.name > names.name ORDER BY p.name LIMIT 1) FROM names WHERE names.name IS NOT NULL)",
    " (SELECT name, ",
    row!(),
    " FROM living WHERE ",
    of_namespace!(),
    "  AND dir = $3 AND name > $4 AND born <= $5 ORDER BY name LIMIT $6)",
    " UNION ALL (SELECT names.name, ",
    row!(),
    " FROM names, LATERAL (SELECT * FROM past WHERE ",
    of_namespace!(),
    "  AND dir = $3 AND past.name = names.name AND died > $5 ORDER BY died LIMIT 1) p WHERE born <= $5 LIMIT $6)"
);
const SLICE: &str = "SELECT substr(data, $2, $3) FROM body WHERE id = $1";
const CHUNK: &str = "SELECT substr(data, $2, $3) FROM chunk WHERE id = $1";
const USAGE: &str = "SELECT bytes, files FROM namespace WHERE key = $1";

/// Parameters of a statement.
pub(super) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// One moment of a namespace.
pub(super) struct Sight<'t, 'c> {
    tx: RefCell<&'t mut PgTransaction<'c>>,
    key: &'t str,
    /// Its number, where that is known.
    ns: Option<i64>,
    moment: Moment,
}

impl<'t, 'c> Sight<'t, 'c> {
    pub(super) fn new(tx: &'t mut PgTransaction<'c>, key: &'t str, moment: Moment) -> Self {
        Self { tx: RefCell::new(tx), key, ns: None, moment }
    }

    /// The same, with the number known.
    pub(super) fn numbered(self, ns: i64) -> Self {
        Self { ns: Some(ns), ..self }
    }

    pub(super) fn all(&self, sql: &str, params: Params<'_>) -> Result<Vec<PgRow>> {
        self.tx.borrow_mut().query(sql, params).map_err(store_error)
    }

    pub(super) fn one(&self, sql: &str, params: Params<'_>) -> Result<Option<PgRow>> {
        self.tx.borrow_mut().query_opt(sql, params).map_err(store_error)
    }

    pub(super) fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64> {
        self.tx.borrow_mut().execute(sql, params).map_err(store_error)
    }

    fn row_at(&self, key: &str, moment: Moment) -> Result<Option<Row>> {
        let (dir, name) = place(key);
        let found = match moment {
            Moment::Now => self.one(GET, &[&self.ns, &self.key, &dir, &name])?,
            Moment::At(at) => self.one(GET_AT, &[&self.ns, &self.key, &dir, &name, &signed(at.0)])?,
        };
        found.map(|found| columns(&found, 0)).transpose()
    }

    /// Hands over a range of a content.
    fn slice<T>(&self, sql: &str, id: u64, range: &Range<u64>, take: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let (first, len) = slice_of(range);
        let found = self.one(sql, &[&signed(id), &first, &len])?;
        let found = found.ok_or_else(|| damaged(format!("no content {id}")))?;
        Ok(take(column(&found, 0)?))
    }
}

impl Rows for Sight<'_, '_> {
    fn get(&self, key: &str) -> Result<Option<Row>> {
        self.row_at(key, self.moment)
    }

    fn children(&self, dir: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>> {
        let (dir, count) = (short(dir), signed(limit as u64));
        // No name is empty, so that every one is after the empty one.
        let after = after.unwrap_or_default();
        let found = match self.moment {
            Moment::Now => self.all(CHILDREN, &[&self.ns, &self.key, &dir, &after, &count])?,
            Moment::At(at) => self.all(CHILDREN_AT, &[&self.ns, &self.key, &dir, &after, &signed(at.0), &count])?,
        };
        let read = |row: &PgRow| Ok((column(row, 0)?, columns(row, 1)?));
        let mut rows = found.iter().map(read).collect::<Result<Vec<(String, Row)>>>()?;
        if self.moment != Moment::Now {
            rows.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
            rows.truncate(limit);
        }
        Ok(rows)
    }

    fn names(&self, dir: &str, after: Option<&str>, limit: usize, take: TakeName<'_>) -> Result<()> {
        if self.moment != Moment::Now {
            self.children(dir, after, limit)?.iter().for_each(|(name, row)| take(name, row.kind));
            return Ok(());
        }
        let (dir, after, count) = (short(dir), after.unwrap_or_default(), signed(limit as u64));
        let found = self.all(NAMES, &[&self.ns, &self.key, &dir, &after, &count])?;
        for row in &found {
            take(column(row, 0)?, kind_of(column(row, 1)?)?);
        }
        Ok(())
    }

    fn inline(&self, body: Body, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        self.slice(SLICE, body.id, &range, |bytes| out.extend_from_slice(bytes))
    }

    fn chunks(&self, body: Body, positions: Range<u64>) -> Result<Vec<u64>> {
        self.slice(SLICE, body.id, &list_range(&positions), |bytes| read_list(bytes).collect())
    }

    fn chunk(&self, id: u64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        self.slice(CHUNK, id, &range, |bytes| out.extend_from_slice(bytes))
    }

    fn usage(&self) -> Result<Usage> {
        let found = self.one(USAGE, &[&self.key])?;
        found.map_or(Ok(Usage::default()), |row| usage(&row, 0))
    }

    fn get_small(&self, key: &str, range: Range<u64>, out: &mut Vec<u8>) -> Result<Option<Row>> {
        let ((dir, name), (first, len)) = (place(key), slice_of(&range));
        let found = match self.moment {
            Moment::Now => self.one(GET_SMALL, &[&self.ns, &self.key, &dir, &name, &first, &len])?,
            Moment::At(at) => {
                self.one(GET_SMALL_AT, &[&self.ns, &self.key, &dir, &name, &signed(at.0), &first, &len])?
            }
        };
        let Some(found) = found else { return Ok(None) };
        let row = columns(&found, 0)?;
        match column::<Option<&[u8]>>(&found, 7)? {
            Some(bytes) => out.extend_from_slice(bytes),
            None if is_small_file(&row) => return Err(damaged(format!("no body of \"{key}\""))),
            None => {}
        }
        Ok(Some(row))
    }

    fn past(&self, key: &str, at: Commit) -> Result<Option<Row>> {
        self.row_at(key, Moment::At(at))
    }
}

/// A key as its directory, as that is kept, and its name.
pub(super) fn place(key: &str) -> (Cow<'_, str>, &str) {
    let (dir, name) = split(key);
    (short(dir), name)
}

/// A text as it is kept: one that is too long by its digest, which looks like no path.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    match text.len() {
        0..=LONGEST_TEXT => text.into(),
        _ => format!("//{}", blake3::hash(text.as_bytes()).to_hex()).into(),
    }
}

/// One column of a row.
pub(super) fn column<'r, T: FromSql<'r>>(row: &'r PgRow, at: usize) -> Result<T> {
    row.try_get(at).map_err(|error| damaged(error.to_string()))
}

/// Bytes and files, from this column on.
pub(super) fn usage(row: &PgRow, first: usize) -> Result<Usage> {
    Ok(Usage { bytes: unsigned(column(row, first)?), files: unsigned(column(row, first + 1)?) })
}

/// The columns of `row!`, from this one on.
fn columns(row: &PgRow, first: usize) -> Result<Row> {
    let columns = Columns {
        kind: column(row, first)?,
        len: column(row, first + 1)?,
        mode: column(row, first + 2)?,
        modified: column(row, first + 3)?,
        version: column(row, first + 4)?,
        body: column(row, first + 5)?,
        chunked: column(row, first + 6)?,
    };
    columns.row()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_directories_are_told_apart_and_short_ones_left_alone() {
        let long = "a".repeat(LONGEST_TEXT + 1);
        assert_eq!(short("some/dir"), "some/dir");
        assert_eq!(short(&long[1..]), long[1..]);
        assert_ne!(short(&long), short(&long.replace('a', "b")));
        assert!(short(&long).starts_with("//"));
    }
}
