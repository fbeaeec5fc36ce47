//! A View: one Workspace as its agent sees it, for reading. What an Overlay stands on.
//!
//! Hidden and shadowed names are out of sight here as they are for the agent, and a write-only Workspace has no
//! View at all. There is no way to change anything through one.

use std::ops::Range;
use std::sync::Arc;

use crate::call::Call;
use crate::error::{ErrorKind, Result};
use crate::names::NameRules;
use crate::path::{RelPath, RelPathBuf};
use crate::place::{Place, Veil};
use crate::scope::OpKind;
use crate::store::{EntrySink, Hit, LastName, Meta, Pieces, Query, Sink, Store, Walk};
use crate::surroundings::Surroundings;
use crate::workspace::Workspace;

/// One Workspace as its agent sees it, for reading.
#[derive(Clone)]
pub struct View {
    store: Arc<dyn Store>,
    names: NameRules,
    around: Surroundings,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("names", &self.names).finish_non_exhaustive()
    }
}

impl View {
    /// The View of one Workspace among all of its agent's. Nothing for one that cannot be read.
    pub fn of(workspace: &Workspace, all: &[Workspace]) -> Option<Self> {
        if !workspace.scope.allows(OpKind::Read) {
            return None;
        }
        let mut sorted = all.to_vec();
        sorted.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let index = sorted.iter().position(|other| other.prefix == workspace.prefix)?;
        let around = Surroundings::of(&sorted).swap_remove(index);
        Some(Self { store: Arc::clone(&workspace.mount.store), names: workspace.names.clone(), around })
    }

    /// The same View of another moment of the same Mount.
    #[must_use]
    pub fn standing_on(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    /// Is a path in sight here, whether anything is there or not?
    pub fn shows(&self, path: RelPath<'_>) -> bool {
        self.names.hidden(path).is_none() && !self.around.shadow(path)
    }

    /// As [`Store::resolve`].
    pub fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        self.store.resolve(call, path, last)
    }

    /// As [`Store::stat`]; what is out of sight is not found.
    pub fn stat(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Meta> {
        self.store.stat(call, &self.place(path)?)
    }

    /// As [`Store::read`]; what is out of sight is not found.
    pub fn read(&self, call: &Call<'_>, path: RelPath<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        self.store.read(call, &self.place(path)?, range, out)
    }

    /// As [`Store::is_at_hand`]; what is out of sight is not asked for.
    pub fn is_at_hand(&self, op: OpKind, path: RelPath<'_>) -> bool {
        !self.shows(path) || self.store.is_at_hand(op, path)
    }

    /// As [`Store::pieces`]; what is out of sight is not found.
    pub fn pieces(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Pieces>> {
        self.store.pieces(call, &self.place(path)?)
    }

    /// As [`Store::leads_to`]; what is out of sight is not found.
    pub fn leads_to(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<String> {
        self.store.leads_to(call, &self.place(path)?)
    }

    /// As [`Store::walk`]; what is out of sight is not met.
    pub fn walk(&self, call: &Call<'_>, path: RelPath<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        self.store.walk(call, &self.place(path)?, walk, sink)
    }

    /// As [`Store::search`]; what is out of sight is not searched.
    pub fn search(&self, call: &Call<'_>, path: RelPath<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        self.store.search(call, &self.place(path)?, query, sink)
    }

    fn place<'a>(&'a self, path: RelPath<'a>) -> Result<Place<'a>> {
        if !self.shows(path) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(Place::veiled(path, Veil { names: &self.names, around: &self.around }))
    }
}
