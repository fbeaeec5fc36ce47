//! PostgreSQL: for those who have outgrown one machine.
//!
//! Owns how a server is reached, waited for and asked again. A change is applied once or not at all: what the server
//! undid, or what a lost connection cut off, is done again from the start, and a `COMMIT` without an answer is
//! asked about before anything is repeated. Nothing is kept in a session, so that a pooler may be between.

mod connection;
mod migrate;
mod patience;
mod pool;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod transaction;
mod trouble;
mod url;
mod wait;
mod watch;
mod writer;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use transaction::PgTransaction;
pub use watch::Watch;

use connection::{Connection, Connector};
use patience::Patience;
use pool::{Holding, Lease, Pool};
use trouble::{Fault, Trouble};
use url::Settings;

use crate::{DbError, Result, Schema};

/// How long the answer to a `COMMIT` is waited for when the time is over: giving up then would leave it open.
const COMMIT_GRACE: Duration = Duration::from_secs(5);
/// How long it is tried to find out what came of a `COMMIT` without an answer.
const QUESTION_GRACE: Duration = Duration::from_secs(10);
/// How long a look at the server may take.
const CHECK: Duration = Duration::from_secs(10);

/// A database of a PostgreSQL server; cheap to clone. Making one reaches for nothing.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    connector: Arc<Connector>,
    schemas: Vec<Schema>,
    pool: Pool<Connection>,
    hub: watch::Hub,
    /// Whether the tables were found to be what this program knows.
    migrated: AtomicBool,
    migrating: Mutex<()>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("connector", &self.connector).finish_non_exhaustive()
    }
}

/// What came of one try.
enum Attempt<T, E> {
    Done(T),
    Failed(E),
    /// To be done again from the start; the error, should there be no time left.
    Again(Fault, E),
}

impl<T> From<std::result::Result<T, Trouble>> for Attempt<T, DbError> {
    fn from(outcome: std::result::Result<T, Trouble>) -> Self {
        match outcome {
            Ok(value) => Self::Done(value),
            Err(trouble) => Self::Again(trouble.fault, trouble.error),
        }
    }
}

impl Postgres {
    /// Takes the url apart, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS`.
    ///
    /// Paddock's own parameters are `pool_size` (8), `schema` (`paddock`: where the tables are), `pooler` (`detect`,
    /// `none`, `transaction`), `sslmode` up to `verify-full` and `sslrootcert`.
    pub fn new(url: &str, schemas: Vec<Schema>) -> Result<Self> {
        let settings = Settings::parse(url)?;
        let pool = Pool::new(settings.pool_size);
        let connector = Arc::new(Connector::new(settings));
        let (hub, migrated, migrating) = Default::default();
        Ok(Self { inner: Arc::new(Inner { connector, schemas, pool, hub, migrated, migrating }) })
    }

    /// Which database, for people; never the password.
    pub fn name(&self) -> &str {
        self.inner.connector.name()
    }

