//! How long to wait before the next try, and when to stop trying.

use std::thread;
use std::time::{Duration, Instant};

use super::connection::random;
use super::trouble::Fault;

/// The longest pause, when a server is away.
const LONGEST: Duration = Duration::from_secs(1);
/// The longest pause, when two transactions were in each other's way.
const LONGEST_CONFLICT: Duration = Duration::from_millis(50);

/// What is left of somebody's patience.
#[derive(Debug)]
pub(super) struct Patience {
    until: Instant,
    next: Duration,
}

impl Patience {
    pub(super) fn new(until: Instant) -> Self {
        Self { until, next: Duration::from_millis(2) }
    }

    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Waits longer each time, by chance a bit more or less, so that many do not come back at once. False when
    /// another try would be too late.
    pub(super) fn pause(&mut self, after: Fault) -> bool {
        let longest = if after == Fault::Conflict { LONGEST_CONFLICT } else { LONGEST };
        let pause = self.next.min(longest).mul_f64(0.5 + f64::from(random() as u16) / f64::from(u16::MAX));
        self.next = self.next.saturating_mul(2).min(LONGEST);
        if Instant::now() + pause >= self.until {
            return false;
        }
        thread::sleep(pause);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_before_its_deadline() {
        let until = Instant::now() + Duration::from_millis(100);
        let mut patience = Patience::new(until);
        let mut pauses = 0;
        while patience.pause(Fault::Lost) {
            pauses += 1;
            assert!(pauses < 100);
        }
        assert!(pauses > 0);
    }
}
