//! What a path of a Virtual Store means: its own rows, over what shows through from the layer below.
//!
//! A row of its own always decides. Where it has none, the layer below does, unless something on the way is a
//! whiteout, a directory that lets nothing through, or no directory at all. Without a layer below this is the plain
//! tree of rows. Every row has rows of directories above it, so a row that is found needs no look at those.

use std::ops::Range;

use paddock_core::{
    Call, ErrorKind, FoundList, Kind, Meta, RelPath, RelPathBuf, Result, StoreError, Version, View, Walk,
};

use super::base::{Row, RowKind, Rows};
use super::content;

/// How many rows of a directory are taken at once.
const PAGE: usize = 1024;

/// The layers at one moment.
pub(super) struct Layers<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) rows: &'a dyn Rows,
    pub(super) lower: Option<&'a View>,
    /// Tells the versions of one namespace from those of every other.
    pub(super) salt: u64,
}

/// What is at a path.
#[derive(Debug)]
pub(super) enum Found {
    /// The Mount itself.
    Top,
    /// A row of its own; never a whiteout.
    Own(Row),
    /// Something of the layer below.
    Lower(Meta),
    /// A file or link of the layer below that a change covers: what it was, and the note that has its content. The layer
    /// itself may show another by now.
    Noted(Meta, Row),
}

impl Found {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Top => Kind::Dir,
            Self::Own(row) => row.kind.shown().unwrap_or(Kind::Special),
            Self::Lower(meta) | Self::Noted(meta, _) => meta.kind,
        }
    }

    /// The row that has its content; nothing where only the layer below does.
    pub(super) fn row(&self) -> Option<&Row> {
        match self {
            Self::Own(row) | Self::Noted(_, row) => Some(row),
            Self::Top | Self::Lower(_) => None,
        }
    }
}

