//! Whether a transaction was kept whose `COMMIT` was never answered.
//!
//! Every write transaction first leaves its mark in the row of its connection, so that the mark is kept exactly when
//! the rest is. Asking for the mark on a new connection waits for the old transaction, should it still run, and then
//! tells. The server's own answer, `pg_xact_status`, would not do: a number that was given before a crash and not yet
//! written is given again after it, and the answer would be about a stranger's transaction.

use std::time::Instant;

use tokio_postgres::SimpleQueryMessage;

use super::connection::Connection;
use super::trouble::Trouble;
use super::{milliseconds_until, wait};

/// One row per connection that ever wrote, of the last day. Changed in place, so that it does not grow.
pub(super) const TABLE: &str = "\
CREATE TABLE paddock_writer (
    slot bigint PRIMARY KEY,
    mark bigint NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50)";

/// No transaction ever has this mark.
const NO_MARK: i64 = -1;

/// Leaves the mark; the first time also clears away what connections long gone have left.
pub(super) fn mark(slot: i64, mark: i64) -> String {
    let clear = "; DELETE FROM paddock_writer WHERE slot IN (SELECT slot FROM paddock_writer \
                 WHERE at < now() - interval '1 day' LIMIT 100 FOR UPDATE SKIP LOCKED)";
    format!("{}{}", upsert(slot, mark, "mark = excluded.mark, at = excluded.at"), if mark == 1 { clear } else { "" })
}

fn upsert(slot: i64, mark: i64, change: &str) -> String {
    format!(
        "INSERT INTO paddock_writer (slot, mark, at) VALUES ({slot}, {mark}, now()) \
         ON CONFLICT (slot) DO UPDATE SET {change}"
    )
}

/// Whether the mark is there. Making the row, or changing it, waits for a transaction that still runs.
pub(super) fn was_kept(
    on: &Connection,
    name: &str,
    schema: &str,
    (slot, mark): (i64, i64),
    deadline: Instant,
) -> std::result::Result<bool, Trouble> {
    let sql = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; SET LOCAL search_path = {schema}; \
         SET LOCAL statement_timeout = {}; {} RETURNING mark; COMMIT",
        milliseconds_until(deadline),
        upsert(slot, NO_MARK, "at = excluded.at"),
    );
    let answer = wait::until(deadline, on.client.simple_query(&sql)).ok_or_else(|| Trouble::late(name))?;
    let messages = answer.map_err(|error| Trouble::of(name, &error))?;
    let found = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse::<i64>().ok(),
        _ => None,
    });
    found.map(|found| found == mark).ok_or_else(|| Trouble::refused(name, "the mark of a transaction was not answered"))
}
