//! A moment as the stored formats write it: ISO 8601 in UTC with milliseconds, `2026-11-15T12:30:00.000Z`.

use std::fmt;

use chrono::{DateTime, SecondsFormat, SubsecRound as _, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self(Utc::now().trunc_subsecs(3))
    }

    /// A moment given as milliseconds since 1970; one that no date is for becomes the first of all.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(DateTime::from_timestamp_millis(millis).unwrap_or_default())
    }

    /// The moment that a text in the format of the files means; other offsets and precisions are read too.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|moment| Self(moment.with_timezone(&Utc).trunc_subsecs(3)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl From<Timestamp> for std::time::SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0.into()
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format!("{text:?} is no moment in ISO 8601")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_kept_and_always_written() {
        for text in ["2026-11-15T12:30:00.000Z", "1999-01-01T00:00:00.123Z"] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Timestamp::parse("2026-11-15T13:30:00+01:00").unwrap().to_string(), "2026-11-15T12:30:00.000Z");
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
