//! AgentFS doing the work of Virtual Stores, in a process of its own that keeps the clock itself.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::store_work::Worker;

/// The process and the conversation with it.
#[derive(Debug)]
pub(crate) struct AgentFs {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl AgentFs {
    /// On a new database at this path.
    pub(crate) fn start(program: &Path, database: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg(database).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start \"{}\"", program.display()))?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().context("it has an output")?);
        Ok(Self { child, to, from })
    }

    /// A listing with names alone, where [`Worker::list`] has kinds and lengths beside them.
    pub(crate) fn list_names(&mut self, dir: &str, count: usize) -> Result<Duration> {
        self.ask("names", dir, count, &[])
    }

    fn ask(&mut self, verb: &str, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        let numbers: String = numbers.iter().map(|number| format!(" {number}")).collect();
        let to = self.to.as_mut().context("AgentFS has ended")?;
        writeln!(to, "{verb} {dir} {state}{numbers}")?;
        to.flush()?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let nanoseconds = line.trim().parse().with_context(|| format!("AgentFS could not {verb}"))?;
        Ok(Duration::from_nanos(nanoseconds))
    }
}

impl Drop for AgentFs {
    fn drop(&mut self) {
        // It ends where its requests do.
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

impl Worker for AgentFs {
    fn make_dir(&mut self, dir: &str) -> Result<()> {
        self.ask("mkdir", dir, 0, &[]).map(drop)
    }

    fn write(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        self.ask("write", dir, state, numbers)
    }

    fn read(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        self.ask("read", dir, state, numbers)
    }

    fn list(&mut self, dir: &str, count: usize) -> Result<Duration> {
        self.ask("list", dir, count, &[])
    }

    fn delete(&mut self, dir: &str, numbers: &[usize]) -> Result<Duration> {
        self.ask("delete", dir, 0, numbers)
    }
}
