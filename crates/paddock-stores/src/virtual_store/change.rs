//! Making the changes of a set on a Virtual Store: all of them in one transaction, or none.
//!
//! Large contents are staged before it, so that it stays short. Edits and appends are computed inside, where nobody
//! else writes; a large file that is edited is prepared outside first, and prepared again inside only if somebody was
//! faster. Every change is a commit of its own, so that each state in between can be asked for.

mod noting;

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use paddock_core::{
    Act, Applied, AppliedChange, Before, Call, Change, ChangeSet, EditError, ErrorKind, Expect, Kept, Kind, Looks,
    MAX_EDITED, PLAIN_MODE, RelPath, RelPathBuf, Replacement, Result, SNIFF, Staged, TextKind, Usage, Version, edit,
    suited_to,
};

use super::VirtualStore;
use super::base::{BaseStore, Commit, Content, NewRow, Row, RowKind, RowsMut};
use super::content::{self, Chunked, Like, Ready, Within};
use super::layers::{Found, Layers, rel};
use super::memory_base::join;
use super::overlay;
use super::remembered::Remembered;

const NEW_FILE: u32 = 0o644;
const NEW_DIR: u32 = 0o755;
const NEW_LINK: u32 = 0o777;
/// Where notes of the layer below are kept. No path can lead there: no row has this name, and no agent can write it.
pub(super) const NOTES: &str = "\u{1}lower";

/// What was made ready before the transaction, for one change.
struct Prepared {
    ready: Ready,
    replacements: usize,
    /// Only good while the file is this one.
    of: Option<u64>,
}

pub(super) fn apply(store: &VirtualStore, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
    let mut prepared: Vec<Option<Prepared>> = Vec::with_capacity(set.changes().len());
    for change in set.changes() {
        prepared.push(prepare(store, call, change)?);
    }
    let mut applied = Applied::default();
    store.base.write(call, &store.namespace, &mut |rows| {
        let before = rows.usage()?;
        let mut remembered = Remembered::new(rows);
        let mut work =
            Work { store, call, rows: &mut remembered, usage: before, keep: set.keeps(), noted: HashSet::new() };
        applied.changes.clear();
        for (change, prepared) in set.changes().iter().zip(&prepared) {
            call.tick(1)?;
            applied.changes.push(work.make(change, prepared.as_ref())?);
        }
        let after = work.usage;
        set.quota().allow(before, after)?;
        rows.set_usage(after)
    })?;
    Ok(applied)
}

/// What a [`Kept`] of this Store names: a key, and the commit after which it was so.
pub(super) fn read_kept(kept: &Kept) -> Result<(Commit, RelPathBuf)> {
    let parts = kept.0.split_once(':').and_then(|(commit, key)| Some((commit.parse().ok()?, key)));
    let (commit, key) = parts.ok_or(ErrorKind::NotKept)?;
    Ok((Commit(commit), RelPathBuf::parse(key).map_err(|_| ErrorKind::NotKept)?))
}

/// Large contents go in before the transaction.
fn prepare(store: &VirtualStore, call: &Call<'_>, change: &Change) -> Result<Option<Prepared>> {
    let base: &dyn BaseStore = &*store.base;
    match change.act() {
        Act::Write { content, .. } if content.len() > content::CHUNK => {
            let ready = content::ready(&base, call, content.clone(), None)?;
            Ok(Some(Prepared { ready, replacements: 0, of: None }))
        }
        Act::Take { staged } => {
            let ready = content::staged(&base, call, staged)?;
            Ok(Some(Prepared { ready, replacements: 0, of: None }))
        }
        Act::Edit { edits } => {
            let large = store.at(call, |layers| match layers.look(change.path())? {
                Some(Found::Own(row)) if row.body.is_some_and(|body| body.chunked) => {
                    large_content(layers, &row).map(|(bytes, ids)| Some((row.version, bytes, ids)))
                }
                _ => Ok(None),
            });
            // What is wrong with it is told by the transaction.
            let Ok(Some((version, bytes, ids))) = large else { return Ok(None) };
            let Ok((edited, replacements)) = edit(&bytes, edits) else { return Ok(None) };
            let ready = content::ready(&base, call, edited, Some(&Like { bytes: &bytes, ids: &ids }))?;
            Ok(Some(Prepared { ready, replacements, of: Some(version) }))
        }
        _ => Ok(None),
    }
}

