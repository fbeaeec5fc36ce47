//! Opening: the files of a database and the settings of a connection.
//!
//! The database and its shared memory are opened by SQLite alone: closing any descriptor of theirs would drop every lock that this
//! process holds on them. So the file is *made* here without being opened, with the mode that SQLite then gives to the
//! files it makes beside it.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use rustix::fs::{Access, CWD, FileType, Mode};
use rustix::io::Errno;

use super::queue::beside;
use crate::{DbError, Result};

/// How long a connection that is no writer waits for SQLite's own locks: recovery after a crash, for one.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Statements kept compiled for each connection.
const STATEMENTS: usize = 64;

/// How many directories above a database may be as new as itself: a Workspace's, the one of all Workspaces, the System Root;
/// and the one that holds its name.
const NAMES: usize = 4;

/// Of a reader. A mapping of the file would save the copies, but SQLite gives it up and makes it anew after every commit of anybody,
/// which costs more than it saves wherever somebody writes. There may be many readers, so that each keeps little.
const READING: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -768;";

/// Nothing a foreign file could make SQLite run on its own; damage is noticed where it is met.
const SETTINGS: &str = "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; \
     PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 2000; \
     PRAGMA journal_size_limit = 16777216;";

/// The one connection of a process that writes.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) conn: Connection,
    /// The write-ahead log, to sync it. SQLite takes no locks on this file.
    pub(super) log: Arc<File>,
    database: PathBuf,
    /// Device and inode of the database that was opened.
    identity: (u64, u64),
}

impl Writer {
    /// Opens, and makes what is not there. Called inside the turn to write.
    pub(super) fn open(path: &Path, name: &str, until: Instant) -> Result<Self> {
        make_file(path).map_err(|error| DbError::of_io(name, &error))?;
        let conn = connect(path, name)?;
        if conn.is_readonly(MAIN_DB).map_err(|error| DbError::of_sqlite(name, error))? {
            return Err(DbError::ReadOnly { name: name.to_owned() });
        }
        use_log(&conn, name, until)?;
        // SQLite follows a link in the database's place, and keeps its other files there.
        let database = conn.path().map_or_else(|| path.to_owned(), PathBuf::from);
        let log = log_of(&conn, &database).map_err(|error| DbError::of_io(name, &error))?;
        let identity = identity(&database).map_err(|errno| DbError::of_io(name, &errno.into()))?;
        Ok(Self { conn, log: Arc::new(log), database, identity })
    }

    /// Is what was opened still what stands in its place? What is written to a file without a name is lost with the process.
    pub(super) fn is_in_place(&self) -> bool {
        identity(&self.database).is_ok_and(|now| now == self.identity)
    }

    /// Makes the names of the files durable, wherever they were made.
    pub(super) fn keep_names(&self) -> std::io::Result<()> {
        sync_names(&self.database)
    }
}

fn identity(path: &Path) -> rustix::io::Result<(u64, u64)> {
    rustix::fs::stat(path).map(|found| (found.st_dev, found.st_ino))
}

/// A connection that only reads, or nothing when the database is not there or not set up yet.
pub(super) fn reader(path: &Path, name: &str) -> Result<Option<Connection>> {
    match rustix::fs::stat(path) {
        Ok(_) => {}
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(DbError::of_io(name, &errno.into())),
    }
    let conn = connect(path, name)?;
    if !uses_log(&conn, name)? {
        return Ok(None);
    }
    conn.execute_batch(READING).map_err(|error| DbError::of_sqlite(name, error))?;
    Ok(Some(conn))
}

/// A connection with the settings that all have in common.
pub(super) fn connect(path: &Path, name: &str) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(|error| explained(path, name, error))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    let set = || {
        conn.busy_timeout(PATIENCE)?;
        // A short-lived process must not pay for a checkpoint when it ends; `close` says when it does.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        // A plan that does not depend on the values of a statement: otherwise SQLite compiles one anew for every other value.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        conn.execute_batch(SETTINGS)
    };
    set().map_err(|error| explained(path, name, error))?;
    Ok(conn)
}

fn uses_log(conn: &Connection, name: &str) -> Result<bool> {
    let mode: String =
        conn.query_row("PRAGMA journal_mode", (), |row| row.get(0)).map_err(|error| DbError::of_sqlite(name, error))?;
    Ok(mode == "wal")
}

/// Switches to the write-ahead log. SQLite does not wait for others here by itself.
fn use_log(conn: &Connection, name: &str, until: Instant) -> Result<()> {
    if uses_log(conn, name)? {
        return Ok(());
    }
    loop {
        match conn.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let why =
                    format!("it keeps the journal mode {mode}: the file system cannot share memory between processes");
                return Err(DbError::Unreachable { name: name.to_owned(), why });
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(DbError::of_sqlite(name, error)),
        }
    }
}

fn log_of(conn: &Connection, database: &Path) -> std::io::Result<File> {
    // The first look at the tables is what opens the log.
    let looked = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()));
    looked.map_err(std::io::Error::other)?;
    File::open(beside(database, "-wal"))
}

/// Makes an empty database that only its owner may read, unless something is there.
pub(super) fn make_file(path: &Path) -> std::io::Result<()> {
    match rustix::fs::mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0) {
        Err(Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

/// Makes the directory of `path` and those above it, for their owner alone, unless they are there.
pub(super) fn make_directory(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(directory) => DirBuilder::new().recursive(true).mode(0o700).create(directory),
        None => Ok(()),
    }
}

/// Makes the name of `path` durable, and those of the directories it is in, whoever made them.
pub(super) fn sync_names(path: &Path) -> std::io::Result<()> {
    for directory in path.ancestors().skip(1).take(NAMES) {
        match File::open(directory) {
            Ok(directory) => directory.sync_all()?,
            // Somebody else's, who lets us pass only: no name in it is ours.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// An error at opening; SQLite says "cannot open" when it could not make the files it needs beside the database.
pub(super) fn explained(path: &Path, name: &str, error: rusqlite::Error) -> DbError {
    let plain = DbError::of_sqlite(name, error);
    let directory = path.parent().unwrap_or(path);
    match plain {
        DbError::Unreachable { .. } => match rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK) {
            Err(Errno::ROFS | Errno::ACCESS) => DbError::ReadOnly { name: name.to_owned() },
            _ => plain,
        },
        _ => plain,
    }
}
