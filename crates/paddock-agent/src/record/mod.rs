//! The record of every run: a checkpoint after each node, and what each tool call came to.
//!
//! A commit names the fence that its process was given when it took the thread over; when another process has taken it since, the commit
//! changes nothing. What a commit writes depends on what its node did, never on how long the run is. The record is enough to go on from any
//! of its checkpoints, and to go through a run again without its model.

mod rows;
pub mod schema;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use paddock_core::CallId;
use paddock_db::statements::{Row, Session, Storage, Value};
use paddock_db::{DbError, Postgres, Sqlite};
use paddock_state::TurnId;
use paddock_state::conversation::Message;

use self::rows::{CheckpointRows, checkpoint_of, shallow, thread_of};
use crate::graph::NodeName;
use crate::model::{Asker, ModelAnswer};
use crate::state::{AgentMode, AgentState, StepState, ToolResult, TrustLevel};

/// How long the database is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why the record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no such thread.
    #[error("there is no thread \"{0}\"")]
    NoThread(String),
    /// There is one already.
    #[error("there is a thread \"{0}\" already")]
    Exists(String),
    /// Another process has taken the thread over.
    #[error("another process has taken thread \"{0}\" over")]
    TakenOver(String),
    /// There is no such checkpoint.
    #[error("thread \"{thread}\" has no step {n}")]
    NoCheckpoint {
        /// The thread.
        thread: String,
        /// The checkpoint.
        n: u64,
    },
    /// It is over already.
    #[error("thread \"{thread}\" is {} already", status.name())]
    Over {
        /// The thread.
        thread: String,
        /// Where it stands.
        status: ThreadStatus,
    },
    /// What is there is not what was written, or was written by a newer program.
    #[error("the record of thread \"{thread}\" cannot be read: {why}")]
    Unreadable {
        /// The thread.
        thread: String,
        /// Why.
        why: String,
    },
    /// The database could not do it.
    #[error(transparent)]
    Database(#[from] DbError),
}

impl RecordError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::NoThread(_) => "`paddock threads list` shows those there are",
            Self::Exists(_) => "leave the name out, or choose another one",
            Self::TakenOver(_) => "that process goes on with it; `paddock threads show` tells how far it is",
            Self::Over { .. } => "`paddock undo` takes back what it changed",
            Self::NoCheckpoint { .. } => "`paddock threads show` lists its steps",
            Self::Unreadable { .. } => "a newer version of Paddock may have written it",
            Self::Database(error) => error.hint(),
        }
    }
}

type Result<T, E = RecordError> = std::result::Result<T, E>;

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadStatus {
    /// A process works on it, or did when it ended.
    Running,
    /// It waits for a decision.
    Frozen,
    /// Only a person can go on.
    Blocked,
    /// It asks the person something.
    Asking,
    /// It is over.
    Done,
    /// A person ended it.
    Cancelled,
}

impl ThreadStatus {
    const ALL: [Self; 6] = [Self::Running, Self::Frozen, Self::Blocked, Self::Asking, Self::Done, Self::Cancelled];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Frozen => "frozen",
            Self::Blocked => "blocked",
            Self::Asking => "asking",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.name() == text).unwrap_or(Self::Blocked)
    }
}

/// What a person lets a run do at most. Kept with the thread, so that a run that is resumed before its first node has no more.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bounds {
    /// How far it may go.
    pub mode: AgentMode,
    /// How much it is trusted with.
    pub level: TrustLevel,
    /// The only tools, where the person narrowed them.
    pub tools: Option<Vec<String>>,
}

/// A run, without its state.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Thread {
    /// Its id: the key of its instance.
    pub thread_id: String,
    /// The agent.
    pub agent: String,
    /// The person on whose behalf it runs.
    pub user_id: String,
    /// What was asked for last.
    pub prompt: String,
    /// What it may do at most.
    pub bounds: Bounds,
    /// Where it stands.
    pub status: ThreadStatus,
    /// What it waits for, asks, or answered.
    pub told: Option<String>,
    /// The model.
    pub model: String,
    /// When it began, in milliseconds since 1970.
    pub created_at: i64,
    /// When it last went on.
    pub updated_at: i64,
    /// How many checkpoints it has.
    pub checkpoints: u64,
    /// The thread that it was forked from, and at which checkpoint.
    pub parent: Option<(String, u64)>,
}

