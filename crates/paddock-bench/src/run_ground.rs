//! A project with an installation in which runs go on, as a process of Paddock has it, and threads with a long past.
//!
//! Everything of a run is real: the guard, the Gate, history and audit, the record, the conversation, the plan's file. Only the model is
//! not: it says the same every time and takes no time, as the peer's does.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use paddock_agent::graph::NodeName;
use paddock_agent::model::{Asker, Model, ModelAnswer, ModelError, Question, ToolCall};
use paddock_agent::record::{Commit, ThreadStatus};
use paddock_agent::state::{AgentMode, StepState, TrustLevel};
use paddock_agent::{Ended, RunEvent, RunOptions, RunSettings, Runtime};
use paddock_core::AgentName;
use paddock_desk::running::{self, Chosen};
use paddock_desk::{Desk, Places, Project};
use paddock_state::instance::Imported;
use paddock_state::{InstanceKey, TurnId};
use serde_json::{Value, json};

use crate::conversation::{bytes_written, message};

/// Steps of a plan; the peer's plan has as many.
pub(crate) const STEPS: usize = 4;
/// Nodes of a turn: two before the steps, two after them, and of each step Supervisor, Executor, Check, Tools, Interpreter for its call and
/// Supervisor, Executor, Interpreter for its end.
pub(crate) const NODES: usize = 4 + 8 * STEPS;
/// So many commits of a long past change a step.
const NODES_OF_A_STEP: usize = 8;
const USER: &str = "bench";

/// How much a project promises about what it keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kept {
    /// For laying out what is not measured.
    Quickly,
    /// Synced before it is acknowledged.
    Durably,
}

/// What the model proposes in every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proposes {
    /// To read a file; then the step is done.
    Reading,
    /// To delete one, which a person has to decide.
    Deleting,
}

/// What one turn took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// From the end of one node to the end of the next, on average.
    pub(crate) node: Duration,
    /// With opening before it and letting go after it.
    pub(crate) whole: Duration,
    /// Written in all of it.
    pub(crate) bytes: u64,
}

/// A process in which runs go on.
pub(crate) struct Ground {
    runtime: Runtime,
    /// When each node of the turn was done.
    done: Arc<Mutex<Vec<Instant>>>,
    /// Held as long as the process works in it.
    _desk: Desk,
}

impl Ground {
    /// In this directory, which may hold what an earlier one left.
    pub(crate) fn open(place: &Path, kept: Kept, proposes: Proposes) -> Result<Self> {
        let work = place.join("project/w");
        std::fs::create_dir_all(&work)?;
        std::fs::write(work.join("facts.txt"), "the answer is 42\n")?;
        let durability = if matches!(kept, Kept::Durably) { "disk" } else { "process" };
        let config = place.join("project/paddock.toml");
        std::fs::write(
            &config,
            format!(
                "name = \"bench\"\nbase = \"/w\"\n[[workspace]]\nprefix = \"/w\"\nscope = \"READ_WRITE\"\nmount = {{ physical = \"w\" }}\n\
                 [state]\ndurability = \"{durability}\"\n"
            ),
        )?;
        let places = Places { home: Some(place.join("home")), config: Some(config), ..Places::default() };
        let project = Project::find(&places).map_err(told)?.without_commands();
        let done = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&done);
        let watcher = Arc::new(move |event: &RunEvent<'_>| {
            if matches!(event, RunEvent::Node { .. }) {
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            }
        });
        let settings = RunSettings { max_steps: 1_000, ..RunSettings::default() };
        let desk = Desk::work(project).map_err(told)?;
        let opened = running::runtime(&desk, &AgentName::main(), &Chosen::nobody(), settings, watcher);
        let mut runtime = opened.map_err(told)?;
        runtime.model = Arc::new(Said { proposes, asked: AtomicUsize::new(0) });
        Ok(Self { runtime, done, _desk: desk })
    }

    /// A thread with so many messages and as many checkpoints behind it.
    pub(crate) fn lay(&self, thread: &str, history: usize) -> Result<()> {
        let mut messages = (0..history).map(|number| Ok(message(number)));
        let key = InstanceKey::new(thread)?;
        let count = self.runtime.instances.import(&key, "main", Imported::of(&mut messages))?;
        ensure!(count == history as u64, "{count} messages were imported");
        self.turn(thread)?;
        self.lengthen(thread, history)
    }

    /// As if many turns had been: a checkpoint for each node, a step for some.
    fn lengthen(&self, thread: &str, count: usize) -> Result<()> {
        let record = &self.runtime.record;
        let fence = record.take(thread)?;
        let last = record.checkpoint(thread, None)?.context("a turn was run")?;
        for number in 1..=count {
            let turn = TurnId::new(format!("p{}", number / NODES))?;
            let step = StepState::new(format!("{turn}.{number:08}"), "Read the facts", 3);
            let is_last = number == count;
            record.commit(
                fence,
                &Commit {
                    n: last.n + number as u64,
                    node: if is_last { NodeName::Finalizer } else { NodeName::Supervisor },
                    next: if is_last { NodeName::End } else { NodeName::Executor },
                    state: &last.state,
                    changed: if number % NODES_OF_A_STEP == 0 { vec![&step] } else { Vec::new() },
                    turn: &turn,
                    seq: last.seq,
                    outbox: &[],
                    answer: None,
                    effect: None,
                    status: if is_last { ThreadStatus::Done } else { ThreadStatus::Running },
                    told: None,
                    lasts: false,
                },
            )?;
        }
        Ok(())
    }

    /// One turn from its prompt to its last word, in this thread.
    pub(crate) fn turn(&self, thread: &str) -> Result<Turn> {
        self.nodes().clear();
        let (before, start) = (bytes_written()?, Instant::now());
        let ended = self.start(thread)?;
        let (whole, bytes) = (start.elapsed(), bytes_written()? - before);
        ensure!(matches!(ended, Ended::Done(_)), "the run ended with {ended:?}");
        let done = self.nodes();
        let (Some(first), Some(last)) = (done.first(), done.last()) else { bail!("no node was run") };
        ensure!(done.len() == NODES, "{} nodes were run instead of {NODES}", done.len());
        let node = (*last - *first) / u32::try_from(NODES - 1)?;
        Ok(Turn { node, whole, bytes })
    }

    /// A new thread up to where a person has to decide.
    pub(crate) fn freeze(&self, thread: &str) -> Result<()> {
        match self.start(thread)? {
            Ended::Frozen(_) => Ok(()),
            other => bail!("the run ended with {other:?} instead of waiting"),
        }
    }

    /// How many threads wait for a person.
    pub(crate) fn frozen(&self) -> Result<usize> {
        let threads = self.runtime.record.threads_after(None, usize::MAX)?;
        Ok(threads.iter().filter(|thread| thread.status == ThreadStatus::Frozen).count())
    }

    fn start(&self, thread: &str) -> Result<Ended> {
        let options = RunOptions {
            thread: InstanceKey::new(thread)?,
            agent: "main".to_owned(),
            user: USER.to_owned(),
            mode: AgentMode::Execution,
            level: TrustLevel::Admin,
            tools: None,
        };
        Ok(self.runtime.start("Read the facts, again and again.", &options)?)
    }

    fn nodes(&self) -> std::sync::MutexGuard<'_, Vec<Instant>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn told(error: impl Display) -> anyhow::Error {
    anyhow!("{error}")
}

