//! The example of `docs/guides/stores.md`: what the guide shows is this code, and it passes the suite.

// [layer]
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paddock_core::{
    Applied, Call, ChangeSet, EntrySink, Expect, Hit, LastName, Meta, OpKind, Pieces, Place, Query, RelPath,
    RelPathBuf, Result, Sink, Store, Versioned, Walk,
};

/// Counts the bytes that are read through it; everything else is left to the Store below.
struct Counting {
    below: Arc<dyn Store>,
    read: AtomicU64,
}

impl Store for Counting {
    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        let before = out.len();
        let meta = self.below.read(call, at, range, out)?;
        self.read.fetch_add((out.len() - before) as u64, Ordering::Relaxed);
        Ok(meta)
    }

    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        self.below.resolve(call, path, last)
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        self.below.stat(call, at)
    }

    fn leads_to(&self, call: &Call<'_>, at: &Place<'_>) -> Result<String> {
        self.below.leads_to(call, at)
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        self.below.walk(call, at, walk, sink)
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        self.below.search(call, at, query, sink)
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        self.below.apply(call, set)
    }

    fn holds(&self, call: &Call<'_>, at: &Place<'_>, expect: Expect) -> Result<bool> {
        self.below.holds(call, at, expect)
    }

    fn serves(&self, op: OpKind) -> bool {
        self.below.serves(op)
    }

    fn is_atomic(&self) -> bool {
        self.below.is_atomic()
    }

    fn keeps_up_to(&self) -> Option<u64> {
        self.below.keeps_up_to()
    }

    fn versioned(&self) -> Option<&dyn Versioned> {
        self.below.versioned()
    }

    fn pieces(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Option<Pieces>> {
        self.below.pieces(call, at)
    }
}
// [end]

// [suite]
use paddock_stores::MemoryStore;
use paddock_stores::conformance::{Capabilities, Fixture, Fresh};

struct Counted(Arc<Counting>);

impl Fresh for Counted {
    fn store(&self) -> Arc<dyn Store> {
        self.0.clone()
    }
}

fn counting() -> Fixture {
    let can = Capabilities { links: false, modes: false, atomic_sets: true };
    Fixture::new(can, || {
        let below = Arc::new(MemoryStore::new());
        Box::new(Counted(Arc::new(Counting { below, read: AtomicU64::new(0) })))
    })
}

paddock_stores::conformance_tests!(counted, counting);
// [end]

#[test]
fn the_guide_shows_this_code() {
    let source = include_str!("own_store.rs");
    let page = super::pages::Page::named("docs/guides/stores.md");
    let shown: Vec<String> =
        page.fences().into_iter().filter(|(words, _)| *words == "rust").map(|(_, lines)| lines.join("\n")).collect();
    let parts = ["// [layer]\n", "// [suite]\n"].map(|mark| source.split(mark).nth(1).unwrap());
    let parts = parts.map(|part| part.split("\n// [end]").next().unwrap().to_owned());
    assert_eq!(shown, parts);
}
