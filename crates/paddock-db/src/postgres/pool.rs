//! A bounded number of connections, lent in the order of asking.
//!
//! A waiter is given its place directly by whoever returns one: with nobody able to push in front, none starves.
//! A lent connection that is not given back whole (a panic, a transaction left open) is closed, never lent again.
//!
//! Who holds a place and needs another to get done, must not wait for one: all places may be held by those who wait for it.
//! It gets one beside, so that there are at most as many of these as there are holders, for each step they go deeper.

use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The places, each empty or with a connection in it.
#[derive(Debug)]
pub(super) struct Pool<C> {
    state: Mutex<State<C>>,
}

#[derive(Debug)]
struct State<C> {
    idle: Vec<C>,
    /// Places that nobody has yet.
    unused: usize,
    waiting: VecDeque<Arc<Waiter<C>>>,
    /// Connections of places beside, at most `kept` of them.
    beside: Vec<C>,
    kept: usize,
}

#[derive(Debug)]
struct Waiter<C> {
    given: Mutex<Option<Place<C>>>,
    woken: Condvar,
}

/// What a place holds.
type Place<C> = Option<C>;

impl<C> Pool<C> {
    pub(super) fn new(size: usize) -> Self {
        let (waiting, beside) = (VecDeque::new(), Vec::new());
        Self { state: Mutex::new(State { idle: Vec::new(), unused: size, waiting, beside, kept: size }) }
    }

    /// A place beside, for who holds one already; never waits.
    pub(super) fn beside(&self) -> Lease<'_, C> {
        let connection = lock(&self.state).beside.pop();
        Lease { pool: self, connection, is_beside: true }
    }

    /// A place, with its connection when it has one; none when `deadline` passes first.
    pub(super) fn take(&self, deadline: Instant) -> Option<Lease<'_, C>> {
        let mut state = lock(&self.state);
        if let Some(connection) = state.idle.pop() {
            return Some(self.lent(Some(connection)));
        }
        if state.unused > 0 {
            state.unused -= 1;
            return Some(self.lent(None));
        }
        let waiter = Arc::new(Waiter { given: Mutex::new(None), woken: Condvar::new() });
        state.waiting.push_back(waiter.clone());
        drop(state);
        let connection = self.wait(&waiter, deadline)?;
        Some(self.lent(connection))
    }

    fn lent(&self, connection: Place<C>) -> Lease<'_, C> {
        Lease { pool: self, connection, is_beside: false }
    }

    fn wait(&self, waiter: &Arc<Waiter<C>>, deadline: Instant) -> Option<Place<C>> {
        let mut given = lock(&waiter.given);
        while given.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(given);
                return self.leave(waiter);
            }
            given = waiter.woken.wait_timeout(given, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        given.take()
    }

    /// Goes away from the queue; a place that was given in that moment is taken after all.
    fn leave(&self, waiter: &Arc<Waiter<C>>) -> Option<Place<C>> {
        lock(&self.state).waiting.retain(|other| !Arc::ptr_eq(other, waiter));
        lock(&waiter.given).take()
    }

    fn give_back(&self, place: Place<C>) {
        let mut state = lock(&self.state);
        if let Some(first) = state.waiting.pop_front() {
            *lock(&first.given) = Some(place);
            first.woken.notify_one();
            return;
        }
        match place {
            Some(connection) => state.idle.push(connection),
            None => state.unused += 1,
        }
    }

    fn give_back_beside(&self, connection: C) {
        let mut state = lock(&self.state);
        if state.beside.len() < state.kept {
            state.beside.push(connection);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that is lent; given back when dropped, empty unless its connection was returned.
#[derive(Debug)]
pub(super) struct Lease<'a, C> {
    pool: &'a Pool<C>,
    connection: Option<C>,
    is_beside: bool,
}

impl<C> Lease<'_, C> {
    /// Takes the connection out; the place stays lent.
    pub(super) fn take(&mut self) -> Option<C> {
        self.connection.take()
    }

    /// Puts a whole connection in, for the next who asks.
    pub(super) fn put(&mut self, connection: C) {
        self.connection = Some(connection);
    }
}

impl<C> Drop for Lease<'_, C> {
    fn drop(&mut self) {
        match (self.connection.take(), self.is_beside) {
            (place, false) => self.pool.give_back(place),
            (Some(connection), true) => self.pool.give_back_beside(connection),
            (None, true) => {}
        }
    }
}

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread holds a place, of whichever pool.
pub(super) fn holds_a_place() -> bool {
    HELD.get() > 0
}

/// Says that this thread holds a place; it stays with its thread.
pub(super) struct Holding(PhantomData<*const ()>);

impl Holding {
    pub(super) fn begin() -> Self {
        HELD.set(HELD.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(5)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn no_more_are_lent_than_there_are() {
        let pool = Pool::<u8>::new(2);
        let first = pool.take(soon()).unwrap();
        let _second = pool.take(soon()).unwrap();
        assert!(pool.take(soon()).is_none());
        drop(first);
        assert!(pool.take(soon()).is_some());
    }

    #[test]
    fn what_was_put_back_is_lent_again_and_what_was_not_is_gone() {
        let pool = Pool::<u8>::new(1);
        pool.take(soon()).unwrap().put(7);
        assert_eq!(pool.take(soon()).unwrap().take(), Some(7));
        assert_eq!(pool.take(soon()).unwrap().take(), None);
    }

    #[test]
    fn waiters_are_served_in_the_order_of_asking() {
        let pool = Pool::<u8>::new(1);
        let order = Mutex::new(Vec::new());
        let held = pool.take(later()).unwrap();
        thread::scope(|scope| {
            for turn in 0..8 {
                let (pool, order) = (&pool, &order);
                scope.spawn(move || {
                    let lease = pool.take(later()).unwrap();
                    lock(order).push(turn);
                    drop(lease);
                });
                while lock(&pool.state).waiting.len() <= turn {
                    thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(*lock(&order), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_place_beside_is_there_when_all_are_lent_and_is_never_one_of_them() {
        let pool = Pool::<u8>::new(1);
        let held = pool.take(soon()).unwrap();
        let mut extra: Vec<_> = (0..3).map(|_| pool.beside()).collect();
        extra.iter_mut().for_each(|lease| lease.put(7));
        drop(extra);
        assert!(pool.take(soon()).is_none());
        assert_eq!(lock(&pool.state).beside, [7], "no more are kept than there are places");
        assert_eq!(pool.beside().take(), Some(7));
        drop(held);
        assert_eq!(pool.take(soon()).unwrap().take(), None);
    }

    #[test]
    fn a_waiter_that_gave_up_is_given_nothing() {
        let pool = Pool::<u8>::new(1);
        let held = pool.take(later()).unwrap();
        assert!(pool.take(soon()).is_none());
        drop(held);
        assert!(pool.take(soon()).is_some());
    }
}
