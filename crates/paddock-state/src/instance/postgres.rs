//! Instances on a PostgreSQL server, for several machines.
//!
//! What directories and files are to [`super::FileInstances`], rows are here, and each operation is one transaction. Whose instances they
//! are is said by the installation, as for the ledger on the same server. It must never show one installation the instances of another.

mod lease;
mod read;
mod repair;
mod rows;
mod schema;
mod write;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use paddock_db::{DbError, PgRow, PgTransaction, Postgres, Schema};
use serde_json::{Map, Value};

use super::{Imported, Instance, Instances, Listing, Saved, Seen, Status, extension};
use crate::conversation::{Conversation, ConversationError, Message, MessageEvent, Notice, Repaired, Result};
use crate::{ExtensionName, InstanceKey, Timestamp, TurnId};
use lease::{Fence, Lease};
use read::How;
use rows::{NewEvent, told};
use write::PostgresConversation;

/// How long something short may take, the server's being restarted included.
const WRITING: Duration = Duration::from_secs(30);
/// How long something may take that looks at a whole conversation.
const READING: Duration = Duration::from_secs(3600);
/// How long a holder that does not answer keeps others away.
const LEASE: Duration = Duration::from_secs(15);
/// The turn that an imported conversation came in, and the one whose events came with it.
const IMPORTED: &str = "import";
const IMPORTED_OPEN: &str = "import-open";

const METADATA: &str = "key, agent, status, created_at, updated_at";
const TABLES: [&str; 4] = ["instance_message", "instance_event", "instance_state", "instance_damaged"];

fn until(patience: Duration) -> Instant {
    Instant::now() + patience
}

/// The instances of one installation on a server.
#[derive(Debug, Clone)]
pub struct PostgresInstances {
    db: Postgres,
    installation: String,
    lease: Duration,
}

/// Where a conversation stands, and under which fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    instance: i64,
    fence: i64,
    /// The last event there was.
    last_seq: u64,
    /// The last event that is folded.
    confirmed_seq: u64,
    messages: u64,
    events: u64,
}

impl Counts {
    const COLUMNS: &str = "last_seq, confirmed_seq, messages, events";

    fn of(instance: i64, fence: i64, row: &PgRow) -> Self {
        let [last_seq, confirmed_seq, messages, events] = [0, 1, 2, 3].map(|at| told(row.get(at)));
        Self { instance, fence, last_seq, confirmed_seq, messages, events }
    }
}

/// What the rows of one conversation are called where people read of them.
#[derive(Debug, Clone)]
struct Places {
    messages: PathBuf,
    events: PathBuf,
    damaged: PathBuf,
}

impl PostgresInstances {
    /// The tables that the server has to have.
    pub const SCHEMA: Schema = schema::SCHEMA;

    /// Those of an installation. Reaches for nothing.
    #[must_use]
    pub fn new(db: Postgres, installation: impl Into<String>) -> Self {
        Self { db, installation: installation.into(), lease: LEASE }
    }

