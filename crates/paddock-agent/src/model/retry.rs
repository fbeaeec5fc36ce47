//! When a question is asked again, how long is waited before, and what is told of the words meanwhile.
//!
//! Nothing of an answer is used before the answer is whole, so a question can always be asked anew from its beginning. Whoever listens has
//! heard words of the answer that broke off; the same words are not told again, and other ones than were begun with are not told at all:
//! the answer that counts is the one that is returned.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_core::{AgentName, Call, CallId, Cancel};

use super::ModelError;

/// How often somebody who waits looks whether the run was cancelled.
pub(super) const GLANCE: Duration = Duration::from_millis(20);

/// How long a model may take, and how often it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// From the connection to the first byte of an answer.
    pub first_byte: Duration,
    /// Between two bytes of it.
    pub between_bytes: Duration,
    /// For a question with all its attempts.
    pub total: Duration,
    /// The most attempts.
    pub attempts: u32,
    /// The wait after the first attempt; it doubles with each one.
    pub first_wait: Duration,
    /// The longest wait that is chosen here. A service that asks for a longer one gets it while `total` allows.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            between_bytes: Duration::from_secs(60),
            total: Duration::from_secs(600),
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
        }
    }
}

/// An attempt that came to nothing.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: ModelError,
    /// How long the service asks to wait.
    pub(super) retry_after: Option<Duration>,
}

impl From<ModelError> for Failed {
    fn from(error: ModelError) -> Self {
        Self { error, retry_after: None }
    }
}

impl Patience {
    /// How long to wait after this attempt; nothing where it was the last.
    pub(super) fn wait(&self, attempt: u32, failed: &Failed, left: Duration) -> Option<Duration> {
        let passes = matches!(failed.error, ModelError::Busy { .. } | ModelError::Unreachable(_) | ModelError::Slow);
        if !passes || attempt >= self.attempts {
            return None;
        }
        let chosen = backoff(self.first_wait, self.longest_wait, attempt);
        let wait = failed.retry_after.map_or(chosen, |asked| asked.max(chosen.min(self.first_wait)));
        (wait < left).then_some(wait)
    }
}

/// Between the half and the whole of a wait that doubles, so that many who failed together do not come back together.
fn backoff(first: Duration, longest: Duration, attempt: u32) -> Duration {
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
    let whole = doubled.min(longest);
    let part = u32::try_from(RandomState::new().build_hasher().finish() % 1000).unwrap_or(0);
    whole / 2 + (whole / 2) * part / 1000
}

/// Was the run cancelled?
pub(crate) fn is_stopped(cancel: &Cancel) -> bool {
    let far = Instant::now() + Duration::from_secs(3600);
    Call { id: CallId::next(), agent: &AgentName::main(), cancel, deadline: far }.tick(0).is_err()
}

/// Waits, unless the run is cancelled.
pub(super) fn pause(wait: Duration, cancel: &Cancel) -> Result<(), ModelError> {
    let until = Instant::now() + wait;
    loop {
        if is_stopped(cancel) {
            return Err(ModelError::Cancelled);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(GLANCE));
    }
}

/// The wait that a service asks for: in milliseconds, in seconds, or until a moment.
pub(super) fn retry_after(millis: Option<&str>, after: Option<&str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let of_seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(wait) = millis.and_then(number).and_then(|millis| of_seconds(millis / 1000.0)) {
        return Some(wait);
    }
    let after = after?;
    number(after).and_then(of_seconds).or_else(|| {
        let moment = UNIX_EPOCH + Duration::from_secs(moment(after)?);
        Some(moment.duration_since(SystemTime::now()).unwrap_or_default())
    })
}

/// Seconds since 1970 of a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn moment(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = date.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let clock: Vec<u64> = time.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hour, minute, second] = clock[..] else { return None };
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Tells words as they come, and none twice when an answer begins anew.
pub(super) struct Words<'a> {
    heard: &'a mut dyn FnMut(&str),
    told: String,
    /// How much of `told` this attempt has said again.
    at: usize,
    /// Does this attempt say what was told?
    agrees: bool,
}