fn large_content(layers: &Layers<'_>, row: &Row) -> Result<(Vec<u8>, Vec<u64>)> {
    can_be_edited(row.len)?;
    let mut bytes = Vec::new();
    content::read(layers.rows, row, 0..row.len, &mut bytes)?;
    let ids = match row.body {
        Some(body) if body.chunked => layers.rows.chunks(body, 0..u64::MAX)?,
        _ => Vec::new(),
    };
    Ok((bytes, ids))
}

fn can_be_edited(len: u64) -> Result<()> {
    if len > MAX_EDITED as u64 {
        return Err(ErrorKind::TooLarge { what: "the size of a file to edit", limit: MAX_EDITED as u64 }.into());
    }
    Ok(())
}

/// A transaction while its changes are made.
struct Work<'a> {
    store: &'a VirtualStore,
    call: &'a Call<'a>,
    rows: &'a mut dyn RowsMut,
    usage: Usage,
    keep: bool,
    /// Keys that the change which is being made has noted.
    noted: HashSet<String>,
}

impl Work<'_> {
    fn make(&mut self, change: &Change, prepared: Option<&Prepared>) -> Result<AppliedChange> {
        let path = change.path();
        let there = self.layers().look(path)?;
        self.check(there.as_ref(), change.expect())?;
        let file = there.as_ref().filter(|found| found.kind() != Kind::Dir);
        let met = file.map(|found| self.layers().meta(found).version);
        let before = Commit(self.rows.head().0);
        self.rows.advance()?;
        let there = self.cover(change, there)?;
        let mut done = match change.act() {
            Act::Write { content, mode } => self.write(path, there.as_ref(), content, *mode, prepared),
            Act::Append { content } => self.append(path, there.as_ref(), content),
            Act::Edit { edits } => self.edit(path, there.as_ref(), edits, prepared),
            Act::MakeDir => self.make_dir(path, there.as_ref()),
            Act::Move { to } => self.move_to(path, there.as_ref(), to.as_rel()),
            Act::Delete => self.delete(path, there.as_ref()),
            Act::Restore { kept } => self.restore(path, there.as_ref(), kept),
            Act::Truncate { len } => self.truncate(path, there.as_ref(), *len),
            Act::Take { staged } => self.take(path, there.as_ref(), staged, prepared),
            Act::Link { leads_to } => self.link(path, there.as_ref(), leads_to),
            Act::Dress { looks } => self.dress(path, there.as_ref(), *looks),
        }?;
        done.met = met;
        let stays = matches!(change.act(), Act::Move { .. });
        done.before = match there {
            Some(_) if matches!(change.act(), Act::Dress { .. }) => return Ok(done),
            None => Before::Absent,
            Some(found) if found.kind() == Kind::Dir => Before::Dir(Looks::default()),
            Some(_) if stays => Before::Absent,
            Some(_) if self.keep => Before::Kept(Kept(format!("{}:{path}", before.0))),
            Some(_) => Before::Lost,
        };
        Ok(done)
    }

    fn layers(&self) -> Layers<'_> {
        Layers { call: self.call, rows: &*self.rows, lower: self.store.lower.as_ref(), salt: self.store.salt }
    }

    fn staging(&self) -> Within<'_> {
        Within { base: &*self.store.base, rows: &*self.rows }
    }

    fn check(&self, there: Option<&Found>, expect: Expect) -> Result<()> {
        match (expect, there) {
            (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
            (Expect::Absent, Some(_)) => Err(ErrorKind::AlreadyExists.into()),
            (Expect::Is(version), Some(found)) if self.layers().meta(found).version == version => Ok(()),
            (Expect::UnchangedSince(_), _) => Err(ErrorKind::Unsupported("telling when something changed").into()),
            (Expect::Is(_), _) => Err(ErrorKind::Stale.into()),
        }
    }

    fn write(
        &mut self,
        path: RelPath<'_>,
        there: Option<&Found>,
        content: &[u8],
        mode: Option<u32>,
        prepared: Option<&Prepared>,
    ) -> Result<AppliedChange> {
        match prepared {
            Some(prepared) => self.put_file(path, there, prepared.ready.content(), prepared.ready.len(), mode),
            None => self.put_file(path, there, Content::Inline(content), content.len() as u64, mode),
        }
    }

    fn append(&mut self, path: RelPath<'_>, there: Option<&Found>, addition: &[u8]) -> Result<AppliedChange> {
        let Some(found) = there else {
            let ready = content::ready(&self.staging(), self.call, addition.to_vec(), None)?;
            return self.put_file(path, None, ready.content(), ready.len(), None);
        };
        file_only(found)?;
        let layers = self.layers();
        let mut head = Vec::new();
        layers.read(path, found, 0..SNIFF as u64, &mut head)?;
        let refused = || EditError::Encoding(TextKind::of(&head).name());
        let addition = suited_to(&head, addition).ok_or_else(refused)?;
        let ready = match found.row() {
            Some(row) => match Chunked::of(layers.rows, row)? {
                Some(chunked) => chunked.extended(&self.staging(), self.call, layers.rows, &addition)?,
                None => {
                    let mut bytes = Vec::new();
                    content::read(layers.rows, row, 0..row.len, &mut bytes)?;
                    bytes.extend_from_slice(&addition);
                    content::ready(&self.staging(), self.call, bytes, None)?
                }
            },
            None => self.copied(path, &addition)?,
        };
        self.put_file(path, there, ready.content(), ready.len(), None)
    }

    fn edit(
        &mut self,
        path: RelPath<'_>,
        there: Option<&Found>,
        edits: &[Replacement],
        prepared: Option<&Prepared>,
    ) -> Result<AppliedChange> {
        let found = there.ok_or(ErrorKind::NotFound)?;
        file_only(found)?;
        if let (Some(prepared), Found::Own(row)) = (prepared, found)
            && prepared.of == Some(row.version)
        {
            let done = self.put_file(path, there, prepared.ready.content(), prepared.ready.len(), None)?;
            return Ok(AppliedChange { replacements: prepared.replacements, ..done });
        }
        let layers = self.layers();
        let (bytes, ids) = match found.row() {
            Some(row) => large_content(&layers, row)?,
            None => {
                let mut bytes = Vec::new();
                let meta = layers.read(path, found, 0..MAX_EDITED as u64, &mut bytes)?;
                can_be_edited(meta.len)?;
                // They have to be those of the bytes that were read.
                let below = self.chunks_below(path)?.filter(|pieces| pieces.version == meta.version);
                (bytes, below.map(|pieces| pieces.ids).unwrap_or_default())
            }
        };
        let (edited, replacements) = edit(&bytes, edits)?;
        let ready = content::ready(&self.staging(), self.call, edited, Some(&Like { bytes: &bytes, ids: &ids }))?;
        let done = self.put_file(path, there, ready.content(), ready.len(), None)?;
        Ok(AppliedChange { replacements, ..done })
    }

    /// Puts a file where there is one, or where nothing is. It keeps the mode of what it replaces.
    fn put_file(
        &mut self,
        path: RelPath<'_>,
        there: Option<&Found>,
        content: Content<'_>,
        len: u64,
        mode: Option<u32>,
    ) -> Result<AppliedChange> {
        let kept = match there {
            Some(found) => {
                file_only(found)?;
                self.layers().meta(found).mode
            }
            None => None,
        };
        let parents = self.make_parents(path)?;
        let mode = kept.or(mode).unwrap_or(NEW_FILE);
        let row = self.put(path.as_str(), RowKind::File, len, mode, content, None)?;
        let version = Some(self.layers().version(row.version));
        Ok(AppliedChange { version, created: there.is_none(), parents, ..AppliedChange::default() })
    }

    /// A staged file, in the place of any file or link.
    fn take(
        &mut self,
        path: RelPath<'_>,
        there: Option<&Found>,
        staged: &Staged,
        prepared: Option<&Prepared>,
    ) -> Result<AppliedChange> {
        let ready = &prepared.ok_or(ErrorKind::Io)?.ready;
        self.replace(
            path,
            there,
            RowKind::File,
            ready,
            Looks { mode: Some(staged.mode()), modified: Some(staged.modified()) },
        )
    }

    fn link(&mut self, path: RelPath<'_>, there: Option<&Found>, leads_to: &str) -> Result<AppliedChange> {
        let ready = Ready::Inline(leads_to.as_bytes().to_vec());
        self.replace(path, there, RowKind::Link, &ready, Looks { mode: Some(NEW_LINK), modified: None })
    }

    /// Puts a file or a link in the place of any other.
    fn replace(
        &mut self,
        path: RelPath<'_>,
        there: Option<&Found>,
        kind: RowKind,
        ready: &Ready,
        looks: Looks,
    ) -> Result<AppliedChange> {
        match there.map(Found::kind) {
            Some(Kind::Dir) => return Err(ErrorKind::IsADirectory.into()),
            Some(Kind::Special) => return Err(ErrorKind::NotAFile.into()),
            _ => {}
        }
        let parents = self.make_parents(path)?;
        let content = ready.content();
        let row = self.put_looking(path.as_str(), kind, ready.len(), looks, content, None)?;
        let version = Some(self.layers().version(row.version));
        Ok(AppliedChange { version, created: there.is_none(), parents, ..AppliedChange::default() })
    }

    /// The same content with another mode or time.
    fn dress(&mut self, path: RelPath<'_>, there: Option<&Found>, looks: Looks) -> Result<AppliedChange> {
        let found = there.ok_or(ErrorKind::NotFound)?;
        let meta = self.layers().meta(found);
        if !matches!(meta.kind, Kind::File | Kind::Dir) || path.is_here() {
            return Err(ErrorKind::Unsupported("changing the mode or time of this").into());
        }
        let looks = Looks {
            mode: Some(looks.mode.or(meta.mode).unwrap_or(NEW_FILE) & PLAIN_MODE),
            modified: looks.modified.or(meta.modified),
        };
        self.make_parents(path)?;
        let row = match found.row() {
            Some(row) => {
                let content = row.body.map_or(Content::None, Content::Shared);
                self.put_looking(path.as_str(), row.kind, row.len, looks, content, None)?
            }
            None if meta.kind == Kind::Dir => {
                self.put_looking(path.as_str(), RowKind::Dir, 0, looks, Content::None, None)?
            }
            None => {
                let ready = self.copied(path, &[])?;
                self.put_looking(path.as_str(), RowKind::File, ready.len(), looks, ready.content(), None)?
            }
        };
        let before = Before::Looks(Looks { mode: meta.mode, modified: meta.modified });
        // A directory's version is that of what it holds.
        let version = (meta.kind == Kind::File).then(|| self.layers().version(row.version));
        Ok(AppliedChange { version, before, ..AppliedChange::default() })
    }

    fn truncate(&mut self, path: RelPath<'_>, there: Option<&Found>, len: u64) -> Result<AppliedChange> {
        let found = there.ok_or(ErrorKind::NotFound)?;
        file_only(found)?;
        let layers = self.layers();
        let ready = match found.row() {
            Some(row) => content::shortened(&self.staging(), self.call, layers.rows, row, len)?,
            None => {
                let mut bytes = Vec::new();
                layers.read(path, found, 0..len, &mut bytes)?;
                content::ready(&self.staging(), self.call, bytes, None)?
            }
        };
        self.put_file(path, there, ready.content(), ready.len(), None)
    }

    fn make_dir(&mut self, path: RelPath<'_>, there: Option<&Found>) -> Result<AppliedChange> {
        match there.map(Found::kind) {
            None => {}
            Some(Kind::Dir) => {
                let version = there.map(|found| self.layers().meta(found).version);
                return Ok(AppliedChange { version, ..AppliedChange::default() });
            }
            Some(Kind::Link) => return Err(ErrorKind::Link.into()),
            Some(_) => return Err(ErrorKind::AlreadyExists.into()),
        }
        let parents = self.make_parents(path)?;
        let row = self.put_dir(path.as_str(), NEW_DIR)?;
        let version = Some(self.layers().version(row.version));
        Ok(AppliedChange { version, created: true, parents, ..AppliedChange::default() })
    }

    /// The directories above a path. Answers how many were not there before.
    fn make_parents(&mut self, path: RelPath<'_>) -> Result<usize> {
        let mut made = 0;
        let mut above: Vec<RelPath<'_>> = path.ancestors().skip(1).filter(|above| !above.is_here()).collect();
        // A row has rows above it: where the nearest is a directory, so are the others.
        if let Some(nearest) = above.first()
            && self.rows.get(nearest.as_str())?.is_some_and(|row| row.kind.shown() == Some(Kind::Dir))
        {
            return Ok(0);
        }
        above.reverse();
        for dir in above {
            match self.layers().look(dir)? {
                Some(Found::Own(row)) if row.kind.shown() == Some(Kind::Dir) => {}
                // It shows through, and has a row of its own from now on.
                Some(Found::Lower(meta)) if meta.kind == Kind::Dir => {
                    let mode = meta.mode.unwrap_or(NEW_DIR);
                    self.note(dir, meta)?;
                    self.put(dir.as_str(), RowKind::Dir, 0, mode, Content::None, None)?;
                }
                Some(found) if found.kind() == Kind::Link => return Err(ErrorKind::Link.into()),
                Some(_) => return Err(ErrorKind::NotADirectory.into()),
                None => {
                    self.note_nothing(dir)?;
                    self.put_dir(dir.as_str(), NEW_DIR)?;
                    made += 1;
                }
            }
        }
        Ok(made)
    }

    /// A new directory: what the layer below may get there later does not show in it.
    fn put_dir(&mut self, key: &str, mode: u32) -> Result<Row> {
        let kind = if self.store.lower.is_some() { RowKind::OpaqueDir } else { RowKind::Dir };
        self.put(key, kind, 0, mode, Content::None, None)
    }

    fn move_to(&mut self, from: RelPath<'_>, there: Option<&Found>, to: RelPath<'_>) -> Result<AppliedChange> {
        let found = match there {
            None => return Err(ErrorKind::NotFound.into()),
            Some(Found::Top) => return Err(ErrorKind::Unsupported("moving a whole Mount").into()),
            Some(found) => found,
        };
        let version = self.layers().meta(found).version;
        if to.is_here() || self.layers().look(to)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if to.is_within(from) {
            return Err(ErrorKind::Unsupported("moving a directory into itself").into());
        }
        self.note_nothing(to)?;
        let parents = self.make_parents(to)?;
        self.carry(from, to, found)?;
        Ok(AppliedChange { version: Some(version), created: true, parents, ..AppliedChange::default() })
    }

    /// Moves what was found at a path, with everything below it.
    fn carry(&mut self, from: RelPath<'_>, to: RelPath<'_>, found: &Found) -> Result<()> {
        self.call.tick(1)?;
        if found.kind() == Kind::Dir {
            let mode = self.layers().meta(found).mode.unwrap_or(NEW_DIR);
            let version = match found {
                Found::Own(row) => Some(row.version),
                _ => None,
            };
            let kind = if self.store.lower.is_some() { RowKind::OpaqueDir } else { RowKind::Dir };
            self.put(to.as_str(), kind, 0, mode, Content::None, version)?;
            loop {
                let (page, last) = self.layers().children(from, None)?;
                for child in page.iter() {
                    if !child.plain {
                        return Err(ErrorKind::Unsupported("moving a name that cannot be written as a path").into());
                    }
                    let (old, new) = (rel(&join(from.as_str(), child.path))?, rel(&join(to.as_str(), child.path))?);
                    let found = self.layers().find(old.as_rel())?;
                    let found = self.note_found(old.as_rel(), found)?;
                    self.carry(old.as_rel(), new.as_rel(), &found)?;
                }
                if last {
                    break;
                }
            }
            self.sweep(from)?;
        } else {
            self.carry_one(from, to, found)?;
        }
        self.take_away(from)
    }

    fn carry_one(&mut self, from: RelPath<'_>, to: RelPath<'_>, found: &Found) -> Result<()> {
        match found {
            Found::Own(row) => {
                let content = row.body.map_or(Content::None, Content::Shared);
                self.put(to.as_str(), row.kind, row.len, row.mode, content, Some(row.version))?;
            }
            Found::Noted(meta, row) => {
                let content = row.body.map_or(Content::None, Content::Shared);
                let mode = if meta.kind == Kind::Link { NEW_LINK } else { row.mode };
                self.put(to.as_str(), row.kind, row.len, mode, content, None)?;
            }
            Found::Lower(meta) if meta.kind == Kind::File => {
                let ready = self.copied(from, &[])?;
                let mode = meta.mode.unwrap_or(NEW_FILE);
                self.put(to.as_str(), RowKind::File, ready.len(), mode, ready.content(), None)?;
            }
            Found::Lower(meta) if meta.kind == Kind::Link => {
                let ready = Ready::Inline(self.layers().leads_to(from)?.into_bytes());
                self.put(to.as_str(), RowKind::Link, ready.len(), NEW_LINK, ready.content(), None)?;
            }
            _ => return Err(ErrorKind::Unsupported("moving a pipe of the layer below").into()),
        }
        Ok(())
    }

    fn delete(&mut self, path: RelPath<'_>, there: Option<&Found>) -> Result<AppliedChange> {
        match there {
            None => return Err(ErrorKind::NotFound.into()),
            Some(Found::Top) => return Err(ErrorKind::Unsupported("deleting a whole Mount").into()),
            Some(found) if found.kind() == Kind::Dir => {
                if !self.layers().children(path, None)?.0.is_empty() {
                    return Err(ErrorKind::NotEmpty.into());
                }
                self.sweep(path)?;
            }
            Some(_) => {}
        }
        self.take_away(path)?;
        Ok(AppliedChange::default())
    }

    /// Whiteouts in a directory that goes are not needed any more.
    fn sweep(&mut self, dir: RelPath<'_>) -> Result<()> {
        loop {
            let rows = self.rows.children(dir.as_str(), None, 1024)?;
            if rows.is_empty() {
                return Ok(());
            }
            for (name, _) in rows {
                self.take_row(&join(dir.as_str(), &name))?;
            }
        }
    }

    /// What is at a path goes; where the layer below has something there, that is covered. A row that is there makes
    /// way only then, so that the note of what it covered stays.
    fn take_away(&mut self, path: RelPath<'_>) -> Result<()> {
        if self.layers().lower_at(path)?.is_some() {
            self.make_parents(path)?;
            self.put(path.as_str(), RowKind::Whiteout, 0, 0, Content::None, None)?;
            return Ok(());
        }
        self.take_row(path.as_str())?;
        if self.store.lower.is_some() && self.layers().below_of(path)?.is_some() {
            return self.forget_notes(path);
        }
        Ok(())
    }

    fn restore(&mut self, path: RelPath<'_>, there: Option<&Found>, kept: &Kept) -> Result<AppliedChange> {
        let (commit, key) = read_kept(kept)?;
        if there.is_some_and(|found| found.kind() == Kind::Dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let created = there.is_none();
        let row = self.rows.past(key.as_str(), commit)?.filter(|row| row.kind != RowKind::Whiteout);
        let Some(row) = row else {
            let version = self.restore_from_below(path, key.as_rel())?;
            return Ok(AppliedChange { version: Some(version), created, ..AppliedChange::default() });
        };
        let parents = self.make_parents(path)?;
        let content = row.body.map_or(Content::None, Content::Shared);
        let put = self.put(path.as_str(), row.kind, row.len, row.mode, content, None)?;
        let version = Some(self.layers().version(put.version));
        Ok(AppliedChange { version, created, parents, ..AppliedChange::default() })
    }

    /// It was in the layer below: what covers it goes. Where that layer does not show through any more, since a
    /// directory above was deleted and made again, it is copied.
    fn restore_from_below(&mut self, path: RelPath<'_>, key: RelPath<'_>) -> Result<Version> {
        if key == path && self.layers().lower_at(path)?.is_some() {
            self.take_row(path.as_str())?;
            self.forget_notes(path)?;
            let found = self.layers().find(path)?;
            return Ok(self.layers().meta(&found).version);
        }
        let put = match overlay::kept_below(&self.layers(), self.store.lower_is_frozen, key)? {
            Some(Found::Own(row)) => {
                self.make_parents(path)?;
                let content = row.body.map_or(Content::None, Content::Shared);
                self.put(path.as_str(), row.kind, row.len, row.mode, content, None)?
            }
            Some(Found::Lower(meta)) if meta.kind == Kind::File => {
                let ready = self.copied(key, &[])?;
                self.make_parents(path)?;
                let mode = meta.mode.unwrap_or(NEW_FILE);
                self.put(path.as_str(), RowKind::File, ready.len(), mode, ready.content(), None)?
            }
            Some(Found::Lower(meta)) if meta.kind == Kind::Link => {
                let lower = self.store.lower.as_ref().ok_or(ErrorKind::NotFound)?;
                let ready = Ready::Inline(lower.leads_to(self.call, key)?.into_bytes());
                self.make_parents(path)?;
                self.put(path.as_str(), RowKind::Link, ready.len(), NEW_LINK, ready.content(), None)?
            }
            _ => return Err(ErrorKind::NotKept.into()),
        };
        Ok(self.layers().version(put.version))
    }

    fn put(
        &mut self,
        key: &str,
        kind: RowKind,
        len: u64,
        mode: u32,
        content: Content<'_>,
        version: Option<u64>,
    ) -> Result<Row> {
        self.put_looking(key, kind, len, Looks { mode: Some(mode), modified: None }, content, version)
    }

    /// As [`Self::put`], with a time of its own.
    fn put_looking(
        &mut self,
        key: &str,
        kind: RowKind,
        len: u64,
        looks: Looks,
        content: Content<'_>,
        version: Option<u64>,
    ) -> Result<Row> {
        let old = self.rows.get(key)?;
        if old.is_none() {
            self.remember(key)?;
        }
        let version = Some(version.unwrap_or_else(unguessable));
        let modified = looks.modified.map_or_else(now, millis);
        let row = NewRow { kind, len, mode: looks.mode.unwrap_or(NEW_FILE), modified, content, version };
        let put = self.rows.put(key, &row, self.keep)?;
        self.count(old.as_ref(), Some(&put));
        Ok(put)
    }

    fn take_row(&mut self, key: &str) -> Result<()> {
        let Some(old) = self.rows.get(key)? else { return Ok(()) };
        self.rows.remove(key, self.keep)?;
        self.count(Some(&old), None);
        Ok(())
    }

    fn count(&mut self, old: Option<&Row>, new: Option<&Row>) {
        let files = |row: Option<&Row>| u64::from(row.is_some_and(|row| row.kind != RowKind::Whiteout));
        let bytes = |row: Option<&Row>| row.map_or(0, |row| row.len);
        let usage = &mut self.usage;
        usage.files = (usage.files + files(new)).saturating_sub(files(old));
        usage.bytes = (usage.bytes + bytes(new)).saturating_sub(bytes(old));
    }
}

fn file_only(found: &Found) -> Result<()> {
    match found.kind() {
        Kind::File => Ok(()),
        Kind::Dir => Err(ErrorKind::IsADirectory.into()),
        Kind::Link => Err(ErrorKind::Link.into()),
        Kind::Special => Err(ErrorKind::NotAFile.into()),
    }
}

/// A version that tells nothing: one that counted would tell an agent how often others have changed something, also where
/// nothing may come back.
fn unguessable() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    // Databases count with a sign.
    RandomState::new().build_hasher().finish() >> 2
}

fn now() -> i64 {
    millis(SystemTime::now())
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
