//! What happened to a path after a change, and whether it all cancels out.
//!
//! A call and the call that undid it leave a path as it was, though under another version. So a change can be taken back
//! after newer ones were, and only what still stands is in the way. That holds where each of them met what the one before had left:
//! else somebody without a row was in between, and what they made must not go by the way.

use std::collections::{HashMap, HashSet};

use paddock_core::{CallId, Version};
use paddock_db::DbError;

use super::History;
use super::log::Window;
use super::place::Place;
use super::row::ChangeRow;
use paddock_db::statements::Session;

/// What happened to a path since.
#[derive(Debug, Default)]
pub(crate) struct Since {
    /// The calls that still stand, newest first.
    pub(crate) standing: Vec<CallId>,
    /// The version that undoing left, where everything newer was undone and nobody else was in between.
    pub(crate) version: Option<Version>,
    /// Every change, newest first, also of calls that cancel each other out.
    pub(crate) rows: Vec<ChangeRow>,
}

/// What a change met at the very path, and what it left there.
struct Link {
    met: Option<Version>,
    left: Option<Version>,
}

/// Did each change, the oldest first, meet what the one before it had left? What is not known is in nobody's way: where
/// something went or came between, one of the changes stands. A directory that moves takes its files along as they are.
fn is_unbroken<'a>(left: Option<Version>, mut newer: impl Iterator<Item = &'a Link>) -> bool {
    newer
        .try_fold(left, |left, link| match (left, link.met) {
            (Some(left), Some(met)) if left != met => None,
            _ => Some(link.left),
        })
        .is_some()
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
        let (mut here, mut before) = (place.clone(), i64::MAX);
        let (mut rows, mut version) = (Vec::new(), None);
        let mut chain = Vec::new();
        'renamed: loop {
            let window = Window { after: row.seq, before, below, ..Window::default() };
            for newer in self.touching(session, &here, &window)? {
                if newer.call == row.call {
                    continue;
                }
                if version.is_none() && newer.result_place() == here {
                    version = newer.version;
                }
                if newer.place() == here || newer.result_place() == here {
                    let left = newer.version.filter(|_| newer.result_place() == here);
                    chain.push(Link { met: newer.met, left });
                }
                let came = newer.to_place().and_then(|to| here.moved(&to, &newer.place()));
                let seq = newer.seq;
                rows.push(newer);
                if let Some(then) = came {
                    // Before that it had another name, under which things happened to it too.
                    (here, before) = (then, seq);
                    continue 'renamed;
                }
            }
            break;
        }
        let standing = self.standing(session, &rows)?;
        let stays = standing.is_empty() && is_unbroken(row.version, chain.iter().rev());
        Ok(Since { version: version.filter(|_| stays), standing, rows })
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
        // A directory has no version; a file that moved had nothing below it.
        rows.retain(|newer| newer.call != row.call && newer.version.is_none());
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
            let call = self.call_in(session, row.call)?;
            undoes.insert(row.call, call.as_ref().and_then(|call| call.undoes));
            // What was changed by the way is in nobody's way.
            if !call.is_some_and(|call| call.is_aside) {
                calls.push(row.call);
            }
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
