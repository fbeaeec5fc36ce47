//! Standard output: data, and nothing else.
//!
//! Colours only where a person looks and wants them (`settings`). A reader that goes
//! away, such as `head`, is no error. Everything a person must be told beside the data goes to standard error.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, Write};

use serde_json::Value;

use crate::{secrets, settings};

/// Writes what a command gives.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    colour: bool,
    /// The reader has gone away.
    deserted: Cell<bool>,
}

/// How a piece of text looks on a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    Good,
    Bad,
    Warning,
    Strong,
    Faint,
}

impl Printer {
    pub(crate) fn for_stdout() -> Self {
        Self { colour: settings::colours(), deserted: Cell::new(false) }
    }

    /// Does somebody still read what is printed?
    pub(crate) fn is_read(&self) -> bool {
        !self.deserted.get()
    }

    /// Standard output for data that is written piece by piece.
    pub(crate) fn stream(&self) -> Stream<'_> {
        Stream(self)
    }

    /// One that prints nothing.
    pub(crate) fn nowhere() -> Self {
        Self { colour: false, deserted: Cell::new(true) }
    }

    /// One that never colours, as in a pipe.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { colour: false, deserted: Cell::new(false) }
    }

    /// Does a person look at it, rather than a program?
    pub(crate) fn is_for_a_person(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Prints a text and ends its line if it does not itself.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.write(format_args!("{text}{end}"))
    }

    /// Prints one line.
    pub(crate) fn line(&self, line: impl fmt::Display) -> anyhow::Result<()> {
        self.write(format_args!("{line}\n"))
    }

    /// Prints a value for programs.
    pub(crate) fn json(&self, value: &Value) -> anyhow::Result<()> {
        self.write(format_args!("{value:#}\n"))
    }

    /// The text as it should look.
    pub(crate) fn look(&self, look: Look, text: impl fmt::Display) -> String {
        let code = match look {
            _ if !self.colour => return text.to_string(),
            Look::Good => 32,
            Look::Bad => 31,
            Look::Warning => 33,
            Look::Strong => 1,
            Look::Faint => 2,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn write(&self, text: fmt::Arguments<'_>) -> anyhow::Result<()> {
        if self.deserted.get() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_fmt(text).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.deserted.set(true);
                Ok(())
            }
            other => Ok(other?),
        }
    }
}

/// Standard output as a stream; what comes after its reader went away goes nowhere.
#[derive(Debug)]
pub(crate) struct Stream<'a>(&'a Printer);

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match io::stdout().lock().write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.0.deserted.set(true);
                Ok(bytes.len())
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match io::stdout().lock().flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Tells the person something beside the data, errors above all: never with the value of a secret in it.
pub(crate) fn tell(text: impl fmt::Display) {
    let text = format!("{text}\n");
    // In one piece, so that nothing of another process comes between.
    let _ = io::stderr().lock().write_all(secrets::redacted(&text).as_bytes());
}

/// Asks the person at the terminal; nothing where there is none.
pub(crate) fn confirmed(question: &str) -> anyhow::Result<Option<bool>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    tell(format_args!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}
