//! The audit's tables in SQLite.
//!
//! Keeps and finds; it must never judge what it finds. Values that no program wrote are marked, whatever their type: who
//! changes the file may change the tables too.

use std::time::Instant;

use paddock_core::CallId;
use paddock_db::{Migration, Schema, Sqlite};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, named_params, params};

use super::chain::{Entry, Event, Head, Nonce, REGISTER};
use super::query::{Count, Cursor, Filter};
use super::row::{Body, Kind, Row, risk_code, risk_of_code};
use super::storage::{Found, Result, SignedHead, Storage, Tables};
use paddock_db::statements::{Deed, SqliteSession};

/// The tables of the audit, for the database that is given to `AuditLog::sqlite`.
pub const SQLITE_SCHEMA: Schema = Schema {
    owner: "audit",
    migrations: &[
        Migration {
            version: 1,
            sql: "CREATE TABLE audit_row(
                chain INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, kind INTEGER NOT NULL,
                call BLOB NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL, workspace TEXT, path TEXT NOT NULL,
                outcome TEXT NOT NULL, reason TEXT NOT NULL, risk INTEGER NOT NULL, bytes INTEGER NOT NULL,
                took_us INTEGER NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL,
                PRIMARY KEY(chain, seq)) WITHOUT ROWID, STRICT;
              CREATE INDEX audit_row_at ON audit_row(at);
              CREATE TABLE audit_head(
                chain INTEGER PRIMARY KEY, nonce BLOB NOT NULL, key BLOB NOT NULL, at INTEGER NOT NULL,
                count INTEGER NOT NULL, hash BLOB NOT NULL, closed INTEGER NOT NULL, mac BLOB NOT NULL) STRICT;
              CREATE INDEX audit_head_open ON audit_head(at) WHERE closed = 0 AND chain <> 0;
              CREATE TABLE audit_register(
                seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, event INTEGER NOT NULL, chain INTEGER NOT NULL,
                nonce BLOB NOT NULL, count INTEGER NOT NULL, last BLOB NOT NULL, prev BLOB NOT NULL,
                hash BLOB NOT NULL) STRICT;
              CREATE INDEX audit_register_chain ON audit_register(chain);",
        },
        // A head grows with every row, and its index need not.
        Migration {
            version: 2,
            sql: "DROP INDEX audit_head_open;
                  CREATE INDEX audit_head_open ON audit_head(chain) WHERE closed = 0 AND chain <> 0;",
        },
        // Rows of before name no person, and are signed as they were.
        Migration { version: 3, sql: "ALTER TABLE audit_row ADD COLUMN person TEXT;" },
    ],
};

const ROW: &str = "chain, seq, at, kind, call, agent, person, tool, workspace, path, outcome, reason, risk, bytes, took_us, prev, hash";
const HEAD: &str = "chain, nonce, key, at, count, hash, closed, mac";
const ENTRY: &str = "seq, at, event, chain, nonce, count, last, prev, hash";
const INSERT: &str = "INSERT INTO audit_row(chain, seq, at, kind, call, agent, person, tool, workspace, path, outcome, reason, risk, \
    bytes, took_us, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
/// Touches no index.
const GROW: &str = "UPDATE audit_head SET at = ?1, count = ?2, hash = ?3, mac = ?4 WHERE chain = ?5 AND nonce = ?6 \
    AND key = ?7 AND at = ?8 AND count = ?9 AND hash = ?10 AND closed = 0 AND mac = ?11";
const FILTER: &str = "at >= :since AND at <= :until AND (at, chain, seq) > (:at, :chain, :seq) \
    AND (at, chain, seq) < (:end_at, :end_chain, :end_seq) AND (:ended = 0 OR kind <> 1) \
    AND (:agent IS NULL OR agent = :agent) AND (:by IS NULL OR person = :by) AND (:workspace IS NULL OR workspace = :workspace) \
    AND (:path IS NULL OR path = :path OR (path >= :below AND path < :beyond)) \
    AND (:outcome IS NULL OR outcome = :outcome) AND (:tool IS NULL OR tool = :tool) \
    AND (:call IS NULL OR call = :call)";

impl Storage for Sqlite {
    fn is_shared(&self) -> bool {
        false
    }

