//! What everybody who says the same name has in common, for as long as somebody holds it.
//!
//! Workspaces may be made anew for each call, and what their calls have to share lives longer than they do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// From how many names on those are looked for that nobody holds any more.
const MANY: usize = 64;

/// Things by their names.
pub(crate) struct Common<T>(Mutex<Named<T>>);

struct Named<T> {
    things: BTreeMap<String, Weak<T>>,
    many: usize,
}

impl<T: Default> Common<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Named { things: BTreeMap::new(), many: MANY }))
    }

    /// The one of this name.
    pub(crate) fn named(&self, name: String) -> Arc<T> {
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thing) = named.things.get(&name).and_then(Weak::upgrade) {
            return thing;
        }
        named.forget();
        let thing = Arc::default();
        named.things.insert(name, Arc::downgrade(&thing));
        thing
    }
}

impl<T> Named<T> {
    /// Forgets what nobody holds. Not each time: then every name would cost a look at all others.
    fn forget(&mut self) {
        if self.things.len() >= self.many {
            self.things.retain(|_, thing| thing.strong_count() > 0);
            self.many = MANY.max(2 * self.things.len());
        }
    }
}
