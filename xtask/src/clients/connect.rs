//! `paddock connect` with the programs themselves: Claude Code and Codex, connected by the built binary and started against
//! a model that plays a script.
//!
//! Owns their install, a home without any settings or account of the person who runs this, and the cases: what the model is
//! offered, what becomes of the tools that should be off, and that Paddock's tools work. After `--undo` the same is asked
//! again, so that a case that could not fail would be seen. It must never use an account, nor reach a model of others.

mod model;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Way;
use super::site::Site;
use crate::alone;
use crate::process::{self, Captured};
use crate::repo::Repo;
use crate::test::Outcome;
use model::Model;

/// The versions that the cases were written for. Each is one program of its own, with nothing to run while it is installed.
const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.166.0"];

const INSTALLING: Duration = Duration::from_secs(600);
/// Nothing here takes long; past this it hangs.
const HANG: Duration = Duration::from_secs(90);

/// What no machine of ours can run, and why.
const NOT_RUN: [&str; 2] = [
    "Cursor with `paddock connect`: its programs are not on npm and need an account; its documented formats and the hook are tested",
    "VS Code with `paddock connect`: its agents need a desktop and an account; its documented formats and the hook are tested",
];

/// The paths that each client's own tools try to make.
const OUTSIDE: &str = "outside.txt";
const INSIDE: &str = "workspace/inside.txt";

/// What else each of them offers its model in these versions; somebody looked at each, and none reaches a file or a shell
/// but for `apply_patch`, which is refused. Another version that brings something new fails until it was looked at.
const CLAUDE_HAS: &[&str] = &[
    "Agent",
    "CronCreate",
    "CronDelete",
    "CronList",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "WebFetch",
    "WebSearch",
];
const CODEX_HAS: &[&str] = &[
    "apply_patch",
    "create_goal",
    "get_goal",
    "list_mcp_resource_templates",
    "list_mcp_resources",
    "read_mcp_resource",
    "request_user_input",
    "tool_search",
    "update_goal",
    "web_search",
];

/// Plays the cases; what cannot be installed or run here is told as such.
pub(crate) fn play(outcome: &mut Outcome, repo: &Repo, binary: &Path) -> Result<()> {
    outcome.could_not.extend(NOT_RUN.map(str::to_owned));
    let programs = match installed(repo) {
        Ok(programs) => programs,
        Err(reason) => {
            outcome.could_not.push(format!("Claude Code and Codex with `paddock connect`: {reason:#}"));
            return Ok(());
        }
    };
    for way in Way::ALL {
        claude_code(outcome, &programs.claude, binary, way)?;
        codex(outcome, &programs.codex, binary, way)?;
    }
    Ok(())
}

pub(super) struct Programs {
    claude: PathBuf,
    codex: PathBuf,
}

/// The programs under `target/clients`, fetched once per version.
pub(super) fn installed(repo: &Repo) -> Result<Programs> {
    let directory = repo.build_directory().join("clients/coding");
    let _alone = alone::with(directory.display().to_string());
    let (stamp, wanted) = (directory.join("installed-from"), PACKAGES.join("\n"));
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        ensure!(process::answers("npm", "--version"), "npm is not installed, and it fetches them");
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("package.json"), "{ \"private\": true }\n")?;
        println!("installing {}", PACKAGES.join(" and "));
        let mut npm = Command::new("npm");
        npm.current_dir(&directory).args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]).args(PACKAGES);
        let said = process::captured(&mut npm, INSTALLING)?;
        ensure!(said.status.success(), "npm ended with {}: {}", said.status, said.stderr.trim());
        fs::write(&stamp, &wanted)?;
    }
    let packages = directory.join("node_modules");
    let first = |candidates: &[String], name: &str| {
        let found = candidates.iter().map(|path| packages.join(path)).find(|path| path.is_file());
        found.with_context(|| format!("the package of {name} has no program for this processor"))
    };
    let claude = ["x64", "arm64"].map(|processor| format!("@anthropic-ai/claude-code-linux-{processor}/claude"));
    let vendor = |processor: &str, triple: &str| {
        format!("@openai/codex-linux-{processor}/vendor/{triple}-unknown-linux-musl/bin/codex")
    };
    let codex = [vendor("x64", "x86_64"), vendor("arm64", "aarch64")];
    Ok(Programs { claude: first(&claude, "Claude Code")?, codex: first(&codex, "Codex")? })
}

/// A project of its own, and a home that holds nothing of the person who runs this.
struct Place {
    directory: tempfile::TempDir,
    binary: PathBuf,
    /// What serves it, where the client does not start Paddock itself.
    site: Option<Site>,
}

