//! The desk itself: one project with what is behind it opened once, and the policy of each agent.
//!
//! A command sits down, does one thing and leaves; `paddock serve` stays. Both call the same functions with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use paddock_config::{ConfigFile, Host, Installation, Ports, Reloader};
use paddock_core::{AgentName, Audit};
use paddock_ledger::approvals::Approvals;
use paddock_ledger::audit::AuditLog;
use paddock_ledger::history::History;
use paddock_tools::Toolbox;

use crate::acts::Acts;
use crate::failure::{Failure, FailureKind, Result};
use crate::project::{self, Project};
use crate::projects::Measured;
use crate::threads::Runs;

/// A project, opened; and who sits at it.
pub struct Desk {
    kept: Arc<Kept>,
    /// Whose acts these are.
    by: String,
}

/// What everybody at the desk has in common.
struct Kept {
    project: Project,
    installation: Installation,
    /// Every agent's policy that somebody asked for.
    policies: Mutex<HashMap<AgentName, Arc<Reloader>>>,
    /// The configuration as it last had no problem: what goes on to hold while it has one.
    last_good: Mutex<Option<ConfigFile>>,
    /// Runs that go on in the background of this process.
    runs: Runs,
    /// How large each agent's projects were when they were last looked at.
    measured: Measured,
    /// May something be changed?
    works: bool,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("project", &self.kept.project).finish_non_exhaustive()
    }
}

impl Desk {
    /// For looking. Makes nothing on disk.
    ///
    /// # Errors
    /// When the configuration has problems, or its state cannot be had.
    pub fn look(project: Project) -> Result<Self> {
        let settings = project.settings()?;
        let installation =
            Installation::look(&project.system_root, &settings).map_err(project::installation_problem)?;
        Ok(Self::at(project, installation, false))
    }