    /// The same, with another time after which a holder that does not answer is taken for dead.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    fn place(&self, key: &InstanceKey, what: &str) -> PathBuf {
        PathBuf::from(self.db.name()).join("instances").join(key).join(what)
    }

    fn places(&self, key: &InstanceKey) -> Places {
        let place = |what| self.place(key, what);
        Places { messages: place("messages"), events: place("events"), damaged: place("damaged") }
    }

    /// Where a conversation stands; with a lock on its row where it is to be `changed`.
    fn counts(&self, tx: &mut PgTransaction<'_>, key: &InstanceKey, changed: bool) -> Result<Counts> {
        let lock = if changed { "FOR UPDATE" } else { "" };
        let sql = format!(
            "SELECT {}, id, fence FROM instance_instance WHERE installation = $1 AND key = $2 {lock}",
            Counts::COLUMNS
        );
        let row = tx.query_opt(&sql, &[&self.installation, &key.as_str()])?;
        let row = row.ok_or_else(|| ConversationError::NoInstance(key.clone()))?;
        Ok(Counts::of(row.get(4), row.get(5), &row))
    }

    /// As [`Self::counts`], for what must not happen beside a writer: an error when there is one.
    fn unheld(&self, tx: &mut PgTransaction<'_>, key: &InstanceKey) -> Result<Counts> {
        let counts = self.counts(tx, key, false)?;
        lease::is_free(tx, counts.instance, key)?;
        let counts = self.counts(tx, key, true)?;
        // Somebody may have come while the lock was waited for.
        lease::is_free(tx, counts.instance, key)?;
        Ok(counts)
    }

    /// Which instance it is, kept from being deleted until the transaction ends.
    fn kept(&self, tx: &mut PgTransaction<'_>, key: &InstanceKey) -> Result<i64> {
        let sql = "SELECT id FROM instance_instance WHERE installation = $1 AND key = $2 FOR KEY SHARE";
        let row = tx.query_opt(sql, &[&self.installation, &key.as_str()])?;
        row.map(|row| row.get(0)).ok_or_else(|| ConversationError::NoInstance(key.clone()))
    }

    fn metadata(&self, row: &PgRow) -> std::result::Result<Instance, (String, String)> {
        let key: String = row.get(0);
        parsed(row, &key).map_err(|reason| (key, reason))
    }

    fn damaged(&self, key: &InstanceKey, what: &str, reason: String) -> ConversationError {
        ConversationError::DamagedFile { path: self.place(key, what), reason }
    }

    /// Makes the row of an instance. Nothing when there is one.
    fn insert(&self, tx: &mut PgTransaction<'_>, instance: &Instance) -> Result<Option<i64>, DbError> {
        let Instance { status, agent_name, instance_key, created_at, updated_at } = instance;
        let row = tx.query_opt(
            "INSERT INTO instance_instance (installation, key, agent, status, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (installation, key) DO NOTHING RETURNING id",
            &[
                &self.installation,
                &instance_key.as_str(),
                agent_name,
                &status.as_str(),
                &created_at.to_string(),
                &updated_at.to_string(),
            ],
        )?;
        Ok(row.map(|row| row.get(0)))
    }

    fn stored_state(
        &self,
        tx: &mut PgTransaction<'_>,
        key: &InstanceKey,
        extension: &ExtensionName,
    ) -> Result<Option<String>> {
        let instance = self.counts(tx, key, false)?.instance;
        let sql = "SELECT state FROM instance_state WHERE instance = $1 AND extension = $2";
        let row = tx.query_opt(sql, &[&instance, &extension.as_str()])?;
        let state = row.map(|row| row.try_get(0)).transpose();
        state.map_err(|error| self.damaged(key, extension.as_str(), error.to_string()))
    }
}

/// What the row of an instance says, in the order of [`METADATA`].
fn parsed(row: &PgRow, key: &str) -> std::result::Result<Instance, String> {
    let text = |at| row.try_get::<_, &str>(at).map_err(|error| error.to_string());
    let moment = |at| {
        let text = text(at)?;
        Timestamp::parse(text).ok_or_else(|| format!("{text:?} is no moment in ISO 8601"))
    };
    let status = match text(2)? {
        "idle" => Status::Idle,
        "processing" => Status::Processing,
        other => return Err(format!("{other:?} is no status")),
    };
    Ok(Instance {
        status,
        agent_name: text(1)?.to_owned(),
        instance_key: InstanceKey::new(key).map_err(|error| error.to_string())?,
        created_at: moment(3)?,
        updated_at: moment(4)?,
    })
}

/// Removes everything that belongs to an instance but its own row.
fn empty(tx: &mut PgTransaction<'_>, instance: i64) -> Result<(), DbError> {
    for table in TABLES {
        tx.execute(&format!("DELETE FROM {table} WHERE instance = $1"), &[&instance])?;
    }
    Ok(())
}

impl Instances for PostgresInstances {
    fn create(&self, key: &InstanceKey, agent: &str) -> Result<Instance> {
        loop {
            if let Some(instance) = self.show(key)? {
                return Ok(instance);
            }
            let instance = Instance::new(key, agent);
            if self.db.write(until(WRITING), |tx| self.insert(tx, &instance))?.is_some() {
                return Ok(instance);
            }
        }
    }

    fn show(&self, key: &InstanceKey) -> Result<Option<Instance>> {
        let sql = format!("SELECT {METADATA} FROM instance_instance WHERE installation = $1 AND key = $2");
        let row = self.db.read(until(WRITING), |tx| tx.query_opt(&sql, &[&self.installation, &key.as_str()]))?;
        let instance = row.map(|row| self.metadata(&row)).transpose();
        instance.map_err(|(_, reason)| self.damaged(key, "metadata", reason))
    }