impl Place {
    fn new(binary: &Path, way: Way) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("paddock-connect-").tempdir()?;
        let mut place = Self { directory, binary: binary.to_owned(), site: None };
        fs::create_dir_all(place.home())?;
        fs::create_dir_all(place.project())?;
        place.paddock(&["init"])?;
        fs::write(place.project().join("notes.md"), "only through Paddock\n")?;
        if way == Way::Http {
            place.site = Some(Site::of_project(binary, &place.project(), &place.home().join(".paddock"))?);
        }
        Ok(place)
    }

    fn home(&self) -> PathBuf {
        self.real().join("home")
    }

    fn project(&self) -> PathBuf {
        self.real().join("project")
    }

    fn real(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap_or_else(|_| self.directory.path().to_owned())
    }

    /// A program in the project, with an environment that holds no key of anybody.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        if let Some(site) = &self.site {
            command.env("PADDOCK_TOKEN", site.token());
        }
        command
    }

    /// Connects a client, and answers what was told about it.
    fn connect(&self, client: &str) -> Result<Value> {
        let mut arguments = vec!["connect", client, "--yes", "--json"];
        if let Some(site) = &self.site {
            arguments.extend(["--http", "--url", site.url()]);
        }
        Ok(serde_json::from_str(&self.paddock(&arguments)?.stdout)?)
    }

    fn paddock(&self, arguments: &[&str]) -> Result<Captured> {
        let said = process::captured(self.command(&self.binary).args(arguments), HANG)?;
        ensure!(said.status.success(), "`paddock {}`: {}{}", arguments.join(" "), said.stdout, said.stderr);
        Ok(said)
    }

    fn exists(&self, path: &str) -> bool {
        self.project().join(path).exists()
    }
}

fn claude_code(outcome: &mut Outcome, program: &Path, binary: &Path, way: Way) -> Result<()> {
    let (place, model) = (Place::new(binary, way)?, Model::start()?);
    let name = format!("Claude Code over {}", way.named());
    let off = names(&place.connect("claude-code")?["switched_off"]);
    let claude = |arguments: &[&str]| {
        let mut command = place.command(program);
        command.args(arguments).env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "none");
        // The last one lets an administrator's account try the mode that skips every question.
        command
            .env("DISABLE_TELEMETRY", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("IS_SANDBOX", "1");
        process::captured(&mut command, HANG)
    };
    let pending = claude(&["mcp", "list"])?;
    outcome.case(&format!("{name}: the entry of the project is found"), &wants(&pending, "paddock:"));
    trust_in_claude(&place)?;
    outcome.case(&format!("{name}: `mcp list` reaches Paddock"), &wants(&claude(&["mcp", "list"])?, "Connected"));
    outcome.case(
        &format!("{name}: `mcp get paddock` reaches Paddock"),
        &wants(&claude(&["mcp", "get", "paddock"])?, "Connected"),
    );

    for mode in [&["-p", "go"][..], &["-p", "go", "--dangerously-skip-permissions"]] {
        let title = mode.get(2).map_or("asked as usual", |_| "skipping every question");
        model.play(claude_script(&place));
        claude(mode)?;
        let requests = model.requests();
        let offered = offered(&requests);
        let wrongly: Vec<String> =
            offered.iter().filter(|tool| off.contains(tool)).map(|tool| format!("{tool} is offered")).collect();
        outcome.case(&format!("{name}, {title}: nothing that is off is offered"), &wrongly);
        let new = unknown(&offered, CLAUDE_HAS);
        outcome.case(&format!("{name}, {title}: nothing is offered that nobody looked at"), &new);
        outcome.case(
            &format!("{name}, {title}: Paddock's tools are offered"),
            &lacks(&offered, "mcp__paddock__read_file"),
        );
        let results = claude_results(&requests);
        let mut wrong =
            refusals(&results, &["bash", "write", "read", "grep", "agent-bash"], &["No such tool available"]);
        wrong.extend(place.exists(OUTSIDE).then(|| format!("{OUTSIDE} was written")));
        outcome.case(&format!("{name}, {title}: its own tools do nothing"), &wrong);
        outcome.case(&format!("{name}, {title}: Paddock's tools work"), &works(&place, &results)?);
    }

    place.paddock(&["connect", "claude-code", "--undo", "--yes"])?;
    model.play([]);
    claude(&["-p", "go"])?;
    let offered = offered(&model.requests());
    let mut wrong = lacks(&offered, "Bash");
    wrong.extend(
        offered.iter().filter(|tool| tool.starts_with("mcp__paddock")).map(|tool| format!("{tool} is still offered")),
    );
    outcome.case(&format!("{name}: after --undo it has its own tools again, and not Paddock's"), &wrong);
    Ok(())
}

