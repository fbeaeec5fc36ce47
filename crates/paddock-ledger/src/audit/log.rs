//! The audit as the rest of the program has it: rows go in, and can be looked at.
//!
//! A row of an effect is in the database when its call returns. All others wait in a queue, so that the caller pays for copying a few
//! texts, and a thread of its own writes them: after a tenth of a second, or when there are many. What the history has to
//! write waits in the same queue and goes with them, so that an effect costs two transactions. When the queue is
//! full the caller writes. If even that fails the row is counted, and the count becomes a row once the database is back.
//!
//! Every text of a row passes the [`Redactor`] before it waits: what is signed never holds the value of a secret.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_core::{AgentName, Audit, CallId, CallRecord, LogicalPath, StoreError};
use paddock_db::{Durability, Postgres, Sqlite};
use paddock_state::Redactor;

use super::error::AuditError;
use super::key::AuditKey;
use super::outside::{Look, Outside, Seen};
use super::query::{self, Count, Filter, Follow, Page};
use super::queue::{Queue, Waiting};
use super::row::{Kind, Row};
use super::storage::{Result, Storage};
use super::verify::{self, Finding, Report};
use super::writer::{self, Book, Writer};
use paddock_db::statements::Deed;

/// How long rows wait for others to be written with them.
const GATHERED: Duration = Duration::from_millis(100);

/// So many do not wait any longer.
const MANY: usize = 256;

/// How long to leave a database alone that has just failed, and the least time between two outside heads.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a writer waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// The audit of this process. Making one touches nothing; dropping it writes what waits and closes the chain.
pub struct AuditLog {
    inner: Arc<Inner>,
    redactor: Redactor,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    book: Book,
    front: Mutex<Front>,
    bell: Condvar,
    writer: Mutex<Writer>,
}

/// What callers touch, and only for a moment.
#[derive(Default)]
struct Front {
    queue: Queue,
    /// How many rows and notes of the history ever waited, and how many of them are in the database.
    pushed: u64,
    kept: u64,
    /// Rows that could not be kept.
    lost: u64,
    /// Was it looked whether earlier processes left some unwritten? Those that a row tells of as soon as it is kept.
    asked: bool,
    earlier: u64,
    /// Rows of this process that were left for a later one to tell of.
    left: u64,
    failed: Option<Instant>,
    outside_due: bool,
    started: bool,
    asleep: bool,
    stop: bool,
}

impl AuditLog {
    /// The audit in a SQLite database that has [`super::SQLITE_SCHEMA`] among its schemas.
    ///
    /// `outside` is the file of the outside head: one for each database, beside the key. `durability` is the database's own.
    pub fn sqlite(db: Sqlite, durability: Durability, key: AuditKey, outside: PathBuf, redactor: Redactor) -> Self {
        Self::new(Box::new(db), durability, key, outside, redactor)
    }

    /// The audit in a PostgreSQL database that has [`super::POSTGRES_SCHEMA`] among its schemas. Every machine has the same key, and an
    /// outside head of its own.
    pub fn postgres(db: Postgres, key: AuditKey, outside: PathBuf, redactor: Redactor) -> Self {
        Self::new(Box::new(db), Durability::Disk, key, outside, redactor)
    }

    fn new(
        storage: Box<dyn Storage>,
        durability: Durability,
        key: AuditKey,
        outside: PathBuf,
        redactor: Redactor,
    ) -> Self {
        let outside = Outside { path: outside, sync: durability == Durability::Disk };
        let inner = Inner {
            book: Book { storage, key, outside },
            front: Mutex::default(),
            bell: Condvar::new(),
            writer: Mutex::default(),
        };
        Self { inner: Arc::new(inner), redactor, flusher: Mutex::new(None) }
    }

    /// Keeps that an effect is about to be tried, by an agent or by a person on its Workspaces. Durable with what comes next and waits for it: the record of the effect,
    /// what the history has to have before it, or [`Self::flush`].
    pub fn intent(
        &self,
        call: CallId,
        (agent, by): (&AgentName, Option<&str>),
        op: &str,
        path: &str,
        workspace: Option<&LogicalPath>,
        at: SystemTime,
    ) -> Result<()> {
        let row = Waiting {
            at: millis(at),
            kind: Kind::Intent,
            call,
            agent: agent.as_str(),
            by,
            tool: op,
            workspace: workspace.map(LogicalPath::as_str),
            path,
            outcome: "",
            reason: "",
            risk: None,
            bytes: 0,
            took_us: 0,
        };
        self.keep(&row, true, None)
    }

