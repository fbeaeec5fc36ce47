//! The statements of the audit, once for both databases.
//!
//! What differs between the two is in [`Statements`]: how a row is locked that others may write too, and how many rows are put in at once.

use std::fmt::Write as _;

use paddock_db::statements::{Deed, Param};

use super::chain::{Entry, Nonce};
use super::columns::{ENTRY, HEAD, ROW, Stored, number, of_entry, of_head};
use super::query::{Count, Cursor, Filter};
use super::row::{Kind, Row};
use super::storage::{Found, Result, SignedHead, Tables};

/// Touches no index.
const GROW: &str = "UPDATE audit_head SET at = ?1, count = ?2, hash = ?3, mac = ?4 WHERE chain = ?5 AND nonce = ?6 \
    AND key = ?7 AND at = ?8 AND count = ?9 AND hash = ?10 AND closed = 0 AND mac = ?11";
const REMOVE_ROWS: &str = "DELETE FROM audit_row WHERE chain = ?1 AND seq IN \
    (SELECT seq FROM audit_row WHERE chain = ?1 ORDER BY seq LIMIT ?2)";
const COUNTS: &str =
    "SELECT at / ?2 * ?2, outcome, count(*) FROM audit_row WHERE at >= ?1 AND kind = 2 GROUP BY 1, 2 ORDER BY 1, 2";
const STRAYS: &str = "SELECT (SELECT count(*) FROM audit_row WHERE chain <= 0) \
    + (SELECT count(*) FROM audit_head WHERE chain < 0) + (SELECT count(*) FROM audit_register WHERE seq <= 0)";

/// A transaction of a database.
pub(super) trait Statements {
    fn all<T: Stored>(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Found<T>>>;
    /// How many rows a statement changed.
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64>;
    fn put_rows(&mut self, rows: &[Row]) -> Result<()>;
    fn do_deed(&mut self, deed: &mut Deed) -> Result<()>;
    /// Behind a question, while writing: nobody else changes what it finds before the end.
    fn locking(&self) -> &'static str;
    /// The same, without what somebody else is writing.
    fn locking_the_free(&self) -> &'static str;
}

impl<S: Statements> Tables for S {
    fn head(&mut self, chain: u64) -> Result<Option<Found<SignedHead>>> {
        one_head(self, "chain = ?1", number(chain))
    }

    fn head_of_nonce(&mut self, nonce: &Nonce) -> Result<Option<Found<SignedHead>>> {
        one_head(self, "nonce = ?1", Param::Bytes(nonce))
    }

    fn heads(&mut self, after: u64, limit: usize) -> Result<Vec<Found<SignedHead>>> {
        let sql = format!("SELECT {HEAD} FROM audit_head WHERE chain > ?1 ORDER BY chain LIMIT ?2");
        self.all(&sql, &[number(after), size(limit)])
    }

    fn silent_heads(&mut self, before: i64, limit: usize) -> Result<Vec<Found<SignedHead>>> {
        let free = self.locking_the_free();
        let sql = format!(
            "SELECT {HEAD} FROM audit_head WHERE closed = 0 AND chain <> 0 AND at < ?1 ORDER BY at LIMIT ?2 {free}"
        );
        self.all(&sql, &[Param::Int(before), size(limit)])
    }

    fn lock_register(&mut self, first: &SignedHead) -> Result<()> {
        // `head` then waits for whoever writes the register.
        put_head(self, first, "NOTHING")
    }

    fn put_head(&mut self, head: &SignedHead) -> Result<()> {
        put_head(
            self,
            head,
            "UPDATE SET nonce = excluded.nonce, key = excluded.key, at = excluded.at, count = excluded.count, \
             hash = excluded.hash, closed = excluded.closed, mac = excluded.mac",
        )
    }

    fn grow_head(&mut self, known: &SignedHead, next: &SignedHead) -> Result<bool> {
        let (SignedHead { head: was, mac: old }, SignedHead { head, mac }) = (known, next);
        let grown = self.execute(
            GROW,
            &[
                Param::Int(head.at),
                number(head.count),
                Param::Bytes(&head.hash),
                Param::Bytes(mac),
                number(was.chain),
                Param::Bytes(&was.nonce),
                Param::Bytes(&was.key),
                Param::Int(was.at),
                number(was.count),
                Param::Bytes(&was.hash),
                Param::Bytes(old),
            ],
        )?;
        Ok(grown == 1)
    }

    fn remove_head(&mut self, chain: u64) -> Result<()> {
        self.execute("DELETE FROM audit_head WHERE chain = ?1", &[number(chain)]).map(drop)
    }

    fn remove_rows(&mut self, chain: u64, limit: usize) -> Result<u64> {
        self.execute(REMOVE_ROWS, &[number(chain), size(limit)])
    }

    fn run(&mut self, deed: &mut Deed) -> Result<()> {
        self.do_deed(deed)
    }

