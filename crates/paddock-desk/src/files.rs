//! Files of an agent's Workspaces, as the person in charge sees and changes them.
//!
//! Looks and acts go through [`Person`]: judged as if every scope were READ_WRITE, while hidden, guarded and Paddock's own names hold. So what is
//! hidden never leaves, whatever is asked for. A large file is read in pieces under one version, and taken in through a file without a
//! name, so that neither ever has to fit into memory. Each act is one call of the history.

mod act;
mod look;
mod receive;
mod search;

use std::sync::Arc;

use paddock_core::{AgentName, AgentPolicy, Audit, ErrorKind, LogicalPath, Refused};
use paddock_tools::Person;

use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::{past, workspaces};

pub use act::{Changed, delete, make_dir, move_to, put};
pub(crate) use act::{NEW, leaving, taking, writing};
pub use look::{EntryShown, FileShown, Listing, Opened, TextShown, list, open, stat, text};
pub use receive::Receiving;
pub use search::{FileHits, Found, Line, Named, Sought, named, search};

/// A path of an agent's Workspaces, and the policy that judges it.
pub struct Spot {
    /// Whose Workspaces.
    pub agent: AgentName,
    /// Which path.
    pub path: LogicalPath,
    policy: Arc<AgentPolicy>,
    audit: Arc<dyn Audit>,
    by: String,
}

impl std::fmt::Debug for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spot").field("agent", &self.agent).field("path", &self.path).finish_non_exhaustive()
    }
}

impl Spot {
    /// The path that a person names, of `main` where no agent is named.
    ///
    /// # Errors
    /// When there is no such agent, or it is no path.
    pub fn of(desk: &Desk, agent: Option<&str>, path: &str) -> Result<Self> {
        let agent = workspaces::agent_named(desk, agent)?;
        let policy = desk.policy(&agent)?.current();
        let path = parsed(&policy, path)?;
        Ok(Self { agent, path, policy, audit: desk.audit(), by: desk.by().to_owned() })
    }

    /// Another path of the same agent.
    ///
    /// # Errors
    /// When it is no path.
    pub fn at(&self, path: &str) -> Result<Self> {
        Ok(self.to(parsed(&self.policy, path)?))
    }

    fn to(&self, path: LogicalPath) -> Self {
        let (policy, audit) = (Arc::clone(&self.policy), Arc::clone(&self.audit));
        Self { agent: self.agent.clone(), path, policy, audit, by: self.by.clone() }
    }

    fn person(&self) -> Person<'_> {
        Person::on(&self.policy, &*self.audit).named(&self.by)
    }
}

fn parsed(policy: &AgentPolicy, path: &str) -> Result<LogicalPath> {
    policy.path(path).map_err(|error| Failure::misused(&error, error.hint()))
}

/// What the guard or a Store refused, with the kind of it.
fn refused(refused: &Refused) -> Failure {
    let kind = match refused {
        Refused::Denied(_) | Refused::DeniedInside(_) | Refused::Gate(_) | Refused::NotApproved { .. } => {
            FailureKind::Denied
        }
        Refused::Misuse { .. } => FailureKind::Misused,
        Refused::Store { source, .. } => kind_of(source.kind()),
    };
    past::refused(refused).kind_of(kind)
}

fn kind_of(error: &ErrorKind) -> FailureKind {
    match error {
        ErrorKind::NotFound => FailureKind::Missing,
        ErrorKind::AlreadyExists
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::NotEmpty
        | ErrorKind::Stale
        | ErrorKind::Busy => FailureKind::Conflict,
        ErrorKind::LinkEscapes | ErrorKind::HardLinked => FailureKind::Denied,
        ErrorKind::BadPattern(_) => FailureKind::Misused,
        ErrorKind::BadAnswer(_) | ErrorKind::Io => FailureKind::Broken,
        _ => FailureKind::Failed,
    }
}
