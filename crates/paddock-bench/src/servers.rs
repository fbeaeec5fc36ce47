//! The servers that are compared: how each is started, and how each wants to be asked for the same work.
//!
//! Owns the translation of one piece of work into each server's own tool. A server that has no tool for it is left
//! out of that comparison; none is given an easier task.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use paddock_core::{AgentName, AgentPolicy, NoJournal, Vfs};
use paddock_stores::PhysicalStore;
use paddock_tools::Fixed;
use serde_json::{Value, json};

use crate::client::Client;
use crate::guarded::{self, Open};
use crate::helpers::{self, Job};
use crate::options::{Options, peer};
use crate::report::Report;
use crate::trees::Project;

/// One of the compared.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) kind: Kind,
    /// The program and its arguments.
    line: Vec<PathBuf>,
    project: PathBuf,
}

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Paddock,
    RustMcpFilesystem,
    Official,
}

/// A piece of work that a server is asked for; paths are relative to the project.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work<'a> {
    Read {
        path: &'a str,
    },
    Write {
        path: &'a str,
        content: &'a str,
    },
    Edit {
        path: &'a str,
        old: &'a str,
        new: &'a str,
    },
    List {
        path: &'a str,
    },
    /// Files below that have this in their name.
    FindByName {
        path: &'a str,
        part: &'a str,
    },
    /// Lines below that match; what `.gitignore` leaves out is left out, or excluded by name.
    Search {
        path: &'a str,
        pattern: &'a str,
    },
}

impl Kind {
    /// Those beside ours.
    pub(crate) const PEERS: [Self; 2] = [Self::RustMcpFilesystem, Self::Official];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Paddock => "Paddock",
            Self::RustMcpFilesystem => peer::RUST_MCP_FILESYSTEM,
            Self::Official => peer::OFFICIAL,
        }
    }

    /// Where its own files are written, so that no two servers write one file.
    pub(crate) fn written(self) -> &'static str {
        match self {
            Self::Paddock => "workspace/paddock",
            Self::RustMcpFilesystem => "workspace/rust",
            Self::Official => "workspace/node",
        }
    }
}

/// Ours first, then the peers that are installed.
pub(crate) fn all(options: &Options, project: &Project) -> Result<Vec<Server>> {
    let mut servers = vec![paddock(options, project)?];
    let path = project.path();
    let peer = |kind, line| Server { kind, line, project: path.clone() };
    if let Some(program) = &options.rust_mcp_filesystem {
        let line = vec![program.clone(), "--allow-write".into(), path.clone()];
        servers.push(peer(Kind::RustMcpFilesystem, line));
    }
    if let (Some(node), Some(script)) = (&options.node, &options.official) {
        servers.push(peer(Kind::Official, vec![node.clone(), script.clone(), path.clone()]));
    }
    Ok(servers)
}

/// The same servers, ours without a record of what is changed: the peers keep none.
pub(crate) fn keeping_no_record(servers: &[Server]) -> Result<Vec<Server>> {
    let (ours, peers) = servers.split_first().context("Paddock is among the servers")?;
    let line = helpers::line(&Job::ServeUnrecorded { project: ours.project.clone() })?;
    Ok([&[Server { line, ..ours.clone() }], peers].concat())
}

/// The tools, the guard and the Store of an agent, behind the same transport; the only thing missing is the ledger.
pub(crate) fn serve_unrecorded(project: &Path) -> Result<()> {
    let store = Arc::new(PhysicalStore::new(project)?);
    let vfs = Vfs::new(vec![guarded::workspace("/project", store)?], Arc::new(Open), Arc::new(NoJournal))?;
    let policy = AgentPolicy::new(AgentName::main(), guarded::logical("/project")?, vfs);
    Ok(paddock_mcp::serve_stdio(Arc::new(Fixed(Arc::new(policy))), || {})?)
}

/// Says which peers are not among them.
pub(crate) fn tell_absent(report: &mut Report, options: &Options, servers: &[Server], kinds: &[Kind]) {
    for kind in kinds.iter().filter(|kind| servers.iter().all(|server| server.kind != **kind)) {
        report.absent("all of it", kind.name(), options.why_missing(kind.name()));
    }
}

/// Paddock with the configuration that `paddock init` writes.
fn paddock(options: &Options, project: &Project) -> Result<Server> {
    let program = options.paddock.clone().context("--paddock names the binary that is measured")?;
    let line = |rest: [PathBuf; 3]| {
        let start = [program.clone(), "--home".into(), project.system_root()];
        start.into_iter().chain(rest).collect::<Vec<_>>()
    };
    let config = project.path().join("paddock.toml");
    if !config.is_file() {
        let init = line(["init".into(), "--name=bench".into(), project.path()]);
        let done = Command::new(&init[0]).args(&init[1..]).output().context("cannot start Paddock")?;
        ensure!(done.status.success(), "`paddock init` failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(Server { kind: Kind::Paddock, line: line(["mcp".into(), "--config".into(), config]), project: project.path() })
}

impl Server {
    pub(crate) fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Starts it; gives back the time until it answered the greeting.
    pub(crate) fn start(&self) -> Result<(Client, std::time::Duration)> {
        let mut command = Command::new(&self.line[0]);
        command.args(&self.line[1..]).current_dir(&self.project);
        Client::start(command).with_context(|| self.name())
    }

    /// The tool and the arguments for a piece of work; nothing where it has no such tool.
    pub(crate) fn request(&self, work: Work<'_>) -> Option<(&'static str, Value)> {
        match self.kind {
            Kind::Paddock => Some(ours(work)),
            Kind::RustMcpFilesystem | Kind::Official => self.theirs(work),
        }
    }

    fn theirs(&self, work: Work<'_>) -> Option<(&'static str, Value)> {
        let at = |path: &str| self.project.join(path).display().to_string();
        let searches_contents = self.kind == Kind::RustMcpFilesystem;
        Some(match work {
            Work::Read { path } => ("read_text_file", json!({"path": at(path)})),
            Work::Write { path, content } => ("write_file", json!({"path": at(path), "content": content})),
            Work::Edit { path, old, new } => {
                ("edit_file", json!({"path": at(path), "edits": [{"oldText": old, "newText": new}]}))
            }
            Work::List { path } => ("list_directory", json!({"path": at(path)})),
            Work::FindByName { path, part } => {
                ("search_files", json!({"path": at(path), "pattern": format!("**/*{part}*")}))
            }
            Work::Search { path, pattern } if searches_contents => (
                "search_files_content",
                json!({
                    "path": at(path), "pattern": "**/*", "query": pattern, "is_regex": true,
                    "excludePatterns": ["**/*.log", "**/build/**"],
                }),
            ),
            Work::Search { .. } => return None,
        })
    }
}

pub(crate) fn ours(work: Work<'_>) -> (&'static str, Value) {
    let at = |path: &str| format!("/project/{path}");
    match work {
        Work::Read { path } => ("read_file", json!({"path": at(path)})),
        Work::Write { path, content } => ("write_file", json!({"path": at(path), "content": content})),
        Work::Edit { path, old, new } => ("edit_file", json!({"path": at(path), "old_string": old, "new_string": new})),
        Work::List { path } => ("list_dir", json!({"path": at(path)})),
        Work::FindByName { path, part } => ("find_files", json!({"path": at(path), "glob": format!("*{part}*")})),
        Work::Search { path, pattern } => ("search_files", json!({"path": at(path), "pattern": pattern})),
    }
}
