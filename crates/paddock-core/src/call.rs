//! Who calls, until when, and how to stop it.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use thiserror::Error;

use crate::error::{ErrorKind, StoreError};

/// Identifies one call, in this process and in every other; an effect is applied once per id.
///
/// Ids made later sort later, to the millisecond. Written as 26 letters and digits without those that look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u128);

const ID_LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH: u32 = 26;

impl CallId {
    /// The next id of this process.
    pub fn next() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish() >> 16);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let count = u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
        Self((millis & 0xffff_ffff_ffff) << 80 | (count & 0xffff_ffff) << 48 | u128::from(*PROCESS))
    }

    /// Reads what its `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != ID_LENGTH as usize {
            return None;
        }
        let digit = |b| ID_LETTERS.iter().position(|letter| *letter == b).map(|at| at as u128);
        let (first, rest) = (digit(*text.as_bytes().first()?)?, &text.as_bytes()[1..]);
        // 26 digits hold 130 bits: the first has only 3 of them.
        let start = if first < 8 { Some(first) } else { None };
        rest.iter().try_fold(start?, |id, b| Some(id << 5 | digit(*b)?)).map(Self)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |n: u32| char::from(ID_LETTERS[(self.0 >> (5 * n) & 31) as usize]);
        let text: String = (0..ID_LENGTH).rev().map(digit).collect();
        f.pad(&text)
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
    cut_short: AtomicU64,
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

    /// How many files the call has searched a part of only.
    pub fn cut_short(&self) -> u64 {
        self.cut_short.load(Ordering::Relaxed)
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

    /// Counts a file whose rest is not searched, because a line in it is too long. Stores call this, so that
    /// nobody takes what was found for all there is.
    pub fn cut_short(&self) {
        self.cancel.cut_short.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_and_read_back_and_later_ones_sort_later() {
        let (first, second) = (CallId::next(), CallId::next());
        assert_eq!(CallId::parse(&first.to_string()), Some(first));
        assert_eq!(CallId::parse(&CallId(u128::MAX).to_string()), Some(CallId(u128::MAX)));
        assert!(first < second && first.to_string() < second.to_string());
        for bad in ["", "0", "8zzzzzzzzzzzzzzzzzzzzzzzzz", "il0uuuuuuuuuuuuuuuuuuuuuuu", "é0000000000000000000000000"]
        {
            assert_eq!(CallId::parse(bad), None, "{bad}");
        }
    }
}
