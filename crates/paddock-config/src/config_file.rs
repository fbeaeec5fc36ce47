//! A configuration file that has been read: its keys and its text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use paddock_core::AgentName;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::Fault;
use crate::problem::{ConfigError, Problem};
use crate::read::{FromToml as _, Reading};
use crate::schema::{Config, Prefix, WorkspaceTable};
use crate::source::{Located, Source};

/// A configuration without any problem that can be seen in its text alone.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    config: Config,
    source: Arc<Source>,
}

/// What one agent is configured to perceive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentSpec<'c> {
    pub(crate) base: Option<&'c Located<Prefix>>,
    pub(crate) workspaces: &'c [WorkspaceTable],
}

impl ConfigFile {
    /// Reads a text. `name` is what messages and decisions call the file.
    ///
    /// ```
    /// use paddock_config::ConfigFile;
    /// let error = ConfigFile::parse("paddock.toml", "nmae = \"shop\"\n").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "error: unknown key \"nmae\" at the top of the file\n \
    ///      --> paddock.toml:1:1\n  |\n1 | nmae = \"shop\"\n  | ^^^^\nhint: did you mean \"name\"?"
    /// );
    /// ```
    ///
    /// # Errors
    /// With every problem that was found.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        // A byte order mark is not text that a person wrote.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Arc::new(Source::new(name, text));
        let (table, faults) = DeTable::parse_recoverable(source.text());
        if !faults.is_empty() {
            // What was recovered around a syntax error would only raise false alarms.
            return Err(ConfigError::new(Arc::clone(&source), syntax_problems(&source, &faults)));
        }
        let (config, mut problems) = read(&source, table);
        if let Some(config) = &config {
            duplicate_prefixes(config, &mut problems);
        }
        match config {
            Some(config) if problems.is_empty() => Ok(Self { config, source }),
            _ => Err(ConfigError::new(source, problems)),
        }
    }

    /// Every key as it was read.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The text it was read from.
    #[must_use]
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The agents of this file: `main` where it has Workspaces, then the others by name.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentName> {
        let main = self.config.workspace.as_ref().is_some_and(|list| !list.is_empty());
        let others = self.config.agents.iter().flat_map(|agents| agents.0.keys());
        main.then(AgentName::main).into_iter().chain(others.cloned()).collect()
    }

    /// The Workspaces of an agent as they were written; none where the file does not speak of it.
    #[must_use]
    pub fn workspaces_of(&self, agent: &AgentName) -> &[WorkspaceTable] {
        self.agent(agent).map(|spec| spec.workspaces).unwrap_or_default()
    }

    /// What an agent is configured to perceive. `main` always exists, perhaps with nothing.
    pub(crate) fn agent(&self, name: &AgentName) -> Result<AgentSpec<'_>, ConfigError> {
        if *name == AgentName::main() {
            return Ok(AgentSpec {
                base: self.config.base.as_ref(),
                workspaces: self.config.workspace.as_deref().unwrap_or_default(),
            });
        }
        match self.config.agents.as_ref().and_then(|agents| agents.0.get(name)) {
            Some(agent) => {
                Ok(AgentSpec { base: agent.base.as_ref(), workspaces: agent.workspace.as_deref().unwrap_or_default() })
            }
            None => Err(ConfigError::one(&self.source, self.no_such_agent(name))),
        }
    }

    fn no_such_agent(&self, name: &AgentName) -> Problem {
        let mut known: Vec<String> = self.agents().iter().map(ToString::to_string).collect();
        if known.is_empty() {
            known.push(AgentName::main().to_string());
        }
        let name = name.to_string();
        Problem::of_file(Fault::NoSuchAgent { name, known })
    }
}

fn read(source: &Source, table: Spanned<DeTable<'_>>) -> (Option<Config>, Vec<Problem>) {
    let mut reading = Reading::new(source);
    let span = table.span();
    let top = Spanned::new(span, DeValue::Table(table.into_inner()));
    let config = Config::from_toml(&top, &mut reading);
    (config, reading.problems)
}

/// One problem per line: what follows the first on a line is mostly its echo.
fn syntax_problems(source: &Source, faults: &[toml::de::Error]) -> Vec<Problem> {
    let mut lines = HashSet::new();
    faults
        .iter()
        .filter_map(|fault| {
            let span = fault.span().unwrap_or_default();
            let line = source.position(span.start).line;
            let told = single_table(source.line(line)).unwrap_or_else(|| Fault::Syntax(fault.message().to_owned()));
            lines.insert(line).then(|| Problem::new(told, span))
        })
        .collect()
}

/// The second of several tables that a list of them has: with single brackets it is taken for the first again.
fn single_table(line: &str) -> Option<Fault> {
    let key = line.trim().strip_prefix('[')?.strip_suffix(']')?;
    let is_of_list = key == "workspace" || key.ends_with(".workspace") || key == "approvals.rule";
    is_of_list.then(|| Fault::SingleTable { key: key.to_owned() })
}

/// Notes each prefix that an agent uses twice.
fn duplicate_prefixes(config: &Config, problems: &mut Vec<Problem>) {
    let others = config.agents.iter().flat_map(|agents| agents.0.values());
    let others = others.filter_map(|agent| agent.workspace.as_ref());
    for workspaces in config.workspace.iter().chain(others) {
        let mut first = HashMap::new();
        for prefix in workspaces.iter().map(|workspace| &workspace.prefix) {
            let earlier = first.entry(prefix.0.as_str()).or_insert(prefix);
            if earlier.span != prefix.span {
                let fault = Fault::DuplicatePrefix(prefix.0.to_string());
                let problem = Problem::new(fault, prefix.span.clone());
                problems.push(problem.beside("it is first used here", earlier.span.clone()));
            }
        }
    }
}
