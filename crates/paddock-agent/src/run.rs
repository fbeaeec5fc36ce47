//! One run in one process: the state in memory, and the way each transition gets into the record and the conversation.
//!
//! A transition is committed first, with its messages beside it; then the messages go into the conversation. After a crash in between, how many
//! of them are there is seen by the conversation's count, and the rest follows. So a message is there once, and none is missing. Nor is one
//! after a loss of power: it lasts before another is said, and no more than [`AHEAD`] checkpoints later. A checkpoint lasts before anything is
//! said, asked or done that would not come to the same again.

use std::time::{Duration, Instant};

use paddock_core::CallId;
use paddock_state::TurnId;
use paddock_state::conversation::{Conversation, Message, MessageEvent, MessageSource};

use crate::becomes;
use crate::graph::NodeName;
use crate::model::{Asker, ModelAnswer, ModelMessage, Role};
use crate::record::{Checkpoint, Commit, Effect, Fence, Record, RecordError, Thread, ThreadStatus};
use crate::runtime::{RunError, RunEvent, Runtime};
use crate::said::{self, Recent, Saying};
use crate::state::{AgentState, StepState};

/// How many checkpoints that say nothing may come before what was said lasts. Who resumes looks at as many.
const AHEAD: u64 = 1;

/// The last checkpoints up to one: what they said need not be in the conversation.
pub(crate) fn last_up_to(record: &Record, thread: &str, n: u64) -> Result<Vec<Checkpoint>, RecordError> {
    let before = n.saturating_sub(1 + AHEAD);
    // Their numbers have no gaps. Of a long run the later ones are many.
    let most = usize::try_from(n - before).unwrap_or(usize::MAX);
    record.checkpoints_after(thread, before, most)
}

/// What a node leaves behind.
#[derive(Debug)]
pub(crate) struct Transition {
    pub(crate) next: NodeName,
    /// The ids of the steps that are new or changed.
    pub(crate) changed: Vec<String>,
    /// Is the plan's file to be written anew?
    pub(crate) plan_changed: bool,
    /// What was said.
    pub(crate) says: Vec<(ModelMessage, MessageSource)>,
    pub(crate) answer: Option<(Asker, ModelAnswer)>,
    pub(crate) effect: Option<(CallId, String, Effect)>,
    pub(crate) status: ThreadStatus,
    pub(crate) told: Option<String>,
    /// Does the process stop here?
    pub(crate) stops: bool,
    /// Did the node change something elsewhere, so that the loss of power may not take this along?
    pub(crate) lasts: bool,
}

impl Transition {
    pub(crate) fn to(next: NodeName) -> Self {
        Self {
            next,
            changed: Vec::new(),
            plan_changed: false,
            says: Vec::new(),
            answer: None,
            effect: None,
            status: ThreadStatus::Running,
            told: None,
            stops: false,
            lasts: false,
        }
    }

    pub(crate) fn changing(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.changed.extend(steps);
        self
    }

    pub(crate) fn saying(mut self, role: Role, content: impl Into<String>, source: MessageSource) -> Self {
        self.says.push((ModelMessage::of(role, content), source));
        self
    }

    pub(crate) fn stopping(mut self, status: ThreadStatus, told: impl Into<String>) -> Self {
        (self.status, self.told, self.stops) = (status, Some(told.into()), true);
        self
    }
}

/// A run.
pub(crate) struct Run<'r> {
    pub(crate) runtime: &'r Runtime,
    pub(crate) fence: Fence,
    /// From when on its work is not counted yet.
    pub(crate) since: Instant,
    pub(crate) conversation: Box<dyn Conversation>,
    pub(crate) state: AgentState,
    pub(crate) next: NodeName,
    /// The last checkpoint.
    pub(crate) n: u64,
    /// The last checkpoint that said something: the conversation need not have it for good yet.
    pub(crate) spoke: u64,
    pub(crate) turn: TurnId,
    pub(crate) recent: Recent,
    /// Does the plan's file show the plan as it is?
    pub(crate) plan_is_kept: bool,
    /// What the person narrowed the tools to.
    pub(crate) tools: Option<Vec<String>>,
    /// What a person says about a call that was cut off.
    pub(crate) settled: Option<crate::runtime::Settled>,
}

