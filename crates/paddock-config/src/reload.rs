//! Keeping an agent's policy current while its configuration changes.
//!
//! Asked before each call, at the cost of one `stat`. A valid change takes effect at that call. An invalid
//! one keeps the last valid policy and is told once. A file that is gone, empty or unreadable means no
//! Workspaces at once: taking the file away must never leave the old access behind.
//!
//! What is wrong on the disk and not in the file keeps no policy either, since an agent can bring it about: a Workspace whose
//! Mount cannot be had gives nothing, and where Mounts have come to contradict each other there are none. While that is so, the
//! places of the Mounts are looked at too, and when one of them changes the policy is made again.
//!
//! A file that is being written is waited for; see `quiet.rs`.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use paddock_core::{AgentName, AgentPolicy, Audit};
use paddock_state::{Forks, Redactor, SystemRoot};

use crate::build::{Made, Ports, make, nothing, on_disk};
use crate::config_file::ConfigFile;
use crate::fault::Fault;
use crate::host::Host;
use crate::init::CONFIG_FILE;
use crate::problem::{ConfigError, Problem};
use crate::quiet::{self, Content, Patience, Stamp};
use crate::source::Source;

/// The current policy of one agent, made anew when the configuration changes.
#[derive(Debug)]
pub struct Reloader {
    /// With a link-free directory, so that nobody can slip another file under this name by moving a link.
    path: PathBuf,
    /// As it was named at the start: the links on that way stay Paddock's own.
    named: PathBuf,
    agent: AgentName,
    system_root: SystemRoot,
    ports: Ports,
    held: RwLock<Held>,
    reloading: Mutex<()>,
    generation: AtomicU64,
    notice: Mutex<Option<String>>,
}

/// What was loaded last, and from which state of the file.
#[derive(Debug, Clone)]
struct Held {
    /// The file as it was seen; nothing when the next call has to look again whatever it sees.
    stamp: Option<Stamp>,
    /// The list of forks as it was seen.
    forks: Option<Stamp>,
    /// The secrets as they were: the configuration may name one.
    secrets: u64,
    /// The places of the Mounts as they were seen, where something was amiss with them.
    mounts: Option<Vec<MountSeen>>,
    policy: Arc<AgentPolicy>,
    error: Option<Arc<ConfigError>>,
    /// What a person was told of last.
    told: Option<String>,
}

/// The place of a Mount as it is: itself, and what it leads to, each by device and inode.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MountSeen {
    path: PathBuf,
    itself: Option<(u64, u64)>,
    leads_to: Option<(u64, u64)>,
}

impl MountSeen {
    fn at(path: PathBuf) -> Self {
        let number = |found: io::Result<Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let (itself, leads_to) = (number(fs::symlink_metadata(&path)), number(fs::metadata(&path)));
        Self { path, itself, leads_to }
    }

    fn is_still_so(&self) -> bool {
        *self == Self::at(self.path.clone())
    }
}

impl Reloader {
    /// Loads the policy of an agent. A missing or empty file is no error: it grants nothing.
    ///
    /// # Errors
    /// When the file has a problem, does not have this agent, or names a Mount that cannot be had.
    pub fn start(path: &Path, agent: AgentName, system_root: SystemRoot, ports: Ports) -> Result<Self, ConfigError> {
        Self::start_with(path, agent, system_root, |_, _| Ok::<_, ConfigError>(ports))
    }