    /// Has something written for the history, in the same database. `until` given: returns when it is, and everything before it.
    pub(crate) fn note(&self, deed: Deed, until: Option<Instant>) -> Result<()> {
        let mut front = lock(&self.inner.front);
        if front.queue.is_full() {
            front = self.inner.make_room(front);
            if front.queue.is_full() {
                return Err(AuditError::Behind);
            }
        }
        front.queue.push_deed(deed);
        self.pushed(front, until)
    }

    /// Writes everything that waits.
    pub fn flush(&self) -> Result<()> {
        let front = lock(&self.inner.front);
        let (pushed, kept) = (front.pushed, front.kept);
        drop(front);
        if pushed == kept {
            return Ok(());
        }
        self.inner.write_upto(pushed, Instant::now() + PATIENCE)
    }

    /// Checks every signature, in one snapshot and in constant memory. What was found wrong is in the report.
    pub fn verify(&self) -> Result<Report> {
        let book = &self.inner.book;
        self.flush()?;
        // Before the snapshot: what the outside head has seen is then in it.
        let mut seen = book.outside.look(&book.key)?;
        loop {
            let report = verify::verify(book, &seen)?;
            if !report.findings.contains(&Finding::OutsideMissing) {
                return Ok(report);
            }
            // The first process of all may have made it meanwhile.
            seen = book.outside.look(&book.key)?;
            if matches!(seen, Look::Missing) {
                return Ok(report);
            }
        }
    }

    /// Rows by filter, the oldest first.
    pub fn query(&self, filter: &Filter) -> Result<Page> {
        query::query(&*self.inner.book.storage, filter)
    }

    /// The last `n` rows that fit the filter, the oldest first; its `after` and `limit` are not looked at.
    pub fn tail(&self, filter: &Filter, n: usize) -> Result<Vec<Row>> {
        query::tail(&*self.inner.book.storage, filter, n)
    }

    /// How many calls ended how, from a moment on, by spans of so many milliseconds.
    pub fn counts(&self, since: i64, step: i64) -> Result<Vec<Count>> {
        query::counts(&*self.inner.book.storage, since, step)
    }

    /// Begins to follow the rows that come from now on.
    pub fn follow(&self) -> Result<Follow> {
        Follow::from_now(&*self.inner.book.storage)
    }

    /// The rows that came since the last time.
    pub fn poll(&self, follow: &mut Follow) -> Result<Vec<Row>> {
        follow.poll(&*self.inner.book.storage)
    }

    /// Writes every row as one line of JSON, chain by chain; gives how many.
    pub fn export(&self, out: &mut dyn Write) -> Result<u64> {
        query::export(&*self.inner.book.storage, out)
    }

    /// Takes the database as it is, although the outside head says that it was rolled back or is itself gone: for a person who
    /// put back a copy. That it was done stays in the register, so it is refused where nothing is wrong. What else is wrong in the
    /// database stays wrong.
    pub fn accept(&self) -> Result<()> {
        let book = &self.inner.book;
        if self.verify()?.is_ok() {
            return Err(AuditError::NothingToAccept);
        }
        let mut writer = lock(&self.inner.writer);
        let _lock = book.outside.lock()?;
        let said = match book.outside.look(&book.key)? {
            Look::Found(seen) => seen,
            Look::Missing | Look::Forged => Seen::nothing(),
        };
        let seen = writer::accept(book, &said, now(), Instant::now() + PATIENCE)?;
        writer.forget();
        book.outside.replace(&book.key, &seen)
    }

    pub(super) fn book(&self) -> &Book {
        &self.inner.book
    }

    /// How many rows could not be kept so far and are not told of in a row either.
    pub fn lost(&self) -> u64 {
        lock(&self.inner.front).lost
    }

    /// Writes everything that waits and closes the chain; what drop does, with an answer.
    pub fn close(self) -> Result<()> {
        self.finish()
    }

