//! Waiting for what others change.
//!
//! A topic is a number in a table, counted up by the transactions that concern it: that is the truth, and whoever
//! missed a message still sees it. `NOTIFY` only says that it is worth looking. It is sent after the commit, since a
//! transaction that holds one makes the commits of all others wait in line. Where a pooler is between, nobody can
//! `LISTEN`, and one thread looks at the numbers often; elsewhere it looks when called, and rarely on its own.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio_postgres::AsyncMessage;

use super::{Inner, Postgres, wait};
use crate::{DbError, Result};

/// The numbers of the topics.
pub(super) const TABLE: &str = "\
CREATE TABLE paddock_topic (
    topic text PRIMARY KEY,
    count bigint NOT NULL
) WITH (fillfactor = 50)";

/// Counts topics up, in an order that is the same for all, so that two do not wait for each other.
pub(super) const COUNT: &str = "\
INSERT INTO paddock_topic (topic, count) SELECT topic, 1 FROM unnest($1::text[]) AS topic ORDER BY topic \
ON CONFLICT (topic) DO UPDATE SET count = paddock_topic.count + 1";

const LOOK: &str = "SELECT topic, count FROM paddock_topic WHERE topic = ANY($1)";

/// How often the numbers are looked at where nobody calls.
const OFTEN: Duration = Duration::from_millis(200);
/// How often they are looked at although nobody called.
const RARELY: Duration = Duration::from_secs(5);
/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who waits for what, and the thread that looks.
#[derive(Debug, Default)]
pub(super) struct Hub {
    state: Mutex<State>,
    /// The numbers have changed, for those who wait.
    changed: Condvar,
    /// It is worth looking, for the thread.
    called: Condvar,
}

#[derive(Debug, Default)]
struct State {
    topics: HashMap<String, Topic>,
    /// Whether the thread runs.
    looking: bool,
    /// Whether somebody called since the last look.
    call: bool,
    /// Whether calls arrive at all just now.
    listening: bool,
}

#[derive(Debug, Default)]
struct Topic {
    count: i64,
    watches: usize,
}

/// Waits for the changes of one topic, from when it was made.
#[derive(Debug)]
pub struct Watch {
    database: Postgres,
    topic: String,
    seen: i64,
}

impl Watch {
    pub(super) fn new(database: &Postgres, topic: &str, until: Instant) -> Result<Self> {
        let hub = &database.inner.hub;
        hub.lock().topics.entry(topic.to_owned()).or_default().watches += 1;
        let mut watch = Self { database: database.clone(), topic: topic.to_owned(), seen: 0 };
        let counts = database.counts(&[topic.to_owned()], until)?;
        watch.seen = counts.get(topic).copied().unwrap_or_default();
        hub.learn(&counts);
        start(&database.inner);
        Ok(watch)
    }

    /// Waits for a change since the last one that was seen; false when `until` passes first.
    pub fn wait(&mut self, until: Instant) -> bool {
        let hub = &self.database.inner.hub;
        let mut state = hub.lock();
        loop {
            let count = state.topics.get(&self.topic).map_or(0, |topic| topic.count);
            if count > self.seen {
                self.seen = count;
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = hub.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.database.inner.hub.lock();
        if let Some(topic) = state.topics.get_mut(&self.topic) {
            topic.watches -= 1;
            if topic.watches == 0 {
                state.topics.remove(&self.topic);
            }
        }
        drop(state);
        self.database.inner.hub.call();
    }
}

impl Postgres {
    /// The numbers of topics; those never counted are not in it.
    fn counts(&self, topics: &[String], until: Instant) -> Result<HashMap<String, i64>> {
        self.read(until, |tx| {
            let rows = tx.query(LOOK, &[&topics])?;
            Ok::<_, DbError>(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
        })
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, counts: &HashMap<String, i64>) {
        let mut state = self.lock();
        for (name, count) in counts {
            if let Some(topic) = state.topics.get_mut(name) {
                topic.count = topic.count.max(*count);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Says that it is worth looking.
    fn call(&self) {
        self.lock().call = true;
        self.called.notify_all();
    }

    fn listens(&self, listening: bool) {
        self.lock().listening = listening;
        self.call();
    }

    /// Waits until a look is due; the topics to look at, none when nobody watches any more.
    fn due(&self) -> Option<Vec<String>> {
        let mut state = self.lock();
        let pause = if state.listening { RARELY } else { OFTEN };
        let end = Instant::now() + pause;
        loop {
            if state.topics.is_empty() {
                state.looking = false;
                return None;
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.call || left.is_zero() {
                state.call = false;
                return Some(state.topics.keys().cloned().collect());
            }
            state = self.called.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Starts the thread that looks, unless it runs.
fn start(inner: &Arc<Inner>) {
    let mut state = inner.hub.lock();
    if state.looking {
        return;
    }
    let database = Arc::downgrade(inner);
    let look = move || look_while_watched(&database);
    // Without the thread a watch sees nothing before its deadline, as if nothing had happened.
    state.looking = thread::Builder::new().name("paddock-watch".to_owned()).spawn(look).is_ok();
}

fn look_while_watched(database: &Weak<Inner>) {
    let mut listener = Listener::default();
    loop {
        let Some(inner) = database.upgrade() else { return };
        if !inner.connector.is_pooled() {
            listener.keep(&inner);
        }
        let Some(topics) = inner.hub.due() else { return };
        // A server that is away is asked again at the next look; those who watch have their own deadline.
        if let Ok(counts) = (Postgres { inner: inner.clone() }).counts(&topics, Instant::now() + PATIENCE) {
            inner.hub.learn(&counts);
        }
    }
}

/// The connection that hears calls.
#[derive(Default)]
struct Listener {
    ears: Option<(tokio_postgres::Client, tokio::task::JoinHandle<()>)>,
}

impl Listener {
    /// Opens it when there is none; where it cannot be opened, the numbers are looked at often.
    fn keep(&mut self, inner: &Arc<Inner>) {
        if self.ears.as_ref().is_some_and(|(client, _)| !client.is_closed()) {
            return;
        }
        self.ears = listen(inner);
        inner.hub.listens(self.ears.is_some());
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.ears {
            task.abort();
        }
    }
}

fn listen(inner: &Arc<Inner>) -> Option<(tokio_postgres::Client, tokio::task::JoinHandle<()>)> {
    let deadline = Instant::now() + PATIENCE;
    let (client, mut wire) = inner.connector.dial(deadline).ok()?;
    let hearer = Arc::downgrade(inner);
    let task = wait::driver().ok()?.spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| wire.poll_message(context)).await {
            if let (AsyncMessage::Notification(_), Some(inner)) = (message, hearer.upgrade()) {
                inner.hub.call();
            }
        }
        if let Some(inner) = hearer.upgrade() {
            inner.hub.listens(false);
        }
    });
    let sql = format!("LISTEN {}", channel(&inner.connector.settings.schema));
    match wait::until(deadline, client.batch_execute(&sql)) {
        Some(Ok(())) => Some((client, task)),
        _ => {
            task.abort();
            None
        }
    }
}

/// What calls are sent on.
fn channel(schema: &str) -> String {
    format!("{schema}_topics")
}

/// Calls those who listen.
pub(super) fn calling(schema: &str) -> String {
    format!("NOTIFY {}", channel(schema))
}