/// The right to write a thread: until another process takes it over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence(i64);

/// One checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Its number, from 1.
    pub n: u64,
    /// The node that was done.
    pub node: NodeName,
    /// The node that comes.
    pub next: NodeName,
    /// The state after it, with the steps of its turn.
    pub state: AgentState,
    /// The thread that it was written for: a fork has those of the thread that it began from.
    pub written_for: String,
    /// The turn of the conversation.
    pub turn: TurnId,
    /// The last event of the conversation before the messages of this checkpoint.
    pub seq: u64,
    /// Messages that go into the conversation with it.
    pub outbox: Vec<Message>,
    /// What the model was asked for, and what it answered.
    pub answer: Option<(Asker, ModelAnswer)>,
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// It may begin.
    Intended,
    /// It began: whether it had its effect is not known here.
    Started,
    /// It is over.
    Over(ToolResult),
}

/// What one node adds to the record, all of it or nothing.
#[derive(Debug)]
pub struct Commit<'a> {
    /// The number of the checkpoint: one more than the last.
    pub n: u64,
    /// The node that was done.
    pub node: NodeName,
    /// The node that comes.
    pub next: NodeName,
    /// The state after it; of its steps only those that changed are written.
    pub state: &'a AgentState,
    /// The steps that are new or changed.
    pub changed: Vec<&'a StepState>,
    /// The turn of the conversation.
    pub turn: &'a TurnId,
    /// The last event of the conversation before the messages of this checkpoint.
    pub seq: u64,
    /// Messages that go into the conversation with it.
    pub outbox: &'a [Message],
    /// What the model was asked for, and what it answered.
    pub answer: Option<&'a (Asker, ModelAnswer)>,
    /// What becomes of a tool call.
    pub effect: Option<(CallId, &'a str, Effect)>,
    /// Where the thread stands then.
    pub status: ThreadStatus,
    /// What it waits for, asks, or answered.
    pub told: Option<&'a str>,
    /// Whether the node changed something elsewhere that the state has to go with.
    pub lasts: bool,
}

impl Commit<'_> {
    /// Whether the loss of power may take this along: a node that goes only by its state does all of it again, and a call that passed
    /// Check is checked again. It asked no model and no person, ran and changed nothing, says nothing and stops nowhere.
    fn comes_again(&self) -> bool {
        let is_done_anew = match self.node {
            NodeName::Supervisor | NodeName::Interpreter => self.effect.is_none(),
            // Nothing that has an effect has begun by then: its beginning is waited for.
            NodeName::Check => matches!(self.effect, Some((.., Effect::Intended))),
            _ => false,
        };
        let is_silent = self.outbox.is_empty() && self.answer.is_none() && self.told.is_none();
        is_done_anew && is_silent && !self.lasts && self.status == ThreadStatus::Running
    }
}

