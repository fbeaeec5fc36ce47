//! What an Overlay itself holds, and what it stood on when it covered a path.
//!
//! Each path has three states: what the Overlay holds (its row), what the layer below holds (the caller's View says),
//! and the common ancestor of both. The ancestor is a note where one was written, else what a frozen layer shows. Notes
//! are rows under a name that no path can have: written when a path is first covered over a layer that can change, and
//! replaced by the Overlay's own rows once these were applied below. Nothing here changes what an agent sees.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

use paddock_core::{
    Call, ErrorKind, Kind, LastName, Meta, RelPath, RelPathBuf, Result, Version, View, Walk, tree_order,
};

use super::VirtualStore;
use super::applied;
use super::base::{Row, RowKind, Rows, RowsMut};
use super::change::NOTES;
use super::content;
use super::layers::{Found, Layers, rel};
use super::memory_base::join;

const PAGE: usize = 1024;

/// A row of an Overlay's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnRow {
    key: String,
    pub(crate) row: Row,
}

impl OwnRow {
    pub(crate) fn path(&self) -> Result<RelPathBuf> {
        rel(&self.key)
    }

    /// Is it one of these paths, or below one?
    fn is_in(&self, paths: &HashSet<&str>) -> bool {
        let ends = self.key.match_indices('/').map(|(end, _)| end).chain([self.key.len()]);
        !paths.is_empty() && ends.into_iter().any(|end| paths.contains(&self.key[..end]))
    }
}

/// What is at a path on one of the three sides.
#[derive(Debug, Clone, Default)]
pub(crate) enum Thing<'v> {
    #[default]
    Absent,
    /// A row: the Overlay's own, or a note.
    Row(Row),
    /// Something that a View shows.
    Seen(Meta, &'v View),
}

impl<'v> Thing<'v> {
    /// What a View shows at a path; nothing where something on the way is no directory.
    pub(crate) fn seen(call: &Call<'_>, view: &'v View, path: RelPath<'_>) -> Result<Self> {
        match view.stat(call, path) {
            Ok(meta) => Ok(Self::Seen(meta, view)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link) => {
                Ok(Self::Absent)
            }
            Err(e) => Err(e),
        }
    }

    fn of_row(row: Row) -> Self {
        if row.kind == RowKind::Whiteout { Self::Absent } else { Self::Row(row) }
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Absent => None,
            Self::Row(row) => row.kind.shown(),
            Self::Seen(meta, _) => Some(meta.kind),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Row(row) => row.len,
            Self::Seen(meta, _) => meta.len,
        }
    }

    /// The version that the layer below knows it by.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            Self::Seen(meta, _) => Some(meta.version),
            _ => None,
        }
    }

    pub(crate) fn mode(&self) -> Option<u32> {
        match self {
            Self::Absent => None,
            Self::Row(row) => Some(row.mode),
            Self::Seen(meta, _) => meta.mode,
        }
    }

    /// Surely the same content, without a look at it.
    pub(crate) fn is_surely(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Row(a), Self::Row(b)) => a.body.is_some() && a.body == b.body,
            (Self::Seen(a, _), Self::Seen(b, _)) => a.version == b.version,
            _ => false,
        }
    }
}

/// An Overlay at one moment.
pub(crate) struct Overlaid<'a> {
    layers: &'a Layers<'a>,
    frozen: bool,
    /// The applies that are remembered, where some were undone.
    applies: Vec<applied::Remembered>,
    /// Is what a `.gitignore` names left apart?
    pub(crate) leaves_ignored: bool,
    /// What is left apart by name.
    pub(crate) excepted: &'a [RelPathBuf],
}

impl<'a> Overlaid<'a> {
    /// Every row of its own, in tree order.
    pub(crate) fn own_rows(&self) -> Result<Vec<OwnRow>> {
        own_rows(self.layers.call, self.layers.rows, "")
    }

