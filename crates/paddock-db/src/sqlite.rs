//! A SQLite database: one writer and pooled readers, opened when first used.
//!
//! # What a commit survives
//!
//! The database keeps a write-ahead log with `synchronous = NORMAL`, whatever the [`Durability`]: a commit is then in the
//! kernel's hands, which is all that [`Durability::Process`] promises. For [`Durability::Disk`] the log is synced after the
//! commit through a descriptor of our own, *after* the turn to write was passed on, so that one sync serves every thread
//! that committed in the meantime. Why that is enough:
//!
//! - All frames of the commit were written to the log before `COMMIT` returned, behind all earlier ones, in one file. A sync
//!   of the file, through whichever descriptor, makes all of them durable, and the log's header before them.
//! - A checkpoint that runs between the commit and our sync moves frames into the database. With `NORMAL` it
//!   syncs the log before it writes the first page, and the database before it allows the log to begin anew. So when our frames are
//!   overwritten, they are already durable where they went, and our sync has nothing left to do.
//! - The log begins anew with a new salt in a header that SQLite syncs before the first frame. Old frames behind it
//!   do not match the salt and are not replayed.
//! - The log is deleted only by the last connection to close, after a full checkpoint, and only if no other connection has the database
//!   open. Our writer does, from before the commit on. When the writer itself is reopened, the descriptor is too; who still
//!   holds the old one syncs a file whose content is durable elsewhere.
//! - The names of database and log are made durable when the writer opens.
//!
//! Others may *read* a commit before it is durable. Whoever builds on what it read inside [`Sqlite::write`] is
//! safe, also if it changed nothing: the sync at the end covers every commit that it saw.
//!
//! Nothing is committed to a database that was taken away, or replaced by another, since it was opened: nobody would find it.
//!
//! A sync that fails leaves open whether the commit survives; the error says so. Nothing is acknowledged afterwards until the whole log
//! has been moved into the database and synced there.
//!
//! # Must never
//!
//! Open the database's file or its `-shm` by itself (see `open.rs`), know what is stored, or acknowledge before it is true.

mod backup;
mod group;
mod migrate;
mod open;
mod queue;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB};

use self::group::{GroupSync, Ticket};
use self::open::Writer;
use self::queue::{Queue, Refused, Turn, beside};
use crate::sync::lock;
use crate::{DbError, Durability, Result, Schema};

/// Connections kept for readers that come; more are opened while more read at once, and closed afterwards.
const IDLE_READERS: usize = 8;

/// How long the first reader waits to make the tables, if nobody did.
const FIRST_USE: Duration = Duration::from_secs(30);

/// Begins a transaction that only reads.
const SNAPSHOT: &str = "BEGIN DEFERRED";

/// Up to this size the log is left for the next process: reading it again is cheaper than the syncs of a checkpoint.
const LOG_LEFT_BEHIND: u64 = 1 << 20;

/// A SQLite database. Cheap to clone; making one touches nothing on the disk.
#[derive(Debug, Clone)]
pub struct Sqlite {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    name: String,
    schemas: Vec<Schema>,
    durability: Durability,
    queue: Queue,
    writer: Mutex<Option<Writer>>,
    readers: Mutex<Vec<Reader>>,
    /// How many readers there ever were.
    opened: AtomicU64,
    group: GroupSync,
    ready: AtomicBool,
}

/// A connection that only reads.
#[derive(Debug)]
struct Reader {
    conn: Connection,
    number: u64,
}

/// What one reader calls the state of the database: while it is the same, nobody has committed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    reader: u64,
    version: i64,
}

impl Stamp {
    /// Whether both are of one reader.
    #[must_use]
    pub fn is_of_the_reader_of(self, other: Self) -> bool {
        self.reader == other.reader
    }
}

