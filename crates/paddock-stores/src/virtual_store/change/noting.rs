//! What a change covers of the layer below: read once, and noted.
//!
//! The note is what a later merge compares with, and what the change makes of a content is taken from the note. Were
//! the layer read once for each, somebody could save in between: the note would hold their lines and the change would
//! not, and a merge would take them for lines that the change removed. For the same reason what a change expects
//! is compared with what was noted. A layer that never changes has no notes, and is read in place.

use paddock_core::{Act, Change, ErrorKind, KeptIn, Kind, Meta, Pieces, RelPath, Result, StoreError};

use super::super::base::{Content, NewRow, RowKind};
use super::super::content::{self, Chunked, Ready, Staging as _};
use super::super::layers::{Found, rel};
use super::super::memory_base::join;
use super::super::overlay;
use super::{NEW_FILE, NOTES, Work, can_be_edited, now};

/// How much of a file of the layer below is copied at once.
const STEP: u64 = 8 * 1024 * 1024;
/// How often a file is read that others save meanwhile.
const TRIES: usize = 3;

impl Work<'_> {
    /// What was found at the path of a change, noted where the change covers it.
    pub(super) fn cover(&mut self, change: &Change, there: Option<Found>) -> Result<Option<Found>> {
        self.noted.clear();
        let path = change.path();
        match (there, change.act()) {
            // It takes nothing from what is there, and may itself need what was noted before.
            (there, Act::Restore { .. }) => Ok(there),
            (None, _) => self.note_nothing(path).map(|()| None),
            // A directory that is there stays as it is.
            (there, Act::MakeDir) => Ok(there),
            (Some(found), act) => {
                if matches!(act, Act::Edit { .. }) && found.kind() == Kind::File {
                    can_be_edited(self.layers().meta(&found).len)?;
                }
                let there = Some(self.note_found(path, found)?);
                // What was read may be newer than what was looked at.
                self.check(there.as_ref(), change.expect())?;
                Ok(there)
            }
        }
    }

    /// Notes what was found at a path that is about to be covered, and answers it as it was noted. Notes stand in noted
    /// directories, so those above get rows first.
    pub(super) fn note_found(&mut self, path: RelPath<'_>, found: Found) -> Result<Found> {
        let Found::Lower(meta) = found else { return Ok(found) };
        if self.has_notes() {
            self.make_parents(path)?;
            // A directory on the way went meanwhile.
            self.layers().below_of(path)?.ok_or(ErrorKind::Stale)?;
        }
        self.note(path, meta)
    }

    /// Nothing shows at a path that is about to be covered: what was noted about it holds no longer.
    pub(super) fn note_nothing(&mut self, path: RelPath<'_>) -> Result<()> {
        if !self.has_notes() || self.rows.get(path.as_str())?.is_some() || self.layers().below_of(path)?.is_none() {
            return Ok(());
        }
        self.noted.insert(path.as_str().to_owned());
        self.forget_notes(path)
    }

    /// A key is covered for the first time: notes what the layer below holds there, unless the change has done so. Where
    /// that layer does not show through, what was noted before holds.
    pub(super) fn remember(&mut self, key: &str) -> Result<()> {
        if !self.has_notes() || self.noted.contains(key) {
            return Ok(());
        }
        let path = rel(key)?;
        let path = path.as_rel();
        if self.layers().below_of(path)?.is_none() {
            return Ok(());
        }
        match self.layers().lower_at(path)? {
            Some(meta) => self.note(path, meta).map(drop),
            None => self.forget_notes(path),
        }
    }

    /// Notes what the layer below shows at a path, and answers it as it was noted. What nobody may read stays what it was:
    /// who asks for its content is told why, and nobody can say later whether it is what it was.
    pub(super) fn note(&mut self, path: RelPath<'_>, meta: Meta) -> Result<Found> {
        if !self.has_notes() {
            return Ok(Found::Lower(meta));
        }
        let (kind, read) = match meta.kind {
            Kind::File => match self.copied_as_it_is(path, &meta) {
                Err(e) if matches!(e.kind(), ErrorKind::HardLinked | ErrorKind::HostRefuses) => (RowKind::Link, None),
                copied => (RowKind::File, Some(copied.map_err(as_saved_meanwhile)?)),
            },
            Kind::Dir => (RowKind::Dir, None),
            Kind::Link => (RowKind::Link, self.link_as_it_is(path, &meta)?),
            Kind::Special => (RowKind::Link, None),
        };
        let (ready, meta, is_read) = match read {
            Some((ready, meta)) => (ready, meta, true),
            None => (Ready::Inline(Vec::new()), meta, false),
        };
        let mode = meta.mode.unwrap_or(NEW_FILE);
        let content = if kind == RowKind::Dir { Content::None } else { ready.content() };
        let row = NewRow { kind, len: ready.len(), mode, modified: now(), content, version: None };
        let row = self.rows.put(&join(NOTES, path.as_str()), &row, false)?;
        self.noted.insert(path.as_str().to_owned());
        Ok(if is_read { Found::Noted(meta, row) } else { Found::Lower(meta) })
    }

    /// A path that is not covered any more has nothing to be compared with.
    pub(super) fn forget_notes(&mut self, path: RelPath<'_>) -> Result<()> {
        if !self.has_notes() {
            return Ok(());
        }
        overlay::remove_notes(self.rows, &join(NOTES, path.as_str()))
    }

    /// Only a layer below that can change has to be remembered.
    fn has_notes(&self) -> bool {
        self.store.lower.is_some() && !self.store.lower_is_frozen
    }

    /// The chunks of a file of the layer below, where that is in the same database: they are named again, not copied.
    pub(super) fn chunks_below(&self, path: RelPath<'_>) -> Result<Option<Pieces>> {
        let Some(lower) = &self.store.lower else { return Ok(None) };
        let pieces = lower.pieces(self.call, path)?;
        Ok(pieces.filter(|pieces| pieces.kept_in == KeptIn::place(&self.store.base)))
    }

    /// The content of a file of the layer below, with something at its end.
    pub(super) fn copied(&self, path: RelPath<'_>, addition: &[u8]) -> Result<Ready> {
        if let Some(Pieces { ids, len, .. }) = self.chunks_below(path)? {
            return Chunked { ids, len }.extended(&self.staging(), self.call, &*self.rows, addition);
        }
        self.read_below(path, addition).map(|(ready, _)| ready)
    }

    /// The content of a file that was found in the layer below, and what the file is that has it: it may have been saved
    /// since.
    fn copied_as_it_is(&self, path: RelPath<'_>, found: &Meta) -> Result<(Ready, Meta)> {
        match self.chunks_below(path)? {
            // Only then is it known what else there is to say of it.
            Some(Pieces { ids, len, version, .. }) if version == found.version => {
                Ok((Ready::Chunks { ids, len }, found.clone()))
            }
            _ => self.read_below(path, &[]),
        }
    }

    /// What a link of the layer below says, where it can be told.
    fn link_as_it_is(&self, path: RelPath<'_>, found: &Meta) -> Result<Option<(Ready, Meta)>> {
        let lower = self.store.lower.as_ref().ok_or(ErrorKind::NotFound)?;
        let text = overlay::link_text(self.call, lower, path).map_err(as_saved_meanwhile)?;
        // A link's text comes without its version.
        if lower.stat(self.call, path).map_err(as_saved_meanwhile)?.version != found.version {
            return Err(ErrorKind::Stale.into());
        }
        Ok((!text.is_empty()).then(|| (Ready::Inline(text.into_bytes()), found.clone())))
    }

    /// Reads a file of the layer below; one that is saved while it is read in steps is read again from its start.
    fn read_below(&self, path: RelPath<'_>, addition: &[u8]) -> Result<(Ready, Meta)> {
        for _ in 0..TRIES {
            if let Some(read) = self.read_at_once(path, addition)? {
                return Ok(read);
            }
        }
        Err(ErrorKind::Stale.into())
    }

    /// As [`Self::read_below`]; nothing where the steps are not all of one version.
    fn read_at_once(&self, path: RelPath<'_>, addition: &[u8]) -> Result<Option<(Ready, Meta)>> {
        let lower = self.store.lower.as_ref().ok_or(ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        let meta = lower.read(self.call, path, 0..STEP, &mut bytes)?;
        let mut ids = Vec::new();
        let mut at = bytes.len() as u64;
        // Pieces are whole chunks until the last one, which ends up shorter.
        while at < meta.len && bytes.len() as u64 == STEP {
            let chunks: Vec<&[u8]> = bytes.chunks(content::CHUNK).collect();
            ids.extend(self.staging().put_in(self.call, &chunks)?);
            bytes.clear();
            let now = lower.read(self.call, path, at..at + STEP, &mut bytes)?;
            if now.version != meta.version {
                return Ok(None);
            }
            at += bytes.len() as u64;
        }
        bytes.extend_from_slice(addition);
        if ids.is_empty() {
            let ready = content::ready(&self.staging(), self.call, bytes, None)?;
            return Ok(Some((ready, meta)));
        }
        let chunks: Vec<&[u8]> = bytes.chunks(content::CHUNK).collect();
        ids.extend(self.staging().put_in(self.call, &chunks)?);
        Ok(Some((Ready::Chunks { ids, len: at + addition.len() as u64 }, meta)))
    }
}

/// What was found a moment ago is gone, or something else.
fn as_saved_meanwhile(said: StoreError) -> StoreError {
    match said.kind() {
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::NotAFile
        | ErrorKind::Link => ErrorKind::Stale.into(),
        _ => said,
    }
}