    /// What the Overlay holds by a row of its own.
    pub(crate) fn ours(own: &OwnRow) -> Thing<'a> {
        Thing::of_row(own.row.clone())
    }

    /// Paths without a row of their own that a note is about, and what shows through there: they were applied once,
    /// and the Overlay let go of them since.
    pub(crate) fn let_go(&self) -> Result<Vec<(RelPathBuf, Thing<'a>)>> {
        let mut found = Vec::new();
        let below = format!("{NOTES}/");
        for noted in own_rows(self.layers.call, self.layers.rows, NOTES)? {
            let path = rel(noted.key.strip_prefix(&below).unwrap_or(&noted.key))?;
            let through = match self.layers.below_of(path.as_rel()) {
                Err(e) if matches!(e.kind(), ErrorKind::NotADirectory | ErrorKind::Link) => None,
                through => through?,
            };
            if through.is_none() || self.layers.rows.get(path.as_str())?.is_some() {
                continue;
            }
            let ours = match self.layers.lower {
                Some(lower) => Thing::seen(self.layers.call, lower, path.as_rel())?,
                None => Thing::Absent,
            };
            found.push((path, ours));
        }
        Ok(found)
    }

    /// The common ancestor: what the layer below held when the path was first covered, or what both held when the
    /// Overlay was last applied.
    pub(crate) fn ancestor(&self, path: RelPath<'_>) -> Result<Thing<'a>> {
        if let Some(note) = self.note(path)? {
            return Ok(Thing::of_row(note));
        }
        if applied::is_hidden(self.layers.rows, &self.applies, path.ancestors().skip(1))? {
            return Ok(Thing::Absent);
        }
        match self.layers.lower.filter(|_| self.frozen) {
            Some(lower) => Thing::seen(self.layers.call, lower, path),
            None => Ok(Thing::Absent),
        }
    }

    fn note(&self, path: RelPath<'_>) -> Result<Option<Row>> {
        applied::note(self.layers.rows, &self.applies, path)
    }

    /// The beginning of a file as the Overlay shows it; nothing where there is none.
    pub(crate) fn shown(&self, path: RelPath<'_>, most: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let found = self.layers.find(path).ok()?;
        self.layers.read(path, &found, 0..most, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Appends the bytes of a range of a file.
    pub(crate) fn read(
        &self,
        path: RelPath<'_>,
        thing: &Thing<'_>,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match thing {
            Thing::Absent => Err(ErrorKind::NotFound.into()),
            Thing::Row(row) => content::read(self.layers.rows, row, range, out),
            Thing::Seen(_, view) => view.read(self.layers.call, path, range, out).map(|_| ()),
        }
    }

    /// What a link says, as it is written: only that means the same wherever the link is put. Nothing where it cannot be
    /// told.
    pub(crate) fn link_text(&self, path: RelPath<'_>, link: &Thing<'_>) -> Result<String> {
        match link {
            Thing::Absent => Ok(String::new()),
            Thing::Row(row) => self.layers.link_text(row),
            Thing::Seen(_, view) => link_text(self.layers.call, view, path),
        }
    }

    /// Does a note say of a link only where it leads, from the top of the Mount? Earlier versions wrote such notes.
    pub(crate) fn is_noted_place(&self, path: RelPath<'_>, note: &Thing<'_>, link: &Thing<'_>) -> Result<bool> {
        match (note, link) {
            (Thing::Row(row), Thing::Seen(meta, view)) if row.kind == RowKind::Link && meta.kind == Kind::Link => {
                let place = view.resolve(self.layers.call, path, LastName::Follow);
                let text = self.layers.link_text(row)?;
                Ok(place.is_ok_and(|place| text.strip_prefix('/') == Some(place.as_str())))
            }
            _ => Ok(false),
        }
    }
}

impl VirtualStore {
    /// Looks at an Overlay at one moment.
    pub(crate) fn overlaid<T>(&self, call: &Call<'_>, mut look: impl FnMut(&Overlaid<'_>) -> Result<T>) -> Result<T> {
        self.at(call, |layers| {
            let remembered = !self.undone.is_empty();
            let applies = if remembered { applied::applies(layers.rows, &self.undone)? } else { Vec::new() };
            let (frozen, leaves_ignored) = (self.lower_is_frozen, self.leaves_ignored);
            look(&Overlaid { layers, frozen, applies, leaves_ignored, excepted: &self.excepted })
        })
    }

    /// Every path that has a row of its own, in tree order: over a View, just what differs from it.
    pub fn own_rows(&self, call: &Call<'_>) -> Result<Vec<(RelPathBuf, RowKind)>> {
        let rows = self.overlaid(call, |seen| seen.own_rows())?;
        rows.iter().map(|own| Ok((own.path()?, own.row.kind))).collect()
    }

    /// The common ancestor of what an Overlay and the layer below hold at a path: what was below when the path was
    /// first covered, or what the Overlay held when it was last applied. Nothing where that was no file.
    pub fn covered(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Vec<u8>>> {
        self.overlaid(call, |seen| {
            let ancestor = seen.ancestor(path)?;
            if ancestor.kind() != Some(Kind::File) {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            seen.read(path, &ancestor, 0..u64::MAX, &mut bytes)?;
            Ok(Some(bytes))
        })
    }

    /// The same Overlay, compared without what a `.gitignore` of it names, or with it.
    #[must_use]
    pub fn leaving_ignored(mut self, apart: bool) -> Self {
        self.leaves_ignored = apart;
        self
    }

    /// The same Overlay, compared without these paths and what is below them.
    #[must_use]
    pub fn excepting(mut self, paths: Vec<RelPathBuf>) -> Self {
        self.excepted = paths;
        self
    }

    /// These rows were applied below by this call, and changed these paths: from now on they are the common ancestor, but for
    /// those that stayed apart. Answers no, and changes nothing, when the Overlay holds something else by now.
    pub(crate) fn acknowledge(
        &self,
        call: &Call<'_>,
        applied: &[OwnRow],
        changed: &[RelPathBuf],
        apart: &[RelPathBuf],
    ) -> Result<bool> {
        let mut same = false;
        self.base.write(call, &self.namespace, &mut |rows| {
            same = own_rows(call, &*rows, "")? == applied;
            if !same {
                return Ok(());
            }
            rows.advance()?;
            let known = applied::applies(&*rows, &self.undone)?;
            let notes = self.notes_of(call, &*rows, &known, applied, apart)?;
            let kept = keep_apart(rows, &known, apart)?;
            applied::remember(rows, &self.undone, call.id, &with_what_hides(applied, changed)?)?;
            remove_notes_unless(rows, NOTES, &|key| kept.contains(key))?;
            notes.iter().try_for_each(|(key, row)| applied::put(rows, &join(NOTES, key), row))
        })?;
        Ok(same)
    }

    /// What is noted of rows that were applied: they themselves. Only a directory that was made anew and leads to what stays
    /// apart hides that from the layer below no more than before; it hides what else was there.
    fn notes_of(
        &self,
        call: &Call<'_>,
        rows: &dyn Rows,
        known: &[applied::Remembered],
        applied: &[OwnRow],
        apart: &[RelPathBuf],
    ) -> Result<Vec<(String, Row)>> {
        let is_apart: HashSet<&str> = apart.iter().map(RelPathBuf::as_str).collect();
        let leading = apart.iter().flat_map(|path| path.as_rel().ancestors().skip(1).map(RelPath::as_str));
        let leads: HashSet<&str> = leading.collect();
        let own: HashSet<&str> = applied.iter().map(|own| own.key.as_str()).collect();
        let mut notes = Vec::with_capacity(applied.len());
        for own_row @ OwnRow { key, row } in applied.iter().filter(|own| !own.is_in(&is_apart)) {
            let path = own_row.path()?;
            let mut row = row.clone();
            if row.kind == RowKind::OpaqueDir
                && leads.contains(key.as_str())
                && let Some(lower) = self.lower.as_ref().filter(|_| self.lower_is_frozen)
                && !applied::is_hidden(rows, known, path.as_rel().ancestors())?
            {
                row.kind = RowKind::Dir;
                for name in names_in(call, lower, path.as_rel())? {
                    if !own.contains(name.as_str()) && !is_apart.contains(name.as_str()) {
                        notes.push((name, applied::gone()));
                    }
                }
            }
            notes.push((key.clone(), row));
        }
        Ok(notes)
    }
}

/// What is noted of paths that stay apart, and below them, stays noted, as it is without the applies that were undone. Answers
/// where: nothing else holds these contents, so the notes are never taken away.
fn keep_apart(rows: &mut dyn RowsMut, known: &[applied::Remembered], apart: &[RelPathBuf]) -> Result<HashSet<String>> {
    let mut kept = HashSet::new();
    for path in apart {
        for noted in applied::noted(&*rows, known, path.as_rel())? {
            if let Some(note) = applied::note(&*rows, known, rel(&noted)?.as_rel())? {
                let key = join(NOTES, &noted);
                applied::put(rows, &key, &note)?;
                kept.insert(key);
            }
        }
    }
    Ok(kept)
}

/// What an apply changes, and the directories whose notes will hide what was in them before, though they are as they were.
fn with_what_hides(applied: &[OwnRow], changed: &[RelPathBuf]) -> Result<Vec<RelPathBuf>> {
    let hiding = applied.iter().filter(|own| own.row.kind == RowKind::OpaqueDir).map(OwnRow::path);
    hiding.chain(changed.iter().cloned().map(Ok)).collect()
}

/// What a View shows in a directory, each by its path; nothing where there is none.
fn names_in(call: &Call<'_>, view: &View, dir: RelPath<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    if Thing::seen(call, view, dir)?.kind() == Some(Kind::Dir) {
        view.walk(call, dir, &Walk { depth: Some(1), ..Walk::default() }, &mut |entry| {
            names.extend(entry.plain.then(|| entry.path.to_owned()));
            ControlFlow::Continue(())
        })?;
    }
    Ok(names)
}

/// The rows below a key, in tree order. Directories have rows above what they hold, so that all are found.
fn own_rows(call: &Call<'_>, rows: &dyn Rows, below: &str) -> Result<Vec<OwnRow>> {
    let mut found = Vec::new();
    let mut todo = vec![below.to_owned()];
    while let Some(dir) = todo.pop() {
        call.tick(1)?;
        let mut after: Option<String> = None;
        loop {
            let page = rows.children(&dir, after.as_deref(), PAGE)?;
            let full = page.len() == PAGE;
            after = page.last().map(|(name, _)| name.clone());
            for (name, row) in page {
                let key = join(&dir, &name);
                if row.kind.shown() == Some(Kind::Dir) {
                    todo.push(key.clone());
                }
                found.push(OwnRow { key, row });
            }
            if !full {
                break;
            }
        }
    }
    found.sort_by(|a, b| tree_order(&a.key, &b.key));
    Ok(found)
}

/// What a link of a View says, as it is written; nothing where it is not UTF-8.
pub(super) fn link_text(call: &Call<'_>, view: &View, path: RelPath<'_>) -> Result<String> {
    match view.leads_to(call, path) {
        Err(e) if matches!(e.kind(), ErrorKind::Unsupported(_)) => Ok(String::new()),
        text => text,
    }
}

/// What the layer below held at a path when it was covered, where it does not show through any more: what can change
/// was noted, and what cannot is as it was.
pub(super) fn kept_below(layers: &Layers<'_>, frozen: bool, path: RelPath<'_>) -> Result<Option<Found>> {
    if frozen && let Some(lower) = layers.lower {
        return match Thing::seen(layers.call, lower, path)? {
            Thing::Seen(meta, _) => Ok(Some(Found::Lower(meta))),
            _ => Ok(None),
        };
    }
    let note = layers.rows.get(&join(NOTES, path.as_str()))?;
    // The note of what nobody could read is an empty link.
    let is_whole = |row: &Row| row.kind == RowKind::File || row.kind == RowKind::Link && row.len > 0;
    Ok(note.filter(is_whole).map(Found::Own))
}

/// Removes a note with all notes below it. Every note has notes of directories above it, or is at the top.
pub(super) fn remove_notes(rows: &mut dyn RowsMut, key: &str) -> Result<()> {
    remove_notes_unless(rows, key, &|_| false)
}

/// The same, but for those that stay.
fn remove_notes_unless(rows: &mut dyn RowsMut, key: &str, stays: &dyn Fn(&str) -> bool) -> Result<()> {
    for key in everything_at(&*rows, key)? {
        if !stays(&key) && rows.get(&key)?.is_some() {
            rows.remove(&key, false)?;
        }
    }
    Ok(())
}

/// A key, and every key below it, whatever stands there.
pub(super) fn everything_at(rows: &dyn Rows, key: &str) -> Result<Vec<String>> {
    let mut found = vec![key.to_owned()];
    let mut looked_at = 0;
    while let Some(key) = found.get(looked_at).cloned() {
        looked_at += 1;
        let mut after: Option<String> = None;
        loop {
            let page = rows.children(&key, after.as_deref(), PAGE)?;
            found.extend(page.iter().map(|(name, _)| join(&key, name)));
            match page.last() {
                Some((name, _)) if page.len() == PAGE => after = Some(name.clone()),
                _ => break,
            }
        }
    }
    Ok(found)
}