    fn finish(&self) -> Result<()> {
        lock(&self.inner.front).stop = true;
        self.inner.bell.notify_all();
        if let Some(flusher) = lock(&self.flusher).take() {
            let _ = flusher.join();
        }
        self.flush().inspect_err(|_| self.inner.leave())?;
        let mut writer = lock(&self.inner.writer);
        if writer.mark().is_none() {
            return Ok(());
        }
        writer.close(&self.inner.book, now(), Instant::now() + PATIENCE)?;
        drop(writer);
        self.inner.move_outside()
    }

    /// Takes the values of secrets out of every text of a row, and keeps it.
    fn keep(&self, row: &Waiting<'_>, effect: bool, until: Option<Instant>) -> Result<()> {
        if self.redactor.is_empty() {
            return self.queue(row, effect, until);
        }
        let clean = |text| self.redactor.text(text);
        let (workspace, by) = (row.workspace.map(clean), row.by.map(clean));
        let row = Waiting {
            agent: &clean(row.agent),
            by: by.as_deref(),
            tool: &clean(row.tool),
            workspace: workspace.as_deref(),
            path: &clean(row.path),
            outcome: &clean(row.outcome),
            reason: &clean(row.reason),
            ..*row
        };
        self.queue(&row, effect, until)
    }

    /// `effect`: it is an error when there is no room for it.
    fn queue(&self, row: &Waiting<'_>, effect: bool, until: Option<Instant>) -> Result<()> {
        let mut front = lock(&self.inner.front);
        if front.queue.is_full() {
            front = self.inner.make_room(front);
            if front.queue.is_full() {
                front.lost += 1;
                return if effect { Err(AuditError::Lost(front.lost)) } else { Ok(()) };
            }
        }
        front.queue.push(row);
        self.pushed(front, until)
    }

    /// Something was put into the queue, and is waited for or not.
    fn pushed<'a>(&'a self, mut front: MutexGuard<'a, Front>, until: Option<Instant>) -> Result<()> {
        front.pushed += 1;
        let ticket = front.pushed;
        if let Some(until) = until {
            drop(front);
            self.inner.write_upto(ticket, until)?;
            front = lock(&self.inner.front);
        }
        self.wake(&mut front);
        Ok(())
    }

    /// Sees to it that the flusher comes. It is woken when it sleeps and when there are many rows, not for each.
    fn wake(&self, front: &mut Front) {
        if !front.started {
            front.started = true;
            self.start();
        } else if front.asleep || front.queue.len() == MANY {
            front.asleep = false;
            self.inner.bell.notify_one();
        }
    }

    /// Without a thread the queue fills up, and then callers write.
    fn start(&self) {
        let inner = Arc::clone(&self.inner);
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || inner.run());
        *lock(&self.flusher) = thread.ok();
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("outside", &self.inner.book.outside.path()).finish_non_exhaustive()
    }
}

impl Audit for AuditLog {
    fn record(&self, record: &CallRecord<'_>) -> Result<(), StoreError> {
        let row = Waiting {
            at: now(),
            kind: Kind::Outcome,
            call: record.call,
            agent: record.agent.as_str(),
            by: record.by,
            tool: record.tool,
            workspace: record.workspace.map(LogicalPath::as_str),
            path: record.path,
            outcome: record.outcome,
            reason: record.reason,
            risk: record.risk,
            bytes: record.bytes,
            took_us: u64::try_from(record.took.as_micros()).unwrap_or(u64::MAX),
        };
        let until = record.effect.then(|| Instant::now() + PATIENCE);
        Ok(self.keep(&row, record.effect, until)?)
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(Self::flush(self).inspect_err(|_| self.inner.leave())?)
    }

    fn is_free(&self) -> bool {
        self.inner.writer.try_lock().is_ok() && self.inner.book.storage.is_free()
    }
}

impl Inner {
    /// Returns when the first `ticket` rows that ever waited are in the database. Who comes while others write finds its rows
    /// written with theirs.
    fn write_upto(&self, ticket: u64, until: Instant) -> Result<()> {
        let mut writer = lock(&self.writer);
        while writer.kept() < ticket {
            if writer.is_done() {
                let mut front = lock(&self.front);
                self.ask_for_earlier(&mut front);
                tell_lost(&mut front);
                let pushed = front.pushed;
                writer.take(&mut front.queue, pushed);
            }
            let outcome = writer.write_some(&self.book, now(), until);
            let mut front = lock(&self.front);
            front.failed = outcome.is_err().then(Instant::now);
            front.kept = writer.kept();
            outcome?;
            front.outside_due = true;
            if writer.is_done() {
                self.told(&mut front);
            }
        }
        Ok(())
    }

