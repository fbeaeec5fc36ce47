//! What could keep Paddock from working here, each with its remedy.
//!
//! Looks only, and leaves nothing behind.

mod state;

use std::path::{Path, PathBuf};

use paddock_config::ConfigFile;
use paddock_config::schema::MountSpec;
use paddock_core::{AccessScope, AgentName};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::{Project, host, project};

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Status {
    /// As it should be.
    #[serde(rename = "ok")]
    Good,
    /// It works, and may not be meant so.
    #[serde(rename = "warning")]
    Doubtful,
    /// It does not work.
    #[serde(rename = "problem")]
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Row {
    /// How it stands.
    pub status: Status,
    /// What was looked at.
    pub what: String,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Row {
    fn good(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { status: Status::Good, what: what.into(), found: found.into(), remedy: None }
    }

    fn doubtful(what: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Doubtful, what: what.into(), found: found.into(), remedy: Some(remedy.into()) }
    }

    fn bad(what: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Bad, what: what.into(), found: found.into(), remedy: Some(remedy.into()) }
    }
}

/// What the kernel has of what commands need: what it protects, and how to get it.
fn feature(feature: paddock_exec::Feature) -> Row {
    let what = format!("commands: {}", feature.name);
    let found = match (feature.present, feature.detail.is_empty()) {
        (true, true) => feature.protects.to_owned(),
        (true, false) => format!("{} ({})", feature.protects, feature.detail),
        (false, true) => format!("missing: {}", feature.protects),
        (false, false) => format!("missing: {} ({})", feature.protects, feature.detail),
    };
    match (feature.present, feature.needed) {
        (true, _) => Row::good(what, found),
        (false, true) => Row::bad(what, found, feature.remedy),
        (false, false) => Row::doubtful(what, found, feature.remedy),
    }
}

/// Everything that was looked at; for one agent, or for all.
#[must_use]
pub fn examine(project: Result<Project>, agent: Option<&AgentName>) -> Vec<Row> {
    let mut rows = vec![kernel()];
    let project = match project {
        Ok(project) => project,
        Err(error) => {
            rows.push(told("Project Root and System Root", &error));
            return rows;
        }
    };
    rows.push(system_root(&project));
    let (file, row) = configuration(&project, agent);
    rows.push(row);
    if let Some(file) = &file {
        let agents = agent.map_or_else(|| file.agents(), |agent| vec![agent.clone()]);
        rows.extend(slips(file, &agents, &project));
        rows.extend(workspaces(file, &agents, &project));
        rows.extend(state::examine(&project));
        if file.config().commands.is_some() {
            rows.extend(paddock_exec::features().into_iter().map(feature));
        }
    }
    rows
}

fn kernel() -> Row {
    let what = "kernel";
    if host::has_openat2() {
        return Row::good(what, "opens paths without ever leaving a directory (openat2)");
    }
    Row::bad(what, "openat2 is not available", "use Linux 5.6 or newer, or allow openat2 in the container's filter")
}

fn system_root(project: &Project) -> Row {
    let what = "System Root";
    let path = project.system_root.path();
    let shown = path.display();
    if let Some(error) = host::is_dir(path).then(|| host::try_a_write(path).err()).flatten() {
        let remedy =
            "nothing can be recorded, so nothing is changed: look who owns it, whether its disk is full or read-only";
        return Row::bad(what, format!("{shown} cannot be written: {error}"), remedy);
    }
    match host::mode(path) {
        Ok(mode) if mode & 0o077 == 0 => Row::good(what, format!("{shown} is yours alone")),
        Ok(mode) => {
            let found = format!("{shown} can be read by others (mode {mode:03o})");
            Row::doubtful(what, found, format!("run: chmod 700 \"{shown}\""))
        }
        Err(_) => Row::good(what, format!("{shown} is made when something is first kept")),
    }
}

