//! Bringing the tables to what this program knows.
//!
//! Several processes may start at once: the first takes a lock that ends with its transaction and the others find
//! the work done. What is already there costs one question. A newer database is refused and left alone.

use std::collections::HashMap;
use std::time::Instant;

use tokio_postgres::{SimpleQueryMessage, error::SqlState};

use super::connection::{Connection, Connector};
use super::trouble::{Fault, Trouble};
use super::{wait, watch, writer};
use crate::{DbError, Migration, Schema};

type Outcome<T> = std::result::Result<T, Trouble>;
/// The step each owner is at.
type Steps = HashMap<String, u32>;

/// The tables this crate keeps for itself.
const OWN: Schema = Schema {
    owner: "paddock-db",
    migrations: &[Migration { version: 1, sql: writer::TABLE }, Migration { version: 2, sql: watch::TABLE }],
};

/// Takes the steps that are missing.
pub(super) fn run(on: &mut Connection, connector: &Connector, schemas: &[Schema], deadline: Instant) -> Outcome<()> {
    let work = Work { on, connector, deadline };
    let all: Vec<Schema> = std::iter::once(OWN).chain(schemas.iter().copied()).collect();
    if let Some(steps) = work.steps_if_any()?
        && work.missing(&all, &steps)?.is_empty()
    {
        return Ok(());
    }
    work.take_steps(&all)
}

/// Whether this program knows the tables, as far as there are any; an error when they are newer.
pub(super) fn known(on: &mut Connection, connector: &Connector, schemas: &[Schema], deadline: Instant) -> Outcome<()> {
    let work = Work { on, connector, deadline };
    let steps = work.steps_if_any()?.unwrap_or_default();
    work.missing(schemas, &steps).map(drop)
}

/// The step each owner is at, for people.
pub(super) fn found(on: &mut Connection, connector: &Connector, deadline: Instant) -> Outcome<Vec<(String, u32)>> {
    let steps = Work { on, connector, deadline }.steps_if_any()?.unwrap_or_default();
    let mut steps: Vec<_> = steps.into_iter().collect();
    steps.sort();
    Ok(steps)
}

struct Work<'a> {
    on: &'a mut Connection,
    connector: &'a Connector,
    deadline: Instant,
}

impl Work<'_> {
    fn schema(&self) -> &str {
        &self.connector.settings.schema
    }

    fn ask(&self, sql: &str) -> Outcome<Vec<SimpleQueryMessage>> {
        self.raw(sql)?.map_err(|error| Trouble::of(self.connector.name(), &error))
    }

    fn raw(&self, sql: &str) -> Outcome<std::result::Result<Vec<SimpleQueryMessage>, tokio_postgres::Error>> {
        let answer = wait::until(self.deadline, self.on.client.simple_query(sql));
        answer.ok_or_else(|| Trouble::late(self.connector.name()))
    }

    fn steps_sql(&self) -> String {
        format!("SELECT owner, version FROM {}.paddock_schema", self.schema())
    }

    /// None when nothing was ever made here.
    fn steps_if_any(&self) -> Outcome<Option<Steps>> {
        let absent = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        match self.raw(&self.steps_sql())? {
            Ok(rows) => Ok(Some(steps_of(&rows))),
            Err(error) if error.code().is_some_and(|code| absent.contains(code)) => Ok(None),
            Err(error) => Err(Trouble::of(self.connector.name(), &error)),
        }
    }

    fn missing<'s>(&self, schemas: &'s [Schema], steps: &Steps) -> Outcome<Vec<(&'s str, &'s Migration)>> {
        let mut missing = Vec::new();
        for schema in schemas {
            let known = schema.migrations.last().map_or(0, |last| last.version);
            let found = steps.get(schema.owner).copied().unwrap_or_default();
            if found > known {
                let (name, owner) = (self.connector.name().to_owned(), schema.owner.to_owned());
                return Err(Trouble { fault: Fault::Refused, error: DbError::Newer { name, owner, found, known } });
            }
            missing
                .extend(schema.migrations.iter().filter(|step| step.version > found).map(|step| (schema.owner, step)));
        }
        Ok(missing)
    }

    fn take_steps(&self, schemas: &[Schema]) -> Outcome<()> {
        let outcome = self.take_steps_in_transaction(schemas);
        if outcome.is_err() {
            super::transaction::send(&self.on.client, "ROLLBACK");
        }
        outcome
    }

    fn take_steps_in_transaction(&self, schemas: &[Schema]) -> Outcome<()> {
        let schema = self.schema();
        let left = super::milliseconds_until(self.deadline);
        self.ask(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; SET LOCAL statement_timeout = {left}; \
             SELECT pg_advisory_xact_lock({})",
            lock_of(schema)
        ))?;
        if !has_rows(&self.ask(&format!("SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'"))?) {
            self.ask(&format!("CREATE SCHEMA {schema}"))?;
        }
        self.ask(&format!("SET LOCAL search_path = {schema}"))?;
        if !has_rows(
            &self.ask(&format!(
                "SELECT 1 FROM pg_tables WHERE schemaname = '{schema}' AND tablename = 'paddock_schema'"
            ))?,
        ) {
            self.ask("CREATE TABLE paddock_schema (owner text PRIMARY KEY, version integer NOT NULL)")?;
        }
        let steps = steps_of(&self.ask(&self.steps_sql())?);
        for (owner, step) in self.missing(schemas, &steps)? {
            self.ask(step.sql)?;
            self.ask(&format!(
                "INSERT INTO paddock_schema VALUES ('{}', {}) ON CONFLICT (owner) DO UPDATE SET version = excluded.version",
                owner.replace('\'', "''"),
                step.version
            ))?;
        }
        self.ask("COMMIT").map(drop)
    }
}

fn steps_of(messages: &[SimpleQueryMessage]) -> Steps {
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.filter_map(|row| Some((row.get(0)?.to_owned(), row.get(1)?.parse().ok()?))).collect()
}

fn has_rows(messages: &[SimpleQueryMessage]) -> bool {
    messages.iter().any(|message| matches!(message, SimpleQueryMessage::Row(_)))
}

/// The lock that whoever changes the tables of this schema takes; any number will do that is always the same.
fn lock_of(schema: &str) -> i64 {
    let hash = schema
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    i64::from_ne_bytes(hash.to_ne_bytes())
}