/// What a person does when Claude Code asks whether the directory is to be trusted.
fn trust_in_claude(place: &Place) -> Result<()> {
    let path = place.home().join(".claude.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap_or("{}".to_owned()))?;
    settings["projects"][place.project().display().to_string()] = json!({ "hasTrustDialogAccepted": true });
    Ok(fs::write(path, settings.to_string())?)
}

fn claude_script(place: &Place) -> Vec<Value> {
    let path = |name: &str| place.project().join(name).display().to_string();
    let call = |id: &str, name: &str, input: Value| json!({ "id": id, "name": name, "input": input });
    let shell = json!({ "command": format!("touch {}", path(OUTSIDE)), "description": "x" });
    vec![
        call("bash", "Bash", shell.clone()),
        call("write", "Write", json!({ "file_path": path(OUTSIDE), "content": "x" })),
        call("read", "Read", json!({ "file_path": path("notes.md") })),
        call("grep", "Grep", json!({ "pattern": "only" })),
        call("agent", "Agent", json!({ "description": "x", "prompt": "y", "subagent_type": "general-purpose" })),
        call("agent-bash", "Bash", shell),
        // The last word of the subagent.
        Value::Null,
        call("paddock-read", "mcp__paddock__read_file", json!({ "path": "/project/notes.md" })),
        call(
            "paddock-write",
            "mcp__paddock__write_file",
            json!({ "path": format!("/project/{INSIDE}"), "content": "x" }),
        ),
    ]
}

/// What became of each call, by its id.
fn claude_results(requests: &[Value]) -> Vec<(String, String)> {
    let messages = requests.iter().flat_map(|request| request["messages"].as_array().into_iter().flatten());
    let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let results = parts.filter(|part| part["type"] == "tool_result");
    results.map(|part| (text(&part["tool_use_id"]), part["content"].to_string())).collect()
}

fn codex(outcome: &mut Outcome, program: &Path, binary: &Path, way: Way) -> Result<()> {
    let (place, model) = (Place::new(binary, way)?, Model::start()?);
    let name = format!("Codex over {}", way.named());
    let home = place.home().join(".codex");
    fs::create_dir_all(&home)?;
    // A model of our own, and a person who trusted the project.
    let settings = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"script\"\n[model_providers.script]\nname = \"script\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\n[projects.{}]\ntrust_level = \"trusted\"\n",
        model.url(),
        json!(place.project())
    );
    fs::write(home.join("config.toml"), settings)?;
    place.connect("codex")?;
    let codex = |arguments: &[&str]| process::captured(place.command(program).args(arguments), HANG);
    let listed = codex(&["mcp", "list", "--json"])?;
    let entry = serde_json::from_str::<Value>(&listed.stdout).unwrap_or_default();
    let entry =
        entry.as_array().into_iter().flatten().find(|entry| entry["name"] == "paddock").cloned().unwrap_or_default();
    let reached = match &place.site {
        Some(site) => entry["transport"]["url"] == site.url(),
        None => entry["transport"]["command"] == json!(place.binary),
    };
    let is_ours = entry["enabled"] == true && reached;
    outcome.case(
        &format!("{name}: `mcp list --json` has the entry"),
        &if is_ours { vec![] } else { vec![listed.stdout + &listed.stderr] },
    );

    model.play(codex_script());
    let said = codex(&["exec", "--skip-git-repo-check", "go"])?;
    let requests = model.requests();
    let offered = offered(&requests);
    let own = ["exec_command", "write_stdin", "shell", "local_shell", "view_image"];
    let mut wrong: Vec<String> =
        offered.iter().filter(|tool| own.contains(&tool.as_str())).map(|tool| format!("{tool} is offered")).collect();
    wrong.extend(offered.is_empty().then(|| format!("nothing was asked: {}{}", said.stdout, said.stderr)));
    outcome.case(&format!("{name}: neither its shell nor its viewer is offered"), &wrong);
    outcome.case(&format!("{name}: nothing is offered that nobody looked at"), &unknown(&offered, CODEX_HAS));
    let results = codex_results(&requests);
    let mut wrong = refusals(&results, &["exec", "shell", "view"], &["unsupported call"]);
    wrong.extend(refusals(&results, &["patch"], &["rejected"]));
    wrong.extend(place.exists(OUTSIDE).then(|| format!("{OUTSIDE} was written")));
    outcome.case(&format!("{name}: its own tools do nothing, and a patch is refused"), &wrong);
    outcome.case(&format!("{name}: Paddock's tools work"), &works(&place, &results)?);

    place.paddock(&["connect", "codex", "--undo", "--yes"])?;
    model.play([]);
    codex(&["exec", "--skip-git-repo-check", "go"])?;
    outcome.case(
        &format!("{name}: after --undo it has its shell again"),
        &lacks(&self::offered(&model.requests()), "exec_command"),
    );
    Ok(())
}

