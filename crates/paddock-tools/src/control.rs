//! What bounds one call from outside: a way to stop it, and the time it has.

use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use paddock_core::{CallId, Cancel, LogicalPath, Output, Requester};

/// How long a call may take at the most, whatever is asked for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Handed in with a call by whoever makes it.
#[derive(Clone)]
pub struct Control {
    /// Stops the call, and counts what it has looked at.
    pub cancel: Arc<Cancel>,
    /// When the call has to be over.
    pub deadline: Instant,
    /// Who makes the call, as far as a decision about it is bound to that.
    pub requester: Requester,
    /// The id under which it is recorded, where whoever calls has to know it before.
    pub call: Option<CallId>,
    /// What it must not change, beside what the policy says.
    pub protected: Vec<LogicalPath>,
    /// What a command reads, where a person starts one and hands it something.
    pub input: Option<Arc<OwnedFd>>,
    /// How long a command may take that a person starts, in the place of what agents are allowed.
    pub time_limit: Option<Duration>,
    /// How far it goes.
    pub(crate) goes: Goes,
    /// Told what a command prints, as it comes.
    pub listener: Option<Arc<Listener>>,
    /// Is the listener a person's terminal, which shows colours?
    pub colours: bool,
}

/// How far a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes {
    /// It runs.
    All,
    /// It is looked whether it could run; a person is asked.
    UntilAsked,
    /// It is looked whether the policy lets it through; nobody is asked.
    UntilJudged,
}

/// Takes what a command prints, without values of secrets.
pub type Listener = dyn Fn(Output<'_>) + Send + Sync;

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// The session of calls that say nothing else: as long as this process lasts.
fn this_process() -> &'static str {
    static SESSION: LazyLock<String> = LazyLock::new(|| format!("process-{}", CallId::next()));
    &SESSION
}

impl Control {
    /// The same for a process that makes this one call and ends: nothing can be agreed to for its session.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.requester.session = Requester::session_of(&CallId::next());
        self
    }

    /// A call that may take this long from now.
    pub fn for_at_most(time: Duration) -> Self {
        let deadline = Instant::now() + time.min(LONGEST);
        let requester = Requester { session: this_process().to_owned(), ..Requester::default() };
        Self {
            cancel: Arc::new(Cancel::default()),
            deadline,
            requester,
            call: None,
            protected: Vec::new(),
            input: None,
            time_limit: None,
            goes: Goes::All,
            listener: None,
            colours: false,
        }
    }
}
