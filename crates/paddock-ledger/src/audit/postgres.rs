//! The audit's tables in PostgreSQL.
//!
//! As in SQLite, but for what many machines need: a head is locked before it is changed, whoever closes silent chains passes over
//! those that are being written, and a batch of rows is one journey. Paths are bytes here, since a path as it was asked for
//! may hold a NUL, which PostgreSQL does not keep in a text.

use std::time::{Duration, Instant};

use paddock_core::CallId;
use paddock_db::pg_types::{FromSql, ToSql};
use paddock_db::{Migration, PgRow, PgTransaction, Postgres, Schema};

use super::chain::{Entry, Event, Head, Nonce};
use super::query::{Count, Cursor, Filter};
use super::row::{Body, Kind, Row, risk_code, risk_of_code};
use super::storage::{Found, Result, SignedHead, Storage, Tables};
use paddock_db::statements::Deed;
use paddock_db::statements::PgSession;

/// The tables of the audit, for the database that is given to `AuditLog::postgres`.
pub const POSTGRES_SCHEMA: Schema = Schema {
    owner: "audit",
    migrations: &[
        Migration {
            version: 1,
            sql: "CREATE TABLE audit_row(
                chain BIGINT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, kind BIGINT NOT NULL,
                call BYTEA NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL, workspace TEXT, path BYTEA NOT NULL,
                outcome TEXT NOT NULL, reason TEXT NOT NULL, risk BIGINT NOT NULL, bytes BIGINT NOT NULL,
                took_us BIGINT NOT NULL, prev BYTEA NOT NULL, hash BYTEA NOT NULL,
                PRIMARY KEY(chain, seq));
              CREATE INDEX audit_row_at ON audit_row(at, chain, seq);
              CREATE TABLE audit_head(
                chain BIGINT PRIMARY KEY, nonce BYTEA NOT NULL, key BYTEA NOT NULL, at BIGINT NOT NULL,
                count BIGINT NOT NULL, hash BYTEA NOT NULL, closed BIGINT NOT NULL, mac BYTEA NOT NULL);
              CREATE INDEX audit_head_open ON audit_head(at) WHERE closed = 0 AND chain <> 0;
              CREATE TABLE audit_register(
                seq BIGINT PRIMARY KEY, at BIGINT NOT NULL, event BIGINT NOT NULL, chain BIGINT NOT NULL,
                nonce BYTEA NOT NULL, count BIGINT NOT NULL, last BYTEA NOT NULL, prev BYTEA NOT NULL,
                hash BYTEA NOT NULL);
              CREATE INDEX audit_register_chain ON audit_register(chain);",
        },
        // Rows of before name no person, and are signed as they were.
        Migration { version: 2, sql: "ALTER TABLE audit_row ADD COLUMN person TEXT" },
    ],
};

const ROW: &str = "chain, seq, at, kind, call, agent, person, tool, workspace, path, outcome, reason, risk, bytes, took_us, prev, hash";
const HEAD: &str = "chain, nonce, key, at, count, hash, closed, mac";
const ENTRY: &str = "seq, at, event, chain, nonce, count, last, prev, hash";
const FILTER: &str = "at >= $1 AND at <= $2 AND (at, chain, seq) > ($3::bigint, $4::bigint, $5::bigint) \
    AND ($6::text IS NULL OR agent = $6) AND ($7::text IS NULL OR workspace = $7) \
    AND ($8::bytea IS NULL OR path = $8 OR (path >= $9::bytea AND path < $10::bytea)) \
    AND ($11::text IS NULL OR outcome = $11) AND ($12::text IS NULL OR tool = $12) \
    AND ($13::bytea IS NULL OR call = $13) \
    AND (at, chain, seq) < ($15::bigint, $16::bigint, $17::bigint) AND (NOT $18::boolean OR kind <> 1) \
    AND ($19::text IS NULL OR person = $19)";

/// How long a look may take: a check reads everything.
const LOOK: Duration = Duration::from_secs(24 * 3600);

impl Storage for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    fn read(&self, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Postgres::read(self, Instant::now() + LOOK, |tx| look(&mut In { tx, writes: false }))
    }

    fn read_durable(&self, until: Instant, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        // The server shows a commit to others once it is durable.
        Postgres::read(self, until, |tx| look(&mut In { tx, writes: false }))
    }

    fn write(&self, until: Instant, change: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Postgres::write(self, until, |tx| change(&mut In { tx, writes: true }))
    }
}