fn codex_script() -> Vec<Value> {
    let patch = format!("*** Begin Patch\n*** Add File: {OUTSIDE}\n+x\n*** End Patch\n");
    let call = |id: &str, name: &str, arguments: Value| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string() });
    let of_paddock = |id: &str, name: &str, arguments: Value| {
        let mut call = call(id, name, arguments);
        call["namespace"] = "mcp__paddock".into();
        call
    };
    vec![
        json!({ "type": "custom_tool_call", "call_id": "patch", "name": "apply_patch", "input": patch }),
        call("exec", "exec_command", json!({ "cmd": format!("touch {OUTSIDE}") })),
        call("shell", "shell", json!({ "command": ["touch", OUTSIDE] })),
        call("view", "view_image", json!({ "path": "notes.md" })),
        of_paddock("paddock-read", "read_file", json!({ "path": "/project/notes.md" })),
        of_paddock("paddock-write", "write_file", json!({ "path": format!("/project/{INSIDE}"), "content": "x" })),
    ]
}

fn codex_results(requests: &[Value]) -> Vec<(String, String)> {
    let items = requests.iter().flat_map(|request| request["input"].as_array().into_iter().flatten());
    let outputs = items.filter(|item| item.get("output").is_some());
    outputs.map(|item| (text(&item["call_id"]), item["output"].to_string())).collect()
}

/// The names of every tool that any request offered.
fn offered(requests: &[Value]) -> Vec<String> {
    let tools = requests.iter().flat_map(|request| request["tools"].as_array().into_iter().flatten());
    let mut found: Vec<String> = tools.map(|tool| text(tool.get("name").unwrap_or(&tool["type"]))).collect();
    found.sort();
    found.dedup();
    found
}

/// What is offered and is neither known nor Paddock's.
fn unknown(offered: &[String], known: &[&str]) -> Vec<String> {
    let is_known = |tool: &str| known.contains(&tool) || tool.starts_with("mcp__paddock");
    offered.iter().filter(|tool| !is_known(tool)).map(|tool| format!("{tool} is offered and not known")).collect()
}

/// Each of these calls has to have been refused in one of these ways.
fn refusals(results: &[(String, String)], calls: &[&str], ways: &[&str]) -> Vec<String> {
    let complaint = |call: &&str| match results.iter().find(|(id, _)| id == call) {
        None => Some(format!("{call}: nothing came of it")),
        Some((_, told)) if ways.iter().any(|way| told.contains(way)) => None,
        Some((_, told)) => Some(format!("{call}: {told}")),
    };
    calls.iter().filter_map(complaint).collect()
}

/// What is wrong with what Paddock's own calls did.
fn works(place: &Place, results: &[(String, String)]) -> Result<Vec<String>> {
    let mut wrong = refusals(results, &["paddock-read"], &["only through Paddock"]);
    wrong.extend(refusals(results, &["paddock-write"], &["File written successfully"]));
    let inside = place.project().join(INSIDE);
    if inside.is_file() {
        fs::remove_file(inside)?;
    } else {
        wrong.push(format!("{INSIDE} is not there"));
    }
    Ok(wrong)
}

fn wants(said: &Captured, word: &str) -> Vec<String> {
    if said.stdout.contains(word) {
        Vec::new()
    } else {
        vec![format!("\"{word}\" is not in: {}{}", said.stdout, said.stderr)]
    }
}

fn lacks(offered: &[String], tool: &str) -> Vec<String> {
    if offered.iter().any(|name| name == tool) { Vec::new() } else { vec![format!("{tool} is not among {offered:?}")] }
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(text).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_not_refused_is_a_complaint() {
        let results = [("a".to_owned(), "unsupported call".to_owned()), ("b".to_owned(), "done".to_owned())];
        assert_eq!(refusals(&results, &["a", "b", "c"], &["unsupported"]), ["b: done", "c: nothing came of it"]);
    }

    #[test]
    fn tools_are_named_by_name_or_kind() {
        let requests =
            [json!({ "tools": [{ "name": "b" }, { "type": "web_search" }] }), json!({ "tools": [{ "name": "b" }] })];
        assert_eq!(offered(&requests), ["b", "web_search"]);
    }
}
