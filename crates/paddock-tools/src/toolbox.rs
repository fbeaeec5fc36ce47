//! The Toolbox: what an agent may call now, and the calls themselves.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use paddock_core::AgentPolicy;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::boundary;
use crate::catalogue::{self, ToolSpec};
use crate::control::Control;
use crate::failure::Failure;
use crate::map;
use crate::messages;
use crate::policy::{Fixed, PolicySource};

/// The tools of one agent. Cheap to clone; every clone stands on the same policy.
#[derive(Clone)]
pub struct Toolbox {
    policy: Arc<dyn PolicySource>,
}

impl Toolbox {
    /// The tools of the agent whose policy comes from here.
    pub fn new(policy: Arc<dyn PolicySource>) -> Self {
        Self { policy }
    }

    /// The tools of an agent whose policy never changes.
    pub fn fixed(policy: AgentPolicy) -> Self {
        Self::new(Arc::new(Fixed(Arc::new(policy))))
    }

    /// The tools that some Workspace of the agent allows, under the policy that holds now.
    pub fn tools(&self) -> Vec<ToolSpec> {
        let policy = self.policy.current();
        catalogue::provided(&policy).map(|tool| tool.spec(&policy)).collect()
    }

    /// What the agent perceives, in words, under the policy that holds now.
    pub fn filesystem_map(&self) -> String {
        map::filesystem_map(&self.policy.current())
    }

    /// Grows whenever the policy changed.
    pub fn generation(&self) -> u64 {
        self.policy.generation()
    }

    /// Is there a tool of this name, provided now or not?
    pub fn knows(&self, name: &str) -> bool {
        catalogue::find(name).is_some()
    }

    /// How long a call of this tool may take: as long as others, and a command the time it has on top.
    pub fn longest(&self, name: &str, others: Duration) -> Duration {
        // The policy is asked for last: that looks at the configuration's file.
        if !catalogue::find(name).is_some_and(catalogue::Tool::runs_commands) {
            return others;
        }
        let commands = self.policy.current().commands.as_ref().map(|commands| commands.settings.limits.time);
        others + commands.unwrap_or_default()
    }

    /// A text for the agent that is no answer of a tool, without values of secrets.
    pub fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.policy.redactor().text(text) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(redacted) => Cow::Owned(redacted),
        }
    }

    /// Runs one call. Whatever happens becomes an answer.
    pub fn call(&self, name: &str, arguments: Map<String, Value>, control: &Control) -> Answer {
        // A source that panics must not take the process along either.
        let current = catch_unwind(AssertUnwindSafe(|| self.policy.current()));
        match current {
            Ok(policy) => {
                boundary::call(&policy, self.policy.audit(), &self.policy.redactor(), name, arguments, control)
            }
            Err(_) => messages::answer_to(&Failure::Defect),
        }
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbox").finish_non_exhaustive()
    }
}
