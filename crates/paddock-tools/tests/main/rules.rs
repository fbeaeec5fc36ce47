//! Rules of a person about paths: whatever way a call takes to what they speak of, the worst of all its paths counts.

use std::sync::Arc;

use paddock_core::{AgentName, AgentPolicy, NoJournal, Origin, PathGlob, Risk, RiskRule, RiskRules, Terms, Vfs};
use paddock_tools::{RecordingGate, Toolbox};
use serde_json::{Value, json};

use crate::setup::{RW, call, holding, path, workspace};

const FILES: &[(&str, &[u8])] = &[
    ("migrations/1.sql", b"create"),
    ("new/2.sql", b"drop"),
    ("new/deep/3.sql", b"drop"),
    ("src/a.rs", b"fn"),
    ("tmp/d/x", b"x"),
    ("tmp/y", b"y"),
];

/// The risk of a call under these rules.
fn risk(rules: &[(&str, Risk)], tool: &str, arguments: Value) -> Risk {
    let rule = |(glob, risk): &(&str, Risk)| {
        let path = Some(PathGlob::parse(glob).unwrap());
        RiskRule { tool: None, path, risk: *risk, why: None, origin: Origin::unknown() }
    };
    let rules = RiskRules(rules.iter().map(rule).collect());
    let gate = Arc::new(RecordingGate::new());
    let workspaces =
        vec![workspace("/w", RW, holding(FILES)), workspace("/v", RW, holding(&[("migrations/4.sql", b"")]))];
    let vfs = Vfs::new(workspaces, Arc::clone(&gate) as _, Arc::new(NoJournal)).unwrap();
    let policy = AgentPolicy::new(AgentName::main(), path("/"), vfs).asking(Terms::default(), rules);
    let answer = call(&Toolbox::fixed(policy), tool, arguments);
    assert!(!answer.is_error(), "{}", answer.text());
    let found: Vec<Risk> =
        [Risk::Low, Risk::Medium, Risk::High].into_iter().filter(|risk| gate.passed(*risk) > 0).collect();
    assert_eq!(found.len(), 1, "one call, one plan: {found:?}");
    found[0]
}

fn moved(rules: &[(&str, Risk)], from: &str, to: &str) -> Risk {
    risk(rules, "move_file", json!({"source": from, "destination": to}))
}

const GUARDING: &[(&str, Risk)] = &[("/w/migrations/**", Risk::High)];

#[test]
fn what_goes_along_with_a_directory_is_weighed_where_it_was_and_where_it_comes_to_be() {
    assert_eq!(moved(GUARDING, "/w/migrations", "/w/m"), Risk::High, "away");
    assert_eq!(moved(&[("/w/m/**", Risk::High)], "/w/migrations", "/w/m"), Risk::High, "and back");
    assert_eq!(moved(&[("/w/old/deep/*", Risk::High)], "/w/new", "/w/old"), Risk::High, "however deep");
    // The same to and from another Workspace.
    assert_eq!(moved(GUARDING, "/w/migrations", "/v/m"), Risk::High);
    assert_eq!(moved(&[("/w/old/deep/*", Risk::High)], "/v/migrations", "/w/old"), Risk::Medium);
    assert_eq!(moved(&[("/v/old/deep/*", Risk::High)], "/w/new", "/v/old"), Risk::High);
    // Its twin: what has nothing to do with the rule is moved as ever.
    assert_eq!(moved(GUARDING, "/w/src", "/w/lib"), Risk::Medium);
    assert_eq!(moved(GUARDING, "/w/src", "/v/lib"), Risk::Medium);
}

#[test]
fn a_rule_that_lowers_the_risk_of_some_paths_does_not_lower_that_of_the_others() {
    let lowering = &[("/w/tmp/**", Risk::Low)];
    assert_eq!(moved(lowering, "/w/src", "/w/tmp/src"), Risk::Medium, "what it brings is from elsewhere");
    assert_eq!(moved(lowering, "/w/src/a.rs", "/w/tmp/a.rs"), Risk::Medium);
    assert_eq!(moved(lowering, "/w/tmp/d", "/w/d"), Risk::Medium);
    assert_eq!(moved(&[("/w/new/deep/**", Risk::Low), ("/w/n/deep/**", Risk::Low)], "/w/new", "/w/n"), Risk::Medium);
    assert_eq!(moved(lowering, "/w/tmp/d", "/w/tmp/e"), Risk::Low, "all of its paths are meant");
}

#[test]
fn a_recursive_delete_is_weighed_by_everything_in_it() {
    let delete = |rules: &[(&str, Risk)], at: &str| risk(rules, "delete_file", json!({"path": at, "recursive": true}));
    let all = ("/w/**", Risk::Low);
    assert_eq!(delete(&[("/w/new/deep/3.sql", Risk::High), all], "/w/new"), Risk::High);
    assert_eq!(delete(&[("/w/tmp/**", Risk::Low)], "/w/new"), Risk::High);
    assert_eq!(delete(&[all], "/w/new"), Risk::Low);
}