/// The record.
#[derive(Clone)]
pub struct Record {
    storage: Arc<dyn Storage>,
    home: String,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Record {
    /// In a SQLite database that was given [`schema::SQLITE`].
    #[must_use]
    pub fn on_sqlite(database: Sqlite) -> Self {
        Self { storage: Arc::new(database), home: String::new() }
    }

    /// In a PostgreSQL database that was given [`schema::POSTGRES`]; `home` tells our rows from those of other installations.
    #[must_use]
    pub fn on_postgres(database: Postgres, home: &str) -> Self {
        Self { storage: Arc::new(database), home: home.to_owned() }
    }

    fn read<T>(&self, look: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T, DbError> {
        self.storage.look(look)
    }

    fn write<T>(&self, change: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T, DbError> {
        self.storage.change(Instant::now() + PATIENCE, change)
    }

    fn home(&self) -> Value {
        self.home.as_str().into()
    }

    /// Makes a thread, without a checkpoint.
    ///
    /// # Errors
    /// When there is one with that id.
    pub fn create(&self, thread: &Thread) -> Result<()> {
        let values = self.thread_values(thread)?;
        let made = self.write(|session| session.execute(NEW_THREAD, &values))?;
        if made == 1 { Ok(()) } else { Err(RecordError::Exists(thread.thread_id.clone())) }
    }

    /// What [`NEW_THREAD`] writes.
    fn thread_values(&self, thread: &Thread) -> Result<Vec<Value>> {
        let (parent, parent_n) = thread.parent.clone().map_or((None, None), |(id, n)| (Some(id), Some(int(n))));
        Ok(vec![
            self.home(),
            thread.thread_id.as_str().into(),
            thread.agent.as_str().into(),
            thread.user_id.as_str().into(),
            thread.prompt.as_str().into(),
            thread.status.name().into(),
            thread.model.as_str().into(),
            now().into(),
            parent.into(),
            parent_n.into(),
            bounds_text(thread)?.into(),
            thread.told.clone().into(),
        ])
    }

    /// Takes a thread over: whoever had it can commit nothing from now on.
    ///
    /// # Errors
    /// When there is no such thread.
    pub fn take(&self, thread: &str) -> Result<Fence> {
        let values = [self.home(), thread.into()];
        let fence = self.write(|session| {
            session.execute("UPDATE agent_thread SET fence = fence + 1 WHERE home = ?1 AND id = ?2", &values)?;
            let rows = session.query("SELECT fence FROM agent_thread WHERE home = ?1 AND id = ?2", &values)?;
            Ok(rows.first().map(|row| Fence(row[0].int())))
        })?;
        fence.ok_or_else(|| RecordError::NoThread(thread.to_owned()))
    }

    /// Whether a thread is still whose fence this is.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn holds(&self, thread: &str, fence: Fence) -> Result<bool> {
        let sql = "SELECT fence FROM agent_thread WHERE home = ?1 AND id = ?2";
        let rows = self.read(|session| session.query(sql, &[self.home(), thread.into()]))?;
        Ok(rows.first().is_some_and(|row| row[0].int() == fence.0))
    }

    /// Writes what a node did. It lasts then, unless the node would do the same again: what the power takes of that is done anew,
    /// and it lasts before anything is that would not be.
    ///
    /// # Errors
    /// When another process has taken the thread over, or it cannot be written. Nothing was written then.
    pub fn commit(&self, fence: Fence, commit: &Commit<'_>) -> Result<()> {
        let thread = commit.state.thread_id.clone();
        let rows = CheckpointRows::of(&self.home, commit).map_err(|error| unreadable(&thread, &error))?;
        let write = |session: &mut dyn Session| {
            let sql = "UPDATE agent_thread SET last_n = ?1, status = ?2, told = ?3, updated_at = ?4 \
                       WHERE home = ?5 AND id = ?6 AND fence = ?7 AND last_n = ?8";
            let n = int(commit.n);
            let values = [
                n.into(),
                commit.status.name().into(),
                commit.told.map(str::to_owned).into(),
                now().into(),
                self.home(),
                thread.as_str().into(),
                fence.0.into(),
                (n - 1).into(),
            ];
            if session.execute(sql, &values)? != 1 {
                return Ok(false);
            }
            rows.insert(session)?;
            Ok(true)
        };
        let until = Instant::now() + PATIENCE;
        let kept = match commit.comes_again() {
            true => self.storage.change_ahead(until, write)?,
            false => self.storage.change(until, write)?,
        };
        if kept { Ok(()) } else { Err(RecordError::TakenOver(thread)) }
    }

    /// Says that a tool call begins now, which lasts before it does.
    ///
    /// # Errors
    /// When another process has taken the thread over.
    pub fn begin_effect(&self, fence: Fence, thread: &str, call: CallId) -> Result<()> {
        let begun = self.write(|session| {
            let sql = "UPDATE agent_effect SET state = 'started' WHERE home = ?1 AND thread = ?2 AND call = ?3 \
                       AND EXISTS (SELECT 1 FROM agent_thread t WHERE t.home = ?1 AND t.id = ?2 AND t.fence = ?4)";
            session.execute(sql, &[self.home(), thread.into(), call.to_string().into(), fence.0.into()])
        })?;
        if begun == 1 { Ok(()) } else { Err(RecordError::TakenOver(thread.to_owned())) }
    }

    /// What a tool call came to so far.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn effect(&self, thread: &str, call: CallId) -> Result<Option<Effect>> {
        let sql = "SELECT state, result FROM agent_effect WHERE home = ?1 AND thread = ?2 AND call = ?3";
        let rows = self.read(|session| session.query(sql, &[self.home(), thread.into(), call.to_string().into()]))?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(match (row[0].text(), row[1].maybe_text()) {
            ("intent", _) => Effect::Intended,
            ("over", Some(result)) => {
                Effect::Over(serde_json::from_str(result).map_err(|error| unreadable(thread, &error))?)
            }
            _ => Effect::Started,
        }))
    }

