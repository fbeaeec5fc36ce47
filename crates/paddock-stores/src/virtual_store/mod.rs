//! The Virtual Store: files on a key-value database, none of them on the host's disk as such; and, over the View of
//! another Workspace, the Overlay.
//!
//! - [`base`]: what the database has to do, as a trait; `memory_base` and its siblings do it;
//! - `content`: contents whole and in chunks;
//! - `layers`: what a path means, with a layer below or without;
//! - `overlay`: what an Overlay itself holds, and what it stood on; `applied`: and before it was applied;
//! - `change`: making the changes of a set, in one transaction; `remembered`: what it has looked at;
//!   `change/noting`: what it covers of the layer below, read once and noted;
//! - `walk`: going through the tree, and searching it.
//!
//! Nothing here decides policy, and nothing is cached: several processes may change one namespace at a time.

mod applied;
pub mod base;
mod change;
mod content;
mod layers;
mod memory_base;
mod overlay;
mod postgres_base;
mod remembered;
mod rows_sql;
mod rows_sql_sweep;
mod sqlite_base;
mod walk;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use paddock_core::{
    Applied, Call, CallId, ChangeSet, EntrySink, ErrorKind, Hit, Kept, KeptIn, LastName, Meta, OpKind, Pieces, Place,
    Query, RelPath, RelPathBuf, Result, Sink, Store, Territory, Usage, Versioned, View, Walk,
};

use base::{BaseStore, Commit, Moment, Namespace, RowKind};
use content::Chunked;
use layers::{Found, Layers};
pub use memory_base::MemoryBase;
pub(crate) use overlay::{Overlaid, OwnRow, Thing};
pub use postgres_base::PostgresBase;
pub use sqlite_base::SqliteBase;

/// What the realms of Virtual Stores begin with.
const REALM: &str = "virtual ";

/// A Store on a key-value database; over a View, an Overlay.
#[derive(Clone)]
pub struct VirtualStore {
    base: Arc<dyn BaseStore>,
    namespace: Namespace,
    moment: Moment,
    lower: Option<View>,
    /// The layer below never changes, so nothing of it has to be remembered.
    lower_is_frozen: bool,
    /// Applies of this Overlay that were undone.
    undone: HashSet<CallId>,
    /// Is what a `.gitignore` names left apart where it is compared?
    leaves_ignored: bool,
    /// What is left apart by name where it is compared.
    excepted: Vec<RelPathBuf>,
    salt: u64,
}

impl std::fmt::Debug for VirtualStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VirtualStore").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl VirtualStore {
    /// What a namespace of a database holds.
    pub fn new(base: Arc<dyn BaseStore>, namespace: Namespace) -> Self {
        let hash = blake3::hash(namespace.text().as_bytes());
        let mut salt = [0; 8];
        salt.copy_from_slice(&hash.as_bytes()[..8]);
        Self {
            base,
            namespace,
            moment: Moment::Now,
            lower: None,
            lower_is_frozen: false,
            undone: HashSet::new(),
            leaves_ignored: false,
            excepted: Vec::new(),
            salt: u64::from_le_bytes(salt),
        }
    }

    /// An empty one in memory.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(MemoryBase::new()), Namespace::new(["memory"]))
    }

    /// Copy-on-write over a View: only what differs from it is in the namespace.
    #[must_use]
    pub fn over(mut self, lower: View) -> Self {
        self.lower = Some(lower);
        self
    }

    /// As [`Self::over`], where the View is of a moment that never changes.
    #[must_use]
    pub fn over_frozen(self, lower: View) -> Self {
        Self { lower_is_frozen: true, ..self.over(lower) }
    }

    /// What the namespace held right after a commit, for reading only.
    #[must_use]
    pub fn frozen(mut self, at: Commit) -> Self {
        self.moment = Moment::At(at);
        self
    }

    /// The database.
    pub fn base(&self) -> &Arc<dyn BaseStore> {
        &self.base
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The place this Store reaches: a namespace overlaps with itself alone.
    pub fn territory(&self) -> Territory {
        Territory::new(format!("{REALM}{}", self.namespace), Vec::<String>::new())
    }

    /// The namespace that a territory of a Virtual Store stands for.
    pub fn namespace_in(territory: &Territory) -> Option<Namespace> {
        Namespace::of_key(territory.realm().strip_prefix(REALM)?)
    }

    /// As [`Self::namespace_in`], for a territory as it is written.
    pub fn namespace_of_text(territory: &str) -> Option<Namespace> {
        Namespace::of_key(territory.strip_prefix(REALM)?.strip_suffix(":/")?)
    }

    /// How many bytes the namespace itself keeps under a name; nothing where it keeps none.
    ///
    /// # Errors
    /// When the database cannot be asked, or the name is none of a Virtual Store.
    pub fn kept_len(&self, call: &Call<'_>, kept: &Kept) -> Result<Option<u64>> {
        let (commit, key) = change::read_kept(kept)?;
        self.at(call, |layers| Ok(layers.rows.past(key.as_str(), commit)?.map(|row| row.len)))
    }

    /// Looks at the layers at one moment.
    fn at<T>(&self, call: &Call<'_>, mut look: impl FnMut(&Layers<'_>) -> Result<T>) -> Result<T> {
        let mut seen = None;
        self.base.read(call, &self.namespace, self.moment, &mut |rows| {
            seen = Some(look(&Layers { call, rows, lower: self.lower.as_ref(), salt: self.salt })?);
            Ok(())
        })?;
        seen.ok_or_else(|| ErrorKind::Io.into())
    }

    /// The layer below, where it alone decides about a path: nothing is at the name that the path begins with, and a row has rows
    /// above it. Most of a layer is not covered, and this costs less than looking for each path.
    fn uncovered(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<&View>> {
        let Some(lower) = self.lower.as_ref().filter(|_| self.moment == Moment::Now && !path.is_here()) else {
            return Ok(None);
        };
        let top = path.as_str().split_once('/').map_or(path.as_str(), |(top, _)| top);
        let lacks = self.base.lacks(call, &self.namespace, top)?.unwrap_or(false);
        Ok(lacks.then_some(lower))
    }

    /// As [`Self::at`], for a look at a few rows. What is below takes its own time.
    fn glance<T>(&self, call: &Call<'_>, mut look: impl FnMut(&Layers<'_>) -> Result<T>) -> Result<T> {
        if self.lower.is_some() {
            return self.at(call, look);
        }
        let mut seen = None;
        self.base.glance(call, &self.namespace, self.moment, &mut |rows| {
            seen = Some(look(&Layers { call, rows, lower: None, salt: self.salt })?);
            Ok(())
        })?;
        seen.ok_or_else(|| ErrorKind::Io.into())
    }
}

