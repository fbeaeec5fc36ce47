//! Who calls, until when, and how to stop it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use thiserror::Error;

use crate::error::{ErrorKind, StoreError};

/// Identifies one call; an effect is applied once per id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

impl CallId {
    /// The next id of this process.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The name of an agent in the configuration: letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(String);

/// A text that cannot name an agent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{0}\" cannot name an agent: use 1 to 64 letters, digits, \"-\" or \"_\"")]
pub struct BadAgentName(pub String);

impl AgentName {
    /// The agent that a configuration without `[agents]` speaks of.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// Checks a name.
    pub fn parse(text: &str) -> Result<Self, BadAgentName> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if (1..=64).contains(&text.len()) && text.bytes().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadAgentName(crate::path::visible(text)))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shared between a call and whoever may stop it; also counts what the call has seen, so that
/// progress can be told without a callback from inside a Store.
#[derive(Debug, Default)]
pub struct Cancel {
    stopped: AtomicBool,
    seen: AtomicU64,
}

impl Cancel {
    /// Asks the call to stop at its next step.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// How many entries the call has looked at.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

/// One call: its id, its agent, and what bounds it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The id that makes its effect happen once.
    pub id: CallId,
    /// The agent that calls.
    pub agent: &'a AgentName,
    /// How to stop it.
    pub cancel: &'a Cancel,
    /// When it has to be over.
    pub deadline: Instant,
}

impl Call<'_> {
    /// Counts `n` entries as looked at and stops the call when it was cancelled or is out of time.
    /// Stores call this once per entry or chunk.
    pub fn tick(&self, n: u64) -> Result<(), StoreError> {
        self.cancel.seen.fetch_add(n, Ordering::Relaxed);
        if self.cancel.stopped.load(Ordering::Relaxed) {
            return Err(ErrorKind::Cancelled.into());
        }
        if Instant::now() >= self.deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}
