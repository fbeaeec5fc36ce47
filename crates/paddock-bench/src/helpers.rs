//! What the benchmarks do in processes of their own: the same program, started again with another first word.
//!
//! A helper says `ready`, waits for a line, does its work and says what it took. So several begin at once, and what one
//! process keeps in memory is not another's.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use paddock_core::Store;
use paddock_db::{Durability, Postgres};
use paddock_stores::virtual_store::base::Namespace;
use paddock_stores::virtual_store::{PostgresBase, VirtualStore};

use crate::commands;
use crate::conversation;
use crate::guarded::{Databases, Guarded};
use crate::large;
use crate::runs;
use crate::servers;
use crate::store_work::{content, name};

/// The first word that makes a helper of the program.
const WORD: &str = "--helper";

/// What a helper does.
#[derive(Debug, Clone)]
pub(crate) enum Job {
    /// Writes so many files of 4 KiB into a namespace of its own; the first is a directory or a url.
    Write { to: String, name: String, count: usize },
    /// Reads ranges of a file, and tells what that needs.
    ReadRanges { directory: PathBuf, path: String },
    /// Writes one large file, recorded.
    WriteLarge { directory: PathBuf, bytes: usize },
    /// Loads the conversation of an instance, whole or message by message.
    LoadConversation { directory: PathBuf, whole: bool },
    /// Makes so many runs that wait for a person.
    FreezeRuns { directory: PathBuf, count: usize },
    /// Serves a directory over MCP as `paddock mcp` does, but keeps no record of what is changed.
    ServeUnrecorded { project: PathBuf },
    /// Starts commands so many times in each way, in a process with so much more memory in use.
    Start { ground: PathBuf, rounds: usize, more: usize },
}

impl Job {
    fn words(&self) -> Vec<String> {
        let of = |words: [&str; 3]| words.map(str::to_owned).to_vec();
        match self {
            Self::Write { to, name, count } => [of(["write", to, name]), vec![count.to_string()]].concat(),
            Self::ReadRanges { directory, path } => of(["read-ranges", &directory.to_string_lossy(), path]),
            Self::WriteLarge { directory, bytes } => {
                of(["write-large", &directory.to_string_lossy(), &bytes.to_string()])
            }
            Self::LoadConversation { directory, whole } => {
                of(["load-conversation", &directory.to_string_lossy(), &whole.to_string()])
            }
            Self::FreezeRuns { directory, count } => {
                of(["freeze-runs", &directory.to_string_lossy(), &count.to_string()])
            }
            Self::ServeUnrecorded { project } => {
                vec!["serve-unrecorded".to_owned(), project.to_string_lossy().into_owned()]
            }
            Self::Start { ground, rounds, more } => {
                [of(["start", &ground.to_string_lossy(), &rounds.to_string()]), vec![more.to_string()]].concat()
            }
        }
    }

    fn parse(words: &[String]) -> Result<Self> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(match words[..] {
            ["write", to, name, count] => {
                Self::Write { to: to.to_owned(), name: name.to_owned(), count: count.parse()? }
            }
            ["read-ranges", directory, path] => Self::ReadRanges { directory: directory.into(), path: path.to_owned() },
            ["write-large", directory, bytes] => {
                Self::WriteLarge { directory: directory.into(), bytes: bytes.parse()? }
            }
            ["load-conversation", directory, whole] => {
                Self::LoadConversation { directory: directory.into(), whole: whole.parse()? }
            }
            ["freeze-runs", directory, count] => {
                Self::FreezeRuns { directory: directory.into(), count: count.parse()? }
            }
            ["serve-unrecorded", project] => Self::ServeUnrecorded { project: project.into() },
            ["start", ground, rounds, more] => {
                Self::Start { ground: ground.into(), rounds: rounds.parse()?, more: more.parse()? }
            }
            _ => bail!("{words:?} is no job of a helper"),
        })
    }

    /// Does it; the answer is one line.
    fn run(&self) -> Result<String> {
        match self {
            Self::Write { to, name, count } => write(to, name, *count),
            Self::ReadRanges { directory, path } => {
                ready()?;
                large::read_ranges(directory, path)
            }
            Self::LoadConversation { directory, whole } => {
                ready()?;
                conversation::load(directory, *whole)
            }
            Self::FreezeRuns { directory, count } => {
                ready()?;
                runs::freeze(directory, *count)
            }
            Self::ServeUnrecorded { project } => {
                servers::serve_unrecorded(project)?;
                Ok(String::new())
            }
            Self::Start { ground, rounds, more } => {
                ready()?;
                commands::time_starts(ground, *rounds, *more)
            }
            Self::WriteLarge { directory, bytes } => {
                let databases = Databases::at(directory, Durability::Process)?;
                let guarded = Guarded::new(Arc::new(databases.store("other")), Some(databases.ledger()?))?;
                let content = vec![7; *bytes];
                ready()?;
                let start = Instant::now();
                guarded.write("large.bin", content)?;
                Ok(start.elapsed().as_nanos().to_string())
            }
        }
    }
}

