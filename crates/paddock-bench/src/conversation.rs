//! Turns of a conversation, after ten messages and after a million: time, bytes written, and beside LangGraph.
//!
//! On a disk where syncing means something, with durability `disk`: whatever was acknowledged survives the loss of power. Each turn is
//! four messages, appended one by one and folded; what was there before is made by an import and is not measured.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use paddock_db::Durability;
use paddock_state::conversation::{Conversation, Message, MessageEvent, MessageSource, Written};
use paddock_state::instance::{FileInstances, Imported, Instances as _};
use paddock_state::{InstanceKey, TurnId};
use serde_json::Value;

use crate::helpers::{Helper, Job};
use crate::langgraph::LangGraph;
use crate::machine;
use crate::options::{Options, peer};
use crate::report::{Report, Wanted, grouped, mebibytes};
use crate::rounds::in_turn;

/// How many messages there are before a turn.
const HISTORIES: [usize; 5] = [10, 1_000, 10_000, 100_000, 1_000_000];
/// How many of these LangGraph is asked for: its time grows with them.
const WITH_LANGGRAPH: usize = 3;
/// Messages of a turn.
const TURN: usize = 4;
const ROUNDS: usize = 40;
const LANGGRAPH_ROUNDS: usize = 10;
/// How many messages are read at once.
const LOADED: usize = 100_000;
/// What every message says; the peer's say the same.
const TEXT: &str = "The quick brown fox jumps over the lazy dog, and then it rests for a while. ";

pub(crate) fn run(report: &mut Report, options: &Options) -> Result<()> {
    let place = tempfile::Builder::new().prefix("paddock-bench-").tempdir_in(std::env::temp_dir())?;
    let histories = if options.quick { &HISTORIES[..4] } else { &HISTORIES[..] };
    let mut grounds =
        histories.iter().map(|history| Ground::lay(place.path(), *history)).collect::<Result<Vec<_>>>()?;
    report.section(
        "Conversations",
        &format!(
            "A turn of {TURN} messages of 230 bytes, each synced before it is acknowledged, folded at its end; durability `disk`, on {}. \
             Plain append writes the same {TURN} messages to one file and syncs it after each. \"Opened\" takes the lease, looks at the \
             end of the files and lets go again around the turn, as a process does that runs one turn. Less is better.",
            machine::file_system(place.path())
        ),
    );
    turns(report, options, &mut grounds, place.path())?;
    beside_langgraph(report, options, &mut grounds, place.path())?;
    loading(report, place.path())
}

fn turns(report: &mut Report, options: &Options, grounds: &mut [Ground], place: &Path) -> Result<()> {
    let mut plain = Plain::new(&place.join("plain.jsonl"))?;
    let held = grounds.len();
    let mut written = vec![0; held];
    let times = in_turn(held * 2 + 1, options.rounds(ROUNDS), |which| match which {
        last if last == held * 2 => plain.turn(),
        opened if opened >= held => grounds[opened - held].opened_turn(),
        which => {
            let before = bytes_written()?;
            let took = grounds[which].turn()?;
            written[which] = bytes_written()? - before;
            Ok(took)
        }
    })?;
    let (first, wanted) = (&times[0], Some(Wanted::AtMost(1.5)));
    for (ground, samples) in grounds.iter().zip(&times).skip(1) {
        report.beside_ours(&format!("a turn after {}", ground.name()), "after 10", first, samples, wanted);
    }
    for (ground, samples) in grounds.iter().zip(&times[held..]).skip(1) {
        report.beside_ours(
            &format!("opened, a turn after {}", ground.name()),
            "after 10",
            &times[held],
            samples,
            wanted,
        );
    }
    for (ground, bytes) in grounds.iter().zip(&written).skip(1) {
        #[allow(clippy::cast_precision_loss)]
        let ratio = *bytes as f64 / written[0] as f64;
        report.growth(&format!("bytes written by a turn after {}, against after 10", ground.name()), ratio, wanted);
    }
    #[allow(clippy::cast_precision_loss)]
    report.noted("bytes written by a turn after 10", &grouped(written[0] as f64));
    let last = &times[held - 1];
    let what = format!("a turn after {}", grounds[held - 1].name());
    report.cheaper(&what, "plain append and fdatasync", &times[held * 2], last, Some(Wanted::AtMost(2.0)));
    Ok(())
}

