//! Moments as people write and read them: a date with a time, "10 min ago", or RFC 3339.
//!
//! What a person writes without a zone is meant, and shown, in the zone of this machine; programs get UTC.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, Utc};

/// Written with a date and a time.
const FORMS: [&str; 4] = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"];

/// How a moment can be written.
pub const WAYS: &str = "write \"2026-11-15 12:30\", \"10 min ago\" or 2026-11-15T12:30:00Z";

/// The moment that a text means, seen from `now`.
pub fn parse(text: &str, now: SystemTime) -> Option<SystemTime> {
    let text = text.trim();
    if let Some(ago) = text.strip_suffix("ago") {
        return now.checked_sub(span(ago.trim())?);
    }
    if let Ok(exact) = DateTime::parse_from_rfc3339(text) {
        return Some(exact.into());
    }
    let written = FORMS.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(|day| day.and_time(NaiveTime::MIN));
    let local = written.or_else(day)?.and_local_timezone(Local);
    local.earliest().map(SystemTime::from)
}

/// A number with its unit: "10 min", "2h", "3 days".
fn span(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (count, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "s" | "sec" | "second" | "seconds" => 1,
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 24 * 3600,
        "w" | "week" | "weeks" => 7 * 24 * 3600,
        _ => return None,
    };
    count.parse::<u64>().ok()?.checked_mul(seconds).map(Duration::from_secs)
}

/// For people.
pub fn shown(time: SystemTime) -> String {
    DateTime::<Local>::from(time).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// A moment that is written for programs, for people; what is none stays as it is.
pub fn reshown(exact: &str) -> String {
    parse(exact, SystemTime::UNIX_EPOCH).map_or_else(|| exact.to_owned(), shown)
}

/// For programs.
pub fn exact(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A moment in milliseconds since 1970.
pub fn of_millis(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis.max(0).cast_unsigned())
}

/// Milliseconds since 1970 of a moment.
pub fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<SystemTime> {
        parse(text, of_millis(10_000_000_000))
    }

    #[test]
    fn a_moment_can_be_written_in_many_ways() {
        for (text, ago) in [("10 min ago", 600), ("2h ago", 7200), ("1 day ago", 86_400), ("90 seconds ago", 90)] {
            assert_eq!(at(text), Some(of_millis(10_000_000_000 - ago * 1000)), "{text}");
        }
        let exact_one = at("2026-11-15T12:30:00Z").unwrap();
        assert_eq!(exact(exact_one), "2026-11-15T12:30:00.000Z");
        assert_eq!(at("2026-11-15T13:30:00+01:00"), Some(exact_one));
        for text in ["2026-11-15 12:30", "2026-11-15 12:30:00", "2026-11-15T12:30"] {
            assert_eq!(shown(at(text).unwrap()), "2026-11-15 12:30:00", "{text}");
        }
        assert_eq!(shown(at("2026-11-15").unwrap()), "2026-11-15 00:00:00");
        assert_eq!((reshown(&exact(exact_one)), reshown("once")), (shown(exact_one), "once".to_owned()));
        for bad in ["", "ago", "10 ago", "min ago", "-1 min ago", "99999999999999999999 s ago", "2026-13-01", "soon"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }
}
