//! Runs of agents: what a node with its checkpoint costs after a short and a long past, beside LangGraph, and what frozen runs take.
//!
//! On a disk where syncing means something. What was there before a turn is laid out without syncing, and is not measured.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::helpers::{Helper, Job};
use crate::langgraph::LangGraph;
use crate::machine;
use crate::options::{Options, peer};
use crate::report::{Report, Wanted, grouped, mebibytes};
use crate::rounds::{Samples, in_turn};
use crate::run_ground::{Ground, Kept, NODES, Proposes, STEPS, Turn};
use crate::usage;

/// How many messages and checkpoints there are before a turn.
const HISTORIES: [usize; 4] = [10, 1_000, 10_000, 100_000];
/// How many of these LangGraph is asked for: its time grows with them.
const WITH_LANGGRAPH: usize = 3;
/// A thread as short as this is made anew for each turn, so that a turn does not change what the next one meets.
const SHORT: usize = 100;
const ROUNDS: usize = 15;
const LANGGRAPH_ROUNDS: usize = 10;
/// As long as the record may become with a past, against none.
const FLAT: f64 = 1.5;
/// The goal beside LangGraph, and after how many messages.
const GOAL: (usize, f64) = (1_000, 20.0);
/// How many runs wait for a person at once, and those after which memory is looked at first.
const FROZEN: usize = 1_000;
const FIRST_FROZEN: usize = 10;
/// What all the others may take more.
const FROZEN_MEMORY: u64 = 16 * 1024 * 1024;

pub(crate) fn run(report: &mut Report, options: &Options) -> Result<()> {
    let place = tempfile::Builder::new().prefix("paddock-bench-").tempdir_in(std::env::temp_dir())?;
    let histories = if options.quick { &HISTORIES[..3] } else { &HISTORIES[..] };
    let quickly = Ground::open(place.path(), Kept::Quickly, Proposes::Reading)?;
    histories
        .iter()
        .filter(|history| **history > SHORT)
        .try_for_each(|history| quickly.lay(&name(*history), *history))?;
    drop(quickly);
    let mut runs = Runs { ground: Ground::open(place.path(), Kept::Durably, Proposes::Reading)?, short: 0 };
    report.section(
        "Runs",
        &format!(
            "One node of a run with its checkpoint, on {}, each kept before the next node begins, and synced before it unless its node goes by the \
             state alone and would do the same again: a plan of {STEPS} steps, each with a call \
             of `read_file` through the guard and the audit, {NODES} nodes in all, with a model that takes no time. The thread has so many \
             messages and as many checkpoints before. The plan's file is kept, too. Less is better.",
            machine::file_system(place.path())
        ),
    );
    flat(report, options, &mut runs, histories)?;
    beside_langgraph(report, options, &mut runs, place.path())?;
    drop(runs);
    frozen(report, options, &place.path().join("frozen"))
}

/// The process in which our runs go on.
struct Runs {
    ground: Ground,
    /// How many short threads there were.
    short: usize,
}

impl Runs {
    fn turn(&mut self, history: usize) -> Result<Turn> {
        if history > SHORT {
            return self.ground.turn(&name(history));
        }
        self.short += 1;
        let thread = format!("short-{}", self.short);
        self.ground.lay(&thread, history)?;
        self.ground.turn(&thread)
    }
}

fn name(history: usize) -> String {
    format!("after-{history}")
}

fn shown(history: usize) -> String {
    grouped(history as f64).trim_end_matches(".0").to_owned()
}