impl Run<'_> {
    /// The plan, in order.
    pub(crate) fn steps(&self) -> Vec<&StepState> {
        self.state.step_history.values().collect()
    }

    pub(crate) fn tell(&self, event: &RunEvent<'_>) {
        (self.runtime.watcher)(event);
    }

    /// Writes the plan where people read it, unless it stands there.
    pub(crate) fn keep_plan(&mut self) -> Result<(), RunError> {
        if !self.plan_is_kept {
            self.runtime.keep_plan(&self.state)?;
            self.plan_is_kept = true;
        }
        Ok(())
    }

    /// Begins a turn with the task of the thread.
    pub(crate) fn begin_turn(&mut self, about: Thread) -> Result<(), RunError> {
        self.turn = TurnId::new(format!("t{}", self.n + 1))?;
        self.next = NodeName::Gatekeeper;
        self.tools = about.bounds.tools;
        (self.state.input_prompt, self.state.agent_mode) = (about.prompt, about.bounds.mode);
        self.state.security_context.permissions_level = about.bounds.level;
        Ok(())
    }

    /// Puts a transition into the record, and what was said into the conversation.
    pub(crate) fn commit(&mut self, node: NodeName, transition: &Transition) -> Result<(), RunError> {
        let n = self.n + 1;
        let redactor = &self.runtime.redactor;
        let kept = transition.says.iter().enumerate().map(|(index, (message, source))| {
            Saying { message: message.clone(), source: source.clone(), redactor }.kept(n, index)
        });
        let outbox: Vec<Message> =
            kept.collect::<Result<_, _>>().map_err(paddock_state::conversation::ConversationError::from)?;
        self.count(transition);
        let seq = self.conversation.last_seq();
        let commit = Commit {
            n,
            node,
            next: transition.next,
            state: &self.state,
            changed: transition.changed.iter().filter_map(|id| self.state.step_history.get(id)).collect(),
            turn: &self.turn,
            seq,
            outbox: &outbox,
            answer: transition.answer.as_ref(),
            effect: transition.effect.as_ref().map(|(call, tool, effect)| (*call, tool.as_str(), effect.clone())),
            status: transition.status,
            told: transition.told.as_deref(),
            lasts: transition.lasts,
        };
        // What was said goes on lasting while nodes work that say nothing: until the second of them, or the next one that speaks.
        if !outbox.is_empty() || n > self.spoke + AHEAD {
            self.conversation.settle()?;
        }
        self.tell(&RunEvent::Boundary("before a checkpoint"));
        self.runtime.record.commit(self.fence, &commit)?;
        self.tell(&RunEvent::Boundary("after a checkpoint"));
        (self.n, self.next) = (n, transition.next);
        if !outbox.is_empty() {
            self.spoke = n;
        }
        self.say(seq, &outbox)?;
        self.tell(&RunEvent::Node { node, next: self.next, state: &self.state });
        Ok(())
    }

    /// Counts what the node used up.
    fn count(&mut self, transition: &Transition) {
        let now = (self.runtime.clock)();
        becomes::counted(&mut self.state, transition, millis(now.saturating_duration_since(self.since)));
        self.since = now;
    }

    /// Adds to the conversation what its last checkpoints said, where a process that ended, or the power, took that along.
    pub(crate) fn say_again(&mut self) -> Result<(), RunError> {
        let last = last_up_to(&self.runtime.record, &self.state.thread_id, self.n)?;
        // What a fork has from before it began is in its conversation, under other numbers.
        let own = |checkpoint: &&Checkpoint| checkpoint.written_for == self.state.thread_id;
        let spoke = last.iter().rev().filter(own).find(|checkpoint| !checkpoint.outbox.is_empty());
        match spoke {
            Some(checkpoint) => {
                self.spoke = checkpoint.n;
                self.say(checkpoint.seq, &checkpoint.outbox)
            }
            None => self.say(self.conversation.last_seq(), &[]),
        }
    }

    /// Adds to the conversation what of a checkpoint's messages is not there yet; `seq` was its last event before them.
    pub(crate) fn say(&mut self, seq: u64, outbox: &[Message]) -> Result<(), RunError> {
        let there = usize::try_from(self.conversation.last_seq().saturating_sub(seq)).unwrap_or(usize::MAX);
        for message in outbox.iter().skip(there) {
            let event = MessageEvent::Append { message: message.clone() };
            // The checkpoint has it: where it is lost with the power, it is said again.
            self.conversation.append_event_ahead(&self.turn, &event)?;
            self.tell(&RunEvent::Boundary("after a message"));
            self.recent.add(said::read(message));
        }
        if self.next == NodeName::End {
            self.conversation.fold(&self.turn)?;
            self.tell(&RunEvent::Boundary("after the fold"));
        }
        Ok(())
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