    fn read(&self, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Sqlite::read(self, |conn| look(&mut In { conn, db: self }))
    }

    fn read_durable(&self, until: Instant, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        // Others may see a commit before it is durable; whoever has had the turn to write only those that are.
        Storage::write(self, until, look)
    }

    fn write(&self, until: Instant, change: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Sqlite::write(self, until, |tx| change(&mut In { conn: tx, db: self }))
    }
}

/// Inside a transaction of SQLite.
struct In<'a> {
    conn: &'a Connection,
    db: &'a Sqlite,
}

impl In<'_> {
    fn all<T>(&self, sql: &str, params: impl Params, make: impl Fn(&mut Values<'_>) -> T) -> Result<Vec<Found<T>>> {
        let found = || -> rusqlite::Result<Vec<Found<T>>> {
            let mut statement = self.conn.prepare_cached(sql)?;
            let rows = statement.query_map(params, |row| {
                let mut values = Values { row, at: 0, malformed: false };
                let it = make(&mut values);
                Ok(Found { it, malformed: values.malformed })
            })?;
            rows.collect()
        };
        found().map_err(|error| self.db.error(error).into())
    }

    fn put(&self, sql: &str, params: impl Params) -> Result<()> {
        let put = || self.conn.prepare_cached(sql)?.execute(params);
        put().map(drop).map_err(|error| self.db.error(error).into())
    }

    fn filtered(&self, filter: &Filter, after: Option<Cursor>, order: &str, limit: usize) -> Result<Vec<Row>> {
        let sql = format!("SELECT {ROW} FROM audit_row WHERE {FILTER} ORDER BY {order} LIMIT :limit");
        let after = after.unwrap_or(Cursor { at: i64::MIN, chain: 0, seq: 0 });
        let end = filter.before.unwrap_or(Cursor::END);
        let (path, below, beyond) =
            filter.path_bounds().map_or((None, None, None), |(p, b, e)| (Some(p), Some(b), Some(e)));
        let params = named_params! {
            ":since": filter.since.unwrap_or(i64::MIN), ":until": filter.last_moment(),
            ":end_at": end.at, ":end_chain": end.chain.cast_signed(), ":end_seq": end.seq.cast_signed(),
            ":ended": filter.ended,
            ":at": after.at, ":chain": after.chain.cast_signed(), ":seq": after.seq.cast_signed(),
            ":agent": filter.agent, ":by": filter.by, ":workspace": filter.workspace, ":path": path, ":below": below, ":beyond": beyond,
            ":outcome": filter.outcome, ":tool": filter.tool, ":call": filter.call.map(|call| call.0.to_be_bytes()),
            ":limit": size(limit),
        };
        Ok(self.all(&sql, params, row)?.into_iter().map(|found| found.it).collect())
    }
}