    /// For what changes something, or is recorded.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn work(project: Project) -> Result<Self> {
        let settings = project.settings()?;
        let installation =
            Installation::claim(&project.system_root, &settings).map_err(project::installation_problem)?;
        if let Some(approvals) = installation.approvals() {
            approvals.tell_by(Arc::new(paddock_tools::notify));
        }
        Ok(Self::at(project, installation, true))
    }

    fn at(project: Project, installation: Installation, works: bool) -> Self {
        let kept = Kept {
            project,
            installation,
            policies: Mutex::default(),
            last_good: Mutex::default(),
            runs: Runs::default(),
            measured: Measured::default(),
            works,
        };
        Self { kept: Arc::new(kept), by: person() }
    }

    /// The same desk with somebody else at it: what they do is recorded under their name.
    #[must_use]
    pub fn acting_as(&self, by: &str) -> Self {
        Self { kept: Arc::clone(&self.kept), by: by.to_owned() }
    }

    /// Whose acts are done here.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Where the project is.
    pub fn project(&self) -> &Project {
        &self.kept.project
    }

    /// The configuration as it is now, read strictly.
    ///
    /// # Errors
    /// When it has problems.
    pub fn config_file(&self) -> Result<ConfigFile> {
        self.kept.project.config_file()
    }

    /// What building Workspaces has to know about the host.
    ///
    /// # Errors
    /// When the directory of the configuration cannot be reached.
    pub fn host(&self) -> Result<Host> {
        self.kept.project.host()
    }

    /// Was anything recorded yet? Asking an embedded database would make it.
    ///
    /// # Errors
    /// When the configuration has problems.
    pub fn is_recorded(&self) -> Result<bool> {
        if self.kept.works { Ok(true) } else { self.kept.project.has_ledger(&self.kept.installation) }
    }

    /// The runs that go on in the background of this process.
    pub(crate) fn runs(&self) -> &Runs {
        &self.kept.runs
    }

    /// How large each agent's projects were when they were last looked at.
    pub(crate) fn measured(&self) -> &Measured {
        &self.kept.measured
    }

    /// What is behind the project.
    pub fn installation(&self) -> &Installation {
        &self.kept.installation
    }

    /// What a guard is given besides its Workspaces.
    pub fn ports(&self) -> Ports {
        let ports = self.kept.installation.ports(project::gate());
        if self.kept.project.without_commands {
            return ports;
        }
        let runner = project::runner(self.kept.installation.home(), Arc::clone(&ports.audit));
        ports.with_runner(runner)
    }

    /// The agents of the configuration, `main` first. While it has problems they are those of the last one that had none: what each
    /// may do is its policy's to say.
    ///
    /// # Errors
    /// When the configuration has problems, and had them from the beginning.
    pub fn agents(&self) -> Result<Vec<AgentName>> {
        let known = self.config_in_effect().or_else(|failure| self.last_good().ok_or(failure));
        Ok(known?.agents())
    }

    /// The configuration that holds: as it is now, or as it last was without problems. One that is gone or cannot be read holds no more.
    ///
    /// # Errors
    /// When there is none.
    pub fn config_in_effect(&self) -> Result<ConfigFile> {
        match self.sound_config() {
            Ok(file) => {
                *self.kept.last_good.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.clone());
                Ok(file)
            }
            Err(failure) if self.kept.project.text().is_ok() => self.last_good().ok_or(failure),
            Err(failure) => Err(failure),
        }
    }

    /// What is wrong with the configuration now, while an older one holds.
    pub fn config_trouble(&self) -> Option<Failure> {
        self.sound_config().err()
    }

    /// The configuration as it is now, where every policy that was started from it could be built.
    fn sound_config(&self) -> Result<ConfigFile> {
        let file = self.config_file()?;
        let agents = file.agents();
        let policies = self.kept.policies.lock().unwrap_or_else(PoisonError::into_inner);
        // An agent that the file no longer has is no problem of the file.
        let of_file = policies.iter().filter(|(agent, _)| agents.contains(agent));
        let started: Vec<Arc<Reloader>> = of_file.map(|(_, policy)| Arc::clone(policy)).collect();
        drop(policies);
        for policy in started {
            policy.current();
            if let Some(error) = policy.error() {
                return Err(Failure::told(error.to_string(), FailureKind::Misused));
            }
        }
        Ok(file)
    }

    fn last_good(&self) -> Option<ConfigFile> {
        self.kept.last_good.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An agent's policy, current at every call.
    ///
    /// # Errors
    /// When the configuration has problems, or no such agent.
    pub fn policy(&self, agent: &AgentName) -> Result<Arc<Reloader>> {
        let mut policies = self.kept.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = policies.get(agent) {
            return Ok(Arc::clone(known));
        }
        let Project { config, system_root, .. } = &self.kept.project;
        let started = Reloader::start(config, agent.clone(), system_root.clone(), self.ports());
        let reloader = Arc::new(started.map_err(project::config_problem)?);
        if self.kept.works {
            paddock_tools::settle(&reloader.current(), reloader.audit());
        }
        policies.insert(agent.clone(), Arc::clone(&reloader));
        Ok(reloader)
    }

    /// The tools of an agent.
    ///
    /// # Errors
    /// As [`Self::policy`].
    pub fn toolbox(&self, agent: &AgentName) -> Result<Toolbox> {
        Ok(Toolbox::new(self.policy(agent)?))
    }

    /// Where every call is recorded.
    pub fn audit(&self) -> Arc<dyn Audit> {
        self.kept.installation.audit()
    }

    /// Where what is done here is recorded, under the name of who does it.
    pub(crate) fn acts(&self) -> Acts {
        Acts { audit: self.audit(), by: self.by.clone() }
    }

    /// The audit, for reading it.
    ///
    /// # Errors
    /// When nothing is kept here.
    pub fn audit_log(&self) -> Result<&Arc<AuditLog>> {
        self.kept.installation.audit_log().ok_or_else(nothing_yet)
    }

    /// What each call changed.
    ///
    /// # Errors
    /// When nothing is kept here.
    pub fn history(&self) -> Result<&Arc<History>> {
        self.kept.installation.history().ok_or_else(nothing_yet)
    }

    /// The calls that wait for a person.
    ///
    /// # Errors
    /// When nothing is kept here.
    pub fn approvals(&self) -> Result<&Arc<Approvals>> {
        self.kept.installation.approvals().ok_or_else(nothing_yet)
    }
}

fn nothing_yet() -> Failure {
    Failure::missing("nothing has happened here yet", "the history begins with the first call of an agent")
}

/// Who decides and acts: the name of the person whose process this is.
#[must_use]
pub fn person() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let named = named.map(|name| paddock_core::visible(&name)).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "a person".to_owned())
}
