//! The files that the audit keeps outside the database, on the host's disk: the key, the outside head, and beside it the number
//! of rows that a process had to leave unwritten.
//!
//! Both belong to their owner alone and are never half there: a file appears under its name when it is whole. Nothing else of this crate
//! may touch the disk.
// The key and the outside head are of use only where the database is not.
#![allow(clippy::disallowed_methods)]

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// More than either file ever holds, but for a head with tens of thousands of chains.
const LARGEST: u64 = 16 << 20;

/// What a private file holds.
#[derive(Debug, Default)]
pub(super) struct Private {
    pub(super) content: Vec<u8>,
    pub(super) readable_by_others: bool,
}

/// Reads a file whole; nothing when it is not there.
pub(super) fn read_private(path: &Path) -> io::Result<Option<Private>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let readable_by_others = file.metadata()?.mode() & 0o077 != 0;
    let mut content = Vec::new();
    file.take(LARGEST).read_to_end(&mut content)?;
    Ok(Some(Private { content, readable_by_others }))
}

/// Makes a file that only its owner may read, and its directory; leaves one that is there as it is. Durable, since
/// nothing that was signed with a lost key can be believed.
pub(super) fn create_private(path: &Path, content: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    make_directory_of(path)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = beside(path, &format!("{}-{number}.new", std::process::id()));
    write_whole(&temporary, content, true)?;
    let linked = std::fs::hard_link(&temporary, path);
    std::fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory_of(path),
    }
}

/// Puts new content in the place of the old in one step; `sync`: so that loss of power leaves one of them whole. Only
/// whoever holds the lock may, so that one name for what is not yet whole suffices.
pub(super) fn replace_private(path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let temporary = beside(path, "new");
    write_whole(&temporary, content, sync)?;
    std::fs::rename(&temporary, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })?;
    if sync { sync_directory_of(path) } else { Ok(()) }
}

/// The number in the file `ending` beside `path`; 0 when there is none.
pub(super) fn number_beside(path: &Path, ending: &str) -> u64 {
    let found = read_private(&beside(path, ending)).ok().flatten().unwrap_or_default();
    std::str::from_utf8(&found.content).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Makes the file of a number, where there is none, so that there is room for any that is ever written to it.
pub(super) fn make_number_beside(path: &Path, ending: &str) -> io::Result<()> {
    let path = beside(path, ending);
    if read_private(&path)?.is_some() { Ok(()) } else { create_private(&path, digits(0).as_bytes()) }
}

/// Writes a number over the last one: for that there is room also on a disk that is full.
pub(super) fn put_number_beside(path: &Path, ending: &str, number: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(beside(path, ending))?;
    file.write_all(digits(number).as_bytes())?;
    file.sync_all()
}

fn digits(number: u64) -> String {
    format!("{number:020}\n")
}

/// Held by whoever replaces a file; others wait, not past `until`.
pub(super) fn lock_beside(path: &Path, until: Instant) -> io::Result<File> {
    make_directory_of(path)?;
    let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(beside(path, "lock"))?;
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(lock),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn write_whole(path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let write = || {
        // A process that was killed may have left one under this name.
        let _ = std::fs::remove_file(path);
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
        file.write_all(content)?;
        if sync { file.sync_all() } else { Ok(()) }
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn make_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => DirBuilder::new().recursive(true).mode(0o700).create(parent),
        _ => Ok(()),
    }
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}