    /// A thread without its state.
    ///
    /// # Errors
    /// When there is none with that id.
    pub fn thread(&self, id: &str) -> Result<Thread> {
        let sql = format!("SELECT {THREAD} FROM agent_thread WHERE home = ?1 AND id = ?2");
        let rows = self.read(|session| session.query(&sql, &[self.home(), id.into()]))?;
        rows.first().map(thread_of).ok_or_else(|| RecordError::NoThread(id.to_owned()))
    }

    /// Some threads, the newest first: those behind one of them, where it is named.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn threads_after(&self, after: Option<&str>, most: usize) -> Result<Vec<Thread>> {
        let at = "(SELECT a.updated_at FROM agent_thread a WHERE a.home = ?1 AND a.id = ?3)";
        let behind = format!(" AND (updated_at < {at} OR (updated_at = {at} AND id > ?3))");
        let behind = if after.is_some() { behind.as_str() } else { "" };
        let sql =
            format!("SELECT {THREAD} FROM agent_thread WHERE home = ?1{behind} ORDER BY updated_at DESC, id LIMIT ?2");
        let mut values = vec![self.home(), i64::try_from(most).unwrap_or(i64::MAX).into()];
        values.extend(after.map(Value::from));
        Ok(self.read(|session| session.query(&sql, &values))?.iter().map(thread_of).collect())
    }

    /// The ids that begin so, some of them.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn begins(&self, with: &str) -> Result<Vec<String>> {
        let sql =
            "SELECT id FROM agent_thread WHERE home = ?1 AND substr(id, 1, length(?2)) = ?2 ORDER BY id LIMIT 100";
        let rows = self.read(|session| session.query(sql, &[self.home(), with.into()]))?;
        Ok(rows.iter().map(|row| row[0].text().to_owned()).collect())
    }

    /// Ends a thread. Whoever runs it can write nothing more.
    ///
    /// # Errors
    /// When there is none, or it is over.
    pub fn cancel(&self, thread: &str) -> Result<()> {
        // At once: what comes to its end meanwhile stays as it ended, and who resumes it sees it before or is too late.
        let sql = "UPDATE agent_thread SET status = 'cancelled', told = NULL, fence = fence + 1, updated_at = ?3 \
                   WHERE home = ?1 AND id = ?2 AND status NOT IN ('done', 'cancelled')";
        if self.write(|session| session.execute(sql, &[self.home(), thread.into(), now().into()]))? == 1 {
            return Ok(());
        }
        let status = self.thread(thread)?.status;
        Err(RecordError::Over { thread: thread.to_owned(), status })
    }

    /// Forgets a thread with everything that was recorded of it. Whoever runs it can write nothing more.
    ///
    /// # Errors
    /// When it cannot be removed; then all of it is still there.
    pub fn forget(&self, thread: &str) -> Result<()> {
        let values = [self.home(), thread.into()];
        self.write(|session| {
            for table in ["agent_checkpoint", "agent_step", "agent_effect"] {
                session.execute(&format!("DELETE FROM {table} WHERE home = ?1 AND thread = ?2"), &values)?;
            }
            session.execute("DELETE FROM agent_thread WHERE home = ?1 AND id = ?2", &values)
        })?;
        Ok(())
    }

    /// The task of a new turn, with its model and what it may do at most. The thread is at work from now on, whenever its process ends.
    ///
    /// # Errors
    /// When another process has taken the thread over.
    pub fn set_task(&self, fence: Fence, thread: &Thread) -> Result<()> {
        let sql = "UPDATE agent_thread SET prompt = ?1, bounds = ?2, model = ?3, status = 'running', told = NULL, updated_at = ?4 \
                   WHERE home = ?5 AND id = ?6 AND fence = ?7";
        let values = [
            thread.prompt.as_str().into(),
            bounds_text(thread)?.into(),
            thread.model.as_str().into(),
            now().into(),
            self.home(),
            thread.thread_id.as_str().into(),
            fence.0.into(),
        ];
        let set = self.write(|session| session.execute(sql, &values))?;
        if set == 1 { Ok(()) } else { Err(RecordError::TakenOver(thread.thread_id.clone())) }
    }

    /// A checkpoint of a thread, the last one where `n` is not given; nothing where there is none yet.
    ///
    /// # Errors
    /// When there is no such thread or checkpoint, or it cannot be read.
    pub fn checkpoint(&self, thread: &str, n: Option<u64>) -> Result<Option<Checkpoint>> {
        let about = self.thread(thread)?;
        let wanted = n.unwrap_or(about.checkpoints);
        if wanted == 0 {
            return Ok(None);
        }
        let sql = format!("SELECT {CHECKPOINT} FROM agent_checkpoint WHERE home = ?1 AND thread = ?2 AND n = ?3");
        let values: [Value; 3] = [self.home(), thread.into(), int(wanted).into()];
        let (rows, steps, task) = self.read(|session| {
            let rows = session.query(&sql, &values)?;
            // The steps of a turn begin with its id.
            let turn = rows.first().map(|row| row[4].text().to_owned()).unwrap_or_default();
            let [home, thread, n] = values.clone();
            let task = self.task_of(session, &thread, &turn)?;
            let range = [home, thread, n, format!("{turn}.").into(), format!("{turn}/").into()];
            Ok((rows, session.query(STEPS_AT, &range)?, task))
        })?;
        let row = rows.first().ok_or_else(|| RecordError::NoCheckpoint { thread: thread.to_owned(), n: wanted })?;
        checkpoint_of(row, &steps, &about, task)
            .map(Some)
            .map_err(|why| RecordError::Unreadable { thread: thread.to_owned(), why })
    }

    /// The task of a turn as the Gatekeeper let it in; nothing where none was kept with it.
    fn task_of(&self, session: &mut dyn Session, thread: &Value, turn: &str) -> Result<Option<String>, DbError> {
        #[derive(serde::Deserialize)]
        struct Kept {
            input_prompt: String,
        }
        // A turn is called after its first checkpoint.
        let Some(first) = turn.strip_prefix('t').and_then(|n| n.parse::<i64>().ok()) else { return Ok(None) };
        let sql = "SELECT state FROM agent_checkpoint WHERE home = ?1 AND thread = ?2 AND n = ?3";
        let rows = session.query(sql, &[self.home(), thread.clone(), first.into()])?;
        let kept = rows.first().and_then(|row| serde_json::from_str::<Kept>(row[0].text()).ok());
        Ok(kept.map(|kept| kept.input_prompt).filter(|task| !task.is_empty()))
    }

    /// Some checkpoints of a thread in order, those behind `after`; each with its own state but without its steps.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn checkpoints_after(&self, thread: &str, after: u64, most: usize) -> Result<Vec<Checkpoint>> {
        let about = self.thread(thread)?;
        let sql = format!(
            "SELECT {CHECKPOINT} FROM agent_checkpoint WHERE home = ?1 AND thread = ?2 AND n > ?3 ORDER BY n LIMIT ?4"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values = [self.home(), thread.into(), int(after).into(), most.into()];
        let (rows, tasks) = self.read(|session| {
            let rows = session.query(&sql, &values)?;
            let mut tasks = BTreeMap::new();
            for turn in rows.iter().map(|row| row[4].text()) {
                if !tasks.contains_key(turn) {
                    tasks.insert(turn.to_owned(), self.task_of(session, &thread.into(), turn)?);
                }
            }
            Ok((rows, tasks))
        })?;
        let unreadable = |why| RecordError::Unreadable { thread: thread.to_owned(), why };
        let task = |row: &Row| tasks.get(row[4].text()).cloned().flatten();
        rows.iter().map(|row| checkpoint_of(row, &[], &about, task(row)).map_err(unreadable)).collect()
    }

    /// Which nodes the model answered so far in the turn that is under way, in order: how far a script is.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn askers(&self, thread: &str) -> Result<Vec<Asker>> {
        let rows = self.read(|session| session.query(ASKED, &[self.home(), thread.into()]))?;
        let asker = |row: &Row| serde_json::from_str(row[0].text()).map_err(|error| unreadable(thread, &error));
        rows.iter().map(asker).collect()
    }

    /// Copies a thread up to a checkpoint under another id, all of it or nothing. The last of them has another state, and perhaps another node that comes.
    ///
    /// # Errors
    /// When there is no such checkpoint, or the new id is taken.
    pub fn fork(&self, from: &str, n: u64, to: &Thread, (next, state): &(NodeName, AgentState)) -> Result<()> {
        let Some(checkpoint) = self.checkpoint(from, Some(n))? else {
            return Err(RecordError::NoCheckpoint { thread: from.to_owned(), n });
        };
        let state =
            serde_json::to_string(&shallow(checkpoint.node, state)).map_err(|error| unreadable(from, &error))?;
        let thread = self.thread_values(to)?;
        let last: [Value; 5] =
            [self.home(), to.thread_id.as_str().into(), int(n).into(), next.name().into(), state.into()];
        let values = [self.home(), from.into(), int(n).into(), to.thread_id.as_str().into()];
        // A thread without its checkpoints would do the whole task again.
        let made = self.write(|session| {
            let made = session.execute(NEW_THREAD, &thread)?;
            if made == 1 {
                for sql in [FORK_CHECKPOINTS, FORK_STEPS, FORK_EFFECTS] {
                    session.execute(sql, &values)?;
                }
                session.execute(FORK_LAST, &last)?;
                session.execute("UPDATE agent_thread SET last_n = ?3 WHERE home = ?1 AND id = ?2", &last[..3])?;
            }
            Ok(made)
        })?;
        if made == 1 { Ok(()) } else { Err(RecordError::Exists(to.thread_id.clone())) }
    }
}