/// Inside a transaction of PostgreSQL.
struct In<'a, 't> {
    tx: &'a mut PgTransaction<'t>,
    writes: bool,
}

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl In<'_, '_> {
    fn all<T>(&mut self, sql: &str, values: Values<'_>, make: impl Fn(&mut Columns<'_>) -> T) -> Result<Vec<Found<T>>> {
        let rows = self.tx.query(sql, values)?;
        let found = rows.iter().map(|row| {
            let mut columns = Columns { row, at: 0, malformed: false };
            let it = make(&mut columns);
            Found { it, malformed: columns.malformed }
        });
        Ok(found.collect())
    }

    fn filtered(&mut self, filter: &Filter, after: Option<Cursor>, order: &str, limit: usize) -> Result<Vec<Row>> {
        let sql = format!("SELECT {ROW} FROM audit_row WHERE {FILTER} ORDER BY {order} LIMIT $14");
        let after = after.unwrap_or(Cursor { at: i64::MIN, chain: 0, seq: 0 });
        let end = filter.before.unwrap_or(Cursor::END);
        let bounds = filter.path_bounds();
        let bound = |text: &'_ str| text.as_bytes().to_vec();
        let path = bounds.as_ref().map(|(path, _, _)| bound(path));
        let below = bounds.as_ref().map(|(_, below, _)| bound(below));
        let beyond = bounds.as_ref().map(|(_, _, beyond)| bound(beyond));
        let call = filter.call.map(|call| call.0.to_be_bytes().to_vec());
        let values: Values<'_> = &[
            &filter.since.unwrap_or(i64::MIN),
            &filter.last_moment(),
            &after.at,
            &after.chain.cast_signed(),
            &after.seq.cast_signed(),
            &filter.agent,
            &filter.workspace,
            &path,
            &below,
            &beyond,
            &filter.outcome,
            &filter.tool,
            &call,
            &size(limit),
            &end.at,
            &end.chain.cast_signed(),
            &end.seq.cast_signed(),
            &filter.ended,
            &filter.by,
        ];
        Ok(self.all(&sql, values, row)?.into_iter().map(|found| found.it).collect())
    }

    fn one_head(&mut self, filter: &str, value: &(dyn ToSql + Sync)) -> Result<Option<Found<SignedHead>>> {
        let lock = if self.writes { "FOR UPDATE" } else { "" };
        let sql = format!("SELECT {HEAD} FROM audit_head WHERE {filter} LIMIT 1 {lock}");
        Ok(self.all(&sql, &[value], head)?.pop())
    }
}

impl Tables for In<'_, '_> {
    fn head(&mut self, chain: u64) -> Result<Option<Found<SignedHead>>> {
        self.one_head("chain = $1", &chain.cast_signed())
    }

    fn head_of_nonce(&mut self, nonce: &Nonce) -> Result<Option<Found<SignedHead>>> {
        self.one_head("nonce = $1", &nonce.as_slice())
    }

    fn heads(&mut self, after: u64, limit: usize) -> Result<Vec<Found<SignedHead>>> {
        let sql = format!("SELECT {HEAD} FROM audit_head WHERE chain > $1 ORDER BY chain LIMIT $2");
        self.all(&sql, &[&after.cast_signed(), &size(limit)], head)
    }

    fn silent_heads(&mut self, before: i64, limit: usize) -> Result<Vec<Found<SignedHead>>> {
        let sql = format!(
            "SELECT {HEAD} FROM audit_head WHERE closed = 0 AND chain <> 0 AND at < $1 ORDER BY at LIMIT $2 \
             FOR UPDATE SKIP LOCKED"
        );
        self.all(&sql, &[&before, &size(limit)], head)
    }

    fn lock_register(&mut self, first: &SignedHead) -> Result<()> {
        // `head` then waits for whoever writes the register.
        self.put(first, "ON CONFLICT (chain) DO NOTHING")
    }

    fn put_head(&mut self, signed: &SignedHead) -> Result<()> {
        self.put(
            signed,
            "ON CONFLICT (chain) DO UPDATE SET nonce = excluded.nonce, key = excluded.key, at = excluded.at, \
             count = excluded.count, hash = excluded.hash, closed = excluded.closed, mac = excluded.mac",
        )
    }

