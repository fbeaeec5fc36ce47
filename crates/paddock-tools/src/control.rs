//! What bounds one call from outside: a way to stop it, and the time it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{Cancel, Output};

/// How long a call may take at the most, whatever is asked for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Handed in with a call by whoever makes it.
#[derive(Clone)]
pub struct Control {
    /// Stops the call, and counts what it has looked at.
    pub cancel: Arc<Cancel>,
    /// When the call has to be over.
    pub deadline: Instant,
    /// Told what a command prints, as it comes.
    pub listener: Option<Arc<Listener>>,
}

/// Takes what a command prints.
pub type Listener = dyn Fn(Output<'_>) + Send + Sync;

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Control {
    /// A call that may take this long from now.
    pub fn for_at_most(time: Duration) -> Self {
        Self { cancel: Arc::new(Cancel::default()), deadline: Instant::now() + time.min(LONGEST), listener: None }
    }
}
