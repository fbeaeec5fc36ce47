//! What namespaces have at their tops, as readers last saw it.
//!
//! An Overlay that covers little is asked about paths that it does not cover, and each question would be a look at its rows.
//! What was seen is kept together with what the reader called that state, and counts only while the same reader calls it the
//! same: SQLite then knows that nobody has committed anything. It must never be believed without asking that first.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paddock_db::Stamp;

/// Names kept in all; past it everything is forgotten, so that it does not grow with what is asked.
const NAMES: usize = 4096;

/// By state of the database and namespace: the names that were looked for, and whether nothing was there.
#[derive(Debug, Default)]
pub(super) struct Tops {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    by_stamp: HashMap<Stamp, HashMap<String, HashMap<String, bool>>>,
    count: usize,
}

impl Tops {
    /// Whether nothing is at a name, in the state that a reader is in now.
    pub(super) fn known(&self, now: Stamp, namespace: &str, name: &str) -> Option<bool> {
        self.lock().by_stamp.get(&now)?.get(namespace)?.get(name).copied()
    }

    /// What was seen in a state.
    pub(super) fn learn(&self, at: Stamp, namespace: &str, name: &str, lacks: bool) {
        let mut seen = self.lock();
        if seen.count >= NAMES {
            *seen = Seen::default();
        }
        // A reader never comes back to a state that it has left.
        seen.by_stamp.retain(|known, _| *known == at || !known.is_of_the_reader_of(at));
        seen.count += 1;
        seen.by_stamp.entry(at).or_default().entry(namespace.to_owned()).or_default().insert(name.to_owned(), lacks);
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