    /// As [`Self::start`], with ports that depend on what the file says.
    ///
    /// # Errors
    /// As [`Self::start`], and what the ports answer.
    pub fn start_with<E: From<ConfigError>>(
        path: &Path,
        agent: AgentName,
        system_root: SystemRoot,
        ports: impl FnOnce(&Host, Option<&ConfigFile>) -> Result<Ports, E>,
    ) -> Result<Self, E> {
        let host = Host::new(path, system_root.clone()).map_err(|error| unreadable(path, &error))?;
        let named = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
        let path = host.project_root().join(path.file_name().unwrap_or(CONFIG_FILE.as_ref()));
        let (stamp, content) = quiet::read(&path, Patience::START).map_err(|fault| of_file(&path, fault))?;
        let (ports, policy, forks, told) = match content {
            Content::Nothing => {
                let ports = ports(&host, None)?;
                let policy = nothing(&agent, &ports);
                (ports, policy, None, None)
            }
            Content::Text(text) => {
                let file = ConfigFile::parse(&name_of(&path), &text)?;
                let ports = ports(&host, Some(&file))?;
                // Looked at before they are read: a fork made meanwhile is noticed at the next call.
                let forks = forks_stamp(&ports);
                let Made { policy, closed, idle } = make(&file, &agent, &host, &ports)?;
                // Nobody has anything yet that could stay.
                amiss(&file, closed).map_or(Ok(()), Err)?;
                (ports, policy, forks, amiss(&file, idle).map(|amiss| amiss.to_string()))
            }
        };
        let secrets = ports.secrets.refresh();
        let policy = Arc::new(policy);
        let held = Held { stamp: Some(stamp), forks, secrets, mounts: None, policy, error: None, told: told.clone() };
        Ok(Self {
            path,
            named,
            agent,
            system_root,
            ports,
            held: RwLock::new(held),
            reloading: Mutex::new(()),
            generation: AtomicU64::new(1),
            notice: Mutex::new(told),
        })
    }

    /// The policy that holds now. Looks at the file; waits only while it is being written.
    pub fn current(&self) -> Arc<AgentPolicy> {
        if let Some(policy) = self.unchanged() {
            return policy;
        }
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        // Another call may have loaded it while this one waited.
        self.unchanged().unwrap_or_else(|| self.reload())
    }

    /// Grows with every policy that replaces another. Looks at the file first.
    pub fn generation(&self) -> u64 {
        self.current();
        self.generation.load(Ordering::Acquire)
    }

    /// What is wrong with the file now, while an older policy holds.
    pub fn error(&self) -> Option<Arc<ConfigError>> {
        self.held().error
    }

    /// What a person has to be told about the last change, once.
    pub fn notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Where every call is recorded.
    pub fn audit(&self) -> &dyn Audit {
        &*self.ports.audit
    }

    /// What keeps the values of secrets out of all that is answered. Current as of the last look at the policy.
    pub fn redactor(&self) -> Redactor {
        self.ports.secrets.redactor()
    }