const NEW_THREAD: &str = "INSERT INTO agent_thread (home, id, agent, user_id, prompt, status, told, model, created_at, updated_at, fence, \
     last_n, parent, parent_n, bounds) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?12, ?7, ?8, ?8, 0, 0, ?9, ?10, ?11) ON CONFLICT DO NOTHING";

const THREAD: &str =
    "id, agent, user_id, prompt, status, told, model, created_at, updated_at, last_n, parent, parent_n, bounds";

const CHECKPOINT: &str = "n, node, next, state, turn, seq, outbox, asked, answer";

/// Of a turn whose task is known and whose first node is not done there is nothing yet.
const ASKED: &str = "SELECT c.asked FROM agent_thread t \
     JOIN agent_checkpoint l ON l.home = t.home AND l.thread = t.id AND l.n = t.last_n \
     JOIN agent_checkpoint c ON c.home = t.home AND c.thread = t.id AND c.turn = l.turn \
     WHERE t.home = ?1 AND t.id = ?2 AND c.asked IS NOT NULL AND NOT (l.next = 'end' AND t.status = 'running') ORDER BY c.n";

/// Of each step the newest row that is not newer than the checkpoint.
const STEPS_AT: &str = "SELECT s.id, s.step FROM agent_step s WHERE s.home = ?1 AND s.thread = ?2 \
     AND s.id >= ?4 AND s.id < ?5 AND s.n = \
     (SELECT MAX(m.n) FROM agent_step m WHERE m.home = ?1 AND m.thread = ?2 AND m.id = s.id AND m.n <= ?3)";

