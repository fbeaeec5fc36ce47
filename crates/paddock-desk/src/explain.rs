//! Why an operation on a path is allowed or denied: the evaluation step by step, the rule with its line, and the line that
//! would allow it.
//!
//! The verdict is the policy's own; here it is only told. It must never change anything: what a line would allow, a person
//! writes.

use std::path::Path;

use paddock_config::ConfigFile;
use paddock_core::{
    AgentName, AgentPolicy, Decision, LogicalPath, OpKind, RelPathBuf, Risk, RiskRule, Rule, Workspace,
};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::host;
use crate::project::Project;

/// What the policy says, and why.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Explained {
    /// The agent.
    pub agent: String,
    /// The operation.
    pub operation: String,
    /// The path that was judged.
    pub path: String,
    /// Is it allowed?
    pub allowed: bool,
    /// The Workspace that the path belongs to.
    pub workspace: Option<MatchedWorkspace>,
    /// The rule that decided, in words, with where it was written.
    pub rule: String,
    /// The Workspaces in which the operation is allowed.
    pub allowed_in: Vec<String>,
    /// What a person says about the risk of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_rule: Option<String>,
    /// Why a person is asked before it happens, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The evaluation, in order; it ends with what decided.
    pub steps: Vec<Step>,
    /// What the agent calls the path, where a path of the host was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant: Option<String>,
    /// What would allow it, where a line can.
    pub would_allow: Option<WouldAllow>,
    /// All of it in words.
    #[serde(skip)]
    pub said: String,
}

/// A Workspace that a path belongs to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MatchedWorkspace {
    /// Its prefix.
    pub prefix: String,
    /// Its Access Scope.
    pub scope: String,
    /// Where it was written.
    pub origin: String,
}

/// One step of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Did it go on from here?
    pub passed: bool,
    /// What was looked at.
    pub about: String,
    /// What was found.
    pub found: String,
    /// Where a person wrote it.
    pub origin: Option<String>,
}

/// The line that would allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WouldAllow {
    /// Ready to be pasted.
    pub text: String,
    /// Where it goes.
    pub place: String,
    /// The key that it sets, for `paddock config set`; nothing where whole lines are added.
    pub key: Option<String>,
    /// The value for that key, as TOML.
    pub value: Option<String>,
}

impl WouldAllow {
    /// Both lines, which stand in the same Workspace.
    fn with(self, other: &Self) -> Self {
        Self { text: format!("{}\n{}", self.text, other.text), key: None, value: None, ..self }
    }
}

/// What the policy of an agent says about an operation on a path.
///
/// # Errors
/// When there is no such agent or operation, or the path is none.
pub fn why(desk: &Desk, agent: &AgentName, operation: &str, path: &str) -> Result<Explained> {
    let policy = desk.policy(agent)?.current();
    on_policy(&policy, desk.project(), operation, path)
}

/// As [`why`], on a policy of any origin.
///
/// # Errors
/// As [`why`].
pub fn on_policy(policy: &AgentPolicy, project: &Project, operation: &str, path: &str) -> Result<Explained> {
    let op = self::operation(operation)?;
    let path = policy.path(path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let decision = policy.vfs.judge(op, &path);
    let workspace = decision.workspace().map(|workspace| MatchedWorkspace {
        prefix: workspace.prefix().to_string(),
        scope: workspace.scope().name().to_owned(),
        origin: workspace.origin().to_string(),
    });
    let risk = risk_rule(policy, op, &path).filter(|_| decision.allowed());
    let meant = meant(policy, &path).filter(|_| decision.workspace().is_none());
    Ok(Explained {
        agent: policy.agent.to_string(),
        operation: op.verb().to_owned(),
        path: path.to_string(),
        allowed: decision.allowed(),
        workspace,
        rule: decision.reason(),
        allowed_in: decision.alternatives().iter().map(ToString::to_string).collect(),
        risk_rule: risk.map(RiskRule::told),
        asked: asked(policy, op, risk).filter(|_| decision.allowed()),
        steps: steps(op, &path, &decision, risk),
        would_allow: if meant.is_none() { would_allow(policy, project, op, &path, &decision) } else { None },
        meant,
        said: decision.explain(),
    })
}

/// The operations that can be asked about.
#[must_use]
pub fn operations() -> Vec<&'static str> {
    OpKind::ALL.iter().map(|op| op.verb()).collect()
}

