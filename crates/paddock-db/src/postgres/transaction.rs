//! One transaction on one connection, as those who write statements see it.
//!
//! Owns what happens between `BEGIN` and the end, and remembers the first trouble: whoever swallowed an error would
//! otherwise be told that a transaction was kept which the server undid. It must never leave anything in the session:
//! settings are made with `SET LOCAL`, and statements have no name where the session is not ours.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::Stream;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, RowStream};

use super::connection::{Connection, Connector, Way};
use super::trouble::Trouble;
use super::{wait, watch};
use crate::{DbError, Result};

/// The server ends a statement at its deadline; only one that does not answer is given up from this side.
const GRACE: Duration = Duration::from_millis(500);

/// Parameters of a statement.
pub(super) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

type Begun = Pin<Box<dyn Future<Output = std::result::Result<(), Error>> + Send>>;

/// A transaction that is open. Types of columns and parameters must be PostgreSQL's own.
pub struct PgTransaction<'a> {
    connection: &'a mut Connection,
    connector: &'a Connector,
    deadline: Instant,
    /// `BEGIN` was sent and not yet answered.
    begun: Option<Begun>,
    trouble: Option<Trouble>,
    topics: BTreeSet<String>,
}

impl std::fmt::Debug for PgTransaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgTransaction").field("name", &self.connector.name()).finish_non_exhaustive()
    }
}

impl<'a> PgTransaction<'a> {
    /// Sends the statements that open it; their answer is waited for together with that of the first question.
    pub(super) fn open(
        connection: &'a mut Connection,
        connector: &'a Connector,
        until: Instant,
        opening: String,
    ) -> Self {
        let client = connection.client.clone();
        let mut begun: Begun = Box::pin(async move { client.batch_execute(&opening).await });
        let (begun, trouble) = match wait::begin(begun.as_mut()) {
            None => (Some(begun), None),
            Some(Ok(())) => (None, None),
            Some(Err(error)) => (None, Some(Trouble::of(connector.name(), &error))),
        };
        Self { connection, connector, deadline: until + GRACE, begun, trouble, topics: BTreeSet::new() }
    }

