//! The policy of one agent: its name, where its relative paths start, and its Vfs.

use crate::call::AgentName;
use crate::command::Commands;
use crate::path::{LogicalPath, PathError};
use crate::vfs::Vfs;

/// Everything that decides what one agent perceives and may do. Immutable: a changed
/// configuration makes a new one.
#[derive(Debug)]
pub struct AgentPolicy {
    /// The agent.
    pub agent: AgentName,
    /// Where relative paths start.
    pub base: LogicalPath,
    /// Its Workspaces, guarded.
    pub vfs: Vfs,
    /// How it runs commands; nothing where it runs none.
    pub commands: Option<Commands>,
    /// Where it searches the web; nothing where it cannot.
    pub web_search: Option<WebSearch>,
}

/// Where an agent searches the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSearch {
    /// The address of a SearXNG-compatible service, without a `/` at the end.
    pub url: String,
}

impl AgentPolicy {
    /// The policy of an agent that runs no commands and does not search the web.
    pub fn new(agent: AgentName, base: LogicalPath, vfs: Vfs) -> Self {
        Self { agent, base, vfs, commands: None, web_search: None }
    }

    /// The same for an agent that may run commands.
    #[must_use]
    pub fn with_commands(mut self, commands: Option<Commands>) -> Self {
        self.commands = commands;
        self
    }

    /// The same for an agent that may search the web.
    #[must_use]
    pub fn with_web_search(mut self, service: Option<WebSearch>) -> Self {
        self.web_search = service;
        self
    }

    /// Reads a path as this agent writes it.
    pub fn path(&self, text: &str) -> Result<LogicalPath, PathError> {
        LogicalPath::parse(text, &self.base)
    }
}
