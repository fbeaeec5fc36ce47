//! Forks told as stories: what they changed is shown, merged and carried down, and nothing else is.
//!
//! Each story is told on every ground: over a Store that can be frozen and is, over the same left to change, over the
//! plain one in memory, and over a host's disk.

pub(crate) mod ground;
mod ignored;
mod merging;
mod saving;
mod sharing;
mod telling;
mod undoing;

use std::sync::Arc;

use paddock_core::Store;
use paddock_stores::conformance::world::with_call;
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{MemoryBase, VirtualStore};
use paddock_stores::{MemoryStore, PhysicalStore};
use tempfile::TempDir;

use self::ground::{FORK, Ground, SOURCE, Standing};

fn upper(base: &Arc<MemoryBase>) -> (Arc<dyn BaseStore>, Namespace) {
    let base: Arc<dyn BaseStore> = Arc::<MemoryBase>::clone(base);
    (base, Namespace::new(["fork", "f"]))
}

/// Tells a story on every ground. `before` is what the Workspace holds when the fork is made.
fn on_every_ground(nested: &[&str], before: impl Fn(&Ground), story: impl Fn(&Ground, &Setting)) {
    on_virtual(nested, true, &before, &story);
    on_virtual(nested, false, &before, &story);
    on_memory(nested, &before, &story);
    on_disk(nested, &before, &story);
}

/// What a story may have to know of its ground.
struct Setting {
    name: &'static str,
    dir: Option<TempDir>,
}

fn on_virtual(nested: &[&str], frozen: bool, before: &impl Fn(&Ground), story: &impl Fn(&Ground, &Setting)) {
    let base = Arc::new(MemoryBase::new());
    let shared: Arc<dyn BaseStore> = Arc::<MemoryBase>::clone(&base);
    let source = VirtualStore::new(shared, Namespace::new(["source"]));
    let store: Arc<dyn Store> = Arc::new(source.clone());
    let ground = |standing| Ground::new(Arc::clone(&store), standing, upper(&base), nested);
    before(&ground(Standing::Live));
    let standing = if frozen {
        let commit = with_call(|call| base.pin(call, source.namespace(), "f")).unwrap();
        Standing::Frozen(Arc::new(source.clone().frozen(commit)))
    } else {
        Standing::Live
    };
    let name = if frozen { "virtual, frozen" } else { "virtual, live" };
    story(&ground(standing), &Setting { name, dir: None });
}

fn on_memory(nested: &[&str], before: &impl Fn(&Ground), story: &impl Fn(&Ground, &Setting)) {
    let ground = Ground::new(Arc::new(MemoryStore::new()), Standing::Live, upper(&Arc::new(MemoryBase::new())), nested);
    before(&ground);
    story(&ground, &Setting { name: "memory", dir: None });
}

fn on_disk(nested: &[&str], before: &impl Fn(&Ground), story: &impl Fn(&Ground, &Setting)) {
    let dir = TempDir::new().unwrap();
    let store = Arc::new(PhysicalStore::new(&dir.path().join("mount")).unwrap());
    let ground = Ground::new(store, Standing::Live, upper(&Arc::new(MemoryBase::new())), nested);
    before(&ground);
    story(&ground, &Setting { name: "physical", dir: Some(dir) });
}

/// A path of the Workspace.
fn w(path: &str) -> String {
    format!("{SOURCE}/{path}")
}

/// A path of the fork.
fn f(path: &str) -> String {
    format!("{FORK}/{path}")
}