/// An operation by its own name or by that of the tool that does it.
fn operation(text: &str) -> Result<OpKind> {
    // As the Filesystem Map has it.
    let text = if text == "make" { OpKind::MakeDir.verb() } else { text };
    let plain = text.trim_end_matches("_file").trim_end_matches("_files").trim_end_matches("_dir");
    let named = |name: &str| OpKind::ALL.into_iter().find(|op| op.verb() == name);
    named(text).or_else(|| named(plain)).ok_or_else(|| {
        if text == "execute_command" {
            return Failure::misused(
                "a command is judged by what it did, path by path",
                "ask about write, delete or read",
            );
        }
        let known = operations().join(", ");
        Failure::misused(
            format!("there is no operation \"{}\"", paddock_core::visible(text)),
            format!("use one of {known}"),
        )
    })
}

/// What a person says about the risk of it.
fn risk_rule<'p>(policy: &'p AgentPolicy, op: OpKind, path: &LogicalPath) -> Option<&'p RiskRule> {
    let tool = paddock_tools::catalogue::names().find(|tool| operation(tool).is_ok_and(|of_tool| of_tool == op))?;
    policy.rules.0.iter().find(|rule| rule.matches(tool, path))
}

/// What the agent calls a path of the host: people have those at hand.
fn meant(policy: &AgentPolicy, path: &LogicalPath) -> Option<String> {
    let inside = |workspace: &Workspace| {
        let rel = Path::new(path.as_str()).strip_prefix(workspace.host_directory()?).ok()?.to_str()?;
        RelPathBuf::parse(rel).ok().map(|rel| workspace.prefix().join(rel.as_rel()).to_string())
    };
    let found =
        policy.vfs.workspaces().iter().filter_map(|workspace| Some((workspace.host_directory()?, inside(workspace)?)));
    found.max_by_key(|(directory, _)| directory.as_os_str().len()).map(|(_, meant)| meant)
}

/// Is it so risky that a person is asked first? As for a call of the tool that does it, on something that is there.
fn asked(policy: &AgentPolicy, op: OpKind, rule: Option<&RiskRule>) -> Option<String> {
    let own = match op {
        OpKind::Delete => Risk::High,
        OpKind::Write | OpKind::Edit | OpKind::MoveFrom | OpKind::MoveTo => Risk::Medium,
        _ => Risk::Low,
    };
    let risk = rule.map_or(own, |rule| rule.risk);
    (risk > policy.terms.above).then(|| format!("a person is asked before it happens: its risk is {}", risk.name()))
}

