//! Runs that go on in the background of a process that stays: a few at once, each on a thread of its own.
//!
//! Everything a run does is in its record before it counts, so a process that ends in the middle of one leaves a run that is resumed like any
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paddock_agent::record::{Thread, ThreadStatus};
use paddock_agent::{Ended, Runtime, Settled};
use paddock_state::InstanceKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ThreadShown, agent_of, find, key, noted, run_told, shown, told, user};
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::running;

/// Runs at once.
const AT_ONCE: usize = 4;
/// Failures that are remembered.
const REMEMBERED: usize = 200;
/// A run goes through directories that may be deep.
const STACK: usize = 16 * 1024 * 1024;

/// How a run is to go on.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeAsked {
    /// What became of a call that was cut off, as the person has seen it.
    #[serde(default)]
    pub it_was: Option<ItWas>,
    /// Another model than it had.
    #[serde(default)]
    pub model: Option<String>,
}

/// What a person has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ItWas {
    /// It took effect.
    Done,
    /// It did not.
    NotDone,
}

impl From<ItWas> for Settled {
    fn from(word: ItWas) -> Self {
        match word {
            ItWas::Done => Self::Done,
            ItWas::NotDone => Self::NotDone,
        }
    }
}

/// That a run goes on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Resumed {
    /// The run, as it was when it began to go on.
    pub thread: ThreadShown,
}

/// The runs of this process.
#[derive(Debug, Default)]
pub struct Runs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    going: BTreeSet<String>,
    failed: BTreeMap<String, String>,
}

impl Runs {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one goes on, and why it last could not.
    pub(super) fn about(&self, thread: &str) -> (bool, Option<String>) {
        let known = self.known();
        (known.going.contains(thread), known.failed.get(thread).cloned())
    }

    fn begin(&self, thread: &str) -> Result<()> {
        let mut known = self.known();
        if known.going.contains(thread) {
            let message = format!("thread \"{thread}\" goes on already");
            return Err(Failure::of(FailureKind::Conflict, message, "look how far it is"));
        }
        if known.going.len() >= AT_ONCE {
            let message = format!("{AT_ONCE} runs go on already");
            return Err(Failure::of(FailureKind::Conflict, message, "wait until one of them is over, or cancel it"));
        }
        known.failed.remove(thread);
        known.going.insert(thread.to_owned());
        Ok(())
    }

    fn end(&self, thread: &str, failed: Option<String>) {
        let mut known = self.known();
        known.going.remove(thread);
        if let Some(failed) = failed {
            known.failed.insert(thread.to_owned(), failed);
            while known.failed.len() > REMEMBERED {
                known.failed.pop_first();
            }
        }
    }
}

/// Goes on with a run in the background, and answers at once.
///
/// # Errors
/// When there is none, it is over, its model cannot be had, or too many go on.
pub fn resume(desk: &Arc<Desk>, id: &str, asked: &ResumeAsked) -> Result<Resumed> {
    let (record, id) = find(desk, id)?;
    let about = record.thread(&id).map_err(told)?;
    can_go_on(&about)?;
    let runtime = runtime(desk, &about, asked)?;
    let thread = key(&id)?;
    desk.runs().begin(&id)?;
    let (working, settled, agent) = (Arc::clone(desk), asked.it_was.map(Into::into), about.agent.clone());
    let work = move || go_on(&working, &runtime, &thread, &agent, settled);
    let spawned = std::thread::Builder::new().name("paddock-run".to_owned()).stack_size(STACK).spawn(work);
    if let Err(error) = spawned {
        desk.runs().end(&id, None);
        return Err(error.into());
    }
    Ok(Resumed { thread: shown::thread(desk, about) })
}

/// What is over is told at once, not in the background.
fn can_go_on(about: &Thread) -> Result<()> {
    let thread = about.thread_id.clone();
    match about.status {
        ThreadStatus::Done | ThreadStatus::Asking => Err(run_told(paddock_agent::RunError::Over(thread))),
        ThreadStatus::Cancelled => Err(run_told(paddock_agent::RunError::Cancelled(thread))),
        _ => Ok(()),
    }
}

fn runtime(desk: &Desk, about: &Thread, asked: &ResumeAsked) -> Result<Runtime> {
    let file = desk.config_file()?;
    let model = asked.model.clone().unwrap_or_else(|| about.model.clone());
    let chosen = running::choose(&file, &desk.project().secrets, Some(&model))?;
    let settings = running::settings(&file);
    let runtime = running::runtime(desk, &agent_of(&about.agent), &chosen, settings, Arc::new(|_| {}))?;
    if let Some(script) = &chosen.script {
        script.skip(&runtime.record.askers(&about.thread_id).map_err(told)?);
    }
    Ok(runtime)
}

fn go_on(desk: &Desk, runtime: &Runtime, thread: &InstanceKey, agent: &str, settled: Option<Settled>) {
    let went = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.resume(thread, &user(), settled)));
    let (outcome, failed) = match went {
        // What it waits for has a row of its own.
        Ok(Ok(Ended::Done(_) | Ended::Asking(_) | Ended::Cancelled | Ended::Frozen(_) | Ended::Blocked(_))) => {
            ("done", None)
        }
        Ok(Err(error)) => ("failed", Some(run_told(error).message().to_owned())),
        Err(_) => ("failed", Some("it broke off; the log says where".to_owned())),
    };
    if let Some(why) = &failed {
        tracing::warn!(thread = thread.as_str(), why, "a run could not go on");
    }
    desk.runs().end(thread.as_str(), failed);
    noted(desk, agent, "threads resume", outcome);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_once_and_few_at_a_time() {
        let runs = Runs::default();
        for n in 0..AT_ONCE {
            runs.begin(&format!("run-{n}")).unwrap();
        }
        let again = runs.begin("run-0").unwrap_err();
        assert_eq!((again.kind(), again.message()), (FailureKind::Conflict, "thread \"run-0\" goes on already"));
        let more = runs.begin("one more").unwrap_err();
        assert_eq!(more.message(), format!("{AT_ONCE} runs go on already"));
        runs.end("run-0", Some("it broke off".to_owned()));
        assert_eq!(runs.about("run-0"), (false, Some("it broke off".to_owned())));
        runs.begin("one more").unwrap();
        runs.end("one more", None);
        runs.begin("run-0").unwrap();
        assert_eq!(runs.about("run-0"), (true, None), "what failed before is over");
    }
}
