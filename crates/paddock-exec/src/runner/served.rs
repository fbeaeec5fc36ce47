//! Workspaces that are no directory of the host: served to the command as a file system, and forked where it may change
//! them.
//!
//! The fork holds what the command changes in the memory of this process, never on the host's disk. Guarded names do not hold in
//! it: what became of them is judged when the command has ended, like everything else it did. What others changed meanwhile is
//! merged, or is an obstacle.

use std::sync::{Arc, Mutex, PoisonError};

use paddock_core::{
    AccessScope, AgentName, Alteration, Call, GUARDED, Gate, LogicalPath, Mount, NameRules, NoJournal, Passed, Permit,
    Plan, Quota, Refused, Request, Vfs, View, Workspace,
};
use paddock_fuse::{How, Others, Served, Session};
use paddock_stores::fork::merge;
use paddock_stores::virtual_store::base::Namespace;
use paddock_stores::virtual_store::{MemoryBase, VirtualStore};

use crate::error::Error;
use crate::sandbox::Serve;

/// What of the Workspaces is served during one run.
pub(super) struct ServedPlaces {
    vfs: Arc<Vfs>,
    agent: AgentName,
    forks: Vec<Fork>,
    sessions: Sessions,
}

/// Keeps what is served alive until the command has ended.
type Sessions = Arc<Mutex<Vec<Session>>>;

/// A Workspace as the command changes it.
struct Fork {
    prefix: LogicalPath,
    store: Arc<VirtualStore>,
    below: View,
}

impl ServedPlaces {
    /// What is to be served of an agent's Workspaces; at most `room` bytes may be changed in each.
    pub(super) fn of(call: &Call<'_>, vfs: &Vfs, room: u64) -> Result<Self, Error> {
        let mut forks = Vec::new();
        let workspaces = vfs.workspaces().iter().map(|workspace| {
            let forked = fork(workspace, vfs.workspaces(), room);
            match forked {
                Some((shown, fork)) => {
                    forks.push(fork);
                    shown
                }
                None => workspace.clone(),
            }
        });
        let workspaces: Vec<Workspace> = workspaces.collect();
        let vfs = Vfs::new(workspaces, Arc::new(Open), Arc::new(NoJournal))
            .map_err(|_| Error::Place { at: "/".into(), why: "its Workspaces contradict each other" })?;
        Ok(Self { vfs: Arc::new(vfs), agent: call.agent.clone(), forks, sessions: Arc::default() })
    }

    /// Serves what is below a path, once its device is there.
    pub(super) fn serve(&self, at: &LogicalPath, scope: AccessScope) -> Serve<std::os::fd::OwnedFd> {
        let how = if scope == AccessScope::ReadOnly { How::ReadOnly } else { How::Writable };
        let others = if scope == AccessScope::ReadOnly { Others::MayChange } else { Others::ChangeNothing };
        let served = Served::new(Arc::clone(&self.vfs), at.clone(), how, self.agent.clone()).while_others(others);
        let sessions = Arc::clone(&self.sessions);
        Box::new(move |device| match served.serve(device) {
            Ok(session) => sessions.lock().unwrap_or_else(PoisonError::into_inner).push(session),
            // The command then meets a file system that answers nothing but errors.
            Err(error) => tracing::error!(%error, "a Workspace could not be served to a command"),
        })
    }

    /// What the command changed, and what stands in the way of making it.
    pub(super) fn changes(&self, call: &Call<'_>) -> (Vec<Alteration>, Vec<String>) {
        // Serving ends with the command's own mounts; only then has everything been written.
        let sessions = std::mem::take(&mut *self.sessions.lock().unwrap_or_else(PoisonError::into_inner));
        for session in sessions {
            let _ = session.wait();
        }
        let (mut alterations, mut obstacles) = (Vec::new(), Vec::new());
        for fork in &self.forks {
            match merge(call, &fork.store, &fork.below, &fork.prefix) {
                Ok(merged) => match merged.ready() {
                    Ok(ready) => alterations.extend(ready.iter().cloned()),
                    Err(conflicts) => obstacles.extend(conflicts.iter().map(|conflict| {
                        let path = fork.prefix.join(conflict.path.as_rel());
                        format!("\"{path}\": {}.", conflict.kind.why())
                    })),
                },
                Err(error) => obstacles.push(format!("what it changed in {} cannot be read: {error}.", fork.prefix)),
            }
        }
        (alterations, obstacles)
    }
}

/// A read-write Workspace that is no directory of the host, as the command changes it.
fn fork(workspace: &Workspace, all: &[Workspace], room: u64) -> Option<(Workspace, Fork)> {
    if workspace.host_directory().is_some() || workspace.scope() != AccessScope::ReadWrite {
        return None;
    }
    let below = View::of(workspace, all)?;
    let store = VirtualStore::new(Arc::new(MemoryBase::new()), Namespace::new(["staged"])).over(below.clone());
    let store = Arc::new(store);
    let everything: Vec<String> = GUARDED.iter().map(|name| name.name.to_owned()).collect();
    let names = NameRules::new(workspace.names().hide_patterns().to_vec(), &everything, &[]).ok()?;
    let quota = Quota { bytes: Some(room), files: None };
    let shown = Workspace::new(workspace.prefix().clone(), AccessScope::ReadWrite, Mount::new(store.clone(), None))
        .with_names(names)
        .with_quota(quota);
    Some((shown, Fork { prefix: workspace.prefix().clone(), store, below }))
}

/// Nothing is decided while a command runs: what it did is put before the Gate when it has ended.
struct Open;

impl Gate for Open {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        Ok(Passed::Now(permit.grant()))
    }
}
