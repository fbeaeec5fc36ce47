//! Rules of a person that raise or lower the risk of what they match.
//!
//! A rule speaks of a tool, of paths, or of both. The first that matches a path decides about that path; a call is as risky as the worst of
//! its paths, with all that a directory takes along, at both ends. What cannot be undone stays high, whatever a rule says: that is decided where the plan is known.

use crate::glob::PathGlob;
use crate::path::LogicalPath;
use crate::plan::Plan;
use crate::ports::Risk;
use crate::workspace::Origin;

/// One rule.
#[derive(Debug, Clone)]
pub struct RiskRule {
    /// Only this tool.
    pub tool: Option<String>,
    /// Only these paths.
    pub path: Option<PathGlob>,
    /// The risk of what matches.
    pub risk: Risk,
    /// What a person who is asked should know.
    pub why: Option<String>,
    /// Where it is written.
    pub origin: Origin,
}

impl RiskRule {
    /// Does it speak of this?
    pub fn matches(&self, tool: &str, path: &LogicalPath) -> bool {
        let is_tool = self.tool.as_deref().is_none_or(|wanted| wanted == tool);
        is_tool && self.path.as_ref().is_none_or(|glob| glob.matches(path.as_str()))
    }

    /// Itself in words, with where it is written.
    pub fn told(&self) -> String {
        let why = self.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{} says the risk is {}{why}", self.origin, self.risk.name())
    }
}

/// The rules of an agent, in the order in which they are written.
#[derive(Debug, Clone, Default)]
pub struct RiskRules(pub Vec<RiskRule>);

impl RiskRules {
    /// The risk of a plan whose own risk is `own`, and the rule that decided.
    pub fn weigh(&self, tool: &str, plan: &Plan, own: Risk) -> (Risk, Option<&RiskRule>) {
        if self.0.is_empty() {
            return (own, None);
        }
        let rule_for = |path: &LogicalPath| self.0.iter().find(|rule| rule.matches(tool, path));
        let itself = plan.effects().is_empty().then(|| plan.path());
        let touched = itself.into_iter().chain(plan.effects().iter().map(|effect| &effect.path)).map(rule_for);
        let along = plan.along().map(|path| rule_for(&path));
        let weighed = touched.chain(along).map(|rule| (rule.map_or(own, |rule| rule.risk), rule));
        weighed.max_by_key(|(risk, _)| *risk).unwrap_or((own, None))
    }
}
