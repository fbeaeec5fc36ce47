//! One connection: how it is opened, what it remembers, and whether the session behind it is ours.
//!
//! A pooler that hands out sessions for one transaction at a time keeps nothing between two, so that statements
//! prepared by name and settings of a session would end up with strangers. Whether one is between is found out by
//! a setting given at the start, which only a server itself passes on. Where it is, statements go without a name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Connection as Wire, SimpleQueryMessage, Socket, Statement};

use super::tls::{Encrypted, Tls};
use super::trouble::{Trouble, is_startup_refused, is_strange_name};
use super::url::{Pooler, Settings};
use super::wait;
use crate::{DbError, Result};

/// Statements a connection keeps; past it all are forgotten, so that generated ones cannot fill the server's memory.
const STATEMENTS: usize = 256;
const OLDEST: u32 = 13;
const PROBE: &str = "SELECT current_setting('server_version_num'), current_setting('paddock.direct', true)";

type Outcome<T> = std::result::Result<T, Trouble>;

/// Opens connections as the url says.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) settings: Settings,
    tls: OnceLock<Tls>,
    /// Whether one was ever open: from then on a server that does not answer is believed to come back.
    reached: AtomicBool,
    pooled: AtomicBool,
    /// The types of the parameters of each statement, learned where statements have no name.
    parameters: Mutex<HashMap<String, Arc<[Type]>>>,
}

impl Connector {
    pub(super) fn new(settings: Settings) -> Self {
        let pooled = AtomicBool::new(settings.pooler == Pooler::Transaction);
        Self { settings, tls: OnceLock::new(), reached: AtomicBool::new(false), pooled, parameters: Mutex::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }

    pub(super) fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// Whether something between keeps no session; known once a connection was open.
    pub(super) fn is_pooled(&self) -> bool {
        self.pooled.load(Ordering::Relaxed)
    }

    /// Learns from an error: that a statement's name is strange to the server tells of a pooler not noticed before.
    pub(super) fn note(&self, error: &tokio_postgres::Error) {
        if is_strange_name(error) && self.settings.pooler != Pooler::None {
            self.pooled.store(true, Ordering::Relaxed);
        }
    }

    /// Opens one for statements.
    pub(super) fn open(self: &Arc<Self>, deadline: Instant) -> Outcome<Connection> {
        let (client, wire) = self.dial(deadline)?;
        let driver = self.driver()?;
        // What ends a connection is told to whoever waits for an answer on it.
        driver.spawn(async move {
            let _ = wire.await;
        });
        self.reached.store(true, Ordering::Relaxed);
        Ok(Connection::new(client, self.clone()))
    }

    /// Opens one and leaves its messages to the caller.
    pub(super) fn dial(&self, deadline: Instant) -> Outcome<(Client, Wire<Socket, Encrypted>)> {
        let asks = self.settings.pooler == Pooler::Detect && !self.is_pooled();
        match self.connect(asks, deadline) {
            Err(Refusal::OfStartup) => {
                self.pooled.store(true, Ordering::Relaxed);
                self.connect(false, deadline).map_err(|refusal| refusal.told(self.name()))
            }
            other => other.map_err(|refusal| refusal.told(self.name())),
        }
    }

    fn connect(
        &self,
        asks: bool,
        deadline: Instant,
    ) -> std::result::Result<(Client, Wire<Socket, Encrypted>), Refusal> {
        let mut config = self.settings.config.clone();
        if asks {
            let given = config.get_options().unwrap_or_default();
            config.options(format!("{given} -c paddock.direct=1").trim_start().to_owned());
        }
        let tls = self.tls().map_err(|error| Trouble { fault: super::trouble::Fault::Refused, error })?;
        let task = self.driver()?.spawn(async move { config.connect(tls).await });
        match wait::until(deadline, task) {
            Some(Ok(Ok(opened))) => Ok(opened),
            Some(Ok(Err(error))) if asks && is_startup_refused(&error) => Err(Refusal::OfStartup),
            Some(Ok(Err(error))) => {
                if error.as_db_error().is_some() {
                    self.reached.store(true, Ordering::Relaxed);
                }
                Err(Trouble::of(self.name(), &error).into())
            }
            Some(Err(_)) => Err(Trouble::unreachable(self.name(), "the driver stopped").into()),
            None => Err(Trouble::unreachable(self.name(), "it does not answer").into()),
        }
    }

    fn driver(&self) -> Outcome<&'static tokio::runtime::Handle> {
        wait::driver().map_err(|error| Trouble::refused(self.name(), format!("no thread for the driver: {error}")))
    }

