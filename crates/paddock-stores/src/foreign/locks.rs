//! One change at a time for each path of a foreign store, and for each tree that changes as a whole.
//!
//! A change claims the paths that it is about. Two claims meet where one path is the other, or lies below it: a write
//! meets another write of the same file and the move of a directory above it, and no other. Claims that meet are
//! served in the order in which they came, so none starves, and all paths of one are claimed at once, so none waits in
//! a circle. This holds within one process only: a store that others write to as well has to keep its own edits whole.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
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
    /// In one text: a store may keep `["a:b", "c"]` and `["a", "b:c"]` in one place, so they have to stand in one line.
    namespace: String,
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
    pub(super) fn claim(&self, call: &Call<'_>, namespace: &[String], paths: &[RelPath<'_>]) -> Result<Held<'_>> {
        let mut claims = self.lock();
        let ticket = claims.next;
        claims.next += 1;
        let paths = paths.iter().map(|path| path.to_buf()).collect();
        claims.all.push(Claim { ticket, namespace: namespace.join(":"), paths });
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

    /// How many claims there were so far, while nobody holds one or waits for one: what is seen between two equal answers is
    /// what nobody changed meanwhile, and the next claim gets this number.
    pub(super) fn quiet(&self) -> Option<u64> {
        let claims = self.lock();
        claims.all.is_empty().then_some(claims.next)
    }

    fn lock(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// How many claims there were before this one.
    pub(super) fn number(&self) -> u64 {
        self.ticket
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    use paddock_core::{AgentName, CallId, Cancel, ErrorKind};

    use super::*;

    fn with_call<T>(cancel: &Cancel, time: Duration, act: impl FnOnce(&Call<'_>) -> T) -> T {
        let agent = AgentName::main();
        act(&Call { id: CallId::next(), agent: &agent, cancel, deadline: Instant::now() + time })
    }

    /// Labels, as they stand between slashes.
    fn namespace(labels: &str) -> Vec<String> {
        labels.split('/').map(str::to_owned).collect()
    }

    /// Claims these paths for as long as the call is given, and tells how that ended.
    fn claim<'a>(locks: &'a Locks, space: &str, paths: &[&str], time: Duration) -> Result<Held<'a>> {
        let paths: Vec<RelPathBuf> = paths.iter().map(|path| RelPathBuf::parse(path).unwrap()).collect();
        let paths: Vec<RelPath<'_>> = paths.iter().map(RelPathBuf::as_rel).collect();
        with_call(&Cancel::default(), time, |call| locks.claim(call, &namespace(space), &paths))
    }

    const AT_ONCE: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_path_meets_itself_what_is_above_and_what_is_below_and_no_other() {
        let locks = Locks::new();
        let held = claim(&locks, "n", &["a/b"], AT_ONCE).unwrap();
        for other in ["a/b", "a", "", "a/b/c"] {
            assert_eq!(*claim(&locks, "n", &[other], AT_ONCE).unwrap_err().kind(), ErrorKind::TimedOut, "{other}");
        }
        for other in ["a/c", "a/bc", "b"] {
            assert!(claim(&locks, "n", &[other], AT_ONCE).is_ok(), "{other}");
        }
        assert!(claim(&locks, "m", &["a/b"], AT_ONCE).is_ok(), "another namespace is another store");
        assert!(claim(&locks, "n", &["x", "a"], AT_ONCE).is_err(), "one of two is enough");
        drop(held);
        assert!(claim(&locks, "n", &["a/b"], AT_ONCE).is_ok());
        assert!(locks.lock().all.is_empty(), "whoever gave up waits no more");
    }

    #[test]
    fn namespaces_that_a_store_may_keep_in_one_place_meet() {
        let locks = Locks::new();
        let _held = claim(&locks, "files/a:b/c", &["n"], AT_ONCE).unwrap();
        assert!(claim(&locks, "files/a/b:c", &["n"], AT_ONCE).is_err());
        assert!(claim(&locks, "files/a/b", &["n"], AT_ONCE).is_ok());
    }

    #[test]
    fn whoever_waits_stops_when_the_call_is_cancelled() {
        let locks = Locks::new();
        let _held = claim(&locks, "n", &["a"], AT_ONCE).unwrap();
        let cancel = Cancel::default();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                with_call(&cancel, LONG, |call| locks.claim(call, &namespace("n"), &[RelPath::HERE]).map(drop))
            });
            while locks.lock().all.len() < 2 && !waiting.is_finished() {
                thread::yield_now();
            }
            cancel.stop();
            assert_eq!(*waiting.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        });
    }

    #[test]
    fn claims_that_meet_are_served_in_their_order() {
        let locks = Locks::new();
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let first = claim(&locks, "n", &["a/b"], AT_ONCE).unwrap();
            // The second meets the first, and the third only the second: it must not overtake it for ever.
            for (n, path) in [(2, "a"), (3, "a/c")] {
                let (tell, locks) = (tell.clone(), &locks);
                scope.spawn(move || {
                    let _held = claim(locks, "n", &[path], LONG).unwrap();
                    tell.send(n).unwrap();
                });
                while locks.lock().all.len() < n {
                    thread::yield_now();
                }
            }
            assert!(told.try_recv().is_err(), "both wait");
            drop(first);
            assert_eq!([told.recv().unwrap(), told.recv().unwrap()], [2, 3]);
        });
    }

    #[test]
    fn moves_in_opposite_directions_do_not_wait_for_each_other_for_ever() {
        let locks = Locks::new();
        thread::scope(|scope| {
            for paths in [["a", "b"], ["b", "a"]] {
                let locks = &locks;
                scope.spawn(move || {
                    for _ in 0..1000 {
                        claim(locks, "n", &paths, LONG).unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn it_is_quiet_until_somebody_claims_and_never_the_same_again() {
        let locks = Locks::new();
        let before = locks.quiet().unwrap();
        let held = claim(&locks, "n", &["a"], AT_ONCE).unwrap();
        assert_eq!((held.number(), locks.quiet()), (before, None));
        drop(held);
        assert_ne!(locks.quiet(), Some(before), "somebody may have changed something");
        assert_eq!(locks.quiet(), locks.quiet());
    }

    #[test]
    fn a_change_that_panics_leaves_no_claim_behind() {
        let locks = Locks::new();
        let panicked = thread::scope(|scope| {
            let dies = scope.spawn(|| {
                let _held = claim(&locks, "n", &["a"], AT_ONCE).unwrap();
                panic!("as it is meant to");
            });
            dies.join().is_err()
        });
        assert!(panicked && claim(&locks, "n", &["a"], AT_ONCE).is_ok());
    }
}
