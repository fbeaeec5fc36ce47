//! Syncs a file while whoever writes it goes on with something else.
//!
//! One sync at a time: who writes more waits for the one before, so that never more than one line may be lost with the power.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::layer::OneFile;

/// A thread that syncs one file, and ends with this.
#[derive(Debug)]
pub(super) struct Ahead {
    ask: Sender<()>,
    done: Receiver<io::Result<()>>,
    is_busy: bool,
}

impl Ahead {
    pub(super) fn of(file: impl OneFile + 'static) -> io::Result<Self> {
        let ((ask, asked), (tell, done)) = (channel(), channel());
        let work = move || while asked.recv().is_ok_and(|()| tell.send(file.sync()).is_ok()) {};
        std::thread::Builder::new().name("paddock-sync".to_owned()).spawn(work)?;
        Ok(Self { ask, done, is_busy: false })
    }

    /// Begins a sync; the one before was waited for.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.ask.send(()).map_err(|_| has_ended())?;
        self.is_busy = true;
        Ok(())
    }

    /// Waits for the sync that was begun.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(());
        }
        self.done.recv().unwrap_or_else(|_| Err(has_ended()))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Nobody is left to be told; but whoever comes next finds nothing under way.
        let _ = self.wait();
    }
}

fn has_ended() -> io::Error {
    io::Error::other("the thread that syncs has ended")
}
