//! The Runtime: begins, resumes, forks and ends runs.
//!
//! A thread is the instance with the same key, so whoever holds its conversation for writing runs it; a fence beside makes sure that a process
//! which was thought dead can write nothing more.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use paddock_config::PLANS;
use paddock_core::{CallId, Cancel, LogicalPath};
use paddock_ledger::approvals::{Approval, ApprovalError, Approvals};
use paddock_ledger::history::{CallState, History, HistoryError};
use paddock_state::conversation::{ConversationError, Message};
use paddock_state::instance::{Imported, Instances, Status};
use paddock_state::{BadName, InstanceKey, Redactor, TurnId};
use paddock_tools::Toolbox;

use crate::becomes::{self, Own};
use crate::graph::NodeName;
use crate::model::{Model, ModelError, Prices, RedactedModel};
use crate::nodes::{NodeError, gatekeeper};
use crate::plan;
use crate::record::{Bounds, Checkpoint, Fence, Record, RecordError, Thread, ThreadStatus, now};
use crate::run::{Run, last_up_to, millis};
use crate::said::{self, Recent};
use crate::state::{AgentMode, AgentState, Progress, SecurityContext, StepState, ToolResult, TrustLevel, VERSION};

/// Says that the plan is in no file: it is in the state alone. No file of a plan is ever called so.
pub(crate) const PLAN_NOWHERE: &str = "/plan/todo.md";

/// How often it is looked whether another process has taken over the thread that this one works on.
const LOOKING: Duration = Duration::from_millis(500);

/// Bounds of a turn.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The most nodes.
    pub max_steps: u64,
    /// The most tokens.
    pub max_tokens: u64,
    /// The longest time that it works.
    pub max_time: Duration,
    /// The most that its model may cost, in millionths of the unit of its prices; nothing: no bound.
    pub max_cost: Option<u64>,
    /// How often a step may fail.
    pub max_tries: u32,
    /// Outputs above this many bytes are kept elsewhere.
    pub evict_above: usize,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            max_steps: 100,
            max_tokens: 2_000_000,
            max_time: Duration::from_secs(2 * 3600),
            max_cost: None,
            max_tries: 3,
            evict_above: 64 * 1024,
        }
    }
}

/// How a run begins.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// What the thread is called.
    pub thread: InstanceKey,
    /// The agent.
    pub agent: String,
    /// The person on whose behalf it runs.
    pub user: String,
    /// How far it may go.
    pub mode: AgentMode,
    /// How much it is trusted with.
    pub level: TrustLevel,
    /// What the person narrows the tools to.
    pub tools: Option<Vec<String>>,
}

/// What a person has seen of a call that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It took effect.
    Done,
    /// It did not.
    NotDone,
}