const FORK_CHECKPOINTS: &str = "INSERT INTO agent_checkpoint (home, thread, n, node, next, state, turn, seq, outbox, asked, answer, at) \
     SELECT home, ?4, n, node, next, state, turn, seq, outbox, asked, answer, at FROM agent_checkpoint \
     WHERE home = ?1 AND thread = ?2 AND n <= ?3";
/// What was said is in the conversation of the fork already.
const FORK_LAST: &str =
    "UPDATE agent_checkpoint SET next = ?4, state = ?5, outbox = NULL WHERE home = ?1 AND thread = ?2 AND n = ?3";
const FORK_STEPS: &str = "INSERT INTO agent_step (home, thread, id, n, step) SELECT home, ?4, id, n, step FROM agent_step \
     WHERE home = ?1 AND thread = ?2 AND n <= ?3";
const FORK_EFFECTS: &str = "INSERT INTO agent_effect (home, thread, call, n, tool, state, result) \
     SELECT home, ?4, call, n, tool, state, result FROM agent_effect WHERE home = ?1 AND thread = ?2 AND n <= ?3 AND state = 'over'";

fn bounds_text(thread: &Thread) -> Result<String> {
    serde_json::to_string(&thread.bounds).map_err(|error| unreadable(&thread.thread_id, &error))
}

fn unreadable(thread: &str, error: &serde_json::Error) -> RecordError {
    RecordError::Unreadable { thread: thread.to_owned(), why: error.to_string() }
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn uint(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