    fn insert(&mut self, rows: &[Row]) -> Result<()> {
        self.put_rows(rows)
    }

    fn rows(&mut self, after: (u64, u64), limit: usize) -> Result<Vec<Found<Row>>> {
        let sql = format!("SELECT {ROW} FROM audit_row WHERE (chain, seq) > (?1, ?2) ORDER BY chain, seq LIMIT ?3");
        self.all(&sql, &[number(after.0), number(after.1), size(limit)])
    }

    fn select(&mut self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Vec<Row>> {
        filtered(self, filter, after, "at, chain, seq", limit)
    }

    fn newest(&mut self, filter: &Filter, limit: usize) -> Result<Vec<Row>> {
        filtered(self, filter, None, "at DESC, chain DESC, seq DESC", limit)
    }

    fn counts(&mut self, since: i64, step: i64) -> Result<Vec<Count>> {
        self.all(COUNTS, &[Param::Int(since), Param::Int(step)]).map(as_they_are)
    }

    fn strays(&mut self) -> Result<u64> {
        Ok(self.all(STRAYS, &[])?.pop().map_or(0, |found| found.it))
    }

    fn enter(&mut self, entry: &Entry) -> Result<()> {
        let sql = format!("INSERT INTO audit_register({ENTRY}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
        self.execute(&sql, &of_entry(entry)).map(drop)
    }

    fn entries(&mut self, after: u64, limit: usize) -> Result<Vec<Found<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit_register WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        self.all(&sql, &[number(after), size(limit)])
    }

    fn entries_about(&mut self, chain: u64, limit: usize) -> Result<Vec<Found<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit_register WHERE chain = ?1 ORDER BY seq LIMIT ?2");
        self.all(&sql, &[number(chain), size(limit)])
    }
}

fn one_head(db: &mut impl Statements, filter: &str, value: Param<'_>) -> Result<Option<Found<SignedHead>>> {
    let sql = format!("SELECT {HEAD} FROM audit_head WHERE {filter} LIMIT 1 {}", db.locking());
    Ok(db.all(&sql, &[value])?.pop())
}

fn put_head(db: &mut impl Statements, head: &SignedHead, on_conflict: &str) -> Result<()> {
    let sql = format!(
        "INSERT INTO audit_head({HEAD}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (chain) DO {on_conflict}"
    );
    db.execute(&sql, &of_head(head)).map(drop)
}

/// The rows that a filter leaves, asked for by nothing but what it names.
fn filtered(
    db: &mut impl Statements,
    filter: &Filter,
    after: Option<Cursor>,
    order: &str,
    limit: usize,
) -> Result<Vec<Row>> {
    let after = after.unwrap_or(Cursor { at: i64::MIN, chain: 0, seq: 0 });
    let end = filter.before.unwrap_or(Cursor::END);
    let mut sql = format!(
        "SELECT {ROW} FROM audit_row WHERE at >= ?1 AND at <= ?2 AND (at, chain, seq) > (?3, ?4, ?5) \
         AND (at, chain, seq) < (?6, ?7, ?8)"
    );
    let mut params = vec![
        Param::Int(filter.since.unwrap_or(i64::MIN)),
        Param::Int(filter.last_moment()),
        Param::Int(after.at),
        number(after.chain),
        number(after.seq),
        Param::Int(end.at),
        number(end.chain),
        number(end.seq),
    ];
    let (bounds, call) = (filter.path_bounds(), filter.call.map(|call| call.0.to_be_bytes()));
    let texts = [
        ("agent", &filter.agent),
        ("person", &filter.by),
        ("workspace", &filter.workspace),
        ("outcome", &filter.outcome),
        ("tool", &filter.tool),
    ];
    let texts = texts.into_iter().filter_map(|(column, text)| Some((column, Param::Text(text.as_deref()?))));
    let calls = call.iter().map(|call| ("call", Param::Bytes(call)));
    for (column, value) in texts.chain(calls) {
        params.push(value);
        let _ = write!(sql, " AND {column} = ?{}", params.len());
    }
    if let Some((path, below, beyond)) = &bounds {
        let last = params.len();
        params.extend([path, below, beyond].map(|text| Param::Text(text)));
        let _ = write!(sql, " AND (path = ?{} OR (path >= ?{} AND path < ?{}))", last + 1, last + 2, last + 3);
    }
    if filter.ended {
        let _ = write!(sql, " AND kind <> {}", Kind::Intent.code());
    }
    params.push(size(limit));
    let _ = write!(sql, " ORDER BY {order} LIMIT ?{}", params.len());
    db.all(&sql, &params).map(as_they_are)
}

/// What is only shown is shown as it stands there; `verify` tells what no program wrote.
fn as_they_are<T>(found: Vec<Found<T>>) -> Vec<T> {
    found.into_iter().map(|found| found.it).collect()
}

fn size<'p>(limit: usize) -> Param<'p> {
    Param::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}