impl Layers<'_> {
    pub(super) fn find(&self, path: RelPath<'_>) -> Result<Found> {
        if path.is_here() {
            return Ok(Found::Top);
        }
        let row = self.rows.get(path.as_str())?;
        self.found(path, row)
    }

    /// What is at a path whose own row is known.
    pub(super) fn found(&self, path: RelPath<'_>, own: Option<Row>) -> Result<Found> {
        match own {
            Some(Row { kind: RowKind::Whiteout, .. }) => Err(ErrorKind::NotFound.into()),
            Some(row) => Ok(Found::Own(row)),
            None => {
                let below = self.below_of(path)?.ok_or(ErrorKind::NotFound)?;
                below.stat(self.call, path).map(Found::Lower).map_err(|e| self.as_seen_here(path, below, e))
            }
        }
    }

    /// As [`Self::find`], where nothing being there is fine.
    pub(super) fn look(&self, path: RelPath<'_>) -> Result<Option<Found>> {
        match self.find(path) {
            Err(e) if *e.kind() == ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// The layer that decides about a path without a row of its own, if it shows through there. The nearest row
    /// above decides that.
    pub(super) fn below_of(&self, path: RelPath<'_>) -> Result<Option<&View>> {
        let above: Vec<RelPath<'_>> = path.ancestors().skip(1).filter(|above| !above.is_here()).collect();
        // A row has rows above it: with none at the top there is none on the way, and most of a layer is not covered.
        if let [_, .., top] = above[..]
            && self.lower.is_some()
            && self.rows.get(top.as_str())?.is_none()
        {
            return Ok(self.lower);
        }
        for above in above {
            match self.rows.get(above.as_str())?.map(|row| row.kind) {
                None => {}
                Some(RowKind::Dir) => break,
                Some(RowKind::OpaqueDir | RowKind::Whiteout) => return Ok(None),
                Some(RowKind::File) => return Err(ErrorKind::NotADirectory.into()),
                Some(RowKind::Link) => return Err(ErrorKind::Link.into()),
            }
        }
        Ok(self.lower)
    }

    /// What the layer below says of a path, where a directory of our own stands on the way: something else may stand in its place
    /// there by now, and then there is nothing at the path.
    pub(super) fn as_seen_here(&self, path: RelPath<'_>, below: &View, said: StoreError) -> StoreError {
        if !matches!(said.kind(), ErrorKind::NotADirectory | ErrorKind::Link) {
            return said;
        }
        let mut above = path.ancestors().skip(1).filter(|above| !above.is_here());
        let own = above.find(|above| self.rows.get(above.as_str()).is_ok_and(|row| row.is_some()));
        let is_other = |own| !below.stat(self.call, own).is_ok_and(|meta| meta.kind == Kind::Dir);
        if own.is_some_and(is_other) { ErrorKind::NotFound.into() } else { said }
    }

    /// What the layer below shows at a path, whatever row of its own stands there.
    pub(super) fn lower_at(&self, path: RelPath<'_>) -> Result<Option<Meta>> {
        // Without a layer below nothing on the way matters.
        if self.lower.is_none() {
            return Ok(None);
        }
        let Some(lower) = self.below_of(path)? else { return Ok(None) };
        match lower.stat(self.call, path) {
            Ok(meta) => Ok(Some(meta)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn meta(&self, found: &Found) -> Meta {
        match found {
            Found::Top => Meta { kind: Kind::Dir, len: 0, version: self.version(0), mode: Some(0o755), modified: None },
            Found::Own(row) => self.row_meta(row),
            Found::Lower(meta) | Found::Noted(meta, _) => meta.clone(),
        }
    }

    pub(super) fn row_meta(&self, row: &Row) -> Meta {
        let since = std::time::Duration::from_millis(u64::try_from(row.modified).unwrap_or(0));
        Meta {
            kind: row.kind.shown().unwrap_or(Kind::Special),
            len: row.len,
            version: self.version(row.version),
            mode: Some(row.mode),
            modified: Some(std::time::UNIX_EPOCH + since),
        }
    }

    pub(super) fn version(&self, count: u64) -> Version {
        Version(u128::from(self.salt) << 64 | u128::from(count))
    }

    /// Appends the bytes of a range of a file.
    pub(super) fn read(&self, path: RelPath<'_>, found: &Found, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        match found {
            Found::Own(row) | Found::Noted(_, row) => {
                match row.kind {
                    RowKind::File => content::read(self.rows, row, range, out)?,
                    RowKind::Link => return Err(ErrorKind::Link.into()),
                    _ => return Err(ErrorKind::IsADirectory.into()),
                }
                Ok(self.meta(found))
            }
            Found::Lower(_) => self.lower.ok_or(ErrorKind::NotFound)?.read(self.call, path, range, out),
            Found::Top => Err(ErrorKind::IsADirectory.into()),
        }
    }

    /// Entries of a directory after a name, in order and by their names alone, and whether they are the last.
    pub(super) fn children(&self, dir: RelPath<'_>, after: Option<&str>) -> Result<(FoundList, bool)> {
        let below = match self.find(dir)? {
            Found::Own(row) => match row.kind {
                RowKind::Dir => self.lower,
                RowKind::OpaqueDir | RowKind::Whiteout => None,
                RowKind::File => return Err(ErrorKind::NotADirectory.into()),
                RowKind::Link => return Err(ErrorKind::Link.into()),
            },
            Found::Top | Found::Lower(_) | Found::Noted(..) => self.lower,
        };
        let Some(below) = below else { return self.own_children(dir, after) };
        let mut own: Vec<(String, RowKind)> = Vec::new();
        loop {
            let before = own.len();
            let last = own.last().map(|(name, _)| name.clone());
            let mut take = |name: &str, kind| own.push((name.to_owned(), kind));
            self.rows.names(dir.as_str(), last.as_deref().or(after), PAGE, &mut take)?;
            if own.len() < before + PAGE {
                break;
            }
        }
        Ok((self.merge(below, dir, after, own)?, true))
    }

    fn own_children(&self, dir: RelPath<'_>, after: Option<&str>) -> Result<(FoundList, bool)> {
        let (mut children, mut rows) = (FoundList::default(), 0);
        self.rows.names(dir.as_str(), after, PAGE, &mut |name, kind| {
            rows += 1;
            if let Some(kind) = kind.shown() {
                children.push(child(name, kind, true));
            }
        })?;
        Ok((children, rows < PAGE))
    }

    /// Own rows, and what the layer below has beside them.
    fn merge(
        &self,
        below: &View,
        dir: RelPath<'_>,
        after: Option<&str>,
        own: Vec<(String, RowKind)>,
    ) -> Result<FoundList> {
        let mut merged: std::collections::BTreeMap<String, (Kind, bool)> = std::collections::BTreeMap::new();
        let walk = Walk { depth: Some(1), skip_ignored: false, after: None };
        let walked = below.walk(self.call, dir, &walk, &mut |entry| {
            let name = entry.path.rsplit_once('/').map_or(entry.path, |(_, name)| name);
            if after.is_none_or(|after| name > after) {
                merged.insert(name.to_owned(), (entry.kind, entry.plain));
            }
            std::ops::ControlFlow::Continue(())
        });
        match walked {
            // A directory of its own, where the layer below has none.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link) => {}
            walked => walked?,
        }
        for (name, kind) in own {
            match kind.shown() {
                Some(kind) => merged.insert(name, (kind, true)),
                None => merged.remove(&name),
            };
        }
        Ok(merged.iter().map(|(name, (kind, plain))| child(name, *kind, *plain)).collect())
    }

    /// Where the links on the way to a path lead.
    pub(super) fn resolve(&self, path: &str, keep_last: bool) -> Result<RelPathBuf> {
        const MAX_LINKS: usize = 40;
        let mut todo: Vec<String> = names(path).rev().collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop() {
            match name.as_str() {
                "." => continue,
                ".." => {
                    done.pop().ok_or(ErrorKind::LinkEscapes)?;
                    continue;
                }
                _ => done.push(name),
            }
            if keep_last && todo.is_empty() {
                break;
            }
            let here = rel(&done.join("/"))?;
            let Some(target) = self.link_target(here.as_rel())? else { continue };
            links += 1;
            if links > MAX_LINKS {
                return Err(ErrorKind::LinkEscapes.into());
            }
            match target {
                Target::Written(text) => {
                    done.pop();
                    if text.starts_with('/') {
                        done.clear();
                    }
                    todo.extend(names(&text).rev());
                }
                Target::InMount(place) => {
                    done.clear();
                    todo.extend(names(place.as_str()).rev());
                }
            }
        }
        rel(&done.join("/"))
    }

    /// Where the link at a path says that it leads.
    pub(super) fn leads_to(&self, path: RelPath<'_>) -> Result<String> {
        match self.find(path)? {
            Found::Own(row) if row.kind == RowKind::Link => self.link_text(&row),
            Found::Lower(meta) if meta.kind == Kind::Link => {
                self.lower.ok_or(ErrorKind::NotFound)?.leads_to(self.call, path)
            }
            _ => Err(ErrorKind::Unsupported("reading a link where there is none").into()),
        }
    }

    pub(super) fn link_text(&self, row: &Row) -> Result<String> {
        let mut text = Vec::new();
        content::read(self.rows, row, 0..row.len, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn link_target(&self, path: RelPath<'_>) -> Result<Option<Target>> {
        match self.look(path) {
            Ok(Some(Found::Own(row))) if row.kind == RowKind::Link => Ok(Some(Target::Written(self.link_text(&row)?))),
            Ok(Some(Found::Lower(meta))) if meta.kind == Kind::Link => {
                let lower = self.lower.ok_or(ErrorKind::NotFound)?;
                let place = lower.resolve(self.call, path, paddock_core::LastName::Follow)?;
                Ok(Some(Target::InMount(place)))
            }
            Ok(_) => Ok(None),
            Err(e) if *e.kind() == ErrorKind::NotADirectory => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Where a link leads.
enum Target {
    /// As it is written in the link.
    Written(String),
    /// Already followed, in the layer below.
    InMount(RelPathBuf),
}

/// One entry of a directory.
pub(super) fn child(name: &str, kind: Kind, plain: bool) -> paddock_core::Found<'_> {
    paddock_core::Found { path: name, kind, plain, scope: None }
}

pub(super) fn rel(path: &str) -> Result<RelPathBuf> {
    RelPathBuf::parse(path).map_err(|_| ErrorKind::LinkEscapes.into())
}

fn names(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned)
}
