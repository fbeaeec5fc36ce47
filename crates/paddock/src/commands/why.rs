//! `paddock why`: what the policy says about an operation on a path, and which line says so.

use paddock_core::{AgentPolicy, Decision, LogicalPath, OpKind, RiskRule};
use serde_json::json;

use crate::cli::{Global, Why};
use crate::failure::{Ended, Failure};
use crate::printer::{Look, Printer};
use paddock_desk::Project;

pub(crate) fn run(global: &Global, options: &Why, printer: &Printer) -> anyhow::Result<Ended> {
    let op = operation(&options.operation)?;
    let policy = Project::find(&global.places())?.policy_of(global.agent())?.current();
    let path = policy.path(&options.path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let decision = policy.vfs.judge(op, &path);
    let rule = rule(&policy, op, &path).filter(|_| decision.allowed());
    if options.json {
        let mut told = as_json(op, &path, &decision);
        if let Some(rule) = rule {
            told["risk_rule"] = rule.told().into();
        }
        printer.json(&told)?;
    } else {
        printer.text(&coloured(&decision, printer))?;
        if let Some(rule) = rule {
            printer.line(format_args!("  risk: {}", paddock_core::visible(&rule.told())))?;
        }
    }
    Ok(if decision.allowed() { Ended::Done } else { Ended::Denied })
}

/// What a person says about the risk of it.
fn rule<'p>(policy: &'p AgentPolicy, op: OpKind, path: &LogicalPath) -> Option<&'p RiskRule> {
    let tool = paddock_tools::catalogue::names().find(|tool| operation(tool).is_ok_and(|of_tool| of_tool == op))?;
    policy.rules.0.iter().find(|rule| rule.matches(tool, path))
}

/// An operation by its own name or by that of the tool that does it.
fn operation(text: &str) -> anyhow::Result<OpKind> {
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
        let known: Vec<&str> = OpKind::ALL.iter().map(|op| op.verb()).collect();
        Failure::misused(format!("there is no operation \"{text}\""), format!("use one of {}", known.join(", ")))
    })
}

fn coloured(decision: &Decision<'_>, printer: &Printer) -> String {
    let text = decision.explain();
    let (look, word) = if decision.allowed() { (Look::Good, "allowed") } else { (Look::Bad, "denied") };
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let head = first.strip_suffix(word).map(|head| format!("{head}{}", printer.look(look, word)));
    format!("{}\n{rest}", head.unwrap_or_else(|| first.to_owned()))
}

fn as_json(op: OpKind, path: &LogicalPath, decision: &Decision<'_>) -> serde_json::Value {
    let workspace = decision
        .workspace()
        .map(|w| json!({ "prefix": w.prefix().as_str(), "scope": w.scope().name(), "origin": w.origin().to_string() }));
    let alternatives: Vec<&str> = decision.alternatives().iter().map(LogicalPath::as_str).collect();
    json!({
        "operation": op.verb(),
        "path": path.as_str(),
        "allowed": decision.allowed(),
        "workspace": workspace,
        "rule": decision.reason(),
        "allowed_in": alternatives,
    })
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