    /// The file that is watched.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn unchanged(&self) -> Option<Arc<AgentPolicy>> {
        let now = quiet::stamp(&self.path).ok()?;
        let forks = forks_stamp(&self.ports);
        let secrets = self.ports.secrets.refresh();
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let is_same = held.stamp == Some(now) && held.forks == forks && held.secrets == secrets;
        let is_mended = || held.mounts.iter().flatten().any(|mount| !mount.is_still_so());
        (is_same && !is_mended()).then(|| Arc::clone(&held.policy))
    }

    fn reload(&self) -> Arc<AgentPolicy> {
        let old = self.held();
        let (forks, secrets) = (forks_stamp(&self.ports), self.ports.secrets.refresh());
        {
            let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
            (held.forks, held.secrets, held.mounts) = (forks, secrets, None);
        }
        match quiet::read(&self.path, Patience::CHANGE) {
            Ok((stamp, Content::Nothing)) => self.hold(Some(stamp), Some(self.nothing()), None, None),
            Ok((stamp, Content::Text(text))) => {
                // Looked at before they are used: what changes meanwhile is noticed at the next call.
                let mounts = self.mounts_of(&text);
                match self.make(&text) {
                    Ok((policy, amiss)) => {
                        self.watch(mounts.filter(|_| amiss.is_some()));
                        self.hold(Some(stamp), Some(policy), None, amiss.as_ref())
                    }
                    Err(error) if takes_all_away(&error) => {
                        self.watch(mounts);
                        self.hold(Some(stamp), Some(self.nothing()), Some(error), None)
                    }
                    Err(error) => self.hold(Some(stamp), None, Some(error), None),
                }
            }
            Err(Fault::StillWritten) => {
                self.hold(old.stamp, None, Some(of_file(&self.path, Fault::StillWritten)), None)
            }
            Err(fault) => self.hold(None, Some(self.nothing()), Some(of_file(&self.path, fault)), None),
        }
    }

    fn nothing(&self) -> AgentPolicy {
        nothing(&self.agent, &self.ports)
    }

    fn watch(&self, mounts: Option<Vec<MountSeen>>) {
        self.held.write().unwrap_or_else(PoisonError::into_inner).mounts = mounts;
    }

    fn mounts_of(&self, text: &str) -> Option<Vec<MountSeen>> {
        let file = ConfigFile::parse(&name_of(&self.path), text).ok()?;
        let host = Host::new(&self.path, self.system_root.clone()).ok()?;
        Some(on_disk(&file, &host).into_iter().map(|(place, _)| MountSeen::at(place)).collect())
    }

    /// The policy of a text, and what of it cannot be had as the disk is now.
    fn make(&self, text: &str) -> Result<(AgentPolicy, Option<ConfigError>), ConfigError> {
        let file = ConfigFile::parse(&name_of(&self.path), text)?;
        let host = Host::new(&self.path, self.system_root.clone()).map_err(|error| unreadable(&self.path, &error))?;
        let Made { policy, mut closed, idle } =
            make(&file, &self.agent, &host.with_links_to(&self.named), &self.ports)?;
        closed.extend(idle);
        Ok((policy, amiss(&file, closed)))
    }

    /// Takes over what was loaded: without a new policy the old one stays. What is amiss beside a policy that holds is told too.
    fn hold(
        &self,
        stamp: Option<Stamp>,
        policy: Option<AgentPolicy>,
        error: Option<ConfigError>,
        amiss: Option<&ConfigError>,
    ) -> Arc<AgentPolicy> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let told = error.as_ref().or(amiss).map(ToString::to_string);
        if told.is_some() && told != held.told {
            self.notice.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&told);
        }
        if let Some(policy) = policy {
            // Nothing after nothing is no change that anybody has to hear of.
            if !(gives_nothing(&policy) && gives_nothing(&held.policy)) {
                self.generation.fetch_add(1, Ordering::AcqRel);
            }
            held.policy = Arc::new(policy);
        }
        (held.stamp, held.error, held.told) = (stamp, error.map(Arc::new), told);
        Arc::clone(&held.policy)
    }
}

/// Has the agent nothing at all by it?
fn gives_nothing(policy: &AgentPolicy) -> bool {
    policy.vfs.workspaces().is_empty() && policy.commands.is_none() && policy.web_search.is_none()
}

/// What a file names and the disk does not have, where there is something.
fn amiss(file: &ConfigFile, problems: Vec<Problem>) -> Option<ConfigError> {
    (!problems.is_empty()).then(|| ConfigError::new(Arc::clone(file.source()), problems))
}

/// The list of forks as it is now; a change of it changes what an agent has.
fn forks_stamp(ports: &Ports) -> Option<Stamp> {
    let forks = Forks::of(ports.home.as_ref()?);
    quiet::stamp(forks.path()).ok()
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| CONFIG_FILE.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn of_file(path: &Path, fault: Fault) -> ConfigError {
    ConfigError::one(&Arc::new(Source::new(name_of(path), "")), Problem::of_file(fault))
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    of_file(path, Fault::Unreadable(error.to_string()))
}

/// The file no longer speaks of this agent, which has lost its Workspaces; or the disk has become one on which they contradict each
/// other or cannot be looked for. An agent can do that, and must not keep the old policy by it.
fn takes_all_away(error: &ConfigError) -> bool {
    let takes = |fault: &Fault| matches!(fault, Fault::NoSuchAgent { .. } | Fault::Alias(_) | Fault::Unreadable(_));
    error.problems().iter().any(|problem| takes(problem.fault()))
}