impl Store for VirtualStore {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        call.tick(1)?;
        self.at(call, |layers| layers.resolve(path.as_str(), last == LastName::Keep))
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        call.tick(1)?;
        if let Some(lower) = self.uncovered(call, at.rel())? {
            return lower.stat(call, at.rel());
        }
        self.glance(call, |layers| layers.find(at.rel()).map(|found| layers.meta(&found)))
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        call.tick(1)?;
        let (path, start) = (at.rel(), out.len());
        if path.is_here() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if let Some(lower) = self.uncovered(call, path)? {
            return lower.read(call, path, range, out);
        }
        self.at(call, |layers| {
            out.truncate(start);
            let row = layers.rows.get_small(path.as_str(), range.clone(), out)?;
            match row {
                // The content came along.
                Some(row) if row.kind == RowKind::File && row.body.is_some_and(|body| !body.chunked) => {
                    Ok(layers.row_meta(&row))
                }
                None => {
                    let below = layers.below_of(path)?.ok_or(ErrorKind::NotFound)?;
                    below.read(call, path, range.clone(), out).map_err(|e| layers.as_seen_here(path, below, e))
                }
                own => {
                    let found = layers.found(path, own)?;
                    layers.read(path, &found, range.clone(), out)
                }
            }
        })
    }

    fn is_at_hand(&self, op: OpKind, path: RelPath<'_>) -> bool {
        // What is written may replace something large, or go to the other database, where somebody else may be writing.
        let is_short = op == OpKind::Read || (op == OpKind::MakeDir && self.lower.is_none());
        is_short && self.base.is_near() && self.lower.as_ref().is_none_or(|lower| lower.is_at_hand(op, path))
    }

    fn leads_to(&self, call: &Call<'_>, at: &Place<'_>) -> Result<String> {
        call.tick(1)?;
        self.at(call, |layers| layers.leads_to(at.rel()))
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        walk::walk(self, call, at, walk, sink)
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        walk::search(self, call, at, query, sink)
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        if self.moment != Moment::Now {
            return Err(ErrorKind::Unsupported("changing the past").into());
        }
        change::apply(self, call, set)
    }

    fn is_atomic(&self) -> bool {
        true
    }

    fn versioned(&self) -> Option<&dyn Versioned> {
        Some(self)
    }

    fn pieces(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Option<Pieces>> {
        self.at(call, |layers| match layers.find(at.rel())? {
            Found::Own(row) if row.kind == RowKind::File => {
                let chunked = Chunked::of(layers.rows, &row)?;
                let (kept_in, version) = (KeptIn::place(&self.base), layers.version(row.version));
                Ok(chunked.map(|Chunked { ids, len }| Pieces { kept_in, ids, len, version }))
            }
            Found::Lower(_) => layers.lower.map_or(Ok(None), |lower| lower.pieces(call, at.rel())),
            _ => Ok(None),
        })
    }
}

impl Versioned for VirtualStore {
    fn recall(
        &self,
        call: &Call<'_>,
        at: &Place<'_>,
        kept: &Kept,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Meta> {
        let (commit, key) = change::read_kept(kept)?;
        let start = out.len();
        self.at(call, |layers| {
            out.truncate(start);
            let found = match layers.rows.past(key.as_str(), commit)? {
                Some(row) if row.kind != RowKind::Whiteout => Found::Own(row),
                // It was in the layer below.
                _ => match layers.lower_at(key.as_rel())? {
                    Some(meta) => Found::Lower(meta),
                    None => {
                        overlay::kept_below(layers, self.lower_is_frozen, key.as_rel())?.ok_or(ErrorKind::NotKept)?
                    }
                },
            };
            let path = if key.as_rel() == at.rel() { at.rel() } else { key.as_rel() };
            layers.read(path, &found, range.clone(), out)
        })
    }

    fn release(&self, call: &Call<'_>, kept: &[Kept]) -> Result<()> {
        self.base.write(call, &self.namespace, &mut |rows| {
            for kept in kept {
                let (commit, key) = change::read_kept(kept)?;
                rows.forget(key.as_str(), commit)?;
            }
            Ok(())
        })
    }

    fn usage(&self, call: &Call<'_>) -> Result<Usage> {
        self.at(call, |layers| layers.rows.usage())
    }
}
