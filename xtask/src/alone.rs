//! One at a time: who installs something keeps others from installing the same.
//!
//! Owns the names of what is being installed in this process. It must never be held by who waits for another name: nobody takes
//! two at once.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static GIVEN_BACK: Condvar = Condvar::new();

/// Held while something is installed.
#[derive(Debug)]
pub(crate) struct Alone {
    name: String,
}

/// Waits until nobody else installs what has this name.
pub(crate) fn with(name: impl Into<String>) -> Alone {
    let name = name.into();
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    while taken.contains(&name) {
        taken = GIVEN_BACK.wait(taken).unwrap_or_else(PoisonError::into_inner);
    }
    taken.insert(name.clone());
    Alone { name }
}

impl Drop for Alone {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
        GIVEN_BACK.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn nobody_else_is_inside_under_the_same_name() {
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _alone = with("a test of one name");
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
    }

    #[test]
    fn another_name_does_not_wait() {
        let _one = with("a test of two names, one");
        let _other = with("a test of two names, the other");
    }
}
