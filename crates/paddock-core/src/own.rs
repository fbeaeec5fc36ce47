//! What a plan itself did to files that it only knows by another name.
//!
//! A file may have several names. Whatever is done to one of them shows in the times of the others, and a change that
//! expects nobody to have touched its file would take the plan's own doing for somebody else's. So a Store notes here
//! in which state it left such a file. It must never be asked for anything else: a state that nobody noted is not ours.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::Version;

/// The states in which one run of a plan left files that have other names. Cheap to clone; every clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Own(Arc<Mutex<HashMap<u128, Version>>>);

impl Own {
    /// The file with this number was left in this state.
    pub fn note(&self, file: u128, version: Version) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(file, version);
    }

    /// Is this the state in which the file was left?
    pub fn left(&self, file: u128, version: Version) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&file) == Some(&version)
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
        own.note(7, Version(1));
        own.note(7, Version(2));
        assert!(same.left(7, Version(2)));
        assert!(!same.left(7, Version(1)) && !same.left(8, Version(2)));
    }
}
