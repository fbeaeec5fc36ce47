//! The agents and what each perceives: its Workspaces, their scopes, what they hold and may hold.

use paddock_core::{AgentName, AgentPolicy, LogicalPath, Workspace, list_some};
use paddock_stores::virtual_store::VirtualStore;
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::past;

/// An agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentShown {
    /// Its name.
    pub name: String,
    /// How many Workspaces it has.
    pub workspaces: usize,
    /// The tools that it is given.
    pub tools: Vec<String>,
}

/// A Workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceShown {
    /// Where the agent perceives it.
    pub prefix: String,
    /// `READ_ONLY`, `READ_WRITE` or `WRITE_ONLY`.
    pub scope: String,
    /// What is behind it: `physical` or `virtual`.
    pub store: String,
    /// The line of the configuration that says so.
    pub origin: String,
    /// What it holds, where that is counted.
    pub used: Option<Amount>,
    /// What it may hold.
    pub quota: Limits,
}

/// How much.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Amount {
    /// Bytes of content.
    pub bytes: u64,
    /// Files.
    pub files: u64,
}

/// How much at most; nothing: as much as there is room for.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Limits {
    /// Bytes of content.
    pub bytes: Option<u64>,
    /// Files.
    pub files: Option<u64>,
}

/// The agents of the configuration.
///
/// # Errors
/// When the configuration has problems.
pub fn agents(desk: &Desk) -> Result<Vec<AgentShown>> {
    let shown = |agent: AgentName| {
        let policy = desk.policy(&agent)?.current();
        let tools = desk.toolbox(&agent)?.tools().iter().map(|tool| tool.name.to_owned()).collect();
        Ok(AgentShown { name: agent.as_str().to_owned(), workspaces: perceived(&policy).count(), tools })
    };
    desk.agents()?.into_iter().map(shown).collect()
}

/// The Workspaces of an agent, of `main` where none is named.
///
/// # Errors
/// When there is no such agent, or what is behind a Workspace cannot be asked.
pub fn of_agent(desk: &Desk, agent: Option<&str>) -> Result<Vec<WorkspaceShown>> {
    let policy = desk.policy(&agent_named(desk, agent)?)?.current();
    let in_memory = is_in_memory(desk)?;
    perceived(&policy).map(|workspace| shown(&policy, workspace, in_memory)).collect()
}

/// One Workspace of an agent, by its prefix.
///
/// # Errors
/// When it has none there.
pub fn at(desk: &Desk, agent: &AgentName, prefix: &str) -> Result<WorkspaceShown> {
    let policy = desk.policy(agent)?.current();
    let path = policy.path(prefix).map_err(|error| Failure::misused(&error, error.hint()))?;
    let Some(found) = perceived(&policy).find(|workspace| *workspace.prefix() == path) else {
        let known: Vec<LogicalPath> = perceived(&policy).map(|workspace| workspace.prefix().clone()).collect();
        let hint =
            list_some(&known).map_or_else(|| "it has none".to_owned(), |all| format!("its Workspaces are {all}"));
        return Err(Failure::misused(format!("agent {agent} has no Workspace at \"{path}\""), hint));
    };
    shown(&policy, found, is_in_memory(desk)?)
}

/// The agent of this name; `main` where none is named.
///
/// # Errors
/// When the configuration has no such agent.
pub fn agent_named(desk: &Desk, name: Option<&str>) -> Result<AgentName> {
    let agents = desk.agents()?;
    let Some(name) = name else {
        let first = agents.first().cloned();
        return Ok(agents
            .into_iter()
            .find(|agent| *agent == AgentName::main())
            .or(first)
            .unwrap_or_else(AgentName::main));
    };
    agents.iter().find(|agent| agent.as_str() == name).cloned().ok_or_else(|| {
        let known: Vec<&str> = agents.iter().map(AgentName::as_str).collect();
        Failure::missing(
            format!("there is no agent \"{}\"", paddock_core::visible(name)),
            format!("the configuration has {}", known.join(", ")),
        )
    })
}

/// What the agent itself perceives.
fn perceived(policy: &AgentPolicy) -> impl Iterator<Item = &Workspace> {
    policy.vfs.workspaces().iter().filter(|workspace| !workspace.is_aside())
}

fn shown(policy: &AgentPolicy, workspace: &Workspace, in_memory: bool) -> Result<WorkspaceShown> {
    let is_virtual = workspace.territory().and_then(VirtualStore::namespace_in).is_some();
    let person = Person::on(policy, &paddock_core::NoAudit);
    // Each process has a memory of its own, and that of a command is empty.
    let used = match in_memory && is_virtual {
        true => None,
        false => person.vfs().usage(&person.call(), workspace.prefix()).map_err(|refused| past::refused(&refused))?,
    };
    let quota = workspace.quota();
    Ok(WorkspaceShown {
        prefix: workspace.prefix().to_string(),
        scope: workspace.scope().name().to_owned(),
        store: if is_virtual { "virtual" } else { "physical" }.to_owned(),
        origin: workspace.origin().to_string(),
        used: used.map(|used| Amount { bytes: used.bytes, files: used.files }),
        quota: Limits { bytes: quota.bytes, files: quota.files },
    })
}

fn is_in_memory(desk: &Desk) -> Result<bool> {
    // A configuration that is gone says nothing of where the stores are, and there is none to ask.
    let Ok(file) = desk.config_in_effect() else { return Ok(false) };
    let stores = file.config().virtual_.as_ref();
    Ok(stores.and_then(|stores| stores.url.as_ref()).and_then(|url| url.plain()).is_some_and(|url| url.0 == "memory"))
}