/// The evaluation in the order in which the policy does it; it ends with what decided.
fn steps(op: OpKind, path: &LogicalPath, decision: &Decision<'_>, risk: Option<&RiskRule>) -> Vec<Step> {
    let step = |passed: bool, about: &str, found: String, origin: Option<String>| Step {
        passed,
        about: about.to_owned(),
        found,
        origin,
    };
    let mut steps = Vec::new();
    let Some(workspace) = decision.workspace() else {
        steps.push(step(decision.allowed(), "Workspace", format!("none covers {path}: {}", decision.reason()), None));
        return steps;
    };
    let origin = Some(workspace.origin().to_string());
    let found = format!("{} is the longest prefix of {path}", workspace.prefix());
    steps.push(step(true, "Workspace", found, origin.clone()));
    let scope = workspace.scope().name();
    if matches!(decision.rule(), Rule::Scope) {
        steps.push(step(false, "Access Scope", format!("{scope} does not let {op} through"), origin));
        return steps;
    }
    steps.push(step(true, "Access Scope", format!("{scope} lets {op} through"), origin));
    let (about, passes) = match decision.rule() {
        Rule::Unserved => ("Store", None),
        Rule::Shadowed => ("Nested Workspaces", None),
        Rule::Hidden(_) => ("Hidden names", None),
        Rule::HoldsWorkspace => ("Workspaces inside", None),
        Rule::Own => ("Paddock's own files", None),
        Rule::Guarded(_) => ("Guarded names", None),
        _ if op.changes() => ("Names", Some("it is not hidden, not guarded, and none of Paddock's own")),
        _ => ("Names", Some("it is not hidden")),
    };
    let origin = match decision.rule() {
        Rule::Hidden(pattern) => Some(pattern.origin.to_string()),
        _ => None,
    };
    let found = passes.map_or_else(|| decision.reason(), str::to_owned);
    steps.push(step(passes.is_some(), about, found, origin));
    if let Some(risk) = risk {
        steps.push(step(true, "Risk", risk.told(), Some(risk.origin.to_string())));
    }
    steps
}

/// The line that would allow it; nothing where none can, or none is needed.
fn would_allow(
    policy: &AgentPolicy,
    project: &Project,
    op: OpKind,
    path: &LogicalPath,
    decision: &Decision<'_>,
) -> Option<WouldAllow> {
    let file = &project.config_file().ok()?;
    match decision.rule() {
        Rule::NoWorkspace => Some(new_workspace(policy, project, op, path)),
        Rule::Scope => {
            let scope = wider(decision.workspace()?, op);
            let line = changed(policy, file, decision.workspace()?, "scope", &Value::from(scope))?;
            // A wider scope alone would leave it denied where a name is in the way, too.
            let widened = Person::vfs_of(policy);
            let then = widened.judge(op, path);
            if then.allowed() { Some(line) } else { Some(line.with(&would_allow(policy, project, op, path, &then)?)) }
        }
        Rule::Hidden(pattern) => {
            let workspace = decision.workspace()?;
            let kept: Vec<String> = list(policy, file, workspace, "hide");
            let kept: Vec<String> = kept.into_iter().filter(|one| *one != *pattern.text).collect();
            changed(policy, file, workspace, "hide", &Value::from(kept))
        }
        Rule::Guarded(name) => {
            let workspace = decision.workspace()?;
            let mut lifted: Vec<String> = list(policy, file, workspace, "unguard");
            lifted.push(name.name.to_owned());
            changed(policy, file, workspace, "unguard", &Value::from(lifted))
        }
        Rule::ScopeAllows | Rule::Ancestor | Rule::Unserved | Rule::Shadowed | Rule::Own | Rule::HoldsWorkspace => None,
    }
}

/// The least scope that also allows it, with what it allowed before.
fn wider(workspace: &Workspace, op: OpKind) -> &'static str {
    use paddock_core::AccessScope::{ReadOnly, ReadWrite, WriteOnly};
    match workspace.scope() {
        ReadOnly if ReadOnly.allows(op) => ReadOnly.name(),
        WriteOnly if WriteOnly.allows(op) => WriteOnly.name(),
        _ => ReadWrite.name(),
    }
}

