//! `paddock check`: is the configuration right, and what in it has no effect yet?

mod exposed;

use paddock_config::{ConfigError, ConfigFile, Warning};
use paddock_core::AgentPolicy;
use serde_json::{Value, json};

use crate::cli::{Check, Global};
use crate::failure::Ended;
use crate::printer::{Look, Printer};
use crate::secrets;
use paddock_desk::{Project, project};

pub(crate) fn run(global: &Global, options: &Check, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let name = project.config_name();
    let checked =
        ConfigFile::parse(&name, &project.text()?).and_then(|file| Ok((agents(&file, &project, global)?, file)));
    match checked {
        Err(error) if options.json => {
            printer.json(&json!({ "file": name, "valid": false, "problems": problems(&error) }))?;
            Ok(Ended::Misused)
        }
        Err(error) => Err(project::config_problem(error).into()),
        Ok((agents, file)) if options.json => {
            let warnings: Vec<Value> = warnings(&file, &agents).iter().map(warning_json).collect();
            let exposed = exposed::look(&project, &agents).map(|exposed| exposed.json());
            let missing = file.missing_secrets(&secrets::of_this_process()).map(|error| problems(&error));
            let agents: Vec<Value> = agents.iter().map(agent_json).collect();
            let not_built = file.not_built();
            printer.json(&json!({
                "file": name, "valid": true, "agents": agents, "warnings": warnings, "not_built": not_built,
                "missing_secrets": missing.unwrap_or_default(), "secrets_in_files": exposed,
            }))?;
            Ok(Ended::Done)
        }
        Ok((agents, file)) => {
            report(&name, &agents, &file, printer)?;
            exposed::report_missing(file.missing_secrets(&secrets::of_this_process()).as_ref(), printer)?;
            if let Some(exposed) = exposed::look(&project, &agents) {
                exposed.report(printer)?;
            }
            Ok(Ended::Done)
        }
    }
}

/// Every agent, or the one that was asked for, built as it would be for a call.
fn agents(file: &ConfigFile, project: &Project, global: &Global) -> Result<Vec<AgentPolicy>, ConfigError> {
    let Ok(host) = project.host() else { return Ok(Vec::new()) };
    let ports = project::looking();
    let build = |agent| paddock_config::build(file, agent, &host, &ports);
    if let Some(agent) = &global.agent {
        return Ok(vec![build(agent)?]);
    }
    paddock_config::check(file, &host)?;
    file.agents().iter().map(build).collect()
}

/// What looks like a slip in what these agents are given.
fn warnings(file: &ConfigFile, agents: &[AgentPolicy]) -> Vec<Warning> {
    let mut warnings = paddock_config::warnings(file);
    warnings.retain(|warning| agents.iter().any(|policy| policy.agent == warning.agent));
    warnings
}

fn report(name: &str, agents: &[AgentPolicy], file: &ConfigFile, printer: &Printer) -> anyhow::Result<()> {
    printer.line(format_args!("{} {name}: no problems", printer.look(Look::Good, "✓")))?;
    for policy in agents {
        printer.line(format_args!("\nagent {}, relative paths start at {}", policy.agent, policy.base))?;
        for workspace in policy.vfs.workspaces().iter().filter(|workspace| !workspace.is_aside()) {
            let origin = printer.look(Look::Faint, format_args!("({})", workspace.origin()));
            printer.line(format_args!("  {:<10}  {}  {origin}", workspace.scope().name(), workspace.prefix()))?;
        }
    }
    let rules = agents.first().map(|policy| &policy.rules.0[..]).unwrap_or_default();
    if !rules.is_empty() {
        printer.line("\nrules about risks, the first that matches decides:")?;
    }
    for rule in rules {
        printer.line(format_args!("  {}", paddock_core::visible(&rule.told())))?;
    }
    if agents.is_empty() {
        printer.line("\nno agent has a Workspace, so nothing can be reached")?;
    }
    let warnings = warnings(file, agents);
    if !warnings.is_empty() {
        printer.line("\nperhaps not meant so:")?;
    }
    for warning in warnings {
        let place = printer.look(Look::Faint, format_args!("({name}:{})", warning.at.line));
        printer.line(format_args!("  {} {warning} {place}", printer.look(Look::Warning, "⚠")))?;
        printer.line(format_args!("      → {}", warning.hint()))?;
    }
    if !file.not_built().is_empty() {
        printer.line("\naccepted, but without effect in this version:")?;
    }
    for key in file.not_built() {
        let place = printer.look(Look::Faint, format_args!("({name}:{})", key.at.line));
        printer.line(format_args!("  {} {key} {place}", printer.look(Look::Warning, "⚠")))?;
    }
    Ok(())
}

fn agent_json(policy: &AgentPolicy) -> Value {
    let workspaces: Vec<Value> = policy
        .vfs
        .workspaces()
        .iter()
        .filter(|w| !w.is_aside())
        .map(|w| json!({ "prefix": w.prefix().as_str(), "scope": w.scope().name(), "line": w.origin().line() }))
        .collect();
    json!({ "name": policy.agent.as_str(), "base": policy.base.as_str(), "workspaces": workspaces })
}

fn warning_json(warning: &Warning) -> Value {
    json!({
        "agent": warning.agent.as_str(),
        "message": warning.to_string(),
        "hint": warning.hint(),
        "line": warning.at.line,
    })
}

fn problems(error: &ConfigError) -> Vec<Value> {
    let problem = |problem| {
        let position = error.position(problem);
        let fault = paddock_config::Problem::fault(problem);
        json!({
            "message": fault.to_string(),
            "hint": fault.hint(),
            "line": position.map(|at| at.line),
            "column": position.map(|at| at.column),
        })
    };
    error.problems().iter().map(problem).collect()
}
