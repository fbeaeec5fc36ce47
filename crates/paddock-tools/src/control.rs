//! What bounds one call from outside: a way to stop it, and the time it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::Cancel;

/// How long a call may take at the most, whatever is asked for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Handed in with a call by whoever makes it.
#[derive(Debug, Clone)]
pub struct Control {
    /// Stops the call, and counts what it has looked at.
    pub cancel: Arc<Cancel>,
    /// When the call has to be over.
    pub deadline: Instant,
}

impl Control {
    /// A call that may take this long from now.
    pub fn for_at_most(time: Duration) -> Self {
        Self { cancel: Arc::new(Cancel::default()), deadline: Instant::now() + time.min(LONGEST) }
    }
}
