//! The Store over files that somebody else keeps, reached key by key: what a JavaScript store stands behind.
//!
//! A [`Keeper`] is asked for little and believed less: `shelf.rs` checks its answers, `keys.rs` makes a tree of keys, `walk.rs` goes through what it
//! holds, `change.rs` changes it under the claims of `locks.rs`. A version is the hash of a content, since such a store
//! has none of its own. A set of changes is made one key after the other, and nothing that is replaced is kept. It must
//! never hand on what a Keeper answers without having looked at it, nor ask it about what the guard did not let through.

mod change;
mod keeper;
mod keys;
mod locks;
mod shelf;
mod walk;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paddock_core::{
    Applied, Call, CallId, ChangeSet, Entry, EntrySink, ErrorKind, Hit, Kind, LastName, Meta, OpKind, Place, Query,
    RelPath, RelPathBuf, Result, Sink, Store, Territory, Walk,
};

pub use keeper::{Abilities, Content, Item, Keeper, KeyKind, Listing, Named, Sight, Take, Wanted};
use keys::Way;
use locks::Held;
pub use locks::Locks;
use shelf::{Node, Shelf};

/// A Store over what a [`Keeper`] holds.
pub struct ForeignStore {
    keeper: Arc<dyn Keeper>,
    abilities: Abilities,
    locks: Arc<Locks>,
    namespace: Arc<[String]>,
    seen: Mutex<Option<Seen>>,
}

/// The way to a path on which nothing is, as the call saw it that is about to put something there. Whoever looks before a
/// change and then makes it would ask a store for all its keys twice.
struct Seen {
    call: CallId,
    at: Instant,
    /// How many claims there were before.
    claims: u64,
    way: Way,
}

/// For how long what was seen is believed: nobody else of this process changed it, but somebody outside may have.
const BELIEVED: Duration = Duration::from_secs(1);

impl std::fmt::Debug for ForeignStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForeignStore").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl ForeignStore {
    /// A Store over one namespace of somebody else's store. The locks are those of that store: whoever stands on it
    /// gets the same, whatever the namespace.
    pub fn new(keeper: Arc<dyn Keeper>, locks: Arc<Locks>, namespace: &[String]) -> Self {
        Self { abilities: keeper.abilities(), keeper, locks, namespace: namespace.into(), seen: Mutex::default() }
    }

    /// The place it reaches, for finding two Mounts of one place. No namespace lies in another.
    pub fn territory(&self) -> Territory {
        Territory::new(format!("foreign:{}:{:?}", self.locks.id(), self.namespace), [""; 0])
    }

    /// Remembers the way to a path, if nobody changed anything while it was looked at.
    fn remember(&self, call: &Call<'_>, quiet: Option<u64>, way: Option<Way>) {
        if let (Some(claims), Some(way)) = (quiet, way)
            && self.locks.quiet() == quiet
        {
            *self.seen() = Some(Seen { call: call.id, at: Instant::now(), claims, way });
        }
    }

    /// The way to a path as this call saw it before, if nobody claimed anything since.
    fn seen_before(&self, call: &Call<'_>, path: RelPath<'_>, held: &Held<'_>) -> Option<Way> {
        let Seen { call: by, at, claims, way } = self.seen().take()?;
        let is_true = by == call.id && claims == held.number() && way.path() == path && at.elapsed() < BELIEVED;
        is_true.then_some(way)
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf<'a>(&'a self, call: &'a Call<'a>) -> Shelf<'a> {
        Shelf::new(&*self.keeper, self.abilities, call)
    }
}

impl Store for ForeignStore {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, _: LastName) -> Result<RelPathBuf> {
        call.tick(1)?;
        Ok(path.to_buf())
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        call.tick(1)?;
        let (quiet, shelf) = (self.locks.quiet(), self.shelf(call).about(at.rel()));
        let found = shelf.find(at.rel());
        self.remember(call, quiet, shelf.into_way());
        found.map(|node| node.meta())
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        call.tick(1)?;
        let node = self.shelf(call).about(at.rel()).find(at.rel())?;
        let Node::File(content) = &node else { return Err(ErrorKind::IsADirectory.into()) };
        let clip = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(content.bytes.len());
        out.extend_from_slice(content.bytes.get(clip(range.start)..clip(range.end)).unwrap_or(&[]));
        Ok(node.meta())
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        call.tick(0)?;
        walk::walk(&self.shelf(call), at, walk, &mut |path, kind| {
            let kind = match kind {
                KeyKind::File => Kind::File,
                KeyKind::Dir => Kind::Dir,
            };
            Ok(sink(Entry { path: path.as_str(), kind, plain: true }))
        })
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        call.tick(0)?;
        if !self.abilities.search {
            return Err(ErrorKind::Unsupported("searching").into());
        }
        walk::search(&self.shelf(call).with_contents(), at, query, sink)
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        change::apply(self, call, set)
    }

    fn serves(&self, op: OpKind) -> bool {
        match op {
            OpKind::Search => self.abilities.search,
            OpKind::MakeDir => self.abilities.make_dir,
            // What moves is copied and then taken away.
            OpKind::MoveFrom | OpKind::Delete => self.abilities.remove,
            OpKind::Read
            | OpKind::List
            | OpKind::Find
            | OpKind::Write
            | OpKind::Append
            | OpKind::Edit
            | OpKind::MoveTo => true,
        }
    }
}
