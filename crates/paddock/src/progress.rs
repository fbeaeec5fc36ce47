//! How far something is that takes long: one line on standard error, for a person who looks at a terminal.
//!
//! Nothing is written where nobody looks, or where the person wants no such line. It must never be the only place where
//! something is told: what comes of the work is said afterwards, on an empty line.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use paddock_desk::past::size;
use paddock_projects::Progress;

use crate::settings;

/// How often the line is written.
const EVERY: Duration = Duration::from_millis(100);
/// How often a line is written that only counts seconds. What is over before has none.
const PATIENCE: Duration = Duration::from_millis(700);

/// A line that tells how far it is.
pub(crate) struct Line {
    out: Box<dyn Write + Send>,
    shown: bool,
    last: Option<Instant>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::on(io::stderr(), io::stderr().is_terminal() && settings::shows_progress())
    }

    fn on(out: impl Write + Send + 'static, shown: bool) -> Self {
        Self { out: Box::new(out), shown, last: None }
    }

    /// Hears of progress.
    pub(crate) fn hear(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        self.tell(format_args!("{} files, {}", progress.files, size(progress.bytes)));
        ControlFlow::Continue(())
    }

    /// Hears of so many parts of all.
    pub(crate) fn hear_of(&mut self, what: &str, done: u64, all: u64) {
        self.tell(format_args!("{what}: {} %", done * 100 / all.max(1)));
    }

    /// Takes the line away, so that something else can be told.
    pub(crate) fn clear(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(self.out, "\r\x1b[K").and_then(|()| self.out.flush());
        }
    }

    /// Does anybody see it?
    pub(crate) fn is_shown(&self) -> bool {
        self.shown
    }

    /// Says how far it is, if that was not said just now.
    pub(crate) fn tell(&mut self, text: impl Display) {
        if self.shown && self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            self.last = Some(Instant::now());
            let _ = write!(self.out, "\r\x1b[K{text}").and_then(|()| self.out.flush());
        }
    }
}

/// What is told afterwards begins on an empty line.
impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Does something that cannot say how far it is: the line says what it is and for how long already. The work must ask the
/// person nothing, since the line would cover the question.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    counting(Line::new(), what, PATIENCE, work)
}

fn counting<T>(mut line: Line, what: &str, every: Duration, work: impl FnOnce() -> T) -> T {
    if !line.shown {
        return work();
    }
    let began = Instant::now();
    repeating(every, move || line.tell(format_args!("{what}: {} s", began.elapsed().as_secs())), work)
}

/// Does something, and something else again and again until it is done.
pub(crate) fn meanwhile<T>(again: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    repeating(PATIENCE, again, work)
}

fn repeating<T>(every: Duration, mut again: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    let (over, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                again();
            }
        });
        let done = work();
        drop(over);
        done
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What was written, for whoever looks later.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u8>>>);

    impl Seen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_is_written_seldom_and_gone_at_the_end() {
        let seen = Seen::default();
        let mut line = Line::on(seen.clone(), true);
        for page in 1..=1000 {
            line.hear_of("state.db", page, 1000);
        }
        drop(line);
        let text = seen.text();
        assert!(text.starts_with("\r\x1b[Kstate.db: 0 %"), "{text:?}");
        assert!(text.ends_with("\r\x1b[K") && text.matches("state.db").count() < 1000, "{text:?}");
    }

    #[test]
    fn nothing_is_written_where_nobody_looks_or_nothing_was_told() {
        let seen = Seen::default();
        let mut line = Line::on(seen.clone(), false);
        line.hear_of("state.db", 1, 2);
        drop(line);
        drop(Line::on(seen.clone(), true));
        assert_eq!(counting(Line::on(seen.clone(), false), "looking", Duration::ZERO, || 5), 5);
        assert_eq!(seen.text(), "");
    }

    #[test]
    fn work_that_cannot_say_how_far_it_is_is_named_with_its_time() {
        let seen = Seen::default();
        let until_told = || {
            while seen.text().is_empty() {
                std::thread::yield_now();
            }
            7
        };
        assert_eq!(counting(Line::on(seen.clone(), true), "looking", Duration::from_millis(1), until_told), 7);
        let text = seen.text();
        assert!(text.starts_with("\r\x1b[Klooking: 0 s") && text.ends_with("\r\x1b[K"), "{text:?}");
    }
}
