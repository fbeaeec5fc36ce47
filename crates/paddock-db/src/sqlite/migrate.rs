//! Brings the tables of each owner to the step this program knows.
//!
//! Steps run inside the turn to write and look again once they have it, so two programs that start at once do each step
//! once. A database that a newer program wrote is refused before anything is touched: no table, no row, no setting.

use rusqlite::Connection;

use crate::{DbError, Result, Schema};

/// Whether some step is still to be done. An error when a newer program was here.
pub(super) fn pending(name: &str, conn: &Connection, schemas: &[Schema]) -> Result<bool> {
    let mut pending = false;
    for schema in schemas {
        let found = version(conn, schema.owner).map_err(|error| DbError::of_sqlite(name, error))?;
        let known = known(schema);
        if found > known {
            return Err(DbError::Newer { name: name.to_owned(), owner: schema.owner.to_owned(), found, known });
        }
        pending |= found < known;
    }
    Ok(pending)
}

/// Does the steps that are still to be done; all of them or none.
pub(super) fn run(name: &str, tx: &Connection, schemas: &[Schema]) -> Result<()> {
    if !pending(name, tx, schemas)? {
        return Ok(());
    }
    let of_sqlite = |error| DbError::of_sqlite(name, error);
    tx.execute_batch(
        "CREATE TABLE IF NOT EXISTS paddock_schema(owner TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID, STRICT",
    )
    .map_err(of_sqlite)?;
    for schema in schemas {
        steps(tx, schema).map_err(of_sqlite)?;
    }
    Ok(())
}

fn steps(tx: &Connection, schema: &Schema) -> rusqlite::Result<()> {
    let found = version(tx, schema.owner)?;
    for step in schema.migrations.iter().filter(|step| step.version > found) {
        tx.execute_batch(step.sql)?;
        tx.execute(
            "INSERT INTO paddock_schema(owner, version) VALUES (?1, ?2) \
             ON CONFLICT(owner) DO UPDATE SET version = excluded.version",
            (schema.owner, step.version),
        )?;
    }
    Ok(())
}

/// The last step done for `owner`; 0 when there is none.
fn version(conn: &Connection, owner: &str) -> rusqlite::Result<u32> {
    let kept: bool = conn
        .prepare_cached("SELECT EXISTS(SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'paddock_schema')")?
        .query_row((), |row| row.get(0))?;
    if !kept {
        return Ok(0);
    }
    let mut statement = conn.prepare_cached("SELECT coalesce(max(version), 0) FROM paddock_schema WHERE owner = ?1")?;
    statement.query_row((owner,), |row| row.get(0))
}

fn known(schema: &Schema) -> u32 {
    schema.migrations.iter().map(|step| step.version).max().unwrap_or(0)
}