    fn list(&self) -> Result<Listing> {
        let sql = format!("SELECT {METADATA} FROM instance_instance WHERE installation = $1 ORDER BY key");
        let rows = self.db.read(until(WRITING), |tx| tx.query(&sql, &[&self.installation]))?;
        let mut listing = Listing::default();
        for row in &rows {
            match self.metadata(row) {
                Ok(instance) => listing.instances.push(instance),
                Err(unreadable) => listing.unreadable.push(unreadable),
            }
        }
        // The keys are in order already, and stay so among those of one moment.
        listing.instances.sort_by_key(|instance| std::cmp::Reverse(instance.updated_at));
        Ok(listing)
    }

    fn set_status(&self, key: &InstanceKey, status: Status) -> Result<()> {
        let now = Timestamp::now().to_string();
        let changed = self.db.write(until(WRITING), |tx| {
            tx.execute(
                "UPDATE instance_instance SET status = $3, updated_at = greatest(updated_at, $4) \
                 WHERE installation = $1 AND key = $2",
                &[&self.installation, &key.as_str(), &status.as_str(), &now],
            )
        })?;
        if changed == 0 { Err(ConversationError::NoInstance(key.clone())) } else { Ok(()) }
    }

    fn delete(&self, key: &InstanceKey) -> Result<bool> {
        let deleted = self.db.write(until(READING), |tx| {
            let instance = self.unheld(tx, key)?.instance;
            empty(tx, instance)?;
            tx.execute("DELETE FROM instance_instance WHERE id = $1", &[&instance])?;
            Ok(())
        });
        match deleted {
            Ok(()) => Ok(true),
            Err(ConversationError::NoInstance(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn clear(&self, key: &InstanceKey) -> Result<()> {
        let now = Timestamp::now().to_string();
        self.db.write(until(READING), |tx| {
            let instance = self.unheld(tx, key)?.instance;
            empty(tx, instance)?;
            tx.execute(
                "UPDATE instance_instance SET status = $2, updated_at = $3, fence = fence + 1, holder = NULL, \
                 held_until = NULL, last_seq = 0, confirmed_seq = 0, messages = 0, events = 0 WHERE id = $1",
                &[&instance, &Status::Idle.as_str(), &now],
            )?;
            Ok(())
        })
    }

    fn conversation(&self, key: &InstanceKey) -> Result<Box<dyn Conversation>> {
        let places = self.places(key);
        let (fence, counts, pending) = self.db.write(until(WRITING), |tx| {
            let instance = self.counts(tx, key, false)?.instance;
            let fence = lease::take(tx, instance, key, self.lease)?;
            // Read again: what counts is where the last holder left it.
            let counts = self.counts(tx, key, false)?;
            let pending = read::pending(tx, &counts, &places)?;
            Ok::<_, ConversationError>((fence, counts, pending))
        })?;
        let lease = Lease::keep(&self.db, fence)?;
        let (db, key) = (self.db.clone(), key.clone());
        Ok(Box::new(PostgresConversation::new(db, key, places, lease, counts, pending.as_ref())))
    }

    fn read(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<Seen> {
        let how = How::Folded;
        let rest = read::read(&self.db, &self.places(key), how, &|tx| self.counts(tx, key, false), each)?;
        rest.new.into_iter().for_each(each);
        let notices = rest.missing.into_iter().map(Notice::MissingMessage).collect();
        Ok(Seen { open_turn: rest.open_turn, notices })
    }

    fn read_apart(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<(Vec<MessageEvent>, Seen)> {
        let how = How::Apart;
        let rest = read::read(&self.db, &self.places(key), how, &|tx| self.counts(tx, key, false), each)?;
        Ok((rest.events, Seen { open_turn: rest.open_turn, notices: Vec::new() }))
    }

    fn get_state(&self, key: &InstanceKey, extension: &ExtensionName) -> Result<Option<Map<String, Value>>> {
        let Some(text) = self.db.read(until(WRITING), |tx| self.stored_state(tx, key, extension))? else {
            return Ok(None);
        };
        extension::read(&text).map(Some).map_err(|reason| self.damaged(key, extension.as_str(), reason))
    }

    fn extensions(&self, key: &InstanceKey) -> Result<Vec<ExtensionName>> {
        let names: Vec<String> = self.db.read(until(WRITING), |tx| {
            let instance = self.counts(tx, key, false)?.instance;
            let sql = "SELECT extension FROM instance_state WHERE instance = $1";
            let rows = tx.query(sql, &[&instance])?;
            let name = |row: &PgRow| row.try_get(0).map_err(|error| self.damaged(key, "extensions", error.to_string()));
            rows.iter().map(name).collect::<Result<_>>()
        })?;
        let mut names: Vec<ExtensionName> =
            names.into_iter().filter_map(|name| ExtensionName::new(name).ok()).collect();
        names.sort();
        Ok(names)
    }

    fn set_state(&self, key: &InstanceKey, extension: &ExtensionName, state: &Map<String, Value>) -> Result<Saved> {
        let text = extension::written(state)
            .map_err(|error| ConversationError::io(self.place(key, extension.as_str()), error.into()))?;
        let before = self.db.read(until(WRITING), |tx| self.stored_state(tx, key, extension))?;
        if before.as_ref() == Some(&text) {
            return Ok(Saved::Unchanged);
        }
        self.db.write(until(WRITING), |tx| {
            let instance = self.kept(tx, key)?;
            tx.execute(
                "INSERT INTO instance_state (instance, extension, state) VALUES ($1, $2, $3) \
                 ON CONFLICT (instance, extension) DO UPDATE SET state = excluded.state",
                &[&instance, &extension.as_str(), &text],
            )?;
            Ok(Saved::Written)
        })
    }

    fn repair(&self, key: &InstanceKey, apply: bool) -> Result<Repaired> {
        let places = self.places(key);
        self.db.write(until(READING), |tx| {
            let counts = self.unheld(tx, key)?;
            repair::repair(tx, &counts, &places, apply)
        })
    }

    fn import(&self, key: &InstanceKey, agent: &str, imported: Imported<'_>) -> Result<u64> {
        let instance = Instance::imported(key, agent, imported.created_at);
        let turn = |name| TurnId::new(name).map_err(|bad| self.damaged(key, "messages", bad.to_string()));
        let turns = (turn(IMPORTED)?, turn(IMPORTED_OPEN)?);
        let Imported { messages, events, .. } = imported;
        let mut begun = false;
        self.db.write(until(READING), |tx| {
            if begun {
                // What was read from elsewhere cannot be read again.
                let why = "the connection was lost while messages came in, and nothing is imported".to_owned();
                return Err(DbError::Unreachable { name: self.db.name().to_owned(), why }.into());
            }
            let row = self.insert(tx, &instance)?.ok_or_else(|| ConversationError::Exists(key.clone()))?;
            begun = true;
            fill(tx, row, &turns, messages, events)
        })
    }

    fn held_by(&self, key: &InstanceKey) -> Option<String> {
        let asked = self.db.read(until(WRITING), |tx| {
            let counts = self.counts(tx, key, false)?;
            Ok::<_, ConversationError>(lease::holder(tx, counts.instance)?)
        });
        asked.ok().flatten()
    }
}

/// Stores a conversation from elsewhere in an instance that was just made; how many confirmed messages it has.
fn fill(
    tx: &mut PgTransaction<'_>,
    instance: i64,
    (confirmed, open): &(TurnId, TurnId),
    messages: &mut dyn Iterator<Item = Result<Message>>,
    events: &[MessageEvent],
) -> Result<u64> {
    let mut counts = Counts { instance, fence: 0, last_seq: 0, confirmed_seq: 0, messages: 0, events: 0 };
    loop {
        let batch = messages.take(write::BATCH).collect::<Result<Vec<_>>>()?;
        if batch.is_empty() {
            break;
        }
        write::add(tx, &mut counts, confirmed, batch.chunks(write::BATCH))?;
    }
    tx.execute(
        "UPDATE instance_instance SET last_seq = $2, confirmed_seq = $2, messages = $3 WHERE id = $1",
        &[&instance, &rows::stored(counts.last_seq), &rows::stored(counts.messages)],
    )?;
    let fence = Fence { instance, number: 0, lasts: 0 };
    for (event, line) in events.iter().zip(1..) {
        let seq = counts.last_seq + line;
        write::append(tx, fence, seq, &NewEvent::of(event, open, seq, line)?)?;
    }
    Ok(counts.messages)
}
