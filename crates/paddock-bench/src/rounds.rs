//! Measuring two ways of doing the same work in turn, so that a noisy machine is noisy for both.

use std::time::{Duration, Instant};

/// The same work done two ways.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    /// Median time of one piece of work, the way it is compared with.
    pub(crate) base: Duration,
    /// Median time of one piece of work, our way.
    pub(crate) ours: Duration,
}

impl Compared {
    /// Our time as a multiple of the other's.
    pub(crate) fn ratio(self) -> f64 {
        self.ours.as_secs_f64() / self.base.as_secs_f64()
    }
}

/// Runs both in turn, `rounds` times `per_round` pieces of work each, after one round to warm up.
pub(crate) fn compare(
    rounds: usize,
    per_round: usize,
    mut base: impl FnMut(usize),
    mut ours: impl FnMut(usize),
) -> Compared {
    let (mut base_times, mut our_times) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let base_time = time(per_round, &mut base);
        let our_time = time(per_round, &mut ours);
        if round > 0 {
            base_times.push(base_time);
            our_times.push(our_time);
        }
    }
    Compared { base: median(base_times), ours: median(our_times) }
}

/// Median time of one piece of work.
pub(crate) fn measure(rounds: usize, per_round: usize, mut work: impl FnMut(usize)) -> Duration {
    let times = (0..=rounds).map(|_| time(per_round, &mut work)).skip(1).collect();
    median(times)
}

fn time(count: usize, work: &mut impl FnMut(usize)) -> Duration {
    let start = Instant::now();
    (0..count).for_each(work);
    start.elapsed() / u32::try_from(count).unwrap_or(u32::MAX)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