/// What happens while a run goes on.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// It goes on from where it stopped, perhaps in another process.
    Resumed(&'a AgentState),
    /// A node is done, and its checkpoint is kept.
    Node {
        /// Which.
        node: NodeName,
        /// What comes.
        next: NodeName,
        /// The state after it.
        state: &'a AgentState,
    },
    /// Words of the model, as they come.
    Words(&'a str),
    /// A tool answered.
    Tool(&'a ToolResult),
    /// A person has to decide.
    Frozen(&'a Approval),
    /// A point at which a crash would be of interest.
    Boundary(&'static str),
}

/// Is told what happens.
pub type Watcher = dyn Fn(&RunEvent<'_>) + Send + Sync;

/// Says what time it is, for how long a run works.
pub type Clock = dyn Fn() -> Instant + Send + Sync;

/// How a run ended, for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With an answer.
    Done(String),
    /// With a question to the person.
    Asking(String),
    /// It waits for a decision.
    Frozen(String),
    /// Only a person can say what a call came to.
    Blocked(String),
    /// A person ended it.
    Cancelled,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The conversation.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// An approval.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// The history.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A node.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Another person's thread.
    #[error("thread \"{0}\" was begun by somebody else, or under another System Root")]
    NotYours(String),
    /// A call would have to be decided, and there is no place for approvals.
    #[error("a person would have to be asked, and there is no installation that can keep the question")]
    NobodyToAsk,
    /// The thread was cancelled.
    #[error("thread \"{0}\" was cancelled")]
    Cancelled(String),
    /// It has not come to its end.
    #[error("thread \"{0}\" is not over yet")]
    NotOver(String),
    /// There is nothing to resume.
    #[error("thread \"{0}\" is over: there is nothing to resume")]
    Over(String),
    /// The plan cannot be kept.
    #[error("the plan cannot be kept: {0}")]
    Plan(String),
    /// The record contradicts itself.
    #[error("the record of the run does not fit together: {0}")]
    Inconsistent(String),
}

impl RunError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Record(error) => error.hint().to_owned(),
            Self::Conversation(error) => error.hint(),
            Self::Approval(error) => error.hint().to_owned(),
            Self::History(error) => error.hint().to_owned(),
            Self::Node(NodeError::Model(ModelError::ScriptEnded(_))) => {
                "add an answer to the script, then `paddock resume`".to_owned()
            }
            Self::Node(NodeError::Model(_)) => {
                "what was done is kept: `paddock resume THREAD` asks the model again".to_owned()
            }
            Self::Node(NodeError::Stopped) => "what was done is kept: `paddock resume THREAD` goes on".to_owned(),
            Self::Node(_) => "say what is to be done: paddock run \"…\"".to_owned(),
            Self::Name(error) => error.hint().to_owned(),
            Self::NotYours(_) => "resume it as who began it, with the same --home".to_owned(),
            Self::NobodyToAsk => "run it in a project with a paddock.toml".to_owned(),
            Self::Cancelled(_) => {
                "begin another run; `paddock threads fork` can begin from one of its steps".to_owned()
            }
            Self::NotOver(thread) => format!(
                "`paddock resume {thread}` goes on with it; `paddock threads show {thread}` says what it waits for"
            ),
            Self::Over(_) => "`paddock run --thread THREAD \"…\"` goes on with another task".to_owned(),
            Self::Plan(_) => "look whether the first read-write Workspace can be written".to_owned(),
            Self::Inconsistent(_) => "`paddock threads show THREAD` shows the record".to_owned(),
        }
    }
}

type Result<T> = std::result::Result<T, RunError>;

/// What runs need: tools, a model, and where everything is kept.
pub struct Runtime {
    /// Every checkpoint.
    pub record: Record,
    /// The conversations.
    pub instances: Arc<dyn Instances>,
    /// The tools, under the policy of the agent.
    pub toolbox: Toolbox,
    /// Whom to ask.
    pub model: Arc<dyn Model>,
    /// How a person names that model, so that it is found again.
    pub model_name: String,
    /// What it costs, where that is known.
    pub prices: Option<Prices>,
    /// What waits for a person.
    pub approvals: Option<Arc<Approvals>>,
    /// What calls came to.
    pub history: Option<Arc<History>>,
    /// Keeps secrets out of what is said.
    pub redactor: Redactor,
    /// Bounds.
    pub settings: RunSettings,
    /// Makes session tokens; private to the System Root.
    pub key: [u8; 32],
    /// Stops what is under way.
    pub cancel: Arc<Cancel>,
    /// Is told what happens.
    pub watcher: Arc<Watcher>,
    /// What time it is.
    pub clock: Arc<Clock>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Begins a thread, or goes on with one that is over, with a task.
    ///
    /// # Errors
    /// When the thread waits for something, is somebody else's, or cannot be kept.
    pub fn start(&self, prompt: &str, options: &RunOptions) -> Result<Ended> {
        let thread = options.thread.as_str();
        // Looked at before anything is made: a thread without a task would be nobody's.
        gatekeeper::admits(prompt)?;
        let about = Thread {
            thread_id: thread.to_owned(),
            agent: options.agent.clone(),
            user_id: options.user.clone(),
            prompt: self.redactor.text(prompt).into_owned(),
            bounds: Bounds { mode: options.mode, level: options.level, tools: options.tools.clone() },
            status: ThreadStatus::Running,
            told: None,
            model: self.model_name.clone(),
            created_at: now(),
            updated_at: now(),
            checkpoints: 0,
            parent: None,
        };
        self.instances.create(&options.thread, &options.agent)?;
        match self.record.create(&about) {
            Ok(()) | Err(RecordError::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let (mut run, _) = self.open(&options.thread, &options.user)?;
        if run.n > 0 && run.next != NodeName::End {
            return Err(RunError::NotOver(thread.to_owned()));
        }
        self.record.set_task(run.fence, &about)?;
        run.tell(&RunEvent::Boundary("after the task"));
        run.begin_turn(about)?;
        self.drive(run)
    }

    /// Goes on with a thread exactly where it stopped.
    ///
    /// # Errors
    /// When there is nothing to go on with, it is somebody else's, or another process has it.
    pub fn resume(&self, thread: &InstanceKey, user: &str, settled: Option<Settled>) -> Result<Ended> {
        let (mut run, about) = self.open(thread, user)?;
        // Its task is known, and it ended before the first node: nothing of it was done, and all of it is to be.
        let begins = run.n == 0 || (run.next == NodeName::End && about.status == ThreadStatus::Running);
        if begins {
            run.begin_turn(about)?;
        }
        if run.next == NodeName::End {
            return Err(RunError::Over(thread.to_string()));
        }
        run.settled = settled;
        // What a run that begins has is the plan of the task before.
        if !begins {
            run.tell(&RunEvent::Resumed(&run.state));
        }
        self.drive(run)
    }

    /// Takes the thread over, and brings its conversation to where its last checkpoint is.
    fn open(&self, thread: &InstanceKey, user: &str) -> Result<(Run<'_>, Thread)> {
        let conversation = self.instances.conversation(thread)?;
        (self.watcher)(&RunEvent::Boundary("before it is taken over"));
        let fence = self.record.take(thread.as_str())?;
        // Whoever cancels it from now on takes it over; before, it is seen here.
        let about = self.record.thread(thread.as_str())?;
        if about.status == ThreadStatus::Cancelled {
            return Err(RunError::Cancelled(about.thread_id));
        }
        let mut recent = Recent::default();
        self.instances.read(thread, &mut |message| recent.add(said::read(&message)))?;
        let checkpoint = self.record.checkpoint(thread.as_str(), None)?;
        let mut run = Run {
            runtime: self,
            fence,
            since: (self.clock)(),
            conversation,
            state: self.fresh(&about, user)?,
            next: NodeName::Gatekeeper,
            n: 0,
            spoke: 0,
            turn: TurnId::new("t1")?,
            recent,
            plan_is_kept: true,
            tools: about.bounds.tools.clone(),
            settled: None,
        };
        if let Some(checkpoint) = checkpoint {
            let hash = &checkpoint.state.security_context.session_token_hash;
            if *hash != self.session_hash(thread.as_str(), user) || checkpoint.state.user_id != user {
                return Err(RunError::NotYours(thread.to_string()));
            }
            (run.state, run.next, run.n, run.turn) = (checkpoint.state, checkpoint.next, checkpoint.n, checkpoint.turn);
            // Who was to keep it may not have come to it.
            run.plan_is_kept = !matches!(run.next, NodeName::Supervisor | NodeName::Finalizer);
            run.say_again()?;
        }
        Ok((run, about))
    }

    fn fresh(&self, about: &Thread, user: &str) -> Result<AgentState> {
        if about.user_id != user {
            return Err(RunError::NotYours(about.thread_id.clone()));
        }
        Ok(AgentState {
            version: VERSION,
            thread_id: about.thread_id.clone(),
            user_id: about.user_id.clone(),
            agent_mode: about.bounds.mode,
            input_prompt: about.prompt.clone(),
            current_plan_path: PLAN_NOWHERE.to_owned(),
            current_step_id: None,
            step_history: std::collections::BTreeMap::new(),
            last_tool_result: None,
            security_context: SecurityContext {
                permissions_level: about.bounds.level,
                allowed_tools: Vec::new(),
                session_token_hash: self.session_hash(&about.thread_id, user),
                is_sanitized: false,
            },
            approval_state: None,
            progress: Progress::default(),
        })
    }

    /// Binds a resume to who may resume: only this System Root can make it.
    fn session_hash(&self, thread: &str, user: &str) -> String {
        let key = blake3::derive_key("Paddock 2026 run session", &self.key);
        let token = blake3::keyed_hash(&key, format!("{}:{thread};{user}", thread.len()).as_bytes());
        blake3::hash(token.as_bytes()).to_hex().to_string()
    }

    /// One node after the other, until it stops.
    fn drive(&self, mut run: Run<'_>) -> Result<Ended> {
        let key = InstanceKey::new(run.state.thread_id.clone())?;
        self.instances.set_status(&key, Status::Processing)?;
        let fence = run.fence;
        let ended = self.while_it_is_ours(key.as_str(), fence, || self.drive_until_it_stops(&mut run));
        let ended = ended.or_else(|error| self.or_cancelled(key.as_str(), error));
        drop(run);
        // The run itself counts; what a list shows of it comes after.
        let _ = self.instances.set_status(&key, Status::Idle);
        ended
    }

    /// Does something, and stops it when another process takes the thread over: it was cancelled, or this one was thought dead.
    fn while_it_is_ours<T>(&self, thread: &str, fence: Fence, work: impl FnOnce() -> T) -> T {
        let (over, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(LOOKING) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if self.record.holds(thread, fence).is_ok_and(|holds| !holds) {
                        self.cancel.stop();
                        return;
                    }
                }
            });
            let done = work();
            drop(over);
            done
        })
    }

    /// Whoever cancels a thread takes it over.
    fn or_cancelled(&self, thread: &str, error: RunError) -> Result<Ended> {
        let taken = matches!(error, RunError::Record(RecordError::TakenOver(_)));
        let status = self.record.thread(thread).map(|about| about.status);
        if taken && status.is_ok_and(|status| status == ThreadStatus::Cancelled) {
            Ok(Ended::Cancelled)
        } else {
            Err(error)
        }
    }

    fn drive_until_it_stops(&self, run: &mut Run<'_>) -> Result<Ended> {
        loop {
            self.bound(run);
            let node = run.next;
            let Some(wire) = node.wire() else {
                return Err(RunError::Over(run.state.thread_id.clone()));
            };
            let transition = wire(run)?;
            run.plan_is_kept &= !transition.plan_changed;
            // With what the Planner or the Interpreter changed: nothing happens between them and these.
            if matches!(node, NodeName::Supervisor | NodeName::Finalizer) {
                run.keep_plan()?;
            }
            run.commit(node, &transition)?;
            if transition.stops {
                run.conversation.settle()?;
                let told = transition.told.unwrap_or_default();
                return Ok(match transition.status {
                    ThreadStatus::Frozen => Ended::Frozen(told),
                    ThreadStatus::Blocked => Ended::Blocked(told),
                    ThreadStatus::Asking => Ended::Asking(told),
                    ThreadStatus::Cancelled => Ended::Cancelled,
                    ThreadStatus::Done | ThreadStatus::Running => Ended::Done(told),
                });
            }
        }
    }

    /// A run that has used up what it may goes to its end, with a question.
    fn bound(&self, run: &mut Run<'_>) {
        if becomes::is_bounded(run.next)
            && let Some(over) = self.used_up(&run.state.progress)
        {
            run.next = becomes::bounded(&mut run.state, &over);
        }
    }

    /// The bound that a turn has come to, in words.
    fn used_up(&self, used: &Progress) -> Option<String> {
        let RunSettings { max_steps, max_tokens, max_time, max_cost, .. } = &self.settings;
        let most = self.prices.as_ref().zip(*max_cost).map(|(prices, micros)| prices.amount(micros));
        if used.nodes >= *max_steps {
            Some(format!("{max_steps} steps"))
        } else if used.tokens >= *max_tokens {
            Some(format!("{max_tokens} tokens"))
        } else if used.worked >= millis(*max_time) {
            Some(format!("{} seconds", max_time.as_secs()))
        } else {
            most.filter(|most| used.cost.reach(most)).map(|most| most.to_string())
        }
    }

    /// Another thread that begins where this one was at a checkpoint: with what was said by then, and nothing undone.
    ///
    /// # Errors
    /// When there is no such checkpoint, or the new name is taken.
    pub fn fork(&self, from: &InstanceKey, n: u64, to: &InstanceKey, user: &str) -> Result<()> {
        let about = self.record.thread(from.as_str())?;
        let checkpoint = self.record.checkpoint(from.as_str(), Some(n))?;
        let checkpoint = checkpoint.ok_or_else(|| RecordError::NoCheckpoint { thread: from.to_string(), n })?;
        // What a fork has from before it began is of the thread that it began from.
        let hash = self.session_hash(&checkpoint.written_for, user);
        if checkpoint.state.security_context.session_token_hash != hash {
            return Err(RunError::NotYours(from.to_string()));
        }
        let state = self.forked_state(checkpoint, to, user);
        let thread = forked_thread(about, from, n, &state);
        let mut said = Vec::new();
        let by_then = |message: &Message| said::checkpoint_of(message).is_none_or(|with| with <= n);
        self.instances.read(from, &mut |message| said.extend(Some(message).filter(by_then)))?;
        self.add_what_did_not_arrive(from, n, &mut said)?;
        let mut messages = said.into_iter().map(Ok);
        self.instances.import(to, &thread.agent, Imported::of(&mut messages))?;
        Ok(self.record.fork(from.as_str(), n, &thread, &state)?)
    }

    /// Adds what the last checkpoints up to this one said, where a process that ended, or the power, took that along: the fork says
    /// nothing of it again.
    fn add_what_did_not_arrive(&self, from: &InstanceKey, n: u64, said: &mut Vec<Message>) -> Result<()> {
        for checkpoint in last_up_to(&self.record, from.as_str(), n)? {
            // What a fork has from before it began is in its conversation, under other numbers.
            let is_own = checkpoint.written_for == from.as_str();
            for message in checkpoint.outbox.into_iter().filter(|_| is_own) {
                if !said.iter().any(|there| there.id() == message.id()) {
                    said.push(message);
                }
            }
        }
        Ok(())
    }

    /// The state that a fork begins with.
    fn forked_state(&self, checkpoint: Checkpoint, to: &InstanceKey, user: &str) -> (NodeName, AgentState) {
        let Checkpoint { mut state, next, .. } = checkpoint;
        let plan_path = match state.current_plan_path.as_str() {
            PLAN_NOWHERE => PLAN_NOWHERE.to_owned(),
            _ => self.plan_path(to.as_str()),
        };
        let own = Own {
            thread: to.to_string(),
            session_token_hash: self.session_hash(to.as_str(), user),
            plan_path,
            call_id: CallId::next().to_string(),
        };
        (becomes::forked(&mut state, next, own), state)
    }

    /// The model, as a run asks it.
    pub(crate) fn asked_model(&self) -> RedactedModel {
        RedactedModel { model: Arc::clone(&self.model), redactor: self.redactor.clone() }
    }

    /// Where a thread's plan is kept: a file that is its own already, or one that nobody had.
    pub(crate) fn plan_path(&self, thread: &str) -> String {
        let Some(place) = self.toolbox.plan_place() else { return PLAN_NOWHERE.to_owned() };
        let first = (place.as_str() != PLANS).then(|| "todo.md".to_owned());
        let numbered = (2..100).map(|n| format!("todo-{thread}-{n}.md"));
        let names = first.into_iter().chain([format!("todo-{thread}.md")]).chain(numbered);
        let header = plan::header(thread);
        let is_ours = |path: &LogicalPath| match self.toolbox.read_text(path) {
            // Of several that begin at once, one gets it.
            Ok(None) => self.toolbox.keep_new_text(path, &format!("{header}\n")).is_ok(),
            Ok(Some(text)) => text.starts_with(&header),
            Err(_) => false,
        };
        let paths = names.filter_map(|name| LogicalPath::parse(&name, &place).ok());
        paths.into_iter().find(is_ours).map_or_else(|| PLAN_NOWHERE.to_owned(), |path| path.to_string())
    }

    /// What no call of the run may change.
    pub(crate) fn protected(&self, state: &AgentState) -> Vec<LogicalPath> {
        LogicalPath::parse(&state.current_plan_path, &LogicalPath::top()).into_iter().collect()
    }

    /// Writes the plan where people read it.
    pub(crate) fn keep_plan(&self, state: &AgentState) -> Result<()> {
        if state.current_plan_path == PLAN_NOWHERE {
            return Ok(());
        }
        let steps: Vec<&StepState> = state.step_history.values().collect();
        let text = plan::render(&state.thread_id, &state.input_prompt, &steps);
        let path = LogicalPath::parse(&state.current_plan_path, &LogicalPath::top());
        let path = path.map_err(|error| RunError::Plan(error.to_string()))?;
        self.toolbox.keep_text(&path, &self.redactor.text(&text)).map_err(RunError::Plan)
    }

    /// Whether a call was done, as the ledger knows it: nothing where it never began.
    pub(crate) fn came_to(&self, call: CallId) -> Result<Option<bool>> {
        let Some(history) = &self.history else { return Ok(Some(false)) };
        match history.find_call(&call.to_string()) {
            Ok(row) => Ok(Some(row.state == CallState::Completed)),
            Err(HistoryError::NoSuchCall(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A fork as a thread. Since its checkpoint the other one may have had another task and other bounds: those of the state are its own.
fn forked_thread(about: Thread, from: &InstanceKey, n: u64, (next, state): &(NodeName, AgentState)) -> Thread {
    let context = &state.security_context;
    let status = match next {
        NodeName::End if state.progress.asks => ThreadStatus::Asking,
        NodeName::End => ThreadStatus::Done,
        _ => ThreadStatus::Running,
    };
    Thread {
        thread_id: state.thread_id.clone(),
        prompt: state.input_prompt.clone(),
        bounds: Bounds {
            mode: state.agent_mode,
            level: context.permissions_level,
            tools: Some(context.allowed_tools.clone()),
        },
        status,
        told: state.progress.told.clone().filter(|_| *next == NodeName::End),
        parent: Some((from.to_string(), n)),
        checkpoints: 0,
        ..about
    }
}
