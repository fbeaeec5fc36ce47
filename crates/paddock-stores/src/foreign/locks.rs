//! One change at a time for each path of a foreign store, and for each tree that changes as a whole.
//!
//! A change claims the paths that it is about. Two claims meet where one path is the other, or lies below it: a write
//! meets another write of the same file and the move of a directory above it, and no other. Claims that meet are
//! served in the order in which they came, so none starves, and all paths of one are claimed at once, so none waits in
//! a circle. This holds within one process only: a store that others write to as well has to keep its own edits whole.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paddock_core::{Call, RelPath, RelPathBuf, Result};

/// How often whoever waits looks whether its call is over.
const LOOK: Duration = Duration::from_millis(10);

/// The claims on one foreign store. Whoever stands on the same store has to share them.
#[derive(Debug)]
pub struct Locks {
    id: u64,
    claims: Mutex<Claims>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Claims {
    next: u64,
    /// In the order in which they came, those that are served and those that wait.
    all: Vec<Claim>,
}

#[derive(Debug)]
struct Claim {
    ticket: u64,
    namespace: Arc<[String]>,
    paths: Vec<RelPathBuf>,
}

/// A claim that is served; released when dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    locks: &'a Locks,
    ticket: u64,
}

impl Default for Locks {
    fn default() -> Self {
        Self::new()
    }
}

impl Locks {
    /// Those of a store that nobody has changed yet.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, claims: Mutex::default(), released: Condvar::new() }
    }

    /// A number that no other store of this process has.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Waits until nobody who came before changes any of these paths, or anything below or above them.
    pub(super) fn claim(&self, call: &Call<'_>, namespace: &Arc<[String]>, paths: &[RelPath<'_>]) -> Result<Held<'_>> {
        let mut claims = self.lock();
        let ticket = claims.next;
        claims.next += 1;
        let paths = paths.iter().map(|path| path.to_buf()).collect();
        claims.all.push(Claim { ticket, namespace: Arc::clone(namespace), paths });
        // From here on it is taken back whatever happens.
        let held = Held { locks: self, ticket };
        while claims.must_wait(ticket) {
            claims = self.released.wait_timeout(claims, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if let Err(over) = call.tick(0) {
                drop(claims);
                return Err(over);
            }
        }
        drop(claims);
        Ok(held)
    }

    fn lock(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claims {
    /// Does an earlier claim meet this one?
    fn must_wait(&self, ticket: u64) -> bool {
        let before = self.all.iter().take_while(|claim| claim.ticket != ticket);
        let own = self.all.iter().find(|claim| claim.ticket == ticket);
        own.is_some_and(|own| before.into_iter().any(|earlier| earlier.meets(own)))
    }
}

impl Claim {
    fn meets(&self, other: &Self) -> bool {
        let nested = |a: RelPath<'_>, b: RelPath<'_>| a.is_within(b) || b.is_within(a);
        self.namespace == other.namespace
            && self.paths.iter().any(|a| other.paths.iter().any(|b| nested(a.as_rel(), b.as_rel())))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.locks.lock().all.retain(|claim| claim.ticket != self.ticket);
        self.locks.released.notify_all();
    }
}
