//! The tables of the documents against the code that they describe.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use paddock_config::{ConfigFile, HIDE, json_schema};
use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Commands, GUARDED, LogicalPath, Mount, NameRules, NoJournal, OWN_NAMES,
    OpKind, RelPathBuf, Risk, Vfs, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_tools::{Control, RecordingGate, ToolSpec, Toolbox, catalogue};
use serde_json::{Value, json};

use super::pages::Page;

fn unquoted(cell: &str) -> &str {
    cell.trim_matches('`')
}

#[test]
fn the_guarded_names_are_those_of_the_code() {
    let page = Page::named("docs/policy.md");
    let rows = page.rows_under("The guarded names");
    let said: Vec<(&str, &str)> = rows.iter().map(|row| (unquoted(&row[0]), row[2].as_str())).collect();
    let known: Vec<(&str, &str)> = GUARDED.iter().map(|row| (row.name, row.why)).collect();
    assert_eq!(said, known);
    let rules = NameRules::default();
    for row in &rows {
        for pattern in row[1].split('`').skip(1).step_by(2) {
            let either = ["*.git", ".git", ".bare"].map(|name| pattern.replace("{*.git,.bare}", name));
            for pattern in either {
                let sample = pattern.replace("**", "deep/down").replace('*', "any");
                let path = RelPathBuf::parse(&sample).unwrap();
                let guard = rules.guarded(path.as_rel(), false).map(|guard| guard.name);
                assert_eq!(guard, Some(unquoted(&row[0])), "{pattern}");
            }
        }
    }
    every_pattern_is_shown(page.section("The guarded names"));
}

/// The patterns are private to the core, so its source has to say which there are.
fn every_pattern_is_shown(section: &str) {
    let source = include_str!("../../../../paddock-core/src/guarded.rs");
    let table = source.split("pub const GUARDED").nth(1).unwrap();
    let code = table.lines().filter(|line| !line.trim_start().starts_with("//"));
    let texts: Vec<&str> = code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
    assert!(texts.len() > 80, "{texts:?}");
    for text in texts {
        assert!(section.contains(text.trim_start_matches("**/")), "docs/policy.md does not show \"{text}\"");
    }
}

