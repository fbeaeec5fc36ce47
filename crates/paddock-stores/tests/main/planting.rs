//! Puts into a Virtual Store what no agent can, and makes Views for Overlays.

use std::sync::Arc;

use paddock_core::{AccessScope, Mount, Store, View, Workspace};
use paddock_stores::conformance::world::{path_of, with_call};
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::{Content, NewRow, RowKind};

/// The View of a read-write Workspace on a Store.
pub(crate) fn view(store: Arc<dyn Store>) -> View {
    let prefix = path_of("/lower");
    let workspace = Workspace::new(prefix, AccessScope::ReadWrite, Mount::new(store, None));
    View::of(&workspace, std::slice::from_ref(&workspace)).unwrap()
}

/// A link, with the directories above it.
pub(crate) fn link(store: &VirtualStore, path: &str, target: &str) {
    with_call(|call| {
        let row =
            |kind, content| NewRow { kind, len: target.len() as u64, mode: 0o777, modified: 0, content, version: None };
        let written = store.base().write(call, store.namespace(), &mut |rows| {
            rows.advance()?;
            for (end, _) in path.match_indices('/') {
                if rows.get(&path[..end])?.is_none() {
                    rows.put(&path[..end], &NewRow { len: 0, ..row(RowKind::Dir, Content::None) }, false)?;
                }
            }
            rows.put(path, &row(RowKind::Link, Content::Inline(target.as_bytes())), false).map(|_| ())
        });
        written.unwrap();
    });
}

/// What an Overlay remembers of a link that it covers, as earlier versions noted it.
pub(crate) fn noted_link(store: &VirtualStore, path: &str, place: &str) {
    with_call(|call| {
        let content = Content::Inline(place.as_bytes());
        let row =
            NewRow { kind: RowKind::Link, len: place.len() as u64, mode: 0o777, modified: 0, content, version: None };
        let written = store.base().write(call, store.namespace(), &mut |rows| {
            rows.advance()?;
            rows.put(&format!("\u{1}lower/{path}"), &row, false).map(|_| ())
        });
        written.unwrap();
    });
}

/// Other mode bits for what is there.
pub(crate) fn mode(store: &VirtualStore, path: &str, mode: u32) {
    with_call(|call| {
        let written = store.base().write(call, store.namespace(), &mut |rows| {
            let old = rows.get(path)?.unwrap();
            rows.advance()?;
            let content = old.body.map_or(Content::None, Content::Shared);
            let row = NewRow { kind: old.kind, len: old.len, mode, modified: old.modified, content, version: None };
            rows.put(path, &row, false).map(|_| ())
        });
        written.unwrap();
    });
}