fn configuration(project: &Project, agent: Option<&AgentName>) -> (Option<ConfigFile>, Row) {
    let what = "configuration";
    if !host::is_file(&project.config) {
        let remedy = "run `paddock init` in the project's directory";
        return (None, Row::doubtful(what, "there is no paddock.toml here or above: no tools, no access", remedy));
    }
    let file = match project.config_file() {
        Ok(file) => file,
        Err(error) => return (None, told(what, &error)),
    };
    let checked = project.host().and_then(|host| {
        let built = match agent {
            Some(agent) => paddock_config::build(&file, agent, &host, &project::looking()).map(drop),
            None => paddock_config::check(&file, &host),
        };
        built.map_err(project::config_problem)
    });
    let row = match checked {
        Ok(()) => Row::good(what, format!("{} has no problems", project.config.display())),
        Err(error) => told(what, &error),
    };
    (Some(file), row)
}

fn slips(file: &ConfigFile, agents: &[AgentName], project: &Project) -> Vec<Row> {
    let host = project.host().ok();
    let warnings =
        paddock_config::warnings(file, host.as_ref()).into_iter().filter(|warning| agents.contains(&warning.agent));
    warnings.map(|warning| Row::doubtful("configuration", warning.to_string(), warning.hint())).collect()
}

/// Every directory behind a Workspace of these agents, once, with the widest scope that it is used with.
fn workspaces(file: &ConfigFile, agents: &[AgentName], project: &Project) -> Vec<Row> {
    // Without a host the configuration's own row has said so already.
    let Ok(host) = project.host() else { return Vec::new() };
    let mut seen: Vec<(PathBuf, String, bool)> = Vec::new();
    for table in agents.iter().flat_map(|agent| file.workspaces_of(agent)) {
        let MountSpec::Physical { physical } = &table.mount.value else { continue };
        // Without the "." that a person writes for the project itself.
        let path: PathBuf = host.path_of(physical).components().collect();
        let writes = table.scope.0 != AccessScope::ReadOnly;
        match seen.iter_mut().find(|(other, ..)| *other == path) {
            Some((_, _, wider)) => *wider |= writes,
            None => seen.push((path, table.prefix.0.to_string(), writes)),
        }
    }
    let mut rows: Vec<Row> = seen.iter().map(|(path, prefix, writes)| directory(path, prefix, *writes)).collect();
    rows.extend(leftovers(seen.iter().map(|(path, ..)| path.as_path())));
    rows
}

fn directory(path: &Path, prefix: &str, writes: bool) -> Row {
    let what = format!("Workspace {prefix}");
    let shown = path.display();
    if !host::is_dir(path) {
        return if writes {
            Row::good(what, format!("{shown} is made by the first write"))
        } else {
            Row::bad(what, format!("{shown} is not a directory"), "make it, or change its mount in paddock.toml")
        };
    }
    let remedy = format!("check the owner and mode of \"{shown}\"");
    match host::access(path) {
        (false, _) => Row::bad(what, format!("{shown} cannot be read"), remedy),
        (true, false) if writes => Row::bad(what, format!("{shown} cannot be written"), remedy),
        (true, _) if writes => Row::good(what, format!("{shown} can be read and written")),
        (true, _) => Row::good(what, format!("{shown} can be read")),
    }
}

fn leftovers<'a>(directories: impl Iterator<Item = &'a Path>) -> Option<Row> {
    let mut found: Vec<PathBuf> =
        directories.flat_map(|path| host::with_prefix(path, paddock_stores::TEMP_PREFIX)).collect();
    found.sort();
    found.dedup();
    let first = found.first()?;
    let told = format!("{} left by writes that were cut off, such as {}", count(found.len()), first.display());
    Some(Row::doubtful(
        "temporary files",
        told,
        "once no agent is working here, move back a directory with \"-move-\" in its name, and remove the files",
    ))
}

fn count(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// A row from an error that holds its own hint.
fn told(what: &str, error: &Failure) -> Row {
    let text = error.text().strip_prefix("error: ").unwrap_or(error.text());
    match text.rsplit_once("\nhint: ") {
        Some((found, remedy)) => Row::bad(what, found, remedy),
        None => Row::bad(what, text, "see above"),
    }
}
