//! The log on standard error, which nobody may be reading.
//!
//! Many MCP clients start a server with a pipe for standard error and never empty it. A server that waits for room
//! in it stops answering, so this writer never waits: what does not fit is dropped and counted, and the count is
//! told once there is room again. It must never stand between an agent and its answer, and never hold a secret.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paddock_state::Secrets;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::LogFormat;

/// A pipe that says it has room has room for this much at least.
const PIECE: usize = 4096;

/// Logs what is of this level or above. rmcp warns of each call that it refuses; those are told only to a person
/// who asked for the calls.
pub(crate) fn start(level: Level, format: LogFormat, secrets: Secrets) {
    let rmcp = if level > Level::WARN { level } else { Level::ERROR };
    let writer = Patient::new(io::stderr(), secrets);
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(writer);
    let wanted = Targets::new().with_default(level).with_target("rmcp", rmcp);
    match format {
        LogFormat::Text => log.without_time().with_target(level > Level::INFO).finish().with(wanted).init(),
        LogFormat::Json => log.json().flatten_event(true).with_timer(Utc).finish().with(wanted).init(),
    }
}

/// The time of a line, as programs read it.
struct Utc;

impl FormatTime for Utc {
    fn format_time(&self, out: &mut Writer<'_>) -> std::fmt::Result {
        out.write_str(&paddock_desk::moment::exact(std::time::SystemTime::now()))
    }
}

/// Where lines go when there is room.
struct Patient<W>(Mutex<Lines<W>>);

struct Lines<W> {
    out: W,
    secrets: Secrets,
    dropped: u64,
}

impl<W> Patient<W> {
    fn new(out: W, secrets: Secrets) -> Self {
        Self(Mutex::new(Lines { out, secrets, dropped: 0 }))
    }
}

impl<'w, W: Write + AsFd + 'w> MakeWriter<'w> for Patient<W> {
    type Writer = OneLine<'w, W>;

    fn make_writer(&'w self) -> Self::Writer {
        OneLine(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes one line, which it is given whole.
struct OneLine<'w, W>(MutexGuard<'w, Lines<W>>);

impl<W: Write + AsFd> Write for OneLine<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.secrets.refresh();
        let redactor = self.0.secrets.redactor();
        self.0.take(&redactor.bytes(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write + AsFd> Lines<W> {
    fn take(&mut self, line: &[u8]) {
        if self.dropped > 0 {
            let told = format!("{} lines of the log were dropped: nobody read them\n", self.dropped);
            if !self.write_what_fits(told.as_bytes()) {
                self.dropped += 1;
                return;
            }
            self.dropped = 0;
        }
        if !self.write_what_fits(line) {
            self.dropped += 1;
        }
    }

    /// False when not all of it fitted. Whoever listens and fails is no concern of the server.
    fn write_what_fits(&mut self, line: &[u8]) -> bool {
        line.chunks(PIECE).all(|piece| self.has_room() && self.out.write_all(piece).is_ok())
    }

    fn has_room(&self) -> bool {
        let mut asked = [PollFd::new(&self.out, PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().contains(PollFlags::OUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_full_pipe_is_not_waited_for_and_what_was_dropped_is_counted() {
        let (mut reader, writer) = io::pipe().unwrap();
        let log = Patient::new(writer, Secrets::none());
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        for _ in 0..1000 {
            log.make_writer().write_all(&line).unwrap();
        }
        let mut read = vec![0; 50_000];
        reader.read_exact(&mut read).unwrap();
        log.make_writer().write_all(b"there is room\n").unwrap();
        drop(log);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        let kept = (read.len() + rest.matches('x').count()) / 1000;
        let told = rest.lines().rev().take(2).collect::<Vec<_>>();
        let count: usize = told[1].split(' ').next().unwrap().parse().unwrap();
        assert_eq!(told[0], "there is room");
        assert!(told[1].ends_with("lines of the log were dropped: nobody read them"), "{told:?}");
        assert!(count > 900 && count + kept >= 999 && count + kept <= 1000, "{count} dropped, {kept} kept");
    }

    #[test]
    fn a_long_line_is_written_whole_where_there_is_room() {
        let (mut reader, writer) = io::pipe().unwrap();
        let log = Patient::new(writer, Secrets::none());
        log.make_writer().write_all(&[b'x'; 3 * PIECE + 5]).unwrap();
        drop(log);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), 3 * PIECE + 5);
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        assert!(Patient::new(writer, Secrets::none()).make_writer().write_all(b"x\n").is_ok());
    }
}
