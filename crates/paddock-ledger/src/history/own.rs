//! What is an agent's own: what it made and nobody else has had a hand in since. It may take that away unasked.
//!
//! Whose a file is says its path alone, so everything that brings something else to a path ends it: a move of the file, or of a directory above
//! it from here or to here, what was deleted or brought back, what came from another Workspace, what a change met that nobody has told of. What is
//! not known to be the agent's own is not.

use paddock_core::{AgentName, Effect, Kind, OpKind};

use super::place::Place;
use super::row::{ChangeRow, MET_ANOTHER, OWN_COPY, What};

/// Is what is at a place now the agent's own? The rows are those that touch it, newest first.
pub(crate) fn is_own(rows: &[ChangeRow], place: &Place, agent: &AgentName, now: &Effect) -> bool {
    if !rows.first().is_some_and(|last| is_as_left(last, now)) {
        return false;
    }
    // What a person put there is not the agent's own, although it lies in its Workspaces.
    let is_ours = |row: &ChangeRow| row.by.is_none() && row.agent == agent.as_str();
    let stays =
        |row: &ChangeRow| row.place() == *place && !matches!(row.what, What::Move | What::Delete | What::Restore);
    for row in rows {
        if !is_ours(row) || !stays(row) {
            return false;
        }
        if row.created {
            return is_made(row);
        }
        if row.found == MET_ANOTHER {
            return false;
        }
    }
    false
}

/// Did the agent make what came to be there? What a move brought from another Workspace it did not, unless that was its own there.
fn is_made(row: &ChangeRow) -> bool {
    row.op != OpKind::MoveFrom.verb() || row.found == OWN_COPY
}

/// Is what is there what a change left? A directory is what it holds, which is asked about by itself.
fn is_as_left(row: &ChangeRow, now: &Effect) -> bool {
    let is_dir = now.was.is_some_and(|was| was.kind == Kind::Dir);
    if is_dir { row.version.is_none() } else { row.version.is_some() && row.version == now.before }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use paddock_core::{Before, CallId, EffectKind, LogicalPath, Version};

    use super::*;
    use crate::history::Spot;

    fn made(op: &str, found: i64) -> bool {
        let row = ChangeRow {
            seq: 1,
            call: CallId(1),
            part: 0,
            index: 0,
            at: SystemTime::UNIX_EPOCH,
            agent: "main".to_owned(),
            by: None,
            spot: Spot { territory: "test:/a".to_owned(), path: "f".to_owned() },
            prefix: "/w".to_owned(),
            what: What::Write,
            to: None,
            created: true,
            before: Before::Absent,
            version: Some(Version(7)),
            met: None,
            parents: 0,
            bytes: 1,
            found,
            op: op.to_owned(),
        };
        let (path, before) = (LogicalPath::top(), Some(Version(7)));
        let now = Effect { path, what: EffectKind::Delete, before, len: None, was: None };
        is_own(std::slice::from_ref(&row), &row.place(), &AgentName::main(), &now)
    }

    #[test]
    fn what_was_brought_from_elsewhere_before_that_was_noted_is_not_the_agents_own() {
        // As the first that was known of its place, it was marked when marks came to be.
        assert!([0, MET_ANOTHER].iter().all(|found| !made("move", *found)));
        assert!(made("move", OWN_COPY));
        assert!([0, MET_ANOTHER].iter().all(|found| made("write", *found)));
    }
}
