//! Where the policy of one agent comes from.
//!
//! Asked before every call, so that a configuration a person changed takes effect at the next call.
//! The tools never hold on to a policy longer than one call.

use std::sync::Arc;

use paddock_config::Reloader;
use paddock_core::{AgentPolicy, Audit, NoAudit};
use paddock_state::{Redactor, Secrets};

/// The source of one agent's policy.
pub trait PolicySource: Send + Sync {
    /// The policy that holds now. Cheap when nothing changed.
    fn current(&self) -> Arc<AgentPolicy>;

    /// Grows whenever the policy changed; looks whether it did.
    fn generation(&self) -> u64;

    /// Something that the person who looks after the configuration has to know. Never for the agent.
    fn notice(&self) -> Option<String>;

    /// Where every call is recorded.
    fn audit(&self) -> &dyn Audit {
        &NoAudit
    }

    /// What keeps the values of secrets out of answers. Asked after [`Self::current`], at every call.
    fn redactor(&self) -> Redactor;
}

/// A policy that never changes, without an audit and without secrets: for programs that build their own, and for tests.
#[derive(Debug, Clone)]
pub struct Fixed(pub Arc<AgentPolicy>);

/// As [`Fixed`], with an audit and with secrets.
pub struct Audited {
    /// The policy.
    pub policy: Arc<AgentPolicy>,
    /// Where calls are recorded.
    pub audit: Arc<dyn Audit>,
    /// What must not be in an answer.
    pub secrets: Secrets,
}

impl PolicySource for Audited {
    fn current(&self) -> Arc<AgentPolicy> {
        Arc::clone(&self.policy)
    }

    fn generation(&self) -> u64 {
        1
    }

    fn notice(&self) -> Option<String> {
        None
    }

    fn audit(&self) -> &dyn Audit {
        &*self.audit
    }

    fn redactor(&self) -> Redactor {
        self.secrets.refresh();
        self.secrets.redactor()
    }
}

impl PolicySource for Fixed {
    fn current(&self) -> Arc<AgentPolicy> {
        Arc::clone(&self.0)
    }

    fn generation(&self) -> u64 {
        1
    }

    fn notice(&self) -> Option<String> {
        None
    }

    fn redactor(&self) -> Redactor {
        Redactor::none()
    }
}

/// The policy that a configuration file holds, as it is at each call.
impl PolicySource for Reloader {
    fn current(&self) -> Arc<AgentPolicy> {
        Reloader::current(self)
    }

    fn generation(&self) -> u64 {
        Reloader::generation(self)
    }

    fn notice(&self) -> Option<String> {
        Reloader::notice(self)
    }

    fn audit(&self) -> &dyn Audit {
        Reloader::audit(self)
    }

    fn redactor(&self) -> Redactor {
        Reloader::redactor(self)
    }
}
