//! How far something is that takes long: one line on standard error, and only on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use paddock_desk::past::size;
use paddock_projects::Progress;

/// How often the line is written.
const EVERY: Duration = Duration::from_millis(100);

/// A line that tells how far it is.
pub(crate) struct Line {
    shown: bool,
    last: Option<Instant>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal(), last: None }
    }

    /// Hears of progress.
    pub(crate) fn hear(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        if self.shown && self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            self.last = Some(Instant::now());
            let _ = write!(io::stderr(), "\r\x1b[K{} files, {}", progress.files, size(progress.bytes));
        }
        ControlFlow::Continue(())
    }
}

/// What is told afterwards begins on an empty line.
impl Drop for Line {
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
