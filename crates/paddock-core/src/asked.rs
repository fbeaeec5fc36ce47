//! What a [`Gate`](crate::Gate) is told of a call besides its plan, and on what terms a person is asked.
//!
//! The costly parts (the arguments as one text, the picture of what would change) are made only when somebody is asked.

use std::time::Duration;

use crate::alter::Alteration;
use crate::call::CallId;
use crate::path::LogicalPath;
use crate::ports::Risk;
use crate::preview::Preview;

/// On what terms a person is asked, as the configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Above this risk.
    pub above: Risk,
    /// For how long a decision can be made, and used.
    pub expires: Duration,
    /// Stands for the policy of the agent: another policy has another.
    pub policy: String,
    /// The clients whose own prompt may decide, by the name that they give.
    pub entrusted: Vec<String>,
    /// Who is told of a call that begins to wait.
    pub notify: Option<Notify>,
    /// How much is too much to go by itself.
    pub large: Large,
}

/// How much of what was there a change takes away whose risk is high for that alone: more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Large {
    /// Lines.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
    /// Paths.
    pub paths: u64,
}

impl Large {
    /// Where nothing else is said.
    pub const USUAL: Self = Self { lines: 2000, bytes: 1 << 20, paths: 1000 };
}

impl Default for Large {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Who is told of a call that begins to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notify {
    /// A program with its arguments; the tool, the path and the id come after them.
    Command(Vec<String>),
    /// An address that is sent the same.
    Webhook(String),
}

/// A call that begins to wait, as far as others may know of it.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// What is decided.
    pub id: &'a str,
    /// The agent that asks.
    pub agent: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The first path of the call.
    pub path: &'a str,
    /// How risky it is.
    pub risk: Risk,
}

/// What a person is asked, in words, where they are asked by the agent's own client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is decided.
    pub id: String,
    /// The first path of the call.
    pub path: String,
    /// All that there is to see.
    pub text: String,
}

impl Default for Terms {
    fn default() -> Self {
        let expires = Duration::from_secs(24 * 3600);
        Self {
            above: Risk::Medium,
            expires,
            policy: String::new(),
            entrusted: Vec::new(),
            notify: None,
            large: Large::USUAL,
        }
    }
}

/// Who makes a call, as far as a decision is bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requester {
    /// The process, connection or thread: as long as it lasts, a decision can hold for it.
    pub session: String,
    /// The thread of a run; a decision for one holds for no other.
    pub thread: Option<String>,
    /// The person on whose behalf it runs.
    pub user: Option<String>,
    /// The token of a decision that was made.
    pub token: Option<String>,
}

impl Requester {
    /// What the session of a process begins with that makes one call and ends.
    const ONE_CALL: &str = "one-call-";

    /// The name of a session that ends with the call that it is of.
    #[must_use]
    pub fn session_of(call: &CallId) -> String {
        format!("{}{call}", Self::ONE_CALL)
    }

    /// Is a session over when its first call is? What is agreed to for such a one holds for nothing more.
    #[must_use]
    pub fn is_of_one_call(session: &str) -> bool {
        session.starts_with(Self::ONE_CALL)
    }
}

/// What a command changed and nobody has made yet, about to wait for a person.
#[derive(Debug, Clone, Copy)]
pub struct Holding<'a> {
    /// The changes, in the order in which they can be made.
    pub alterations: &'a [Alteration],
    /// What the command answered, kept for the agent.
    pub told: &'a str,
    /// The call that it is of, where another one makes it: [`Held::of`].
    pub of: Option<&'a str>,
}

/// What a command changed, as it was kept for a person's decision.
#[derive(Debug)]
pub struct Held {
    /// What is decided.
    pub id: String,
    /// Stands for the call that it is of.
    pub of: String,
    /// Where the command ran.
    pub path: LogicalPath,
    /// The changes.
    pub alterations: Vec<Alteration>,
    /// What the command answered.
    pub told: String,
    /// Who agreed.
    pub by: String,
    /// What proves it. Never for a model.
    pub token: String,
}

/// What became of the change of an identical command that ran before.
#[derive(Debug)]
pub enum Earlier {
    /// There was none. So many changes of other commands of the agent still wait.
    Nothing {
        /// How many.
        waiting: usize,
    },
    /// It waits for a person; this names what they decide.
    Waits(String),
    /// A person agreed to it, and nobody has made it yet.
    Agreed(Box<Held>),
    /// It was made, and the agent has not heard of it.
    Made {
        /// What was decided.
        id: String,
        /// What the command answered.
        told: String,
        /// Who agreed.
        by: String,
    },
}

/// A call as whoever decides has to know it.
pub trait Asked {
    /// On what terms.
    fn terms(&self) -> &Terms;
    /// Who asks.
    fn requester(&self) -> &Requester;
    /// The rule that says how risky it is, and why; nothing where only its own effects say so.
    fn rule(&self) -> Option<String>;
    /// The arguments as the one text that stands for them: equal arguments, equal texts.
    fn arguments(&self) -> String;
    /// The same for people and for keeping: without secrets.
    fn shown_arguments(&self) -> String;
    /// What would change.
    fn preview(&self) -> Preview;
    /// Stands for what the call would touch, as far as its plan does not say how that is now.
    fn state(&self) -> String {
        String::new()
    }
    /// What a command changed already, to be kept until it is decided.
    fn holding(&self) -> Option<Holding<'_>> {
        None
    }
}

/// For what nobody is ever asked about: a person's own acts, and what no agent decides.
pub(crate) struct NotAsked;

static NEVER: Terms = Terms {
    above: Risk::High,
    expires: Duration::ZERO,
    policy: String::new(),
    entrusted: Vec::new(),
    notify: None,
    large: Large::USUAL,
};
static NOBODY: Requester = Requester { session: String::new(), thread: None, user: None, token: None };

impl Asked for NotAsked {
    fn terms(&self) -> &Terms {
        &NEVER
    }

    fn requester(&self) -> &Requester {
        &NOBODY
    }

    fn rule(&self) -> Option<String> {
        None
    }

    fn arguments(&self) -> String {
        String::new()
    }

    fn shown_arguments(&self) -> String {
        String::new()
    }

    fn preview(&self) -> Preview {
        Preview::default()
    }
}