    fn grow_head(&mut self, known: &SignedHead, next: &SignedHead) -> Result<bool> {
        let (SignedHead { head: was, mac: old }, SignedHead { head, mac }) = (known, next);
        let grown = self.tx.execute(
            "UPDATE audit_head SET at = $1, count = $2, hash = $3, mac = $4 WHERE chain = $5 AND nonce = $6 \
             AND key = $7 AND at = $8 AND count = $9 AND hash = $10 AND closed = 0 AND mac = $11",
            &[
                &head.at,
                &head.count.cast_signed(),
                &head.hash.as_slice(),
                &mac.as_slice(),
                &was.chain.cast_signed(),
                &was.nonce.as_slice(),
                &was.key.as_slice(),
                &was.at,
                &was.count.cast_signed(),
                &was.hash.as_slice(),
                &old.as_slice(),
            ],
        )?;
        Ok(grown == 1)
    }

    fn remove_head(&mut self, chain: u64) -> Result<()> {
        self.tx.execute("DELETE FROM audit_head WHERE chain = $1", &[&chain.cast_signed()])?;
        Ok(())
    }

    fn remove_rows(&mut self, chain: u64, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM audit_row WHERE chain = $1 AND seq IN \
                   (SELECT seq FROM audit_row WHERE chain = $1 ORDER BY seq LIMIT $2)";
        Ok(self.tx.execute(sql, &[&chain.cast_signed(), &size(limit)])?)
    }

    fn run(&mut self, deed: &mut Deed) -> Result<()> {
        Ok(deed(&mut PgSession { tx: self.tx })?)
    }

    fn insert(&mut self, rows: &[Row]) -> Result<()> {
        fn column<'r, T>(rows: &'r [Row], value: impl Fn(&'r Row) -> T) -> Vec<T> {
            rows.iter().map(value).collect()
        }
        let sql = format!(
            "INSERT INTO audit_row({ROW}) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], \
             $5::bytea[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::text[], $12::text[], \
             $13::bigint[], $14::bigint[], $15::bigint[], $16::bytea[], $17::bytea[])"
        );
        let calls = column(rows, |row| row.call.0.to_be_bytes());
        self.tx.execute(
            &sql,
            &[
                &column(rows, |row| row.chain.cast_signed()),
                &column(rows, |row| row.seq.cast_signed()),
                &column(rows, |row| row.at),
                &column(rows, |row| i64::from(row.kind.code())),
                &calls.iter().map(|call| call.as_slice()).collect::<Vec<_>>(),
                &column(rows, |row| row.agent.as_str()),
                &column(rows, |row| row.by.as_deref()),
                &column(rows, |row| row.tool.as_str()),
                &column(rows, |row| row.workspace.as_deref()),
                &column(rows, |row| row.path.as_bytes()),
                &column(rows, |row| row.outcome.as_str()),
                &column(rows, |row| row.reason.as_str()),
                &column(rows, |row| i64::from(risk_code(row.risk))),
                &column(rows, |row| row.bytes.cast_signed()),
                &column(rows, |row| row.took_us.cast_signed()),
                &column(rows, |row| row.prev.as_slice()),
                &column(rows, |row| row.hash.as_slice()),
            ],
        )?;
        Ok(())
    }

    fn rows(&mut self, after: (u64, u64), limit: usize) -> Result<Vec<Found<Row>>> {
        let sql = format!(
            "SELECT {ROW} FROM audit_row WHERE (chain, seq) > ($1::bigint, $2::bigint) ORDER BY chain, seq LIMIT $3"
        );
        self.all(&sql, &[&after.0.cast_signed(), &after.1.cast_signed(), &size(limit)], row)
    }

    fn select(&mut self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Vec<Row>> {
        self.filtered(filter, after, "at, chain, seq", limit)
    }

    fn newest(&mut self, filter: &Filter, limit: usize) -> Result<Vec<Row>> {
        self.filtered(filter, None, "at DESC, chain DESC, seq DESC", limit)
    }

    fn counts(&mut self, since: i64, step: i64) -> Result<Vec<Count>> {
        let sql = "SELECT at / $2::bigint, outcome, count(*) FROM audit_row WHERE at >= $1 AND kind = 2 GROUP BY 1, 2 ORDER BY 1, 2";
        let count = |columns: &mut Columns<'_>| {
            let from = columns.number().saturating_mul(step);
            Count { from, outcome: columns.text(), count: columns.count() }
        };
        Ok(self.all(sql, &[&since, &step], count)?.into_iter().map(|found| found.it).collect())
    }