fn beside_langgraph(report: &mut Report, options: &Options, grounds: &mut [Ground], place: &Path) -> Result<()> {
    report.section(
        "Conversations beside LangGraph",
        "The same turns by a graph of two nodes whose state SqliteSaver keeps, as its users have it; its clock and its count of bytes are \
         taken inside of its own process. Ours is opened for each turn. LangGraph reads the whole conversation in each turn, which an agent \
         on Paddock does once. Less is better.",
    );
    let (Some(python), Some(script)) = (&options.python, &options.langgraph) else {
        report.absent("all of it", peer::LANGGRAPH, options.why_missing(peer::LANGGRAPH));
        return Ok(());
    };
    let mut peer = LangGraph::start(python, script, &place.join("langgraph.db"))?;
    for ground in &mut grounds[..WITH_LANGGRAPH] {
        let (mut ours_written, mut theirs_written) = (0, 0);
        let times = in_turn(2, options.rounds(LANGGRAPH_ROUNDS), |which| {
            if which == 0 {
                let (took, bytes) = peer.turn(ground.history)?;
                theirs_written = bytes;
                return Ok(took);
            }
            let before = bytes_written()?;
            let took = ground.opened_turn()?;
            ours_written = bytes_written()? - before;
            Ok(took)
        })?;
        let what = format!("a turn after {}", ground.name());
        report.cheaper(&what, "LangGraph, SqliteSaver", &times[0], &times[1], Some(Wanted::AtMost(1.0)));
        report.bytes(&format!("bytes written by {what}"), "LangGraph, SqliteSaver", theirs_written, ours_written);
    }
    Ok(())
}

/// Reading a long conversation, in a process of its own: time, and the most memory it ever had.
fn loading(report: &mut Report, place: &Path) -> Result<()> {
    report.section(
        "Loading a conversation",
        &format!(
            "{} messages, read in a process of its own: given out one by one, and all at once. The memory is the most that \
             was ever resident in that process, its program included.",
            grouped(LOADED as f64)
        ),
    );
    for (what, whole) in [("one by one", false), ("all at once", true)] {
        let directory = place.join(format!("history-{LOADED}"));
        let mut helper = Helper::start(&Job::LoadConversation { directory, whole })?;
        helper.begin()?;
        let answer = helper.answer()?;
        let mut words = answer.split(' ').map(str::parse::<u64>);
        let (Some(Ok(count)), Some(Ok(nanoseconds)), Some(Ok(peak))) = (words.next(), words.next(), words.next())
        else {
            anyhow::bail!("the helper said \"{answer}\"");
        };
        ensure!(count >= LOADED as u64, "{count} messages were read");
        report.took(&format!("{what}, time"), Duration::from_nanos(nanoseconds), None);
        report.noted(&format!("{what}, most memory"), &mebibytes(peak));
    }
    Ok(())
}

/// What a helper does that loads a conversation: how many messages, nanoseconds, the most memory.
pub(crate) fn load(directory: &Path, whole: bool) -> Result<String> {
    let instances = FileInstances::at(directory.to_owned(), Durability::Disk);
    let start = Instant::now();
    let mut count = 0;
    if whole {
        count = instances.load(&key()?)?.messages.len();
    } else {
        instances.read(&key()?, &mut |_| count += 1)?;
    }
    let took = start.elapsed().as_nanos();
    let peak = crate::usage::memory(std::process::id())?.peak;
    Ok(format!("{count} {took} {peak}"))
}

/// An instance with a history.
struct Ground {
    history: usize,
    instances: FileInstances,
    conversation: Option<Box<dyn Conversation>>,
    directory: PathBuf,
    turns: usize,
}

impl Ground {
    fn lay(place: &Path, history: usize) -> Result<Self> {
        let directory = place.join(format!("history-{history}"));
        let instances = FileInstances::at(directory.clone(), Durability::Disk);
        let mut messages = (0..history).map(|number| Ok(message(number)));
        let count = instances.import(&key()?, "main", Imported::of(&mut messages))?;
        ensure!(count == history as u64, "{count} messages were imported");
        Ok(Self { history, instances, conversation: None, directory, turns: 0 })
    }