/// A model that says what it always says.
struct Said {
    proposes: Proposes,
    /// How often the Executor asked.
    asked: AtomicUsize,
}

impl Model for Said {
    fn name(&self) -> String {
        "said".to_owned()
    }

    fn ask(&self, question: &Question, _: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        if question.asker != Asker::Executor {
            return Ok(said(&"- [ ] Read the facts\n".repeat(STEPS)));
        }
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(match self.proposes {
            Proposes::Reading if asked % 2 == 1 => said("I know them."),
            Proposes::Reading => calling("read_file", asked),
            Proposes::Deleting => calling("delete_file", asked),
        })
    }
}

fn said(content: &str) -> ModelAnswer {
    ModelAnswer { content: content.to_owned(), ..ModelAnswer::default() }
}

fn calling(tool: &str, number: usize) -> ModelAnswer {
    let Value::Object(arguments) = json!({ "path": "/w/facts.txt" }) else { return ModelAnswer::default() };
    let call = ToolCall { id: format!("call-{number}"), name: tool.to_owned(), arguments };
    ModelAnswer { tool_calls: vec![call], ..ModelAnswer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_on_in_a_thread_with_a_past() {
        let place = tempfile::tempdir().unwrap();
        let laid = Ground::open(place.path(), Kept::Quickly, Proposes::Reading).unwrap();
        laid.lay("t", 50).unwrap();
        drop(laid);
        let ground = Ground::open(place.path(), Kept::Durably, Proposes::Reading).unwrap();
        let turn = ground.turn("t").unwrap();
        assert!(turn.bytes > 0 && turn.node > Duration::ZERO && turn.whole > turn.node);
        let thread = ground.runtime.record.thread("t").unwrap();
        assert_eq!((thread.checkpoints, thread.status), (50 + 2 * NODES as u64, ThreadStatus::Done));
        let said = ground.runtime.instances.load(&InstanceKey::new("t").unwrap()).unwrap();
        assert!(said.messages.len() > 50 + 2 * STEPS, "{}", said.messages.len());
    }

    #[test]
    fn many_threads_wait_at_once() {
        let place = tempfile::tempdir().unwrap();
        let ground = Ground::open(place.path(), Kept::Quickly, Proposes::Deleting).unwrap();
        for thread in ["a", "b", "c"] {
            ground.freeze(thread).unwrap();
        }
        assert_eq!(ground.frozen().unwrap(), 3);
        assert!(place.path().join("project/w/facts.txt").is_file());
    }
}