    /// What earlier processes could not write is lost; this one tells of it.
    fn ask_for_earlier(&self, front: &mut Front) {
        if !front.asked {
            front.asked = true;
            front.earlier = self.book.outside.lost();
            front.lost += front.earlier;
        }
    }

    /// The row that tells of what was lost is kept, and with it everything that was left. A number that cannot be put back
    /// tells too much the next time, and never too little.
    fn told(&self, front: &mut Front) {
        let told = std::mem::take(&mut front.earlier) + std::mem::take(&mut front.left);
        if told > 0 {
            let _ = self.book.outside.told_lost(told);
        }
    }

    /// Nothing can be written and the end has come: the next process that can has to tell of it.
    fn leave(&self) {
        let writer = lock(&self.writer);
        let mut front = lock(&self.front);
        let unwritten = (writer.unwritten() + front.queue.len()) as u64 + front.lost - front.earlier.min(front.lost);
        let more = unwritten.saturating_sub(front.left);
        if more > 0 && self.book.outside.add_lost(more).is_ok() {
            front.left += more;
        }
    }

    /// The queue is full: the caller writes, unless that has just failed.
    fn make_room<'a>(&'a self, front: MutexGuard<'a, Front>) -> MutexGuard<'a, Front> {
        if front.failed.is_some_and(|when| when.elapsed() < PAUSE) {
            return front;
        }
        let pushed = front.pushed;
        drop(front);
        // What comes of it shows in the queue.
        let _ = self.write_upto(pushed, Instant::now() + PATIENCE);
        lock(&self.front)
    }

    fn move_outside(&self) -> Result<()> {
        let own = lock(&self.writer).mark();
        self.book.outside.advance(&self.book.key, &*self.book.storage, own)
    }

    /// The flusher: sleeps, gathers, writes.
    fn run(&self) {
        let mut moved = Instant::now();
        // The first rows do not wait for others: they open the database before somebody waits for it.
        let first = lock(&self.front).pushed;
        let _ = self.write_upto(first, Instant::now() + PATIENCE);
        while let Some(pushed) = self.gather() {
            let written = self.write_upto(pushed, Instant::now() + PATIENCE);
            if written.is_ok() && moved.elapsed() >= PAUSE {
                moved = Instant::now();
                lock(&self.front).outside_due = false;
                // It is tried again with the next rows and at the end; until then what it would show is not shown.
                let _ = self.move_outside();
            }
        }
    }

    /// Waits until something is to be done; nothing when it is time to stop.
    fn gather(&self) -> Option<u64> {
        let mut front = lock(&self.front);
        while !front.stop && front.pushed == front.kept && !front.outside_due {
            front.asleep = true;
            front = self.bell.wait(front).unwrap_or_else(PoisonError::into_inner);
        }
        front.asleep = false;
        let (pause, many) = if front.failed.is_some() { (PAUSE, usize::MAX) } else { (GATHERED, MANY) };
        let until = Instant::now() + pause;
        while !front.stop && front.queue.len() < many {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            front = match self.bell.wait_timeout(front, left) {
                Ok((front, _)) => front,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        (!front.stop).then_some(front.pushed)
    }
}

/// Says in a row how many could not be kept.
fn tell_lost(front: &mut Front) {
    if front.lost == 0 {
        return;
    }
    let (bytes, at) = (std::mem::take(&mut front.lost), now());
    front.queue.push(&Waiting {
        at,
        kind: Kind::Gap,
        call: CallId(0),
        agent: "",
        by: None,
        tool: "",
        workspace: None,
        path: "",
        outcome: "lost",
        reason: "database",
        risk: None,
        bytes,
        took_us: 0,
    });
}

pub(super) fn now() -> i64 {
    millis(SystemTime::now())
}

fn millis(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

/// Locks; what a panicking thread left behind is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