fn new_workspace(policy: &AgentPolicy, project: &Project, op: OpKind, path: &LogicalPath) -> WouldAllow {
    let scope = if op.changes() { "READ_WRITE" } else { "READ_ONLY" };
    let top = path.as_str().split('/').nth(1).filter(|name| !name.is_empty()).unwrap_or("files");
    let table = if policy.agent == AgentName::main() {
        "[[workspace]]".to_owned()
    } else {
        format!("[[agents.{}.workspace]]", policy.agent)
    };
    // Beside the project: what lies in it is in a Workspace already, and one place must not be reached in two ways. Or, where a path
    // of the host was asked about, the directory that it is in and no more.
    let is_there = |directory: &str| project.host().is_ok_and(|host| host::is_dir(&host.path_of(directory)));
    let near = [Some(path.clone()), path.parent()].into_iter().flatten().map(|path| path.to_string());
    let near = near.filter(|directory| directory != "/").find(|directory| is_there(directory));
    let (beside, hosts) = (format!("../{top}"), near.unwrap_or_else(|| format!("/{top}")));
    let found = [&beside, &hosts].into_iter().find(|directory| is_there(directory));
    let directory = as_toml(&Value::from(found.unwrap_or(&beside).as_str()));
    let hide = as_toml(&Value::from(paddock_config::HIDE.to_vec()));
    let text = |prefix: &str| {
        let prefix = as_toml(&Value::from(prefix));
        format!(
            "{table}\nprefix = {prefix}\nscope = \"{scope}\"\nmount = {{ physical = {directory} }}\nhide = {hide}\n"
        )
    };
    let works = |text: &str| {
        project.text().and_then(|file| project.unbuilt(&format!("{file}\n{text}"))).is_ok_and(|why| why.is_none())
    };
    let (same, elsewhere) = (text(&hosts), text(&format!("/host{hosts}")));
    let (text, place) = match found {
        // Commands have their own system under some names.
        Some(_) if !works(&same) && works(&elsewhere) => {
            (elsewhere, format!("at the end of paddock.toml, for the agent to find it below /host{hosts}"))
        }
        Some(_) => (same, "at the end of paddock.toml, with the directory that should be seen there".to_owned()),
        None => {
            (same, format!("at the end of paddock.toml; {directory} is not there: name the directory that is meant"))
        }
    };
    WouldAllow { text, place, key: None, value: None }
}

/// A key of the Workspace with another value.
fn changed(
    policy: &AgentPolicy,
    file: &ConfigFile,
    workspace: &Workspace,
    key: &str,
    value: &Value,
) -> Option<WouldAllow> {
    let table = table_of(policy, file, workspace)?;
    let value = as_toml(value);
    Some(WouldAllow {
        text: format!("{key} = {value}"),
        place: format!("in the Workspace {} of {}", workspace.prefix(), workspace.origin()),
        key: Some(format!("{table}.{key}")),
        value: Some(value),
    })
}

/// The path of the table that a Workspace was written as; forks and the like have none.
fn table_of(policy: &AgentPolicy, file: &ConfigFile, workspace: &Workspace) -> Option<String> {
    let tables = file.workspaces_of(&policy.agent);
    let index = tables.iter().position(|table| table.prefix.value.0 == *workspace.prefix())?;
    Some(if policy.agent == AgentName::main() {
        format!("workspace[{index}]")
    } else {
        format!("agents.{}.workspace[{index}]", policy.agent)
    })
}

/// The texts of a list of the Workspace, as they are written.
fn list(policy: &AgentPolicy, file: &ConfigFile, workspace: &Workspace, key: &str) -> Vec<String> {
    let found = || {
        let table = table_of(policy, file, workspace)?;
        let text = file.source().text();
        let found = paddock_config::get("paddock.toml", text, &format!("{table}.{key}")).ok()??;
        serde_json::from_value::<Vec<String>>(found).ok()
    };
    found().unwrap_or_default()
}

/// A text or a list of texts as TOML, which writes both as JSON does.
fn as_toml(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(as_toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_names_an_operation() {
        for tool in paddock_tools::catalogue::names().filter(|tool| !["execute_command", "web_search"].contains(tool)) {
            assert!(operation(tool).is_ok(), "{tool}");
        }
        assert_eq!(operation("make_dir").unwrap(), OpKind::MakeDir);
        assert_eq!(operation("make").unwrap(), OpKind::MakeDir);
        assert_eq!(operation("list_dir").unwrap(), OpKind::List);
        assert!(operation("format").is_err());
    }
}
