//! Whose turn it is to write: in order among the threads of a process, then among processes.
//!
//! SQLite lets writers that meet a lock sleep and try again, so that one of many can lose every time. Here they stand
//! in line before SQLite is asked. Threads pass the turn on in the order in which they came. Processes use two advisory
//! locks: who holds the *door* is next, and waits there for the *turn*. So who just gave the turn back and wants it again
//! finds somebody in the door, and cannot take it once more before those who wait.
//!
//! A wait ends at its deadline, also when the holder was stopped in the middle: the lock is then waited for by a
//! thread of its own, of which there is never more than one, and what it gets too late it gives back.
//!
//! The line is about fairness alone. It must never be what keeps the database whole: another program may write without
//! it, and somebody may delete its files.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::open::make_directory;
use crate::sync::lock;

/// Why somebody does not get the turn.
#[derive(Debug)]
pub(super) enum Refused {
    /// The deadline came first.
    Late,
    /// The lock's files cannot be used.
    Broken(std::io::Error),
}

/// The line of one process, standing in the line of processes.
#[derive(Debug)]
pub(super) struct Queue {
    threads: Line,
    processes: Mutex<Option<Arc<Gate>>>,
}

/// The right to write; dropping it passes it on.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    // In this order: another process may go before this one's next thread asks again.
    _gate: Pass,
    _thread: Place<'a>,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self { threads: Line::new(), processes: Mutex::new(None) }
    }

    /// Waits for the turn, not past `until`.
    pub(super) fn turn(&self, database: &Path, until: Instant) -> Result<Turn<'_>, Refused> {
        let thread = self.threads.stand(until).ok_or(Refused::Late)?;
        let gate = self.gate(database).map_err(Refused::Broken)?;
        Ok(Turn { _gate: gate.pass(until)?, _thread: thread })
    }

    /// Whether nobody has the turn or waits for it, in any process. Another may come a moment later.
    pub(super) fn is_free(&self) -> bool {
        // Only who stands first in the line of threads may touch the locks of the process.
        let Some(_thread) = self.threads.stand_if_first() else { return false };
        let gate = lock(&self.processes).clone();
        gate.is_some_and(|gate| gate.is_free())
    }

    /// Whether nobody of this process has the turn or waits for it.
    pub(super) fn is_empty(&self) -> bool {
        !lock(&self.threads.state).taken
    }

    fn gate(&self, database: &Path) -> std::io::Result<Arc<Gate>> {
        let mut gate = lock(&self.processes);
        if let Some(gate) = &*gate {
            return Ok(gate.clone());
        }
        let made = Arc::new(Gate::open(database)?);
        *gate = Some(made.clone());
        Ok(made)
    }
}

/// Threads in the order in which they came.
#[derive(Debug)]
struct Line {
    state: Mutex<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    taken: bool,
    next: VecDeque<Arc<Seat>>,
}

#[derive(Debug, Default)]
struct Seat {
    called: Mutex<bool>,
    bell: Condvar,
}

#[derive(Debug)]
struct Place<'a>(&'a Line);

impl Line {
    const fn new() -> Self {
        Self { state: Mutex::new(Waiting { taken: false, next: VecDeque::new() }) }
    }

    fn stand(&self, until: Instant) -> Option<Place<'_>> {
        let seat = {
            let mut state = lock(&self.state);
            if let Some(place) = self.taken(&mut state) {
                return Some(place);
            }
            let seat = Arc::new(Seat::default());
            state.next.push_back(seat.clone());
            seat
        };
        if seat.wait(until) || !self.leave(&seat) {
            return Some(Place(self));
        }
        None
    }

    fn stand_if_first(&self) -> Option<Place<'_>> {
        self.taken(&mut lock(&self.state))
    }

    /// The first place, where nobody has it.
    fn taken(&self, state: &mut Waiting) -> Option<Place<'_>> {
        (!std::mem::replace(&mut state.taken, true)).then(|| Place(self))
    }

    /// Whether `seat` was still waiting; if not, it was called in this very moment and has the turn.
    fn leave(&self, seat: &Arc<Seat>) -> bool {
        let mut state = lock(&self.state);
        let before = state.next.len();
        state.next.retain(|other| !Arc::ptr_eq(other, seat));
        state.next.len() < before
    }
}

