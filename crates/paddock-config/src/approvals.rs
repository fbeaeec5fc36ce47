//! When a person is asked: `[approvals]`, its rules and the examples that each rule must fit.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::{Large, LogicalPath, Notify, Origin, PathGlob, Risk, RiskRule, RiskRules, Terms};

use crate::config_file::ConfigFile;
use crate::fault::Fault;
use crate::problem::Problem;
use crate::schema::{self, RiskLevel};

/// For how long a decision can be made and used where nothing is said.
const EXPIRES: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn risk(level: RiskLevel) -> Risk {
    match level {
        RiskLevel::Low => Risk::Low,
        RiskLevel::Medium => Risk::Medium,
        RiskLevel::High => Risk::High,
    }
}

/// The terms that a file sets for every agent of it.
pub(crate) fn terms(file: &ConfigFile) -> Terms {
    let approvals = file.config().approvals.as_ref();
    Terms {
        above: approvals.and_then(|approvals| approvals.above).map_or(Risk::Medium, risk),
        expires: approvals.and_then(|approvals| approvals.expires.as_ref()).map_or(EXPIRES, |time| time.0),
        policy: digest(file.source().text()),
        entrusted: approvals.and_then(|approvals| approvals.trust_elicitation.clone()).unwrap_or_default(),
        notify: approvals.and_then(|approvals| approvals.notify.as_ref()).map(|notify| match notify {
            schema::Notify::Command(words) => Notify::Command(words.clone()),
            schema::Notify::Url(url) => Notify::Webhook(url.clone()),
        }),
        large: approvals.and_then(|approvals| approvals.large.as_ref()).map_or(Large::USUAL, large),
    }
}

fn large(written: &schema::Large) -> Large {
    Large {
        lines: written.lines.unwrap_or(Large::USUAL.lines),
        bytes: written.bytes.map_or(Large::USUAL.bytes, |size| size.0),
        paths: written.paths.unwrap_or(Large::USUAL.paths),
    }
}

/// Stands for a file: a decision made under another one no longer fits.
fn digest(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The rules, each checked against its examples.
pub(crate) fn rules(file: &ConfigFile) -> Result<RiskRules, Vec<Problem>> {
    let written = file.config().approvals.as_ref().and_then(|approvals| approvals.rule.as_ref());
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for rule in written.into_iter().flatten() {
        match one(file, rule) {
            Ok(rule) => rules.push(rule),
            Err(fault) => problems.push(Problem::new(fault, rule.risk.span.clone())),
        }
    }
    if problems.is_empty() { Ok(RiskRules(rules)) } else { Err(problems) }
}

fn one(file: &ConfigFile, written: &schema::RiskRule) -> Result<RiskRule, Fault> {
    let path = written.path.as_ref().map(|path| {
        PathGlob::parse(path).map_err(|why| Fault::BadRulePattern { path: path.clone(), why: why.to_string() })
    });
    let rule = RiskRule {
        tool: written.tool.clone(),
        path: path.transpose()?,
        risk: risk(written.risk.value),
        why: written.why.clone(),
        origin: Origin::new(Arc::clone(file.source().name()), file.source().position(written.risk.span.start).line),
    };
    if rule.tool.is_none() && rule.path.is_none() {
        return Err(Fault::RuleForEverything);
    }
    if let Some(examples) = &written.examples {
        let tool = written.tool.as_deref().unwrap_or_default();
        let wrong = |path: &LogicalPath, wanted: bool| rule.matches(tool, path) != wanted;
        let matching = examples.matching.iter().flatten().find(|path| wrong(&path.0, true));
        let not = examples.no_match.iter().flatten().find(|path| wrong(&path.0, false));
        if let Some((path, matches)) = matching.map(|path| (path, false)).or(not.map(|path| (path, true))) {
            return Err(Fault::RuleExample { path: path.0.to_string(), matches });
        }
    }
    Ok(rule)
}