/// The line that starts a helper which says nothing but what its job is.
pub(crate) fn line(job: &Job) -> Result<Vec<PathBuf>> {
    let words = job.words().into_iter().map(PathBuf::from);
    Ok([std::env::current_exe()?, WORD.into()].into_iter().chain(words).collect())
}

/// Is this process a helper? Then it does its job and is done.
pub(crate) fn helped(args: &[String]) -> Result<bool> {
    let Some((first, job)) = args.split_first().filter(|(first, _)| *first == WORD) else { return Ok(false) };
    debug_assert_eq!(first, WORD);
    let answer = Job::parse(job)?.run()?;
    say(&answer)?;
    Ok(true)
}

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Tells that everything is prepared and waits for the word to begin.
fn ready() -> Result<()> {
    say("ready")?;
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

fn write(to: &str, namespace: &str, count: usize) -> Result<String> {
    let store: Arc<dyn Store> = if to.contains("://") {
        let base = PostgresBase::new(Postgres::new(to, vec![PostgresBase::SCHEMA])?);
        Arc::new(VirtualStore::new(Arc::new(base), Namespace::new([namespace])))
    } else {
        Arc::new(Databases::at(to.as_ref(), Durability::Process)?.store(namespace))
    };
    let guarded = Guarded::new(store, None)?;
    guarded.write("files/first", Vec::new())?;
    let files: Vec<_> = (0..count).map(|number| (format!("files/{}", name(number)), content(number, 1))).collect();
    ready()?;
    let start = Instant::now();
    for (path, content) in files {
        guarded.write(&path, content)?;
    }
    Ok(start.elapsed().as_nanos().to_string())
}

/// A helper that is running.
#[derive(Debug)]
pub(crate) struct Helper {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts one and waits until it is ready.
    pub(crate) fn start(job: &Job) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(WORD).args(job.words()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a helper")?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().context("it has an output")?);
        let mut helper = Self { child, to, from };
        match helper.line()?.as_str() {
            "ready" => Ok(helper),
            other => bail!("the helper for {job:?} said \"{other}\" instead of being ready"),
        }
    }

    /// Gives the word to begin.
    pub(crate) fn begin(&mut self) -> Result<()> {
        let to = self.to.as_mut().context("the helper was begun before")?;
        writeln!(to)?;
        Ok(to.flush()?)
    }

    /// Waits for its answer.
    pub(crate) fn answer(mut self) -> Result<String> {
        let answer = self.line()?;
        drop(self.to.take());
        anyhow::ensure!(self.child.wait()?.success(), "a helper failed");
        Ok(answer)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Has it ended?
    pub(crate) fn is_done(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }
}

/// Nanoseconds as a helper says them.
pub(crate) fn duration(answer: &str) -> Result<Duration> {
    Ok(Duration::from_nanos(answer.parse().with_context(|| format!("\"{answer}\" is no time"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_understood_as_it_was_told() {
        let jobs = [
            Job::Write { to: "/a".to_owned(), name: "n".to_owned(), count: 3 },
            Job::ReadRanges { directory: "/a".into(), path: "p".to_owned() },
            Job::WriteLarge { directory: "/a".into(), bytes: 9 },
            Job::LoadConversation { directory: "/a".into(), whole: true },
            Job::FreezeRuns { directory: "/a".into(), count: 9 },
            Job::ServeUnrecorded { project: "/a".into() },
            Job::Start { ground: "/a".into(), rounds: 9, more: 100 },
        ];
        for job in jobs {
            assert_eq!(format!("{job:?}"), format!("{:?}", Job::parse(&job.words()).unwrap()));
        }
        assert!(!helped(&["--quick".to_owned()]).unwrap());
    }
}
