//! LangGraph with its SqliteSaver, in a process of its own that keeps the clock itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// A running peer.
#[derive(Debug)]
pub(crate) struct LangGraph {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl LangGraph {
    pub(crate) fn start(python: &Path, script: &Path, database: &Path) -> Result<Self> {
        let mut command = Command::new(python);
        command.arg(script).arg(database).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Its scripts are in the repository, and nothing else is to be.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let mut child = command.spawn().context("cannot start LangGraph")?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().context("it has an output")?);
        Ok(Self { child, to, from })
    }

    /// One turn after so many messages: what it took, and the bytes it wrote.
    pub(crate) fn turn(&mut self, history: usize) -> Result<(Duration, u64)> {
        match self.ask(history)?[..] {
            [took, bytes] => Ok((Duration::from_nanos(took), bytes)),
            ref other => bail!("LangGraph said {other:?}"),
        }
    }

    /// One turn after so many messages, and the numbers that the script says of it.
    pub(crate) fn ask(&mut self, history: usize) -> Result<Vec<u64>> {
        let to = self.to.as_mut().context("LangGraph has ended")?;
        writeln!(to, "turn {history}")?;
        to.flush()?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let told: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        ensure!(!told.is_empty(), "LangGraph could not do a turn after {history} messages");
        Ok(told)
    }
}

impl Drop for LangGraph {
    fn drop(&mut self) {
        // It ends where its requests do.
        drop(self.to.take());
        let _ = self.child.wait();
    }
}
