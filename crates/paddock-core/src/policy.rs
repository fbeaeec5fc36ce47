//! The policy of one agent: its name, where its relative paths start, and its Vfs.

use crate::call::AgentName;
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
}

impl AgentPolicy {
    /// Reads a path as this agent writes it.
    pub fn path(&self, text: &str) -> Result<LogicalPath, PathError> {
        LogicalPath::parse(text, &self.base)
    }
}
