//! What a plan itself did to files that it only knows by another name.
//!
//! A file may have several names. Whatever is done to one of them shows in the times of the others, and a change that
//! expects nobody to have touched its file would take the plan's own doing for somebody else's. So a Store notes here
//! in which state it left such a file. It must never be asked for anything else: a state that nobody noted is not ours.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::Version;

/// The states in which one run of a plan left files that have other names. Cheap to clone; every clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Own(Arc<Mutex<HashMap<u128, Doing>>>);

/// What was done to a file, with nobody else's doing in between.
#[derive(Debug, Clone, Copy)]
struct Doing {
    found: Version,
    left: Version,
}

impl Own {
    /// The file with this number was found in the one state and left in the other.
    pub fn note(&self, file: u128, found: Version, left: Version) {
        let mut files = self.files();
        let before = files.get(&file).filter(|before| before.left == found);
        let found = before.map_or(found, |before| before.found);
        files.insert(file, Doing { found, left });
    }

    /// Is this the state in which the file was left?
    pub fn left(&self, file: u128, version: Version) -> bool {
        self.files().get(&file).is_some_and(|doing| doing.left == version)
    }

    /// Is the file in this state, and was in that one, for nothing but what was noted?
    pub fn led(&self, file: u128, from: Version, to: Version) -> bool {
        self.files().get(&file).is_some_and(|doing| doing.found == from && doing.left == to)
    }

    fn files(&self) -> MutexGuard<'_, HashMap<u128, Doing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What sets hold says what they are; what became of others does not.
impl PartialEq for Own {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Own {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_state_that_was_noted_is_ours() {
        let own = Own::default();
        let same = own.clone();
        own.note(7, Version(0), Version(1));
        own.note(7, Version(1), Version(2));
        assert!(same.left(7, Version(2)));
        assert!(!same.left(7, Version(1)) && !same.left(8, Version(2)));
    }

    #[test]
    fn what_somebody_else_did_in_between_leads_nowhere() {
        let own = Own::default();
        own.note(7, Version(0), Version(1));
        own.note(7, Version(1), Version(2));
        assert!(own.led(7, Version(0), Version(2)));
        assert!(!own.led(7, Version(0), Version(1)) && !own.led(8, Version(0), Version(2)));
        own.note(7, Version(3), Version(4));
        assert!(own.led(7, Version(3), Version(4)) && !own.led(7, Version(0), Version(4)));
    }
}
