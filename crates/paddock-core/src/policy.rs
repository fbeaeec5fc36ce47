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
}

impl AgentPolicy {
    /// The policy of an agent that runs no commands.
    pub fn new(agent: AgentName, base: LogicalPath, vfs: Vfs) -> Self {
        Self { agent, base, vfs, commands: None }
    }

    /// The same for an agent that may run commands.
    #[must_use]
    pub fn with_commands(mut self, commands: Option<Commands>) -> Self {
        self.commands = commands;
        self
    }

    /// Reads a path as this agent writes it.
    pub fn path(&self, text: &str) -> Result<LogicalPath, PathError> {
        LogicalPath::parse(text, &self.base)
    }
}