impl Sqlite {
    /// The database at `path` with the tables of these owners.
    pub fn new(path: PathBuf, schemas: Vec<Schema>, durability: Durability) -> Self {
        let path = std::path::absolute(&path).unwrap_or(path);
        let shared = Shared {
            name: path.display().to_string(),
            path,
            schemas,
            durability,
            queue: Queue::new(),
            writer: Mutex::new(None),
            readers: Mutex::new(Vec::new()),
            opened: AtomicU64::new(0),
            group: GroupSync::default(),
            ready: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What a statement's error means for this database.
    pub fn error(&self, error: rusqlite::Error) -> DbError {
        DbError::of_sqlite(&self.shared.name, error)
    }

    /// Reads in one snapshot. Many may read at once, also while somebody writes.
    pub fn read<T, E: From<DbError>>(&self, look: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        self.look(|reader| look(&reader.conn))
    }

    /// As [`Self::read`]; what was seen stays true for as long as [`Self::stamp`] answers what is told here.
    pub fn read_stamped<T, E: From<DbError>>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<(T, Stamp), E> {
        self.look(|reader| {
            let stamp = self.stamp_of(reader)?;
            Ok((look(&reader.conn)?, stamp))
        })
    }

    fn look<T, E: From<DbError>>(&self, look: impl FnOnce(&Reader) -> Result<T, E>) -> Result<T, E> {
        let reader = self.reader()?;
        let snapshot = UnderWay::begin(&reader.conn, SNAPSHOT).map_err(|error| self.error(error))?;
        let seen = look(&reader);
        drop(snapshot);
        if reader.conn.is_autocommit() {
            self.put_back(reader);
        }
        seen
    }

    /// What the state of the database is called by a reader that has nothing to do; nothing when there is none. It costs less than a look.
    pub fn stamp(&self) -> Result<Option<Stamp>> {
        let Some(reader) = lock(&self.shared.readers).pop() else { return Ok(None) };
        let stamp = self.stamp_of(&reader)?;
        self.put_back(reader);
        Ok(Some(stamp))
    }

    /// A reader never writes, so that every commit there is gives it another version.
    fn stamp_of(&self, reader: &Reader) -> Result<Stamp> {
        let asked = reader.conn.prepare_cached("PRAGMA data_version");
        let version = asked.and_then(|mut version| version.query_row((), |row| row.get(0)));
        Ok(Stamp { reader: reader.number, version: version.map_err(|error| self.error(error))? })
    }

    /// As [`Self::read`], for one short look: by the writer's connection while nobody writes, since what it wrote is still in
    /// its memory. `look` must touch a few rows at most, and nothing but this connection: who wants to write waits for it.
    pub fn glance<T, E: From<DbError>>(&self, look: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        // Nobody may come first again and again before those who stand in line.
        if self.shared.queue.is_empty()
            && let Ok(mut slot) = self.shared.writer.try_lock()
            && let Some(writer) = slot.as_ref()
        {
            let seen = self.seen_by(writer, look);
            if !writer.conn.is_autocommit() {
                *slot = None;
            }
            return seen;
        }
        self.read(look)
    }

    fn seen_by<T, E: From<DbError>>(
        &self,
        writer: &Writer,
        look: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        writer.conn.busy_timeout(open::PATIENCE).map_err(|error| self.error(error))?;
        let _snapshot = UnderWay::begin(&writer.conn, SNAPSHOT).map_err(|error| self.error(error))?;
        look(&writer.conn)
    }

    /// Changes the database: all of `change` or, when it fails, nothing.
    ///
    /// Waits for its turn among threads and processes, not past `until`. Returns when the change is as durable as was
    /// promised. `change` must be short: everybody else waits for it.
    pub fn write<T, E: From<DbError>>(
        &self,
        until: Instant,
        change: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let (done, ticket, log) = self.commit(until, change)?;
        if self.shared.durability == Durability::Disk {
            let synced = self.shared.group.wait(ticket, || group::sync(&log));
            synced.map_err(|errno| DbError::unsynced(&self.shared.name, errno))?;
        }
        Ok(done)
    }

    /// As [`Self::write`], for a change that the loss of power may take along: it survives the end of the process, and is as
    /// durable as was promised once any later [`Self::write`] returns.
    pub fn write_ahead<T, E: From<DbError>>(
        &self,
        until: Instant,
        change: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.commit(until, change).map(|(done, ..)| done)
    }

    /// Commits, and says by which number and into which log.
    fn commit<T, E: From<DbError>>(
        &self,
        until: Instant,
        change: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<(T, Ticket, Arc<File>), E> {
        let _turn = self.turn(until)?;
        let mut slot = self.writer(until)?;
        let Some(writer) = slot.as_mut() else { return Err(self.busy().into()) };
        let log = writer.log.clone();
        let changed = self.transaction(writer, until, change);
        if changed.is_err() && !writer.conn.is_autocommit() {
            *slot = None;
        }
        // Counted while nobody else can commit.
        Ok((changed?, self.shared.group.committed(), log))
    }

    /// Whether a change would wait for nobody now. Another may come a moment later; a database that was not opened yet is not free.
    ///
    /// Nor for the disk, but for one commit in some hundreds: that with which the log has two thousand pages moves them into the database
    /// and syncs both. Which one that will be is not known before.
    pub fn is_free(&self) -> bool {
        let shared = &*self.shared;
        shared.durability == Durability::Process && shared.ready.load(Ordering::Acquire) && shared.queue.is_free()
    }

    /// Whether every change that this process made is on the disk, as far as it asked. For tests in which the power fails.
    pub fn is_synced(&self) -> bool {
        self.shared.group.is_synced()
    }

    /// What a thorough look finds wrong; nothing when the database is whole, or not there.
    pub fn check(&self) -> Result<Vec<String>> {
        let found = self.findings();
        match found {
            Err(DbError::Corrupt { why, .. }) => Ok(vec![why]),
            other => other,
        }
    }

    /// Copies the database, as it is in one moment, into a new file at `to`. Others go on reading and writing.
    ///
    /// `progress` is told the pages done and the pages in all.
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let reader = self.reader()?;
        backup::copy(&reader.conn, &self.shared.name, to, progress)?;
        self.put_back(reader);
        Ok(())
    }

    fn transaction<T, E: From<DbError>>(
        &self,
        writer: &mut Writer,
        until: Instant,
        change: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let under_way = self.begin(&writer.conn, until)?;
        let done = change(&writer.conn)?;
        if !writer.is_in_place() {
            return Err(DbError::TakenAway { name: self.shared.name.clone() }.into());
        }
        under_way.commit().map_err(|error| self.error(error))?;
        Ok(done)
    }

    /// Somebody may write without standing in line; for them there is SQLite's own waiting.
    fn begin<'c>(&self, conn: &'c Connection, until: Instant) -> Result<UnderWay<'c>> {
        let left = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600));
        let begun = conn.busy_timeout(left).and_then(|()| UnderWay::begin(conn, "BEGIN IMMEDIATE"));
        begun.map_err(|error| self.error(error))
    }

    fn turn(&self, until: Instant) -> Result<Turn<'_>> {
        let shared = &*self.shared;
        match shared.queue.turn(&shared.path, until) {
            Ok(turn) => Ok(turn),
            Err(Refused::Late) => Err(self.busy()),
            Err(Refused::Broken(error)) => Err(DbError::of_io(&shared.name, &error)),
        }
    }

    fn busy(&self) -> DbError {
        DbError::Busy { name: self.shared.name.clone() }
    }

    /// The writer, opened and with the tables made. Called inside the turn to write.
    fn writer(&self, until: Instant) -> Result<MutexGuard<'_, Option<Writer>>> {
        let shared = &*self.shared;
        let mut slot = lock(&shared.writer);
        if slot.is_none() {
            *slot = Some(self.open_writer(until)?);
        } else if shared.group.is_suspect()
            && let Some(writer) = slot.as_ref()
        {
            self.heal(writer)?;
        }
        Ok(slot)
    }

    fn open_writer(&self, until: Instant) -> Result<Writer> {
        let shared = &*self.shared;
        let mut writer = Writer::open(&shared.path, &shared.name, until)?;
        if migrate::pending(&shared.name, &writer.conn, &shared.schemas)? {
            self.transaction(&mut writer, until, |tx| migrate::run(&shared.name, tx, &shared.schemas))?;
        }
        if shared.durability == Durability::Disk {
            writer.keep_names().map_err(|error| DbError::of_io(&shared.name, &error))?;
        }
        shared.ready.store(true, Ordering::Release);
        Ok(writer)
    }

    /// After a failed sync: brings every commit to the disk by another way, or refuses to go on.
    fn heal(&self, writer: &Writer) -> Result<()> {
        let stopped: bool = writer
            .conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))
            .map_err(|error| self.error(error))?;
        if stopped {
            return Err(self.busy());
        }
        self.shared.group.healed();
        Ok(())
    }

    fn reader(&self) -> Result<Reader> {
        let pooled = lock(&self.shared.readers).pop();
        match pooled {
            Some(reader) => Ok(reader),
            None => {
                let conn = self.open_reader()?;
                Ok(Reader { conn, number: self.shared.opened.fetch_add(1, Ordering::Relaxed) })
            }
        }
    }

    fn open_reader(&self) -> Result<Connection> {
        let shared = &*self.shared;
        if shared.ready.load(Ordering::Acquire) {
            if let Some(conn) = open::reader(&shared.path, &shared.name)? {
                return Ok(conn);
            }
        } else if let Some(conn) = open::reader(&shared.path, &shared.name)?
            && !migrate::pending(&shared.name, &conn, &shared.schemas)?
        {
            shared.ready.store(true, Ordering::Release);
            return Ok(conn);
        }
        let until = Instant::now() + FIRST_USE;
        let turn = self.turn(until)?;
        drop(self.writer(until)?);
        drop(turn);
        open::reader(&shared.path, &shared.name)?.ok_or_else(|| DbError::Unreachable {
            name: shared.name.clone(),
            why: "it was deleted while it was being opened".to_owned(),
        })
    }

    fn put_back(&self, reader: Reader) {
        // Opened while the disk was read-only: it would keep it so for all others of this process.
        if reader.conn.is_readonly(MAIN_DB).unwrap_or(true) {
            return;
        }
        let mut readers = lock(&self.shared.readers);
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
    }

    fn findings(&self) -> Result<Vec<String>> {
        let shared = &*self.shared;
        let Some(conn) = open::reader(&shared.path, &shared.name)? else { return Ok(Vec::new()) };
        let look = || -> rusqlite::Result<Vec<String>> {
            let mut found = Vec::new();
            let mut statement = conn.prepare("PRAGMA integrity_check")?;
            for line in statement.query_map((), |row| row.get::<_, String>(0))? {
                found.push(line?);
            }
            let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
            for table in statement.query_map((), |row| row.get::<_, String>(0))? {
                found.push(format!("a row of {} refers to one that is not there", table?));
            }
            found.retain(|line| line != "ok");
            Ok(found)
        };
        look().map_err(|error| self.error(error))
    }
}

/// A transaction, by statements that stay compiled: a small one is short enough for that to count. Undone unless committed.
struct UnderWay<'a>(&'a Connection);

impl<'a> UnderWay<'a> {
    fn begin(conn: &'a Connection, how: &str) -> rusqlite::Result<Self> {
        conn.prepare_cached(how)?.execute(())?;
        Ok(Self(conn))
    }

    fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute(()).map(drop)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // It is over, by a commit or by SQLite itself; a connection that could not end it is thrown away.
        if !self.0.is_autocommit() {
            let _ = self.0.prepare_cached("ROLLBACK").and_then(|mut end| end.execute(()));
        }
    }
}

impl Drop for Shared {
    /// Tidies the log away when it is large, so that the next process does not read it all again.
    fn drop(&mut self) {
        let large = rustix::fs::stat(beside(&self.path, "-wal"))
            .is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|size| size > LOG_LEFT_BEHIND));
        lock(&self.readers).clear();
        if large && let Some(writer) = &*lock(&self.writer) {
            let _ = writer.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    }
}