    /// Looks at one moment of the database, which others go on changing. `look` may be called again.
    pub fn read<T, E: From<DbError>>(
        &self,
        until: Instant,
        mut look: impl FnMut(&mut PgTransaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.inner.migrated(until)?;
        self.inner.repeat(until, |connection| self.inner.read_once(connection, until, &mut look))
    }

    /// Changes the database in one transaction, once or not at all. `change` may be called again, and what it did
    /// before is then undone: it must do nothing else that counts. Lock the row that is yours first; the server
    /// serves those who wait for it in order.
    pub fn write<T, E: From<DbError>>(
        &self,
        until: Instant,
        mut change: impl FnMut(&mut PgTransaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.inner.migrated(until)?;
        self.inner.repeat(until, |connection| self.inner.write_once(connection, until, &mut change))
    }

    /// Wakes those who watch `topic`; [`PgTransaction::notify`] does it together with a change.
    pub fn notify(&self, topic: &str, until: Instant) -> Result<()> {
        self.write(until, |tx| {
            tx.notify(topic);
            Ok(())
        })
    }

    /// Watches `topic` from now on, in this and in other processes.
    pub fn watch(&self, topic: &str, until: Instant) -> Result<Watch> {
        Watch::new(self, topic, until)
    }

    /// What a look at the server finds wrong, nothing when all is well; an error when it cannot be looked at, or when its tables
    /// are of a newer program. Makes nothing.
    pub fn check(&self) -> Result<Vec<String>> {
        let until = Instant::now() + CHECK;
        let inner = &self.inner;
        inner.repeat(until, |connection| migrate::known(connection, &inner.connector, &inner.schemas, until).into())?;
        self.look(until, |tx| {
            let off = tx.query(
                "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') \
                 AND setting = 'off' ORDER BY name",
                &[],
            )?;
            let told = |row: &tokio_postgres::Row| {
                format!("the server has {} off: what it acknowledged can be lost with its power", row.get::<_, &str>(0))
            };
            Ok(off.iter().map(told).collect())
        })
    }

    /// As [`Self::read`], without tables: they are neither made nor needed.
    fn look<T>(
        &self,
        until: Instant,
        mut look: impl FnMut(&mut PgTransaction<'_>) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        self.inner.repeat(until, |connection| self.inner.read_once(connection, until, &mut look))
    }

    /// What a look at the server tells, line by line, for people. Makes nothing.
    pub fn about(&self) -> Result<Vec<String>> {
        let until = Instant::now() + CHECK;
        let version: String = self.look(until, |tx| {
            Ok::<_, DbError>(tx.query_one("SELECT current_setting('server_version')", &[])?.get(0))
        })?;
        let inner = &self.inner;
        let steps = inner.repeat(until, |connection| migrate::found(connection, &inner.connector, until).into())?;
        let between = if inner.connector.is_pooled() { "through a pooler" } else { "directly" };
        let mut lines = vec![format!("PostgreSQL {version} at {}, reached {between}", self.name())];
        lines.extend(steps.iter().map(|(owner, step)| format!("the tables of {owner} are at step {step}")));
        Ok(lines)
    }
}

impl Inner {
    /// Tries until it is done, cannot be done, or the time is over.
    fn repeat<T, E: From<DbError>>(
        &self,
        until: Instant,
        mut attempt: impl FnMut(&mut Connection) -> Attempt<T, E>,
    ) -> Result<T, E> {
        let mut patience = Patience::new(until);
        loop {
            let mut lease = self.place(until)?;
            let _holding = Holding::begin();
            let mut connection = self.connected(&mut lease, &mut patience)?;
            let (fault, error) = match attempt(&mut connection) {
                Attempt::Done(value) => {
                    lease.put(connection);
                    return Ok(value);
                }
                Attempt::Failed(error) => {
                    lease.put(connection);
                    return Err(error);
                }
                Attempt::Again(fault, error) => (fault, error),
            };
            match fault {
                Fault::Lost => drop(connection),
                // It may still be busy with what nobody waits for any more.
                Fault::Late => return Err(error),
                Fault::Refused => {
                    lease.put(connection);
                    return Err(error);
                }
                Fault::Conflict => lease.put(connection),
            }
            drop(lease);
            if !patience.pause(fault) {
                return Err(error);
            }
        }
    }

    /// A place for a connection. A transaction inside of another gets one that it need not wait for.
    fn place(&self, until: Instant) -> Result<Lease<'_, Connection>> {
        if pool::holds_a_place() {
            return Ok(self.pool.beside());
        }
        self.pool.take(until).ok_or_else(|| Trouble::late(self.connector.name()).error)
    }

    /// The connection that was lent, or a new one in its place.
    fn connected(&self, lease: &mut Lease<'_, Connection>, patience: &mut Patience) -> Result<Connection> {
        if let Some(connection) = lease.take().filter(|connection| !connection.is_closed()) {
            return Ok(connection);
        }
        loop {
            let opened = self.connector.open(patience.until()).and_then(|mut connection| {
                connection.look(patience.until())?;
                Ok(connection)
            });
            match opened {
                Ok(connection) => return Ok(connection),
                // A server that was never there is more likely a wrong url than one about to start.
                Err(trouble) if trouble.fault != Fault::Lost || !self.connector.was_reached() => {
                    return Err(trouble.error);
                }
                Err(trouble) if !patience.pause(Fault::Lost) => return Err(trouble.error),
                Err(_) => {}
            }
        }
    }

    /// Brings the tables to what this program knows, once per process.
    fn migrated(&self, until: Instant) -> Result<()> {
        if self.migrated.load(Ordering::Acquire) {
            return Ok(());
        }
        let _turn = self.migrating.lock().unwrap_or_else(PoisonError::into_inner);
        if self.migrated.load(Ordering::Acquire) {
            return Ok(());
        }
        // Done again, it finds what an unanswered try has left and goes on from there.
        self.repeat(until, |connection| migrate::run(connection, &self.connector, &self.schemas, until).into())?;
        self.migrated.store(true, Ordering::Release);
        Ok(())
    }

    fn read_once<T, E: From<DbError>>(
        &self,
        connection: &mut Connection,
        until: Instant,
        look: &mut impl FnMut(&mut PgTransaction<'_>) -> Result<T, E>,
    ) -> Attempt<T, E> {
        let opening = self.opening("REPEATABLE READ, READ ONLY", until);
        let mut tx = PgTransaction::open(connection, &self.connector, until, opening);
        let seen = look(&mut tx);
        let trouble = tx.trouble().cloned();
        tx.end("COMMIT");
        judged(seen, trouble)
    }

    fn write_once<T, E: From<DbError>>(
        &self,
        connection: &mut Connection,
        until: Instant,
        change: &mut impl FnMut(&mut PgTransaction<'_>) -> Result<T, E>,
    ) -> Attempt<T, E> {
        let mark = (connection.slot, connection.next_mark());
        let opening =
            format!("{}; {}", self.opening("READ COMMITTED, READ WRITE", until), writer::mark(mark.0, mark.1));
        let client = connection.client.clone();
        let mut tx = PgTransaction::open(connection, &self.connector, until, opening);
        // The mark must be there before anything else is, and nothing may run beside a transaction that did not open.
        let changed = tx.settle().map_err(E::from).and_then(|()| change(&mut tx));
        let changed = changed.and_then(|value| Ok((value, tx.count_topics()?)));
        let trouble = tx.trouble().cloned();
        let (value, topics) = match judged(changed, trouble) {
            Attempt::Done(done) => done,
            Attempt::Failed(error) => {
                tx.end("ROLLBACK");
                return Attempt::Failed(error);
            }
            Attempt::Again(fault, error) => {
                tx.end("ROLLBACK");
                return Attempt::Again(fault, error);
            }
        };
        let attempt = match self.kept(tx.commit(until.max(Instant::now() + COMMIT_GRACE)), mark, until) {
            Ok(()) => Attempt::Done(value),
            Err(trouble) if trouble.fault == Fault::Refused => Attempt::Failed(trouble.error.into()),
            Err(trouble) => Attempt::Again(trouble.fault, trouble.error.into()),
        };
        if !topics.is_empty() {
            transaction::send(&client, &watch::calling(&self.connector.settings.schema));
        }
        attempt
    }

    /// Whether the transaction was kept; without an answer, somebody is asked.
    fn kept(
        &self,
        answer: Option<std::result::Result<(), tokio_postgres::Error>>,
        mark: (i64, i64),
        until: Instant,
    ) -> std::result::Result<(), Trouble> {
        let trouble = match answer {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) => Trouble::of(self.connector.name(), &error),
            None => Trouble::late(self.connector.name()),
        };
        if !matches!(trouble.fault, Fault::Lost | Fault::Late) {
            return Err(trouble);
        }
        let name = self.connector.name();
        match self.was_kept(mark, until.max(Instant::now()) + QUESTION_GRACE) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Trouble::unreachable(name, "the connection ended before the change was kept")),
            Err(other) => {
                let why = format!("{}, and then {}", trouble.error, other.error);
                Err(Trouble { fault: Fault::Refused, error: DbError::Unknown { name: name.to_owned(), why } })
            }
        }
    }

    fn was_kept(&self, mark: (i64, i64), deadline: Instant) -> std::result::Result<bool, Trouble> {
        let mut patience = Patience::new(deadline);
        loop {
            let asked = self.connector.open(deadline).and_then(|connection| {
                writer::was_kept(&connection, self.connector.name(), &self.connector.settings.schema, mark, deadline)
            });
            match asked {
                Err(trouble) if trouble.fault == Fault::Lost && patience.pause(Fault::Lost) => {}
                other => return other,
            }
        }
    }

    /// What opens a transaction. Nothing of it outlives the transaction.
    fn opening(&self, kind: &str, until: Instant) -> String {
        let left = milliseconds_until(until);
        format!(
            "BEGIN ISOLATION LEVEL {kind}; SET LOCAL search_path = {}; SET LOCAL statement_timeout = {left}; \
             SET LOCAL idle_in_transaction_session_timeout = {}",
            self.connector.settings.schema,
            left + 1000
        )
    }
}

/// What a transaction comes to before its end: its own outcome, unless the server has undone it meanwhile.
fn judged<T, E: From<DbError>>(outcome: Result<T, E>, trouble: Option<Trouble>) -> Attempt<T, E> {
    match (outcome, trouble) {
        (Ok(value), None) => Attempt::Done(value),
        (Err(error), None) => Attempt::Failed(error),
        (Ok(_), Some(trouble)) => Attempt::Again(trouble.fault, trouble.error.into()),
        (Err(error), Some(trouble)) => Attempt::Again(trouble.fault, error),
    }
}

/// At least one: zero would mean no limit.
fn milliseconds_until(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    u64::try_from(left).unwrap_or(u64::MAX).clamp(1, i32::MAX as u64 - 1000)
}
