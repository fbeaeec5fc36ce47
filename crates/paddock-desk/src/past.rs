//! What the commands about the past share: finding the history, and saying why something does not go.
//!
//! It decides nothing: what can be taken back is the history's to say, and every change goes through the guard as
//! a person's act.

use std::error::Error as _;
use std::sync::Arc;

use paddock_config::Installation;
use paddock_core::{DenyRule, ErrorKind, Operation, Outcome, Refused, visible};
use paddock_db::DbError;
use paddock_ledger::audit::AuditError;
use paddock_ledger::history::{Content, History, HistoryError};
use paddock_tools::Person;

use crate::failure::{Failure, FailureKind, Result};
use crate::unified;

/// The project's history, where there is any.
pub fn history(installation: &Installation) -> Result<&Arc<History>> {
    installation.history().ok_or_else(|| {
        Failure::failed("nothing has happened here yet", "the history begins with the first call of an agent")
    })
}

/// What the history says, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn told(error: HistoryError) -> Failure {
    match &error {
        HistoryError::Refused(refused) => self::refused(refused),
        other => {
            let kind = match other {
                HistoryError::NoSuchCall(_) | HistoryError::NoSuchVersion { .. } => FailureKind::Missing,
                HistoryError::AlreadyUndone { .. } | HistoryError::Newer(_) | HistoryError::Moved { .. } => {
                    FailureKind::Conflict
                }
                HistoryError::Database(_) => FailureKind::Broken,
                _ => FailureKind::Failed,
            };
            Failure::of(kind, visible(&other.to_string()), other.hint())
        }
    }
}

/// What the audit says, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn audit_problem(error: AuditError) -> Failure {
    Failure::failed(&error, error.hint())
}

/// What a database says, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn database_problem(error: DbError) -> Failure {
    Failure::failed(&error, error.hint())
}

/// An act that the guard or a Store refused, as it is told to a person.
pub fn refused(refused: &Refused) -> Failure {
    match refused {
        Refused::Denied(denial) | Refused::DeniedInside(denial) => {
            let rule = match denial.rule {
                DenyRule::NoWorkspace => "no Workspace covers it".to_owned(),
                DenyRule::Scope => "the Access Scope does not allow it".to_owned(),
                DenyRule::Unserved => "the Store behind its Workspace cannot do it".to_owned(),
                DenyRule::Hidden => "its name is hidden".to_owned(),
                DenyRule::Guarded(guarded) => format!("its name is guarded ({}: {})", guarded.name, guarded.why),
                DenyRule::Own => "it is Paddock's own".to_owned(),
                DenyRule::HoldsWorkspace => "it is, or holds, a Workspace".to_owned(),
            };
            let message = format!("{} {} is denied: {rule}", denial.op, denial.path);
            // `paddock why` judges the agent, whose scope may be in the way before any name is.
            let hint = match (denial.rule, &denial.workspace) {
                (DenyRule::Guarded(guarded), Some((prefix, ..))) => {
                    format!(
                        "list \"{}\" under `unguard` of {prefix} to lift this, or do it outside of Paddock",
                        guarded.name
                    )
                }
                _ => format!("`paddock why {} {}` says more", denial.op, denial.path),
            };
            Failure::of(FailureKind::Denied, message, hint)
        }
        Refused::Store { path, source } => {
            // What the host says of it is the same once more.
            let cause = source.source().filter(|_| *source.kind() != ErrorKind::NotFound).map(ToString::to_string);
            let message = match &cause {
                Some(cause) => format!("{path}: {source}: {cause}"),
                None => format!("{path}: {source}"),
            };
            Failure::failed(visible(&message), deepest_hint(source))
        }
        Refused::Misuse { .. } | Refused::Gate(_) | Refused::NotApproved { .. } => {
            Failure::failed(refused, "`paddock why` says what is allowed")
        }
    }
}

/// What to do, as the database or the audit that caused it says.
fn deepest_hint(source: &paddock_core::StoreError) -> &'static str {
    if *source.kind() == ErrorKind::NotFound {
        return "list the directory above it to see what is there";
    }
    let inner = source.source().and_then(|cause| cause.downcast_ref::<std::io::Error>()).and_then(|io| io.get_ref());
    let database = inner.and_then(|inner| inner.downcast_ref::<DbError>()).map(DbError::hint);
    let audit = || inner.and_then(|inner| inner.downcast_ref::<AuditError>()).map(AuditError::hint);
    database.or_else(audit).unwrap_or("`paddock log` shows what was done, and `paddock doctor` looks at the rest")
}

/// What a path once held, where it can still be had and is not too large to show. Nothing is an empty content.
pub fn recall(person: &Person<'_>, content: &Content) -> Option<Vec<u8>> {
    let range = content.range().start..content.range().end.min(unified::LARGEST + 1);
    let bytes = match content {
        Content::Nothing => return Some(Vec::new()),
        Content::Dir | Content::Lost => return None,
        Content::Kept { spot, kept, .. } => {
            let path = spot.logical(person.vfs())?;
            person.vfs().recall(&person.call(), &path, kept, &range).ok()?.0
        }
        Content::Now { spot, version, .. } => {
            let path = spot.logical(person.vfs())?;
            match person.look(Operation::Read { path, range }).ok()? {
                Outcome::Read { bytes, meta } if version.is_none_or(|version| version == meta.version) => bytes,
                _ => return None,
            }
        }
    };
    (bytes.len() as u64 <= unified::LARGEST).then_some(bytes)
}

/// A number of bytes as people read it.
pub fn size(bytes: u64) -> String {
    const STEPS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match STEPS.into_iter().find(|(_, step)| bytes >= *step) {
        Some((unit, step)) => format!("{}.{} {unit}", bytes / step, bytes % step * 10 / step),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let shown = [0, 1023, 1024, 1536, 5 << 20, (3 << 30) - 1].map(size);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "2.9 GiB"]);
    }
}
