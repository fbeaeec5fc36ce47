//! What goes on beside the calls: counting what Physical Mounts hold, and letting go of the past.
//!
//! Nothing of it runs until it is asked for: a program that only answers one call starts no thread it does not need. What is
//! being copied is not tidied meanwhile: the rows of a copy speak of contents that are copied after them.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use paddock_core::StoreError;
use paddock_state::private;
use paddock_stores::{PhysicalStore, Reconciler};

use crate::installation::Installation;

/// How often a Mount is counted again.
const COUNTED_EVERY: Duration = Duration::from_secs(600);
/// How often the past is tidied.
const TIDIED_EVERY: Duration = Duration::from_secs(600);
/// How long after a start it is tidied first: whoever starts has other things to do.
const FIRST: Duration = Duration::from_secs(30);

/// Those who count, by what they count: a policy that is built again does not begin another.
static COUNTING: Mutex<Option<HashMap<String, Reconciler>>> = Mutex::new(None);
/// Mounts that a process that does not stay has to count before it changes anything, for as long as somebody can change them.
static UNCOUNTED: Mutex<BTreeMap<String, Vec<Weak<PhysicalStore>>>> = Mutex::new(BTreeMap::new());
/// Does this process count in the background at all?
static LONG_LIVED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Says that this process stays: Mounts with a quota are counted in the background from now on.
pub fn stay() {
    LONG_LIVED.store(true, std::sync::atomic::Ordering::Release);
}

/// Counts every Mount with a quota that nobody ever counted, for a process that does not stay: before that a quota cannot
/// hold. So whoever comes while another counts waits for it, and what could not be counted is tried again by the next. Takes no
/// longer than `within` for all of them.
///
/// # Errors
/// The host directory of the first that could not be counted, and why; nothing where there was no time left.
pub fn count_first(within: Duration) -> Result<(), (PathBuf, Option<StoreError>)> {
    let mut uncounted = UNCOUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let until = Instant::now() + within;
    while let Some((_, stores)) = uncounted.first_key_value() {
        if let Some(store) = stores.iter().find_map(Weak::upgrade) {
            let failed = |error| (store.host().to_owned(), error);
            match paddock_stores::quota::count_first(&store, until) {
                Ok(true) => {}
                Ok(false) => return Err(failed(None)),
                // Gone with its project, as where a process has several: it keeps no other from being counted.
                Err(_) if !store.host().exists() => {}
                Err(error) => return Err(failed(Some(error))),
            }
        }
        uncounted.pop_first();
    }
    Ok(())
}

/// Has a Mount counted: in the background if this process stays, else when [`count_first`] asks for it.
pub(crate) fn count(store: &Arc<PhysicalStore>, territory: &str) {
    if !LONG_LIVED.load(std::sync::atomic::Ordering::Acquire) {
        let mut uncounted = UNCOUNTED.lock().unwrap_or_else(PoisonError::into_inner);
        let stores = uncounted.entry(territory.to_owned()).or_default();
        stores.retain(|known| known.strong_count() > 0);
        stores.push(Arc::downgrade(store));
        return;
    }
    let mut counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let counting = counting.get_or_insert_default();
    if !counting.contains_key(territory)
        && let Ok(reconciler) = Reconciler::start(vec![Arc::clone(store)], COUNTED_EVERY)
    {
        counting.insert(territory.to_owned(), reconciler);
    }
}

/// The file whose lock says that the past is being tidied, or must not be.
const TIDY_LOCK: &str = "tidy.lock";

/// While this lives, nothing of a project's past is let go of, by no process.
#[derive(Debug)]
pub struct Untouched(#[expect(dead_code, reason = "its lock ends with it")] Option<File>);

impl Untouched {
    /// Waits for whoever is tidying.
    pub(crate) fn in_home(home: &Path) -> io::Result<Self> {
        match lock_file(home) {
            Ok(file) => file.lock_shared().map(|()| Self(Some(file))),
            // Where nothing can be written nothing can be let go of.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }
}

/// The right to tidy; nothing while somebody copies, or tidies already.
pub(crate) fn may_tidy(home: &Path) -> io::Result<Option<File>> {
    let file = lock_file(home)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_file(home: &Path) -> io::Result<File> {
    private::options().create(true).truncate(false).write(true).open(home.join(TIDY_LOCK))
}

/// Tidies the past of a project in the background for as long as the process lives.
pub fn tidy_in_background(installation: &Installation, told: impl Fn(String) + Send + 'static) {
    let installation = installation.clone();
    let work = move || {
        std::thread::sleep(FIRST);
        loop {
            if let Err(error) = installation.tidy() {
                told(error.to_string());
            }
            std::thread::sleep(TIDIED_EVERY);
        }
    };
    // Without a thread the past is kept longer, which is no reason not to serve.
    let _ = std::thread::Builder::new().name("paddock-tidy".to_owned()).spawn(work);
}

#[cfg(test)]
mod tests {
    use paddock_db::{Durability, Sqlite};
    use paddock_stores::{SqliteUsage, UsageCounter as _};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A Mount of one file, and its counter, which is as far from being there as the Mount is.
    fn mount(place: &Path) -> (Arc<PhysicalStore>, Arc<SqliteUsage>) {
        let host = place.join("mount");
        std::fs::create_dir_all(&host).unwrap();
        std::fs::write(host.join("file"), "content").unwrap();
        let database = Sqlite::new(place.join("state.db"), vec![SqliteUsage::SCHEMA], Durability::Process);
        let counter = Arc::new(SqliteUsage::new(database, "here"));
        let store = PhysicalStore::new(&host).unwrap().with_usage(Arc::<SqliteUsage>::clone(&counter));
        (Arc::new(store), counter)
    }

    #[test]
    fn a_directory_that_went_away_keeps_no_other_from_being_counted() {
        let place = tempfile::tempdir().unwrap();
        let (gone, its_counter) = mount(&place.path().join("gone"));
        let (taken, _) = mount(&place.path().join("gone/deeper"));
        // Opened before it went.
        let begun = its_counter.begin_count().unwrap().unwrap();
        its_counter.abandon_count(begun).unwrap();
        let (stays, counter) = mount(&place.path().join("stays"));
        std::fs::remove_dir_all(place.path().join("gone")).unwrap();
        count(&gone, "upkeep: a");
        count(&taken, "upkeep: a2");
        count(&stays, "upkeep: b");
        count_first(LONG).unwrap();
        assert!(counter.counted_at().unwrap().is_some());
    }

    #[test]
    fn without_time_nothing_counts_as_counted() {
        let place = tempfile::tempdir().unwrap();
        let (store, counter) = mount(&place.path().join("slow"));
        count(&store, "upkeep: c");
        // Another test may have been counting it meanwhile.
        if count_first(Duration::ZERO).is_err() {
            count_first(LONG).unwrap();
        }
        assert!(counter.counted_at().unwrap().is_some());
    }
}