fn flat(report: &mut Report, options: &Options, runs: &mut Runs, histories: &[usize]) -> Result<()> {
    let mut bytes = vec![0; histories.len()];
    let times = in_turn(histories.len(), options.rounds(ROUNDS), |which| {
        let turn = runs.turn(histories[which])?;
        bytes[which] = turn.bytes;
        Ok(turn.node)
    })?;
    let (first, wanted) = (&times[0], Some(Wanted::AtMost(FLAT)));
    report.took("a node after 10", first.median(), None);
    report.noted("bytes written by a node after 10", &grouped(per_node(bytes[0])));
    for ((history, samples), bytes_after) in histories.iter().zip(&times).zip(&bytes).skip(1) {
        let what = shown(*history);
        report.beside_ours(&format!("a node after {what}"), "after 10", first, samples, wanted);
        let growth = per_node(*bytes_after) / per_node(bytes[0]);
        report.growth(&format!("bytes written by a node after {what}, against after 10"), growth, wanted);
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
fn per_node(bytes: u64) -> f64 {
    bytes as f64 / NODES as f64
}

fn beside_langgraph(report: &mut Report, options: &Options, runs: &mut Runs, place: &Path) -> Result<()> {
    report.section(
        "Runs beside LangGraph",
        &format!(
            "The same graph of eight nodes, {NODES} of them in a turn, in LangGraph with SqliteSaver and durability `sync`, which like ours keeps \
             each checkpoint before the next node begins (it syncs each of them; of ours those are synced with the next one whose node would do the \
             same again); its clock and its count of bytes are taken inside of its own process. Its tool \
             reads the file with no guard and no audit. A whole run has opening the thread before its nodes. More is better for nodes per \
             second, less for the rest."
        ),
    );
    let (Some(python), Some(script)) = (&options.python, &options.langgraph_runs) else {
        report.absent("all of it", peer::LANGGRAPH, options.why_missing(peer::LANGGRAPH));
        return Ok(());
    };
    let mut peer = LangGraph::start(python, script, &place.join("langgraph-runs.db"))?;
    for history in &HISTORIES[..WITH_LANGGRAPH] {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        let nodes = in_turn(2, options.rounds(LANGGRAPH_ROUNDS), |which| {
            let turn = if which == 0 { their_turn(&mut peer, *history)? } else { runs.turn(*history)? };
            if which == 0 {
                theirs.push(turn);
            } else {
                ours.push(turn);
            }
            Ok(turn.node)
        })?;
        let after = format!("after {}", shown(*history));
        let wanted = (*history == GOAL.0).then_some(Wanted::AtLeast(GOAL.1));
        report.faster(&format!("nodes {after}"), NAME, &nodes[0], &nodes[1], wanted);
        report.cheaper(&format!("a whole run {after}"), NAME, &wholes(&theirs), &wholes(&ours), None);
        let written = |turns: &[Turn]| turns.last().map_or(0, |turn| turn.bytes);
        report.bytes(&format!("bytes written by a run {after}"), NAME, written(&theirs), written(&ours));
    }
    Ok(())
}

const NAME: &str = "LangGraph, SqliteSaver";

fn their_turn(peer: &mut LangGraph, history: usize) -> Result<Turn> {
    let told = peer.ask(history)?;
    let [node, whole, bytes, nodes] = told[..] else { bail!("LangGraph said {told:?}") };
    ensure!(nodes == NODES as u64, "LangGraph ran {nodes} nodes instead of {NODES}");
    Ok(Turn { node: Duration::from_nanos(node), whole: Duration::from_nanos(whole), bytes })
}

/// The first round does not count.
fn wholes(turns: &[Turn]) -> Samples {
    Samples::of(turns.iter().skip(1).map(|turn| turn.whole).collect())
}

/// Runs that wait, made in a process of its own that tells its memory.
fn frozen(report: &mut Report, options: &Options, place: &Path) -> Result<()> {
    let count = if options.quick { FROZEN / 5 } else { FROZEN };
    report.section(
        "Frozen runs",
        "Runs that came to a call which a person has to decide, all at once. They wait on the disk, in no process; the memory is what \
         a process has of its own after it has made them one after the other, more than after the first ten.",
    );
    std::fs::create_dir_all(place)?;
    let mut helper = Helper::start(&Job::FreezeRuns { directory: place.to_owned(), count })?;
    helper.begin()?;
    let answer = helper.answer()?;
    let words: Vec<u64> = answer.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [frozen, nanoseconds, grown] = words[..] else { bail!("the helper said \"{answer}\"") };
    ensure!(frozen == count as u64, "{frozen} runs wait instead of {count}");
    let each = Duration::from_nanos(nanoseconds) / u32::try_from(count)?;
    report.took("from the prompt to the question for a person", each, None);
    report.at_most(&format!("memory for {} frozen runs", shown(count)), grown, FROZEN_MEMORY, mebibytes);
    Ok(())
}

/// What a helper does that freezes runs: how many wait, nanoseconds for all, memory they took.
pub(crate) fn freeze(directory: &Path, count: usize) -> Result<String> {
    let ground = Ground::open(directory, Kept::Durably, Proposes::Deleting)?;
    let start = Instant::now();
    let mut first = None;
    for number in 1..=count {
        ground.freeze(&format!("run-{number}"))?;
        if number == FIRST_FROZEN {
            first = Some(usage::own_memory()?.own);
        }
    }
    let took = start.elapsed().as_nanos();
    let grown = usage::own_memory()?.own.saturating_sub(first.context("more than the first were frozen")?);
    Ok(format!("{} {took} {grown}", ground.frozen()?))
}
