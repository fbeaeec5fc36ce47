//! What happened to a path after a change, and whether it all cancels out.
//!
//! A call and the call that undid it leave a path as it was, though under another version. So a change can be taken back
//! after newer ones were, and only what still stands is in the way.

use std::collections::{HashMap, HashSet};

use paddock_core::{CallId, Version};
use paddock_db::DbError;

use super::History;
use super::log::Window;
use super::place::Place;
use super::row::ChangeRow;
use super::storage::Session;

/// What happened to a path since.
#[derive(Debug, Default)]
pub(crate) struct Since {
    /// The calls that still stand, newest first.
    pub(crate) standing: Vec<CallId>,
    /// The version that undoing left, where everything newer was undone.
    pub(crate) version: Option<Version>,
}

impl History {
    /// What happened to a place after a row, and to what is below it if `below`.
    pub(crate) fn since(
        &self,
        session: &mut dyn Session,
        place: &Place,
        row: &ChangeRow,
        below: bool,
    ) -> Result<Since, DbError> {
        let window = Window { after: row.seq, below, ..Window::default() };
        let mut rows = self.touching(session, place, &window)?;
        rows.retain(|newer| newer.call != row.call);
        let standing = self.standing(session, &rows)?;
        let newest = rows.iter().find(|newer| newer.result_place() == *place);
        let version = newest.filter(|_| standing.is_empty()).and_then(|newest| newest.version);
        Ok(Since { standing, version })
    }

    /// Was a place, or one above it, moved after a row, and stays so?
    pub(crate) fn moved_since(
        &self,
        session: &mut dyn Session,
        place: &Place,
        row: &ChangeRow,
    ) -> Result<bool, DbError> {
        let window = Window { after: row.seq, below: false, moves_only: true, ..Window::default() };
        let mut rows = self.touching(session, place, &window)?;
        rows.retain(|newer| newer.call != row.call);
        Ok(!self.standing(session, &rows)?.is_empty())
    }

    /// The calls of these rows, which come newest first, without those that cancel each other out.
    fn standing(&self, session: &mut dyn Session, rows: &[ChangeRow]) -> Result<Vec<CallId>, DbError> {
        let mut calls: Vec<CallId> = Vec::new();
        let mut undoes: HashMap<CallId, Option<CallId>> = HashMap::new();
        for row in rows {
            if undoes.contains_key(&row.call) {
                continue;
            }
            let undone = self.call_in(session, row.call)?.and_then(|call| call.undoes);
            undoes.insert(row.call, undone);
            calls.push(row.call);
        }
        let mut cancelled = HashSet::new();
        for call in &calls {
            let undone = undoes.get(call).copied().flatten().filter(|undone| undoes.contains_key(undone));
            if let (Some(undone), false) = (undone, cancelled.contains(call)) {
                cancelled.extend([*call, undone]);
            }
        }
        calls.retain(|call| !cancelled.contains(call));
        Ok(calls)
    }
}
