//! What a person is told while a run works: the plan with the state of each step, what the tools answered, tokens, cost and time.
//!
//! It is told on standard error in lines that are the same at a terminal and in a file. At a terminal one more stands below them and is
//! written anew: the step, the tokens so far, and how long it has worked, which goes on while a model thinks or a command runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paddock_agent::graph::NodeName;
use paddock_agent::model::Costs;
use paddock_agent::state::{AgentState, StepState, StepStatus, ToolResult, ToolStatus};
use paddock_agent::{RunEvent, Watcher};
use paddock_desk::unified::harmless;

use crate::printer::tell;
use crate::progress::{Line, meanwhile};

/// How much of a tool's answer is told, in bytes.
const LONGEST_ANSWER: usize = 160;
/// How much of a step's description stands in the line that is written anew, in characters.
const LONGEST_STEP: usize = 40;

/// Tells what happens; nothing where the person wants it quiet.
pub(super) struct Telling(Option<Mutex<Known>>);

/// What was told so far.
struct Known {
    steps: BTreeMap<String, StepStatus>,
    line: Line,
    /// What the run works at.
    at: String,
    tokens: u64,
    cost: Costs,
    /// How long it had worked when that was last heard, and when it was.
    worked: (Duration, Instant),
}

impl Telling {
    pub(super) fn new(quiet: bool) -> Arc<Self> {
        let known = || Known {
            steps: BTreeMap::new(),
            line: Line::new(),
            at: "planning".to_owned(),
            tokens: 0,
            cost: Costs::default(),
            worked: (Duration::ZERO, Instant::now()),
        };
        Arc::new(Self((!quiet).then(|| Mutex::new(known()))))
    }

    /// Hears of everything.
    pub(super) fn watcher(self: &Arc<Self>) -> Arc<Watcher> {
        let telling = Arc::clone(self);
        Arc::new(move |event| {
            let Some(mut known) = telling.known() else { return };
            match event {
                RunEvent::Resumed(state) => known.hear_of(state),
                RunEvent::Node { node, state, .. } => known.hear_node(*node, state),
                RunEvent::Tool(result) => known.hear_tool(result),
                RunEvent::Words(_) | RunEvent::Frozen(_) | RunEvent::Boundary(_) => {}
            }
        })
    }

    /// Has a run work, with the line that counts its seconds below what is told.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(mut known) = self.known() else { return work() };
        known.worked.1 = Instant::now();
        let counts = known.line.is_shown();
        drop(known);
        if !counts {
            return work();
        }
        let count = || self.known().into_iter().for_each(|mut known| known.count());
        let done = meanwhile(count, work);
        self.known().into_iter().for_each(|mut known| known.line.clear());
        done
    }

    fn known(&self) -> Option<MutexGuard<'_, Known>> {
        self.0.as_ref().map(|known| known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    /// What another process began is told before what comes of it.
    fn hear_of(&mut self, state: &AgentState) {
        if !self.steps.is_empty() {
            return;
        }
        self.line.clear();
        self.take_counts(state);
        tell_plan(state);
        self.remember(state);
        self.count();
    }

    fn hear_node(&mut self, node: NodeName, state: &AgentState) {
        self.line.clear();
        self.take_counts(state);
        if node == NodeName::Planner || self.steps.is_empty() {
            tell_plan(state);
        } else {
            state.step_history.values().for_each(|step| self.tell_if_changed(step));
        }
        self.remember(state);
        if node == NodeName::Finalizer {
            let (used, steps) = (self.used(", "), state.progress.nodes);
            tell(format!("{used}, {steps} steps, {}", spent(self.worked.0)));
        } else {
            self.count();
        }
    }

    fn take_counts(&mut self, state: &AgentState) {
        self.tokens = state.progress.tokens;
        self.cost.clone_from(&state.progress.cost);
        self.worked = (Duration::from_millis(state.progress.worked), Instant::now());
    }

    fn remember(&mut self, state: &AgentState) {
        self.steps = state.step_history.iter().map(|(id, step)| (id.clone(), step.status)).collect();
        let step = state.current_step_id.as_ref().and_then(|id| state.step_history.get(id));
        self.at = step.map_or_else(|| "planning".to_owned(), |step| format!("▶ {}", short(&step.description)));
    }

    fn tell_if_changed(&self, step: &StepState) {
        if self.steps.get(&step.id) == Some(&step.status) {
            return;
        }
        let used = format!("{}, {}", self.used(", "), spent(self.worked.0));
        let more = match (step.status, &step.last_error) {
            (StepStatus::Done, _) => format!(" ({used})"),
            (StepStatus::Failed | StepStatus::Blocked, Some(error)) => format!(" ({used}): {}", harmless(error)),
            _ => String::new(),
        };
        tell(format!("  {} {}{more}", mark(step.status), harmless(&step.description)));
    }

    fn hear_tool(&mut self, result: &ToolResult) {
        self.line.clear();
        let mark = if result.status == ToolStatus::Error { '✗' } else { '✓' };
        let first = result.first_line();
        let first = &first[..first.floor_char_boundary(LONGEST_ANSWER)];
        tell(format!("    {mark} {} {}", harmless(&result.tool_name), harmless(first)).trim_end());
        self.count();
    }

    /// Writes the line anew.
    fn count(&mut self) {
        let (worked, since) = self.worked;
        let text = format!("{} · {} · {}", self.at, self.used(" · "), spent(worked + since.elapsed()));
        self.line.tell(text);
    }

    /// Tokens, and what they cost where that is known.
    fn used(&self, between: &str) -> String {
        let tokens = format!("{} tokens", self.tokens);
        if self.cost.is_empty() { tokens } else { format!("{tokens}{between}{}", self.cost) }
    }
}

/// The plan that holds; what another one replaced is not in it.
fn tell_plan(state: &AgentState) {
    if state.step_history.is_empty() {
        return;
    }
    tell(format!("Plan ({})", state.current_plan_path));
    for step in state.step_history.values().filter(|step| step.status != StepStatus::Failed) {
        tell(format!("  {} {}", mark(step.status), harmless(&step.description)));
    }
}

fn mark(status: StepStatus) -> char {
    match status {
        StepStatus::Pending => '☐',
        StepStatus::Running => '▶',
        StepStatus::Done => '✓',
        StepStatus::Failed => '✗',
        StepStatus::Blocked => '?',
    }
}

/// A description that leaves room in its line.
fn short(description: &str) -> String {
    let shown = harmless(description);
    match shown.char_indices().nth(LONGEST_STEP) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

/// How long something took, as people say it.
fn spent(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_people_say_it() {
        let told = |seconds| spent(Duration::from_secs(seconds));
        assert_eq!([told(0), told(59), told(125), told(7500)], ["0 s", "59 s", "2 min 5 s", "2 h 5 min"]);
    }

    #[test]
    fn a_long_step_leaves_room_in_its_line() {
        assert_eq!(short("write a note"), "write a note");
        assert_eq!(short(&"ä".repeat(41)), format!("{}…", "ä".repeat(40)));
        assert_eq!(short(&"ä".repeat(40)), "ä".repeat(40));
    }
}
