//! What a person did that changed no file, as a row of the audit: tokens, links, shares, decisions, settings.
//!
//! Each row names whose act it was. It must never hold a secret: of a token its id and name, of a link that one was made.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::{AgentName, Audit, CallId, CallRecord, LogicalPath, Risk};

use crate::failure::{Failure, FailureKind, Result};

/// Where somebody's acts are recorded.
#[derive(Clone)]
pub(crate) struct Acts {
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) by: String,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act<'a> {
    /// The agent that it is about.
    pub(crate) agent: &'a AgentName,
    /// As the command line calls it.
    pub(crate) command: &'a str,
    /// What it was done to: a path, or a name.
    pub(crate) about: &'a str,
    /// What there is to say of it besides; nothing where its name says all.
    pub(crate) how: &'a str,
    pub(crate) workspace: Option<&'a LogicalPath>,
    pub(crate) done: bool,
    pub(crate) risk: Option<Risk>,
    pub(crate) took: Duration,
}

impl<'a> Act<'a> {
    /// Something that was done.
    pub(crate) fn done(agent: &'a AgentName, command: &'a str, about: &'a str) -> Self {
        Self {
            agent,
            command,
            about,
            how: "",
            workspace: None,
            done: true,
            risk: Some(Risk::Low),
            took: Duration::ZERO,
        }
    }
}

impl Acts {
    /// Those of somebody else.
    pub(crate) fn of(&self, by: &str) -> Self {
        Self { by: by.to_owned(), ..self.clone() }
    }

    /// Writes down what was done, before whoever did it is told so.
    pub(crate) fn record(&self, act: &Act<'_>) -> Result<()> {
        let record = CallRecord {
            call: CallId::next(),
            agent: act.agent,
            by: Some(&self.by),
            tool: act.command,
            path: act.about,
            workspace: act.workspace,
            outcome: if act.done { "done" } else { "failed" },
            reason: if act.done || !act.how.is_empty() { act.how } else { "person" },
            risk: act.risk,
            bytes: 0,
            took: act.took,
            effect: true,
        };
        self.audit.record(&record).and_then(|()| self.audit.flush()).map_err(|error| {
            let message = format!("{} could not be recorded: {error}", act.command);
            Failure::of(FailureKind::Broken, message, "what it changed stands; run `paddock doctor`")
        })
    }
}