    fn tls(&self) -> Result<Tls> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let tls = Tls::new(&self.settings.trust, self.name())?;
        Ok(self.tls.get_or_init(|| tls).clone())
    }
}

enum Refusal {
    /// By what it was opened with: a pooler.
    OfStartup,
    Other(Trouble),
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self::Other(trouble)
    }
}

impl Refusal {
    fn told(self, name: &str) -> Trouble {
        match self {
            Self::OfStartup => Trouble::refused(name, "it refused how the connection was opened"),
            Self::Other(trouble) => trouble,
        }
    }
}

/// How one statement is to be sent.
pub(super) enum Way {
    /// Prepared before, under a name that the session keeps.
    Named(Statement),
    /// As text with the types of its parameters.
    Typed(Arc<[Type]>),
}

/// One open connection.
pub(super) struct Connection {
    pub(super) client: Arc<Client>,
    connector: Arc<Connector>,
    statements: HashMap<String, Statement>,
    /// The row of `paddock_writer` that this connection marks.
    pub(super) slot: i64,
    mark: AtomicI64,
    /// Whether the server was looked at: its version, and what is between.
    known: bool,
}

impl Connection {
    fn new(client: Client, connector: Arc<Connector>) -> Self {
        let client = Arc::new(client);
        let mark = AtomicI64::new(0);
        Self { client, connector, statements: HashMap::new(), slot: random(), mark, known: false }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// A number that no transaction of this connection had before.
    pub(super) fn next_mark(&self) -> i64 {
        self.mark.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Looks at the server, once per connection.
    pub(super) fn look(&mut self, deadline: Instant) -> Outcome<()> {
        if self.known {
            return Ok(());
        }
        let name = self.connector.name();
        let answer = wait::until(deadline, self.client.simple_query(PROBE)).ok_or_else(|| Trouble::late(name))?;
        let rows = answer.map_err(|error| Trouble::of(name, &error))?;
        let row = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let version = row.and_then(|row| row.get(0)?.parse::<u32>().ok()).unwrap_or_default() / 10_000;
        if version < OLDEST {
            let why = format!("it is PostgreSQL {version}, and Paddock needs {OLDEST} or later");
            return Err(Trouble::refused(name, why));
        }
        let direct = row.and_then(|row| row.get(1)).is_some_and(|value| value == "1");
        if self.connector.settings.pooler == Pooler::Detect && !direct {
            self.connector.pooled.store(true, Ordering::Relaxed);
        }
        self.known = true;
        Ok(())
    }

    /// How to send a statement, when that is known already.
    pub(super) fn way(&self, sql: &str) -> Option<Way> {
        if self.connector.is_pooled() {
            let known = self.connector.parameters.lock().unwrap_or_else(PoisonError::into_inner);
            return known.get(sql).cloned().map(Way::Typed);
        }
        self.statements.get(sql).cloned().map(Way::Named)
    }

    /// Remembers a statement that was prepared.
    pub(super) fn learn(&mut self, sql: &str, statement: Statement) -> Way {
        if self.connector.is_pooled() {
            let types: Arc<[Type]> = statement.params().into();
            let mut known = self.connector.parameters.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= 16 * STATEMENTS {
                known.clear();
            }
            known.insert(sql.to_owned(), types.clone());
            // The statement ends here, in the transaction it was prepared in, so that no stranger meets its name.
            return Way::Typed(types);
        }
        if self.statements.len() >= STATEMENTS {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Way::Named(statement)
    }
}

/// A number nobody else has.
pub(super) fn random() -> i64 {
    i64::from_ne_bytes(RandomState::new().hash_one(std::process::id()).to_ne_bytes())
}

impl From<Trouble> for DbError {
    fn from(trouble: Trouble) -> Self {
        trouble.error
    }
}
