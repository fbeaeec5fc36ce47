//! What a program is told: every refusal as one error number. One place, so that the same refusal is told the same way.
//!
//! A number says no more than the tools would: what is hidden is simply not there.

use fuser::Errno;
use paddock_core::{AccessScope, Decision, Denial, DenyRule, ErrorKind, OpKind, PathError, Refused, Workspace};

/// What is answered instead of a result.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// A refusal of the Vfs, as a number.
pub(crate) fn of(refused: &Refused) -> Errno {
    match refused {
        Refused::Denied(denial) => denied(denial),
        // Naming what is in the way could tell of something hidden.
        Refused::DeniedInside(_) | Refused::Gate(_) | Refused::NotApproved { .. } => Errno::EACCES,
        Refused::Store { source, .. } => failed(source.kind()),
        Refused::Misuse { .. } => Errno::EINVAL,
    }
}

/// A verdict of the policy that is a denial.
pub(crate) fn of_decision(op: OpKind, decision: &Decision<'_>) -> Errno {
    by_rule(op, decision.workspace().map(Workspace::scope), decision.deny_rule())
}

fn denied(denial: &Denial) -> Errno {
    by_rule(denial.op, denial.workspace.as_ref().map(|(_, scope, _)| *scope), denial.rule)
}

fn by_rule(op: OpKind, scope: Option<AccessScope>, rule: DenyRule) -> Errno {
    match rule {
        DenyRule::Hidden | DenyRule::NoWorkspace if !op.changes() => Errno::ENOENT,
        DenyRule::Scope if scope == Some(AccessScope::ReadOnly) => Errno::EROFS,
        DenyRule::HoldsWorkspace => Errno::EBUSY,
        DenyRule::Unserved => Errno::EOPNOTSUPP,
        DenyRule::Scope | DenyRule::Hidden | DenyRule::NoWorkspace | DenyRule::Guarded(_) | DenyRule::Own => {
            Errno::EACCES
        }
    }
}

fn failed(kind: &ErrorKind) -> Errno {
    match kind {
        ErrorKind::NotFound => Errno::ENOENT,
        ErrorKind::AlreadyExists => Errno::EEXIST,
        ErrorKind::IsADirectory => Errno::EISDIR,
        ErrorKind::NotADirectory => Errno::ENOTDIR,
        ErrorKind::NotEmpty => Errno::ENOTEMPTY,
        ErrorKind::Stale | ErrorKind::NotKept | ErrorKind::UsedUp => Errno::ESTALE,
        ErrorKind::Link | ErrorKind::LinkEscapes => Errno::ELOOP,
        ErrorKind::NotAFile => Errno::ENXIO,
        ErrorKind::HardLinked => Errno::EPERM,
        ErrorKind::TooLarge { .. } => Errno::EFBIG,
        ErrorKind::Full => Errno::ENOSPC,
        ErrorKind::OverQuota { .. } => Errno::EDQUOT,
        ErrorKind::HostRefuses => Errno::EACCES,
        ErrorKind::Busy => Errno::EBUSY,
        ErrorKind::Cancelled => Errno::EINTR,
        ErrorKind::TimedOut => Errno::ETIMEDOUT,
        ErrorKind::Unsupported(_) => Errno::EOPNOTSUPP,
        ErrorKind::Edit(_) | ErrorKind::BadPattern(_) => Errno::EINVAL,
        ErrorKind::BadAnswer(_) | ErrorKind::Io => Errno::EIO,
    }
}

/// A name that no logical path can hold.
pub(crate) fn of_path(error: &PathError) -> Errno {
    match error {
        PathError::NameTooLong(_) | PathError::TooLong(_) => Errno::ENAMETOOLONG,
        PathError::Escapes(_) | PathError::Forbidden { .. } => Errno::EINVAL,
    }
}

/// What the host said about a file in memory.
pub(crate) fn of_host(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)
}

#[cfg(test)]
mod tests {
    use paddock_core::{LogicalPath, Origin, StoreError};

    use super::*;

    fn code(refused: &Refused) -> i32 {
        of(refused).code()
    }

    fn denial(op: OpKind, scope: AccessScope, rule: DenyRule) -> Refused {
        let path = LogicalPath::top();
        let workspace = Some((path.clone(), scope, Origin::unknown()));
        let allowed_in = std::sync::Arc::from(Vec::new());
        Refused::Denied(Box::new(Denial { op, asked: path.clone(), path, workspace, rule, allowed_in }))
    }

    #[test]
    fn a_denial_says_what_a_file_system_would_say() {
        let rows = [
            (OpKind::Write, AccessScope::ReadOnly, DenyRule::Scope, Errno::EROFS),
            (OpKind::Read, AccessScope::WriteOnly, DenyRule::Scope, Errno::EACCES),
            (OpKind::Read, AccessScope::ReadWrite, DenyRule::Hidden, Errno::ENOENT),
            (OpKind::Write, AccessScope::ReadWrite, DenyRule::Hidden, Errno::EACCES),
            (OpKind::Read, AccessScope::ReadWrite, DenyRule::NoWorkspace, Errno::ENOENT),
            (OpKind::Write, AccessScope::ReadWrite, DenyRule::NoWorkspace, Errno::EACCES),
            (OpKind::Write, AccessScope::ReadWrite, DenyRule::Own, Errno::EACCES),
            (OpKind::Delete, AccessScope::ReadWrite, DenyRule::HoldsWorkspace, Errno::EBUSY),
        ];
        for (op, scope, rule, expected) in rows {
            assert_eq!(code(&denial(op, scope, rule)), expected.code(), "{op} {scope} {rule:?}");
        }
    }

    #[test]
    fn a_failure_keeps_its_meaning() {
        let store = |kind: ErrorKind| Refused::Store { path: LogicalPath::top(), source: StoreError::from(kind) };
        let rows = [
            (ErrorKind::NotFound, Errno::ENOENT),
            (ErrorKind::Stale, Errno::ESTALE),
            (ErrorKind::OverQuota { what: "bytes", limit: 1 }, Errno::EDQUOT),
            (ErrorKind::Full, Errno::ENOSPC),
            (ErrorKind::NotEmpty, Errno::ENOTEMPTY),
            (ErrorKind::TooLarge { what: "it", limit: 1 }, Errno::EFBIG),
        ];
        for (kind, expected) in rows {
            assert_eq!(code(&store(kind.clone())), expected.code(), "{kind:?}");
        }
    }
}
