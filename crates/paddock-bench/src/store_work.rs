//! The work that Virtual Stores are compared by: files of 4 KiB written, read in no order, listed, written again, deleted.
//!
//! Owns what the files are called and hold, and what is on the clock. `peers/agentfs` does the same work for AgentFS and
//! must stay like this. Contents are made before the clock starts and compared after it has stopped.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::guarded::Guarded;
use crate::trees::SIZE;

/// One who does the work.
pub(crate) trait Worker {
    /// Makes a directory, off the clock.
    fn make_dir(&mut self, dir: &str) -> Result<()>;
    /// Writes the files of these numbers one by one, each with what it holds in this state.
    fn write(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration>;
    /// Reads them one by one.
    fn read(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration>;
    /// Lists a directory with so many entries.
    fn list(&mut self, dir: &str, count: usize) -> Result<Duration>;
    /// Deletes files one by one.
    fn delete(&mut self, dir: &str, numbers: &[usize]) -> Result<Duration>;
}

/// What a file is called, relative to its directory.
pub(crate) fn name(number: usize) -> String {
    format!("file-{number:05}.txt")
}

/// What it holds.
pub(crate) fn content(number: usize, state: usize) -> Vec<u8> {
    format!("{number:05} {state:04}\n").into_bytes().into_iter().cycle().take(SIZE).collect()
}

/// So many numbers below a bound, each at most once, in no order that a database could like.
pub(crate) fn shuffled(from: usize, count: usize, bound: usize) -> Vec<usize> {
    // A prime that divides no bound used here, so that no number comes twice.
    (from..from + count).map(|at| at * 7919 % bound).collect()
}

impl Worker for Guarded {
    fn make_dir(&mut self, dir: &str) -> Result<()> {
        Guarded::write(self, &format!("{dir}/first"), Vec::new())?;
        Guarded::delete(self, &format!("{dir}/first"))
    }

    fn write(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        let files: Vec<_> =
            numbers.iter().map(|number| (format!("{dir}/{}", name(*number)), content(*number, state))).collect();
        let start = Instant::now();
        for (path, content) in files {
            Guarded::write(self, &path, content)?;
        }
        Ok(start.elapsed())
    }

    fn read(&mut self, dir: &str, state: usize, numbers: &[usize]) -> Result<Duration> {
        let mut took = Duration::ZERO;
        for number in numbers {
            let path = format!("{dir}/{}", name(*number));
            let start = Instant::now();
            let read = Guarded::read(self, &path, 0..65536)?;
            took += start.elapsed();
            ensure!(read == content(*number, state), "\"{path}\" was not read as it was written");
        }
        Ok(took)
    }

    fn list(&mut self, dir: &str, count: usize) -> Result<Duration> {
        let start = Instant::now();
        let found = Guarded::list(self, dir, count + 1)?;
        let took = start.elapsed();
        ensure!(found.len() == count, "{} entries listed, {count} expected", found.len());
        Ok(took)
    }

    fn delete(&mut self, dir: &str, numbers: &[usize]) -> Result<Duration> {
        let paths: Vec<_> = numbers.iter().map(|number| format!("{dir}/{}", name(*number))).collect();
        let start = Instant::now();
        for path in &paths {
            Guarded::delete(self, path)?;
        }
        Ok(start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_comes_twice() {
        for bound in [1000, 2000, 10_000] {
            let mut all = shuffled(0, bound, bound);
            all.sort_unstable();
            assert_eq!(all, (0..bound).collect::<Vec<_>>());
        }
    }

    #[test]
    fn contents_differ_by_file_and_by_state() {
        let all = [content(1, 1), content(2, 1), content(1, 2)];
        assert!(all.iter().all(|content| content.len() == SIZE));
        assert!(all[0] != all[1] && all[0] != all[2]);
    }
}