    fn strays(&mut self) -> Result<u64> {
        let sql = "SELECT (SELECT count(*) FROM audit_row WHERE chain <= 0) \
            + (SELECT count(*) FROM audit_head WHERE chain < 0) + (SELECT count(*) FROM audit_register WHERE seq <= 0)";
        Ok(self.all(sql, &[], |columns| columns.count())?.pop().map_or(0, |found| found.it))
    }

    fn enter(&mut self, entry: &Entry) -> Result<()> {
        let sql = format!("INSERT INTO audit_register({ENTRY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
        self.tx.execute(
            &sql,
            &[
                &entry.seq.cast_signed(),
                &entry.at,
                &i64::from(entry.event.code()),
                &entry.chain.cast_signed(),
                &entry.nonce.as_slice(),
                &entry.count.cast_signed(),
                &entry.last.as_slice(),
                &entry.prev.as_slice(),
                &entry.hash.as_slice(),
            ],
        )?;
        Ok(())
    }

    fn entries(&mut self, after: u64, limit: usize) -> Result<Vec<Found<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit_register WHERE seq > $1 ORDER BY seq LIMIT $2");
        self.all(&sql, &[&after.cast_signed(), &size(limit)], entry)
    }

    fn entries_about(&mut self, chain: u64, limit: usize) -> Result<Vec<Found<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit_register WHERE chain = $1 ORDER BY seq LIMIT $2");
        self.all(&sql, &[&chain.cast_signed(), &size(limit)], entry)
    }
}

impl In<'_, '_> {
    fn put(&mut self, signed: &SignedHead, on_conflict: &str) -> Result<()> {
        let SignedHead { head, mac } = signed;
        let sql = format!("INSERT INTO audit_head({HEAD}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) {on_conflict}");
        self.tx.execute(
            &sql,
            &[
                &head.chain.cast_signed(),
                &head.nonce.as_slice(),
                &head.key.as_slice(),
                &head.at,
                &head.count.cast_signed(),
                &head.hash.as_slice(),
                &i64::from(head.closed),
                &mac.as_slice(),
            ],
        )?;
        Ok(())
    }
}

fn row(columns: &mut Columns<'_>) -> Row {
    let (chain, seq) = (columns.count(), columns.count());
    let body = Body {
        at: columns.number(),
        kind: columns.coded(Kind::of_code, |kind| kind.code().into()),
        call: CallId(u128::from_be_bytes(columns.blob())),
        agent: columns.text(),
        by: columns.next(),
        tool: columns.text(),
        workspace: columns.next(),
        path: columns.path(),
        outcome: columns.text(),
        reason: columns.text(),
        risk: columns.coded(risk_of_code, |risk| risk_code(*risk).into()),
        bytes: columns.count(),
        took_us: columns.count(),
    };
    Row::new(chain, seq, body, columns.blob(), columns.blob())
}

fn head(columns: &mut Columns<'_>) -> SignedHead {
    let head = Head {
        chain: columns.count(),
        nonce: columns.blob(),
        key: columns.blob(),
        at: columns.number(),
        count: columns.count(),
        hash: columns.blob(),
        closed: columns.coded(|code| code == 1, |closed| (*closed).into()),
    };
    SignedHead { head, mac: columns.blob() }
}

fn entry(columns: &mut Columns<'_>) -> Entry {
    Entry {
        seq: columns.count(),
        at: columns.number(),
        event: columns.coded(|code| Event::of_code(code).unwrap_or(Event::Accepted), |event| event.code().into()),
        chain: columns.count(),
        nonce: columns.blob(),
        count: columns.count(),
        last: columns.blob(),
        prev: columns.blob(),
        hash: columns.blob(),
    }
}

fn size(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The columns of a row of the database, one after the other.
struct Columns<'r> {
    row: &'r PgRow,
    at: usize,
    malformed: bool,
}

impl<'r> Columns<'r> {
    /// What is there instead of what was to be expected is taken as nothing, and marked.
    fn next<T: FromSql<'r> + Default>(&mut self) -> T {
        self.at += 1;
        let value = self.row.try_get(self.at - 1);
        self.malformed |= value.is_err();
        value.unwrap_or_default()
    }

    fn number(&mut self) -> i64 {
        self.next()
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
        let value = self.next::<&[u8]>().try_into();
        self.malformed |= value.is_err();
        value.unwrap_or([0; N])
    }

    fn text(&mut self) -> String {
        self.next()
    }

    fn path(&mut self) -> String {
        let text = String::from_utf8(self.next());
        self.malformed |= text.is_err();
        text.unwrap_or_default()
    }
}