impl<'a> Words<'a> {
    pub(super) fn new(heard: &'a mut dyn FnMut(&str)) -> Self {
        Self { heard, told: String::new(), at: 0, agrees: true }
    }

    /// The answer begins anew.
    pub(super) fn anew(&mut self) {
        (self.at, self.agrees) = (0, true);
    }

    pub(super) fn say(&mut self, words: &str) {
        if !self.agrees {
            return;
        }
        let again = words.len().min(self.told.len() - self.at);
        self.agrees = words.as_bytes()[..again] == self.told.as_bytes()[self.at..self.at + again];
        self.at += again;
        let new = words.get(again..).filter(|new| self.agrees && !new.is_empty());
        if let Some(new) = new {
            self.told.push_str(new);
            self.at = self.told.len();
            (self.heard)(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> Failed {
        Failed { error: ModelError::Busy { status: 429 }, retry_after: retry_after.map(Duration::from_secs) }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_less_than_half() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_millis(500));
        for (attempt, whole) in [(1, 100), (2, 200), (3, 400), (4, 500), (40, 500)] {
            for _ in 0..50 {
                let wait = backoff(first, longest, attempt).as_millis();
                assert!((whole / 2..=whole).contains(&wait), "{attempt}: {wait}");
            }
        }
        let different: std::collections::HashSet<_> = (0..50).map(|_| backoff(first, longest, 3)).collect();
        assert!(different.len() > 1);
    }

    #[test]
    fn a_wait_is_what_the_service_asks_for_and_fits_into_what_is_left() {
        let patience = Patience::default();
        let hour = Duration::from_secs(3600);
        assert_eq!(patience.wait(1, &busy(Some(40)), hour), Some(Duration::from_secs(40)));
        assert_eq!(patience.wait(1, &busy(Some(40)), Duration::from_secs(30)), None);
        assert_eq!(patience.wait(patience.attempts, &busy(None), hour), None);
        assert!(patience.wait(1, &ModelError::Slow.into(), hour).is_some());
        let refused = ModelError::Refused { status: 400, message: String::new() };
        assert_eq!(patience.wait(1, &refused.into(), hour), None);
        assert_eq!(patience.wait(1, &ModelError::Malformed(String::new()).into(), hour), None);
    }

    #[test]
    fn what_a_service_asks_for_is_understood() {
        assert_eq!(retry_after(None, Some("7")), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(Some("250"), Some("7")), Some(Duration::from_millis(250)));
        assert_eq!(retry_after(Some("soon"), Some("1.5")), Some(Duration::from_millis(1500)));
        assert_eq!(retry_after(None, Some("Sun, 06 Nov 1994 08:49:37 GMT")), Some(Duration::ZERO));
        for nonsense in ["", "-1", "NaN", "soon", "1e300", "Sun, 06 Nov 1994"] {
            assert_eq!(retry_after(None, Some(nonsense)), None, "{nonsense}");
        }
        assert_eq!(moment("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(moment("Tue, 29 Feb 2028 00:00:00 GMT"), Some(1_835_395_200));
        assert_eq!(moment("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    }

    fn told(attempts: &[&[&str]]) -> String {
        let mut all = String::new();
        let mut heard = |words: &str| all.push_str(words);
        let mut words = Words::new(&mut heard);
        for attempt in attempts {
            words.anew();
            attempt.iter().for_each(|piece| words.say(piece));
        }
        all
    }

    #[test]
    fn no_word_is_told_twice() {
        assert_eq!(told(&[&["one ", "tw"], &["o", "ne two", " three"]]), "one two three");
        assert_eq!(told(&[&["one ü"], &["one ö and more"]]), "one ü");
        assert_eq!(told(&[&["one two"], &["one"], &["one two", "!"]]), "one two!");
        assert_eq!(told(&[&["a"], &["b"], &["ab"]]), "ab");
    }

    #[test]
    fn a_pause_ends_when_the_run_is_cancelled() {
        let cancel = Cancel::default();
        assert_eq!(pause(Duration::ZERO, &cancel), Ok(()));
        cancel.stop();
        assert_eq!(pause(Duration::from_secs(3600), &cancel), Err(ModelError::Cancelled));
    }
}
