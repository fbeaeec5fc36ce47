//! Measuring several ways of doing the same work in turn, so that a noisy machine is noisy for all of them.
//!
//! Owns the order (A, B, C, A, B, C …), the round that warms up and is thrown away, and the medians. Only ratios
//! of medians out of one such run mean anything; nothing here judges them.

use std::time::{Duration, Instant};

use anyhow::Result;

/// What one piece of work took, round by round, for one way of doing it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// Of rounds that somebody else counted.
    pub(crate) fn of(rounds: Vec<Duration>) -> Self {
        Self(rounds)
    }

    /// Round by round.
    pub(crate) fn rounds(&self) -> &[Duration] {
        &self.0
    }

    /// The middle one.
    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// Our median time as a multiple of theirs.
    pub(crate) fn times(&self, theirs: &Self) -> f64 {
        self.median().as_secs_f64() / theirs.median().as_secs_f64()
    }

    /// Round by round the same ratio, and of those the first and the third quartile: how steady it was.
    pub(crate) fn spread(&self, theirs: &Self) -> (f64, f64) {
        let pairs = self.0.iter().zip(&theirs.0);
        let mut ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours.as_secs_f64() / theirs.as_secs_f64()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let at = |quarter: usize| ratios.get(ratios.len() * quarter / 4).copied().unwrap_or_default();
        (at(1), at(3))
    }
}

/// Runs `round(which)` for each of so many ways in turn, `rounds` times after one that does not count.
pub(crate) fn in_turn(
    ways: usize,
    rounds: usize,
    mut round: impl FnMut(usize) -> Result<Duration>,
) -> Result<Vec<Samples>> {
    let mut samples = vec![Samples::default(); ways];
    for n in 0..=rounds {
        for (which, samples) in samples.iter_mut().enumerate() {
            let took = round(which)?;
            if n > 0 {
                samples.0.push(took);
            }
        }
    }
    Ok(samples)
}

/// Time of one piece of work: `count` of them, one after the other, by the clock.
pub(crate) fn time(count: usize, work: &mut impl FnMut(usize)) -> Duration {
    let start = Instant::now();
    (0..count).for_each(work);
    start.elapsed() / u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(milliseconds: &[u64]) -> Samples {
        Samples(milliseconds.iter().copied().map(Duration::from_millis).collect())
    }

    #[test]
    fn ways_take_turns_and_the_first_round_does_not_count() {
        let mut order = Vec::new();
        let taken = in_turn(2, 2, |which| {
            order.push(which);
            Ok(Duration::from_millis(order.len() as u64))
        });
        assert_eq!(order, [0, 1, 0, 1, 0, 1]);
        let taken = taken.unwrap();
        assert_eq!(taken[0].0, samples(&[3, 5]).0);
        assert_eq!(taken[1].0, samples(&[4, 6]).0);
    }

    #[test]
    fn a_round_that_fails_ends_the_run() {
        assert!(in_turn(1, 5, |_| anyhow::bail!("wrong answer")).is_err());
    }

    #[test]
    fn one_round_that_was_disturbed_does_not_change_the_ratio() {
        let (ours, theirs) = (samples(&[10, 10, 900, 10, 10]), samples(&[20, 20, 20, 20, 20]));
        assert!((ours.times(&theirs) - 0.5).abs() < 1e-9);
        let (low, high) = ours.spread(&theirs);
        assert!((low - 0.5).abs() < 1e-9 && (high - 0.5).abs() < 1e-9);
    }
}
