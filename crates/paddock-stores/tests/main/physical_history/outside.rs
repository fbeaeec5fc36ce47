//! What somebody outside of Paddock does to a file while a change of it is made, in that very moment.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use paddock_core::{AccessScope, Before, Journal, Mount, Quota, Result, Usage, Vfs, Workspace};
use paddock_stores::PhysicalStore;
use paddock_stores::conformance::world::Open;
use paddock_stores::quota::{CountId, Counted, UsageCounter, UsageDelta};

use super::{Listener, Pasture, append, logical};

/// Acts once, when room is asked for: the file is open by then, and nothing is written yet.
struct Meanwhile(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl UsageCounter for Meanwhile {
    fn current(&self) -> Result<Option<Usage>> {
        Ok(None)
    }

    fn reserve(&self, _: UsageDelta, _: Quota, _: Instant) -> Result<()> {
        if let Some(act) = self.0.lock().unwrap().take() {
            act();
        }
        Ok(())
    }

    fn add(&self, _: UsageDelta) -> Result<()> {
        Ok(())
    }

    fn counted_at(&self) -> Result<Option<SystemTime>> {
        Ok(None)
    }

    fn begin_count(&self) -> Result<Option<CountId>> {
        Ok(None)
    }

    fn renew_count(&self, _: CountId) -> Result<bool> {
        Ok(false)
    }

    fn end_count(&self, _: CountId, _: Usage) -> Result<Counted> {
        Ok(Counted::Overtaken)
    }

    fn abandon_count(&self, _: CountId) -> Result<()> {
        Ok(())
    }
}

/// A log with a line, to which something happens while a line is added, and what became of that.
fn log_while(act: impl FnOnce(PathBuf) + Send + 'static) -> (Before, String) {
    let mut pasture = Pasture::new();
    let log = pasture.host("log");
    fs::write(&log, "first\n").unwrap();
    let meanwhile = Meanwhile(Mutex::new(Some(Box::new(move || act(log)))));
    let store = PhysicalStore::new(&pasture.host("")).unwrap().with_history(pasture.place.clone());
    let mount = Mount::new(Arc::new(store.with_usage(Arc::new(meanwhile))), None);
    let workspace = Workspace::new(logical("/w"), AccessScope::ReadWrite, mount);
    let journal: Arc<dyn Journal> = Arc::<Listener>::clone(&pasture.listener);
    pasture.vfs = Vfs::new(vec![workspace], Arc::new(Open), journal).unwrap();
    let told = pasture.one(append("/w/log", "ours\n"));
    (told.before, pasture.read("/w/log"))
}

/// Puts another file in the place of one, as editors and log rotation do.
fn replace(path: PathBuf, content: &str) {
    let new = path.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, path).unwrap();
}

#[test]
fn a_line_of_somebody_else_is_no_part_of_what_was_appended() {
    let (before, log) = log_while(|log| fs::write(log, "first\ntheirs\n").unwrap());
    assert_eq!((before, log.as_str()), (Before::Prefix(13), "first\ntheirs\nours\n"));
}

#[test]
fn an_append_to_a_file_that_is_replaced_meanwhile_is_there_once() {
    let (before, log) = log_while(|log| replace(log, "first\ntheirs\n"));
    assert_eq!((before, log.as_str()), (Before::Prefix(13), "first\ntheirs\nours\n"));
    // Their copy was made after the line was there.
    let (before, log) = log_while(|log| replace(log, "first\nours\ntheirs\n"));
    assert_eq!((before, log.as_str()), (Before::Lost, "first\nours\ntheirs\n"));
}
