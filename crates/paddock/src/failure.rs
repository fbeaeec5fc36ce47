//! How a command ends: the exit code, and what a person is told when something is wrong.
//!
//! The one place where errors become words and exit codes. `error:` says what is wrong with the bad value in
//! it, `hint:` the one thing to do next; both go to standard error.

use std::fmt;
use std::process::ExitCode;

use paddock_desk::FailureKind;

/// How a command that ran ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// 0.
    Done,
    /// 1: denied by the policy, or failed.
    Denied,
    /// 2: wrong usage, or a configuration with problems.
    Misused,
    /// 3: a person has to decide first.
    Waiting,
    /// The code of a command that was run for somebody.
    Code(u8),
}

impl From<Ended> for ExitCode {
    fn from(ended: Ended) -> Self {
        Self::from(match ended {
            Ended::Done => 0,
            Ended::Denied => 1,
            Ended::Misused => 2,
            Ended::Waiting => 3,
            Ended::Code(code) => code,
        })
    }
}

/// Errors for a person, with what to do next.
#[derive(Debug)]
pub(crate) struct Failure;

impl Failure {
    /// Something failed while doing what was asked.
    pub(crate) fn failed(message: impl fmt::Display, hint: impl fmt::Display) -> anyhow::Error {
        paddock_desk::Failure::failed(message, hint).into()
    }

    /// What was asked, or the configuration, is not right.
    pub(crate) fn misused(message: impl fmt::Display, hint: impl fmt::Display) -> anyhow::Error {
        paddock_desk::Failure::misused(message, hint).into()
    }
}

/// The words and the exit code for an error.
pub(crate) fn report(error: &anyhow::Error) -> (String, Ended) {
    match error.downcast_ref::<paddock_desk::Failure>() {
        Some(failure) if failure.kind() == FailureKind::Misused => (failure.text().to_owned(), Ended::Misused),
        Some(failure) => (failure.text().to_owned(), Ended::Denied),
        None => (format!("error: {error:#}"), Ended::Denied),
    }
}