impl Tables for In<'_> {
    fn head(&mut self, chain: u64) -> Result<Option<Found<SignedHead>>> {
        let sql = format!("SELECT {HEAD} FROM audit_head WHERE chain = ?1");
        Ok(self.all(&sql, (chain.cast_signed(),), head)?.pop())
    }

    fn head_of_nonce(&mut self, nonce: &Nonce) -> Result<Option<Found<SignedHead>>> {
        let sql = format!("SELECT {HEAD} FROM audit_head WHERE nonce = ?1 LIMIT 1");
        Ok(self.all(&sql, (nonce,), head)?.pop())
    }

    fn heads(&mut self, after: u64, limit: usize) -> Result<Vec<Found<SignedHead>>> {
        let sql = format!("SELECT {HEAD} FROM audit_head WHERE chain > ?1 ORDER BY chain LIMIT ?2");
        self.all(&sql, (after.cast_signed(), size(limit)), head)
    }

    fn silent_heads(&mut self, before: i64, limit: usize) -> Result<Vec<Found<SignedHead>>> {
        let sql =
            format!("SELECT {HEAD} FROM audit_head WHERE closed = 0 AND chain <> 0 AND at < ?1 ORDER BY at LIMIT ?2");
        self.all(&sql, (before, size(limit)), head)
    }

    fn lock_register(&mut self, first: &SignedHead) -> Result<()> {
        // The one who writes is alone.
        if self.head(REGISTER)?.is_none() { self.put_head(first) } else { Ok(()) }
    }

    fn put_head(&mut self, signed: &SignedHead) -> Result<()> {
        let SignedHead { head, mac } = signed;
        self.put(
            "INSERT OR REPLACE INTO audit_head(chain, nonce, key, at, count, hash, closed, mac) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                head.chain.cast_signed(),
                head.nonce,
                head.key,
                head.at,
                head.count.cast_signed(),
                head.hash,
                head.closed,
                mac
            ],
        )
    }

    fn grow_head(&mut self, known: &SignedHead, next: &SignedHead) -> Result<bool> {
        let (SignedHead { head: was, mac: old }, SignedHead { head, mac }) = (known, next);
        let grow = || {
            self.conn.prepare_cached(GROW)?.execute(params![
                head.at,
                head.count.cast_signed(),
                head.hash,
                mac,
                was.chain.cast_signed(),
                was.nonce,
                was.key,
                was.at,
                was.count.cast_signed(),
                was.hash,
                old
            ])
        };
        grow().map(|grown| grown == 1).map_err(|error| self.db.error(error).into())
    }

    fn remove_head(&mut self, chain: u64) -> Result<()> {
        self.put("DELETE FROM audit_head WHERE chain = ?1", (chain.cast_signed(),))
    }

    fn remove_rows(&mut self, chain: u64, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM audit_row WHERE chain = ?1 AND seq IN \
                   (SELECT seq FROM audit_row WHERE chain = ?1 ORDER BY seq LIMIT ?2)";
        let removed = || self.conn.prepare_cached(sql)?.execute((chain.cast_signed(), size(limit)));
        removed().map(|removed| removed as u64).map_err(|error| self.db.error(error).into())
    }

    fn run(&mut self, deed: &mut Deed) -> Result<()> {
        Ok(deed(&mut SqliteSession { database: self.db, conn: self.conn })?)
    }

    fn insert(&mut self, rows: &[Row]) -> Result<()> {
        let insert = || -> rusqlite::Result<()> {
            let mut statement = self.conn.prepare_cached(INSERT)?;
            for row in rows {
                statement.execute(params![
                    row.chain.cast_signed(),
                    row.seq.cast_signed(),
                    row.at,
                    row.kind.code(),
                    row.call.0.to_be_bytes(),
                    row.agent,
                    row.by,
                    row.tool,
                    row.workspace,
                    row.path,
                    row.outcome,
                    row.reason,
                    risk_code(row.risk),
                    row.bytes.cast_signed(),
                    row.took_us.cast_signed(),
                    row.prev,
                    row.hash
                ])?;
            }
            Ok(())
        };
        insert().map_err(|error| self.db.error(error).into())
    }

    fn rows(&mut self, after: (u64, u64), limit: usize) -> Result<Vec<Found<Row>>> {
        let sql = format!("SELECT {ROW} FROM audit_row WHERE (chain, seq) > (?1, ?2) ORDER BY chain, seq LIMIT ?3");
        self.all(&sql, (after.0.cast_signed(), after.1.cast_signed(), size(limit)), row)
    }

    fn select(&mut self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Vec<Row>> {
        self.filtered(filter, after, "at, chain, seq", limit)
    }

    fn newest(&mut self, filter: &Filter, limit: usize) -> Result<Vec<Row>> {
        self.filtered(filter, None, "at DESC, chain DESC, seq DESC", limit)
    }

    fn counts(&mut self, since: i64, step: i64) -> Result<Vec<Count>> {
        let sql =
            "SELECT at / ?2, outcome, count(*) FROM audit_row WHERE at >= ?1 AND kind = 2 GROUP BY 1, 2 ORDER BY 1, 2";
        let count = |values: &mut Values<'_>| {
            let from = values.number().saturating_mul(step);
            Count { from, outcome: values.text(), count: values.count() }
        };
        Ok(self.all(sql, (since, step), count)?.into_iter().map(|found| found.it).collect())
    }

    fn strays(&mut self) -> Result<u64> {
        let sql = "SELECT (SELECT count(*) FROM audit_row WHERE chain <= 0) \
            + (SELECT count(*) FROM audit_head WHERE chain < 0) + (SELECT count(*) FROM audit_register WHERE seq <= 0)";
        Ok(self.all(sql, (), |values| values.count())?.pop().map_or(0, |found| found.it))
    }

    fn enter(&mut self, entry: &Entry) -> Result<()> {
        self.put(
            &format!("INSERT INTO audit_register({ENTRY}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
            params![
                entry.seq.cast_signed(),
                entry.at,
                entry.event.code(),
                entry.chain.cast_signed(),
                entry.nonce,
                entry.count.cast_signed(),
                entry.last,
                entry.prev,
                entry.hash
            ],
        )
    }

    fn entries(&mut self, after: u64, limit: usize) -> Result<Vec<Found<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit_register WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        self.all(&sql, (after.cast_signed(), size(limit)), entry)
    }

    fn entries_about(&mut self, chain: u64, limit: usize) -> Result<Vec<Found<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit_register WHERE chain = ?1 ORDER BY seq LIMIT ?2");
        self.all(&sql, (chain.cast_signed(), size(limit)), entry)
    }
}

