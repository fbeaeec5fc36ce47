//! Which scenarios of the conformance suite do not apply, and why: one row per reason.
//!
//! The suite asks for fixtures by name, and for parts of the protocol that Paddock does not offer. Everything else must pass. A
//! scenario that is listed and passes is as much a failure as one that fails and is not listed: the table has to stay true.

/// Whom the suite asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// `paddock serve`, with the tools of an agent.
    Serve,
    /// What the suite expects to find, on the same transport.
    Fixtures,
}

/// One reason.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) asked: Asked,
    pub(crate) why: &'static str,
    /// The scenarios, and of each the checks that do not pass; none named means whichever do not.
    pub(crate) scenarios: &'static [(&'static str, &'static [&'static str])],
}

/// Whichever checks of the scenario do not pass.
const ANY: &[&str] = &[];

/// The whole table.
pub(crate) const TABLE: &[Row] = &[
    Row {
        asked: Asked::Serve,
        why: "calls a fixture tool by its name; passes with the fixtures",
        scenarios: &[
            ("tools-call-simple-text", ANY),
            ("tools-call-image", ANY),
            ("tools-call-audio", ANY),
            ("tools-call-embedded-resource", ANY),
            ("tools-call-mixed-content", ANY),
            ("tools-call-error", ANY),
            ("tools-call-with-progress", ANY),
            ("tools-call-with-logging", ANY),
            ("tools-call-sampling", ANY),
            ("tools-call-elicitation", ANY),
            ("elicitation-sep1034-defaults", ANY),
            ("elicitation-sep1330-enums", ANY),
            ("json-schema-2020-12", ANY),
            ("http-custom-header-server-validation", ANY),
            ("input-required-result-basic-elicitation", ANY),
            ("input-required-result-basic-sampling", ANY),
            ("input-required-result-basic-list-roots", ANY),
            ("input-required-result-request-state", ANY),
            ("input-required-result-multiple-input-requests", ANY),
            ("input-required-result-multi-round", ANY),
            ("input-required-result-missing-input-response", ANY),
            ("input-required-result-result-type", ANY),
            ("input-required-result-tampered-state", ANY),
            ("input-required-result-capability-check", ANY),
            ("input-required-result-ignore-extra-params", ANY),
        ],
    },
    Row {
        asked: Asked::Serve,
        why: "these checks of the scenario call a diagnostic tool by its name; they pass with the fixtures",
        scenarios: &[(
            "server-stateless",
            &[
                "sep-2575-server-rejects-undeclared-capability",
                "sep-2575-missing-capability-http-400",
                "sep-2575-http-server-no-independent-requests-on-stream",
                "sep-2575-server-no-log-without-loglevel",
                "sep-2575-server-sends-tools-list-changed-on-subscription",
            ],
        )],
    },
    Row {
        asked: Asked::Serve,
        why: "Paddock offers no prompts",
        scenarios: &[
            ("prompts-list", ANY),
            ("prompts-get-simple", ANY),
            ("prompts-get-with-args", ANY),
            ("prompts-get-embedded-resource", ANY),
            ("prompts-get-with-image", ANY),
            ("input-required-result-non-tool-request", ANY),
        ],
    },
    Row {
        asked: Asked::Serve,
        why: "Paddock offers no resources: files are reached by tools, under the policy",
        scenarios: &[
            ("resources-list", ANY),
            ("resources-read-text", ANY),
            ("resources-read-binary", ANY),
            ("resources-templates-read", ANY),
            ("resources-subscribe", ANY),
            ("resources-unsubscribe", ANY),
            ("sep-2164-resource-not-found", &["sep-2164-error-code", "sep-2164-data-uri"]),
        ],
    },
    Row {
        asked: Asked::Serve,
        why: "of the lists, Paddock offers that of tools",
        scenarios: &[(
            "caching",
            &[
                "sep-2549-prompts-list-caching-hints",
                "sep-2549-resources-list-caching-hints",
                "sep-2549-resources-templates-list-caching-hints",
            ],
        )],
    },
    Row {
        asked: Asked::Serve,
        why: "Paddock offers neither completions nor logging to the client",
        scenarios: &[("completion-complete", ANY), ("logging-set-level", ANY)],
    },
    Row { asked: Asked::Serve, why: TASKS, scenarios: TASK_SCENARIOS },
    Row { asked: Asked::Fixtures, why: TASKS, scenarios: TASK_SCENARIOS },
    Row { asked: Asked::Serve, why: POLLING, scenarios: POLLING_SCENARIOS },
    Row { asked: Asked::Fixtures, why: POLLING, scenarios: POLLING_SCENARIOS },
];

const TASKS: &str = "tasks are an extension that Paddock does not offer";
const TASK_SCENARIOS: &[(&str, &[&str])] = &[
    ("tasks-lifecycle", ANY),
    ("tasks-capability-negotiation", ANY),
    ("tasks-wire-fields", ANY),
    ("tasks-request-state-removal", ANY),
    ("tasks-mrtr-input", ANY),
    ("tasks-request-headers", ANY),
    ("tasks-dispatch-and-envelope", ANY),
    ("tasks-required-task-error", ANY),
    ("tasks-mrtr-composition", ANY),
];

const POLLING: &str = "wants a tool that closes its own stream in the middle of a call; no call of Paddock's does";
const POLLING_SCENARIOS: &[(&str, &[&str])] = &[("server-sse-polling", &["server-sse-disconnect-resume"])];

/// The row and the checks of a scenario that does not apply.
pub(crate) fn reason(asked: Asked, scenario: &str) -> Option<(&'static Row, &'static [&'static str])> {
    TABLE.iter().filter(|row| row.asked == asked).find_map(|row| {
        let found = row.scenarios.iter().find(|(name, _)| *name == scenario)?;
        Some((row, found.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scenario_has_two_reasons() {
        for asked in [Asked::Serve, Asked::Fixtures] {
            let rows = TABLE.iter().filter(|row| row.asked == asked);
            let mut names: Vec<&str> = rows.flat_map(|row| row.scenarios).map(|(name, _)| *name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }

    /// The page for people has the same table.
    #[test]
    fn the_page_names_every_scenario_and_reason() {
        let page = crate::repo::Repo::here().read("docs/mcp.md").unwrap();
        for row in TABLE {
            assert!(page.contains(row.why), "docs/mcp.md does not say: {}", row.why);
            for (name, checks) in row.scenarios {
                assert!(page.contains(&format!("`{name}`")), "docs/mcp.md does not name {name}");
                for check in *checks {
                    assert!(page.contains(&format!("`{check}`")), "docs/mcp.md does not name {check}");
                }
            }
        }
    }
}
