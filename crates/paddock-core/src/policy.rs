//! The policy of one agent: its name, where its relative paths start, and its Vfs.

use crate::asked::Terms;
use crate::call::AgentName;
use crate::command::Commands;
use crate::path::{LogicalPath, PathError};
use crate::risk_rules::RiskRules;
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
    /// When a person is asked.
    pub terms: Terms,
    /// What a person says about risks.
    pub rules: RiskRules,
}

/// Where an agent searches the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSearch {
    /// The address of a SearXNG-compatible service, without a `/` at the end.
    pub url: String,
    /// What it is told with every search so that it answers.
    pub key: Option<BearerToken>,
}

/// A word that opens a service. Nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    /// This word.
    pub fn new(word: &str) -> Self {
        Self(word.to_owned())
    }

    /// The word itself, for the service alone.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BearerToken(…)")
    }
}

impl AgentPolicy {
    /// The policy of an agent that runs no commands and does not search the web.
    pub fn new(agent: AgentName, base: LogicalPath, vfs: Vfs) -> Self {
        let (commands, web_search) = (None, None);
        Self { agent, base, vfs, commands, web_search, terms: Terms::default(), rules: RiskRules::default() }
    }

    /// The same for an agent that may run commands.
    #[must_use]
    pub fn with_commands(mut self, commands: Option<Commands>) -> Self {
        self.commands = commands;
        self
    }

    /// The same, with a person who is asked on these terms.
    #[must_use]
    pub fn asking(mut self, terms: Terms, rules: RiskRules) -> Self {
        (self.terms, self.rules) = (terms, rules);
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
