//! Why something a person asked for was not done: what is wrong, and the one thing to do next.
//!
//! The command line prints it with an exit code, the console answers it with a status: both ask [`Failure::kind`].

use std::fmt;
use std::io;

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// What was asked, or the configuration, is not right.
    Misused,
    /// The policy does not allow it.
    Denied,
    /// There is no such thing.
    Missing,
    /// Something else happened meanwhile, or stands in the way.
    Conflict,
    /// As much as there may be is under way; later it can be done.
    Busy,
    /// It was tried, and failed.
    Failed,
    /// The host or a database is at fault.
    Broken,
}

/// An error for a person, with what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    text: String,
    kind: FailureKind,
    details: Option<Box<serde_json::Value>>,
}

/// What comes of a look or an act.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Something failed while doing what was asked.
    pub fn failed(message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::of(FailureKind::Failed, message, hint)
    }

    /// What was asked, or the configuration, is not right.
    pub fn misused(message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::of(FailureKind::Misused, message, hint)
    }

    /// There is no such thing.
    pub fn missing(message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::of(FailureKind::Missing, message, hint)
    }

    /// A failure of this kind.
    pub fn of(kind: FailureKind, message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::told(format!("error: {message}\nhint: {hint}"), kind)
    }

    /// A text that is complete already, its hints included.
    pub fn told(text: impl Into<String>, kind: FailureKind) -> Self {
        Self { text: text.into(), kind, details: None }
    }

    /// The same as another kind.
    #[must_use]
    pub fn kind_of(mut self, kind: FailureKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same with more for programs: what exactly is in the way.
    #[must_use]
    pub fn with_details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// More for programs.
    #[must_use]
    pub fn details(&self) -> Option<&serde_json::Value> {
        self.details.as_deref()
    }

    /// What sort of failure it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// All that is told: `error:` and `hint:`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong, without what to do about it.
    #[must_use]
    pub fn message(&self) -> &str {
        let text = self.text.strip_prefix("error: ").unwrap_or(&self.text);
        text.split_once("\nhint: ").map_or(text, |(message, _)| message)
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.text.split_once("\nhint: ").map(|(_, hint)| hint)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// For what the host refuses beside the work itself.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::of(FailureKind::Broken, error, "`paddock doctor` looks at what could be wrong here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_parts_are_found_again() {
        let failure = Failure::misused("it is wrong", "do it right");
        assert_eq!(failure.text(), "error: it is wrong\nhint: do it right");
        assert_eq!((failure.message(), failure.hint()), ("it is wrong", Some("do it right")));
        assert_eq!(Failure::told("error: alone", FailureKind::Failed).hint(), None);
    }
}
