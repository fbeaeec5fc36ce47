//! A process that dies at a step of a call: what its history then has not heard.

use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{Call, ErrorKind, Journal, Part, PartDone, Plan, Result};
use paddock_ledger::history::History;

/// When a process dies. Parts are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Dies {
    /// Before the part is given to its Store.
    Before(usize),
    /// When the Store has made it, and nobody was told.
    After(usize),
    /// When everything is made and told, but for the end.
    AtTheEnd,
}

/// A history that hears nothing any more once its process is dead.
pub(crate) struct Mortal {
    history: History,
    dies: Dies,
    begun: AtomicUsize,
}

impl Mortal {
    pub(crate) fn new(history: &History, dies: Dies) -> Self {
        Self { history: history.clone(), dies, begun: AtomicUsize::new(0) }
    }
}

impl Journal for Mortal {
    fn keeps(&self) -> bool {
        self.history.keeps()
    }

    fn begin(&self, call: &Call<'_>, plan: &Plan) -> Result<()> {
        self.history.begin(call, plan)
    }

    fn part_begins(&self, call: &Call<'_>, part: &Part<'_>) -> Result<()> {
        self.history.part_begins(call, part)?;
        let n = self.begun.fetch_add(1, Ordering::SeqCst);
        if self.dies == Dies::Before(n) { Err(ErrorKind::Io.into()) } else { Ok(()) }
    }

    fn part_done(&self, call: &Call<'_>, done: &PartDone<'_>) -> Result<()> {
        if self.dies == Dies::After(self.begun.load(Ordering::SeqCst) - 1) {
            return Err(ErrorKind::Io.into());
        }
        self.history.part_done(call, done)
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}
