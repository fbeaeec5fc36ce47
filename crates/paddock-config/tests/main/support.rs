//! A project in a temporary directory, with its System Root beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_config::{ConfigError, ConfigFile, Host, Ports, Reloader, build, check};
use paddock_core::{AgentName, AgentPolicy, Call, Expect, OpKind, Operation, Outcome, Refused};
use paddock_state::{HomeSources, SystemRoot};
use paddock_stores::conformance::world::{Open, path_of, run, with_call};

pub(crate) fn ports() -> Ports {
    Ports::in_memory(Arc::new(Open))
}

pub(crate) struct Project {
    _keep: tempfile::TempDir,
    pub(crate) top: PathBuf,
    pub(crate) root: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let root = top.join("project");
        fs::create_dir(&root).unwrap();
        Self { _keep: keep, top, root }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.root.join("paddock.toml")
    }

    pub(crate) fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    pub(crate) fn make(&self, directory: &str) -> PathBuf {
        let path = self.root.join(directory);
        fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn system_root(&self) -> SystemRoot {
        system_root(&self.top.join("home"))
    }

    pub(crate) fn host(&self) -> Host {
        Host::new(&self.file(), self.system_root()).unwrap()
    }

    pub(crate) fn build(&self, text: &str) -> Result<AgentPolicy, ConfigError> {
        self.build_agent(text, "main")
    }

    pub(crate) fn build_agent(&self, text: &str, agent: &str) -> Result<AgentPolicy, ConfigError> {
        let file = ConfigFile::parse("paddock.toml", text)?;
        build(&file, &AgentName::parse(agent).unwrap(), &self.host(), &ports())
    }

    pub(crate) fn check(&self, text: &str) -> Result<(), ConfigError> {
        check(&ConfigFile::parse("paddock.toml", text)?, &self.host())
    }

    pub(crate) fn reloader(&self) -> Result<Reloader, ConfigError> {
        self.reloader_of("main")
    }

    pub(crate) fn reloader_of(&self, agent: &str) -> Result<Reloader, ConfigError> {
        Reloader::start(&self.file(), AgentName::parse(agent).unwrap(), self.system_root(), ports())
    }

    /// An error's text with the temporary directory taken out.
    pub(crate) fn without_place(&self, text: &impl ToString) -> String {
        text.to_string().replace(self.top.to_str().unwrap(), "TOP")
    }
}

pub(crate) fn system_root(at: &Path) -> SystemRoot {
    let sources = HomeSources { option: Some(at.to_owned()), ..HomeSources::default() };
    SystemRoot::resolve(&sources, None).unwrap()
}

pub(crate) fn workspace(prefix: &str, scope: &str, physical: &str) -> String {
    format!("[[workspace]]\nprefix = \"{prefix}\"\nscope = \"{scope}\"\nmount = {{ physical = \"{physical}\" }}\n")
}

pub(crate) fn allowed(policy: &AgentPolicy, op: OpKind, path: &str) -> bool {
    let path = policy.path(path).unwrap();
    policy.vfs.judge(op, &path).allowed()
}

pub(crate) fn may_write(policy: &AgentPolicy, path: &str) -> bool {
    allowed(policy, OpKind::Write, path)
}

pub(crate) fn may_read(policy: &AgentPolicy, path: &str) -> bool {
    allowed(policy, OpKind::Read, path)
}

/// Every verdict of a policy on every probe: two equal ones grant the same.
pub(crate) fn verdicts(policy: &AgentPolicy, probes: &[&str]) -> Vec<bool> {
    let paths = probes.iter().map(|probe| path_of(probe));
    let asked = paths.flat_map(|path| OpKind::ALL.map(|op| (op, path.clone())));
    asked.map(|(op, path)| policy.vfs.judge(op, &path).allowed()).collect()
}

/// Does one operation the way a tool call does.
pub(crate) fn act(policy: &AgentPolicy, operation: Operation) -> Result<Outcome, Refused> {
    with_call(|call| run(&policy.vfs, &Call { agent: &policy.agent, ..*call }, operation))
}

pub(crate) fn write(policy: &AgentPolicy, path: &str, content: &str) -> Result<(), Refused> {
    let path = policy.path(path).unwrap();
    act(policy, Operation::Write { path, content: content.into(), expect: Expect::Any }).map(drop)
}

pub(crate) fn read(policy: &AgentPolicy, path: &str) -> Result<Vec<u8>, Refused> {
    let path = policy.path(path).unwrap();
    match act(policy, Operation::Read { path, range: 0..u64::MAX })? {
        Outcome::Read { bytes, .. } => Ok(bytes),
        other => panic!("{other:?}"),
    }
}
