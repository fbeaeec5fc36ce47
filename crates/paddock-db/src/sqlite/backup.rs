//! A consistent copy of a database that is in use.
//!
//! The copy is read from one snapshot, held open for as long as it takes: without it, every commit of another process would
//! make it begin again. It is written under another name, synced, and only then given its own, so that an interrupted
//! copy is never taken for a whole one. It must never replace a file.

use std::fs::File;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::open::{make_file, sync_names};
use super::queue::beside;
use crate::{DbError, Result};

/// Pages between two reports of progress.
const STEP: i32 = 1024;

/// Copies what `from` sees into the new file `to`.
pub(super) fn copy(from: &Connection, name: &str, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let copy_name = to.display().to_string();
    if rustix::fs::lstat(to).is_ok() {
        return Err(DbError::Exists { name: copy_name });
    }
    let part = beside(to, &format!(".part-{}", std::process::id()));
    let copied = copy_pages(from, name, &part, &copy_name, progress).and_then(|()| settle(&part, to, &copy_name));
    if copied.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    copied
}

fn copy_pages(
    from: &Connection,
    name: &str,
    part: &Path,
    copy_name: &str,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let of_source = |error| DbError::of_sqlite(name, error);
    let of_copy = |error| DbError::of_sqlite(copy_name, error);
    make_file(part).map_err(|error| DbError::of_io(copy_name, &error))?;
    let snapshot = from.unchecked_transaction().map_err(of_source)?;
    let _: i64 = snapshot.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).map_err(of_source)?;
    let mut into = Connection::open_with_flags(part, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(of_copy)?;
    // The whole file is synced once at the end; half of one is thrown away.
    into.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").map_err(of_copy)?;
    let backup = Backup::new(&snapshot, &mut into).map_err(of_copy)?;
    loop {
        let step = backup.step(STEP).map_err(of_copy)?;
        let pages = backup.progress();
        let (all, left) = (u64::try_from(pages.pagecount).unwrap_or(0), u64::try_from(pages.remaining).unwrap_or(0));
        progress(all.saturating_sub(left), all);
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            _ => return Err(DbError::Busy { name: copy_name.to_owned() }),
        }
    }
    drop(backup);
    into.close().map_err(|(_, error)| of_copy(error))
}

fn settle(part: &Path, to: &Path, copy_name: &str) -> Result<()> {
    let of_io = |error: std::io::Error| DbError::of_io(copy_name, &error);
    File::open(part).and_then(|file| file.sync_all()).map_err(of_io)?;
    match rustix::fs::renameat_with(CWD, part, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => return Err(DbError::Exists { name: copy_name.to_owned() }),
        other => other.map_err(|errno| of_io(errno.into()))?,
    }
    sync_names(to).map_err(of_io)
}
