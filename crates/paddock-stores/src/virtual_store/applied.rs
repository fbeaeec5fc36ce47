//! What an Overlay's notes were before each apply, for when that apply is undone below.
//!
//! An apply makes the Overlay's own rows the common ancestor. Once it is undone below, that ancestor is wrong: the
//! Overlay's work would pass for something that everybody has, and be discarded without a question. So the ancestor
//! before it is remembered for each path that an apply changed, under the id of its call. Whether a call was undone is
//! the ledger's knowledge, and is told ([`VirtualStore::without`]); nothing here guesses it from contents. A call that put
//! single paths below, to settle a conflict, is remembered in the same way: the next apply would else make its paths the
//! ancestor for good.
//!
//! Every one is remembered: forgotten, it could still be undone, and the work it carried would be out of sight. Those that the
//! ledger knows no more are told as undone, and go with the next apply.

use std::collections::{BTreeSet, HashSet};

use paddock_core::{Call, CallId, RelPath, RelPathBuf, Result};

use super::VirtualStore;
use super::base::{Content, NewRow, Row, RowKind, Rows, RowsMut};
use super::change::NOTES;
use super::memory_base::join;
use super::overlay::{everything_at, remove_notes};

/// Where it is remembered. No path can lead there, as with notes.
const APPLIED: &str = "\u{1}applied";
/// Marks a row that only leads to others.
const WAY: u32 = 0;
/// Marks a path that had no note.
const WITHOUT_NOTE: u32 = 1;
/// Marks the top of a call that put single paths below, and so changed no note.
const ALONE: u32 = 2;

/// One apply that is remembered.
#[derive(Debug)]
pub(super) struct Remembered {
    id: CallId,
    undone: bool,
    alone: bool,
}

impl Remembered {
    fn key(&self) -> String {
        join(APPLIED, &self.id.to_string())
    }
}

/// The applies that are remembered, newest first.
pub(super) fn applies(rows: &dyn Rows, undone: &HashSet<CallId>) -> Result<Vec<Remembered>> {
    let found = rows.children(APPLIED, None, usize::MAX)?;
    let apply = |(name, row): &(String, Row)| {
        let id = CallId::parse(name)?;
        Some(Remembered { id, undone: undone.contains(&id), alone: is_marked(row, ALONE) })
    };
    Ok(found.iter().rev().filter_map(apply).collect())
}

/// The note about a path, as it is without the applies that were undone.
pub(super) fn note(rows: &dyn Rows, applies: &[Remembered], path: RelPath<'_>) -> Result<Option<Row>> {
    let mut note = rows.get(&join(NOTES, path.as_str()))?;
    for apply in applies {
        match rows.get(&join(&apply.key(), path.as_str()))? {
            Some(row) if is_marked(&row, WAY) => {}
            // The note is as it was before this one.
            Some(_) if !apply.undone && apply.alone => {}
            // What came before is below this one.
            Some(_) if !apply.undone => break,
            Some(row) => note = (!is_marked(&row, WITHOUT_NOTE)).then_some(row),
            None => {}
        }
    }
    Ok(note)
}

/// Does a note about one of these directories, the nearest first, say that what the layer below held in them is no ancestor?
pub(super) fn is_hidden<'p>(
    rows: &dyn Rows,
    applies: &[Remembered],
    dirs: impl Iterator<Item = RelPath<'p>>,
) -> Result<bool> {
    for dir in dirs {
        match note(rows, applies, dir)?.map(|row| row.kind) {
            None => {}
            Some(kind) => return Ok(kind != RowKind::Dir),
        }
    }
    Ok(false)
}

/// The paths, this one and those below it, that there may be a note about without the applies that were undone.
pub(super) fn noted(rows: &dyn Rows, applies: &[Remembered], path: RelPath<'_>) -> Result<BTreeSet<String>> {
    let undone = applies.iter().filter(|apply| apply.undone).map(Remembered::key);
    let mut found = BTreeSet::new();
    for top in undone.chain([NOTES.to_owned()]) {
        let keys = everything_at(rows, &join(&top, path.as_str()))?;
        found.extend(keys.iter().map(|key| key[top.len() + 1..].to_owned()));
    }
    Ok(found)
}

/// What says of a path that there is nothing any more.
pub(super) fn gone() -> Row {
    Row { kind: RowKind::Whiteout, len: 0, mode: 0, modified: 0, version: 0, body: None }
}

/// Remembers the notes about what an apply changed. What was undone before it is part of them from now on.
pub(super) fn remember(
    rows: &mut dyn RowsMut,
    undone: &HashSet<CallId>,
    by: CallId,
    changed: &[RelPathBuf],
) -> Result<()> {
    let known = applies(&*rows, undone)?;
    keep(rows, &known, &Remembered { id: by, undone: false, alone: false }, changed)?;
    for undone in known.iter().filter(|apply| apply.undone) {
        remove_notes(rows, &undone.key())?;
    }
    Ok(())
}

/// Keeps the notes about these paths under the call that changes them below.
fn keep(rows: &mut dyn RowsMut, known: &[Remembered], this: &Remembered, changed: &[RelPathBuf]) -> Result<()> {
    put(rows, &this.key(), &marker(if this.alone { ALONE } else { WAY }))?;
    for path in changed {
        for above in path.as_rel().ancestors().skip(1).filter(|above| !above.is_here()) {
            let key = join(&this.key(), above.as_str());
            if rows.get(&key)?.is_some() {
                break;
            }
            put(rows, &key, &marker(WAY))?;
        }
        let before = note(&*rows, known, path.as_rel())?.unwrap_or_else(|| marker(WITHOUT_NOTE));
        put(rows, &join(&this.key(), path.as_str()), &before)?;
    }
    Ok(())
}

fn marker(mode: u32) -> Row {
    Row { kind: RowKind::Link, len: 0, mode, modified: 0, version: 0, body: None }
}

/// A link of an agent's always has a content, if only an empty one.
fn is_marked(row: &Row, mode: u32) -> bool {
    row.kind == RowKind::Link && row.body.is_none() && row.mode == mode
}

/// A row of before once more, with the same content and version.
pub(super) fn put(rows: &mut dyn RowsMut, key: &str, row: &Row) -> Result<()> {
    let Row { kind, len, mode, modified, version, body } = *row;
    let content = body.map_or(Content::None, Content::Shared);
    rows.put(key, &NewRow { kind, len, mode, modified, content, version: Some(version) }, false).map(|_| ())
}

impl VirtualStore {
    /// This call is about to put what the Overlay holds at these paths below, and nothing else of it. No note changes, so what other
    /// applies remember is still needed and stays, also of those that were undone.
    pub fn will_be_below(&self, call: &Call<'_>, paths: &[RelPathBuf]) -> Result<()> {
        self.base.write(call, &self.namespace, &mut |rows| {
            let known = applies(&*rows, &self.undone)?;
            rows.advance()?;
            keep(rows, &known, &Remembered { id: call.id, undone: false, alone: true }, paths)
        })
    }

    /// The calls that put something of this Overlay below, as far as they are remembered.
    pub fn applies(&self, call: &Call<'_>) -> Result<Vec<CallId>> {
        self.at(call, |layers| Ok(applies(layers.rows, &HashSet::new())?.iter().map(|apply| apply.id).collect()))
    }

    /// The same Overlay, with these applies of it undone: what they had changed below counts as not applied.
    #[must_use]
    pub fn without(mut self, undone: impl IntoIterator<Item = CallId>) -> Self {
        self.undone = undone.into_iter().collect();
        self
    }
}