    fn name(&self) -> String {
        #[allow(clippy::cast_precision_loss)]
        let grouped = grouped(self.history as f64);
        // Small numbers come with a digit behind the point.
        grouped.trim_end_matches(".0").to_owned()
    }

    /// One turn of a conversation that is open already.
    fn turn(&mut self) -> Result<Duration> {
        if self.conversation.is_none() {
            self.conversation = Some(self.instances.conversation(&key()?)?);
        }
        let (turn, events) = self.next()?;
        let conversation = self.conversation.as_mut().context("it was opened")?;
        let start = Instant::now();
        fold(&mut **conversation, &turn, &events)?;
        Ok(start.elapsed())
    }

    /// One turn with opening before it and letting go after it.
    fn opened_turn(&mut self) -> Result<Duration> {
        self.conversation = None;
        let (turn, events) = self.next()?;
        let start = Instant::now();
        let mut conversation = self.instances.conversation(&key()?)?;
        fold(&mut *conversation, &turn, &events)?;
        drop(conversation);
        Ok(start.elapsed())
    }

    fn next(&mut self) -> Result<(TurnId, Vec<MessageEvent>)> {
        self.turns += 1;
        let first = self.history + self.turns * TURN;
        let events = (first..first + TURN).map(|number| MessageEvent::Append { message: message(number) });
        Ok((TurnId::new(format!("turn-{}", self.turns))?, events.collect()))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.conversation = None;
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn fold(conversation: &mut dyn Conversation, turn: &TurnId, events: &[MessageEvent]) -> Result<()> {
    for event in events {
        conversation.append_event(turn, event)?;
    }
    let folded = conversation.fold(turn)?;
    ensure!(folded.written == Written::Appended, "a turn of appends was {:?}", folded.written);
    Ok(())
}

/// The least that could be done: the same lines at the end of one file.
struct Plain {
    file: File,
    number: usize,
}

impl Plain {
    fn new(path: &Path) -> Result<Self> {
        Ok(Self { file: File::options().create_new(true).append(true).open(path)?, number: 0 })
    }

    fn turn(&mut self) -> Result<Duration> {
        let messages: Vec<Message> = (0..TURN).map(|number| message(self.number + number)).collect();
        self.number += TURN;
        let start = Instant::now();
        for message in &messages {
            self.file.write_all(format!("{}\n", serde_json::to_string(message)?).as_bytes())?;
            self.file.sync_data()?;
        }
        Ok(start.elapsed())
    }
}

pub(crate) fn message(number: usize) -> Message {
    let text = Value::from(TEXT.repeat(3));
    Message::new(format!("message-{number}"), "user", &text, MessageSource::User)
}

fn key() -> Result<InstanceKey> {
    Ok(InstanceKey::new("chat")?)
}

/// What this process handed to the kernel to write, so far.
pub(crate) fn bytes_written() -> Result<u64> {
    let told = std::fs::read_to_string("/proc/self/io")?;
    let line = told.lines().find_map(|line| line.strip_prefix("wchar: "));
    Ok(line.context("the kernel tells what a process wrote")?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_add_up_and_what_they_write_does_not_grow() {
        let place = tempfile::tempdir().unwrap();
        let mut written = Vec::new();
        for history in [10, 2_000] {
            let mut ground = Ground::lay(place.path(), history).unwrap();
            ground.turn().unwrap();
            ground.opened_turn().unwrap();
            let before = std::fs::metadata(ground.directory.join("chat/messages/base.jsonl")).unwrap().len();
            ground.turn().unwrap();
            let after = std::fs::metadata(ground.directory.join("chat/messages/base.jsonl")).unwrap().len();
            written.push(after - before);
            let told = load(&ground.directory, true).unwrap();
            assert!(told.starts_with(&format!("{} ", history + 3 * TURN)), "{told}");
        }
        assert!(written[1] < written[0] + 100, "{written:?}");
    }
}