fn row(values: &mut Values<'_>) -> Row {
    let (chain, seq) = (values.count(), values.count());
    let body = Body {
        at: values.number(),
        kind: values.coded(Kind::of_code, |kind| kind.code().into()),
        call: CallId(u128::from_be_bytes(values.blob())),
        agent: values.text(),
        by: values.optional_text(),
        tool: values.text(),
        workspace: values.optional_text(),
        path: values.text(),
        outcome: values.text(),
        reason: values.text(),
        risk: values.coded(risk_of_code, |risk| risk_code(*risk).into()),
        bytes: values.count(),
        took_us: values.count(),
    };
    Row::new(chain, seq, body, values.blob(), values.blob())
}

fn head(values: &mut Values<'_>) -> SignedHead {
    let head = Head {
        chain: values.count(),
        nonce: values.blob(),
        key: values.blob(),
        at: values.number(),
        count: values.count(),
        hash: values.blob(),
        closed: values.coded(|code| code == 1, |closed| (*closed).into()),
    };
    SignedHead { head, mac: values.blob() }
}

fn entry(values: &mut Values<'_>) -> Entry {
    Entry {
        seq: values.count(),
        at: values.number(),
        event: values.coded(|code| Event::of_code(code).unwrap_or(Event::Accepted), |event| event.code().into()),
        chain: values.count(),
        nonce: values.blob(),
        count: values.count(),
        last: values.blob(),
        prev: values.blob(),
        hash: values.blob(),
    }
}

fn size(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The values of a row of the database, one after the other.
struct Values<'r> {
    row: &'r rusqlite::Row<'r>,
    at: usize,
    malformed: bool,
}

impl<'r> Values<'r> {
    fn next(&mut self) -> ValueRef<'r> {
        self.at += 1;
        self.row.get_ref(self.at - 1).unwrap_or(ValueRef::Null)
    }

    /// What is there instead of what was to be expected is taken as `T`'s nothing, and marked.
    fn or_malformed<T: Default>(&mut self, value: Option<T>) -> T {
        self.malformed |= value.is_none();
        value.unwrap_or_default()
    }

    fn number(&mut self) -> i64 {
        let value = self.next().as_i64().ok();
        self.or_malformed(value)
    }

    fn count(&mut self) -> u64 {
        self.number().cast_unsigned()
    }

    /// A code that does not stand for itself is none that a program wrote.
    fn coded<T>(&mut self, of_code: impl Fn(i64) -> T, code_of: impl Fn(&T) -> i64) -> T {
        let code = self.number();
        let value = of_code(code);
        self.malformed |= code_of(&value) != code;
        value
    }

    fn blob<const N: usize>(&mut self) -> [u8; N] {
        let value = self.next().as_blob().ok().and_then(|bytes| bytes.try_into().ok());
        self.malformed |= value.is_none();
        value.unwrap_or([0; N])
    }

    fn text(&mut self) -> String {
        let value = self.next().as_str().ok().map(str::to_owned);
        self.or_malformed(value)
    }

    fn optional_text(&mut self) -> Option<String> {
        match self.next() {
            ValueRef::Null => None,
            value => {
                let text = value.as_str().ok().map(str::to_owned);
                Some(self.or_malformed(text))
            }
        }
    }
}