#[test]
fn hidden_and_own_names_are_those_of_the_code() {
    let page = Page::named("docs/policy.md");
    for name in HIDE {
        assert!(page.section("Hidden names").contains(&format!("`{name}`")), "{name}");
    }
    for name in OWN_NAMES {
        assert!(page.section("Paddock's own files").contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_scope_table_is_that_of_the_code() {
    for row in Page::named("docs/policy.md").rows_under("Access Scopes") {
        for verb in row[0].split('`').skip(1).step_by(2) {
            let op = OpKind::ALL.into_iter().find(|op| op.verb() == verb).unwrap_or_else(|| panic!("{verb}"));
            let allowed: Vec<bool> = AccessScope::ALL.iter().map(|scope| scope.allows(op)).collect();
            let said: Vec<bool> = row[1..].iter().map(|cell| cell == "yes").collect();
            assert_eq!(said, allowed, "{verb}");
        }
    }
    let verbs = Page::named("docs/policy.md").section("Access Scopes").to_owned();
    assert!(OpKind::ALL.iter().all(|op| verbs.contains(&format!("`{}`", op.verb()))), "{verbs}");
}

/// An agent with one Workspace of this scope that holds a file, and the Gate that its calls pass.
fn agent(scope: AccessScope) -> (Toolbox, Arc<RecordingGate>) {
    let store = Arc::new(MemoryStore::new());
    let gate = Arc::new(RecordingGate::new());
    let toolbox = |scope, gate: &Arc<RecordingGate>| {
        let prefix = LogicalPath::parse("/w", &LogicalPath::top()).unwrap();
        let workspace = Workspace::new(prefix.clone(), scope, Mount::new(Arc::clone(&store) as _, None));
        let vfs = Vfs::new(vec![workspace], Arc::clone(gate) as _, Arc::new(NoJournal)).unwrap();
        let runner = Arc::new(paddock_exec::Runner::new(
            std::env::temp_dir().join("paddock-docs-staged"),
            Arc::new(paddock_core::NoAudit),
        ));
        let commands = Commands { settings: Arc::default(), runner };
        let service = paddock_core::WebSearch { url: "http://127.0.0.1:9".to_owned(), key: None };
        let policy = AgentPolicy::new(AgentName::main(), prefix, vfs).with_commands(Some(commands));
        Toolbox::fixed(policy.with_web_search(Some(service)))
    };
    call(&toolbox(AccessScope::ReadWrite, &Arc::default()), "write_file", &json!({"path": "f", "content": "x"}));
    (toolbox(scope, &gate), gate)
}

fn call(toolbox: &Toolbox, tool: &str, arguments: &Value) {
    let arguments = arguments.as_object().cloned().unwrap();
    let answer = toolbox.call(tool, arguments, &Control::for_at_most(Duration::from_secs(60)));
    assert!(!answer.is_error(), "{tool}: {}", answer.text());
}

fn specs() -> Vec<ToolSpec> {
    let specs = agent(AccessScope::ReadWrite).0.tools();
    assert_eq!(specs.len(), catalogue::names().count());
    specs
}

#[test]
fn the_tools_are_those_of_the_catalogue() {
    let rows = Page::named("docs/tools.md").rows_under("All tools");
    let said: Vec<(&str, &str)> = rows.iter().map(|row| (unquoted(&row[0]), row[1].as_str())).collect();
    let known: Vec<(&str, &str)> = specs().iter().map(|spec| (spec.name, spec.title)).collect();
    assert_eq!(said, known);
    for row in rows {
        let offers = |scope: &AccessScope| agent(*scope).0.tools().iter().any(|spec| spec.name == unquoted(&row[0]));
        let scopes: Vec<&str> = AccessScope::ALL.iter().filter(|scope| offers(scope)).map(|s| s.short()).collect();
        assert_eq!(row[2], scopes.join(" "), "{}", row[0]);
    }
}

#[test]
fn the_risk_of_each_tool_is_the_one_recorded() {
    let rows = Page::named("docs/tools.md").rows_under("All tools");
    let said = |tool: &str| rows.iter().find(|row| unquoted(&row[0]) == tool).unwrap()[3].clone();
    let calls = [
        ("read_file", json!({"path": "f"})),
        ("list_dir", json!({"path": "."})),
        ("find_files", json!({"path": ".", "glob": "*"})),
        ("search_files", json!({"path": ".", "pattern": "x"})),
        ("write_file", json!({"path": "new", "content": ""})),
        ("append_file", json!({"path": "f", "content": ""})),
        ("edit_file", json!({"path": "f", "old_string": "x", "new_string": "y"})),
        ("make_dir", json!({"path": "d"})),
        ("move_file", json!({"source": "f", "destination": "g"})),
        ("delete_file", json!({"path": "f"})),
    ];
    // What a command does is known when it has ended, and a search touches no Workspace: their own tests look at the risk.
    let mut others = catalogue::names().filter(|name| !["execute_command", "web_search"].contains(name));
    assert!(others.all(|name| calls.iter().any(|(tool, _)| *tool == name)));
    for (tool, arguments) in calls {
        let said = said(tool);
        assert!(said.starts_with(recorded(AccessScope::ReadWrite, tool, &arguments)), "{tool}: {said}");
        if ["write_file", "append_file"].contains(&tool) {
            let delivered = recorded(AccessScope::WriteOnly, tool, &arguments);
            assert!(said.contains(&format!("in WO {delivered}")), "{tool}: {said}");
        }
    }
    let replaced = recorded(AccessScope::ReadWrite, "write_file", &json!({"path": "f", "content": ""}));
    assert!(said("write_file").contains(&format!("over a file {replaced}")), "{replaced}");
}

fn recorded(scope: AccessScope, tool: &str, arguments: &Value) -> &'static str {
    let (toolbox, gate) = agent(scope);
    call(&toolbox, tool, arguments);
    let risk = [Risk::Low, Risk::Medium, Risk::High].into_iter().find(|risk| gate.passed(*risk) > 0);
    risk.unwrap_or_else(|| panic!("{tool} passed no Gate")).name()
}

#[test]
fn the_arguments_of_each_tool_are_those_of_its_schema() {
    let page = Page::named("docs/tools.md");
    for spec in specs() {
        let heading = format!("`{}`", spec.name);
        let rows = page.rows_under(&heading);
        let properties = spec.input_schema["properties"].as_object().unwrap();
        let required = spec.input_schema["required"].as_array().unwrap();
        let said: BTreeSet<&str> = rows.iter().map(|row| unquoted(&row[0])).collect();
        assert_eq!(said, properties.keys().map(String::as_str).collect(), "{}", spec.name);
        for row in &rows {
            let name = unquoted(&row[0]);
            let property = &properties[name];
            assert_eq!(row[2], property["description"].as_str().unwrap(), "{}.{name}", spec.name);
            let kind = match property["type"].as_str().unwrap() {
                "string" => "text",
                "integer" => "number",
                "boolean" => "true or false",
                _ => "list",
            };
            let needed = if required.contains(&json!(name)) { ", required" } else { "" };
            assert_eq!(row[1], format!("{kind}{needed}"), "{}.{name}", spec.name);
        }
        let text = spec.description.split(" Works in:").next().unwrap();
        assert!(page.section(&heading).contains(text), "{}: \"{text}\" is not there", spec.name);
    }
}

/// Where each table of the schema stands in the document.
const TABLES: &[(&str, &str)] = &[
    ("WorkspaceTable", "`[[workspace]]`"),
    ("Quota", "`quota`"),
    ("AgentTable", "`[agents.NAME]`"),
    ("Virtual", "`[virtual]`"),
    ("History", "`history`"),
    ("State", "`[state]`"),
    ("Commands", "`[commands]`"),
    ("Approvals", "`[approvals]`"),
    ("Large", "`large`"),
    ("RiskRule", "`[[approvals.rule]]`"),
    ("Examples", "`examples`"),
    ("Model", "`[model]`"),
    ("Prices", "`prices`"),
    ("SecretRef", "`key`"),
    ("Run", "`[run]`"),
    ("Serve", "`[serve]`"),
    ("WebSearch", "`[web_search]`"),
];

#[test]
fn the_configuration_keys_are_those_of_the_schema() {
    let page = Page::named("docs/configuration.md");
    let schema = json_schema();
    let mut tables = vec![("At the top", &schema)];
    for (name, table) in schema["definitions"].as_object().unwrap() {
        if table["properties"].is_object() {
            let heading = TABLES.iter().find(|(known, _)| known == name);
            tables.push((heading.unwrap_or_else(|| panic!("{name} has no place in the document")).1, table));
        }
    }
    assert_eq!(tables.len(), TABLES.len() + 1);
    for (heading, table) in tables {
        let rows = page.rows_under(heading);
        let said: BTreeSet<&str> = rows.iter().map(|row| unquoted(&row[0])).collect();
        let properties = table["properties"].as_object().unwrap();
        assert_eq!(said, properties.keys().map(String::as_str).collect(), "{heading}");
        for row in &rows {
            let name = unquoted(&row[0]);
            let meaning = properties[name]["description"].as_str().unwrap();
            assert!(row[2].starts_with(meaning), "{heading}, {name}: \"{meaning}\"");
            let required = table["required"].as_array().is_some_and(|keys| keys.contains(&json!(name)));
            assert_eq!(row[1].ends_with(", required"), required, "{heading}, {name}");
        }
    }
}

#[test]
fn the_mounts_are_those_of_the_schema() {
    let rows = Page::named("docs/configuration.md").rows_under("`mount`");
    let said: BTreeSet<&str> = rows.iter().map(|row| unquoted(&row[0])).collect();
    let kinds = json_schema()["definitions"]["MountSpec"]["anyOf"].as_array().unwrap().clone();
    let keys = kinds.iter().flat_map(|kind| kind["properties"].as_object().unwrap().keys().cloned());
    assert_eq!(said, keys.collect::<BTreeSet<String>>().iter().map(String::as_str).collect());
}

#[test]
fn the_full_example_is_valid() {
    let page = Page::named("docs/configuration.md");
    let example =
        page.section("Everything in one file").split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    ConfigFile::parse("paddock.toml", example).unwrap_or_else(|error| panic!("{error}"));
}
