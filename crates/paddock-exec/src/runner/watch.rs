//! How much a command has put into its layers, looked at while it runs.
//!
//! The kernel bounds each file and not their sum, and the layers lie on a disk that others need too. So a thread counts
//! them from time to time, and less often the longer a count takes. It begins only when a command has run for a moment: most are over
//! by then, and what a short one wrote is counted with what it changed. Counting follows no link, and must never wait for
//! anybody.

use std::cell::RefCell;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

/// How long a command runs before it is looked at.
const FIRST: Duration = Duration::from_millis(300);
/// The shortest time between two counts.
const PAUSE: Duration = Duration::from_millis(250);
/// So many times as long as a count takes, nobody counts.
const REST: u32 = 10;
/// As deep as directories are gone through: a path that is longer is no change that could be made.
const DEEPEST: usize = 256;

/// Watches the layers of one run. Ends with it.
pub(super) struct Watch {
    dir: PathBuf,
    most: u64,
    began: Instant,
    counting: RefCell<Option<Counting>>,
}

impl Watch {
    /// Over everything in a directory, which may hold so many bytes.
    pub(super) fn new(dir: PathBuf, most: u64) -> Self {
        Self { dir, most, began: Instant::now(), counting: RefCell::new(None) }
    }

    /// Is there more than there may be, as far as was counted?
    pub(super) fn is_over(&self) -> bool {
        if self.began.elapsed() < FIRST {
            return false;
        }
        let mut counting = self.counting.borrow_mut();
        let counting = counting.get_or_insert_with(|| Counting::start(&self.dir, self.most));
        counting.told.is_over.load(Ordering::Relaxed)
    }
}

/// A thread that counts. Dropped, it has ended.
struct Counting {
    told: Arc<Told>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and the run tell each other.
#[derive(Default)]
struct Told {
    /// There is too much.
    is_over: AtomicBool,
    /// Nobody asks any more.
    is_done: AtomicBool,
}

impl Counting {
    fn start(dir: &Path, most: u64) -> Self {
        let told = Arc::new(Told::default());
        let (shared, dir) = (Arc::clone(&told), dir.to_owned());
        let thread = thread::Builder::new().name("layers".to_owned()).spawn(move || watch(&shared, &dir, most));
        if let Err(error) = &thread {
            tracing::warn!(%error, "what a command writes is not counted while it runs");
        }
        Self { told, thread: thread.ok() }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.told.is_done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Counts until there is too much or nobody asks any more.
fn watch(told: &Told, dir: &Path, most: u64) {
    let is_done = || told.is_done.load(Ordering::Relaxed);
    while !is_done() {
        let began = Instant::now();
        if size(dir, most, &is_done) > most {
            return told.is_over.store(true, Ordering::Relaxed);
        }
        thread::park_timeout(PAUSE.max(began.elapsed() * REST));
    }
}

/// The bytes that everything below a directory takes up on its disk; some more than `most` is enough to know, and nothing has
/// to be known when nobody asks any more. What cannot be looked at counts nothing.
fn size(dir: &Path, most: u64, is_done: &dyn Fn() -> bool) -> u64 {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(top) = rustix::fs::openat(CWD, dir, flags, Mode::empty()) else { return 0 };
    let names = inside(&top);
    // The directories on the way down are open, and no others: as many as the tree is deep.
    let (mut left, mut found) = (vec![(top, names)], 0_u64);
    while let Some((here, names)) = left.last_mut() {
        let Some(name) = names.pop() else {
            left.pop();
            continue;
        };
        let Ok(meta) = rustix::fs::statat(&*here, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        found = found.saturating_add(u64::try_from(meta.st_blocks).unwrap_or(0).saturating_mul(512));
        if found > most || is_done() {
            break;
        }
        if FileType::from_raw_mode(meta.st_mode) == FileType::Directory
            && left.len() < DEEPEST
            && let Some(inner) =
                left.last().and_then(|(here, _)| rustix::fs::openat(here, &name, flags, Mode::empty()).ok())
        {
            let names = inside(&inner);
            left.push((inner, names));
        }
    }
    found
}

fn inside(dir: &OwnedFd) -> Vec<OsString> {
    use std::os::unix::ffi::OsStringExt as _;
    let Ok(entries) = Dir::read_from(dir) else { return Vec::new() };
    let all = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    all.filter(|name| name != b"." && name != b"..").map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(dir: &Path, most: u64) -> u64 {
        size(dir, most, &|| false)
    }

    #[test]
    fn everything_below_is_counted_and_no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir_all(at("a/b/c")).unwrap();
        let empty = counted(home.path(), u64::MAX);
        std::fs::write(at("a/b/c/f"), vec![1; 64 * 1024]).unwrap();
        std::fs::write(at("a/g"), vec![1; 64 * 1024]).unwrap();
        std::os::unix::fs::symlink("/usr", at("a/usr")).unwrap();
        let found = counted(home.path(), u64::MAX) - empty;
        assert!((128 * 1024..1024 * 1024).contains(&found), "{found}");
        assert!(counted(home.path(), 1000) > 1000 && counted(&at("none"), 1000) == 0);
    }

    #[test]
    fn who_counts_has_ended_when_the_run_has() {
        let home = tempfile::tempdir().unwrap();
        let counting = Counting::start(home.path(), u64::MAX);
        let told = Arc::downgrade(&counting.told);
        drop(counting);
        assert!(told.upgrade().is_none(), "nobody shares it any more");
    }
}