    /// All rows that `sql` answers.
    pub fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        let client = self.connection.client.clone();
        match self.way(sql)? {
            Way::Named(statement) => self.ask(client.query(&statement, params)),
            Way::Typed(types) => {
                let typed = self.typed(params, &types)?;
                self.ask(client.query_typed(sql, &typed))
            }
        }
    }

    /// The row that `sql` answers; an error when it is not exactly one.
    pub fn query_one(&mut self, sql: &str, params: Params<'_>) -> Result<Row> {
        self.query_opt(sql, params)?.ok_or_else(|| self.refused("a question for one row found none"))
    }

    /// The row that `sql` answers, if any; an error when there are more.
    pub fn query_opt(&mut self, sql: &str, params: Params<'_>) -> Result<Option<Row>> {
        let mut rows = self.query(sql, params)?;
        match rows.len() {
            0 | 1 => Ok(rows.pop()),
            more => Err(self.refused(&format!("a question for one row found {more}"))),
        }
    }

    /// How many rows `sql` changed.
    pub fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64> {
        let client = self.connection.client.clone();
        match self.way(sql)? {
            Way::Named(statement) => self.ask(client.execute(&statement, params)),
            Way::Typed(types) => {
                let typed = self.typed(params, &types)?;
                self.ask(client.execute_typed(sql, &typed))
            }
        }
    }

    /// Hands over the rows one by one, in memory that does not grow with their number. Nothing else can be asked
    /// meanwhile, and what is left when `each` fails is still sent by the server: limit what you ask for.
    pub fn for_each<E: From<DbError>>(
        &mut self,
        sql: &str,
        params: Params<'_>,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = pin!(self.stream(sql, params)?);
        while let Some(row) = self.ask(next(rows.as_mut()))? {
            each(row)?;
        }
        Ok(())
    }

    /// Runs statements that answer nothing and have no parameters, several at once if need be.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        let client = self.connection.client.clone();
        self.ask(client.batch_execute(sql))
    }

    /// Wakes those who watch `topic`, when and if this transaction is kept.
    pub fn notify(&mut self, topic: &str) {
        self.topics.insert(topic.to_owned());
    }

    fn stream(&mut self, sql: &str, params: Params<'_>) -> Result<RowStream> {
        let client = self.connection.client.clone();
        match self.way(sql)? {
            Way::Named(statement) => self.ask(client.query_raw(&statement, params.iter().copied())),
            Way::Typed(types) => {
                let typed = self.typed(params, &types)?;
                self.ask(client.query_typed_raw(sql, typed))
            }
        }
    }

    fn way(&mut self, sql: &str) -> Result<Way> {
        if let Some(way) = self.connection.way(sql) {
            return Ok(way);
        }
        let client = self.connection.client.clone();
        let statement = self.ask(client.prepare(sql))?;
        Ok(self.connection.learn(sql, statement))
    }

    fn typed<'p>(&self, params: Params<'p>, types: &Arc<[Type]>) -> Result<Vec<(&'p (dyn ToSql + Sync), Type)>> {
        if params.len() != types.len() {
            return Err(self.refused(&format!("a statement has {} parameters, {} given", types.len(), params.len())));
        }
        Ok(params.iter().copied().zip(types.iter().cloned()).collect())
    }

    /// Sends a request and waits for its answer.
    fn ask<T>(&mut self, request: impl Future<Output = std::result::Result<T, Error>>) -> Result<T> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.error.clone());
        }
        let mut request = pin!(request);
        // It travels right behind `BEGIN`, so that both cost one journey.
        let early = wait::begin(request.as_mut());
        self.settle()?;
        let answer = early.or_else(|| wait::until(self.deadline, request));
        self.judge(answer)
    }

    /// Waits for the answer to `BEGIN`.
    pub(super) fn settle(&mut self) -> Result<()> {
        match self.begun.take() {
            Some(begun) => {
                let answer = wait::until(self.deadline, begun);
                self.judge(answer)
            }
            None => self.trouble.as_ref().map_or(Ok(()), |trouble| Err(trouble.error.clone())),
        }
    }

    fn judge<T>(&mut self, answer: Option<std::result::Result<T, Error>>) -> Result<T> {
        let trouble = match answer {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => {
                self.connector.note(&error);
                Trouble::of(self.connector.name(), &error)
            }
            None => Trouble::late(self.connector.name()),
        };
        let error = trouble.error.clone();
        self.trouble.get_or_insert(trouble);
        Err(error)
    }

    fn refused(&self, why: &str) -> DbError {
        Trouble::refused(self.connector.name(), why).error
    }

    /// The first trouble, if there was any.
    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Counts the topics up, as the last thing before the end; which were counted.
    pub(super) fn count_topics(&mut self) -> Result<Vec<String>> {
        let topics: Vec<String> = std::mem::take(&mut self.topics).into_iter().collect();
        if !topics.is_empty() {
            self.execute(watch::COUNT, &[&topics])?;
        }
        Ok(topics)
    }

    /// Sends the end without waiting for the answer: what comes next on this connection waits behind it.
    pub(super) fn end(self, how: &'static str) {
        send(&self.connection.client, how);
    }

    /// Sends `COMMIT` and waits for the answer; none when there was none.
    pub(super) fn commit(self, deadline: Instant) -> Option<std::result::Result<(), Error>> {
        wait::until(deadline, self.connection.client.batch_execute("COMMIT"))
    }
}

/// Sends statements whose answer nobody needs.
pub(super) fn send(client: &Arc<Client>, sql: &str) {
    // Whatever comes of it, there is nobody to tell; a connection that broke is noticed by the next who uses it.
    let _ = wait::begin(pin!(client.batch_execute(sql)));
}

async fn next(mut rows: Pin<&mut RowStream>) -> std::result::Result<Option<Row>, Error> {
    poll_fn(|context| rows.as_mut().poll_next(context)).await.transpose()
}
