//! The work of the Virtual Store benchmarks, done by AgentFS through its SDK.
//!
//! Reads one request per line, does the work, and answers with the nanoseconds it took. The clock runs here, so that no
//! pipe is measured. Contents are made before the clock starts and compared after it has stopped; a wrong one ends the
//! program. What it does in each request must stay the same work as `store_work.rs` does for Paddock.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use agentfs_sdk::{AgentFS, AgentFSOptions};
use anyhow::{Context, Result, bail, ensure};

const SIZE: usize = 4096;
/// Of the SDK, as `Cargo.toml` pins it.
const VERSION: &str = "0.6.4";

fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        writeln!(std::io::stdout(), "agentfs-sdk {VERSION}")?;
        return Ok(());
    }
    let database = std::env::args().nth(1).context("the database is named on the command line")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let agent = runtime.block_on(AgentFS::open(AgentFSOptions::with_path(database)))?;
    for line in std::io::stdin().lock().lines() {
        let took = runtime.block_on(answer(&agent, &line?))?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", took.as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

/// `VERB DIRECTORY STATE NUMBER…`: files are named by their numbers, and the state tells what each holds.
async fn answer(agent: &AgentFS, line: &str) -> Result<Duration> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [verb, dir, state, numbers @ ..] = &words[..] else { bail!("\"{line}\" is no request") };
    let state: usize = state.parse()?;
    let numbers: Vec<usize> = numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>()?;
    let paths: Vec<String> = numbers.iter().map(|number| format!("/{dir}/file-{number:05}.txt")).collect();
    let contents: Vec<Vec<u8>> = numbers.iter().map(|number| content(*number, state)).collect();
    match *verb {
        "mkdir" => make(agent, dir).await,
        "write" => write(agent, &paths, &contents).await,
        "read" => read(agent, &paths, &contents).await,
        "list" => list(agent, dir, state).await,
        "names" => names(agent, dir, state).await,
        "delete" => delete(agent, &paths).await,
        other => bail!("\"{other}\" is no work"),
    }
}

fn content(number: usize, state: usize) -> Vec<u8> {
    format!("{number:05} {state:04}\n").into_bytes().into_iter().cycle().take(SIZE).collect()
}

async fn make(agent: &AgentFS, dir: &str) -> Result<Duration> {
    let start = Instant::now();
    agent.fs.mkdir(&format!("/{dir}"), 0, 0).await?;
    Ok(start.elapsed())
}

async fn write(agent: &AgentFS, paths: &[String], contents: &[Vec<u8>]) -> Result<Duration> {
    let start = Instant::now();
    for (path, content) in paths.iter().zip(contents) {
        agent.fs.pwrite(path, 0, content).await?;
    }
    Ok(start.elapsed())
}

async fn read(agent: &AgentFS, paths: &[String], contents: &[Vec<u8>]) -> Result<Duration> {
    let mut took = Duration::ZERO;
    for (path, content) in paths.iter().zip(contents) {
        let start = Instant::now();
        let read = agent.fs.read_file(path).await?;
        took += start.elapsed();
        ensure!(read.as_ref() == Some(content), "\"{path}\" was not read as it was written");
    }
    Ok(took)
}

/// `expected` entries, each with its kind and its length.
async fn list(agent: &AgentFS, dir: &str, expected: usize) -> Result<Duration> {
    let start = Instant::now();
    let stats = agent.fs.stat(&format!("/{dir}")).await?.context("the directory is there")?;
    let entries = agent.fs.readdir_plus(stats.ino).await?.context("it is a directory")?;
    let took = start.elapsed();
    ensure!(entries.len() == expected, "{} entries listed, {expected} expected", entries.len());
    ensure!(entries.iter().all(|entry| entry.stats.size == SIZE as i64), "an entry with a wrong length");
    Ok(took)
}

/// As [`list`], with names alone.
async fn names(agent: &AgentFS, dir: &str, expected: usize) -> Result<Duration> {
    let start = Instant::now();
    let stats = agent.fs.stat(&format!("/{dir}")).await?.context("the directory is there")?;
    let names = agent.fs.readdir(stats.ino).await?.context("it is a directory")?;
    let took = start.elapsed();
    ensure!(names.len() == expected, "{} names listed, {expected} expected", names.len());
    Ok(took)
}

async fn delete(agent: &AgentFS, paths: &[String]) -> Result<Duration> {
    let start = Instant::now();
    for path in paths {
        agent.fs.remove(path).await?;
    }
    Ok(start.elapsed())
}