impl Seat {
    fn wait(&self, until: Instant) -> bool {
        let mut called = lock(&self.called);
        while !*called {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            called = match self.bell.wait_timeout(called, left) {
                Ok((called, _)) => called,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        true
    }

    fn call(&self) {
        *lock(&self.called) = true;
        self.bell.notify_one();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        match state.next.pop_front() {
            Some(seat) => seat.call(),
            None => state.taken = false,
        }
    }
}

/// The two locks of a database that processes stand in line with.
#[derive(Debug)]
struct Gate {
    door: File,
    turn: File,
    errand: Mutex<Errand>,
    bell: Condvar,
}

/// What the thread that waits for the locks does, and for whom.
#[derive(Debug, Default)]
struct Errand {
    /// The thread is there.
    waiting: bool,
    /// Somebody still wants what it brings.
    wanted: bool,
    /// What it brought.
    brought: Option<Result<(), Errno>>,
}

/// The turn among processes.
#[derive(Debug)]
struct Pass(Arc<Gate>);

impl Gate {
    fn open(database: &Path) -> std::io::Result<Self> {
        make_directory(database)?;
        Ok(Self {
            door: lock_file(beside(database, ".queue"))?,
            turn: lock_file(beside(database, ".turn"))?,
            errand: Mutex::default(),
            bell: Condvar::new(),
        })
    }

    /// Called by one thread at a time: who stands first in the process's own line.
    fn pass(self: Arc<Self>, until: Instant) -> Result<Pass, Refused> {
        if lock(&self.errand).waiting {
            return self.wait(until);
        }
        if !try_lock(&self.door).map_err(broken)? {
            self.send_errand(false).map_err(Refused::Broken)?;
            return self.wait(until);
        }
        match try_lock(&self.turn) {
            Ok(true) => {
                self.leave_door();
                Ok(Pass(self))
            }
            // Next, and never out of the door again before it has the turn.
            Ok(false) => {
                self.send_errand(true).map_err(Refused::Broken)?;
                self.wait(until)
            }
            Err(errno) => {
                self.leave_door();
                Err(broken(errno))
            }
        }
    }

    /// Called as [`Self::pass`].
    fn is_free(self: Arc<Self>) -> bool {
        let waiting = lock(&self.errand).waiting;
        if waiting || !try_lock(&self.turn).unwrap_or(false) {
            return false;
        }
        drop(Pass(self));
        true
    }

    fn leave_door(&self) {
        // Fails only for a descriptor that is no file.
        let _ = flock(&self.door, FlockOperation::Unlock);
    }

    fn send_errand(self: &Arc<Self>, in_door: bool) -> std::io::Result<()> {
        let mut errand = lock(&self.errand);
        let gate = self.clone();
        let started =
            std::thread::Builder::new().name("paddock-db-queue".to_owned()).spawn(move || gate.run_errand(in_door));
        match started {
            Ok(_) => errand.waiting = true,
            Err(_) if in_door => self.leave_door(),
            Err(_) => {}
        }
        // Before the thread can look: it needs the lock that is held here.
        errand.wanted = errand.waiting;
        started.map(drop)
    }

    fn wait(self: Arc<Self>, until: Instant) -> Result<Pass, Refused> {
        let mut errand = lock(&self.errand);
        if errand.brought.is_none() && !errand.waiting {
            // The thread of an earlier, refused wish came to its end in this very moment.
            drop(errand);
            return self.pass(until);
        }
        errand.wanted = errand.waiting;
        loop {
            if let Some(brought) = errand.brought.take() {
                drop(errand);
                return brought.map(|()| Pass(self)).map_err(broken);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                errand.wanted = false;
                return Err(Refused::Late);
            }
            errand = match self.bell.wait_timeout(errand, left) {
                Ok((errand, _)) => errand,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn run_errand(&self, in_door: bool) {
        let got = self.wait_for_locks(in_door);
        let mut errand = lock(&self.errand);
        errand.waiting = false;
        if std::mem::take(&mut errand.wanted) {
            errand.brought = Some(got);
            self.bell.notify_one();
        } else if got.is_ok() {
            let _ = flock(&self.turn, FlockOperation::Unlock);
        }
    }

    fn wait_for_locks(&self, in_door: bool) -> Result<(), Errno> {
        if !in_door {
            wait_lock(&self.door)?;
        }
        let turn = wait_lock(&self.turn);
        self.leave_door();
        turn
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // Fails only for a descriptor that is no file.
        let _ = flock(&self.0.turn, FlockOperation::Unlock);
    }
}

fn try_lock(file: &File) -> Result<bool, Errno> {
    loop {
        return match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(Errno::INTR) => continue,
            Err(other) => Err(other),
        };
    }
}

fn wait_lock(file: &File) -> Result<(), Errno> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn broken(errno: Errno) -> Refused {
    Refused::Broken(errno.into())
}

fn lock_file(path: PathBuf) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The file of this database whose name ends in `suffix`.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn threads_go_in_the_order_in_which_they_came() {
        let line = Line::new();
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let first = line.stand(soon()).unwrap();
            for n in 0..20 {
                let (line, order) = (&line, &order);
                scope.spawn(move || {
                    let _place = line.stand(soon()).unwrap();
                    lock(order).push(n);
                });
                while lock(&line.state).next.len() <= n {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*lock(&order), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn who_leaves_the_line_does_not_stop_it() {
        let line = Line::new();
        let first = line.stand(soon()).unwrap();
        assert!(line.stand(Instant::now()).is_none());
        drop(first);
        assert!(line.stand(Instant::now()).is_some());
    }

    #[test]
    fn who_gives_the_turn_back_cannot_take_it_before_those_who_wait() {
        let home = tempfile::tempdir().unwrap();
        let database = home.path().join("some.db");
        // Two processes, as far as the locks can tell.
        let (greedy, patient) = (Queue::new(), Queue::new());
        for round in 0..50 {
            let order = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                let turn = greedy.turn(&database, soon()).unwrap();
                scope.spawn(|| {
                    let _turn = patient.turn(&database, soon()).unwrap();
                    lock(&order).push("patient");
                });
                wait_until_somebody_is_in_the_door(&database);
                drop(turn);
                let _turn = greedy.turn(&database, soon()).unwrap();
                lock(&order).push("greedy");
            });
            assert_eq!(*lock(&order), ["patient", "greedy"], "round {round}");
        }
    }

    fn wait_until_somebody_is_in_the_door(database: &Path) {
        let door = lock_file(beside(database, ".queue")).unwrap();
        while try_lock(&door).unwrap() {
            flock(&door, FlockOperation::Unlock).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_turn_is_free_where_nobody_has_it_and_looking_takes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let database = home.path().join("some.db");
        let (here, elsewhere) = (Queue::new(), Queue::new());
        assert!(!here.is_free(), "nothing is known yet");
        let turn = here.turn(&database, soon()).unwrap();
        assert!(!here.is_free(), "a thread of this process has it");
        drop(elsewhere.turn(&database, Instant::now()));
        assert!(!elsewhere.is_free(), "another process has it");
        // Looking gave back nothing that others hold.
        assert!(matches!(elsewhere.turn(&database, Instant::now()), Err(Refused::Late)));
        drop(turn);
        drop(here.turn(&database, soon()).unwrap());
        assert!(here.is_free() && elsewhere.is_free());
        assert!(here.is_free() && elsewhere.is_free(), "nor was anything taken");
    }

    #[test]
    fn a_turn_that_comes_too_late_is_given_back() {
        let home = tempfile::tempdir().unwrap();
        let database = home.path().join("some.db");
        let (holder, late, next) = (Queue::new(), Queue::new(), Queue::new());
        let turn = holder.turn(&database, soon()).unwrap();
        let refused = late.turn(&database, Instant::now() + Duration::from_millis(10));
        assert!(matches!(refused, Err(Refused::Late)), "{refused:?}");
        drop(turn);
        drop(next.turn(&database, soon()).unwrap());
        drop(late.turn(&database, soon()).unwrap());
    }
}
