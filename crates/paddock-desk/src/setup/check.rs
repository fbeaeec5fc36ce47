//! Is the configuration right, and what in it looks like a slip?

use paddock_config::{ConfigError, ConfigFile, Ports, Warning};
use paddock_core::{AgentName, AgentPolicy};
use schemars::JsonSchema;
use serde::Serialize;

use super::exposed::{self, SecretsInFiles};
use super::tracked;
use crate::failure::{Failure, Result};
use crate::project::{self, Project};

/// What a check came to.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Checked {
    /// The file.
    pub file: String,
    /// Can it take effect?
    pub valid: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemShown>,
    /// The agents, as each would be built for a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<AgentChecked>>,
    /// What looks like a slip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<WarningShown>>,
    /// What was found about secrets, where it is valid.
    #[serde(flatten)]
    pub secrets: Option<SecretsChecked>,
    /// The failure itself, where it is not valid.
    #[serde(skip)]
    pub failure: Option<Failure>,
    /// The rules about risks, in words.
    #[serde(skip)]
    pub rules: Vec<String>,
}

/// What was found about secrets.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SecretsChecked {
    /// Secrets that the file names and that are not there.
    pub missing_secrets: Vec<ProblemShown>,
    /// Stored secrets in what agents can read; nothing where there are none.
    pub secrets_in_files: Option<SecretsInFiles>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProblemShown {
    /// What.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Its line.
    pub line: Option<u32>,
    /// Its column.
    pub column: Option<u32>,
}

/// What looks like a slip.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WarningShown {
    /// Whose Workspaces it is about.
    pub agent: String,
    /// What.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Its line.
    pub line: u32,
}

/// An agent, as it would be built for a call.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentChecked {
    /// Its name.
    pub name: String,
    /// Where its relative paths start.
    pub base: String,
    /// Its Workspaces.
    pub workspaces: Vec<WorkspaceChecked>,
}

/// A Workspace of an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceChecked {
    /// Where the agent perceives it.
    pub prefix: String,
    /// Its Access Scope.
    pub scope: String,
    /// Its line.
    pub line: u32,
    /// Its file and line.
    #[serde(skip)]
    pub origin: String,
}

/// Checks the configuration; for one agent, or for all.
///
/// # Errors
/// When it cannot be read at all. What is wrong with it is in the answer.
pub fn check(project: &Project, agent: Option<&AgentName>) -> Result<Checked> {
    let name = project.config_name();
    let text = project.text()?;
    let checked = ConfigFile::parse(&name, &text).and_then(|file| Ok((agents(&file, project, agent)?, file)));
    let (agents, file) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            let problems = problems(&error);
            let failure = Some(project::config_problem(error));
            return Ok(Checked { file: name, problems, failure, ..Checked::default() });
        }
    };
    let missing = file.missing_secrets(&project.secrets);
    Ok(Checked {
        valid: true,
        agents: Some(with_forks(&file, project, &agents)),
        warnings: Some(warnings(&file, project, &agents)),
        rules: agents.first().map(|policy| policy.rules.0.iter().map(|rule| rule.told()).collect()).unwrap_or_default(),
        secrets: Some(SecretsChecked {
            missing_secrets: missing.as_ref().map(problems).unwrap_or_default(),
            secrets_in_files: exposed::look(project, &agents),
        }),
        file: name,
        ..Checked::default()
    })
}

/// Every agent, or the one that was asked for, built as it would be for a call.
fn agents(file: &ConfigFile, project: &Project, agent: Option<&AgentName>) -> Result<Vec<AgentPolicy>, ConfigError> {
    let Ok(host) = project.host() else { return Ok(Vec::new()) };
    let ports = project::looking();
    let build = |agent| paddock_config::build(file, agent, &host, &ports);
    if let Some(agent) = agent {
        return Ok(vec![build(agent)?]);
    }
    paddock_config::check(file, &host)?;
    file.agents().iter().map(build).collect()
}

/// The agents with the forks that each has: it perceives them, though the file does not say so. What a fork holds is not
/// looked into here.
fn with_forks(file: &ConfigFile, project: &Project, agents: &[AgentPolicy]) -> Vec<AgentChecked> {
    let home = project.installation().ok().and_then(|installation| installation.home().cloned());
    let ports = Ports { home, ..project::looking() };
    let host = project.host().ok();
    let with_forks = |policy: &AgentPolicy| paddock_config::build(file, &policy.agent, host.as_ref()?, &ports).ok();
    agents.iter().map(|policy| agent_checked(with_forks(policy).as_ref().unwrap_or(policy))).collect()
}

/// What looks like a slip in what these agents are given.
fn warnings(file: &ConfigFile, project: &Project, agents: &[AgentPolicy]) -> Vec<WarningShown> {
    let host = project.host().ok();
    let mut warnings = paddock_config::warnings(file, host.as_ref());
    warnings.retain(|warning| agents.iter().any(|policy| policy.agent == warning.agent));
    let shown = |warning: &Warning| WarningShown {
        agent: warning.agent.to_string(),
        message: warning.to_string(),
        hint: warning.hint().to_string(),
        line: warning.at.line,
    };
    let mut all: Vec<WarningShown> = warnings.iter().map(shown).collect();
    if let Some(host) = host {
        all.extend(agents.iter().flat_map(|policy| tracked::hidden(host.project_root(), policy)));
    }
    all
}

fn agent_checked(policy: &AgentPolicy) -> AgentChecked {
    let all = policy.vfs.workspaces().iter().filter(|workspace| !workspace.is_aside());
    let workspaces = all.map(|workspace| WorkspaceChecked {
        prefix: workspace.prefix().to_string(),
        scope: workspace.scope().name().to_owned(),
        line: workspace.origin().line(),
        origin: workspace.origin().to_string(),
    });
    AgentChecked { name: policy.agent.to_string(), base: policy.base.to_string(), workspaces: workspaces.collect() }
}

fn problems(error: &ConfigError) -> Vec<ProblemShown> {
    let problem = |problem| {
        let position = error.position(problem);
        let fault = paddock_config::Problem::fault(problem);
        ProblemShown {
            message: fault.to_string(),
            hint: fault.hint().to_string(),
            line: position.map(|at| at.line),
            column: position.map(|at| at.column),
        }
    };
    error.problems().iter().map(problem).collect()
}
